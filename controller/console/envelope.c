/* SPDX-License-Identifier: GPL-2.0-or-later */
/* envelope.c - stamps, callers, priorities and what other programs put in front. */
#include "envelope.h"

#include <string.h>

/* Seconds of 12 digits are 30000 years; more is no stamp. */
#define STAMP_SECONDS_DIGITS_MAX 12
#define STAMP_PADDING_MAX        8
#define SYSLOG_PREFIX_MAX        160

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool are_digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(s[i]))
			return false;
	}
	return true;
}

static int64_t digits_value(const char *s, size_t n)
{
	int64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v * 10 + (s[i] - '0');
	return v;
}

/*
 * Behind the stamp: "[  T140]" or " [      C6]" (dmesg's spacing), " [5:    kworker/5:3:   78]" (a
 * vendor's addition), then one space.
 */
static size_t skip_caller(const char *s, size_t len, size_t pos)
{
	size_t p = pos;
	size_t digits;

	if (p < len && s[p] == ' ')
		p++;
	if (p < len && s[p] == '[') {
		p++;
		while (p < len && s[p] == ' ')
			p++;
		if (p < len && (s[p] == 'T' || s[p] == 'C')) {
			digits = ++p;
			while (p < len && is_digit(s[p]))
				p++;
			if (p > digits && p < len && s[p] == ']')
				return p + 1;
		}
	}
	return pos;
}

static size_t skip_vendor_field(const char *s, size_t len, size_t pos)
{
	size_t p = pos;
	unsigned colons = 0;

	while (p < len && s[p] == ' ' && p - pos < 2)
		p++;
	if (p == pos || p + 1 >= len || s[p] != '[' || !is_digit(s[p + 1]))
		return pos;
	for (size_t q = p + 1; q < len && q - p < 48; q++) {
		if (s[q] == ':')
			colons++;
		if (s[q] == ']')
			return colons >= 2 && is_digit(s[q - 1]) ? q + 1 : pos;
	}
	return pos;
}

static size_t text_after_stamp(const char *s, size_t len, size_t pos)
{
	size_t p = skip_caller(s, len, pos);

	if (p == pos)
		p = skip_vendor_field(s, len, pos);
	if (p < len && s[p] == ' ')
		p++;
	return p;
}

static uint64_t load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* The number whose eight decimal digits are the bytes of v, the first one lowest. */
static int64_t eight_digits(uint64_t v)
{
	const uint64_t low_bytes = 0x000000FF000000FFu;

	v = v * 10 + (v >> 8); /* four pairs */
	return (int64_t)(((v & low_bytes) * (100 + (1000000ull << 32)) +
			  (v >> 16 & low_bytes) * (1 + (10000ull << 32))) >>
			 32);
}

static size_t text_behind(const char *s, size_t len, size_t p)
{
	if (len - p >= 3 && s[p] == ' ' && s[p + 1] != '[' && (s[p + 1] != ' ' || s[p + 2] != '['))
		return p + 1;
	return text_after_stamp(s, len, p);
}

/*
 * "[   12.345678]" in s[0..14), all bytes at once; every line has one. Returns false for anything
 * else, longer seconds among it.
 */
static bool short_stamp(const char *s, int64_t *ret_us)
{
	const uint64_t sixes = 0x0606060606060606u;
	const uint64_t high = 0xF0F0F0F0F0F0F0F0u;
	/* digits become 0 to 9, what must be '.' and ']' becomes 0, a space 0x10 */
	uint64_t micros = load64(s + 6) ^ 0x5D3030303030302Eu;
	uint64_t seconds = (load64(s) >> 8 & 0xFFFFFFFFFFu) ^ 0x3030303030u;
	uint64_t padding = (seconds & 0x1010101010u) >> 4;

	if ((micros & 0xFF000000000000FFu) ||
	    ((micros | (micros + sixes)) & (high >> 8 & high << 8)))
		return false;
	seconds ^= padding << 4;
	if ((seconds | (seconds + (sixes >> 24))) & high)
		return false;
	/* spaces stand in front, and there is a digit */
	if ((seconds & padding * 0xF) || (padding & ~(padding << 8 | 1)) || padding >> 32)
		return false;
	*ret_us = eight_digits(seconds << 24) * 1000000 + eight_digits(micros << 8);
	return true;
}

