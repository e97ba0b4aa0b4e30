/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - small pieces of text for terminals, JSON and HTML. Console text, kernel names and
 * command lines are hostile input: whatever goes to a terminal or a page passes through here.
 */
#pragma once

#include "base/strbuf.h"

#define TEXT_UNKNOWN "–"

/* s, "" if it is NULL. */
static inline const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

/* "183 ms", below 10 ms "4.9 ms", TEXT_UNKNOWN for a negative (unknown) time. */
void text_add_ms(struct strbuf *out, int64_t us);

/* Columns that the UTF-8 text takes: its code points (no wide characters are ever printed). */
size_t text_width(const char *s);

/* Adds s and blanks up to width columns; blanks come first if is_right. */
void text_add_padded(struct strbuf *out, const char *s, size_t width, bool is_right);

/*
 * Adds n bytes so that a terminal shows them and does nothing else: control bytes, bytes that are
 * not UTF-8 and characters that turn the direction of text appear as \xNN or \uNNNN, a tab as a
 * blank. Ends with "…" after max_columns columns (0 = no limit).
 */
void text_add_visible(struct strbuf *out, const void *bytes, size_t n, size_t max_columns);

/* Adds n bytes as valid UTF-8: what is not becomes U+FFFD, NUL included. For JSON strings. */
void text_add_utf8(struct strbuf *out, const void *bytes, size_t n);

/* text_add_visible() of what a console shows: terminal escapes and garbage are taken out first. */
void text_add_console(struct strbuf *out, const void *bytes, size_t n, size_t max_columns);

/* text_add_visible() without a limit, with & < > " ' escaped: for HTML text and attributes. */
void text_add_html(struct strbuf *out, const char *s);
