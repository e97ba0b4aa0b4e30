/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base,m */
/* test_console_clock.c - the fit finds offset and skew, and its stated error holds. */
#include "base/rng.h"
#include "console/clock.h"
#include "console_util.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MS ((int64_t)1000000)

static struct console_clock c;

/* Lines of a boot that lasts seconds: arrival = true time + floor + exponential queueing. */
static void feed(struct rng *r, double seconds, int lines, double skew_ppm, int64_t offset_ns,
		 double floor_ms, double queue_ms)
{
	console_clock_init(&c, (int64_t)(floor_ms * 1e6));
	for (int i = 0; i < lines; i++) {
		double t = seconds * (i + rng_unit(r)) / lines;
		double delay_ms = floor_ms - log(1.0 - rng_unit(r)) * queue_ms;
		int64_t kernel_us = (int64_t)(t * 1e6);

		console_clock_add(
			&c, kernel_us,
			offset_ns + (int64_t)((double)kernel_us * 1e3 * (1 + skew_ppm * 1e-6) +
					      delay_ms * 1e6));
	}
}

static const struct {
	double seconds;
	int lines;
	double skew_ppm;
	double floor_ms;
	double queue_ms;
} cases[] = {
	{300, 2000, 0, 1, 5},     {300, 2000, 80, 1, 5}, {300, 2000, -200, 1, 20},
	{60, 300, 30, 0.1, 2},    {12, 200, 100, 1, 3},  {5, 100, 100, 1, 3},
	{3600, 500, -50, 16, 10}, {300, 5, 20, 1, 1},
};

static void test_the_true_time_lies_within_the_stated_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned outside = 0;

		for (uint64_t seed = 1; seed <= 200; seed++) {
			const int64_t offset = 5000000000000;
			struct console_clock_fit f;
			struct rng r;

			rng_init(&r, seed);
			feed(&r, cases[i].seconds, cases[i].lines, cases[i].skew_ppm, offset,
			     cases[i].floor_ms, cases[i].queue_ms);
			assert_true(console_clock_fit(&c, &f));
			for (double part = 0; part <= 1.01; part += 0.1) {
				double us = cases[i].seconds * 1e6 * part;
				int64_t truth = offset + (int64_t)(us * 1e3 *
								   (1 + cases[i].skew_ppm * 1e-6));
				int64_t error;
				int64_t got = console_clock_to_host_ns(&f, (int64_t)us, &error);

				outside += llabs(got - truth) > error + 1000;
			}
		}
		/* 2200 looks; the stated error is no proof, but must nearly always hold */
		if (outside > 22)
			fail_msg("case %zu: outside of the stated error %u of 2200 times", i,
				 outside);
	}
}

static void test_many_lines_give_a_small_error_and_the_skew(void **state)
{
	struct console_clock_fit f;
	struct rng r;

	(void)state;
	rng_init(&r, 3);
	feed(&r, 600, 20000, 75, 1000, 1, 4);
	assert_true(console_clock_fit(&c, &f));
	assert_true(fabs(f.skew_ppm - 75) < 1);
	assert_true(f.error_ns < 2 * MS);
}

static void test_there_and_back_is_the_same_place(void **state)
{
	struct console_clock_fit f;
	struct rng r;

	(void)state;
	rng_init(&r, 4);
	feed(&r, 100, 1000, -120, 77 * MS, 1, 4);
	assert_true(console_clock_fit(&c, &f));
	for (int64_t us = -1000000; us < 200000000; us += 7777777) {
		int64_t back = console_clock_to_kernel_us(
			&f, console_clock_to_host_ns(&f, us, NULL), NULL);

		assert_in_range(back - us + 2, 0, 4);
	}
}

static void test_less_than_two_points_are_no_fit(void **state)
{
	struct console_clock_fit f;

	(void)state;
	console_clock_init(&c, 0);
	assert_false(console_clock_fit(&c, &f));
	console_clock_add(&c, 5, 7);
	assert_false(console_clock_fit(&c, &f));
	console_clock_add(&c, 5, 6);
	assert_false(console_clock_fit(&c, &f));
	console_clock_add(&c, 1000, 2000000);
	assert_true(console_clock_fit(&c, &f));
	assert_true(f.skew_ppm == 0);
}

static void test_the_error_grows_outside_of_what_was_measured(void **state)
{
	struct console_clock_fit f;
	struct rng r;
	int64_t near;
	int64_t far;

	(void)state;
	rng_init(&r, 5);
	feed(&r, 100, 1000, 0, 0, 1, 4);
	assert_true(console_clock_fit(&c, &f));
	(void)console_clock_to_host_ns(&f, 100000000, &near);
	(void)console_clock_to_host_ns(&f, 1000000000, &far);
	assert_true(far > near);
}

static void test_a_bent_clock_gives_a_large_error(void **state)
{
	struct console_clock_fit f;

	(void)state;
	console_clock_init(&c, 0);
	for (int64_t i = 0; i < 10000; i++)
		console_clock_add(&c, i * 100000, i * 100 * MS + i * i * 20);
	assert_true(console_clock_fit(&c, &f));
	assert_true(f.error_ns > 100 * MS); /* no straight line fits, and it says so */
}

static void test_stamps_that_go_back_or_are_absurd_are_ignored(void **state)
{
	(void)state;
	console_clock_init(&c, 0);
	console_clock_add(&c, 100, 100);
	console_clock_add(&c, 50, 100);
	console_clock_add(&c, -5, 100);
	console_clock_add(&c, INT64_MAX, 100);
	console_clock_add(&c, 200, INT64_MAX);
	assert_int_equal(c.n, 1);
}

static void test_the_parser_feeds_the_clock_and_restarts_it_at_a_boot(void **state)
{
	static struct events es;
	struct console_parser *p = console_parser_new(events_add, &es);
	static const char boot[] = "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n";
	static const char line[] = "[    3.000000] text\n";

	(void)state;
	console_clock_init(&c, 42);
	console_parser_use_clock(p, &c);
	console_parser_feed(p, boot, sizeof(boot) - 1, 10);
	console_parser_feed(p, line, sizeof(line) - 1, 3000000010);
	assert_int_equal(c.n, 1);
	console_parser_feed(p, boot, sizeof(boot) - 1, 9000000000);
	assert_int_equal(c.n, 0);
	assert_int_equal(c.transport_ns, 42);
	console_parser_free(p);
	strbuf_release(&es.digest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_true_time_lies_within_the_stated_error),
		cmocka_unit_test(test_many_lines_give_a_small_error_and_the_skew),
		cmocka_unit_test(test_there_and_back_is_the_same_place),
		cmocka_unit_test(test_less_than_two_points_are_no_fit),
		cmocka_unit_test(test_the_error_grows_outside_of_what_was_measured),
		cmocka_unit_test(test_a_bent_clock_gives_a_large_error),
		cmocka_unit_test(test_stamps_that_go_back_or_are_absurd_are_ignored),
		cmocka_unit_test(test_the_parser_feeds_the_clock_and_restarts_it_at_a_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
