/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_lab_check.c - what a run with the golden kernel says about its rig. */
/* ctest: lab */
#include "lab/check.h"
#include "sample_run.h"
#include "store/queue.h"
#include "unit.h"

/* A run of one valid trial that passes. */
static struct run *good_run(void)
{
	struct run *r = sample_run("debian 6.12", "bench", "board");

	r->planned_valid = 1;
	(void)sample_add_boot(r, "/x/boot-1");
	(void)sample_add_trial(r, 1, 4000);
	run_judge(r);
	return r;
}

static void test_a_rig_is_healthy_if_every_part_is(void **state)
{
	auto_run struct run *r = good_run();
	struct check_result res;

	(void)state;
	check_judge(r, &res);

	assert_int_equal(res.verdict, VERDICT_PASS);
	for (int i = 0; i < CHECK_PART_MAX; i++)
		assert_int_equal(res.parts[i].state, CHECK_OK);
	assert_contains(res.parts[CHECK_BOOT].detail, "after 5.2 s");
	assert_string_equal(res.text, "ok with debian 6.12");
}

static void test_the_part_whose_evidence_is_missing_failed(void **state)
{
	static const struct {
		enum evidence_id missing;
		enum check_part part;
		enum verdict verdict;
		const char *text;
	} cases[] = {
		{EVIDENCE_CONSOLE_AUDIBLE, CHECK_CONSOLE, VERDICT_RIG_FAULT, "console: gone"},
		{EVIDENCE_CONSOLE_INTACT, CHECK_CONSOLE, VERDICT_RIG_FAULT, "console: gone"},
		{EVIDENCE_CONTROL_POSITIVE, CHECK_CONTROL, VERDICT_RIG_FAULT, "control: gone"},
		{EVIDENCE_CACHE_LOADED, CHECK_STICK_READS, VERDICT_RIG_FAULT, "stick-reads: gone"},
		{EVIDENCE_CUT_APPLIED, CHECK_SWITCH, VERDICT_RIG_FAULT, "switch: gone"},
		{EVIDENCE_CUT_SEEN, CHECK_STICK_GOES, VERDICT_RIG_FAULT, "stick-goes: gone"},
		{EVIDENCE_REPLUGGED, CHECK_STICK_COMES, VERDICT_RIG_FAULT, "stick-comes: gone"},
		{EVIDENCE_BOOTED_BUILD, CHECK_BOOT, VERDICT_RIG_FAULT, "boot: gone"},
		/* a busy host says nothing about the rig */
		{EVIDENCE_CONTROLS_QUIET, CHECK_GOLDEN_KERNEL, VERDICT_INCONCLUSIVE,
		 "golden-kernel: debian 6.12: INCONCLUSIVE, evidence.controls-quiet"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *r = good_run();
		struct check_result res;

		r->trials[0]->is_valid = false;
		r->trials[0]->missing = cases[i].missing;
		r->trials[0]->evidence[cases[i].missing].state = EVIDENCE_MISSING;
		(void)strcpy(r->trials[0]->evidence[cases[i].missing].detail, "gone");
		run_judge(r);
		check_judge(r, &res);
		assert_int_equal(res.verdict, cases[i].verdict);
		assert_int_equal(res.parts[cases[i].part].state,
				 cases[i].verdict == VERDICT_RIG_FAULT ? CHECK_FAILED
								       : CHECK_UNKNOWN);
		assert_string_equal(res.text, cases[i].text);
	}
}

static void test_one_valid_trial_outweighs_those_before(void **state)
{
	auto_run struct run *r = good_run();
	struct trial *t = r->trials[0];
	struct check_result res;

	(void)state;
	sample_invalidate(t, EVIDENCE_CUT_SEEN, "no disconnect");
	(void)sample_add_trial(r, 1, 3000);
	run_judge(r);
	check_judge(r, &res);

	assert_int_equal(res.verdict, VERDICT_PASS);
}

static void test_a_golden_kernel_that_does_not_pass_is_the_rigs_fault(void **state)
{
	static const struct {
		const char *rig_fault, *untestable, *text;
	} cases[] = {
		{"boot: no agent", NULL, "boot: no agent"},
		{NULL, "no-boot: silent", "boot: no-boot: silent"},
		{NULL, NULL, "golden-kernel: debian 6.12: FAIL"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *r = good_run();
		struct check_result res;

		r->trials[0]->worst_us = 900000;
		r->tolerated_over = 0;
		r->rig_fault = cases[i].rig_fault ? xstrdup(cases[i].rig_fault) : NULL;
		r->untestable = cases[i].untestable ? xstrdup(cases[i].untestable) : NULL;
		run_judge(r);
		check_judge(r, &res);
		assert_int_equal(res.verdict, VERDICT_RIG_FAULT);
		assert_true(strncmp(res.text, cases[i].text, strlen(cases[i].text)) == 0);
	}
}

static void test_a_rig_that_cannot_be_opened_failed(void **state)
{
	struct check_result res;

	(void)state;
	check_judge_error("switch 'stick0': no such device", &res);

	assert_int_equal(res.verdict, VERDICT_RIG_FAULT);
	assert_string_equal(res.text, "boot: switch 'stick0': no such device");
}

static void test_quarantine_follows_the_check_unless_it_says_nothing(void **state)
{
	static const struct {
		enum verdict verdict;
		bool is_quarantined;
	} steps[] = {
		{VERDICT_PASS, false},     {VERDICT_INCONCLUSIVE, false},
		{VERDICT_RIG_FAULT, true}, {VERDICT_INCONCLUSIVE, true},
		{VERDICT_RIG_FAULT, true}, {VERDICT_PASS, false},
	};
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/results.db", dir);
	auto_store struct store *st = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(store_open(path, STORE_WRITE, &st, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct check_result res = {.verdict = steps[i].verdict, .text = "switch: lied"};
		struct store_rig *rigs = NULL;
		size_t n = 0;

		if (check_keep(st, "bench", &res, &e) < 0 || store_rigs(st, &rigs, &n, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(n, 1);
		assert_int_equal(rigs[0].quarantined_wall_ns != 0, steps[i].is_quarantined);
		if (steps[i].is_quarantined)
			assert_string_equal(rigs[0].quarantine_reason,
					    "failed its check: switch: lied");
		assert_int_equal(rigs[0].is_check_ok, !steps[i].is_quarantined);
		store_rigs_free(rigs, n);
	}
	store_close(take(st));
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rig_is_healthy_if_every_part_is),
		cmocka_unit_test(test_the_part_whose_evidence_is_missing_failed),
		cmocka_unit_test(test_one_valid_trial_outweighs_those_before),
		cmocka_unit_test(test_a_golden_kernel_that_does_not_pass_is_the_rigs_fault),
		cmocka_unit_test(test_a_rig_that_cannot_be_opened_failed),
		cmocka_unit_test(test_quarantine_follows_the_check_unless_it_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
