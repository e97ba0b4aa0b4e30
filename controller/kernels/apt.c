/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apt.c - the machine's own package registry, asked with private state. */
#include "base/fdio.h"
#include "kernels/deb.h"
#include "kernels/deb_version.h"

#include <string.h>
#include <sys/stat.h>

struct apt {
	const struct kernels_ctx *ctx;
	char *deb_arch;
	char *dir;
	char *conf;
	int lock;
	bool is_fresh;           /* the index was fetched by this process */
	struct err update_error; /* why the last fetch of the index failed */
};

#define INDEX_MAX_AGE_NS ((nsec_t)6 * 3600 * NSEC_PER_SEC)
#define UPDATE_NS        (300 * NSEC_PER_SEC)
#define QUERY_NS         (60 * NSEC_PER_SEC)
#define DOWNLOAD_NS      (3600 * NSEC_PER_SEC)

void apt_close(struct apt *a)
{
	int saved = errno;

	if (!a)
		return;
	if (a->lock >= 0)
		close(a->lock);
	free(a->deb_arch);
	free(a->dir);
	free(a->conf);
	free(a);
	errno = saved;
}

/*
 * Read by apt after the machine's own configuration, so that sources, keys and proxies stay those
 * of the machine, and everything that is written lies in our folder. Hooks of the machine's apt
 * would act on the machine's package state, so they are dropped.
 */
static char *conf_text(const struct apt *a)
{
	return xasprintf("#clear APT::Architectures;\n"
			 "#clear APT::Update::Pre-Invoke;\n"
			 "#clear APT::Update::Post-Invoke;\n"
			 "#clear APT::Update::Post-Invoke-Success;\n"
			 "APT::Architecture \"%s\";\n"
			 "APT::Architectures { \"%s\"; };\n"
			 "APT::Sandbox::User \"\";\n"
			 "Acquire::Languages \"none\";\n"
			 "Acquire::Retries \"3\";\n"
			 "Dir::State \"%s/state\";\n"
			 "Dir::State::Lists \"%s/lists\";\n"
			 "Dir::State::status \"%s/status\";\n"
			 "Dir::Cache \"%s/cache\";\n"
			 "Dir::Cache::archives \"%s/cache/archives\";\n",
			 a->deb_arch, a->deb_arch, a->dir, a->dir, a->dir, a->dir, a->dir);
}

static int make_state(struct apt *a, struct err *e)
{
	static const char *const folders[] = {"state", "lists/partial", "cache/archives/partial"};
	auto_free char *status = xasprintf("%s/status", a->dir);
	auto_free char *text = conf_text(a);
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *path = xasprintf("%s/%s", a->dir, folders[i]);

		r = dir_make(path, e);
		if (r < 0)
			return r;
	}
	/* no package is "installed" here */
	r = file_write_atomic(status, "", 0, e);
	if (r < 0)
		return r;
	return file_write_atomic(a->conf, text, strlen(text), e);
}

int apt_open(const struct kernels_ctx *ctx, const char *arch, struct apt **ret, struct err *e)
{
	auto_apt struct apt *a = xcalloc(1, sizeof(*a));
	auto_free char *sub = xasprintf("apt-%s", arch);
	auto_free char *lock_path = NULL;
	int r;

	a->ctx = ctx;
	a->lock = -1;
	a->deb_arch = xstrdup(deb_arch_name(arch));
	a->dir = path_cache(sub);
	a->conf = xasprintf("%s/apt.conf", a->dir);
	lock_path = xasprintf("%s/.lock", a->dir);
	r = dir_make(a->dir, e);
	if (r < 0)
		return r;
	r = kernels_lock(ctx, lock_path, &a->lock, e);
	if (r < 0)
		return r;
	r = make_state(a, e);
	if (r < 0)
		return r;
	*ret = take(a);
	return 0;
}

static int run_apt(struct apt *a, const char *program, const char *const *args, const char *cwd,
		   nsec_t timeout_ns, struct strbuf *ret_out, struct err *e)
{
	const char *argv[300] = {program, "-c", a->conf};
	size_t n = 3;

	while (*args && n < ARRAY_SIZE(argv) - 1)
		argv[n++] = *args++;
	argv[n] = NULL;
	return kernels_run(a->ctx, argv, cwd, cwd ? cwd : a->dir, timeout_ns, ret_out, e);
}

