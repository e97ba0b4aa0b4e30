/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bisect_core.c - the posterior against plain enumeration, replay, the states, the limits. */
/* ctest: bisect */
#include "base/rng.h"
#include "bisect/core.h"
#include "unit.h"

#include <math.h>

#define N_MAX 64u

#define assert_near(a, b, tolerance)                                        \
	do {                                                                \
		double a_ = (a), b_ = (b);                                  \
		if (!(fabs(a_ - b_) <= (tolerance)))                        \
			fail_msg("%s = %.12g, expected %.12g", #a, a_, b_); \
	} while (0)

struct history {
	size_t n;
	uint32_t parents[N_MAX][2];
	struct bisect_commit commits[N_MAX];
};

/* A trunk with side branches that are merged back; the last commit has all as ancestors. */
static void make_history(struct rng *r, size_t n, double p_merge, struct history *h)
{
	bool has_child[N_MAX] = {false};

	h->n = n;
	for (uint32_t c = 0; c < n; c++) {
		unsigned k = 0;

		if (c) {
			h->parents[c][k++] = rng_unit(r) < 0.8 ? c - 1 : (uint32_t)rng_below(r, c);
			if (rng_unit(r) < p_merge)
				h->parents[c][k++] = (uint32_t)rng_below(r, c);
		}
		for (unsigned i = 0; i < k; i++)
			has_child[h->parents[c][i]] = true;
		h->commits[c] = (struct bisect_commit){
			.parents = h->parents[c], .n_parents = k, .weight = 1 + rng_unit(r)};
	}
	/* loose ends hang below the next commit that has room for a second parent, or the tip */
	for (uint32_t c = 0; c + 1 < n; c++) {
		uint32_t to = c + 1;

		if (has_child[c])
			continue;
		while (h->commits[to].n_parents == 2 && to + 1 < n)
			to++;
		h->parents[to][h->commits[to].n_parents == 2 ? 1 : h->commits[to].n_parents++] = c;
		has_child[c] = true;
	}
}

static bool is_ancestor(const struct history *h, uint32_t a, uint32_t c)
{
	if (a == c)
		return true;
	for (unsigned k = 0; k < h->commits[c].n_parents; k++)
		if (h->parents[c][k] >= a && is_ancestor(h, a, h->parents[c][k]))
			return true;
	return false;
}

static bool is_connected(const struct history *h)
{
	for (uint32_t c = 0; c < h->n; c++)
		if (!is_ancestor(h, c, (uint32_t)h->n - 1))
			return false;
	return true;
}

static struct bisect_core *make_core(const struct bisect_cfg *cfg, const struct history *h)
{
	struct bisect_core *b = NULL;
	struct err e = {0};

	if (bisect_core_new(cfg, h->commits, h->n, &b, &e) < 0)
		fail_msg("%s", e.text);
	return b;
}

static void apply(struct bisect_core *b, const struct bisect_event *ev)
{
	struct err e = {0};

	if (bisect_core_apply(b, ev, &e) < 0)
		fail_msg("%s", e.text);
}

static struct bisect_event trial(uint32_t commit, uint32_t boot, bool is_over)
{
	return (struct bisect_event){.kind = BISECT_EV_TRIAL,
				     .commit = commit,
				     .boot = boot,
				     .is_over = is_over,
				     .delay_ms = -1};
}

static double total_of(const struct bisect_core *b)
{
	double sum = 0;

	for (uint32_t c = 0; c < bisect_core_n_commits(b); c++)
		sum += bisect_core_probability(b, c);
	return sum;
}

static void linear_history(size_t n, struct history *h)
{
	h->n = n;
	for (uint32_t c = 0; c < n; c++) {
		h->parents[c][0] = c - 1;
		h->commits[c] = (struct bisect_commit){
			.parents = h->parents[c], .n_parents = c > 0, .weight = 1};
	}
}

static void test_posterior_equals_enumeration_on_merge_histories_when_rates_are_known(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	struct rng r;
	unsigned checked = 0;

	(void)state;
	bisect_cfg_default(&cfg);
	cfg.known_over_good = 0.1;
	cfg.known_over_bad = 0.7;
	rng_init(&r, 3);
	while (checked < 40) {
		auto_bisect_core struct bisect_core *b = NULL;
		double expected[N_MAX], sum = 0;
		uint32_t at[30];
		bool over[30];

		make_history(&r, 2 + rng_below(&r, N_MAX - 2), 0.4, &h);
		if (!is_connected(&h))
			continue;
		checked++;
		b = make_core(&cfg, &h);
		for (uint32_t i = 0; i < 30; i++) {
			struct bisect_event ev;

			at[i] = (uint32_t)rng_below(&r, h.n);
			over[i] = rng_unit(&r) < 0.4;
			ev = trial(at[i], i, over[i]);
			apply(b, &ev);
		}
		for (uint32_t c = 0; c < h.n; c++) {
			expected[c] = h.commits[c].weight;
			for (uint32_t i = 0; i < 30; i++) {
				double f = is_ancestor(&h, c, at[i]) ? 0.7 : 0.1;

				expected[c] *= over[i] ? f : 1 - f;
			}
			sum += expected[c];
		}
		for (uint32_t c = 0; c < h.n; c++) {
			double p_bad = 0;

			assert_near(bisect_core_probability(b, c), expected[c] / sum, 1e-12);
			for (uint32_t i = 0; i < h.n; i++)
				p_bad += is_ancestor(&h, i, c) ? expected[i] / sum : 0;
			assert_near(bisect_core_p_bad(b, c), p_bad, 1e-12);
		}
		assert_near(total_of(b), 1, 1e-12);
	}
}

/* Events of a whole bisect on one history, made with the core itself asking. */
static size_t play(struct bisect_core *b, const struct history *h, uint32_t culprit, double f_good,
		   double f_bad, uint64_t seed, struct bisect_event *ret, size_t max)
{
	struct bisect_next next;
	struct rng r;
	size_t n = 0;

	rng_init(&r, seed);
	for (;;) {
		bool is_bad;

		bisect_core_next(b, &next);
		assert_non_null(strchr(next.why, ' '));
		if (next.state != BISECT_MEASURING_ENDS && next.state != BISECT_SEARCHING)
			return n;
		assert_true(n + 2 < max);
		is_bad = next.commit != BISECT_GOOD_END && is_ancestor(h, culprit, next.commit);
		ret[n] = next.build_s > 0 ? (struct bisect_event){.kind = BISECT_EV_BUILT,
								  .commit = next.commit}
					  : trial(next.commit, (uint32_t)n,
						  rng_unit(&r) < (is_bad ? f_bad : f_good));
		n++;
		apply(b, &ret[n - 1]);
	}
}

static void test_a_bisect_names_the_culprit_and_replays_to_the_same_state(void **state)
{
	static struct history h;
	static struct bisect_event events[4000];
	struct bisect_cfg cfg;
	unsigned right = 0;

	(void)state;
	bisect_cfg_default(&cfg);
	linear_history(N_MAX, &h);
	for (uint32_t run = 0; run < 20; run++) {
		auto_bisect_core struct bisect_core *b = make_core(&cfg, &h);
		auto_bisect_core struct bisect_core *again = make_core(&cfg, &h);
		auto_free uint32_t *answer = NULL;
		uint32_t culprit = run * 3 + 1;
		struct bisect_next one, other;
		double p;
		size_t n = play(b, &h, culprit, 0.05, 0.7, run, events, ARRAY_SIZE(events));

		assert_int_equal(bisect_core_answer(b, &answer, &p), 1);
		assert_true(p >= 0.99);
		right += answer[0] == culprit;
		for (size_t i = 0; i < n; i++)
			apply(again, &events[i]);
		for (uint32_t c = 0; c < h.n; c++)
			assert_true(bisect_core_probability(b, c) ==
				    bisect_core_probability(again, c));
		bisect_core_next(b, &one);
		bisect_core_next(again, &other);
		assert_int_equal(one.state, BISECT_DONE);
		assert_string_equal(one.why, other.why);
	}
	assert_true(right >= 18);
}

static void test_order_of_trials_of_different_commits_does_not_matter(void **state)
{
	static struct history h;
	struct bisect_event ev[60];
	struct bisect_cfg cfg;
	struct rng r;

	(void)state;
	bisect_cfg_default(&cfg);
	rng_init(&r, 8);
	do
		make_history(&r, 50, 0.3, &h);
	while (!is_connected(&h));
	for (uint32_t i = 0; i < ARRAY_SIZE(ev); i++) {
		/* every third at an end; two trials a boot; delays that say something */
		uint32_t c = i % 6 == 0   ? BISECT_GOOD_END
			     : i % 6 == 3 ? 49
					  : (uint32_t)rng_below(&r, 50);
		bool is_over = c == 49 || (c != BISECT_GOOD_END && c > 20 && rng_unit(&r) < 0.7);

		ev[i] = trial(c, i / 2, is_over);
		ev[i].delay_ms = exp((is_over ? 5 : 2) + rng_unit(&r));
	}
	for (unsigned round = 0; round < 5; round++) {
		auto_bisect_core struct bisect_core *one = make_core(&cfg, &h);
		auto_bisect_core struct bisect_core *other = make_core(&cfg, &h);

		for (size_t i = 0; i < ARRAY_SIZE(ev); i++)
			apply(one, &ev[i]);
		for (size_t i = ARRAY_SIZE(ev) - 1; i > 0; i--) {
			size_t k = rng_below(&r, i + 1);
			struct bisect_event swap = ev[i];

			ev[i] = ev[k];
			ev[k] = swap;
		}
		for (size_t i = 0; i < ARRAY_SIZE(ev); i++)
			apply(other, &ev[i]);
		for (uint32_t c = 0; c < h.n; c++)
			assert_near(bisect_core_probability(one, c),
				    bisect_core_probability(other, c), 1e-9);
	}
}

static void test_ends_that_are_the_same_are_refused_with_their_numbers(void **state)
{
	static struct history h;
	static struct bisect_event events[4000];
	struct bisect_cfg cfg;
	unsigned refused = 0;

	(void)state;
	bisect_cfg_default(&cfg);
	linear_history(40, &h);
	for (uint32_t run = 0; run < 30; run++) {
		auto_bisect_core struct bisect_core *b = make_core(&cfg, &h);
		struct bisect_next next;

		play(b, &h, 7, 0.3, 0.3, run, events, ARRAY_SIZE(events));
		bisect_core_next(b, &next);
		if (next.state != BISECT_REFUSED)
			continue;
		refused++;
		assert_contains(next.why, "cannot be told apart");
		assert_contains(next.why, "good end ");
		assert_contains(next.why, " failed (");
	}
	assert_true(refused >= 28);
}

static double p_differ(const struct bisect_core *b)
{
	struct bisect_rates rates;

	bisect_core_rates(b, &rates);
	return rates.p_ends_differ;
}

/* Ends that look different by luck; after that every commit fails in half of its trials. */
static void test_a_search_between_ends_that_are_the_same_is_refused(void **state)
{
	static struct history h;
	const uint64_t seed = 20261;
	unsigned refused = 0, searched = 0;
	struct bisect_cfg cfg;
	struct rng r;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	rng_init(&r, seed);
	bisect_cfg_default(&cfg);
	cfg.ends_min_trials = 3;
	linear_history(40, &h);
	for (uint32_t run = 0; run < 30; run++) {
		auto_bisect_core struct bisect_core *b = make_core(&cfg, &h);
		struct bisect_next next;
		uint32_t boot = 0;

		for (; boot < 6; boot++) {
			struct bisect_event ev =
				trial(boot % 2 ? BISECT_GOOD_END : 39, boot, boot % 2 == 0);

			apply(b, &ev);
		}
		for (bisect_core_next(b, &next);
		     next.state == BISECT_SEARCHING || next.state == BISECT_MEASURING_ENDS;
		     bisect_core_next(b, &next)) {
			struct bisect_event ev = trial(next.commit, boot++, rng_unit(&r) < 0.5);

			searched += next.state == BISECT_SEARCHING;
			assert_true(boot < 3000);
			apply(b, &ev);
		}
		refused += next.state == BISECT_REFUSED;
	}
	assert_true(searched >= 30);
	assert_true(refused >= 28);
}

static void test_an_answer_needs_ends_that_differ_with_the_wanted_probability(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	auto_bisect_core struct bisect_core *b = NULL;
	struct bisect_next next;
	uint32_t boot = 0;

	(void)state;
	bisect_cfg_default(&cfg);
	cfg.ends_min_trials = 2;
	/* the only candidate is the answer from the beginning */
	linear_history(1, &h);
	b = make_core(&cfg, &h);
	for (;;) {
		struct bisect_event ev;

		bisect_core_next(b, &next);
		if (next.state != BISECT_MEASURING_ENDS)
			break;
		assert_true(boot < 100);
		assert_true(boot < 2 * cfg.ends_min_trials || p_differ(b) < cfg.ends_confidence);
		ev = trial(next.commit, boot++, next.commit != BISECT_GOOD_END);
		apply(b, &ev);
	}
	assert_int_equal(next.state, BISECT_DONE);
	assert_true(p_differ(b) >= cfg.ends_confidence);
	assert_true(boot > 2 * cfg.ends_min_trials);
}

static void test_trials_of_the_search_say_whether_the_ends_differ(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	auto_bisect_core struct bisect_core *b = NULL;
	double before, after;

	(void)state;
	bisect_cfg_default(&cfg);
	cfg.ends_min_trials = 3;
	linear_history(40, &h);
	b = make_core(&cfg, &h);
	for (uint32_t boot = 0; boot < 6; boot++) {
		struct bisect_event ev =
			trial(boot % 2 ? BISECT_GOOD_END : 39, boot, boot % 2 == 0);

		apply(b, &ev);
	}
	before = p_differ(b);
	/* as a culprit at 20 has it */
	for (uint32_t c = 10; c <= 30; c += 4) {
		struct bisect_event ev = trial(c, c, c >= 20);

		apply(b, &ev);
	}
	after = p_differ(b);
	assert_true(after > before);
	/* and as none has it */
	for (uint32_t c = 10; c <= 30; c += 4)
		for (uint32_t i = 0; i < 4; i++) {
			struct bisect_event ev = trial(c, 100 * c + i, c < 20);

			apply(b, &ev);
		}
	assert_true(p_differ(b) < before);
}

static void test_untestable_commits_stay_candidates_and_the_answer_is_the_smallest_set(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	struct bisect_next next;
	auto_bisect_core struct bisect_core *b = NULL;
	auto_free uint32_t *answer = NULL;
	uint32_t boot = 0;
	double p;

	(void)state;
	bisect_cfg_default(&cfg);
	cfg.known_over_good = 0.02;
	cfg.known_over_bad = 0.9;
	linear_history(40, &h);
	b = make_core(&cfg, &h);
	/* the culprit is 20, 18 to 22 do not build: 18…23 cannot be told apart */
	for (;;) {
		struct bisect_event ev;

		bisect_core_next(b, &next);
		if (next.state != BISECT_SEARCHING)
			break;
		assert_true(boot < 500);
		ev = trial(next.commit, boot++, next.commit >= 20);
		if (next.commit >= 18 && next.commit <= 22)
			ev.kind = BISECT_EV_UNTESTABLE;
		apply(b, &ev);
	}
	assert_int_equal(next.state, BISECT_DONE);
	assert_int_equal(bisect_core_answer(b, &answer, &p), 6);
	assert_int_equal(answer[0], 18);
	assert_int_equal(answer[5], 23);
	assert_true(p >= 0.99);
	assert_contains(next.why, "one of 6");
}

static void test_inputs_that_make_no_sense_are_named(void **state)
{
	static struct history h;
	static const struct {
		size_t n;
		double weight;
		unsigned parents_of_tip;
		double target;
		const char *text;
	} cases[] = {
		{0, 1, 1, 0.99, "0 commits between the ends"},
		{BISECT_COMMITS_MAX + 1, 1, 1, 0.99, "262145 commits between the ends"},
		{10, 0, 1, 0.99, "commit 5 (#5) has the weight 0"},
		{10, NAN, 1, 0.99, "commit 5 (#5) has the weight nan"},
		{10, 1, 0, 0.99, "commit 0 (#0) is no ancestor of the bad end"},
		{10, 1, 1, 1, "target probability is 1, must be from 0.5 to 0.9999"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_bisect_core struct bisect_core *b = NULL;
		struct bisect_cfg cfg;
		struct err e = {0};

		bisect_cfg_default(&cfg);
		cfg.target = cases[i].target;
		linear_history(10, &h);
		h.commits[5].weight = cases[i].weight;
		h.commits[9].n_parents = cases[i].parents_of_tip;
		assert_true(bisect_core_new(&cfg, h.commits, cases[i].n, &b, &e) < 0);
		assert_null(b);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].text);
	}
}

