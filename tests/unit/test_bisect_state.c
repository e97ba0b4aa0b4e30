/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bisect_state.c - the state as JSON: the keys that scripts rely on, nothing unknown. */
/* ctest: bisect */
#include "bisect/state.h"
#include "unit.h"

#define N 8u

static uint32_t parents[N][1];

static struct bisect_core *make(double over_good, double over_bad)
{
	static const char *const names[N] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
	struct bisect_commit commits[N];
	struct bisect_core *b = NULL;
	struct bisect_cfg cfg;
	struct err e = {0};

	bisect_cfg_default(&cfg);
	cfg.known_over_good = over_good;
	cfg.known_over_bad = over_bad;
	for (uint32_t c = 0; c < N; c++) {
		parents[c][0] = c - 1;
		commits[c] = (struct bisect_commit){
			.parents = parents[c], .n_parents = c > 0, .weight = 1, .name = names[c]};
	}
	if (bisect_core_new(&cfg, commits, N, &b, &e) < 0)
		fail_msg("%s", e.text);
	return b;
}

static void apply(struct bisect_core *b, enum bisect_event_kind kind, uint32_t commit,
		  uint32_t boot, bool is_over, double delay_ms)
{
	struct bisect_event ev = {.kind = kind,
				  .commit = commit,
				  .boot = boot,
				  .is_over = is_over,
				  .delay_ms = delay_ms};
	struct err e = {0};

	if (bisect_core_apply(b, &ev, &e) < 0)
		fail_msg("%s", e.text);
}

static const char *text_of(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "(absent)";
}

static bool has_null(json_t *value)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_null(value))
		return true;
	json_object_foreach(value, key, part) if (has_null(part)) return true;
	json_array_foreach(value, i, part) if (has_null(part)) return true;
	return false;
}

static void test_before_the_first_event_there_is_a_next_test_and_an_estimate(void **state)
{
	auto_bisect_core struct bisect_core *b = make(-1, -1);
	json_t *obj = bisect_state_json(b);
	auto_free char *price = bisect_estimate_text(b);
	auto_free char *text = bisect_state_text(b);

	(void)state;
	assert_string_equal(text_of(obj, "state"), "measuring-ends");
	assert_string_equal(text_of(json_object_get(obj, "next"), "commit"), "c7");
	assert_null(json_object_get(obj, "culprit"));
	assert_null(json_object_get(obj, "reason"));
	assert_true(json_real_value(json_object_get(json_object_get(obj, "estimate"), "hours")) >
		    0);
	assert_int_equal(json_array_size(json_object_get(obj, "candidates")),
			 BISECT_STATE_CANDIDATES);
	assert_int_equal(json_array_size(json_object_get(obj, "tests")), 0);
	assert_false(has_null(obj));
	assert_contains(price, "8 commits between the ends: about ");
	assert_contains(text, "measuring-ends: 0 builds, 0 boots, 0 trials so far");
	assert_contains(text, "still about ");
	json_decref(obj);
}

static void test_at_the_end_the_culprit_is_named(void **state)
{
	auto_bisect_core struct bisect_core *b = make(0.01, 0.99);
	json_t *obj, *tests;
	auto_free char *text = NULL;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		apply(b, BISECT_EV_TRIAL, 3, i, false, 4);
		apply(b, BISECT_EV_TRIAL, 4, 10 + i, true, -1);
	}
	obj = bisect_state_json(b);
	text = bisect_state_text(b);
	assert_string_equal(text_of(obj, "state"), "done");
	assert_string_equal(text_of(obj, "culprit"), "c4");
	assert_true(json_real_value(json_object_get(obj, "probability")) > 0.99);
	assert_contains(text_of(obj, "reason"), "c4 is the first bad commit");
	assert_null(json_object_get(obj, "next"));
	tests = json_object_get(obj, "tests");
	assert_int_equal(json_array_size(tests), 2);
	assert_string_equal(text_of(json_array_get(tests, 0), "commit"), "c3");
	assert_string_equal(text_of(json_array_get(tests, 0), "verdict"), "good");
	assert_non_null(json_object_get(json_array_get(tests, 0), "median_ms"));
	assert_string_equal(text_of(json_array_get(tests, 1), "verdict"), "bad");
	assert_null(json_object_get(json_array_get(tests, 1), "median_ms"));
	assert_false(has_null(obj));
	assert_contains(text, "c4 is the first bad commit with probability");
	json_decref(obj);
}

static void test_a_set_has_no_culprit_but_an_answer(void **state)
{
	auto_bisect_core struct bisect_core *b = make(0.01, 0.99);
	json_t *obj, *answer;

	(void)state;
	apply(b, BISECT_EV_UNTESTABLE, 4, 0, false, 0);
	for (uint32_t i = 0; i < 3; i++) {
		apply(b, BISECT_EV_TRIAL, 3, i, false, 4);
		apply(b, BISECT_EV_TRIAL, 5, 10 + i, true, 400);
	}
	obj = bisect_state_json(b);
	assert_string_equal(text_of(obj, "state"), "done");
	assert_null(json_object_get(obj, "culprit"));
	answer = json_object_get(obj, "answer");
	assert_int_equal(json_array_size(answer), 2);
	assert_string_equal(json_string_value(json_array_get(answer, 0)), "c4");
	assert_string_equal(json_string_value(json_array_get(answer, 1)), "c5");
	assert_int_equal(json_array_size(json_object_get(obj, "untestable")), 1);
	json_decref(obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_the_first_event_there_is_a_next_test_and_an_estimate),
		cmocka_unit_test(test_at_the_end_the_culprit_is_named),
		cmocka_unit_test(test_a_set_has_no_culprit_but_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