/* The same with seconds of six and more digits, which have no padding. */
static size_t long_stamp(const char *s, size_t len, int64_t *ret_us)
{
	size_t p = 1;

	while (p < len && is_digit(s[p]) && p <= STAMP_SECONDS_DIGITS_MAX)
		p++;
	if (p < 7 || len - p < 8 || s[p] != '.' || s[p + 7] != ']' || !are_digits(s + p + 1, 6))
		return 0;
	*ret_us = digits_value(s + 1, p - 1) * 1000000 + digits_value(s + p + 1, 6);
	return p + 8;
}

bool envelope_leading(const char *s, size_t len, struct envelope *ret)
{
	size_t end = 14;

	if (len < end || s[0] != '[')
		return false;
	if (!short_stamp(s, &ret->t_us))
		end = long_stamp(s, len, &ret->t_us);
	if (end == 0)
		return false;
	ret->kind = ENVELOPE_STAMP;
	ret->start = 0;
	ret->seq = INT64_MIN;
	ret->is_canonical = true;
	ret->text = text_behind(s, len, end);
	return true;
}

/* "<3>" that ends just before pos: its first byte, else pos. */
static size_t back_over_priority(const char *s, size_t from, size_t pos)
{
	size_t p = pos;
	size_t digits = 0;

	if (p <= from || s[p - 1] != '>')
		return pos;
	p--;
	while (p > from && is_digit(s[p - 1]) && digits < 3) {
		p--;
		digits++;
	}
	if (digits == 0 || p <= from || s[p - 1] != '<')
		return pos;
	return p - 1;
}

/* A stamp whose ']' is at `close`. */
static bool stamp_at(const char *s, size_t len, size_t from, size_t close, struct envelope *ret)
{
	size_t dot;
	size_t p;
	size_t digits;
	size_t padding = 0;
	size_t seconds;

	if (close < from + 9)
		return false;
	dot = close - 7;
	if (s[dot] != '.' || !are_digits(s + dot + 1, 6))
		return false;
	p = dot;
	while (p > from && is_digit(s[p - 1]))
		p--;
	seconds = p;
	digits = dot - p;
	if (digits == 0 || digits > STAMP_SECONDS_DIGITS_MAX)
		return false;
	while (p > from && s[p - 1] == ' ' && padding <= STAMP_PADDING_MAX) {
		p--;
		padding++;
	}
	if (p <= from || s[p - 1] != '[')
		return false;
	ret->kind = ENVELOPE_STAMP;
	ret->start = back_over_priority(s, from, p - 1);
	ret->t_us = digits_value(s + seconds, digits) * 1000000 + digits_value(s + dot + 1, 6);
	ret->seq = INT64_MIN;
	ret->is_canonical = digits >= 5 ? padding == 0 : padding + digits == 5;
	ret->text = text_after_stamp(s, len, close + 1);
	return true;
}

/* ".625517]" that no stamp_at() took: a stamp without its beginning, unless of dmesg's deltas. */
static bool is_broken_at(const char *s, size_t from, size_t close)
{
	size_t p;

	if (close < from + 7 || s[close - 7] != '.' || !are_digits(s + close - 6, 6))
		return false;
	p = close - 7;
	while (p > from && is_digit(s[p - 1]))
		p--;
	return p == from || s[p - 1] != '+';
}

