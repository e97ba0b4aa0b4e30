/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bisect_core_pick.c - what is tested next follows the probabilities and the costs. */
/* ctest: bisect */
#include "bisect/core.h"
#include "unit.h"

#define N 64u

static uint32_t parents[N][1];
static struct bisect_commit commits[N];

static struct bisect_core *make(const struct bisect_cfg *cfg)
{
	struct bisect_core *b = NULL;
	struct err e = {0};

	for (uint32_t c = 0; c < N; c++) {
		parents[c][0] = c - 1;
		commits[c] = (struct bisect_commit){
			.parents = parents[c], .n_parents = c > 0, .weight = 1};
	}
	if (bisect_core_new(cfg, commits, N, &b, &e) < 0)
		fail_msg("%s", e.text);
	return b;
}

static void known(struct bisect_cfg *cfg)
{
	bisect_cfg_default(cfg);
	cfg->known_over_good = 0.05;
	cfg->known_over_bad = 0.8;
}

static void apply(struct bisect_core *b, enum bisect_event_kind kind, uint32_t commit,
		  uint32_t boot, bool is_over)
{
	struct bisect_event ev = {.kind = kind,
				  .commit = commit,
				  .boot = boot,
				  .is_over = is_over,
				  .delay_ms = -1,
				  .is_bad = is_over,
				  .certainty = 0.999};
	struct err e = {0};

	if (bisect_core_apply(b, &ev, &e) < 0)
		fail_msg("%s", e.text);
}

static void test_the_first_test_is_near_the_middle_and_says_why(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;

	(void)state;
	known(&cfg);
	b = make(&cfg);
	bisect_core_next(b, &next);
	assert_int_equal(next.state, BISECT_SEARCHING);
	assert_in_range(next.commit, N / 2 - 8, N / 2 + 8);
	assert_true(next.build_s == 900 && next.cost_s > 900);
	assert_contains(next.why, "next because it is bad with probability 0.");
	assert_contains(next.why, "a build of about 900 s");
}

static void test_dear_builds_keep_to_a_commit_longer_than_free_ones(void **state)
{
	unsigned boots[2];

	(void)state;
	for (unsigned dear = 0; dear < 2; dear++) {
		auto_bisect_core struct bisect_core *b = NULL;
		struct bisect_next next;
		struct bisect_cfg cfg;

		known(&cfg);
		cfg.cost.build_cold_s = cfg.cost.build_warm_s = dear ? 3600 : 0;
		b = make(&cfg);
		bisect_core_next(b, &next);
		boots[dear] = next.boots;
	}
	assert_int_equal(boots[0], 1);
	assert_true(boots[1] >= 4);
}

static void test_a_kept_kernel_is_preferred_to_a_build(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;

	(void)state;
	known(&cfg);
	b = make(&cfg);
	apply(b, BISECT_EV_BUILT, 27, 0, false);
	bisect_core_next(b, &next);
	assert_int_equal(next.commit, 27);
	assert_true(next.build_s == 0);
	assert_contains(next.why, "no build, its kernel is kept");
	apply(b, BISECT_EV_UNCACHED, 27, 0, false);
	bisect_core_next(b, &next);
	assert_true(next.build_s > 0);
}

static void test_a_near_commit_is_preferred_when_builds_grow_with_the_distance(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;

	(void)state;
	known(&cfg);
	cfg.cost.build_per_commit_s = 10;
	b = make(&cfg);
	apply(b, BISECT_EV_BUILT, N - 1, 0, false);
	bisect_core_next(b, &next);
	assert_true(next.commit > N / 2 + 4);
}

static void test_beside_untestable_commits_others_are_tried(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;

	(void)state;
	known(&cfg);
	b = make(&cfg);
	for (uint32_t c = 28; c < 36; c++)
		if (c != 31)
			apply(b, BISECT_EV_UNTESTABLE, c, 0, false);
	bisect_core_next(b, &next);
	/* 31 is the middle, but lies inside the broken run */
	assert_true(next.commit < 28 || next.commit > 35);
	apply(b, BISECT_EV_TESTABLE, 32, 0, false);
	bisect_core_next(b, &next);
	assert_false(bisect_core_is_untestable(b, 32));
}

static void test_ends_are_measured_first_in_turn(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;
	unsigned trials[2] = {0};

	(void)state;
	bisect_cfg_default(&cfg);
	b = make(&cfg);
	for (uint32_t i = 0;; i++) {
		bool is_bad;

		bisect_core_next(b, &next);
		if (next.state != BISECT_MEASURING_ENDS)
			break;
		is_bad = next.commit == N - 1;
		assert_true(is_bad || next.commit == BISECT_GOOD_END);
		assert_contains(next.why, "because the ends must differ");
		apply(b, BISECT_EV_TRIAL, next.commit, i, is_bad);
		trials[is_bad]++;
	}
	assert_int_equal(next.state, BISECT_SEARCHING);
	assert_in_range(trials[0], cfg.ends_min_trials, 8);
	assert_in_range(trials[1], cfg.ends_min_trials, 8);
}

