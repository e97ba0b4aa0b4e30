/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fdio.c - file and directory work that must not be done by halves. */
#include "base/fdio.h"

#include <nettle/sha2.h>

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int fd_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

int file_read(const char *path, size_t max, struct strbuf *ret, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[65536];

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_INTERNAL, errno, "%s", path);
		if (n == 0)
			return 0;
		if (ret->len + (size_t)n > max)
			return err_set(e, ERR_INTERNAL, EFBIG, "%s: larger than %zu bytes", path,
				       max);
		strbuf_add(ret, bytes, (size_t)n);
	}
}

int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *e)
{
	auto_free char *tmp = xasprintf("%s.tmp", path);
	auto_fd int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int r;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", tmp);
	r = fd_write_all(fd, bytes, n);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && rename(tmp, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlink(tmp);
		return err_errno(e, ERR_INTERNAL, -r, "%s", path);
	}
	return 0;
}

int dir_make(const char *path, struct err *e)
{
	auto_free char *p = xstrdup(path);

	for (char *s = p + 1;; s++) {
		char c = *s;

		if (c != '/' && c != '\0')
			continue;
		*s = '\0';
		if (mkdir(p, 0755) < 0 && errno != EEXIST)
			return err_errno(e, ERR_INTERNAL, errno, "%s: cannot make this folder", p);
		*s = c;
		if (c == '\0')
			return 0;
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int dir_remove(const char *path, struct err *e)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
		return err_errno(e, ERR_INTERNAL, errno, "%s: cannot be removed", path);
	return 0;
}

int file_copy(const char *from, const char *to, struct err *e)
{
	auto_fd int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_fd int out = -1;
	static char bytes[1 << 16];

	if (in < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", from);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (out < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", to);
	for (;;) {
		ssize_t n = read(in, bytes, sizeof(bytes));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_INTERNAL, errno, "%s", from);
		if (n == 0)
			return 0;

		r = fd_write_all(out, bytes, (size_t)n);
		if (r < 0)
			return err_errno(e, ERR_INTERNAL, -r, "%s", to);
	}
}

static void hex_of(const uint8_t *digest, char ret[SHA256_HEX_SIZE])
{
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void sha256_bytes(const void *bytes, size_t n, char ret[SHA256_HEX_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, n, bytes);
	sha256_digest(&ctx, sizeof(digest), digest);
	hex_of(digest, ret);
}

int sha256_file(const char *path, char ret[SHA256_HEX_SIZE], struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t digest[SHA256_DIGEST_SIZE];
	static uint8_t bytes[1 << 16];
	struct sha256_ctx ctx;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	sha256_init(&ctx);
	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_INTERNAL, errno, "%s", path);
		if (n == 0)
			break;
		sha256_update(&ctx, (size_t)n, bytes);
	}
	sha256_digest(&ctx, sizeof(digest), digest);
	hex_of(digest, ret);
	return 0;
}

static char *path_under(const char *own, const char *xdg, const char *in_home, const char *sub)
{
	const char *base = getenv(own);
	const char *home;

	if (base && *base)
		return xasprintf("%s%s%s", base, *sub ? "/" : "", sub);
	base = getenv(xdg);
	if (base && *base)
		return xasprintf("%s/stallrig%s%s", base, *sub ? "/" : "", sub);
	home = getenv("HOME");
	return xasprintf("%s/%s/stallrig%s%s", home && *home ? home : "/root", in_home,
			 *sub ? "/" : "", sub);
}

char *path_cache(const char *sub)
{
	return path_under("STALLRIG_CACHE", "XDG_CACHE_HOME", ".cache", sub);
}

char *path_state(const char *sub)
{
	return path_under("STALLRIG_STATE", "XDG_STATE_HOME", ".local/state", sub);
}

const char *path_shared_recordings(void)
{
	const char *folder = getenv("STALLRIG_RECORDINGS");

	return folder && *folder ? folder : NULL;
}

char *path_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return xstrdup(".");
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	return xstrdup(path);
}

char *path_data(const char *sub)
{
	const char *base = getenv("STALLRIG_DATA");
	auto_free char *program = NULL;
	auto_free char *installed = NULL;

	if (base && *base)
		return xasprintf("%s/%s", base, sub);
	program = path_program();
	installed = xasprintf("%s/../share/stallrig", program);
	return xasprintf("%s/%s", access(installed, X_OK) == 0 ? installed : STALLRIG_DATA_DIR,
			 sub);
}
