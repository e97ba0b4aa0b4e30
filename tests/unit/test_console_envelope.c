/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_envelope.c - stamps and what is none. */
#include "../../controller/console/envelope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *line;
	int64_t t_us; /* -1: not a leading stamp */
	const char *text;
} leading[] = {
	{"[ 1558.625517] text", 1558625517, "text"},
	{"[    0.000000] text", 0, "text"},
	{"[99999.999999] text", 99999999999, "text"},
	{"[160403.252871] text", 160403252871, "text"},
	{"[123456789012.000001] x", 123456789012000001, "x"},
	{"[1234567890123.000001] x", -1, NULL},
	{"[ 1558.625517][  T140] text", 1558625517, "text"},
	{"[ 1558.625517][T12345] text", 1558625517, "text"},
	{"[ 1558.625517] [      C6] text", 1558625517, "text"},
	{"[ 1558.625517]   pwq 5:", 1558625517, "  pwq 5:"},
	{"[ 1558.625517] ", 1558625517, ""},
	{"[ 1558.625517]", 1558625517, ""},
	{"[ 1558.625517] [sda] x", 1558625517, "[sda] x"},
	{"[1558.625517] text", -1, NULL},
	{"[     1558.625517] text", -1, NULL},
	{"[ 1558.62551] text", -1, NULL},
	{"[ 1558.6255170] text", -1, NULL},
	{"[ 1558,625517] text", -1, NULL},
	{"[     .625517] text", -1, NULL},
	{"[ 1558.625517", -1, NULL},
	{"", -1, NULL},
	{"[", -1, NULL},
};

static void test_leading_stamps_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(leading); i++) {
		struct envelope env = {.t_us = -7};
		size_t len = strlen(leading[i].line);
		bool is_one = envelope_leading(leading[i].line, len, &env);

		if (is_one != (leading[i].t_us >= 0))
			fail_msg("'%s'", leading[i].line);
		if (!is_one)
			continue;
		assert_int_equal(env.t_us, leading[i].t_us);
		assert_string_equal(leading[i].line + env.text, leading[i].text);
	}
}

/* "[", spaces and digits that are five bytes together, ".", six digits, "]". */
static bool is_short_stamp(const char *s)
{
	size_t p = 1;

	while (p < 5 && s[p] == ' ')
		p++;
	for (; p < 14; p++) {
		bool is_digit = s[p] >= '0' && s[p] <= '9';

		if (p == 6 ? s[p] != '.' : p == 13 ? s[p] != ']' : !is_digit)
			return false;
	}
	return s[0] == '[';
}

static void test_any_other_byte_in_a_stamp_makes_it_none(void **state)
{
	static const char *const stamps[] = {"[    2.345678] text", "[   12.345678] text",
					     "[12345.678901] text"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stamps); i++) {
		for (size_t at = 0; at < 14 * 14; at++) {
			for (unsigned c = 0; c < 256; c++) {
				struct envelope env;
				char line[32];

				/* one byte, and two that are the same */
				strcpy(line, stamps[i]);
				line[at / 14] = (char)c;
				line[at % 14] = (char)c;
				if (envelope_leading(line, strlen(stamps[i]), &env) !=
				    is_short_stamp(line))
					fail_msg("'%s' with byte %u at %zu and %zu", stamps[i], c,
						 at / 14, at % 14);
			}
		}
	}
}

static void test_both_ways_to_a_leading_stamp_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(leading); i++) {
		size_t len = strlen(leading[i].line);
		struct envelope a;
		struct envelope b;
		unsigned broken;

		if (!envelope_leading(leading[i].line, len, &a))
			continue;
		assert_true(envelope_find(leading[i].line, len, 0, &b, &broken));
		assert_int_equal(a.start, b.start);
		assert_int_equal(a.text, b.text);
		assert_int_equal(a.t_us, b.t_us);
		assert_int_equal(a.is_canonical, b.is_canonical);
	}
}

static void test_a_stamp_without_its_padding_is_found_but_not_trusted(void **state)
{
	struct envelope env;
	unsigned broken;

	(void)state;
	assert_true(envelope_find("[1558.625517] x", 15, 0, &env, &broken));
	assert_false(env.is_canonical);
	assert_true(envelope_find("[ 11558.625517] x", 17, 0, &env, &broken));
	assert_false(env.is_canonical);
}