static bool index_is_old(const struct apt *a)
{
	auto_free char *stamp = xasprintf("%s/updated", a->dir);
	nsec_t age_ns;
	struct stat st;

	if (stat(stamp, &st) < 0)
		return true;
	age_ns = wall_now() - (nsec_t)st.st_mtim.tv_sec * NSEC_PER_SEC;
	return age_ns < 0 || age_ns > INDEX_MAX_AGE_NS;
}

/*
 * A registry that cannot be reached is an error only for a package that the old index does not
 * know, so that is kept for later.
 */
static int update(struct apt *a, struct err *e)
{
	static const char *const args[] = {"-q", "update", NULL};
	auto_free char *stamp = xasprintf("%s/updated", a->dir);
	int r;

	kernels_progress(a->ctx, "fetching the %s package index", a->deb_arch);
	err_clear(&a->update_error);
	r = run_apt(a, "apt-get", args, NULL, UPDATE_NS, NULL, &a->update_error);
	a->is_fresh = true;
	if (r >= 0)
		return file_write_atomic(stamp, "", 0, e);
	if (r != -ECHILD && r != -ETIMEDOUT) {
		if (e)
			*e = a->update_error;
		return err_wrap(e, "package index");
	}
	kernels_progress(a->ctx, "the index could not be fetched, using the old one");
	return 0;
}

struct newest {
	const char *spec; /* NULL = any */
	const char *deb_arch;
	struct deb_pkg *best; /* name NULL = none so far */
};

static void keep_newest(void *self, const struct deb_pkg *p)
{
	struct newest *st = self;

	if (st->spec && !deb_kernel_matches(p->name, st->spec, st->deb_arch))
		return;
	if (st->best->name && deb_version_cmp(p->version, st->best->version) <= 0)
		return;
	deb_pkg_release(st->best);
	*st->best = (struct deb_pkg){
		.name = xstrdup(p->name),
		.version = xstrdup(p->version),
		.arch = xstrdup(p->arch),
		.depends = xstrdup(p->depends),
		.sha256 = xstrdup(p->sha256),
		.size_bytes = p->size_bytes,
	};
}

static int show(struct apt *a, const char *const *args, struct newest *st, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	int r;

	r = run_apt(a, "apt-cache", args, NULL, QUERY_NS, &out, e);
	/* it ends with an error when a package is not known: then there is no stanza either */
	if (r < 0 && r != -ECHILD)
		return r;
	err_clear(e);
	(void)deb_each_stanza(strbuf_str(&out), keep_newest, st);
	return 0;
}

#define KERNELS_ASKED_MAX 256

static int query_kernels(struct apt *a, const char *spec, struct newest *st, struct err *e)
{
	auto_free char *prefix = xasprintf("linux-image-%s", spec);
	const char *const pkgnames[] = {"pkgnames", prefix, NULL};
	const char *args[KERNELS_ASKED_MAX + 2] = {"show"};
	auto_strbuf struct strbuf names = STRBUF_INIT;
	size_t n = 1;
	char *rest;
	char *name;
	int r;

	r = run_apt(a, "apt-cache", pkgnames, NULL, QUERY_NS, &names, e);
	if (r < 0)
		return r;
	rest = names.data;
	while (rest && (name = strsep(&rest, "\n"))) {
		if (!deb_kernel_matches(name, spec, a->deb_arch))
			continue;
		if (n > KERNELS_ASKED_MAX)
			return err_set(e, ERR_INTERNAL, E2BIG,
				       "more than %d packages are named %s…", KERNELS_ASKED_MAX,
				       prefix);
		args[n++] = name;
	}
	args[n] = NULL;
	return n == 1 ? 0 : show(a, args, st, e);
}

static int find(struct apt *a, const char *name, const char *spec, struct deb_pkg *ret,
		struct err *e)
{
	auto_deb_pkg struct deb_pkg best = {0};
	struct newest st = {.spec = spec, .deb_arch = a->deb_arch, .best = &best};
	const char *const args[] = {"show", name, NULL};
	int r;

