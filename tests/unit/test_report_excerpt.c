/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_excerpt.c - lines out of a boot's recording. */
/* ctest: report */
#include "base/waiter.h"
#include "report/excerpt.h"
#include "unit.h"

static int setup(void **state)
{
	*state = unit_tmpdir();
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

static void write_recording(const char *dir, const char *raw, const char *timing)
{
	unit_write(dir, "console.raw", raw);
	unit_write(dir, "console.timing", timing);
}

static void test_lines_come_with_the_time_of_their_last_byte(void **state)
{
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	write_recording(*state, "one\r\n\r\ntwo\r\nthree",
			"0.500000 5\n1.250000 4\n0.000001 100\n");

	assert_int_equal(excerpt_read(*state, 0, 1000, "two", NULL, &x, &e), 0);
	assert_int_equal(x.n, 3);
	assert_string_equal(x.lines[0].text, "one");
	assert_int_equal(x.lines[0].t_ns, 500 * NSEC_PER_MSEC);
	assert_int_equal(x.lines[0].offset, 0);
	assert_string_equal(x.lines[1].text, "two");
	assert_int_equal(x.lines[1].t_ns, 1750 * NSEC_PER_MSEC + 1000);
	assert_int_equal(x.lines[1].offset, 7);
	assert_string_equal(x.lines[2].text, "three");
	assert_int_equal(x.anchor, 1);
}

static void test_a_line_that_began_before_the_range_is_left_out(void **state)
{
	static const struct {
		uint64_t from, to;
		const char *first;
		size_t n;
	} cases[] = {
		{0, 12, "aaa", 3}, {1, 12, "bbb", 2}, {4, 12, "bbb", 2},    {4, 6, "bb", 1},
		{5, 12, "ccc", 1}, {12, 12, NULL, 0}, {900, 1000, NULL, 0},
	};

	write_recording(*state, "aaa\nbbb\nccc\n", "1.0 12\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_excerpt struct excerpt x = EXCERPT_INIT;
		struct err e = {0};

		assert_int_equal(
			excerpt_read(*state, cases[i].from, cases[i].to, "zzz", NULL, &x, &e), 0);
		assert_int_equal(x.n, cases[i].n);
		assert_true(x.anchor == EXCERPT_NO_ANCHOR);
		if (cases[i].first)
			assert_string_equal(x.lines[0].text, cases[i].first);
	}
}

static void test_a_long_range_keeps_what_is_around_the_anchor(void **state)
{
	auto_strbuf struct strbuf raw = STRBUF_INIT;
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	for (int i = 0; i < 200; i++)
		strbuf_addf(&raw, "%s %d\n", i == 100 || i == 110 ? "usb: USB disconnect" : "line",
			    i);
	write_recording(*state, strbuf_str(&raw), "1.0 100000\n");

	assert_int_equal(excerpt_read(*state, 0, raw.len, "USB disconnect", NULL, &x, &e), 0);
	assert_int_equal(x.n, EXCERPT_LINES_MAX);
	assert_int_equal(x.left_before, 100 - EXCERPT_LINES_BEFORE);
	assert_int_equal(x.left_after, 200 - x.left_before - EXCERPT_LINES_MAX);
	assert_int_equal(x.anchor, EXCERPT_LINES_BEFORE);
	assert_string_equal(x.lines[x.anchor].text, "usb: USB disconnect 100");
}

static void test_without_the_anchor_the_last_lines_are_kept(void **state)
{
	auto_strbuf struct strbuf raw = STRBUF_INIT;
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	for (int i = 0; i < 200; i++)
		strbuf_addf(&raw, "line %d\n", i);
	write_recording(*state, strbuf_str(&raw), "1.0 100000\n");

	assert_int_equal(excerpt_read(*state, 0, raw.len, "USB disconnect", NULL, &x, &e), 0);
	assert_int_equal(x.left_before, 200 - EXCERPT_LINES_MAX);
	assert_int_equal(x.left_after, 0);
	assert_string_equal(x.lines[EXCERPT_LINES_MAX - 1].text, "line 199");
}

static void test_exactly_the_limit_of_lines_leaves_nothing_out(void **state)
{
	auto_strbuf struct strbuf raw = STRBUF_INIT;
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	for (int i = 0; i < EXCERPT_LINES_MAX; i++)
		strbuf_addf(&raw, "line %d\n", i);
	write_recording(*state, strbuf_str(&raw), "1.0 100000\n");

	assert_int_equal(excerpt_read(*state, 0, raw.len, "none", NULL, &x, &e), 0);
	assert_int_equal(x.n, EXCERPT_LINES_MAX);
	assert_int_equal(x.left_before + x.left_after, 0);
	assert_false(x.is_cut);
}

static void test_a_range_beyond_the_byte_limit_is_cut_and_says_so(void **state)
{
	char *bytes = xcalloc(1, EXCERPT_BYTES_MAX + 2);
	struct err e = {0};

	memset(bytes, 'x', EXCERPT_BYTES_MAX + 1);
	write_recording(*state, bytes, "1.0 2000000\n");
	free(bytes);
	for (unsigned more = 0; more < 2; more++) {
		auto_excerpt struct excerpt x = EXCERPT_INIT;

		assert_int_equal(
			excerpt_read(*state, 0, EXCERPT_BYTES_MAX + more, "none", NULL, &x, &e), 0);
		assert_int_equal(x.is_cut, more);
		assert_int_equal(x.n, 1);
		assert_true(strlen(x.lines[0].text) < EXCERPT_COLUMNS_MAX + 4);
	}
}

static void test_console_bytes_are_made_safe(void **state)
{
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	write_recording(*state, "\033[2Jgone\n", "1.0 9\n");

	assert_int_equal(excerpt_read(*state, 0, 9, "none", NULL, &x, &e), 0);
	assert_string_equal(x.lines[0].text, "\\x1b[2Jgone");
}

static void test_a_broken_timing_file_is_named_with_its_line(void **state)
{
	static const char *const broken[] = {
		"1.0 2\nsoon 9\n", "1.0 2\n1.0\n",   "1.0 2\n-1.0 3\n",
		"1.0 2\n1.0 x\n",  "1.0 2\n\n",      "1.0 2\n1.0.0 9\n",
		"1.0 2\n.5 9\n",   "1.0 2\n1e3 9\n", "1.0 2\n9223372036854775807 9\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		auto_excerpt struct excerpt x = EXCERPT_INIT;
		struct err e = {0};

		write_recording(*state, "a\nb\n", broken[i]);
		assert_int_equal(excerpt_read(*state, 0, 4, "none", NULL, &x, &e), -EINVAL);
		assert_int_equal(e.kind, ERR_STORE);
		assert_contains(e.text, "console.timing:2: ");
	}
}

static void test_bytes_without_a_time_take_the_last_one(void **state)
{
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	write_recording(*state, "a\nb\n", "2.5 2\n");

	assert_int_equal(excerpt_read(*state, 0, 4, "none", NULL, &x, &e), 0);
	assert_int_equal(x.lines[1].t_ns, 2500 * NSEC_PER_MSEC);
}

static void test_a_recording_that_is_gone_is_named(void **state)
{
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};

	assert_int_equal(excerpt_read(*state, 0, 4, "none", NULL, &x, &e), -ENOENT);
	assert_contains(e.text, "console.raw");
	unit_write(*state, "console.raw", "a\n");
	assert_int_equal(excerpt_read(*state, 0, 4, "none", NULL, &x, &e), -ENOENT);
	assert_contains(e.text, "console.timing");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_lines_come_with_the_time_of_their_last_byte),
		CASE(test_a_line_that_began_before_the_range_is_left_out),
		CASE(test_a_long_range_keeps_what_is_around_the_anchor),
		CASE(test_without_the_anchor_the_last_lines_are_kept),
		CASE(test_exactly_the_limit_of_lines_leaves_nothing_out),
		CASE(test_a_range_beyond_the_byte_limit_is_cut_and_says_so),
		CASE(test_console_bytes_are_made_safe),
		CASE(test_a_broken_timing_file_is_named_with_its_line),
		CASE(test_bytes_without_a_time_take_the_last_one),
		CASE(test_a_recording_that_is_gone_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
