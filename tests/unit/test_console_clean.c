/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_clean.c - what is left of dirty lines. */
#include "console/clean.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *in;
	size_t len;
	const char *out;
	unsigned garbage;
} cases[] = {
	{"plain\ttext", 10, "plain\ttext", 0},
	{"\033[1mbold\033[0m", 12, "bold", 0},
	{"\033[?2004hx", 9, "x", 0},
	{"\033[74G[   50.6", 13, "[   50.6", 0},
	{"a\033]0;title\ab", 12, "ab", 0},
	{"a\033]0;title\033\\b", 13, "ab", 0},
	{"a\033]0;open", 9, "a0;open", 0}, /* without its end only the start goes */
	{"a\033(Bb", 5, "ab", 0},
	{"a\033", 2, "a", 0},
	{"a\033[", 3, "a", 0},
	{"a\bb\ac", 5, "abc", 0},
	{"a\0b\xff"
	 "c\x7f",
	 6, "abc", 3},
	{"caf\xc3\xa9", 5, "caf\xc3\xa9", 0},
	{"\xe2\x82\xac", 3, "\xe2\x82\xac", 0},
	{"\xf0\x9f\x92\xa5", 4, "\xf0\x9f\x92\xa5", 0},
	{"\xe2\x82", 2, "", 2},
	{"\xc0\x80", 2, "", 2},
	{"\x80x", 2, "x", 1},
	{"", 0, "", 0},
};

static void test_only_text_is_left(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *in = malloc(cases[i].len ? cases[i].len : 1); /* exact, for the sanitizer */
		char *out = malloc(cases[i].len ? cases[i].len : 1);
		uint64_t garbage = 99;
		size_t n;

		memcpy(in, cases[i].in, cases[i].len);
		n = clean_text(in, cases[i].len, out, &garbage);
		if (n != strlen(cases[i].out) || memcmp(out, cases[i].out, n) != 0 ||
		    garbage != cases[i].garbage)
			fail_msg("case %zu: %zu bytes, %u garbage", i, n, (unsigned)garbage);
		free(in);
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_text_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
