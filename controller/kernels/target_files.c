/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target_files.c - agent and modules for a target with a user space of its own. */
#include "kernels/modules.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

void target_files_release(struct target_files *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].module);
		free(l->v[i].params);
		strbuf_release(&l->v[i].packed);
	}
	free(l->v);
	*l = (struct target_files){0};
}

/* gzip, because every target can unpack that. The same bytes give the same result. */
static int pack(const struct strbuf *bytes, struct strbuf *ret, struct err *e)
{
	enum { WINDOW_GZIP = 15 + 16, MEMORY = 9 };
	z_stream z = {0};
	auto_free char *out = NULL;
	size_t cap;
	int r;

	if (bytes->len > UINT_MAX / 2 ||
	    deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(e, ERR_INTERNAL, ENOMEM, "zlib does not take %zu bytes", bytes->len);
	cap = deflateBound(&z, bytes->len);
	out = xcalloc(cap, 1);
	z.next_in = (Bytef *)bytes->data;
	z.avail_in = (uInt)bytes->len;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)cap;
	r = deflate(&z, Z_FINISH);
	if (r == Z_STREAM_END)
		strbuf_add(ret, out, z.total_out);
	(void)deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : err_set(e, ERR_INTERNAL, EIO, "zlib: error %d", r);
}

static struct target_file *add(struct target_files *l, const char *name)
{
	struct target_file *f;

	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	f = &l->v[l->n++];
	*f = (struct target_file){.name = xstrdup(name), .packed = STRBUF_INIT};
	return f;
}

static int fill(struct target_file *f, const struct strbuf *bytes, struct err *e)
{
	sha256_bytes(bytes->data, bytes->len, f->sha256);
	return pack(bytes, &f->packed, e);
}

static int add_module(const struct kernels_ctx *ctx, const char *arch, const struct module *m,
		      struct target_files *l, struct err *e)
{
	auto_free char *name = xasprintf("%s.ko", m->name);
	struct target_file *f = add(l, name);
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	int r;

	f->module = xstrdup(m->name);
	f->params = xstrdup(m->params);
	if (!m->path)
		return 0;
	r = module_read(ctx, arch, m, &bytes, e);
	return r < 0 ? r : fill(f, &bytes, e);
}

/* A build without headers has none, as the rig will say. */
static int add_probes(const struct kernels_ctx *ctx, const struct kernel_build *k,
		      struct target_files *l, struct err *e)
{
	for (size_t i = 0; i < PROBES; i++) {
		auto_strbuf struct strbuf bytes = STRBUF_INIT;
		int r;

		r = probe_read(ctx, k, probe_names[i], &bytes, e);
		if (r == 1)
			r = fill(add(l, probe_names[i]), &bytes, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int target_files_collect(const struct kernels_ctx *ctx, const struct target_image_cfg *cfg,
			 struct target_files *ret, struct err *e)
{
	auto_strbuf struct strbuf agent = STRBUF_INIT;
	struct module_list modules = {0};
	struct target_files l = {0};
	int r;

	r = modules_resolve(cfg->kernel, cfg->modules, &modules, e);
	if (r < 0)
		return r;
	r = target_agent_read(ctx, cfg->agent, cfg->kernel->arch, &agent, e);
	if (r >= 0)
		r = fill(add(&l, "agent"), &agent, e);
	for (size_t i = 0; r >= 0 && i < modules.n; i++)
		r = add_module(ctx, cfg->kernel->arch, &modules.v[i], &l, e);
	if (r >= 0)
		r = add_probes(ctx, cfg->kernel, &l, e);
	module_list_release(&modules);
	if (r < 0) {
		target_files_release(&l);
		return r;
	}
	*ret = l;
	return 0;
}
