/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nightly_kernels.c - kernels of a plan: fetched, dropped into a folder, built from a branch. */
#include "nightly_kernels.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <dirent.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#define FINGERPRINT_FILE "dropped" /* in the build's folder */

void candidates_release(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++) {
		util_free(c->list[i].kernel);
		util_free(c->list[i].left_out);
	}
	util_free(c->list);
	*c = (struct candidates){0};
}

static struct candidate *add_candidate(struct candidates *c, const char *kernel,
				       const char *left_out)
{
	c->list = xrealloc(c->list, c->n + 1, sizeof(*c->list));
	c->list[c->n] = (struct candidate){
		.kernel = xstrdup(kernel),
		.left_out = left_out ? xstrdup(left_out) : NULL,
	};
	return &c->list[c->n++];
}

/* What a kernel's own trouble is leaves it out; all else ends the night's beginning. */
static bool is_own_trouble(const struct err *e)
{
	return e->kind != ERR_STOPPED && e->kind != ERR_INTERNAL;
}

/* Leaves the kernel out, or hands the error on. */
static int leave_out(struct candidates *c, const char *kernel, const struct err *why, struct err *e)
{
	if (!is_own_trouble(why)) {
		*e = *why;
		return -why->code;
	}
	(void)add_candidate(c, kernel, why->text);
	return 0;
}

/* ---- series, builds ---- */

static int find_series(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		       bool may_fetch, struct candidates *ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	struct err why = {0};
	int r;

	r = may_fetch ? kernel_fetch(ctx, spec, arch, &k, &why)
		      : kernel_find(ctx, spec, arch, &k, &why);
	if (r < 0 && (may_fetch || r != -ENOENT))
		return leave_out(ret, spec, &why, e);
	(void)add_candidate(ret, r < 0 ? spec : k->name, NULL);
	return 0;
}

static int find_build(const struct kernels_ctx *ctx, const char *name, const char *arch,
		      struct candidates *ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	int r = kernel_find(ctx, name, NULL, &k, e);

	if (r >= 0 && strcmp(k->arch, arch) == 0)
		(void)add_candidate(ret, k->name, NULL);
	return r < 0 ? r : 0;
}

/* ---- branches ---- */

static int find_tip(const struct kernels_ctx *ctx, const struct plan_kernel *k, const char *arch,
		    bool may_build, struct candidates *ret, struct err *e)
{
	const struct kernel_tip_cfg cfg = {
		.repo = k->git,
		.branch = k->branch,
		.configs = (const char *const *)k->configs,
		.n_configs = k->configs_count,
		.command = k->command,
		.arch = arch,
	};
	auto_kernel_build struct kernel_build *build = NULL;
	auto_free char *name = NULL;
	struct err why = {0};
	int r;

	r = may_build ? kernel_tip_ensure(ctx, &cfg, &build, &why)
		      : kernel_tip_name(ctx, &cfg, &name, &why);
	if (r < 0)
		return leave_out(ret, plan_kernel_text(k), &why, e);
	/* a build command may make another arch than it was asked for */
	if (!build || strcmp(build->arch, arch) == 0)
		(void)add_candidate(ret, build ? build->name : name, NULL);
	return 0;
}

/* ---- watched folders ---- */

