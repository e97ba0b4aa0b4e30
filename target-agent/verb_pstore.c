/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_pstore.c - what a crashed kernel left in the platform's persistent store: list, read,
 * remove. */
#include "agent.h"
#include "base/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PSTORE_DIR      "/sys/fs/pstore"
#define PSTORE_READ_MAX ((size_t)64 << 10) /* bytes of a record that are sent */
#define LINE_BYTES      900                /* on a line of the answer: a multiple of 3 */
#define BASE64_SIZE(n)  (((n) + 2) / 3 * 4)

/* One file name below PSTORE_DIR, and nothing that leads elsewhere. */
static int record_path(const struct request *rq, char ret[SYSFILE_PATH_MAX], struct err *e)
{
	char path[SYSFILE_PATH_MAX];
	const char *name;
	int r;

	r = request_need(rq, "name", &name, e);
	if (r < 0)
		return r;
	if (!parse_is_name(name))
		return err_set(e, ERR_TARGET, EINVAL, "%s: '%.64s' is not the name of a record",
			       rq->frame->verb, name);
	(void)snprintf(path, sizeof(path), PSTORE_DIR "/%s", name);
	return sysfile_path(rq->root, path, ret, e);
}

int verb_pstore(struct request *rq, struct err *e)
{
	char path[SYSFILE_PATH_MAX];
	char backend[64];
	const struct dirent *de;
	unsigned n = 0;
	DIR *dir;
	int r;

	r = sysfile_pstore(rq->root, e);
	if (r == 0)
		r = sysfile_path(rq->root, PSTORE_DIR, path, e);
	if (r < 0)
		return r;
	dir = opendir(path);
	if (!dir)
		return err_errno(e, ERR_TARGET, errno, PSTORE_DIR);
	while ((de = readdir(dir))) {
		struct stat st;

		if (!parse_is_name(de->d_name) ||
		    fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		answer_linef(rq->answer, "name=%s bytes=%lld", de->d_name, (long long)st.st_size);
		n++;
	}
	closedir(dir);
	answer_word(rq->answer, "records", "%u", n);
	/* "(null)" where nothing is registered: the kernel has no driver for what this machine has
	 */
	if (sysfile_word(rq->root, "/sys/module/pstore/parameters/backend", backend,
			 sizeof(backend)) &&
	    strcmp(backend, "(null)") != 0)
		answer_word(rq->answer, "backend", "%s", backend);
	return 0;
}

/* --- one record ---------------------------------------------------------------------------- */

static void answer_base64(struct answer *a, const unsigned char *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[BASE64_SIZE(LINE_BYTES) + 1];
	size_t len = 0;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);

		line[len++] = digits[v >> 18];
		line[len++] = digits[v >> 12 & 63];
		line[len++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		line[len++] = i + 2 < n ? digits[v & 63] : '=';
	}
	line[len] = '\0';
	answer_line(a, line);
}

int verb_pstore_read(struct request *rq, struct err *e)
{
	static unsigned char bytes[PSTORE_READ_MAX];
	char path[SYSFILE_PATH_MAX];
	auto_fd int fd = -1;
	struct stat st;
	size_t len = 0;
	int r;

	r = record_path(rq, path, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, ERR_TARGET, errno, "pstore-read: %s", path);
	while (len < sizeof(bytes)) {
		ssize_t n = read(fd, bytes + len, sizeof(bytes) - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_TARGET, errno, "pstore-read: %s", path);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	for (size_t at = 0; at < len; at += LINE_BYTES)
		answer_base64(rq->answer, bytes + at,
			      len - at < LINE_BYTES ? len - at : LINE_BYTES);
	answer_word(rq->answer, "bytes", "%lld", (long long)st.st_size);
	answer_word(rq->answer, "sent", "%zu", len);
	return 0;
}

int verb_pstore_remove(struct request *rq, struct err *e)
{
	char path[SYSFILE_PATH_MAX];
	int r;

	r = record_path(rq, path, e);
	if (r < 0)
		return r;
	if (unlink(path) < 0)
		return err_errno(e, ERR_TARGET, errno, "pstore-remove: %s", path);
	return 0;
}
