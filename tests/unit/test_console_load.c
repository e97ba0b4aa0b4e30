/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_load.c - arithmetic of a busy serial line. */
#include "console/load.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MS ((int64_t)1000000)

static struct console_load l;

static void test_a_hundred_bytes_take_8_7_ms_at_115200(void **state)
{
	(void)state;
	console_load_init(&l, 115200);
	console_load_add(&l, 0, 100);
	assert_int_equal(console_load_busy_ns(&l, 0, 1000 * MS), 8680555);
	assert_true(console_load_pct(&l, 0, 1000 * MS) > 0.86);
	assert_true(console_load_pct(&l, 0, 1000 * MS) < 0.87);
}

static void test_bytes_that_come_faster_than_the_line_sends_wait(void **state)
{
	(void)state;
	console_load_init(&l, 115200);
	for (int i = 0; i < 100; i++)
		console_load_add(&l, i * MS, 115); /* 10 ms of text every ms */
	assert_true(console_load_longest_ns(&l, 0, 10000 * MS) > 997 * MS);
	assert_true(console_load_longest_ns(&l, 0, 10000 * MS) < 999 * MS);
	assert_int_equal(console_load_busy_ns(&l, 50 * MS, 60 * MS), 10 * MS);
	assert_int_equal(console_load_busy_ns(&l, 60 * MS, 50 * MS), 0);
}

static void test_only_a_delay_filled_with_printing_is_explained_by_it(void **state)
{
	(void)state;
	console_load_init(&l, 115200);
	console_load_add(&l, 0, 100);
	console_load_add(&l, 500 * MS, 100);
	assert_true(console_load_explains(&l, 0, 9 * MS));
	assert_true(console_load_explains(&l, 0, 17 * MS));
	assert_false(console_load_explains(&l, 0, 18 * MS));
	assert_false(console_load_explains(&l, 0, 6782 * MS));
	assert_false(console_load_explains(&l, 0, 0));
}

static void test_a_line_without_a_rate_has_no_load(void **state)
{
	(void)state;
	console_load_init(&l, 0);
	console_load_add(&l, 0, 1000000);
	assert_int_equal(console_load_busy_ns(&l, 0, INT64_MAX), 0);
	console_load_init(&l, -5);
	console_load_add(&l, 0, 1000000);
	assert_int_equal(l.n, 0);
}

static void test_rounding_does_not_add_up(void **state)
{
	(void)state;
	console_load_init(&l, 115200);
	for (int i = 0; i < 115200; i++)
		console_load_add(&l, 0, 1);
	assert_int_equal(console_load_busy_ns(&l, 0, INT64_MAX), 10000 * MS);
}

static void test_old_spans_fall_out_at_the_limit(void **state)
{
	(void)state;
	console_load_init(&l, 115200);
	for (int i = 0; i < CONSOLE_LOAD_SPANS; i++)
		console_load_add(&l, i * MS, 1);
	assert_int_equal(l.n, CONSOLE_LOAD_SPANS);
	assert_false(l.has_lost);
	console_load_add(&l, CONSOLE_LOAD_SPANS * MS, 1);
	assert_int_equal(l.n, CONSOLE_LOAD_SPANS);
	assert_true(l.has_lost);
	assert_int_equal(console_load_busy_ns(&l, 0, MS), 0);
	assert_true(console_load_busy_ns(&l, MS, 2 * MS) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_hundred_bytes_take_8_7_ms_at_115200),
		cmocka_unit_test(test_bytes_that_come_faster_than_the_line_sends_wait),
		cmocka_unit_test(test_only_a_delay_filled_with_printing_is_explained_by_it),
		cmocka_unit_test(test_a_line_without_a_rate_has_no_load),
		cmocka_unit_test(test_rounding_does_not_add_up),
		cmocka_unit_test(test_old_spans_fall_out_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
