/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.c - kernel source trees in the cache: fetched, copied, mutated and brought back. */
#include "kernels/source.h"

#include "base/fdio.h"
#include "kernels/deb.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define UNPACK_NS (1800 * NSEC_PER_SEC)
#define COPY_NS   (1800 * NSEC_PER_SEC)
#define PATCH_NS  (60 * NSEC_PER_SEC)
#define GIT_NS    (60 * NSEC_PER_SEC)

static const char debian[] = "debian:";

void source_close(struct source *s)
{
	int saved = errno;

	if (!s)
		return;
	if (s->lock >= 0)
		close(s->lock);
	free(s->label);
	free(s->dir);
	free(s->home);
	free(s->commit);
	free(s);
	errno = saved;
}

static int check_tree(const char *dir, const char *spec, struct err *e)
{
	static const char *const signs[] = {"Makefile", "Kconfig", "scripts/kconfig"};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, signs[i]);

		if (access(path, F_OK) < 0)
			return err_set(e, ERR_USAGE, ENOENT,
				       "source '%s': not a kernel source tree, it has no %s", spec,
				       signs[i]);
	}
	return 0;
}

static int lock_home(const struct kernels_ctx *ctx, struct source *s, struct err *e)
{
	auto_free char *path = xasprintf("%s/.lock", s->home);
	int r;

	r = dir_make(s->home, e);
	if (r < 0)
		return r;
	return kernels_lock(ctx, path, &s->lock, e);
}

/* The only linux-source-*.tar.* in dir/usr/src. */
static int find_tar(const char *dir, char **ret, struct err *e)
{
	auto_free char *src = xasprintf("%s/usr/src", dir);
	auto_free char *name = dir_find_prefix(src, "linux-source-");

	if (!name || !strstr(name, ".tar"))
		return err_set(e, ERR_USAGE, ENOENT,
			       "the package holds no usr/src/linux-source-*.tar.*");
	*ret = xasprintf("%s/%s", src, name);
	return 0;
}

static int unpack_source(const struct kernels_ctx *ctx, const char *deb, struct source *s,
			 struct err *e)
{
	auto_free char *tmp = NULL;
	auto_free char *unpacked = NULL;
	auto_free char *tree = NULL;
	auto_free char *tar = NULL;
	int r;

	r = kernels_tmp_dir(s->home, &tmp, e);
	if (r < 0)
		return r;
	kernels_progress(ctx, "unpacking %s", s->label);
	unpacked = xasprintf("%s/package", tmp);
	tree = xasprintf("%s/src", tmp);
	r = dir_make(unpacked, e);
	if (r >= 0)
		r = dir_make(tree, e);
	if (r >= 0)
		r = deb_unpack(ctx, deb, unpacked, e);
	if (r >= 0)
		r = find_tar(unpacked, &tar, e);
	if (r >= 0) {
		const char *const argv[] = {
			"tar", "-x", "-f", tar, "-C", tree, "--strip-components=1", NULL};

		r = kernels_run(ctx, argv, NULL, tmp, UNPACK_NS, NULL, e);
	}
	if (r >= 0)
		r = kernels_commit_dir(tree, s->dir, e);
	kernels_tmp_remove(tmp);
	return r;
}

/* Finds the newest version of a source package; *ret_label is its name and version. */
static int find_package(struct apt *a, const char *package, struct deb_pkg *ret, char **ret_label,
			struct err *e)
{
	int r;

	r = apt_find(a, package, ret, e);
	if (r < 0)
		return r;
	*ret_label = xasprintf("%s_%s", ret->name, ret->version);
	return 0;
}

static int check_package(const char *package, struct err *e)
{
	if (strncmp(package, "linux-source-", strlen("linux-source-")) == 0)
		return 0;
	return err_set(e, ERR_USAGE, EINVAL,
		       "'%s' is not a package of kernel source, e.g. linux-source-6.1", package);
}

int source_label(const struct kernels_ctx *ctx, const char *spec, char **ret, struct err *e)
{
	auto_deb_pkg struct deb_pkg p = {0};
	auto_apt struct apt *a = NULL;
	int r;

	if (strncmp(spec, debian, strlen(debian)) != 0)
		return err_set(
			e, ERR_USAGE, EINVAL,
			"source '%s': only debian:PACKAGE has a version that says what is in "
			"it",
			spec);
	spec += strlen(debian);
	r = check_package(spec, e);
	if (r >= 0)
		r = apt_open(ctx, kernels_host_arch(), &a, e);
	return r < 0 ? r : find_package(a, spec, &p, ret, e);
}

