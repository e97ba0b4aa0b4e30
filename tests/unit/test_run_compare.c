/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_run_compare.c - which runs may be compared, and what is compared. */
/* ctest: trial */
#include "sample_run.h"
#include "trial/run_compare.h"
#include "unit.h"

#define ENVIRONMENT \
	"hz=250 preempt=voluntary cpus=2 clocksource=tsc serial=S1 speed_mbps=480 size_bytes=1"

static struct run *run_with(const char *environment)
{
	struct run *r = sample_run("debian", "virtual-x86", "virtual");
	struct trial_boot *b = sample_add_boot(r, "/recordings/x");

	free(b->environment);
	b->environment = xstrdup(environment);
	return r;
}

static void test_runs_under_the_same_conditions_do_not_differ(void **state)
{
	auto_run struct run *a = run_with(ENVIRONMENT), *b = run_with(ENVIRONMENT);
	auto_strbuf struct strbuf words = STRBUF_INIT;

	(void)state;
	assert_int_equal(run_differences(a, b, &words), 0);
	assert_int_equal(words.len, 0);
}

static void test_each_condition_that_differs_is_named(void **state)
{
	static const struct {
		const char *a, *b, *says;
	} cases[] = {
		{"hz=250", "hz=1000", "HZ 250 and 1000"},
		{"preempt=none", "preempt=full", "preemption none and full"},
		{"cpu_intensive_thresh_us=10000", "cpu_intensive_thresh_us=0",
		 "cpu_intensive_thresh_us 10000 and 0"},
		{"cpus=2", "cpus=4", "CPUs 2 and 4"},
		{"clocksource=tsc", "clocksource=hpet", "clock source tsc and hpet"},
		{"serial=S1", "serial=S2", "stick S1 and S2"},
		{"size_bytes=1", "size_bytes=2", "stick's bytes 1 and 2"},
		{"speed_mbps=480", "speed_mbps=5000", "link speed in Mbit/s 480 and 5000"},
		{"hz=250", "cpus=2", "HZ 250 and unknown, CPUs unknown and 2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *a = run_with(cases[i].a), *b = run_with(cases[i].b);
		auto_strbuf struct strbuf words = STRBUF_INIT;

		assert_true(run_differences(a, b, &words) > 0);
		assert_string_equal(words.data, cases[i].says);
	}
}

static void test_a_threshold_that_one_kernel_does_not_know_is_no_difference(void **state)
{
	auto_run struct run *a = run_with("hz=250");
	auto_run struct run *b = run_with("hz=250 cpu_intensive_thresh_us=10000");
	auto_strbuf struct strbuf words = STRBUF_INIT;

	(void)state;
	assert_int_equal(run_differences(a, b, &words), 0);
}

static void test_class_architecture_and_scenario_count_without_a_boot(void **state)
{
	auto_run struct run *a = sample_run("debian", "virtual-x86", "virtual");
	auto_run struct run *b = sample_run("debian", "rcar-m3-1", "rcar-m3");
	auto_strbuf struct strbuf words = STRBUF_INIT;

	(void)state;
	assert_int_equal(run_differences(a, b, &words), 1);
	assert_string_equal(words.data, "rig class virtual and rcar-m3");
	strbuf_reset(&words);
	free(b->scenario_sha256);
	b->scenario_sha256 = xstrdup("other");
	assert_int_equal(run_differences(a, b, &words), 2);
	assert_contains(words.data, "scenario's hash 5ca1ab1e and other");
	strbuf_reset(&words);
	free(b->scenario);
	b->scenario = xstrdup("unplug-write");
	assert_int_equal(run_differences(a, b, &words), 2);
	assert_contains(words.data, "scenario unplug-read and unplug-write");
}

static void test_only_valid_trials_are_compared(void **state)
{
	auto_run struct run *a = run_with(ENVIRONMENT), *b = run_with(ENVIRONMENT);
	struct compare_result r;

	(void)state;
	assert_int_equal(run_compare(a, b, &compare_defaults, &r), -ENODATA);
	for (unsigned i = 0; i < 8; i++) {
		sample_add_trial(a, 1 + i / 4, 9000 + i * 5 % 8);
		sample_add_trial(b, 1 + i / 2, 150000 + i * 5 % 8);
	}
	sample_invalidate(sample_add_trial(a, 2, 900000), EVIDENCE_CACHE_LOADED, "none");
	assert_int_equal(run_compare(a, b, &compare_defaults, &r), 0);
	assert_int_equal(r.n_base, 8);
	assert_int_equal(r.n_new, 8);
	assert_int_equal(r.boots_base, 2);
	assert_int_equal(r.boots_new, 4);
	assert_int_equal(r.change, COMPARE_REGRESSION);
	assert_int_equal(run_compare(b, a, &compare_defaults, &r), 0);
	assert_int_equal(r.change, COMPARE_IMPROVEMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_under_the_same_conditions_do_not_differ),
		cmocka_unit_test(test_each_condition_that_differs_is_named),
		cmocka_unit_test(test_a_threshold_that_one_kernel_does_not_know_is_no_difference),
		cmocka_unit_test(test_class_architecture_and_scenario_count_without_a_boot),
		cmocka_unit_test(test_only_valid_trials_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