	if (!a->is_fresh && index_is_old(a)) {
		r = update(a, e);
		if (r < 0)
			return r;
	}
	for (;;) {
		r = spec ? query_kernels(a, spec, &st, e) : show(a, args, &st, e);
		if (r < 0)
			return r;
		if (best.name || a->is_fresh)
			break;
		r = update(a, e);
		if (r < 0)
			return r;
	}
	if (!best.name)
		return err_set(e, a->update_error.code ? ERR_RIG : ERR_USAGE, ENOENT,
			       "the package registry has no %s%s for %s%s%s",
			       spec ? "kernel " : "package ", spec ? spec : name, a->deb_arch,
			       a->update_error.code ? "; its index could not be fetched: " : "",
			       a->update_error.code ? a->update_error.text : "");
	*ret = best;
	best = (struct deb_pkg){0};
	return 0;
}

int apt_find(struct apt *a, const char *name, struct deb_pkg *ret, struct err *e)
{
	return find(a, name, NULL, ret, e);
}

int apt_find_kernel(struct apt *a, const char *spec, struct deb_pkg *ret, struct err *e)
{
	return find(a, NULL, spec, ret, e);
}

/* Is the file at path the package? -ENOENT if it is not there. */
static int verify(const char *path, const struct deb_pkg *p, struct err *e)
{
	char digest[SHA256_HEX_SIZE];
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	if ((uint64_t)st.st_size != p->size_bytes)
		return err_set(e, ERR_RIG, EBADMSG, "%s: %llu bytes expected, got %lld", path,
			       (unsigned long long)p->size_bytes, (long long)st.st_size);
	r = sha256_file(path, digest, e);
	if (r < 0)
		return r;
	if (strcmp(digest, p->sha256) != 0)
		return err_set(e, ERR_RIG, EBADMSG, "%s: SHA-256 %s expected, got %s", path,
			       p->sha256, digest);
	return 0;
}

static char *file_name(const struct deb_pkg *p)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s_", p->name);
	/* apt's own way to write an epoch in a file name */
	for (const char *v = p->version; *v; v++)
		if (*v == ':')
			strbuf_adds(&sb, "%3a");
		else
			strbuf_add(&sb, v, 1);
	strbuf_addf(&sb, "_%s.deb", p->arch);
	return strbuf_take(&sb);
}

static int download_into(struct apt *a, const struct deb_pkg *p, const char *tmp, const char *path,
			 struct err *e)
{
	auto_free char *what = xasprintf("%s=%s", p->name, p->version);
	const char *const args[] = {"-q", "download", what, NULL};
	auto_free char *found = NULL;
	auto_free char *file = NULL;
	int r;

	r = run_apt(a, "apt-get", args, tmp, DOWNLOAD_NS, NULL, e);
	if (r == -ECHILD)
		(void)err_rekind(e, ERR_RIG);
	if (r < 0)
		return r;
	found = dir_find_prefix(tmp, p->name);
	if (!found)
		return err_set(e, ERR_RIG, ENOENT, "apt-get left no file in %s", tmp);
	file = xasprintf("%s/%s", tmp, found);
	r = verify(file, p, e);
	if (r < 0)
		return r;
	if (rename(file, path) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: rename to %s", file, path);
	return 0;
}

int apt_download(struct apt *a, const struct deb_pkg *p, char **ret_path, struct err *e)
{
	auto_free char *name = file_name(p);
	auto_free char *dir = path_cache("downloads");
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_free char *tmp = NULL;
	struct err why = {0};
	int r;

	r = dir_make(dir, e);
	if (r < 0)
		return r;
	r = verify(path, p, &why);
	if (r < 0) {
		if (r != -ENOENT) {
			kernels_progress(a->ctx, "%s; fetching it again", why.text);
			(void)unlink(path);
		}
		kernels_progress(a->ctx, "fetching %s (%.1f MB)", name,
				 (double)p->size_bytes / 1e6);
		r = kernels_tmp_dir(dir, &tmp, e);
		if (r >= 0)
			r = download_into(a, p, tmp, path, e);
		kernels_tmp_remove(tmp);
		if (r < 0)
			return err_wrap(e, "fetching %s", name);
	}
	*ret_path = take(path);
	return 0;
}