static int open_debian(const struct kernels_ctx *ctx, const char *package, struct source *s,
		       struct err *e)
{
	auto_deb_pkg struct deb_pkg p = {0};
	auto_apt struct apt *a = NULL;
	auto_free char *sub = NULL;
	auto_free char *deb = NULL;
	int r;

	r = check_package(package, e);
	if (r >= 0)
		r = apt_open(ctx, kernels_host_arch(), &a, e);
	if (r >= 0)
		r = find_package(a, package, &p, &s->label, e);
	if (r < 0)
		return r;
	sub = xasprintf("sources/%s", s->label);
	for (char *c = sub; *c; c++)
		if (*c == ':' || *c == '~')
			*c = '.';
	s->home = path_cache(sub);
	s->dir = xasprintf("%s/src", s->home);
	r = lock_home(ctx, s, e);
	if (r < 0 || access(s->dir, F_OK) == 0)
		return r;
	r = apt_download(a, &p, &deb, e);
	if (r < 0)
		return r;
	return unpack_source(ctx, deb, s, e);
}

static char *ask_commit(const struct kernels_ctx *ctx, const char *dir)
{
	const char *const argv[] = {"git", "-C", dir, "rev-parse", "HEAD", NULL};
	auto_free char *git = xasprintf("%s/.git", dir);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err ignored = {0};

	if (access(git, F_OK) < 0 || kernels_run(ctx, argv, NULL, NULL, GIT_NS, &out, &ignored) < 0)
		return xstrdup("");
	return xasprintf("%.*s", (int)strcspn(strbuf_str(&out), "\n"), strbuf_str(&out));
}

/*
 * What a build in the user's tree left behind stays there: it was made for another config. -c is
 * not needed: an edit changes the time of the file.
 */
static int copy_tree(const struct kernels_ctx *ctx, const char *from, const char *to, struct err *e)
{
	auto_free char *from_slash = xasprintf("%s/", from);
	const char *const argv[] = {"rsync",
				    "-a",
				    "--delete",
				    "--exclude=/.git",
				    "--exclude=/.obj-*",
				    "--exclude=/.config*",
				    "--exclude=/include/config",
				    "--exclude=/include/generated",
				    "--exclude=/arch/*/include/generated",
				    "--exclude=*.o",
				    "--exclude=*.ko",
				    "--exclude=*.a",
				    "--exclude=*.mod",
				    "--exclude=*.mod.c",
				    "--exclude=.*.cmd",
				    "--exclude=/vmlinux*",
				    "--exclude=/modules.*",
				    "--exclude=/Module.symvers",
				    from_slash,
				    to,
				    NULL};
	auto_free char *home = xasprintf("%.*s", (int)(strrchr(to, '/') - to), to);

	kernels_progress(ctx, "copying %s", from);
	return kernels_run(ctx, argv, NULL, home, COPY_NS, NULL, e);
}

static int open_folder(const struct kernels_ctx *ctx, const char *spec, bool is_in_place,
		       struct source *s, struct err *e)
{
	auto_free char *dir = realpath(spec, NULL);
	auto_free char *sub = NULL;
	char digest[SHA256_HEX_SIZE];
	int r;

	if (!dir)
		return err_errno(e, ERR_USAGE, errno, "source '%s'", spec);
	r = check_tree(dir, spec, e);
	if (r < 0)
		return r;
	s->commit = ask_commit(ctx, dir);
	s->label = xstrdup(dir);
	if (is_in_place) {
		s->dir = take(dir);
		return 0;
	}
	sha256_bytes(dir, strlen(dir), digest);
	sub = xasprintf("sources/%s-%.12s", strrchr(dir, '/') + 1, digest);
	s->home = path_cache(sub);
	s->dir = xasprintf("%s/src", s->home);
	r = lock_home(ctx, s, e);
	if (r < 0)
		return r;
	/* a file that a mutation changed is newer here: bring it back first, or it would stay */
	r = source_mutate(ctx, s, NULL, 0, e);
	if (r < 0)
		return r;
	return copy_tree(ctx, dir, s->dir, e);
}

