/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_trial_text.c - everything about one trial for a terminal. */
/* ctest: report */
#include "report/report.h"
#include "sample_run.h"
#include "unit.h"

static void test_a_trial_is_told_with_times_relative_to_the_cut(void **state)
{
	char *dir = unit_tmpdir();
	auto_run struct run *r = sample_run("debian 6.1 amd64", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 183212);

	(void)state;
	sample_add_boot(r, dir);
	unit_write(dir, "console.raw",
		   "before\r\n"
		   "[   20.1] usb 2-1: USB disconnect, device number 2\r\n"
		   "[   20.3] DELAY: 183 \033[31mcpu=0\r\n");
	unit_write(dir, "console.timing", "1.000000 8\n0.500000 52\n0.200000 33\n");
	t->console_to = 93;
	trial_add_number(t, "cut_seen_us", 3500);
	trial_add_moment(t, -1500000000, "control", "stall of 60 ms");
	trial_add_moment(t, 0, "cut-asked", "stick0");
	run_judge(r);

	report_trial(&out, r, t, false);
	assert_contains(strbuf_str(&out), "trial 20261130-111754-a3f2.1: valid, over the limit\n");
	assert_contains(
		strbuf_str(&out),
		"worst delay  183 ms on CPU0, probe normal, held by hub_event, limit 50 ms\n");
	assert_contains(strbuf_str(&out), "     -1500.0 ms  control          stall of 60 ms\n");
	assert_contains(strbuf_str(&out), "✓ cache-loaded     614400 KiB of 614400 KiB cached");
	assert_contains(strbuf_str(&out), "      -496.5 ms  before\n");
	assert_contains(strbuf_str(&out), "        +3.5 ms  [   20.1] usb 2-1: USB disconnect");
	assert_contains(strbuf_str(&out), "      +203.5 ms  [   20.3] DELAY: 183 \\x1b[31mcpu=0\n");
	assert_null(strchr(strbuf_str(&out), '\033'));
	unit_rmdir(dir);
}

static void test_missing_evidence_is_explained(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 0);

	(void)state;
	sample_invalidate(t, EVIDENCE_CUT_SEEN, "no 'usb 2-1: USB disconnect' within 15000 ms");
	run_judge(r);

	report_trial(&out, r, t, false);
	assert_contains(strbuf_str(&out), "invalid: cut-seen\n");
	assert_contains(strbuf_str(&out), "✗ cut-seen         missing: no 'usb 2-1");
	assert_contains(strbuf_str(&out), evidence_meaning(EVIDENCE_CUT_SEEN));
	assert_contains(strbuf_str(&out), "· window-covered   not-reached\n");
	assert_contains(strbuf_str(&out), "the run has no recording of this boot\n");
}

static void test_a_console_without_the_cut_keeps_the_boots_clock(void **state)
{
	char *dir = unit_tmpdir();
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 1000);

	(void)state;
	sample_add_boot(r, dir);
	unit_write(dir, "console.raw", "only line\n");
	unit_write(dir, "console.timing", "7.5 10\n");
	t->console_to = 10;
	run_judge(r);

	report_trial(&out, r, t, false);
	assert_contains(strbuf_str(&out), "times from the start of the boot");
	assert_contains(strbuf_str(&out), "+7500.0 ms  only line\n");
	unit_rmdir(dir);
}

static void test_delays_incidents_and_numbers_are_listed(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 1000);
	struct trial_delay *d = trial_add_delay(t);
	struct trial_incident *inc;

	(void)state;
	*d = (struct trial_delay){.us = 183212, .cpu = 1, .due_us = 20100000, .is_live = true};
	strcpy(d->probe, "normal");
	inc = trial_add_incident(t);
	*inc = (struct trial_incident){.count = 3, .t_first_us = 1500000, .worst_s = 72};
	strcpy(inc->cls, "workqueue-lockup");
	strcpy(inc->title, "pool\033 0");
	trial_add_number(t, "cached_kib", 614400);
	run_judge(r);

	report_trial(&out, r, t, false);
	assert_contains(strbuf_str(&out),
			"183 ms  CPU1  normal  due at [20.100000]  still running when printed\n");
	assert_contains(strbuf_str(&out),
			"workqueue-lockup   pool\\x1b 0  3 times  worst 72 s  at [1.500000]\n");
	assert_contains(strbuf_str(&out), "cached_kib               614400\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_trial_is_told_with_times_relative_to_the_cut),
		cmocka_unit_test(test_missing_evidence_is_explained),
		cmocka_unit_test(test_a_console_without_the_cut_keeps_the_boots_clock),
		cmocka_unit_test(test_delays_incidents_and_numbers_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
