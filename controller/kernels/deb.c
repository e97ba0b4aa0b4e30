/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deb.c - .deb files: whole or not, unpacked, and their fields. */
#include "kernels/deb.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define AR_MAGIC       "!<arch>\n"
#define AR_MAGIC_SIZE  8
#define AR_HEADER_SIZE 60
#define AR_SIZE_AT     48
#define AR_SIZE_LEN    10
#define DEB_MEMBERS    3
#define DEB_UNPACK_NS  (600 * NSEC_PER_SEC)

static int cut_short(const char *path, uint64_t want, uint64_t got, struct err *e)
{
	return err_set(e, ERR_CONFIG, EINVAL, "%s: cut short: %llu bytes expected, got %llu", path,
		       (unsigned long long)want, (unsigned long long)got);
}

int deb_check(const char *path, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char header[AR_HEADER_SIZE];
	uint64_t at = AR_MAGIC_SIZE;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, ERR_CONFIG, errno, "%s", path);
	if (pread(fd, header, AR_MAGIC_SIZE, 0) != AR_MAGIC_SIZE ||
	    memcmp(header, AR_MAGIC, AR_MAGIC_SIZE) != 0)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: not a .deb file", path);
	for (unsigned i = 0; i < DEB_MEMBERS; i++) {
		char digits[AR_SIZE_LEN + 1];
		struct err ignored = {0};
		uint64_t size;

		if (pread(fd, header, sizeof(header), (off_t)at) != (ssize_t)sizeof(header))
			return cut_short(path, at + AR_HEADER_SIZE, (uint64_t)st.st_size, e);
		memcpy(digits, header + AR_SIZE_AT, AR_SIZE_LEN);
		digits[AR_SIZE_LEN] = '\0';
		digits[strcspn(digits, " ")] = '\0';
		if (memcmp(header + AR_HEADER_SIZE - 2, "`\n", 2) != 0 ||
		    parse_u64("size", digits, 0, INT64_MAX / 2, &size, &ignored) < 0)
			return err_set(e, ERR_CONFIG, EINVAL,
				       "%s: broken archive header at byte %llu", path,
				       (unsigned long long)at);
		if (at + AR_HEADER_SIZE + size > (uint64_t)st.st_size)
			return cut_short(path, at + AR_HEADER_SIZE + size, (uint64_t)st.st_size, e);
		/* members are aligned to 2 bytes */
		at += AR_HEADER_SIZE + size + (size & 1);
	}
	return 0;
}

int deb_unpack(const struct kernels_ctx *ctx, const char *path, const char *dir, struct err *e)
{
	const char *const argv[] = {"dpkg-deb", "-x", path, dir, NULL};
	int r;

	r = deb_check(path, e);
	if (r < 0)
		return r;
	r = kernels_run(ctx, argv, NULL, dir, DEB_UNPACK_NS, NULL, e);
	if (r == -ECHILD)
		(void)err_rekind(e, ERR_CONFIG);
	return r < 0 ? err_wrap(e, "unpacking %s", path) : 0;
}

int deb_field(const struct kernels_ctx *ctx, const char *path, const char *field, char **ret,
	      struct err *e)
{
	const char *const argv[] = {"dpkg-deb", "-f", path, field, NULL};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	int r;

	r = kernels_run(ctx, argv, NULL, NULL, 60 * NSEC_PER_SEC, &out, e);
	if (r == -ECHILD)
		(void)err_rekind(e, ERR_CONFIG);
	if (r < 0)
		return err_wrap(e, "%s", path);
	*ret = xasprintf("%.*s", (int)strcspn(strbuf_str(&out), "\n"), strbuf_str(&out));
	return 0;
}

void deb_pkg_release(struct deb_pkg *p)
{
	free(p->name);
	free(p->version);
	free(p->arch);
	free(p->depends);
	free(p->sha256);
	*p = (struct deb_pkg){0};
}

/* If the line is "Key: value", its value. */
static bool field_is(const char *line, size_t len, const char *key, char **ret)
{
	size_t n = strlen(key);

	if (len < n + 2 || strncmp(line, key, n) != 0 || line[n] != ':' || line[n + 1] != ' ')
		return false;
	free(*ret);
	*ret = xasprintf("%.*s", (int)(len - n - 2), line + n + 2);
	return true;
}

static void read_line(struct deb_pkg *p, const char *line, size_t len)
{
	auto_free char *size = NULL;
	struct err ignored = {0};

	if (field_is(line, len, "Package", &p->name) ||
	    field_is(line, len, "Version", &p->version) ||
	    field_is(line, len, "Architecture", &p->arch) ||
	    field_is(line, len, "Depends", &p->depends) ||
	    field_is(line, len, "SHA256", &p->sha256))
		return;
	if (field_is(line, len, "Size", &size) &&
	    parse_u64("Size", size, 1, INT64_MAX, &p->size_bytes, &ignored) < 0)
		p->size_bytes = 0;
}

size_t deb_each_stanza(const char *text, void (*fn)(void *self, const struct deb_pkg *p),
		       void *self)
{
	auto_deb_pkg struct deb_pkg p = {0};
	size_t n = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");

		read_line(&p, text, len);
		text += len;
		if (*text == '\n')
			text++;
		if (len && *text)
			continue;
		if (p.name && p.version && p.arch && p.size_bytes && p.sha256 &&
		    strlen(p.sha256) == SHA256_HEX_SIZE - 1) {
			if (!p.depends)
				p.depends = xstrdup("");
			fn(self, &p);
			n++;
		}
		deb_pkg_release(&p);
	}
	return n;
}

char *deb_next_dependency(const char **pos, const char *prefix)
{
	while (**pos) {
		const char *name = *pos + strspn(*pos, " ,");
		size_t len = strcspn(name, " ,|(:");

		*pos = name + strcspn(name, ",");
		if (len && strncmp(name, prefix, strlen(prefix)) == 0)
			return xasprintf("%.*s", (int)len, name);
	}
	return NULL;
}
