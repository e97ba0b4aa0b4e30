/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clean.c - escape sequences, UTF-8, garbage. */
#include "console/clean.h"

#include <string.h>

static size_t utf8_length(const unsigned char *s, size_t len)
{
	size_t n = s[0] >= 0xf0 && s[0] < 0xf5   ? 4
		   : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
						 : 0;

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

/* Length of the escape sequence at s, which starts with ESC. */
static size_t escape_length(const unsigned char *s, size_t len)
{
	size_t i = 2;

	if (len < 2)
		return 1;
	if (s[1] == '[') {
		while (i < len && s[i] >= 0x20 && s[i] <= 0x3f)
			i++;
		return i < len && s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : i;
	}
	if (s[1] == ']') {
		for (; i < len; i++) {
			if (s[i] == 0x07)
				return i + 1;
			if (s[i] == 0x1b && i + 1 < len && s[i + 1] == '\\')
				return i + 2;
		}
		return 2;
	}
	i = 1;
	while (i < len && s[i] >= 0x20 && s[i] <= 0x2f)
		i++;
	return i < len && s[i] >= 0x30 && s[i] <= 0x7e ? i + 1 : i;
}

size_t clean_text(const char *in, size_t len, char *out, uint64_t *ret_garbage)
{
	const unsigned char *s = (const unsigned char *)in;
	uint64_t garbage = 0;
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		unsigned char c = s[i];
		size_t step = 1;

		if (c >= 0x20 && c < 0x7f) {
			out[n++] = (char)c;
		} else if (c == '\t') {
			out[n++] = '\t';
		} else if (c == 0x1b) {
			step = escape_length(s + i, len - i);
		} else if (c >= 0x80) {
			step = utf8_length(s + i, len - i);
			memcpy(out + n, s + i, step);
			n += step;
			if (step == 0) {
				garbage++;
				step = 1;
			}
		} else if (c != '\a' && c != '\b' && c != '\v' && c != '\f') {
			garbage++;
		}
		i += step;
	}
	*ret_garbage = garbage;
	return n;
}