static void test_a_refused_event_changes_nothing(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	struct bisect_event ev;
	struct bisect_used used;
	struct err e = {0};
	auto_bisect_core struct bisect_core *b = NULL;

	(void)state;
	bisect_cfg_default(&cfg);
	linear_history(10, &h);
	b = make_core(&cfg, &h);
	ev = trial(10, 0, true);
	assert_int_equal(bisect_core_apply(b, &ev, &e), -EINVAL);
	assert_contains(e.text, "trial of commit 10, there are only 10");
	ev = (struct bisect_event){.kind = BISECT_EV_TOLD, .commit = 9, .certainty = 0.9};
	assert_int_equal(bisect_core_apply(b, &ev, &e), -EINVAL);
	assert_contains(e.text, "#9 is an end, it is bad by definition");
	ev.commit = 4;
	ev.certainty = 1;
	assert_int_equal(bisect_core_apply(b, &ev, &e), -EINVAL);
	assert_contains(e.text, "certainty of a told answer is 1");
	ev = trial(4, 0, true);
	ev.delay_ms = NAN;
	assert_int_equal(bisect_core_apply(b, &ev, &e), -EINVAL);

	for (unsigned i = 0; i < BISECT_TRIALS_PER_BOOT_MAX; i++) {
		ev = trial(4, 7, i % 2);
		apply(b, &ev);
	}
	assert_int_equal(bisect_core_apply(b, &ev, &e), -ENOSPC);
	assert_contains(e.text, "boot 7 of #4 has 64 trials already");
	bisect_core_used(b, &used);
	assert_int_equal(used.trials, BISECT_TRIALS_PER_BOOT_MAX);
	assert_int_equal(used.boots, 1);
	assert_near(total_of(b), 1, 1e-12);
}

