/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.c - strict numbers and words out of text. */
#include "base/parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static int not_a_number(const char *what, const char *text, struct err *e)
{
	return err_set(e, ERR_USAGE, EINVAL, "%s: '%s' is not a decimal number", what, text);
}

int parse_i64(const char *what, const char *text, int64_t min, int64_t max, int64_t *ret,
	      struct err *e)
{
	const char *p = text;
	bool is_negative = false;
	int64_t v = 0;

	if (*p == '-') {
		is_negative = true;
		p++;
	}
	if (!isdigit((unsigned char)*p))
		return not_a_number(what, text, e);
	for (; isdigit((unsigned char)*p); p++) {
		int digit = *p - '0';

		if (__builtin_mul_overflow(v, 10, &v) ||
		    (is_negative ? __builtin_sub_overflow(v, digit, &v)
				 : __builtin_add_overflow(v, digit, &v)))
			goto out_of_range;
	}
	if (*p)
		return not_a_number(what, text, e);
	if (v < min || v > max)
		goto out_of_range;
	*ret = v;
	return 0;

out_of_range:
	return err_set(e, ERR_USAGE, ERANGE, "%s: %s is outside %" PRId64 "..%" PRId64, what, text,
		       min, max);
}

int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
	      struct err *e)
{
	const char *p = text;
	uint64_t v = 0;

	if (!isdigit((unsigned char)*p))
		return not_a_number(what, text, e);
	for (; isdigit((unsigned char)*p); p++) {
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			goto out_of_range;
	}
	if (*p)
		return not_a_number(what, text, e);
	if (v < min || v > max)
		goto out_of_range;
	*ret = v;
	return 0;

out_of_range:
	return err_set(e, ERR_USAGE, ERANGE, "%s: %s is outside %" PRIu64 "..%" PRIu64, what, text,
		       min, max);
}

int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *ret,
	      struct err *e)
{
	uint64_t v;
	int r;

	r = parse_u64(what, text, min, max, &v, e);
	if (r < 0)
		return r;
	*ret = (uint32_t)v;
	return 0;
}

int parse_duration_s(const char *what, const char *text, uint32_t min_s, uint32_t max_s,
		     uint32_t *ret_s, struct err *e)
{
	static const struct {
		char unit;
		uint32_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	size_t n = strlen(text);
	uint64_t value, factor = 0;

	for (size_t i = 0; n && i < ARRAY_SIZE(units); i++)
		if (text[n - 1] == units[i].unit)
			factor = units[i].seconds;

	auto_free char *digits = xasprintf("%.*s", (int)(factor ? n - 1 : n), text);

	factor = factor ? factor : 1;
	if (parse_u64(what, digits, 0, UINT32_MAX, &value, NULL) < 0)
		return err_set(e, ERR_USAGE, EINVAL,
			       "%s: '%s' is no duration, as in 90s, 30m, 12h or 7d", what, text);
	if (value * factor < min_s || value * factor > max_s)
		return err_set(e, ERR_USAGE, ERANGE, "%s: %s is outside %u…%u seconds", what, text,
			       min_s, max_s);
	*ret_s = (uint32_t)(value * factor);
	return 0;
}

bool parse_pair(const char *line, const char *key, char *ret_value, size_t cap)
{
	size_t klen = strlen(key);
	const char *p = line;

	while (*p) {
		size_t wlen = strcspn(p, " \t\n");

		if (wlen > klen && p[klen] == '=' && memcmp(p, key, klen) == 0) {
			size_t vlen = wlen - klen - 1;

			if (vlen >= cap)
				return false;
			memcpy(ret_value, p + klen + 1, vlen);
			ret_value[vlen] = '\0';
			return true;
		}
		p += wlen;
		p += strspn(p, " \t\n");
	}
	return false;
}

bool parse_pair_i64(const char *line, const char *key, int64_t *ret)
{
	char text[32];

	return parse_pair(line, key, text, sizeof(text)) &&
	       parse_i64(key, text, INT64_MIN, INT64_MAX, ret, NULL) == 0;
}

bool parse_is_name(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > 128 || s[0] == '.' || s[0] == '-')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._+-", *s))
			return false;
	return true;
}

void parse_make_name(char *s)
{
	if (*s == '.' || *s == '-')
		*s = '_';
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._+-", *s))
			*s = '_';
}
