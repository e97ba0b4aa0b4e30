/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_stats.c - bounds, medians and the test for clusters against known values. */
/* ctest: judge */
#include "base/rng.h"
#include "judge/judge.h"
#include "unit.h"

#include <math.h>

#define assert_near(a, b, tolerance)                                        \
	do {                                                                \
		double a_ = (a), b_ = (b);                                  \
		if (!(fabs(a_ - b_) <= (tolerance)))                        \
			fail_msg("%s = %.12g, expected %.12g", #a, a_, b_); \
	} while (0)

/* P(X <= k), straight from the definition; exact enough for small n. */
static double plain_cdf(unsigned k, unsigned n, double p)
{
	double sum = 0;

	for (unsigned i = 0; i <= k; i++) {
		double choose = 1;

		for (unsigned j = 0; j < i; j++)
			choose = choose * (n - j) / (j + 1);
		sum += choose * pow(p, i) * pow(1 - p, n - i);
	}
	return sum;
}

static void test_bounds_solve_their_defining_equation(void **state)
{
	static const double confidences[] = {0.5, 0.9, 0.95, 0.975, 0.999};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(confidences); c++)
		for (unsigned n = 1; n <= 30; n++)
			for (unsigned k = 0; k <= n; k++) {
				double alpha = 1 - confidences[c];
				double low = stats_binomial_low(k, n, confidences[c]);
				double high = stats_binomial_high(k, n, confidences[c]);

				if (k < n)
					assert_near(plain_cdf(k, n, high), alpha, 1e-9);
				else
					assert_near(high, 1, 0);
				if (k > 0)
					assert_near(1 - plain_cdf(k - 1, n, low), alpha, 1e-9);
				else
					assert_near(low, 0, 0);
			}
}

