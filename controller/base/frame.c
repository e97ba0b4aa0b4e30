/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frame.c - encode, build and find the text frames of the agent link. */
#include "base/frame.h"

#include "base/crc32c.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC     "@sr "
#define MAGIC_LEN 4
#define CRC_LEN   8

static bool is_plain(unsigned char c)
{
	return c > 0x20 && c < 0x7f && c != '%';
}

size_t frame_encode_word(const char *word, char *out, size_t cap)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	if (!*word) {
		if (cap < 2)
			return 0;
		memcpy(out, "%", 2);
		return 1;
	}
	for (; *word; word++) {
		unsigned char c = (unsigned char)*word;
		size_t need = is_plain(c) ? 1 : 3;

		if (n + need >= cap)
			return 0;
		if (need == 1) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	out[n] = '\0';
	return n;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool frame_decode_word(const char *word, size_t n, char *out, size_t cap)
{
	size_t len = 0;

	if (n == 0 || cap == 0)
		return false;
	if (n == 1 && word[0] == '%') {
		out[0] = '\0';
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)word[i];

		if (c == '%') {
			int high = i + 2 < n ? hex_value(word[i + 1]) : -1;
			int low = i + 2 < n ? hex_value(word[i + 2]) : -1;

			if (high < 0 || low < 0 || high + low == 0)
				return false;
			c = (unsigned char)(high << 4 | low);
			i += 2;
		} else if (!is_plain(c)) {
			return false;
		}
		if (len + 1 >= cap)
			return false;
		out[len++] = (char)c;
	}
	out[len] = '\0';
	return true;
}

size_t frame_build(uint32_t seq, const char *body, char *out, size_t cap)
{
	char text[FRAME_MAX + 1];
	int n;

	n = snprintf(text, sizeof(text), MAGIC "%" PRIu32 " %s", seq, body);
	if (n < 0 || (size_t)n + 1 + CRC_LEN + 1 > FRAME_MAX)
		return 0;
	if ((size_t)n + 1 + CRC_LEN + 1 >= cap)
		return 0;
	n = snprintf(out, cap, "%s %08" PRIx32 "\n", text, crc32c(text, (size_t)n));
	return n < 0 ? 0 : (size_t)n;
}

/* The CRC as it must stand on the line: nothing but 8 lower-case digits. */
static bool crc_matches(const char *frame, size_t len)
{
	char want[CRC_LEN + 1];

	if (len < MAGIC_LEN + CRC_LEN + 1 || frame[len - CRC_LEN - 1] != ' ')
		return false;
	(void)snprintf(want, sizeof(want), "%08" PRIx32, crc32c(frame, len - CRC_LEN - 1));
	return memcmp(frame + len - CRC_LEN, want, CRC_LEN) == 0;
}

static bool parse_seq(const char *word, uint32_t *ret)
{
	uint64_t v = 0;

	if (word[0] < '1' || word[0] > '9')
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9')
			return false;
		v = v * 10 + (uint64_t)(*word - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)v;
	return true;
}

static bool is_verb(const char *word)
{
	return *word && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(word);
}

/* Splits ret->buf, which holds "<seq> <verb> <word>…" without magic and CRC. */
static bool split(struct frame *ret)
{
	size_t n = 0;

	for (char *p = ret->buf; p; n++) {
		char *end = strchr(p, ' ');
		size_t len = end ? (size_t)(end - p) : strlen(p);

		if (n == FRAME_WORDS_MAX + 2 || !frame_decode_word(p, len, p, len + 1))
			return false;
		if (n == 0) {
			if (!parse_seq(p, &ret->seq))
				return false;
		} else if (n == 1) {
			if (!is_verb(p))
				return false;
			ret->verb = p;
		} else {
			ret->words[n - 2] = p;
		}
		p = end ? end + 1 : NULL;
	}
	if (n < 2)
		return false;
	ret->n_words = n - 2;
	return true;
}

static bool parse_at(const char *frame, size_t len, struct frame *ret)
{
	size_t body_len;

	if (len + 1 > FRAME_MAX || !crc_matches(frame, len))
		return false;
	body_len = len - MAGIC_LEN - CRC_LEN - 1;
	if (memchr(frame, '\0', len))
		return false;
	memcpy(ret->buf, frame + MAGIC_LEN, body_len);
	ret->buf[body_len] = '\0';
	return split(ret);
}

bool frame_parse(const char *line, size_t len, struct frame *ret)
{
	const char *end;

	while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	end = line + len;
	/* printk text or a frame cut short may stand in front of the whole one */
	for (const char *p = line; (p = memmem(p, (size_t)(end - p), MAGIC, MAGIC_LEN)); p++)
		if (parse_at(p, (size_t)(end - p), ret))
			return true;
	return false;
}

void frame_reader_reset(struct frame_reader *r)
{
	r->len = 0;
}

static void end_line(struct frame_reader *r, void (*fn)(void *self, const struct frame *f),
		     void *self)
{
	struct frame f;

	if (frame_parse(r->buf, r->len, &f))
		fn(self, &f);
	else if (memmem(r->buf, r->len, MAGIC, MAGIC_LEN))
		r->n_bad++;
	r->len = 0;
}

void frame_reader_feed(struct frame_reader *r, const void *bytes, size_t n,
		       void (*fn)(void *self, const struct frame *f), void *self)
{
	const char *p = bytes;

	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t now = end ? (size_t)(end - p) : n;

		if (r->len == sizeof(r->buf)) {
			memmove(r->buf, r->buf + sizeof(r->buf) - FRAME_MAX, FRAME_MAX);
			r->len = FRAME_MAX;
		}
		if (now > sizeof(r->buf) - r->len) {
			now = sizeof(r->buf) - r->len;
			end = NULL;
		}
		memcpy(r->buf + r->len, p, now);
		r->len += now;
		p += now;
		n -= now;
		if (end) {
			end_line(r, fn, self);
			p++;
			n--;
		}
	}
}
