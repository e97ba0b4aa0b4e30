/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_table.c - the verdict table for a terminal. */
/* ctest: report */
#include "report/report.h"
#include "sample_run.h"
#include "unit.h"

static void test_columns_are_aligned_and_in_order(void **state)
{
	auto_run struct run *bad = sample_run("debian 6.1.192-3 amd64", "virtual-x86", "virtual");
	auto_run struct run *good = sample_run("debian 6.12 amd64", "virtual-x86", "virtual");
	struct run *runs[] = {bad, good};
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		sample_add_trial(bad, 1 + i / 4, 150000 + 1000 * i);
		sample_add_trial(good, 1 + i / 4, 4900);
	}
	run_judge(bad);
	run_judge(good);

	report_table(&out, runs, 2, false);
	assert_string_equal(
		strbuf_str(&out),
		"kernel build            rig          valid  over   worst     p50  verdict  strength\n"
		"debian 6.1.192-3 amd64  virtual-x86    8/8   8/8  157 ms  154 ms  FAIL     8 of 8 (2 "
		"boots) over 50 ms: P(over) > 68 % at 95 %\n"
		"debian 6.12 amd64       virtual-x86    8/8   0/8  4.9 ms  4.9 ms  PASS     0 of 8 (2 "
		"boots) over 50 ms: P(over) < 32 % at 95 %\n");
}

static void test_unknown_numbers_are_dashes_and_the_reason_is_named(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		sample_invalidate(sample_add_trial(r, 1, 0), EVIDENCE_CACHE_LOADED, "12 KiB");
	run_judge(r);

	report_table(&out, &r, 1, false);
	assert_contains(strbuf_str(&out),
			"  0/8     –      –    –  INCONCLUSIVE  evidence.cache-loaded: ");
}

static void test_virtual_and_board_numbers_never_share_a_table(void **state)
{
	auto_run struct run *a = sample_run("a", "virtual-x86", "virtual");
	auto_run struct run *b = sample_run("b", "kit-1", "board");
	auto_run struct run *c = sample_run("c", "virtual-x86", "virtual");
	struct run *runs[] = {a, b, c};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *board;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		run_judge(runs[i]);

	report_table(&out, runs, 3, false);
	board = strstr(strbuf_str(&out), "\n\nscenario unplug-read on board rigs, limit 50 ms\n");
	assert_non_null(board);
	assert_ptr_equal(strstr(strbuf_str(&out), "scenario unplug-read on virtual rigs"),
			 strbuf_str(&out));
	assert_true(strstr(strbuf_str(&out), "\nc ") < board);
	assert_true(strstr(strbuf_str(&out), "\nb ") > board);
}

static void test_a_rig_fault_is_said_with_its_text(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	r->rig_fault = xstrdup("machine-ended: the target machine ended by itself");
	run_judge(r);

	report_table(&out, &r, 1, false);
	assert_contains(strbuf_str(&out),
			"RIG-FAULT  rig.machine-ended: the target machine ended by itself\n");
}

static void test_a_run_that_has_not_ended_says_so(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	r->ended_wall_ns = 0;
	run_judge(r);

	report_table(&out, &r, 1, false);
	assert_contains(strbuf_str(&out), "not ended, so far: ");
}

static void test_only_the_verdict_is_coloured(void **state)
{
	auto_run struct run *r = sample_run("\033[2Jk", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	sample_add_trial(r, 1, 70000);
	run_judge(r);

	report_table(&out, &r, 1, true);
	assert_contains(strbuf_str(&out), "\033[1;31mFAIL   \033[0m");
	assert_contains(strbuf_str(&out), "\\x1b[2Jk");
	assert_null(strstr(strbuf_str(&out), "\033[2J"));
}

static void test_no_run_is_no_output(void **state)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	report_table(&out, NULL, 0, false);
	assert_string_equal(strbuf_str(&out), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_aligned_and_in_order),
		cmocka_unit_test(test_unknown_numbers_are_dashes_and_the_reason_is_named),
		cmocka_unit_test(test_virtual_and_board_numbers_never_share_a_table),
		cmocka_unit_test(test_a_rig_fault_is_said_with_its_text),
		cmocka_unit_test(test_a_run_that_has_not_ended_says_so),
		cmocka_unit_test(test_only_the_verdict_is_coloured),
		cmocka_unit_test(test_no_run_is_no_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
