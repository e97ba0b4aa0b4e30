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

static void expect_buckets(const struct trial_histogram *h, const struct trial_bucket *buckets,
			   size_t n)
{
	assert_int_equal(h->n_buckets, n);
	assert_memory_equal(h->buckets, buckets, n * sizeof(*buckets));
}

static void test_samples_of_all_cpus_come_together_by_probe(void **state)
{
	static const struct trial_bucket normal[] = {{0, 1, 2}, {31, 32, 1}, {64, 66, 7}};
	static const struct trial_bucket bh[] = {{64, 66, 1}};
	struct trial *t = trial_new();
	struct err e = {0};

	(void)state;
	assert_int_equal(probe_samples_parse("normal;0,1,2;64,66,3\nnormal;31,32,1;64,66,4\n"
					     "bh;64,66,1\nlines=3 samples=11\n",
					     t, &e),
			 0);
	assert_int_equal(t->n_histograms, 2);
	assert_string_equal(t->histograms[0].probe, "normal");
	expect_buckets(&t->histograms[0], normal, ARRAY_SIZE(normal));
	expect_buckets(&t->histograms[1], bh, ARRAY_SIZE(bh));
	assert_int_equal(trial_histogram_samples(&t->histograms[0]), 10);
	trial_free(t);
}

static void test_samples_that_cannot_be_are_named_and_none_is_kept(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{"normal;1,3", "samples of probe 'normal': '1,3' is no bucket"},
		{"normal;1,2,3,4", "'1,2,3,4'"},
		{"normal;1,2,x", "'1,2,x'"},
		{"normal;1,2,3;", "'' is no bucket"},
		{"normal;2,2,1", "'2,2,1'"},
		{"normal;-1,2,1", "'-1,2,1'"},
		{"normal;1,2,0", "'1,2,0'"},
		{"normal;99,101,1", "'99,101,1'"},   /* lies across */
		{"normal;101,103,1", "'101,103,1'"}, /* lies across */
		{"normal;100,103,1", "'100,103,1'"}, /* another end */
		{"normal;100,102,9223372036854775807", "'100,102,9223372036854775807'"},
		{"a_name_that_is_too_long;1,2,1", "'a_name_that_is_too_long'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trial *t = trial_new();
		auto_free char *text = xasprintf("normal;100,102,1\n%s\n", cases[i].line);
		struct err e = {0};

		if (probe_samples_parse(text, t, &e) != -EPROTO)
			fail_msg("case %zu is accepted", i);
		assert_contains(e.text, cases[i].says);
		assert_int_equal(e.kind, ERR_TARGET);
		assert_int_equal(t->n_histograms, 0);
		trial_free(t);
	}
}

static void test_a_histogram_holds_no_more_than_its_limit(void **state)
{
	struct trial *t = trial_new();
	struct trial_bucket b = {.count = 1};

	(void)state;
	for (unsigned i = 0; i < TRIAL_LIST_MAX; i++) {
		/* from the last one down */
		b.low_ns = TRIAL_LIST_MAX - i;
		b.end_ns = b.low_ns + 1;
		assert_true(trial_add_samples(t, "normal", &b));
	}
	b = (struct trial_bucket){.low_ns = 0, .end_ns = 1, .count = 1};
	assert_false(trial_add_samples(t, "normal", &b));
	b = (struct trial_bucket){.low_ns = 5, .end_ns = 6, .count = 1};
	assert_true(trial_add_samples(t, "normal", &b));
	assert_int_equal(trial_histogram_samples(&t->histograms[0]), TRIAL_LIST_MAX + 1);
	trial_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_and_rows_are_read),
		cmocka_unit_test(test_what_is_missing_is_named),
		cmocka_unit_test(test_rows_up_to_the_limit_are_taken_and_one_more_refused),
		cmocka_unit_test(test_samples_of_all_cpus_come_together_by_probe),
		cmocka_unit_test(test_samples_that_cannot_be_are_named_and_none_is_kept),
		cmocka_unit_test(test_a_histogram_holds_no_more_than_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
