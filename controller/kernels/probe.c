/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe.c - latency-mon.ko and wq-stall.ko for one kernel build. */
#include "base/fdio.h"
#include "kernels/strip.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_MAX (1u << 20)
#define PROBE_MAX  (32u << 20)
#define MAKE_NS    (600 * NSEC_PER_SEC)

const char *const probe_names[PROBES] = {"latency-mon.ko", "wq-stall.ko"};

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s);
	size_t m = strlen(suffix);

	return n > m && strcmp(s + n - m, suffix) == 0;
}

/* What a build reads; what a build in the source folder left behind is not among it. */
static int is_source(const struct dirent *ent)
{
	const char *n = ent->d_name;

	/* generated */
	if (has_suffix(n, "_features.h"))
		return false;
	return (has_suffix(n, ".c") && !has_suffix(n, ".mod.c")) || has_suffix(n, ".h") ||
	       has_suffix(n, ".S") || has_suffix(n, ".sh") || strcmp(n, "Makefile") == 0 ||
	       strcmp(n, "Kbuild") == 0;
}

/* Copies the sources to tmp and hashes their names and bytes. */
static int copy_sources(const char *from, const char *tmp, char ret_sha256[SHA256_HEX_SIZE],
			struct err *e)
{
	auto_strbuf struct strbuf all = STRBUF_INIT;
	struct dirent **list = NULL;
	int n = scandir(from, &list, is_source, alphasort);
	int r = 0;

	if (n < 0)
		return err_errno(e, ERR_INTERNAL, errno, "module sources %s", from);
	if (n == 0)
		r = err_set(e, ERR_INTERNAL, ENOENT, "%s: no module sources there", from);
	for (int i = 0; i < n; i++) {
		auto_free char *source = xasprintf("%s/%s", from, list[i]->d_name);
		auto_free char *copy = xasprintf("%s/%s", tmp, list[i]->d_name);
		auto_strbuf struct strbuf text = STRBUF_INIT;

		if (r >= 0)
			r = file_read(source, SOURCE_MAX, &text, e);
		if (r >= 0)
			r = file_write_atomic(copy, text.data, text.len, e);
		if (r >= 0) {
			strbuf_addf(&all, "%s %zu\n", list[i]->d_name, text.len);
			strbuf_add(&all, text.data, text.len);
		}
		free(list[i]);
	}
	free(list);
	if (r >= 0)
		sha256_bytes(all.data, all.len, ret_sha256);
	return r;
}

static bool is_built(const char *probe, const char *sha256)
{
	auto_free char *stamp = xasprintf("%s/sources.sha256", probe);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err ignored = {0};

	for (size_t i = 0; i < PROBES; i++) {
		auto_free char *path = xasprintf("%s/%s", probe, probe_names[i]);

		if (access(path, R_OK) < 0)
			return false;
	}
	if (file_read(stamp, SHA256_HEX_SIZE, &text, &ignored) < 0)
		return false;
	return strcmp(strbuf_str(&text), sha256) == 0;
}

/*
 * The compiler that the headers ask for: Debian's name one version of gcc ("gcc-12") in
 * .kernelvariables; a plain build tree takes gcc.
 */
static char *compiler_name(const char *headers, const char *cross)
{
	auto_free char *path = xasprintf("%s/.kernelvariables", headers);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err ignored = {0};
	const char *at = NULL;

	if (file_read(path, SOURCE_MAX, &text, &ignored) >= 0)
		at = strstr(strbuf_str(&text), "$(CROSS_COMPILE)gcc");
	at = at ? at + strlen("$(CROSS_COMPILE)") : "gcc";
	return xasprintf("%s%.*s", cross, (int)strcspn(at, " \n"), at);
}

static int need_programs(const struct kernel_build *k, const char *compiler, struct err *e)
{
	const char *const programs[] = {"make", compiler};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		auto_free char *path = kernels_find_program(programs[i]);

		if (!path)
			return err_set(e, ERR_RIG, ENOENT,
				       "program '%s' is not installed; it builds the probe modules "
				       "for kernel '%s'",
				       programs[i], k->name);
	}
	return 0;
}

/* The first line that names an error, with file names relative to tmp. Caller frees. */
static char *first_error(const struct strbuf *output, const char *tmp)
{
	size_t tmp_len = strlen(tmp);
	const char *text = strbuf_str(output);
	const char *at = strstr(text, "error:");
	const char *start;

	if (!at)
		at = strstr(text, "ERROR:");
	if (!at)
		at = strstr(text, "*** ");
	if (!at)
		return xstrdup("no message");
	for (start = at; start > text && start[-1] != '\n';)
		start--;
	if (strncmp(start, tmp, tmp_len) == 0 && start[tmp_len] == '/')
		start += tmp_len + 1;
	return xasprintf("%.*s", (int)strcspn(start, "\n"), start);
}

