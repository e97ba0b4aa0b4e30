/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_trial_model.c - evidence names, the rows of a trial at their limits, the way to a verdict.
 */
/* ctest: trial */
#include "trial/trial.h"
#include "unit.h"

static void auto_cleanup_trial(struct trial **t)
{
	trial_free(*t);
}
#define auto_trial AUTO(trial)

static void test_each_evidence_has_a_name_of_its_own_and_a_meaning(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVIDENCE_MAX; i++) {
		enum evidence_id id = EVIDENCE_MAX;
		const char *meaning = evidence_meaning((enum evidence_id)i);

		assert_true(evidence_parse(evidence_name((enum evidence_id)i), &id));
		assert_int_equal(id, i);
		assert_true(strlen(meaning) > 20 && meaning[strlen(meaning) - 1] == '.');
		assert_true(
			strspn(evidence_name((enum evidence_id)i), "abcdefghijklmnopqrstuvwxyz-") ==
			strlen(evidence_name((enum evidence_id)i)));
	}
	assert_string_equal(evidence_name(EVIDENCE_CACHE_LOADED), "cache-loaded");
	assert_string_equal(evidence_name(EVIDENCE_REPLUGGED), "replugged");
}

static void test_names_that_do_not_exist_are_refused(void **state)
{
	enum evidence_id id = EVIDENCE_CUT_SEEN;
	enum evidence_state st = EVIDENCE_OK;

	(void)state;
	assert_false(evidence_parse("", &id));
	assert_false(evidence_parse("Cache-Loaded", &id));
	assert_false(evidence_parse("cache-loaded ", &id));
	assert_int_equal(id, EVIDENCE_CUT_SEEN);
	assert_false(evidence_state_parse("fine", &st));
	assert_int_equal(st, EVIDENCE_OK);

	assert_string_equal(evidence_name(EVIDENCE_MAX), "unknown");
	assert_string_equal(evidence_meaning(EVIDENCE_MAX), "unknown");
	assert_string_equal(evidence_state_name((enum evidence_state)99), "unknown");
	assert_false(evidence_blames_rig(EVIDENCE_MAX));
}

static void test_states_have_names(void **state)
{
	static const char *const names[] = {"not-reached", "ok", "missing", "not-needed"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		enum evidence_state st;

		assert_string_equal(evidence_state_name((enum evidence_state)i), names[i]);
		assert_true(evidence_state_parse(names[i], &st));
		assert_int_equal(st, i);
	}
}

static void test_only_what_the_bench_does_is_blamed_on_it(void **state)
{
	static const enum evidence_id bench[] = {
		EVIDENCE_BOOTED_BUILD,  EVIDENCE_CONSOLE_AUDIBLE,  EVIDENCE_CUT_APPLIED,
		EVIDENCE_CUT_SEEN,      EVIDENCE_ENVIRONMENT_SAME, EVIDENCE_REPLUGGED,
		EVIDENCE_MACHINE_SOUND,
	};

	(void)state;
	for (size_t i = 0; i < EVIDENCE_MAX; i++) {
		bool is_bench = false;

		for (size_t j = 0; j < ARRAY_SIZE(bench); j++)
			is_bench |= bench[j] == i;
		assert_int_equal(evidence_blames_rig((enum evidence_id)i), is_bench);
	}
}

static void test_a_new_trial_knows_nothing(void **state)
{
	auto_trial struct trial *t = trial_new();
	int64_t v;

	(void)state;
	assert_false(t->is_valid);
	assert_false(t->is_crash);
	assert_int_equal(t->worst_us, -1);
	assert_int_equal(t->worst_cpu, -1);
	for (size_t i = 0; i < EVIDENCE_MAX; i++)
		assert_int_equal(t->evidence[i].state, EVIDENCE_NOT_REACHED);
	assert_false(trial_number(t, "cached_kib", &v));
}

static void test_rows_beyond_the_limit_are_counted_and_not_kept(void **state)
{
	auto_trial struct trial *t = trial_new();
	int64_t dropped;

	(void)state;
	for (int i = 0; i < TRIAL_LIST_MAX; i++) {
		struct trial_delay *d = trial_add_delay(t);
		struct trial_incident *n = trial_add_incident(t);

		assert_non_null(d);
		assert_non_null(n);
		assert_int_equal(d->us, 0);
		assert_int_equal(n->count, 0);
		d->us = i;
		n->count = (unsigned)i;
		trial_add_moment(t, i, "delay", "%d", i);
		trial_add_load_point(t, i, 2 * i);
	}
	assert_false(trial_number(t, "rows_dropped", &dropped));

	assert_null(trial_add_delay(t));
	assert_null(trial_add_incident(t));
	trial_add_moment(t, -1, "delay", "one too many");
	trial_add_load_point(t, -1, -1);

	assert_true(trial_number(t, "rows_dropped", &dropped));
	assert_int_equal(dropped, 4);
	assert_int_equal(t->n_delays, TRIAL_LIST_MAX);
	assert_int_equal(t->n_incidents, TRIAL_LIST_MAX);
	assert_int_equal(t->n_moments, TRIAL_LIST_MAX);
	assert_int_equal(t->n_load, TRIAL_LIST_MAX);
	assert_int_equal(t->load[TRIAL_LIST_MAX - 1].bytes, 2 * (TRIAL_LIST_MAX - 1));
	for (int i = 0; i < TRIAL_LIST_MAX; i++) {
		assert_int_equal(t->delays[i].us, i);
		assert_int_equal(t->incidents[i].count, i);
		assert_int_equal(t->moments[i].t_ns, i);
	}
}

