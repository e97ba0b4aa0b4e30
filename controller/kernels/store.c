/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.c - the folder that holds the builds: lock, temporary folders, list, find, remove. */
#include "base/child.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/parse.h"
#include "kernels/deb_version.h"
#include "kernels/private.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

static void close_dir(DIR *d)
{
	int saved = errno;

	if (d)
		(void)closedir(d);
	errno = saved;
}
DEFINE_AUTO(dir, DIR *, close_dir)
#define auto_dir AUTO(dir)

const char *kernels_cross_prefix(const char *arch)
{
	if (strcmp(arch, kernels_host_arch()) == 0)
		return "";
	return strcmp(arch, "arm64") == 0 ? "aarch64-linux-gnu-" : "x86_64-linux-gnu-";
}

const char *kernels_host_arch(void)
{
	struct utsname u;

	if (uname(&u) == 0 && strcmp(u.machine, "aarch64") == 0)
		return "arm64";
	return "x86_64";
}

int kernels_store_dir(const struct kernels_ctx *ctx, char **ret, struct err *e)
{
	auto_free char *dir = ctx->store ? xstrdup(ctx->store) : path_cache("kernels");
	char *absolute;
	int r;

	r = dir_make(dir, e);
	if (r < 0)
		return err_wrap(e, "kernel store");
	absolute = realpath(dir, NULL);
	if (!absolute)
		return err_errno(e, ERR_INTERNAL, errno, "kernel store %s", dir);
	*ret = absolute;
	return 0;
}

void kernels_progress(const struct kernels_ctx *ctx, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_debug(LOG_KERNELS, "%s", text);
	if (ctx->progress)
		ctx->progress(ctx->self, text);
}

#define LOCK_POLL_NS (100 * NSEC_PER_MSEC)

int kernels_lock(const struct kernels_ctx *ctx, const char *path, int *ret_fd, struct err *e)
{
	auto_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	bool is_announced = false;
	char pid[32];
	int r;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "lock %s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(e, ERR_INTERNAL, errno, "lock %s", path);
		if (!is_announced) {
			ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

			pid[n > 0 ? n : 0] = '\0';
			pid[strcspn(pid, "\n")] = '\0';
			kernels_progress(ctx, "waiting for process %s, which holds %s",
					 pid[0] ? pid : "?", path);
			is_announced = true;
		}
		r = waiter_sleep(ctx->w, LOCK_POLL_NS, e);
		if (r < 0)
			return err_wrap(e, "lock %s", path);
	}
	/* only a hint for whoever waits: the flock is what counts */
	(void)snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, pid, strlen(pid), 0);
	*ret_fd = take_fd(fd);
	return 0;
}

#define TMP_PREFIX ".tmp-"

static void remove_stale(const char *parent)
{
	auto_dir DIR *d = opendir(parent);
	const struct dirent *ent;
	struct err ignored = {0};

	while (d && (ent = readdir(d))) {
		auto_free char *path = NULL;
		uint64_t pid;

		if (strncmp(ent->d_name, TMP_PREFIX, strlen(TMP_PREFIX)) != 0 ||
		    parse_u64("pid", ent->d_name + strlen(TMP_PREFIX), 1, INT32_MAX, &pid,
			      &ignored) < 0)
			continue;
		if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			continue;
		path = xasprintf("%s/%s", parent, ent->d_name);
		(void)!dir_remove(path, &ignored);
	}
}

int kernels_tmp_dir(const char *parent, char **ret, struct err *e)
{
	auto_free char *dir = xasprintf("%s/" TMP_PREFIX "%ld", parent, (long)getpid());
	int r;

	r = dir_make(parent, e);
	if (r < 0)
		return r;
	remove_stale(parent);
	r = dir_remove(dir, e);
	if (r < 0)
		return r;
	r = dir_make(dir, e);
	if (r < 0)
		return r;
	*ret = take(dir);
	return 0;
}

void kernels_tmp_remove(const char *dir)
{
	struct err ignored = {0};

	if (dir)
		(void)!dir_remove(dir, &ignored);
}

