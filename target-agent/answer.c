/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer.c - the pieces of an answer: text lines, key=value words, the end. */
#include "agent.h"

#include <stdarg.h>
#include <string.h>

/* How many bytes of text fit into one piece once they are encoded. */
static size_t fitting(const char *text, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		char c[2] = {text[i], '\0'};
		char encoded[4];

		len += frame_encode_word(c, encoded, sizeof(encoded));
		if (len >= ANSWER_BODY_MAX)
			return i;
	}
	return n;
}

static void put_line(struct answer *a, const char *text, size_t n)
{
	do {
		char piece[ANSWER_BODY_MAX];
		char body[ANSWER_BODY_MAX + 1];
		size_t now = fitting(text, n);

		memcpy(piece, text, now);
		piece[now] = '\0';
		(void)frame_encode_word(piece, body, sizeof(body));
		text += now;
		n -= now;
		a->sink(a->self, n ? ANSWER_PART : ANSWER_DATA, body);
	} while (n);
}

void answer_line(struct answer *a, const char *text)
{
	put_line(a, text, strlen(text));
}

void answer_linef(struct answer *a, const char *fmt, ...)
{
	char text[FRAME_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	answer_line(a, text);
}

void answer_text(struct answer *a, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		put_line(a, text, n);
		text += n;
		if (*text)
			text++;
	}
}

/* The final frame also carries "lines=<n>" and perhaps "truncated=1". */
#define OK_MAX (ANSWER_BODY_MAX - 32)

static void put_word(struct answer *a, const char *word, size_t n)
{
	if (a->ok_len + n + 1 > OK_MAX) {
		a->is_too_long = true;
		return;
	}
	if (a->ok_len)
		a->ok[a->ok_len++] = ' ';
	memcpy(a->ok + a->ok_len, word, n);
	a->ok_len += n;
	a->ok[a->ok_len] = '\0';
}

void answer_word(struct answer *a, const char *key, const char *fmt, ...)
{
	char word[FRAME_MAX];
	char encoded[FRAME_MAX];
	va_list ap;
	size_t n;
	int len;

	n = (size_t)snprintf(word, sizeof(word), "%s=", key);
	va_start(ap, fmt);
	len = vsnprintf(word + n, sizeof(word) - n, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(word) - n) {
		a->is_too_long = true;
		return;
	}
	n = frame_encode_word(word, encoded, sizeof(encoded));
	if (!n)
		a->is_too_long = true;
	else
		put_word(a, encoded, n);
}

void answer_encoded(struct answer *a, const char *words)
{
	if (*words)
		put_word(a, words, strlen(words));
}

void answer_pairs(struct answer *a, const char *line)
{
	while (*line) {
		size_t n = strcspn(line, " \n");

		if (memchr(line, '=', n)) {
			char word[FRAME_MAX];
			char encoded[FRAME_MAX];
			size_t len;

			(void)snprintf(word, sizeof(word), "%.*s", (int)n, line);
			len = frame_encode_word(word, encoded, sizeof(encoded));
			if (n >= sizeof(word) || !len)
				a->is_too_long = true;
			else
				put_word(a, encoded, len);
		}
		line += n;
		line += strspn(line, " \n");
	}
}

void answer_end(struct answer *a, int r, const struct err *e)
{
	const char *text = r < 0 ? e->text : "the answer does not fit into one frame";
	const char *name = strerrorname_np(r < 0 ? -r : EMSGSIZE);
	char body[ANSWER_BODY_MAX + 32];
	char piece[ERR_TEXT_MAX];
	size_t n;

	if (r >= 0 && !a->is_too_long) {
		a->sink(a->self, ANSWER_OK, a->ok);
		return;
	}
	(void)snprintf(piece, sizeof(piece), "%.*s", (int)fitting(text, strlen(text)), text);
	n = (size_t)snprintf(body, sizeof(body), "%s ", name ? name : "EIO");
	(void)frame_encode_word(piece, body + n, sizeof(body) - n);
	a->sink(a->self, ANSWER_ERR, body);
}
