/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_pull.c - what KernelCI is told of a job. */
/* ctest: lab */
#include "lab/pull.h"
#include "sample_run.h"
#include "store/queue.h"
#include "unit.h"

#define SECOND NSEC_PER_SEC

static const char *text(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "";
}

static void test_each_end_of_a_job_has_its_status(void **state)
{
	static const struct {
		enum store_job_state state;
		const char *verdict, *status;
	} cases[] = {
		{STORE_JOB_DONE, "PASS", "pass"},
		{STORE_JOB_DONE, "FAIL", "fail"},
		{STORE_JOB_DONE, "INCONCLUSIVE", "error"},
		{STORE_JOB_DONE, "UNTESTABLE", "error"},
		{STORE_JOB_DONE, "RIG-FAULT", "error"},
		{STORE_JOB_DONE, NULL, "error"},
		/* the verdict of an attempt that did not count */
		{STORE_JOB_FAILED, "PASS", "error"},
		{STORE_JOB_FAILED, NULL, "error"},
		{STORE_JOB_CANCELLED, NULL, "error"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct store_job j = {.state = cases[i].state,
					    .verdict = (char *)(uintptr_t)cases[i].verdict};
		json_t *t = pull_test("a", &j, NULL);

		assert_string_equal(text(t, "id"), "a");
		assert_string_equal(text(t, "status"), cases[i].status);
		assert_null(json_object_get(t, "metrics"));
		assert_null(json_object_get(t, "duration_ms"));
		json_decref(t);
	}
}

static void test_a_run_gives_its_numbers_and_its_reason(void **state)
{
	auto_run struct run *r = sample_run("debian 6.1", "bench", "board");
	char verdict[] = "FAIL", error[] = "the scope was in the way";
	const struct store_job j = {.state = STORE_JOB_DONE,
				    .verdict = verdict,
				    .error = error,
				    .started_wall_ns = 10 * SECOND,
				    .ended_wall_ns = 75 * SECOND};
	json_t *metrics;
	json_t *t;

	(void)state;
	(void)sample_add_boot(r, "/x/boot-1");
	(void)sample_add_trial(r, 1, 812000);
	(void)sample_add_trial(r, 2, 900000);
	run_judge(r);
	t = pull_test("unplug", &j, r);
	metrics = json_object_get(t, "metrics");
	assert_string_equal(text(t, "status"), "fail");
	assert_int_equal(json_integer_value(json_object_get(t, "duration_ms")), 65000);
	assert_int_equal(json_integer_value(json_object_get(metrics, "valid_trials")), 2);
	assert_int_equal(json_integer_value(json_object_get(metrics, "over_limit")), 2);
	assert_true(json_real_value(json_object_get(metrics, "worst_ms")) == 900.0);
	assert_contains(text(t, "why"), verdict_name(r->result.verdict));
	assert_contains(text(t, "why"), r->result.reason);
	assert_contains(text(t, "why"), error);
	json_decref(t);
}

static void test_an_answer_counts_and_says_whose_fault_it_was(void **state)
{
	json_t *tests =
		json_pack("[{s:s,s:s,s:s,s:i}, {s:s,s:s}, {s:s,s:s,s:s}, {s:s,s:s,s:s}]", "id", "a",
			  "status", "pass", "why", "PASS none-over", "duration_ms", 1500, "id", "b",
			  "status", "fail", "id", "c", "status", "skip", "why", "not here", "id",
			  "d", "status", "error", "why", "no");
	json_t *answer = pull_answer(tests, "bench", NULL);
	json_t *broken = pull_answer(tests, "bench", "no kernel");
	json_t *wanted = json_loads(
		"{\"summary\":{\"total\":4,\"failed\":2},\"tests\":{\"a\":{\"status\":\"pass\","
		"\"duration_ms\":1500},\"b\":{\"status\":\"fail\"},\"c\":{\"status\":\"skip\"},"
		"\"d\":{\"status\":\"error\"}},\"metadata\":{\"system\":\"bench\"},"
		"\"artifacts\":{\"log\":\"a: pass: PASS none-over\\nb: fail: \\n"
		"c: skip: not here\\nd: error: no\\n\"}}",
		0, NULL);

	(void)state;
	assert_non_null(wanted);
	assert_true(json_equal(answer, wanted));
	assert_string_equal(text(broken, "error_code"), "Infrastructure");
	assert_string_equal(text(broken, "error_msg"), "no kernel");
	json_decref(tests);
	json_decref(answer);
	json_decref(broken);
	json_decref(wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_end_of_a_job_has_its_status),
		cmocka_unit_test(test_a_run_gives_its_numbers_and_its_reason),
		cmocka_unit_test(test_an_answer_counts_and_says_whose_fault_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
