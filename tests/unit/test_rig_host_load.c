/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_rig_host_load.c - whether the host had processors enough. */
/* ctest: rig */
#include "../../controller/rig/host_load.h"
#include "unit.h"

static int64_t wait_of(const char *text)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/cpu", dir);
	int64_t us;

	unit_write(dir, "cpu", text);
	assert_int_equal(setenv("STALLRIG_HOST_LOAD", path, 1), 0);
	us = host_load_wait_us();
	assert_int_equal(unsetenv("STALLRIG_HOST_LOAD"), 0);
	unit_rmdir(dir);
	return us;
}

static void test_the_total_of_the_first_line_counts(void **state)
{
	(void)state;
	assert_int_equal(wait_of("some avg10=1.20 avg60=0.00 avg300=0.00 total=181331\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"),
			 181331);
	assert_int_equal(wait_of("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), 0);
}

static void test_what_cannot_be_read_is_unknown(void **state)
{
	static const char *const texts[] = {"",
					    "some\n",
					    "full total=7\n",
					    "some total=x\n",
					    "some total=-4\n",
					    "some avg10=1\nfull total=7\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(wait_of(texts[i]), -1);
	assert_int_equal(setenv("STALLRIG_HOST_LOAD", "/dev/null", 1), 0);
	assert_int_equal(host_load_wait_us(), -1);
	assert_int_equal(unsetenv("STALLRIG_HOST_LOAD"), 0);
}

static void test_a_starved_boot_is_the_rigs_fault_and_no_other_error_is(void **state)
{
	static const struct {
		enum err_kind kind;
		int pct;
		bool is_starved;
	} cases[] = {
		{ERR_KERNEL, 80, true},   {ERR_KERNEL, 79, false}, {ERR_KERNEL, -1, false},
		{ERR_TARGET, 99, true},   {ERR_RIG, 99, false},    {ERR_USAGE, 99, false},
		{ERR_STOPPED, 99, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};
		int r;

		(void)err_set(&e, cases[i].kind, ETIMEDOUT, "no answer");
		r = host_load_blame(cases[i].pct, &e);
		assert_int_equal(r, cases[i].is_starved ? -EAGAIN : -ETIMEDOUT);
		assert_int_equal(e.kind, cases[i].is_starved ? ERR_RIG : cases[i].kind);
		assert_contains(e.text, "no answer");
	}
}

static void test_the_share_is_of_the_time_that_went_by(void **state)
{
	static const struct {
		int64_t before_us, now_us;
		nsec_t elapsed_ns;
		int pct;
	} cases[] = {
		{1000000, 1000000, 10 * NSEC_PER_SEC, 0},
		{0, 5000000, 10 * NSEC_PER_SEC, 49},
		{1000000, 10000000, 10 * NSEC_PER_SEC, 89},
		{0, 20000000, 10 * NSEC_PER_SEC, 99}, /* the two clocks need not agree */
		{-1, 5000000, 10 * NSEC_PER_SEC, -1},
		{5, -1, 10 * NSEC_PER_SEC, -1},
		{0, 5, 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			host_load_pct(cases[i].before_us, cases[i].now_us, cases[i].elapsed_ns),
			cases[i].pct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_total_of_the_first_line_counts),
		cmocka_unit_test(test_what_cannot_be_read_is_unknown),
		cmocka_unit_test(test_a_starved_boot_is_the_rigs_fault_and_no_other_error_is),
		cmocka_unit_test(test_the_share_is_of_the_time_that_went_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
