/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own.c - DELAY lines and markers, whole and damaged. */
#include "own.h"

#include "base/crc32c.h"

#include <string.h>

#define CRC_SUFFIX (sizeof(" crc=") - 1 + 8)

/*
 * The last ones are what remains of "DELAY: " when one byte is lost or doubled, and of one behind a
 * stamp when something was written into it.
 */
const char *const own_anchors[] = {
	"DELAY", "stallrig-m", "rig-mark ", " due_ns=", " crc=", "probe=", "LAY: ",
	"DEAY:", "DELY:",      "DELA:",     "AAY: ",    "] DEL", NULL};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool has_prefix(const char *text, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && memcmp(text, prefix, n) == 0;
}

/* Signed decimal at *pos, up to 19 digits without overflow. Moves *pos behind it. */
static bool read_number(const char *s, size_t len, size_t *pos, int64_t *ret)
{
	size_t p = *pos;
	uint64_t v = 0;
	bool is_negative = false;
	size_t first;

	if (p < len && s[p] == '-') {
		is_negative = true;
		p++;
	}
	first = p;
	while (p < len && is_digit(s[p])) {
		unsigned digit = (unsigned)(s[p] - '0');

		if (v > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
		p++;
	}
	if (p == first)
		return false;
	*pos = p;
	*ret = is_negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* " crc=xxxxxxxx" at the end of the text. */
static bool read_crc(const char *s, size_t len, uint32_t *ret)
{
	uint32_t v = 0;

	if (len < CRC_SUFFIX || memcmp(s + len - CRC_SUFFIX, " crc=", 5) != 0)
		return false;
	for (size_t i = len - 8; i < len; i++) {
		char c = s[i];

		if (is_digit(c))
			v = v << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint32_t)(c - 'a' + 10);
		else
			return false;
	}
	*ret = v;
	return true;
}

static void read_pair(const char *key, size_t key_len, const char *value, size_t len,
		      struct console_event *ret)
{
	static const struct {
		const char *key;
		enum { CPU, PROBE, SEQ, US, DUE, LIVE } field;
	} keys[] = {{"cpu", CPU}, {"probe", PROBE}, {"seq", SEQ},
		    {"us", US},   {"due_ns", DUE},  {"live", LIVE}};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int64_t number = 0;
		size_t pos = 0;

		if (key_len != strlen(keys[i].key) || memcmp(key, keys[i].key, key_len) != 0)
			continue;
		if (keys[i].field == PROBE) {
			if (len < sizeof(ret->u.delay.probe)) {
				memcpy(ret->u.delay.probe, value, len);
				ret->u.delay.probe[len] = '\0';
			}
			return;
		}
		if (!read_number(value, len, &pos, &number) || pos != len)
			return;
		switch (keys[i].field) {
		case CPU:
			if (number >= 0 && number < INT32_MAX)
				ret->u.delay.cpu = (int)number;
			break;
		case SEQ:
			ret->u.delay.seq = number;
			break;
		case US:
			ret->u.delay.us = number;
			break;
		case DUE:
			ret->u.delay.due_ns = number;
			break;
		case LIVE:
			ret->u.delay.is_live = number == 1;
			break;
		case PROBE:
			break;
		}
		return;
	}
}

/* " key=value key=value…" */
static void read_pairs(const char *s, size_t len, struct console_event *ret)
{
	size_t pos = 0;

	while (pos < len) {
		const char *space;
		const char *equals;
		size_t end;

		if (s[pos] == ' ') {
			pos++;
			continue;
		}
		space = memchr(s + pos, ' ', len - pos);
		end = space ? (size_t)(space - s) : len;
		equals = memchr(s + pos, '=', end - pos);
		if (equals) {
			size_t key_len = (size_t)(equals - s) - pos;

			read_pair(s + pos, key_len, equals + 1, end - pos - key_len - 1, ret);
		}
		pos = end;
	}
}

enum own_result own_delay(const char *text, size_t len, bool is_ended, struct console_event *ret)
{
	static const char head[] = "DELAY: ";
	size_t pos = sizeof(head) - 1;
	uint32_t crc;