static void test_bounds_match_published_intervals(void **state)
{
	static const struct {
		unsigned k, n;
		double confidence, low, high;
	} cases[] = {
		/* two-sided 95 % intervals as statistics packages print them */
		{1, 10, 0.975, 0.002528579, 0.445016117},
		{3, 10, 0.975, 0.066739508, 0.652452854},
		{5, 10, 0.975, 0.187086028, 0.812913972},
		/* closed forms: 1 - alpha^(1/n), alpha^(1/n) */
		{0, 8, 0.95, 0, 0.312344},
		{8, 8, 0.95, 0.687656, 1},
		{0, 1, 0.95, 0, 0.95},
		{1, 1, 0.95, 0.05, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned k = cases[i].k, n = cases[i].n;

		assert_near(stats_binomial_low(k, n, cases[i].confidence), cases[i].low, 1e-6);
		assert_near(stats_binomial_high(k, n, cases[i].confidence), cases[i].high, 1e-6);
	}
}

static void test_trials_needed_for_a_rate_match_the_table(void **state)
{
	static const struct {
		double rate;
		unsigned k, n; /* n tries with k hits are the fewest that claim less than rate */
	} cases[] = {
		{0.2, 0, 14},   {0.2, 1, 22},   {0.2, 2, 30},   {0.1, 0, 29},
		{0.1, 1, 46},   {0.1, 2, 61},   {0.05, 0, 59},  {0.05, 1, 93},
		{0.05, 2, 124}, {0.02, 0, 149}, {0.02, 1, 236}, {0.02, 2, 313},
		{0.01, 0, 299}, {0.01, 1, 473}, {0.01, 2, 628}, {0.001, 0, 2995},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double enough = stats_binomial_high(cases[i].k, cases[i].n, 0.95);
		double too_few = stats_binomial_high(cases[i].k, cases[i].n - 1, 0.95);

		if (enough > cases[i].rate || too_few <= cases[i].rate)
			fail_msg("rate %g k %u n %u: %.9g, with one try less %.9g", cases[i].rate,
				 cases[i].k, cases[i].n, enough, too_few);
	}
}

static void test_bounds_stay_exact_for_a_million_tries(void **state)
{
	(void)state;
	assert_near(stats_binomial_high(0, 1000000, 0.95), -expm1(log(0.05) / 1e6), 1e-15);
	assert_near(stats_binomial_low(1000000, 1000000, 0.95), exp(log(0.05) / 1e6), 1e-12);
	assert_near(stats_binomial_low(1, 1000000, 0.95), -expm1(log(0.95) / 1e6), 1e-14);
	/* half of the tries: the normal approximation is good to four digits here */
	assert_near(stats_binomial_high(500000, 1000000, 0.95), 0.5 + 1.644854 * 0.0005, 2e-6);
}

static void test_bounds_claim_nothing_where_nothing_is_known(void **state)
{
	static const double no_confidence[] = {0, 1, -0.5, 1.5, NAN};

	(void)state;
	assert_near(stats_binomial_low(0, 0, 0.95), 0, 0);
	assert_near(stats_binomial_high(0, 0, 0.95), 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(no_confidence); i++) {
		assert_near(stats_binomial_low(4, 8, no_confidence[i]), 0, 0);
		assert_near(stats_binomial_high(4, 8, no_confidence[i]), 1, 0);
	}
}

static void test_median_is_the_middle(void **state)
{
	static const struct {
		int64_t values[5];
		size_t n;
		int64_t median;
	} cases[] = {
		{{7}, 1, 7},
		{{9, 4}, 2, 6},
		{{3, 1, 2}, 3, 2},
		{{40, 10, 30, 20}, 4, 25},
		{{5, -5, 0, -1, 1}, 5, 0},
		{{INT64_MAX, INT64_MIN}, 2, -1},
		{{INT64_MAX, INT64_MAX}, 2, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t values[5];

		memcpy(values, cases[i].values, sizeof(values));
		assert_true(stats_median_i64(values, cases[i].n) == cases[i].median);
		for (size_t j = 1; j < cases[i].n; j++)
			assert_true(values[j - 1] <= values[j]);
	}
}

static void test_median_interval_matches_the_sign_test_table(void **state)
{
	static const struct {
		size_t n;
		double confidence;
		bool is_there;
		size_t low, high;
	} cases[] = {
		{0, 0.95, false, 0, 0},  {5, 0.95, false, 0, 0},    {6, 0.95, true, 0, 5},
		{8, 0.95, true, 0, 7},   {9, 0.95, true, 1, 7},     {10, 0.95, true, 1, 8},
		{20, 0.95, true, 5, 14}, {100, 0.95, true, 39, 60}, {7, 0.99, false, 0, 0},
		{8, 0.99, true, 0, 7},   {1, 0.5, false, 0, 0},     {2, 0.5, true, 0, 1},
		{6, 1.0, false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t low = 0, high = 0;
		bool is_there = stats_median_interval(cases[i].n, cases[i].confidence, &low, &high);

		if (is_there != cases[i].is_there || low != cases[i].low || high != cases[i].high)
			fail_msg("n %zu: %d %zu %zu", cases[i].n, is_there, low, high);
	}
}

static void test_median_interval_never_crosses_over(void **state)
{
	(void)state;
	for (size_t n = 1; n < 3000; n++) {
		size_t low, high;

		if (stats_median_interval(n, 0.001, &low, &high)) {
			assert_true(low <= high);
			assert_true(low + high == n - 1);
		}
	}
}

static void test_cluster_p_matches_values_counted_by_hand(void **state)
{
	static const struct {
		unsigned over[5], total[5];
		size_t groups;
		double p;
	} cases[] = {
		{{4, 0}, {4, 4}, 2, 2.0 / 70},  /* both extreme tables of C(8,4) = 70 */
		{{3, 1}, {4, 4}, 2, 34.0 / 70}, /* the lady tasting tea, two-sided */
		{{2, 2}, {4, 4}, 2, 1},
		{{3, 0}, {3, 3}, 2, 2.0 / 20},
		{{2, 0, 0}, {2, 2, 2}, 3, 3.0 / 15},
		{{4, 0, 0}, {4, 4, 4}, 3, 3.0 / 495},
		/* a single try in each group cannot cluster */
		{{1, 0, 1, 0, 1}, {1, 1, 1, 1, 1}, 5, 1},
		/* nothing to tell apart */
		{{0, 0}, {4, 4}, 2, 1},
		{{4, 4}, {4, 4}, 2, 1},
		{{3}, {8}, 1, 1},
		{{0}, {0}, 0, 1},
		/* groups without tries do not count */
		{{4, 0, 0}, {4, 0, 4}, 3, 2.0 / 70},
		{{3, 0}, {8, 0}, 2, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_near(stats_cluster_p(cases[i].over, cases[i].total, cases[i].groups),
			    cases[i].p, 1e-9);
}

static double choose(unsigned n, unsigned k)
{
	double c = 1;

	for (unsigned i = 0; i < k; i++)
		c = c * (n - i) / (i + 1);
	return c;
}

static void test_cluster_p_by_permutation_agrees_with_enumeration(void **state)
{
	/* 31^4 tables are too many to be enumerated there, but not here */
	const unsigned m = 30, over[4] = {16, 6, 10, 10}, total[4] = {m, m, m, m};
	const unsigned hits = 42, observed = 16 * 16 + 6 * 6 + 2 * 10 * 10;
	double drawn = stats_cluster_p(over, total, 4);
	double exact = 0;

	(void)state;
	for (unsigned a = 0; a <= m; a++)
		for (unsigned b = 0; b <= m && a + b <= hits; b++)
			for (unsigned c = 0; c <= m && a + b + c <= hits; c++) {
				unsigned d = hits - a - b - c;

				if (d <= m && a * a + b * b + c * c + d * d >= observed)
					exact += choose(m, a) * choose(m, b) * choose(m, c) *
						 choose(m, d) / choose(4 * m, hits);
			}

	assert_true(exact > 0.01 && exact < 0.2);
	assert_near(drawn, exact, 5 * sqrt(exact * (1 - exact) / 10000));
	assert_near(stats_cluster_p(over, total, 4), drawn, 0);
}

static void test_cluster_p_tells_clusters_from_even_spread_in_many_groups(void **state)
{
	unsigned total[40], even[40], clustered[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(total); i++) {
		total[i] = 4;
		even[i] = 2;
		clustered[i] = i % 2 ? 4 : 0;
	}

	assert_near(stats_cluster_p(even, total, ARRAY_SIZE(total)), 1, 0);
	assert_near(stats_cluster_p(clustered, total, ARRAY_SIZE(total)), 1 / 10001.0, 1e-12);
}

static void test_cluster_p_rarely_cries_wolf(void **state)
{
	const uint64_t seed = 20240607;
	unsigned alarms = 0, rounds = 2000;
	struct rng rng;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	rng_init(&rng, seed);
	for (unsigned i = 0; i < rounds; i++) {
		unsigned over[4] = {0}, total[4] = {4, 4, 4, 4};

		for (size_t g = 0; g < 4; g++)
			for (unsigned t = 0; t < 4; t++)
				over[g] += rng_unit(&rng) < 0.5;
		alarms += stats_cluster_p(over, total, 4) < 0.05;
	}

	/* a valid test raises at most 5 %: 100 of 2000, and 150 would be 5 deviations off */
	assert_in_range(alarms, 1, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_solve_their_defining_equation),
		cmocka_unit_test(test_bounds_match_published_intervals),
		cmocka_unit_test(test_trials_needed_for_a_rate_match_the_table),
		cmocka_unit_test(test_bounds_stay_exact_for_a_million_tries),
		cmocka_unit_test(test_bounds_claim_nothing_where_nothing_is_known),
		cmocka_unit_test(test_median_is_the_middle),
		cmocka_unit_test(test_median_interval_matches_the_sign_test_table),
		cmocka_unit_test(test_median_interval_never_crosses_over),
		cmocka_unit_test(test_cluster_p_matches_values_counted_by_hand),
		cmocka_unit_test(test_cluster_p_by_permutation_agrees_with_enumeration),
		cmocka_unit_test(test_cluster_p_tells_clusters_from_even_spread_in_many_groups),
		cmocka_unit_test(test_cluster_p_rarely_cries_wolf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