static void test_ends_of_stamps_without_a_beginning_are_counted(void **state)
{
	static const char text[] = "a 5.000000] b .625517] c [  +0.000021] d [ 1558.625517] e";
	struct envelope env;
	unsigned broken;

	(void)state;
	assert_true(envelope_find(text, sizeof(text) - 1, 0, &env, &broken));
	assert_int_equal(broken, 2);
	assert_int_equal(env.t_us, 1558625517);
}

static const struct {
	const char *line;
	enum envelope_kind kind;
	const char *text;
} begins[] = {
	{"6,16632,40311382141,-,caller=C0;text", ENVELOPE_KMSG, "text"},
	{"6,16632,40311382141,-;text", ENVELOPE_KMSG, "text"},
	{"6.4.0-rc1,6,16632,40311382141,-;text", ENVELOPE_KMSG, "text"},
	{"6,16632,40311382141,-,ncfrag=0/33;text", ENVELOPE_KMSG, "text"},
	{"6,7,8 apples", ENVELOPE_NONE, "6,7,8 apples"},
	{"6,7,8,9;x", ENVELOPE_NONE, "6,7,8,9;x"},
	{"[Wed Jun  5 03:14:35 2013] text", ENVELOPE_DATE, "text"},
	{"[Wed Jun 15 03:14:35 2013] text", ENVELOPE_DATE, "text"},
	{"[Wed Jun 15 03:14:35 201] text", ENVELOPE_NONE, "[Wed Jun 15 03:14:35 201] text"},
	{"[  +0.000021] text", ENVELOPE_DELTA, "text"},
	{"[<    0.000021>] text", ENVELOPE_DELTA, "text"},
	{"[Jun 5 03:14] text", ENVELOPE_DELTA, "text"},
	{"[Jun15 03:14] text", ENVELOPE_DELTA, "text"},
	{"[ 1558.62551] text", ENVELOPE_BROKEN, "text"},
	{"[ 1558.625517 text", ENVELOPE_BROKEN, "text"},
	{"1558.625517] text", ENVELOPE_BROKEN, "text"},
	{"[1]+  Done  sleep 5", ENVELOPE_NONE, "[1]+  Done  sleep 5"},
	{"[3.5 MB/s] copied", ENVELOPE_NONE, "[3.5 MB/s] copied"},
	{"3.141592 is pi", ENVELOPE_NONE, "3.141592 is pi"},
	{"<6>text", ENVELOPE_PRI, "text"},
	{"<6>[    T1] text", ENVELOPE_PRI, "text"},
	{"[    T1] text", ENVELOPE_PRI, "text"},
	{"<sub>text", ENVELOPE_NONE, "<sub>text"},
	{"Apr 26 17:17:12 host kernel: text", ENVELOPE_SYSLOG, "text"},
	{"notkernel: text", ENVELOPE_NONE, "notkernel: text"},
	{"", ENVELOPE_NONE, ""},
};

static void test_other_beginnings_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		struct envelope env;

		envelope_begin(begins[i].line, strlen(begins[i].line), &env);
		if (env.kind != begins[i].kind ||
		    strcmp(begins[i].line + env.text, begins[i].text) != 0)
			fail_msg("'%s': kind %d, text '%s'", begins[i].line, (int)env.kind,
				 begins[i].line + env.text);
	}
}

static void test_short_lines_are_not_read_past_their_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		size_t len = strlen(begins[i].line);

		for (size_t n = 0; n <= len; n++) {
			char *copy = malloc(n ? n : 1); /* exact, for the address sanitizer */
			struct envelope env;
			unsigned broken;

			memcpy(copy, begins[i].line, n);
			envelope_begin(copy, n, &env);
			assert_true(env.text <= n);
			if (envelope_find(copy, n, 0, &env, &broken))
				assert_true(env.text <= n);
			if (envelope_leading(copy, n, &env))
				assert_true(env.text <= n);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leading_stamps_are_exact),
		cmocka_unit_test(test_any_other_byte_in_a_stamp_makes_it_none),
		cmocka_unit_test(test_both_ways_to_a_leading_stamp_agree),
		cmocka_unit_test(test_a_stamp_without_its_padding_is_found_but_not_trusted),
		cmocka_unit_test(test_ends_of_stamps_without_a_beginning_are_counted),
		cmocka_unit_test(test_other_beginnings_are_told_apart),
		cmocka_unit_test(test_short_lines_are_not_read_past_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