static void test_what_a_build_costs_follows_the_worktree(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;

	(void)state;
	known(&cfg);
	cfg.cost.build_per_commit_s = 1;
	b = make(&cfg);
	apply(b, BISECT_EV_BUILT, N - 1, 0, false);
	bisect_core_next(b, &next);
	assert_true(next.build_s > cfg.cost.build_warm_s + 1);
	assert_true(next.build_s < cfg.cost.build_warm_s + N);
	/* how far the good end is from the commits is not known */
	apply(b, BISECT_EV_BUILT, BISECT_GOOD_END, 0, false);
	bisect_core_next(b, &next);
	assert_true(next.build_s > cfg.cost.build_warm_s - 1e-9);
	assert_true(next.build_s < cfg.cost.build_warm_s + 1e-9);
}

static void test_a_boot_at_an_end_has_as_many_trials_as_it_is_worth(void **state)
{
	static const struct {
		double boot_s, trial_s;
		unsigned least, trials_per_boot, boots;
	} cases[] = {
		{10, 30, 5, 1, 5}, /* boots are cheap */
		{30, 2, 5, 2, 3},  /* dear, but at least two of them shall be seen */
		{30, 2, 16, 7, 3},
		{30, 2, 2, 1, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_bisect_core struct bisect_core *b = NULL;
		struct bisect_next next;
		struct bisect_cfg cfg;

		bisect_cfg_default(&cfg);
		cfg.cost.boot_s = cases[i].boot_s;
		cfg.cost.trial_s = cases[i].trial_s;
		cfg.ends_min_trials = cases[i].least;
		b = make(&cfg);
		bisect_core_next(b, &next);
		assert_int_equal(next.state, BISECT_MEASURING_ENDS);
		assert_int_equal(next.trials_per_boot, cases[i].trials_per_boot);
		assert_int_equal(next.boots, cases[i].boots);
	}
}

static void test_trials_that_cannot_decide_a_commit_lead_on(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;
	uint32_t boot = 0;
	unsigned here = 0;

	(void)state;
	bisect_cfg_default(&cfg);
	cfg.cost.build_cold_s = cfg.cost.build_warm_s = 900;
	b = make(&cfg);
	for (unsigned i = 0; i < 12; i++) {
		apply(b, BISECT_EV_TRIAL, BISECT_GOOD_END, boot++, false);
		apply(b, BISECT_EV_TRIAL, N - 1, boot++, i % 4 != 0);
	}
	apply(b, BISECT_EV_BUILT, BISECT_GOOD_END, 0, false);
	apply(b, BISECT_EV_BUILT, N - 1, 0, false);
	apply(b, BISECT_EV_BUILT, 32, 0, false);
	/* 32 fails every fourth time: neither what good nor what bad commits do */
	do {
		apply(b, BISECT_EV_TRIAL, 32, boot++, here % 4 == 0);
		bisect_core_next(b, &next);
		here++;
	} while (next.commit == 32 && here < 200);
	assert_true(here < 100);
}

static void test_the_search_gives_up_at_its_limit_with_a_set(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	auto_free uint32_t *answer = NULL;
	struct bisect_next next;
	struct bisect_cfg cfg;
	double p;

	(void)state;
	known(&cfg);
	cfg.max_trials = 3;
	b = make(&cfg);
	for (uint32_t i = 0; i < 3; i++) {
		bisect_core_next(b, &next);
		assert_int_equal(next.state, BISECT_SEARCHING);
		apply(b, BISECT_EV_TRIAL, 31, i, true);
	}
	bisect_core_next(b, &next);
	assert_int_equal(next.state, BISECT_EXHAUSTED);
	assert_in_range(bisect_core_answer(b, &answer, &p), 31, 33);
	assert_true(p >= 0.99);
	assert_contains(next.why, "no more trials are allowed");
}

static void test_the_estimate_shrinks_with_what_is_known(void **state)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_estimate before, after;
	struct bisect_cfg cfg;

	(void)state;
	known(&cfg);
	b = make(&cfg);
	bisect_core_estimate(b, &before);
	assert_true(before.entropy_bits > 5.99 && before.entropy_bits < 6.01);
	assert_true(before.trials > 6 && before.trials < 30);
	assert_true(before.builds > 6 && before.builds < 20);
	apply(b, BISECT_EV_TOLD, 31, 0, true);
	bisect_core_estimate(b, &after);
	assert_true(after.entropy_bits < before.entropy_bits - 0.9);
	assert_true(after.hours < before.hours && after.trials < before.trials);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_test_is_near_the_middle_and_says_why),
		cmocka_unit_test(test_dear_builds_keep_to_a_commit_longer_than_free_ones),
		cmocka_unit_test(test_a_kept_kernel_is_preferred_to_a_build),
		cmocka_unit_test(
			test_a_near_commit_is_preferred_when_builds_grow_with_the_distance),
		cmocka_unit_test(test_beside_untestable_commits_others_are_tried),
		cmocka_unit_test(test_ends_are_measured_first_in_turn),
		cmocka_unit_test(test_what_a_build_costs_follows_the_worktree),
		cmocka_unit_test(test_a_boot_at_an_end_has_as_many_trials_as_it_is_worth),
		cmocka_unit_test(test_trials_that_cannot_decide_a_commit_lead_on),
		cmocka_unit_test(test_the_search_gives_up_at_its_limit_with_a_set),
		cmocka_unit_test(test_the_estimate_shrinks_with_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
