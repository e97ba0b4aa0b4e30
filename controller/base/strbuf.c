/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strbuf.c - a growing byte buffer, and the allocation helpers of util.h. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <string.h>

static void die_no_memory(void)
{
	static const char msg[] = "stallrig: out of memory\n";

	(void)!write(STDERR_FILENO, msg, sizeof(msg) - 1);
	abort();
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		die_no_memory();
	return p;
}

void *xrealloc(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n ? n : 1, size ? size : 1);

	if (!q)
		die_no_memory();
	return q;
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	if (!p)
		die_no_memory();
	return p;
}

char *xasprintf(const char *fmt, ...)
{
	char *p = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&p, fmt, ap);
	va_end(ap);
	if (n < 0 || !p)
		die_no_memory();
	return p;
}

void strbuf_release(struct strbuf *sb)
{
	util_free(sb->data);
	sb->data = NULL;
	sb->len = 0;
	sb->cap = 0;
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	if (sb->data)
		sb->data[0] = '\0';
}

static void grow(struct strbuf *sb, size_t extra)
{
	size_t need = sb->len + extra + 1;
	size_t cap = sb->cap ? sb->cap : 64;

	if (need <= sb->cap)
		return;
	while (cap < need)
		cap *= 2;
	sb->data = xrealloc(sb->data, cap, 1);
	sb->cap = cap;
}

void strbuf_add(struct strbuf *sb, const void *bytes, size_t n)
{
	grow(sb, n);
	if (n)
		memcpy(sb->data + sb->len, bytes, n);
	sb->len += n;
	sb->data[sb->len] = '\0';
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	grow(sb, (size_t)n);
	va_start(ap, fmt);
	(void)vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	sb->len += (size_t)n;
}

void strbuf_consume(struct strbuf *sb, size_t n)
{
	if (n == 0)
		return;
	memmove(sb->data, sb->data + n, sb->len - n);
	sb->len -= n;
	sb->data[sb->len] = '\0';
}

const char *strbuf_str(const struct strbuf *sb)
{
	return sb->data ? sb->data : "";
}

char *strbuf_take(struct strbuf *sb)
{
	char *p = sb->data ? sb->data : xstrdup("");

	sb->data = NULL;
	sb->len = 0;
	sb->cap = 0;
	return p;
}