int source_open(const struct kernels_ctx *ctx, const char *spec, bool is_in_place,
		struct source **ret, struct err *e)
{
	auto_source struct source *s = xcalloc(1, sizeof(*s));
	int r;

	s->lock = -1;
	if (strncmp(spec, debian, strlen(debian)) == 0)
		r = open_debian(ctx, spec + strlen(debian), s, e);
	else
		r = open_folder(ctx, spec, is_in_place, s, e);
	if (r < 0)
		return r;
	if (!s->commit)
		s->commit = xstrdup("");
	*ret = take(s);
	return 0;
}

/* ---- mutations ---- */

/*
 * home/untouched/FILE is the file before any mutation. The copy back gets a new time, so that make
 * sees the change, whatever the old time was.
 */
static int restore_below(const char *kept, const char *tree, struct err *e)
{
	struct dirent **list = NULL;
	int n = scandir(kept, &list, NULL, alphasort);
	int r = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : err_errno(e, ERR_INTERNAL, errno, "%s", kept);
	for (int i = 0; i < n; i++) {
		auto_free char *from = xasprintf("%s/%s", kept, list[i]->d_name);
		auto_free char *to = xasprintf("%s/%s", tree, list[i]->d_name);
		const char *name = list[i]->d_name;
		struct stat st;

		if (r >= 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			if (lstat(from, &st) < 0)
				r = err_errno(e, ERR_INTERNAL, errno, "%s", from);
			else if (S_ISDIR(st.st_mode))
				r = restore_below(from, to, e);
			else
				r = file_copy(from, to, e);
		}
		free(list[i]);
	}
	free(list);
	return r;
}

static int keep(const char *tree, const char *kept, const char *file, struct err *e)
{
	auto_free char *from = xasprintf("%s/%s", tree, file);
	auto_free char *to = xasprintf("%s/%s", kept, file);
	auto_free char *parent = xasprintf("%.*s", (int)(strrchr(to, '/') - to), to);
	auto_free char *tmp = xasprintf("%s.tmp", to);
	int r;

	if (access(to, F_OK) == 0)
		return 0; /* an earlier mutation of the same file */
	r = dir_make(parent, e);
	if (r < 0)
		return r;
	/* complete or not there: half a file must never be copied back */
	r = file_copy(from, tmp, e);
	if (r < 0)
		return r;
	if (rename(tmp, to) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", to);
	return 0;
}

static int apply(const struct kernels_ctx *ctx, const struct source *s, const char *kept,
		 const struct kernel_mutation *m, struct err *e)
{
	const char *const argv[] = {"patch", "-p1", "-s", "-N",    "-F2", "--no-backup-if-mismatch",
				    "-r",    "-",   "-i", m->path, NULL};
	char *files[MUTATION_FILES_MAX];
	size_t n = 0;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	int r;

	r = patch_files(m->path, files, &n, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = xasprintf("%s/%s", s->dir, files[i]);

		if (r >= 0 && access(path, F_OK) < 0)
			r = err_set(e, ERR_USAGE, ENOENT, "mutation '%s': %s has no %s", m->name,
				    s->label, files[i]);
		if (r >= 0)
			r = keep(s->dir, kept, files[i], e);
		free(files[i]);
	}
	if (r < 0)
		return r;
	r = kernels_run(ctx, argv, s->dir, s->dir, PATCH_NS, &out, e);
	if (r == -ECHILD)
		return err_set(e, ERR_USAGE, EINVAL, "mutation '%s' does not fit %s: %.*s", m->name,
			       s->label, (int)strcspn(strbuf_str(&out), "\n"), strbuf_str(&out));
	return r;
}

int source_mutate(const struct kernels_ctx *ctx, const struct source *s, const char *const *names,
		  size_t n, struct err *e)
{
	auto_free char *kept = s->home ? xasprintf("%s/untouched", s->home) : NULL;
	int r;

	if (!kept)
		return n ? err_set(e, ERR_USAGE, EINVAL, "source '%s' is used in place: no edits",
				   s->label)
			 : 0;
	r = restore_below(kept, s->dir, e);
	if (r < 0)
		return r;
	r = dir_remove(kept, e);
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct kernel_mutation m = {0};

		r = kernel_mutation_find(names[i], &m, e);
		if (r < 0)
			break;
		kernels_progress(ctx, "mutation %s: %s", m.name, m.title);
		r = apply(ctx, s, kept, &m, e);
		kernel_mutation_release(&m);
	}
	return r;
}