bool envelope_find(const char *s, size_t len, size_t from, struct envelope *ret,
		   unsigned *ret_broken)
{
	size_t at = from;

	*ret_broken = 0;
	while (at < len) {
		const char *hit = memchr(s + at, ']', len - at);

		if (!hit)
			return false;
		at = (size_t)(hit - s);
		if (stamp_at(s, len, from, at, ret))
			return true;
		*ret_broken += is_broken_at(s, from, at);
		at++;
	}
	return false;
}

bool envelope_is_syslog_prefix(const char *s, size_t len)
{
	static const char word[] = "kernel:";
	size_t n = sizeof(word) - 1;

	while (len > 0 && s[len - 1] == ' ')
		len--;
	if (len < n || len > SYSLOG_PREFIX_MAX || memcmp(s + len - n, word, n) != 0)
		return false;
	return len == n || s[len - n - 1] == ' ';
}

/* "6,16632,40311382141,-,caller=C0;", with the release in front if netconsole was told so. */
static bool begin_kmsg(const char *s, size_t len, struct envelope *ret)
{
	size_t p = 0;
	size_t part = 0;
	int64_t value[3];
	const char *semicolon;

	for (int tries = 0; tries < 2; tries++) {
		size_t n_values = 0;

		p = part;
		while (n_values < 3) {
			size_t first = p;

			while (p < len && is_digit(s[p]) && p - first < 18)
				p++;
			if (p == first || p >= len || s[p] != ',')
				break;
			value[n_values++] = digits_value(s + first, p - first);
			p++;
		}
		if (n_values == 3)
			break;
		if (tries == 1 || len == 0 || !is_digit(s[0]))
			return false;
		for (part = 0; part < len && s[part] != ','; part++) {
			if (s[part] == ' ' || part > 64)
				return false;
		}
		part++;
	}
	if (p >= len || (s[p] != '-' && s[p] != 'c' && s[p] != '+') || value[0] > 191)
		return false;
	semicolon = memchr(s + p, ';', len - p < 80 ? len - p : 80);
	if (!semicolon)
		return false;
	ret->kind = ENVELOPE_KMSG;
	ret->start = 0;
	ret->text = (size_t)(semicolon - s) + 1;
	ret->t_us = value[2];
	ret->seq = value[1];
	ret->is_canonical = true;
	return true;
}

/* "[Wed Jun  5 03:14:35 2013] " */
static bool begin_date(const char *s, size_t len, struct envelope *ret)
{
	/* 'A' letter, '0' digit, '_' digit or space, else itself */
	static const char form[] = "[AAA AAA _0 00:00:00 0000]";
	size_t n = sizeof(form) - 1;

	if (len < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (form[i] == 'A'   ? !is_letter
		    : form[i] == '0' ? !is_digit(c)
		    : form[i] == '_' ? !is_digit(c) && c != ' '
				     : c != form[i])
			return false;
	}
	ret->kind = ENVELOPE_DATE;
	ret->text = text_after_stamp(s, len, n);
	return true;
}

/* "[  +0.000021] ", "[<    0.000021>] ", and the minute that --reltime prints: "[Jun 5 03:14] ". */
static bool begin_delta(const char *s, size_t len, struct envelope *ret)
{
	static const char form[] = "[AAA_0 00:00]";
	size_t p = 1;
	size_t digits;
	bool is_angled;

	if (len < 12 || s[0] != '[')
		return false;
	is_angled = s[1] == '<';
	if (is_angled)
		p++;
	while (p < len && s[p] == ' ' && p < 12)
		p++;
	if (!is_angled && p < len && s[p] == '+')
		p++;
	else if (!is_angled)
		goto minute;
	digits = p;
	while (p < len && is_digit(s[p]) && p - digits < STAMP_SECONDS_DIGITS_MAX)
		p++;
	if (p == digits || len - p < 9 || s[p] != '.' || !are_digits(s + p + 1, 6))
		return false;
	p += 7;
	if (is_angled && s[p++] != '>')
		return false;
	if (p >= len || s[p] != ']')
		return false;
	ret->kind = ENVELOPE_DELTA;
	ret->text = text_after_stamp(s, len, p + 1);
	return true;

minute:
	/* the day has one or two digits, padded or not */
	for (size_t i = 0, q = 0; form[i]; i++, q++) {
		char c = (char)(q < len ? s[q] : '\0');
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (form[i] == '_') {
			while (q < len && s[q] == ' ')
				q++;
			if (q + 1 < len && is_digit(s[q]) && is_digit(s[q + 1]))
				q++;
			q--;
			continue;
		}
		if (form[i] == 'A' ? !is_letter : form[i] == '0' ? !is_digit(c) : c != form[i])
			return false;
		if (form[i] == ']') {
			ret->kind = ENVELOPE_DELTA;
			ret->text = text_after_stamp(s, len, q + 1);
		}
	}
	return true;
}

