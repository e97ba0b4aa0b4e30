/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysfile.c - files of /proc, /sys and /dev, below a root that tests can move; clocks. */
#include "agent.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

int sysfile_path(const char *root, const char *path, char ret[SYSFILE_PATH_MAX], struct err *e)
{
	int n = snprintf(ret, SYSFILE_PATH_MAX, "%s%s", root, path);

	if (n < 0 || n >= SYSFILE_PATH_MAX)
		return err_set(e, ERR_TARGET, ENAMETOOLONG, "%.64s…: path longer than %d bytes",
			       path, SYSFILE_PATH_MAX - 1);
	return 0;
}

ssize_t sysfile_read(const char *root, const char *path, char *buf, size_t cap, bool *ret_is_cut,
		     struct err *e)
{
	char full[SYSFILE_PATH_MAX];
	auto_fd int fd = -1;
	bool is_cut = false;
	size_t len = 0;
	int r;

	r = sysfile_path(root, path, full, e);
	if (r < 0)
		return r;

	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "%s", path);
	for (;;) {
		char extra;
		bool is_full = len == cap - 1;
		ssize_t n = is_full ? read(fd, &extra, 1) : read(fd, buf + len, cap - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_TARGET, errno, "%s: read", path);
		if (n == 0)
			break;
		if (is_full) {
			is_cut = true;
			break;
		}
		len += (size_t)n;
	}
	for (size_t i = 0; i < len; i++)
		if (!buf[i])
			buf[i] = '?';
	buf[len] = '\0';
	if (ret_is_cut)
		*ret_is_cut = is_cut;
	return (ssize_t)len;
}

bool sysfile_word(const char *root, const char *path, char *buf, size_t cap)
{
	ssize_t n = sysfile_read(root, path, buf, cap, NULL, NULL);

	if (n < 0)
		return false;
	while (n > 0 && strchr(" \t\n", buf[n - 1]))
		buf[--n] = '\0';
	return true;
}

int sysfile_write(const char *root, const char *path, const char *text, struct err *e)
{
	char full[SYSFILE_PATH_MAX];
	auto_fd int fd = -1;
	size_t len = strlen(text);
	ssize_t n;
	int r;

	r = sysfile_path(root, path, full, e);
	if (r < 0)
		return r;

	fd = open(full, O_WRONLY | O_CLOEXEC | O_TRUNC);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "%s", path);

	n = write(fd, text, len);
	if (n < 0)
		return err_errno(e, ERR_TARGET, errno, "%s: write '%.64s'", path, text);
	if ((size_t)n != len)
		return err_set(e, ERR_TARGET, EIO, "%s: only %zd of %zu bytes were taken", path, n,
			       len);
	return 0;
}

int sysfile_allow(const char *root, const char *path, const char *const *folders, struct err *e)
{
	char full[SYSFILE_PATH_MAX];
	char real[PATH_MAX];
	char real_root[PATH_MAX] = "";
	int r;

	r = sysfile_path(root, path, full, e);
	if (r < 0)
		return r;
	if (!realpath(full, real))
		return err_errno(e, ERR_TARGET, errno, "%s", path);
	if (*root && !realpath(root, real_root))
		return err_errno(e, ERR_TARGET, errno, "%s", root);

	for (; *folders; folders++) {
		size_t n = strlen(real_root);

		if (strncmp(path, *folders, strlen(*folders)) == 0 &&
		    strncmp(real, real_root, n) == 0 &&
		    strncmp(real + n, *folders, strlen(*folders)) == 0)
			return 0;
	}
	return err_set(e, ERR_TARGET, EACCES, "%s: lies outside what this verb may touch", path);
}

/* Mounts fs on dir unless it is there: dir is on another file system than the folder above it. */
static int ensure_mounted(const char *root, const char *fs, const char *dir, const char *above_dir,
			  struct err *e)
{
	struct stat here, above;

	if (*root)
		return 0;
	if (stat(dir, &here) < 0)
		return err_errno(e, ERR_TARGET, errno, "%s", dir);
	if (stat(above_dir, &above) < 0)
		return err_errno(e, ERR_TARGET, errno, "%s", above_dir);
	if (here.st_dev != above.st_dev)
		return 0;

	if (mount(fs, dir, fs, 0, NULL) < 0 && errno != EBUSY)
		return err_errno(e, ERR_TARGET, errno, "mount %s on %s", fs, dir);
	return 0;
}

int sysfile_debugfs(const char *root, struct err *e)
{
	return ensure_mounted(root, "debugfs", "/sys/kernel/debug", "/sys/kernel", e);
}

int sysfile_pstore(const char *root, struct err *e)
{
	return ensure_mounted(root, "pstore", "/sys/fs/pstore", "/sys/fs", e);
}

int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void sleep_ms(unsigned ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}
