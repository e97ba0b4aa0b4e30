/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strbuf.h - a growing, NUL-terminated byte buffer. */
#pragma once

#include "base/util.h"

#include <stdbool.h>

struct strbuf {
	char *data; /* owned; NULL until something was added */
	size_t len;
	size_t cap;
};

#define STRBUF_INIT        \
	{                  \
		NULL, 0, 0 \
	}

/* Frees the memory; the buffer may be used again. */
void strbuf_release(struct strbuf *sb);
void strbuf_reset(struct strbuf *sb);
void strbuf_add(struct strbuf *sb, const void *bytes, size_t n);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) printf_like(2, 3);
/* Drops the first n bytes (n <= len). */
void strbuf_consume(struct strbuf *sb, size_t n);
/* The text, "" if nothing was added. Valid until the next change. */
const char *strbuf_str(const struct strbuf *sb);
/* Hands the memory over (caller frees); the buffer is empty afterwards. Never NULL. */
char *strbuf_take(struct strbuf *sb);

static inline void auto_cleanup_strbuf(struct strbuf *sb)
{
	strbuf_release(sb);
}
#define auto_strbuf __attribute__((cleanup(auto_cleanup_strbuf)))
