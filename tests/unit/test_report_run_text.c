/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_run_text.c - how runs and trials are put into words and groups. */
/* ctest: report */
#include "report/run_text.h"
#include "sample_run.h"
#include "unit.h"

static void test_a_trial_is_named_by_what_became_of_it(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	static const char *const expected[] = {
		"valid",
		"valid, over the limit",
		"invalid: cut-applied",
		"crash: oops \\x1b",
	};
	struct trial *t;

	(void)state;
	sample_add_trial(r, 1, 50000);
	sample_add_trial(r, 1, 50001);
	sample_invalidate(sample_add_trial(r, 1, 0), EVIDENCE_CUT_APPLIED, "still there");
	t = sample_add_trial(r, 1, -1);
	t->is_valid = false;
	t->is_crash = true;
	strcpy(t->crash, "oops \033");

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;

		run_text_add_trial(&sb, r, r->trials[i]);
		assert_string_equal(strbuf_str(&sb), expected[i]);
	}
}

static void test_groups_differ_by_class_scenario_and_limit(void **state)
{
	struct run *runs[] = {
		sample_run("a", "virtual-x86", "virtual"),   sample_run("b", "kit-1", "board"),
		sample_run("c", "virtual-arm64", "virtual"), sample_run("d", "kit-1", "board"),
		sample_run("e", "virtual-x86", "virtual"),
	};
	static const size_t expected_order[] = {0, 2, 1, 3, 4};
	static const size_t expected_group[] = {0, 0, 1, 2, 3};
	size_t order[ARRAY_SIZE(runs)];
	size_t group[ARRAY_SIZE(runs)];

	(void)state;
	runs[3]->limit_us = 20000;
	free(runs[4]->scenario);
	runs[4]->scenario = xstrdup("other");

	assert_int_equal(run_text_group(runs, ARRAY_SIZE(runs), order, group), 4);
	assert_memory_equal(order, expected_order, sizeof(order));
	assert_memory_equal(group, expected_group, sizeof(group));
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		run_free(runs[i]);
}

static void test_the_reason_is_said_where_the_verdict_is_not_enough(void **state)
{
	static const struct {
		enum verdict verdict;
		const char *reason, *strength, *expected;
	} cases[] = {
		{VERDICT_PASS, "none-over", "0 of 8", "0 of 8"},
		{VERDICT_FAIL, "over-limit", "8 of 8", "8 of 8"},
		{VERDICT_FAIL, "crash", "oops", "crash: oops"},
		{VERDICT_INCONCLUSIVE, "evidence.cut-seen", "2 valid",
		 "evidence.cut-seen: 2 valid"},
		{VERDICT_UNTESTABLE, "kernel.no-boot", "", "kernel.no-boot"},
		{VERDICT_RIG_FAULT, "rig.boot", "no QEMU", "rig.boot: no QEMU"},
	};
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;

		r->result.verdict = cases[i].verdict;
		strcpy(r->result.reason, cases[i].reason);
		strcpy(r->result.strength, cases[i].strength);
		run_text_add_outcome(&sb, r);
		assert_string_equal(strbuf_str(&sb), cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_trial_is_named_by_what_became_of_it),
		cmocka_unit_test(test_groups_differ_by_class_scenario_and_limit),
		cmocka_unit_test(test_the_reason_is_said_where_the_verdict_is_not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