static int run_make(const struct kernels_ctx *ctx, const struct kernel_build *k, const char *tmp,
		    struct err *e)
{
	const char *cross = kernels_cross_prefix(k->arch);
	auto_free char *headers = xasprintf("%s/headers", k->dir);
	auto_free char *compiler = compiler_name(headers, cross);
	auto_free char *kdir_arg = xasprintf("KDIR=%s", headers);
	auto_free char *arch_arg = xasprintf("ARCH=%s", k->arch);
	auto_free char *cross_arg = xasprintf("CROSS_COMPILE=%s", cross);
	/*
	 * The shell is there to have both streams in one. Without type information (BTF), which
	 * nothing reads here, pahole need not be installed.
	 */
	const char *const argv[] = {
		"sh",     "-c",      "exec make \"$@\" 2>&1",          "make", kdir_arg,
		arch_arg, cross_arg, "CONFIG_DEBUG_INFO_BTF_MODULES=", NULL};
	auto_strbuf struct strbuf output = STRBUF_INIT;
	auto_free char *line = NULL;
	int r;

	if (access(headers, F_OK) < 0)
		return err_set(e, ERR_KERNEL, ENOENT,
			       "kernel '%s' has no headers: its probe modules cannot be built",
			       k->name);
	r = need_programs(k, compiler, e);
	if (r < 0)
		return r;
	kernels_progress(ctx, "building the probe modules for %s", k->name);
	r = kernels_run(ctx, argv, tmp, tmp, MAKE_NS, &output, e);
	if (r != -ECHILD)
		return r;
	line = first_error(&output, tmp);
	return err_set(e, ERR_KERNEL, ECHILD, "the probe modules do not build for kernel '%s': %s",
		       k->name, line);
}

static int build(const struct kernels_ctx *ctx, const struct kernel_build *k, const char *tmp,
		 const char *probe, struct err *e)
{
	auto_free char *sources = path_data("module");
	auto_free char *source_tmp = xasprintf("%s/module", tmp);
	auto_free char *ready = xasprintf("%s/probe", tmp);
	auto_free char *old = xasprintf("%s/old", tmp);
	auto_free char *stamp = xasprintf("%s/sources.sha256", ready);
	char sha256[SHA256_HEX_SIZE];
	int r;

	r = dir_make(source_tmp, e);
	if (r < 0)
		return r;
	r = copy_sources(sources, source_tmp, sha256, e);
	if (r < 0)
		return r;
	if (is_built(probe, sha256))
		return 0;
	r = run_make(ctx, k, source_tmp, e);
	if (r < 0)
		return r;
	r = dir_make(ready, e);
	for (size_t i = 0; i < PROBES && r >= 0; i++) {
		auto_free char *made = xasprintf("%s/%s", source_tmp, probe_names[i]);
		auto_free char *to = xasprintf("%s/%s", ready, probe_names[i]);

		if (rename(made, to) < 0)
			r = err_errno(e, ERR_INTERNAL, errno, "make left no %s", probe_names[i]);
	}
	if (r < 0)
		return r;
	r = file_write_atomic(stamp, sha256, strlen(sha256), e);
	if (r < 0)
		return r;
	if (rename(probe, old) < 0 && errno != ENOENT)
		return err_errno(e, ERR_INTERNAL, errno, "%s: cannot be replaced", probe);
	return kernels_commit_dir(ready, probe, e);
}

int kernel_probe_ensure(const struct kernels_ctx *ctx, const struct kernel_build *k, struct err *e)
{
	auto_free char *lock_path = xasprintf("%s/.probe.lock", k->dir);
	auto_free char *probe = xasprintf("%s/probe", k->dir);
	auto_free char *tmp = NULL;
	auto_fd int lock = -1;
	int r;

	r = kernels_lock(ctx, lock_path, &lock, e);
	if (r < 0)
		return r;
	r = kernels_tmp_dir(k->dir, &tmp, e);
	if (r >= 0)
		r = build(ctx, k, tmp, probe, e);
	kernels_tmp_remove(tmp);
	return r;
}

int probe_read(const struct kernels_ctx *ctx, const struct kernel_build *k, const char *name,
	       struct strbuf *ret, struct err *e)
{
	auto_free char *path = xasprintf("%s/probe/%s", k->dir, name);
	int r;

	if (access(path, F_OK) < 0)
		return 0;
	r = file_read(path, PROBE_MAX, ret, e);
	if (r >= 0)
		r = strip_debug(ctx, k->arch, name, ret, e);
	return r < 0 ? r : 1;
}