static void test_trials_of_one_boot_say_less_than_trials_of_many(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	auto_bisect_core struct bisect_core *one = NULL, *many = NULL;

	(void)state;
	bisect_cfg_default(&cfg);
	linear_history(40, &h);
	one = make_core(&cfg, &h);
	many = make_core(&cfg, &h);
	for (uint32_t i = 0; i < 48; i++) {
		/* at the bad end a boot either always fails or never, the good end never fails */
		struct bisect_event ev = trial(i % 2 ? 39 : BISECT_GOOD_END, i / 8, false);

		ev.is_over = i % 2 && i / 8 % 3 < 2;
		apply(one, &ev);
		apply(many, &ev);
	}
	for (uint32_t i = 0; i < 6; i++) {
		struct bisect_event ev = trial(20, 100, false);

		apply(one, &ev);
		ev.boot = 100 + i;
		apply(many, &ev);
	}
	assert_true(bisect_core_p_bad(many, 20) < 0.02);
	assert_true(bisect_core_p_bad(one, 20) > 0.1);
}

static void test_told_answers_move_the_posterior_as_far_as_they_are_certain(void **state)
{
	static struct history h;
	struct bisect_cfg cfg;
	struct bisect_event ev = {
		.kind = BISECT_EV_TOLD, .commit = 19, .is_bad = true, .certainty = 0.9};
	auto_bisect_core struct bisect_core *b = NULL;

	(void)state;
	bisect_cfg_default(&cfg);
	linear_history(40, &h);
	b = make_core(&cfg, &h);
	apply(b, &ev);
	assert_near(bisect_core_p_bad(b, 19), 0.9, 1e-12);
	assert_near(total_of(b), 1, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_posterior_equals_enumeration_on_merge_histories_when_rates_are_known),
		cmocka_unit_test(test_a_bisect_names_the_culprit_and_replays_to_the_same_state),
		cmocka_unit_test(test_order_of_trials_of_different_commits_does_not_matter),
		cmocka_unit_test(test_ends_that_are_the_same_are_refused_with_their_numbers),
		cmocka_unit_test(test_a_search_between_ends_that_are_the_same_is_refused),
		cmocka_unit_test(test_an_answer_needs_ends_that_differ_with_the_wanted_probability),
		cmocka_unit_test(test_trials_of_the_search_say_whether_the_ends_differ),
		cmocka_unit_test(
			test_untestable_commits_stay_candidates_and_the_answer_is_the_smallest_set),
		cmocka_unit_test(test_inputs_that_make_no_sense_are_named),
		cmocka_unit_test(test_a_refused_event_changes_nothing),
		cmocka_unit_test(test_trials_of_one_boot_say_less_than_trials_of_many),
		cmocka_unit_test(test_told_answers_move_the_posterior_as_far_as_they_are_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