static int is_kernel_entry(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* The name in the kernel store of what lies in a watched folder: that of the file without ".deb",
   with what no name may have replaced. */
static char *name_of_entry(const char *entry)
{
	size_t n = strlen(entry);
	char *name = xstrdup(entry);

	if (n > 4 && strcmp(entry + n - 4, ".deb") == 0)
		name[n - 4] = '\0';
	parse_make_name(name);
	return name;
}

static bool is_kernel(const char *path, const char *entry)
{
	size_t n = strlen(entry);
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return true;
	return n > 4 && strcmp(entry + n - 4, ".deb") == 0 && strstr(entry, "linux-image");
}

struct drop {
	char fingerprint[SHA256_HEX_SIZE]; /* of names, sizes and times */
	int64_t changed_wall_ns;           /* newest change of anything in it */
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int64_t later(int64_t a, struct timespec b)
{
	int64_t ns = (int64_t)b.tv_sec * NSEC_PER_SEC + b.tv_nsec;

	return ns > a ? ns : a;
}

/*
 * Of the entry itself only the contents' time counts, so that one that was put together elsewhere
 * and renamed is as old as it is. What lies in it also shows when it was copied with its old times.
 */
static void add_to_drop(struct drop *d, struct strbuf *words, const FTSENT *f, size_t root_len)
{
	const struct stat *st = f->fts_statp;

	d->changed_wall_ns = later(d->changed_wall_ns, st->st_mtim);
	if (f->fts_level > 0)
		d->changed_wall_ns = later(d->changed_wall_ns, st->st_ctim);
	strbuf_addf(words, "%s %o %lld %lld.%09ld\n", f->fts_path + root_len, st->st_mode & S_IFMT,
		    S_ISREG(st->st_mode) ? (long long)st->st_size : 0LL,
		    (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static int look_at_drop(const char *path, struct drop *ret, struct err *e)
{
	auto_free char *root = xstrdup(path);
	char *const roots[] = {root, NULL};
	auto_strbuf struct strbuf words = STRBUF_INIT;
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
	const FTSENT *f;
	int failed = fts ? 0 : errno;

	*ret = (struct drop){.changed_wall_ns = INT64_MIN};
	while (!failed && (errno = 0, f = fts_read(fts))) {
		if (f->fts_info == FTS_ERR || f->fts_info == FTS_DNR || f->fts_info == FTS_NS)
			failed = f->fts_errno;
		else if (f->fts_info != FTS_DP)
			add_to_drop(ret, &words, f, strlen(path));
	}
	if (!failed)
		failed = errno;
	if (fts)
		(void)fts_close(fts);
	if (failed)
		return err_errno(e, ERR_CONFIG, failed, "%s", path);
	sha256_bytes(strbuf_str(&words), words.len, ret->fingerprint);
	return 0;
}

static int write_fingerprint(const struct kernel_build *k, const struct drop *d, struct err *e)
{
	auto_free char *path = xasprintf("%s/" FINGERPRINT_FILE, k->dir);

	return file_write_atomic(path, d->fingerprint, strlen(d->fingerprint), e);
}

/* A build without a fingerprint was added by hand: what has its name is taken for it. */
static bool was_changed(const struct kernel_build *k, const struct drop *d)
{
	auto_free char *path = xasprintf("%s/" FINGERPRINT_FILE, k->dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err none = {0};

	return file_read(path, 1024, &text, &none) >= 0 &&
	       strcmp(strbuf_str(&text), d->fingerprint) != 0;
}

/* Into the store; a change meanwhile may have torn the copy. */
static int take_drop(const struct kernels_ctx *ctx, const char *name, const char *path,
		     const struct drop *before, struct kernel_build **ret, struct err *e)
{
	const struct kernel_add_cfg cfg = {.name = name, .paths = &path, .n_paths = 1};
	auto_kernel_build struct kernel_build *k = NULL;
	struct drop after;
	int r;

	r = kernel_add(ctx, &cfg, &k, e);
	if (r >= 0)
		r = look_at_drop(path, &after, e);
	if (r < 0)
		return r;
	if (strcmp(before->fingerprint, after.fingerprint) != 0) {
		r = kernel_remove(ctx, name, e);
		return r < 0 ? r
			     : err_set(e, ERR_CONFIG, EAGAIN, "%s: changed while it was copied",
				       path);
	}
	r = write_fingerprint(k, before, e);
	if (r >= 0)
		*ret = take(k);
	return r;
}

static void add_settling(struct candidates *c, const char *name, const char *why)
{
	add_candidate(c, name, why)->is_settling = true;
}

static int find_dropped(const struct plan *p, const struct kernels_ctx *ctx, const char *path,
			const char *entry, const char *arch, bool may_add, struct candidates *ret,
			struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *name = name_of_entry(entry);
	auto_free char *text = NULL;
	struct drop d;
	struct err why = {0};
	int64_t age_ns;
	int r;

	r = look_at_drop(path, &d, &why);
	if (r == -ENOENT) /* gone again */
		return 0;
	if (r < 0)
		return leave_out(ret, name, &why, e);
	age_ns = wall_now() - d.changed_wall_ns;
	if (age_ns < p->settle_s * NSEC_PER_SEC) {
		text = xasprintf("it may still be being written: it changed %lld s ago",
				 (long long)(age_ns > 0 ? age_ns / NSEC_PER_SEC : 0));
		add_settling(ret, name, text);
		return 0;
	}
	r = kernel_find(ctx, name, NULL, &k, &why);
	if (r >= 0 && was_changed(k, &d)) {
		text = xasprintf("%s is not what it was when it became build '%s': drop it under "
				 "another name, or remove the build",
				 path, name);
		(void)add_candidate(ret, name, text);
		return 0;
	}
	if (r == -ENOENT && !may_add) {
		(void)add_candidate(ret, name, NULL);
		return 0;
	}
	if (r == -ENOENT) {
		err_clear(&why);
		r = take_drop(ctx, name, path, &d, &k, &why);
	}
	if (r == -EAGAIN) {
		add_settling(ret, name, why.text);
		return 0;
	}
	if (r < 0)
		return leave_out(ret, name, &why, e);
	if (strcmp(k->arch, arch) == 0)
		(void)add_candidate(ret, k->name, NULL);
	return 0;
}

static int find_folder(const struct plan *p, const struct kernels_ctx *ctx, const char *folder,
		       const char *arch, bool may_add, struct candidates *ret, struct err *e)
{
	struct dirent **rows = NULL;
	int n = scandir(folder, &rows, is_kernel_entry, alphasort);
	int r = 0;

	if (n < 0)
		return err_errno(e, ERR_CONFIG, errno, "kernels: folder '%s'", folder);
	for (int i = 0; i < n; i++) {
		auto_free char *path = xasprintf("%s/%s", folder, rows[i]->d_name);

		if (r >= 0 && is_kernel(path, rows[i]->d_name))
			r = find_dropped(p, ctx, path, rows[i]->d_name, arch, may_add, ret, e);
		free(rows[i]);
	}
	free(rows);
	return r;
}

int find_kernels(const struct plan *p, const struct plan_kernel *k, const struct kernels_ctx *ctx,
		 const char *arch, enum nightly_look look, struct candidates *ret, struct err *e)
{
	bool may_change = look != NIGHTLY_DRY;

	if (k->folder)
		return find_folder(p, ctx, k->folder, arch, may_change, ret, e);
	if (look == NIGHTLY_DROPPED)
		return 0;
	if (k->debian)
		return find_series(ctx, k->debian, arch, may_change, ret, e);
	if (k->git)
		return find_tip(ctx, k, arch, may_change, ret, e);
	return find_build(ctx, k->build, arch, ret, e);
}