/*
 * "[ 1558.62551] ", "[ 1558.62" and then something else, "1558.625517] ". The dot must be there: a
 * shell prints "[1] Done".
 */
static bool begin_broken(const char *s, size_t len, struct envelope *ret)
{
	size_t p = 0;
	size_t whole;
	size_t part;
	bool has_open = false;

	if (p < len && s[p] == '[') {
		has_open = true;
		p++;
	}
	while (p < len && s[p] == ' ' && p < 8)
		p++;
	whole = p;
	while (p < len && is_digit(s[p]))
		p++;
	whole = p - whole;
	if (whole == 0 || whole > STAMP_SECONDS_DIGITS_MAX || p >= len || s[p] != '.')
		return false;
	p++;
	part = p;
	while (p < len && is_digit(s[p]))
		p++;
	part = p - part;
	if (part == 0)
		return false;
	if (has_open) {
		bool is_padded = p - part - 1 == 6;

		if (p < len && s[p] == ']')
			p++;
		else if (part < 5 && !is_padded)
			return false;
	} else {
		if (part < 5 || p >= len || s[p] != ']')
			return false;
		p++;
	}
	ret->kind = ENVELOPE_BROKEN;
	ret->text = text_after_stamp(s, len, p);
	return true;
}

static bool begin_syslog(const char *s, size_t len, struct envelope *ret)
{
	static const char word[] = "kernel: ";
	size_t n = sizeof(word) - 1;
	size_t limit = len < SYSLOG_PREFIX_MAX ? len : SYSLOG_PREFIX_MAX;
	const char *hit = limit >= n ? memmem(s, limit, word, n) : NULL;

	if (!hit || (hit != s && hit[-1] != ' '))
		return false;
	ret->kind = ENVELOPE_SYSLOG;
	ret->text = (size_t)(hit - s) + n;
	return true;
}

static bool begin_priority(const char *s, size_t len, struct envelope *ret)
{
	size_t p = 1;

	if (len < 3 || s[0] != '<')
		return false;
	while (p < len && is_digit(s[p]) && p < 4)
		p++;
	if (p == 1 || p >= len || s[p] != '>')
		return false;
	ret->kind = ENVELOPE_PRI;
	ret->text = text_after_stamp(s, len, p + 1);
	return true;
}

void envelope_begin(const char *s, size_t len, struct envelope *ret)
{
	*ret = (struct envelope){
		.kind = ENVELOPE_NONE, .t_us = INT64_MIN, .seq = INT64_MIN, .is_canonical = false};
	if (len == 0)
		return;
	if (begin_kmsg(s, len, ret) || begin_date(s, len, ret) || begin_delta(s, len, ret) ||
	    begin_broken(s, len, ret) || begin_priority(s, len, ret) || begin_syslog(s, len, ret))
		return;
	/* "[    T1] text": printk.time=0 with callers */
	if (s[0] == '[') {
		size_t p = skip_caller(s, len, 0);

		if (p > 0) {
			ret->kind = ENVELOPE_PRI;
			ret->text = p < len && s[p] == ' ' ? p + 1 : p;
		}
	}
}
