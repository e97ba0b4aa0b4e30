/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: bisect */
#include "bisect/rig_bench.h"
#include "unit.h"

static void test_only_the_wanted_failure_is_an_observation(void **state)
{
	static const struct {
		bool is_valid;
		const char *crash; /* NULL = none */
		int64_t worst_us;
		const char *failure;
		bool is_observed, is_over;
		double delay_ms;
		bool is_untestable;
	} cases[] = {
		{true, NULL, 4000, "over-limit", true, false, 4, false},
		{true, NULL, 50000, "over-limit", true, false, 50, false},
		{true, NULL, 50001, "over-limit", true, true, 50.001, false},
		{false, NULL, 90000, "over-limit", false, false, 0, false},
		{true, NULL, -1, "over-limit", false, false, 0, false},
		{false, "oops: NULL pointer", -1, "over-limit", false, false, 0, true},
		{false, "oops: NULL pointer", -1, "any", true, true, -1, false},
		{false, "oops: NULL pointer", -1, "NULL pointer", true, true, -1, false},
		{false, "panic: out of memory", -1, "NULL pointer", false, false, 0, true},
		{true, NULL, 90000, "NULL pointer", true, false, -1, false},
		{true, NULL, 90000, "any", true, true, 90, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trial *t = trial_new();
		struct bisect_observation o;
		char why[200];

		t->is_valid = cases[i].is_valid;
		t->worst_us = cases[i].worst_us;
		t->is_crash = cases[i].crash != NULL;
		if (cases[i].crash)
			(void)snprintf(t->crash, sizeof(t->crash), "%s", cases[i].crash);
		assert_int_equal(bisect_observe(t, 50000, cases[i].failure, &o, why, sizeof(why)),
				 cases[i].is_observed);
		assert_int_equal(*why != '\0', cases[i].is_untestable);
		if (cases[i].is_observed) {
			assert_int_equal(o.is_over, cases[i].is_over);
			assert_float_equal(o.delay_ms, cases[i].delay_ms, 1e-9);
		}
		trial_free(t);
	}
}

static void test_a_delay_that_had_not_ended_is_censored(void **state)
{
	struct trial *t = trial_new();
	struct trial_delay *d = trial_add_delay(t);
	struct bisect_observation o;
	char why[200];

	(void)state;
	t->is_valid = true;
	t->worst_us = 60000000;
	d->us = 60000000;
	d->is_live = true;
	assert_true(bisect_observe(t, 50000, "over-limit", &o, why, sizeof(why)));
	assert_true(o.is_censored);
	trial_free(t);
}

static void test_a_hotfix_rule_has_three_parts(void **state)
{
	static const char *const bad[] = {"a..b", "a=b", "..b=c", "a..=c", "a..b=", ""};
	char *from = NULL, *to = NULL, *file = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(hotfix_parse("v6.1..v6.2=/tmp/fix.patch", &from, &to, &file, &e), 0);
	assert_string_equal(from, "v6.1");
	assert_string_equal(to, "v6.2");
	assert_string_equal(file, "/tmp/fix.patch");
	free(from);
	free(to);
	free(file);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(hotfix_parse(bad[i], &from, &to, &file, &e), -EINVAL);
		assert_contains(e.text, "FROM..TO=FILE");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_wanted_failure_is_an_observation),
		cmocka_unit_test(test_a_delay_that_had_not_ended_is_censored),
		cmocka_unit_test(test_a_hotfix_rule_has_three_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
