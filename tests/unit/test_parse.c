/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
#include "base/parse.h"
#include "unit.h"

static void test_integers_are_taken_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"-1", 0, -1},
		{"9223372036854775807", 0, INT64_MAX},
		{"-9223372036854775808", 0, INT64_MIN},
		{"9223372036854775808", -ERANGE, 0},
		{"-9223372036854775809", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1.5", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = 42;
		struct err e = {0};
		int r = parse_i64("n", cases[i].text, INT64_MIN, INT64_MAX, &v, &e);

		if (r != cases[i].r)
			fail_msg("'%s': %d", cases[i].text, r);
		assert_int_equal(v, r < 0 ? 42 : cases[i].value);
	}
}

static void test_unsigned_limits_hold(void **state)
{
	struct err e = {0};
	uint64_t big = 7;
	uint32_t v = 7;

	(void)state;
	assert_int_equal(parse_u64("n", "18446744073709551615", 0, UINT64_MAX, &big, &e), 0);
	assert_true(big == UINT64_MAX);
	assert_int_equal(parse_u64("n", "18446744073709551616", 0, UINT64_MAX, &big, &e), -ERANGE);
	assert_int_equal(parse_u32("--trials", "10001", 1, 10000, &v, &e), -ERANGE);
	assert_int_equal(v, 7);
	assert_string_equal(e.text, "--trials: 10001 is outside 1..10000");
	assert_int_equal(parse_u32("--trials", "-3", 1, 10000, &v, &e), -EINVAL);
	assert_string_equal(e.text, "--trials: '-3' is not a decimal number");
}

static void test_pairs_are_found_as_whole_words(void **state)
{
	const char *line = "max_us=5 us=7 xus=9 empty= last=-3\n";
	char value[8];
	int64_t n;

	(void)state;
	assert_true(parse_pair_i64(line, "us", &n));
	assert_int_equal(n, 7);
	assert_true(parse_pair_i64(line, "last", &n));
	assert_int_equal(n, -3);
	assert_true(parse_pair(line, "empty", value, sizeof(value)) == false || value[0] == '\0');
	assert_false(parse_pair_i64(line, "s", &n));
	assert_false(parse_pair_i64("us=12z", "us", &n));
	assert_false(parse_pair("k=12345678", "k", value, sizeof(value)));
	assert_true(parse_pair("k=1234567", "k", value, sizeof(value)));
}

static void test_names_that_become_files_are_harmless(void **state)
{
	char at_limit[130];

	(void)state;
	memset(at_limit, 'a', sizeof(at_limit));
	at_limit[128] = '\0';
	assert_true(parse_is_name(at_limit));
	at_limit[128] = 'a';
	at_limit[129] = '\0';
	assert_false(parse_is_name(at_limit));
	assert_true(parse_is_name("debian-6.12.117+deb12-amd64"));
	assert_false(parse_is_name(""));
	assert_false(parse_is_name(".."));
	assert_false(parse_is_name("-rf"));
	assert_false(parse_is_name("a/b"));
	assert_false(parse_is_name("a b"));
}

static void test_durations_have_a_unit_and_a_range(void **state)
{
	static const struct {
		const char *text;
		int code;
		uint32_t seconds;
	} cases[] = {
		{"90", 0, 90},
		{"90s", 0, 90},
		{"30m", 0, 1800},
		{"12h", 0, 43200},
		{"7d", 0, 604800},
		{"1s", ERANGE, 0},
		{"8d", ERANGE, 0},
		{"0d", ERANGE, 0},
		{"", EINVAL, 0},
		{"m", EINVAL, 0},
		{"-1m", EINVAL, 0},
		{"1.5h", EINVAL, 0},
		{"3x", EINVAL, 0},
		{"1 m", EINVAL, 0},
		{"99999999999d", EINVAL, 0},
		{"4000000000d", ERANGE, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};
		uint32_t seconds = 0;
		int r = parse_duration_s("--for", cases[i].text, 2, 604800, &seconds, &e);

		if (r != -cases[i].code || seconds != cases[i].seconds)
			fail_msg("'%s': %d, %u s: %s", cases[i].text, r, seconds, e.text);
		if (r < 0)
			assert_contains(e.text, "--for");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations_have_a_unit_and_a_range),
		cmocka_unit_test(test_integers_are_taken_whole_or_not_at_all),
		cmocka_unit_test(test_unsigned_limits_hold),
		cmocka_unit_test(test_pairs_are_found_as_whole_words),
		cmocka_unit_test(test_names_that_become_files_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
