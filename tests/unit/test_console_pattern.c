/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_pattern.c - the language of the catalogue. */
#include "../../controller/console/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *pattern;
	const char *text;
	bool is_match;
	const char *title; /* NULL: none */
} cases[] = {
	{"abc", "abc", true, NULL},
	{"abc", "abcd", true, NULL},
	{"abc%$", "abcd", false, NULL},
	{"abc%$", "abc", true, NULL},
	{"abc", "ab", false, NULL},
	{"", "anything", true, NULL},
	{"%T", "", false, NULL},
	{"%T", "all of it", true, "all of it"},
	{"a %T b", "a x b", true, "x"},
	{"a %T b", "a  b", false, NULL},
	{"a %* b", "a  b", true, NULL},
	{"task %T:%d blocked", "task kworker/1:0:19 blocked", true, "kworker/1:0"},
	{"task %T:%d blocked", "task a:b blocked", false, NULL},
	{"%T: %n times", "x: y: 12 times", true, "x: y"},
	{"n=%n", "n=-12", true, NULL},
	{"n=%n", "n=123456789012345678", true, NULL},
	{"n=%n", "n=1234567890123456789", false, NULL},
	{"n=%n", "n=", false, NULL},
	{"at %x:", "at 0xfff0:", true, NULL},
	{"at %x:", "at ffff000a:", true, NULL},
	{"at %x:", "at xyz:", false, NULL},
	{"usb %p: x", "usb 1-1.4.4: x", true, NULL},
	{"usb %p: x", "usb usb1: x", false, NULL},
	{"usb %p: x", "usb 1-: x", false, NULL},
	{"%*b%*d%$", "abcd", true, NULL},
	{"%*d%*b", "abcd", false, NULL},
};

static void test_patterns_match_as_described(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pattern_fields f;
		bool is_match =
			pattern_match(cases[i].pattern, cases[i].text, strlen(cases[i].text), &f);

		if (is_match != cases[i].is_match)
			fail_msg("'%s' on '%s'", cases[i].pattern, cases[i].text);
		if (is_match && cases[i].title) {
			assert_int_equal(f.title_len, strlen(cases[i].title));
			assert_memory_equal(f.title, cases[i].title, f.title_len);
		}
	}
}

static void test_fields_carry_their_values(void **state)
{
	static const char text[] = "CPU#3 for 22s, 7 times, usb 2-1.4 no 9";
	struct pattern_fields f;

	(void)state;
	assert_true(pattern_match("CPU#%c for %ss, %n times, usb %p no %u", text, sizeof(text) - 1,
				  &f));
	assert_int_equal(f.cpu, 3);
	assert_int_equal(f.seconds, 22);
	assert_int_equal(f.count, 7);
	assert_int_equal(f.devnum, 9);
	assert_int_equal(f.port_len, 5);
	assert_memory_equal(f.port, "2-1.4", 5);
	assert_null(f.title);
	assert_true(pattern_match("CPU#%c", text, sizeof(text) - 1, &f));
	assert_true(f.seconds == INT64_MIN);
}

static void test_a_hostile_text_takes_no_long_time(void **state)
{
	static char text[4096];
	struct pattern_fields f;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (int i = 0; i < 100; i++)
		assert_false(pattern_match("%*aaaa%*aaaa%*aaaa%*aaaab", text, sizeof(text), &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns_match_as_described),
		cmocka_unit_test(test_fields_carry_their_values),
		cmocka_unit_test(test_a_hostile_text_takes_no_long_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