int kernels_commit_dir(const char *tmp, const char *to, struct err *e)
{
	auto_free char *parent = xstrdup(to);
	auto_fd int fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_fd int parent_fd = -1;

	*strrchr(parent, '/') = '\0';
	/* thousands of files were written by other programs: one syncfs does for all */
	if (fd < 0 || syncfs(fd) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: sync", tmp);
	if (rename(tmp, to) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: rename to %s", tmp, to);
	parent_fd = open(*parent ? parent : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent_fd < 0 || fsync(parent_fd) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: sync", parent);
	return 0;
}

/* Programs such as depmod lie in sbin, which a user's PATH often lacks. */
static char *search_path(void)
{
	const char *path = getenv("PATH");

	return xasprintf("%s:/usr/sbin:/sbin", path && *path ? path : "/usr/bin:/bin");
}

char *kernels_find_program(const char *name)
{
	auto_free char *path = search_path();
	char *rest = path;
	const char *dir;

	while ((dir = strsep(&rest, ":"))) {
		auto_free char *file = xasprintf("%s/%s", *dir ? dir : ".", name);
		struct stat st;

		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return take(file);
	}
	return NULL;
}

#define DISK_IS_FULL_BYTES (1u << 20)

static bool disk_is_full(const char *where)
{
	struct statvfs fs;

	if (statvfs(where, &fs) < 0)
		return false;
	return (uint64_t)fs.f_bavail * fs.f_frsize < DISK_IS_FULL_BYTES || fs.f_favail == 0;
}

int kernels_run(const struct kernels_ctx *ctx, const char *const *argv, const char *cwd,
		const char *where, nsec_t timeout_ns, struct strbuf *ret_out, struct err *e)
{
	auto_free char *path = search_path();
	auto_free char *path_env = xasprintf("PATH=%s", path);
	const char *const env[] = {path_env, "LC_ALL=C", NULL};
	const struct child_cfg cfg = {
		.argv = argv,
		.cwd = cwd,
		.env = env,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.dies_with_parent = true,
	};
	struct err why = {0};
	int r;

	r = child_run(ctx->w, &cfg, timeout_ns, ret_out, &why);
	if (r >= 0)
		return r;
	if (r == -ECHILD && where &&
	    (strstr(why.text, "No space left on device") || disk_is_full(where)))
		return err_set(e, ERR_INTERNAL, ENOSPC, "%s: no space left on the disk of %s",
			       argv[0], where);
	if (e)
		*e = why;
	return r;
}

void kernel_list_release(struct kernel_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		kernel_build_free(l->builds[i]);
	free(l->builds);
	l->builds = NULL;
	l->n = 0;
}

static int cmp_builds(const void *a, const void *b)
{
	const struct kernel_build *x = *(struct kernel_build *const *)a;
	const struct kernel_build *y = *(struct kernel_build *const *)b;
	int d = deb_version_cmp(y->release, x->release);

	if (!d)
		d = deb_version_cmp(y->package_version, x->package_version);
	return d ? d : strcmp(x->name, y->name);
}

int kernel_list(const struct kernels_ctx *ctx, struct kernel_list *ret, struct err *e)
{
	struct kernel_list list = {0};
	auto_free char *store = NULL;
	auto_dir DIR *d = NULL;
	const struct dirent *ent;
	int r;

	r = kernels_store_dir(ctx, &store, e);
	if (r < 0)
		return r;
	d = opendir(store);
	if (!d)
		return err_errno(e, ERR_INTERNAL, errno, "kernel store %s", store);
	while ((ent = readdir(d))) {
		auto_free char *dir = xasprintf("%s/%s", store, ent->d_name);
		auto_free char *json = xasprintf("%s/kernel.json", dir);

		if (ent->d_name[0] == '.' || access(json, F_OK) < 0)
			continue;
		list.builds = xrealloc(list.builds, list.n + 1, sizeof(struct kernel_build *));
		r = kernel_build_load(dir, &list.builds[list.n], e);
		if (r < 0) {
			kernel_list_release(&list);
			return r;
		}
		list.n++;
	}
	if (list.n)
		qsort(list.builds, list.n, sizeof(struct kernel_build *), cmp_builds);
	*ret = list;
	return 0;
}

static bool build_matches(const struct kernel_build *k, const char *spec, const char *arch)
{
	static const char debian[] = "debian:";
	auto_free char *package = NULL;

	if (strncmp(spec, debian, sizeof(debian) - 1) != 0)
		return strcmp(k->name, spec) == 0 && (!arch || strcmp(k->arch, arch) == 0);
	if (strncmp(k->origin, debian, sizeof(debian) - 1) != 0)
		return false;
	/* an exact release names its arch itself */
	package = xasprintf("linux-image-%s", k->release);
	if (strcmp(k->release, spec + sizeof(debian) - 1) == 0)
		return !arch || strcmp(k->arch, arch) == 0;
	if (!arch)
		arch = kernels_host_arch();
	return strcmp(k->arch, arch) == 0 &&
	       deb_kernel_matches(package, spec + sizeof(debian) - 1, deb_arch_name(arch));
}

/* "a, b, c" of what there is, cut after some: it goes into an error text. */
#define NAMES_SHOWN_MAX 12

static char *names_of(const struct kernel_list *l)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < l->n && i < NAMES_SHOWN_MAX; i++)
		strbuf_addf(&sb, "%s%s", i ? ", " : "", l->builds[i]->name);
	if (l->n > NAMES_SHOWN_MAX)
		strbuf_addf(&sb, ", and %zu more", l->n - NAMES_SHOWN_MAX);
	return l->n ? strbuf_take(&sb) : xstrdup("nothing");
}

int kernel_find(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		struct kernel_build **ret, struct err *e)
{
	struct kernel_list list = {0};
	auto_free char *names = NULL;
	int r;

	if (strchr(spec, '/')) {
		auto_free char *dir = realpath(spec, NULL);
		auto_kernel_build struct kernel_build *k = NULL;

		if (!dir)
			return err_errno(e, ERR_USAGE, errno, "kernel '%s'", spec);
		r = kernel_build_load(dir, &k, e);
		if (r < 0)
			return err_wrap(e, "kernel '%s'", spec);
		if (arch && strcmp(arch, k->arch) != 0)
			return err_set(e, ERR_USAGE, ENOENT, "kernel '%s' is for %s, not for %s",
				       spec, k->arch, arch);
		*ret = take(k);
		return 0;
	}

	r = kernel_list(ctx, &list, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n; i++) {
		if (!build_matches(list.builds[i], spec, arch))
			continue;
		*ret = take(list.builds[i]);
		kernel_list_release(&list);
		return 0;
	}
	names = names_of(&list);
	kernel_list_release(&list);
	return err_set(e, ERR_USAGE, ENOENT, "kernel '%s'%s%s is not in the store, which has %s",
		       spec, arch ? " for " : "", arch ? arch : "", names);
}

int kernel_remove(const struct kernels_ctx *ctx, const char *name, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *store = NULL;
	auto_free char *lock_path = NULL;
	auto_free char *tmp = NULL;
	auto_free char *aside = NULL;
	auto_fd int lock = -1;
	int r;

	if (!parse_is_name(name))
		return err_set(e, ERR_USAGE, EINVAL, "'%s' is not the name of a kernel build",
			       name);
	r = kernels_store_dir(ctx, &store, e);
	if (r < 0)
		return r;
	lock_path = xasprintf("%s/.lock", store);
	r = kernels_lock(ctx, lock_path, &lock, e);
	if (r < 0)
		return r;
	r = kernel_find(ctx, name, NULL, &k, e);
	if (r < 0)
		return r;
	r = kernels_tmp_dir(store, &tmp, e);
	if (r < 0)
		return r;
	aside = xasprintf("%s/%s", tmp, name);
	if (rename(k->dir, aside) < 0)
		r = err_errno(e, ERR_INTERNAL, errno, "%s: cannot be removed", k->dir);
	else
		r = dir_remove(tmp, e);
	kernels_tmp_remove(tmp);
	return r;
}
