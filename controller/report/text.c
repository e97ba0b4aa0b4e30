/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - small pieces of text for terminals, JSON and HTML. */
#include "report/text.h"

#include "console/clean.h"

#include <inttypes.h>
#include <string.h>

void text_add_ms(struct strbuf *out, int64_t us)
{
	if (us < 0)
		strbuf_adds(out, TEXT_UNKNOWN);
	else if (us < 9950) /* from here on, one decimal would read "10.0" */
		strbuf_addf(out, "%.1f ms", (double)us / 1000.0);
	else
		strbuf_addf(out, "%" PRId64 " ms", us / 1000 + (us % 1000 >= 500));
}

size_t text_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void text_add_padded(struct strbuf *out, const char *s, size_t width, bool is_right)
{
	size_t used = text_width(s);
	int blanks = used < width ? (int)(width - used) : 0;

	if (is_right)
		strbuf_addf(out, "%*s%s", blanks, "", s);
	else
		strbuf_addf(out, "%s%*s", s, blanks, "");
}

/*
 * Decodes one character of well-formed UTF-8 (no overlong forms, no surrogates). Returns its
 * length, or 0 if the bytes are not UTF-8.
 */
static size_t decode(const unsigned char *p, size_t n, uint32_t *ret)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {
		{0x80, 0x00, 0},
		{0xe0, 0xc0, 0x80},
		{0xf0, 0xe0, 0x800},
		{0xf8, 0xf0, 0x10000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint32_t c = p[0] & (unsigned char)~forms[i].mask;

		if ((p[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (n < i + 1)
			return 0;
		for (size_t k = 1; k <= i; k++) {
			if ((p[k] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (p[k] & 0x3f);
		}
		if (c < forms[i].least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			return 0;
		*ret = c;
		return i + 1;
	}
	return 0;
}

/* Characters that have no picture of their own and change how others are shown. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       c >= 0xe0000;
}

void text_add_visible(struct strbuf *out, const void *bytes, size_t n, size_t max_columns)
{
	const unsigned char *p = bytes;
	const unsigned char *end = p + n;
	size_t columns = 0;

	while (p < end) {
		char piece[16];
		uint32_t c = 0;
		size_t used = decode(p, (size_t)(end - p), &c);
		size_t width;

		if (used == 0) {
			used = 1;
			(void)snprintf(piece, sizeof(piece), "\\x%02x", p[0]);
		} else if (c == '\t') {
			(void)snprintf(piece, sizeof(piece), " ");
		} else if (is_unsafe(c)) {
			(void)snprintf(piece, sizeof(piece), c < 0x100 ? "\\x%02x" : "\\u%04x", c);
		} else {
			memcpy(piece, p, used);
			piece[used] = '\0';
		}
		width = text_width(piece);
		if (max_columns && columns + width > max_columns) {
			strbuf_adds(out, "…");
			return;
		}
		strbuf_adds(out, piece);
		columns += width;
		p += used;
	}
}

void text_add_console(struct strbuf *out, const void *bytes, size_t n, size_t max_columns)
{
	auto_free char *clean = xcalloc(n + 1, 1);
	uint64_t garbage = 0;
	size_t len = clean_text(bytes, n, clean, &garbage);

	text_add_visible(out, clean, len, max_columns);
}

void text_add_utf8(struct strbuf *out, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	const unsigned char *end = p + n;

	while (p < end) {
		uint32_t c = 0;
		size_t used = decode(p, (size_t)(end - p), &c);

		if (used && c) {
			strbuf_add(out, p, used);
			p += used;
		} else {
			strbuf_adds(out, "\xef\xbf\xbd");
			p++;
		}
	}
}

void text_add_html(struct strbuf *out, const char *s)
{
	auto_strbuf struct strbuf shown = STRBUF_INIT;

	text_add_visible(&shown, s, strlen(s), 0);
	for (const char *p = strbuf_str(&shown); *p; p++) {
		switch (*p) {
		case '&':
			strbuf_adds(out, "&amp;");
			break;
		case '<':
			strbuf_adds(out, "&lt;");
			break;
		case '>':
			strbuf_adds(out, "&gt;");
			break;
		case '"':
			strbuf_adds(out, "&quot;");
			break;
		case '\'':
			strbuf_adds(out, "&#39;");
			break;
		default:
			strbuf_add(out, p, 1);
			break;
		}
	}
}
