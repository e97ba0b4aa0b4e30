/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pattern.c - matching of catalogue patterns. */
#include "pattern.h"

#include <string.h>

struct cursor {
	const char *text;
	size_t pos;
	size_t len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Numbers of more than 18 digits are no kernel number and do not match. */
static bool match_int(struct cursor *c, int64_t *ret)
{
	size_t pos = c->pos;
	int64_t v = 0;
	bool is_negative = false;
	size_t first;

	if (pos < c->len && c->text[pos] == '-') {
		is_negative = true;
		pos++;
	}
	first = pos;
	while (pos < c->len && is_digit(c->text[pos]) && pos - first < 18)
		v = v * 10 + (c->text[pos++] - '0');
	if (pos == first || (pos < c->len && is_digit(c->text[pos])))
		return false;
	c->pos = pos;
	if (ret)
		*ret = is_negative ? -v : v;
	return true;
}

static bool match_hex(struct cursor *c)
{
	size_t pos = c->pos;
	size_t first;

	if (pos + 1 < c->len && c->text[pos] == '0' && c->text[pos + 1] == 'x')
		pos += 2;
	first = pos;
	while (pos < c->len && is_hex(c->text[pos]))
		pos++;
	if (pos == first)
		return false;
	c->pos = pos;
	return true;
}

static size_t skip_digits(const struct cursor *c, size_t pos)
{
	while (pos < c->len && is_digit(c->text[pos]))
		pos++;
	return pos;
}

/* bus '-' port ('.' port)* */
static bool match_port(struct cursor *c, struct pattern_fields *f)
{
	size_t start = c->pos;
	size_t pos = skip_digits(c, start);
	size_t next;

	if (pos == start || pos >= c->len || c->text[pos] != '-')
		return false;
	next = skip_digits(c, pos + 1);
	if (next == pos + 1)
		return false;
	pos = next;
	while (pos < c->len && c->text[pos] == '.') {
		next = skip_digits(c, pos + 1);
		if (next == pos + 1)
			break;
		pos = next;
	}
	c->pos = pos;
	f->port = c->text + start;
	f->port_len = pos - start;
	return true;
}

static bool match_field(char kind, struct cursor *c, struct pattern_fields *f)
{
	switch (kind) {
	case 'c':
		return match_int(c, &f->cpu);
	case 's':
		return match_int(c, &f->seconds);
	case 'n':
		return match_int(c, &f->count);
	case 'j':
		return match_int(c, &f->jiffies);
	case 'u':
		return match_int(c, &f->devnum);
	case 'd':
		return match_int(c, NULL);
	case 'x':
		return match_hex(c);
	case 'p':
		return match_port(c, f);
	case '$':
		return c->pos == c->len;
	default:
		return false;
	}
}

static bool is_wildcard(const char *pattern)
{
	return pattern[0] == '%' && (pattern[1] == 'T' || pattern[1] == '*');
}

/* Matches up to the next wildcard or the pattern's end; moves *pattern there on success. */
static bool match_run(const char **pattern, struct cursor *c, struct pattern_fields *f)
{
	const char *p = *pattern;

	while (*p && !is_wildcard(p)) {
		if (*p == '%') {
			if (!match_field(p[1], c, f))
				return false;
			p += 2;
		} else {
			if (c->pos >= c->len || c->text[c->pos] != *p)
				return false;
			c->pos++;
			p++;
		}
	}
	*pattern = p;
	return true;
}

/* Leaves the cursor behind the first place at or after it where the run fits. */
static bool find_run(const char **pattern, struct cursor *c, struct pattern_fields *f,
		     size_t *ret_start)
{
	char first = **pattern;

	for (size_t at = c->pos; at <= c->len; at++) {
		struct cursor attempt = {c->text, at, c->len};

		if (first != '%') {
			const char *hit =
				at < c->len ? memchr(c->text + at, first, c->len - at) : NULL;

			if (!hit)
				return false;
			at = (size_t)(hit - c->text);
			attempt.pos = at;
		}
		if (match_run(pattern, &attempt, f)) {
			*ret_start = at;
			c->pos = attempt.pos;
			return true;
		}
	}
	return false;
}

bool pattern_match(const char *pattern, const char *text, size_t len, struct pattern_fields *ret)
{
	struct cursor c = {text, 0, len};

	*ret = (struct pattern_fields){.seconds = INT64_MIN,
				       .count = INT64_MIN,
				       .jiffies = INT64_MIN,
				       .cpu = INT64_MIN,
				       .devnum = INT64_MIN};
	if (!match_run(&pattern, &c, ret))
		return false;
	while (*pattern) {
		bool is_title = pattern[1] == 'T';
		size_t start = c.pos;
		size_t end = len;

		pattern += 2;
		if (is_title) {
			if (c.pos >= len)
				return false;
			c.pos++;
		}
		if (*pattern) {
			if (!find_run(&pattern, &c, ret, &end))
				return false;
		} else {
			c.pos = len;
		}
		if (is_title) {
			ret->title = text + start;
			ret->title_len = end - start;
		}
	}
	return true;
}
