/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_text.c - small pieces of text for terminals, JSON and HTML. */
/* ctest: report */
#include "report/text.h"
#include "unit.h"

static void test_milliseconds_have_one_decimal_below_ten(void **state)
{
	static const struct {
		int64_t us;
		const char *expected;
	} cases[] = {
		{-1, "–"},          {INT64_MIN, "–"},   {0, "0.0 ms"},          {49, "0.0 ms"},
		{50, "0.1 ms"},     {4900, "4.9 ms"},   {9949, "9.9 ms"},       {9950, "10 ms"},
		{183212, "183 ms"}, {183500, "184 ms"}, {72000000, "72000 ms"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;

		text_add_ms(&sb, cases[i].us);
		assert_string_equal(strbuf_str(&sb), cases[i].expected);
	}
}

static void test_padding_counts_characters_and_not_bytes(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_padded(&sb, "–", 3, true);
	text_add_padded(&sb, "ä✓", 4, false);
	text_add_padded(&sb, "longer", 2, false);

	assert_string_equal(strbuf_str(&sb), "  –ä✓  longer");
}

static void test_nothing_that_a_terminal_obeys_gets_through(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *expected;
	} cases[] = {
		{"plain – text", 14, "plain – text"},
		{"\033[31mred\033[0m", 12, "\\x1b[31mred\\x1b[0m"},
		{"a\0b\r\n\x7f", 6, "a\\x00b\\x0d\\x0a\\x7f"},
		{"a\tb", 3, "a b"},
		{"\xc2\x9b"
		 "31m",
		 5, "\\x9b31m"},                                 /* CSI as a C1 character */
		{"\xff\xfe", 2, "\\xff\\xfe"},                   /* not UTF-8 */
		{"\xc0\xaf", 2, "\\xc0\\xaf"},                   /* overlong '/' */
		{"\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},          /* surrogate */
		{"\xe2\x82", 2, "\\xe2\\x82"},                   /* cut short */
		{"\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
		{"\xe2\x80\xae"
		 "abc",
		 6, "\\u202eabc"},                           /* right-to-left override */
		{"\xf0\x9f\x90\xa7", 4, "\xf0\x9f\x90\xa7"}, /* four bytes, harmless */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;

		text_add_visible(&sb, cases[i].bytes, cases[i].n, 0);
		assert_string_equal(strbuf_str(&sb), cases[i].expected);
	}
}

static void test_a_long_text_ends_at_the_column_limit(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *expected;
	} cases[] = {
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abcd…"},
		{"ab\x01", 5, "ab…"}, /* the escape is not cut in half */
		{"ab\x01", 6, "ab\\x01"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;

		text_add_visible(&sb, cases[i].text, strlen(cases[i].text), cases[i].max);
		assert_string_equal(strbuf_str(&sb), cases[i].expected);
	}
}

static void test_every_byte_becomes_valid_utf8(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_utf8(&sb, "a\0\xff✓\xe2", 7);

	assert_string_equal(strbuf_str(&sb), "a\xef\xbf\xbd\xef\xbf\xbd✓\xef\xbf\xbd");
}

static void test_html_is_escaped(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_html(&sb, "<script>alert(\"1\" & '2')</script>\033");

	assert_string_equal(
		strbuf_str(&sb),
		"&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;\\x1b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_milliseconds_have_one_decimal_below_ten),
		cmocka_unit_test(test_padding_counts_characters_and_not_bytes),
		cmocka_unit_test(test_nothing_that_a_terminal_obeys_gets_through),
		cmocka_unit_test(test_a_long_text_ends_at_the_column_limit),
		cmocka_unit_test(test_every_byte_becomes_valid_utf8),
		cmocka_unit_test(test_html_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