	ret->u.delay.ms = CONSOLE_UNKNOWN;
	ret->u.delay.us = CONSOLE_UNKNOWN;
	ret->u.delay.cpu = -1;
	ret->u.delay.probe[0] = '\0';
	ret->u.delay.seq = CONSOLE_UNKNOWN;
	ret->u.delay.due_ns = CONSOLE_UNKNOWN;
	ret->u.delay.is_live = false;
	ret->u.delay.has_crc = false;
	if (len == sizeof("DELAY:") - 1 && has_prefix(text, len, "DELAY:"))
		return OWN_SUSPECT;
	if (!has_prefix(text, len, head))
		return OWN_NO;
	if (!read_number(text, len, &pos, &ret->u.delay.ms))
		return OWN_SUSPECT;
	/* a glued record leaves a space of the shell or nothing between; the CRC ends the line */
	if (pos < len && text[pos] == ' ' && read_crc(text, len, &crc)) {
		size_t body = len - CRC_SUFFIX;

		read_pairs(text + pos, body > pos ? body - pos : 0, ret);
		ret->u.delay.has_crc = crc == crc32c(text, body);
		return ret->u.delay.has_crc ? OWN_GOOD : OWN_SUSPECT;
	}
	return pos == len && is_ended ? OWN_GOOD : OWN_SUSPECT;
}

enum own_result own_mark(const char *text, size_t len, struct console_event *ret)
{
	static const char head[] = "stallrig-mark ";
	size_t n = sizeof(head) - 1;
	size_t nonce;
	uint32_t crc;

	ret->u.mark.nonce[0] = '\0';
	if (!has_prefix(text, len, head))
		return OWN_NO;
	if (!read_crc(text, len, &crc) || len < n + CRC_SUFFIX + 1 ||
	    crc != crc32c(text, len - CRC_SUFFIX))
		return OWN_SUSPECT;
	nonce = len - CRC_SUFFIX - n;
	if (nonce >= sizeof(ret->u.mark.nonce))
		return OWN_SUSPECT;
	for (size_t i = 0; i < nonce; i++) {
		char c = text[n + i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-')
			return OWN_SUSPECT;
	}
	memcpy(ret->u.mark.nonce, text + n, nonce);
	ret->u.mark.nonce[nonce] = '\0';
	return OWN_GOOD;
}

/* True if s[0..len) ends in "DELAY" that lacks one byte or has one too many. */
static bool ends_in_damaged_delay(const char *s, size_t len)
{
	static const char word[] = "DELAY";

	if (len >= 5 && memcmp(s + len - 5, word, 5) == 0)
		return true;
	/* the rest of a line that somebody wrote into */
	if (len >= 3 && memcmp(s + len - 3, "LAY", 3) == 0 && (len == 3 || !is_letter(s[len - 4])))
		return true;
	/* "RELAY" is a word of its own */
	for (size_t lost = 0; lost < 5 && len >= 4 && !(len > 4 && is_letter(s[len - 5])); lost++) {
		if (memcmp(s + len - 4, word, lost) == 0 &&
		    memcmp(s + len - 4 + lost, word + lost + 1, 4 - lost) == 0)
			return true;
	}
	for (size_t extra = 0; extra < 6 && len >= 6; extra++) {
		if (memcmp(s + len - 6, word, extra) == 0 &&
		    memcmp(s + len - 5 + extra, word + extra, 5 - extra) == 0)
			return true;
	}
	return false;
}

static bool is_number_at(const char *s, size_t len, size_t pos)
{
	while (pos < len && s[pos] == ' ')
		pos++;
	if (pos < len && s[pos] == '-')
		pos++;
	return pos < len && is_digit(s[pos]);
}

bool own_has_trace(const char *text, size_t len, bool *ret_is_mark)
{
	static const char *const tokens[] = {
		" due_ns=", " probe=", " live=", " seq=", " us=", " crc="};
	unsigned n_tokens = 0;
	size_t at = 0;

	*ret_is_mark = false;
	while (at < len) {
		const char *colon = memchr(text + at, ':', len - at);

		if (!colon)
			break;
		at = (size_t)(colon - text);
		if (ends_in_damaged_delay(text, at) && is_number_at(text, len, at + 1))
			return true;
		at++;
	}
	at = 0;
	while (at < len) {
		const char *hit = memmem(text + at, len - at, "DELAY", 5);

		if (!hit)
			break;
		at = (size_t)(hit - text) + 5;
		if (at < len && text[at] == ':' && is_number_at(text, len, at + 1))
			return true;
		if ((hit == text || !is_letter(hit[-1])) &&
		    (at == len || is_number_at(text, len, at)))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		n_tokens += memmem(text, len, tokens[i], strlen(tokens[i])) != NULL;
	if (n_tokens >= 3)
		return true;
	/* any loss of one byte leaves one of these three */
	*ret_is_mark = memmem(text, len, "stallrig-m", 10) || memmem(text, len, "rig-mark ", 9) ||
		       (memmem(text, len, " crc=", 5) && memmem(text, len, "stall", 5));
	return *ret_is_mark;
}