static void test_a_full_list_of_numbers_still_counts_what_was_dropped(void **state)
{
	auto_trial struct trial *t = trial_new();
	int64_t v;

	(void)state;
	for (int i = 0; i < TRIAL_LIST_MAX + 9; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		trial_add_number(t, name, i);
	}

	assert_int_equal(t->n_numbers, TRIAL_LIST_MAX);
	assert_true(trial_number(t, "n4094", &v));
	assert_int_equal(v, 4094);
	assert_false(trial_number(t, "n4095", &v));
	assert_true(trial_number(t, "rows_dropped", &v));
	assert_int_equal(v, 10);
}

static void test_a_number_given_again_is_replaced(void **state)
{
	auto_trial struct trial *t = trial_new();
	char name[100];
	int64_t v;

	(void)state;
	trial_add_number(t, "cached_kib", 5);
	trial_add_number(t, "cached_kib", INT64_MIN);
	assert_int_equal(t->n_numbers, 1);
	assert_true(trial_number(t, "cached_kib", &v));
	assert_true(v == INT64_MIN);

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	trial_add_number(t, name, 1);
	trial_add_number(t, name, 2);
	assert_int_equal(t->n_numbers, 2);
	assert_int_equal(strlen(t->numbers[1].name), sizeof(t->numbers[1].name) - 1);
}

static void test_moments_are_kept_in_order_of_time(void **state)
{
	static const struct {
		int64_t t_ns;
		const char *what;
	} added[] = {{5, "e"}, {-3, "a"}, {7, "f"}, {0, "b"}, {0, "c"}, {1, "d"}};
	auto_trial struct trial *t = trial_new();
	char order[ARRAY_SIZE(added) + 1] = "";
	char longer[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		trial_add_moment(t, added[i].t_ns, added[i].what, "%s", "");
	for (size_t i = 0; i < t->n_moments; i++)
		order[i] = t->moments[i].what[0];
	assert_string_equal(order, "abcdef");

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	trial_add_moment(t, 9, longer, "%s", longer);
	assert_int_equal(strlen(t->moments[6].what), sizeof(t->moments[6].what) - 1);
	assert_int_equal(strlen(t->moments[6].detail), sizeof(t->moments[6].detail) - 1);
}

static struct run *run_with(size_t n)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->planned_valid = 2;
	r->limit_us = 50000;
	r->tolerated_over = 0.01;
	r->confidence = 0.95;
	r->trials = xcalloc(n, sizeof(struct trial *));
	for (r->n_trials = 0; r->n_trials < n; r->n_trials++) {
		r->trials[r->n_trials] = trial_new();
		r->trials[r->n_trials]->number = (unsigned)r->n_trials + 1;
		r->trials[r->n_trials]->boot = 1;
	}
	return r;
}

static void test_a_run_is_judged_by_its_trials(void **state)
{
	auto_run struct run *r = run_with(2);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		r->trials[i]->is_valid = true;
		r->trials[i]->worst_us = 4000;
	}
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_PASS);

	r->trials[0]->worst_us = r->trials[1]->worst_us = 183000;
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_FAIL);
	assert_string_equal(r->result.reason, "over-limit");
	assert_int_equal(r->result.worst_us, 183000);

	r->trials[1]->is_valid = false;
	r->trials[1]->missing = EVIDENCE_CACHE_LOADED;
	r->trials[0]->worst_us = 4000;
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_INCONCLUSIVE);
	assert_string_equal(r->result.reason, "evidence.cache-loaded");

	r->trials[1]->missing = EVIDENCE_CUT_SEEN;
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_RIG_FAULT);
	assert_string_equal(r->result.reason, "evidence.cut-seen");

	r->untestable = xstrdup("kernel.no-module: latency-mon does not load");
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_UNTESTABLE);

	r->rig_fault = xstrdup("rig.qemu-ended: killed by signal 9");
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_RIG_FAULT);
	assert_string_equal(r->result.reason, "rig.qemu-ended");

	r->trials[1]->is_crash = true;
	(void)snprintf(r->trials[1]->crash, sizeof(r->trials[1]->crash), "panic");
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_FAIL);
	assert_string_equal(r->result.reason, "crash");
}

static void test_a_run_without_trials_and_an_empty_run_do_not_pass(void **state)
{
	auto_run struct run *r = run_with(0);
	auto_run struct run *blank = xcalloc(1, sizeof(*blank));

	(void)state;
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_INCONCLUSIVE);
	run_judge(blank);
	assert_int_equal(blank->result.verdict, VERDICT_INCONCLUSIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_evidence_has_a_name_of_its_own_and_a_meaning),
		cmocka_unit_test(test_names_that_do_not_exist_are_refused),
		cmocka_unit_test(test_states_have_names),
		cmocka_unit_test(test_only_what_the_bench_does_is_blamed_on_it),
		cmocka_unit_test(test_a_new_trial_knows_nothing),
		cmocka_unit_test(test_rows_beyond_the_limit_are_counted_and_not_kept),
		cmocka_unit_test(test_a_full_list_of_numbers_still_counts_what_was_dropped),
		cmocka_unit_test(test_a_number_given_again_is_replaced),
		cmocka_unit_test(test_moments_are_kept_in_order_of_time),
		cmocka_unit_test(test_a_run_is_judged_by_its_trials),
		cmocka_unit_test(test_a_run_without_trials_and_an_empty_run_do_not_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
