/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
#include "base/strbuf.h"
#include "trial/probe_state.h"
#include "unit.h"

#define HEAD                                                                                     \
	"latency_mon version=1 period_us=10000 threshold_us=9000 hz=250 console=extended seq=3 " \
	"events=2 clock_ns=123456789\n"
#define ROW(cpu, probe)                                                                      \
	"cpu=" #cpu " probe=" #probe " beats=10 missed=1 over=2 max_us=120000 max_due_ns=5 " \
	"max_run_ns=6 pending_us=0 irq_max_us=1 sched_max_us=2 lost=0 self=0\n"

static struct probe_state st;

static void test_head_and_rows_are_read(void **state)
{
	const struct probe_row *row;
	struct err e = {0};

	(void)state;
	assert_int_equal(probe_state_parse(HEAD ROW(0, normal) ROW(1, highpri) "ok\n", &st, &e), 0);
	assert_int_equal(st.seq, 3);
	assert_int_equal(st.hz, 250);
	assert_int_equal(st.n_rows, 2);
	row = probe_state_find(&st, 1, "highpri");
	assert_non_null(row);
	assert_int_equal(row->max_us, 120000);
	assert_null(probe_state_find(&st, 1, "normal"));
}

static void test_what_is_missing_is_named(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "no line 'latency_mon"},
		{ROW(0, normal), "no line 'latency_mon"},
		{"latency_mon version=1 period_us=1\n", "no number 'threshold_us='"},
		{HEAD "cpu=0 probe=normal beats=1\n", "no number 'missed='"},
		{HEAD "cpu=0 beats=1 missed=1 over=2 max_us=1 max_due_ns=1 pending_us=0 self=0\n",
		 "no 'probe='"},
		{HEAD "cpu=0 probe=aaaaaaaaaaaaaaaa beats=1 missed=1 over=2 max_us=1 max_due_ns=1 "
		      "pending_us=0 self=0\n",
		 "no 'probe='"},
		{"latency_mon version=2 period_us=1 threshold_us=1 hz=1 seq=1 events=1 clock_ns=1\n",
		 "version 2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};

		assert_int_equal(probe_state_parse(cases[i].text, &st, &e), -EPROTO);
		assert_int_equal(e.kind, ERR_TARGET);
		assert_contains(e.text, cases[i].says);
	}
}

static void test_rows_up_to_the_limit_are_taken_and_one_more_refused(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	struct err e = {0};

	(void)state;
	strbuf_adds(&sb, HEAD);
	for (int i = 0; i < PROBE_ROWS_MAX; i++)
		strbuf_adds(&sb, ROW(0, normal));
	assert_int_equal(probe_state_parse(strbuf_str(&sb), &st, &e), 0);
	strbuf_adds(&sb, ROW(0, normal));
	assert_int_equal(probe_state_parse(strbuf_str(&sb), &st, &e), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_and_rows_are_read),
		cmocka_unit_test(test_what_is_missing_is_named),
		cmocka_unit_test(test_rows_up_to_the_limit_are_taken_and_one_more_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
