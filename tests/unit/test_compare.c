/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_compare.c - comparisons and change points against known values and brute force. */
/* ctest: judge */
#include "base/rng.h"
#include "judge/compare.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#define SEED 20261130u

static const struct compare_config config = {
	.resolution = 1, .min_ratio = 1.25, .confidence = 0.95};

#define SIDE(...)                                                        \
	((struct compare_side){.values = (const int64_t[]){__VA_ARGS__}, \
			       .n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})

static void assert_near(double a, double b, double tolerance)
{
	if (!(fabs(a - b) <= tolerance))
		fail_msg("%.12g, expected %.12g", a, b);
}

static struct compare_result compare(struct compare_side base, struct compare_side new_build)
{
	struct compare_result r;

	assert_int_equal(compare_builds(&base, &new_build, &config, &r), 0);
	return r;
}

/* Two-sided: the share of all choices of ranks whose U is as far from the middle as observed. */
static double brute_p(const int64_t *all, unsigned n, unsigned m)
{
	double middle = (double)m * (n - m) / 2, observed = 0;
	unsigned as_far = 0, choices = 0;

	for (unsigned chosen = 0; chosen < 1u << n; chosen++) {
		double u = 0;

		if ((unsigned)__builtin_popcount(chosen) != m)
			continue;
		for (unsigned i = 0; i < n; i++)
			for (unsigned j = 0; j < n; j++)
				if ((chosen >> i & 1) && !(chosen >> j & 1))
					u += all[i] > all[j] ? 1 : all[i] == all[j] ? 0.5 : 0;
		if (!choices++)
			observed = fabs(u - middle); /* the lowest bits first: as given */
		as_far += fabs(u - middle) >= observed - 1e-9;
	}
	return (double)as_far / choices;
}

static void test_p_is_that_of_all_arrangements_with_ties_too(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, SEED);
	print_message("seed %u\n", SEED);
	for (unsigned round = 0; round < 60; round++) {
		unsigned n = 4 + (unsigned)rng_below(&rng, 7);
		unsigned m = 1 + (unsigned)rng_below(&rng, n - 1);
		int64_t all[16];
		struct compare_side base = {.values = all, .n = m};
		struct compare_side new_build = {.values = all + m, .n = n - m};

		for (unsigned i = 0; i < n; i++)
			all[i] = (int64_t)rng_below(&rng, round % 2 ? 4 : 1000);
		assert_near(compare(base, new_build).p, brute_p(all, n, m), 1e-9);
	}
}

static void test_p_of_many_values_meets_the_exact_one_of_few(void **state)
{
	int64_t all[70];
	struct compare_result exact, normal;

	(void)state;
	for (int i = 0; i < 70; i++)
		all[i] = (i * 37) % 71 + (i < 33 ? 25 : 0);
	exact = compare((struct compare_side){.values = all, .n = 32},
			(struct compare_side){.values = all + 33, .n = 32});
	normal = compare((struct compare_side){.values = all, .n = 33},
			 (struct compare_side){.values = all + 33, .n = 33});
	assert_near(log(normal.p), log(exact.p), 0.5);
	assert_true(exact.p < 0.05 && normal.p < 0.05);
}

/* Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", example 4.1 (water through
   membranes, in units of 0.01): W = 30, p = 0.254 two-sided, shift -0.305. */
static void test_shift_and_p_match_a_published_example(void **state)
{
	struct compare_result r = compare(SIDE(80, 83, 189, 104, 145, 138, 191, 164, 73, 146),
					  SIDE(115, 88, 90, 74, 121));

	(void)state;
	assert_near(r.p, 0.2544, 0.0005);
	assert_near(r.shift, -30.5, 0.001);
	assert_near(r.superiority, 15.0 / 50, 1e-9);
}

static void test_interval_covers_the_true_shift_as_often_as_it_says(void **state)
{
	unsigned covered = 0, rounds = 2000;
	struct rng rng;

	(void)state;
	rng_init(&rng, SEED);
	for (unsigned round = 0; round < rounds; round++) {
		int64_t a[9], b[8];
		struct compare_result r;

		for (unsigned i = 0; i < 9; i++)
			a[i] = (int64_t)(100000 * (1 - log(1 - rng_unit(&rng))));
		for (unsigned i = 0; i < 8; i++)
			b[i] = 50000 + (int64_t)(100000 * (1 - log(1 - rng_unit(&rng))));
		r = compare((struct compare_side){.values = a, .n = 9},
			    (struct compare_side){.values = b, .n = 8});
		covered += r.shift_low <= 50000 && 50000 <= r.shift_high;
	}
	/* at least 95 %, four standard errors below are 93.05 % */
	if (covered < rounds * 0.9305)
		fail_msg("%u of %u intervals cover the shift", covered, rounds);
}

static void test_a_change_needs_significance_ratio_and_resolution(void **state)
{
	struct compare_side low = SIDE(100, 101, 102, 103, 104, 105, 106, 107);
	struct compare_side high = SIDE(800, 801, 802, 803, 804, 805, 806, 807);
	struct compare_side slightly = SIDE(110, 111, 112, 113, 114, 115, 116, 117);
	struct compare_side wide = SIDE(20, 90, 100, 110, 300, 400, 500, 900);
	struct compare_side one = SIDE(5000);
	struct compare_config coarse = config;
	struct compare_result r;

	(void)state;
	assert_int_equal(compare(low, high).change, COMPARE_REGRESSION);
	assert_int_equal(compare(high, low).change, COMPARE_IMPROVEMENT);
	assert_int_equal(compare(low, low).change, COMPARE_NO_CHANGE);
	/* significant, but too little to matter */
	r = compare(low, slightly);
	assert_true(r.p < 0.001);
	assert_int_equal(r.change, COMPARE_NO_CHANGE);
	assert_int_equal(compare(low, wide).change, COMPARE_UNCLEAR);
	/* one trial proves nothing, however bad it is */
	r = compare(low, one);
	assert_int_equal(r.change, COMPARE_UNCLEAR);
	assert_true(isinf(r.shift_high) && isinf(r.ratio_high) && r.ratio_low == 0);
	/* all below what the instrument resolves */
	coarse.resolution = 4000;
	assert_int_equal(compare_builds(&low, &high, &coarse, &r), 0);
	assert_int_equal(r.change, COMPARE_NO_CHANGE);
}

static void test_trials_of_one_boot_count_once_if_they_cluster(void **state)
{
	static const unsigned boots[] = {1, 1, 1, 1, 2, 2, 2, 2};
	struct compare_side base = SIDE(10, 11, 12, 13, 500, 501, 502, 503);
	struct compare_side new_build = SIDE(500, 504, 505, 506, 507, 508, 509, 510);
	struct compare_result r;

	(void)state;
	r = compare(base, new_build);
	assert_int_equal(r.change, COMPARE_REGRESSION);
	assert_false(r.is_by_boot);

	base.boots = boots;
	new_build.boots = boots;
	r = compare(base, new_build);
	assert_true(r.is_by_boot);
	assert_int_equal(r.n_base, 8);
	assert_int_equal(r.boots_base, 2);
	assert_int_equal(r.change, COMPARE_UNCLEAR);

	/* the same values, spread evenly: the trials count */
	base.values = (const int64_t[]){10, 500, 11, 501, 12, 502, 13, 503};
	new_build.values = (const int64_t[]){500, 510, 504, 509, 505, 508, 506, 507};
	r = compare(base, new_build);
	assert_false(r.is_by_boot);
	assert_int_equal(r.change, COMPARE_REGRESSION);
}

static void test_what_is_no_input_is_refused(void **state)
{
	struct compare_side good = SIDE(1, 2, 3), negative = SIDE(1, -1), none = {0};
	static int64_t many[COMPARE_VALUES_MAX + 1];
	struct compare_side most = {.values = many, .n = COMPARE_VALUES_MAX};
	struct compare_config bad[] = {config, config, config};
	struct compare_result r;
	struct change_point *points;
	size_t n;

	(void)state;
	bad[0].resolution = 0;
	bad[1].min_ratio = 1;
	bad[2].confidence = 1;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(compare_builds(&good, &good, &bad[i], &r), -EINVAL);
		assert_int_equal(compare_change_points(many, 3, &bad[i], &points, &n), -EINVAL);
	}
	assert_int_equal(compare_builds(&good, &negative, &config, &r), -EINVAL);
	assert_int_equal(compare_builds(&none, &good, &config, &r), -ENODATA);
	assert_int_equal(compare_builds(&good, &none, &config, &r), -ENODATA);
	assert_int_equal(compare_builds(&most, &good, &config, &r), 0);
	most.n++;
	assert_int_equal(compare_builds(&good, &most, &config, &r), -E2BIG);
	assert_int_equal(compare_change_points(many, COMPARE_VALUES_MAX, &config, &points, &n), 0);
	assert_int_equal(compare_change_points(many, most.n, &config, &points, &n), -E2BIG);
	assert_int_equal(compare_change_points(negative.values, 2, &config, &points, &n), -EINVAL);
}

static void test_words_hold_the_numbers(void **state)
{
	struct compare_side low = SIDE(4000, 4100, 4200, 4300, 4400), high = SIDE(812000, 812000);
	static const unsigned boots[] = {1, 1, 2, 2, 3};
	struct compare_result r;
	auto_strbuf struct strbuf words = STRBUF_INIT;

	(void)state;
	low.boots = boots;
	high.boots = boots;
	r = compare(low, high);
	compare_words(&r, 0.95, &words);
	assert_string_equal(words.data,
			    "unclear: p50 812 ms, was 4.2 ms (x 193, too few for an interval; "
			    "2 trials of 1 boot and 5 trials of 3 boots)");
}

static void test_conditions_that_differ_are_named(void **state)
{
	static const struct compare_condition conditions[] = {
		{"hz", "250", "1000"},
		{"stick", "abc", "abc"},
		{"thresh_us", NULL, NULL},
		{"preempt", "full", NULL},
	};
	auto_strbuf struct strbuf words = STRBUF_INIT;

	(void)state;
	assert_int_equal(compare_conditions(conditions, ARRAY_SIZE(conditions), &words), 2);
	assert_string_equal(words.data, "hz 250 and 1000, preempt full and unknown");
	assert_int_equal(compare_conditions(conditions + 1, 2, &words), 0);
}

static void test_change_points_are_where_the_level_changes(void **state)
{
	static const struct {
		const char *what;
		int64_t values[16];
		size_t n;
		size_t points[4]; /* ends with 0 */
	} cases[] = {
		{"nothing", {0}, 0, {0}},
		{"two nights", {10, 800}, 2, {0}},
		{"a constant", {10, 10, 10, 10, 10, 10}, 6, {0}},
		{"noise", {10, 12, 9, 11, 10, 8, 12, 9, 11, 10}, 10, {0}},
		{"a step", {10, 12, 9, 11, 800, 700, 820, 790}, 8, {4}},
		{"the newest night only", {10, 12, 9, 11, 10, 9, 800}, 7, {6}},
		{"one night that stands out", {10, 12, 9, 800, 11, 10, 9, 10}, 8, {0}},
		{"up and down", {10, 12, 9, 11, 800, 700, 820, 790, 11, 9, 10, 12}, 12, {4, 8}},
		{"two steps up",
		 {10, 11, 10, 9, 100, 110, 95, 105, 1000, 1100, 900, 1000},
		 12,
		 {4, 8}},
		{"too little to matter", {100, 100, 100, 100, 110, 110, 110, 110}, 8, {0}},
		{"below the resolution", {0, 0, 0, 0, 1, 1, 1, 1}, 8, {0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free struct change_point *points = NULL;
		size_t n, expected = 0;

		while (cases[i].points[expected])
			expected++;
		assert_int_equal(
			compare_change_points(cases[i].values, cases[i].n, &config, &points, &n),
			0);
		if (n != expected)
			fail_msg("%s: %zu change points, expected %zu", cases[i].what, n, expected);
		for (size_t k = 0; k < n; k++)
			if (points[k].index != cases[i].points[k])
				fail_msg("%s: point %zu at %zu, expected %zu", cases[i].what, k,
					 points[k].index, cases[i].points[k]);
	}
}

static void test_levels_are_the_medians_on_both_sides(void **state)
{
	static const int64_t values[] = {10, 12, 800, 9, 11, 700, 710, 720};
	auto_free struct change_point *points = NULL;
	size_t n;

	(void)state;
	assert_int_equal(compare_change_points(values, 8, &config, &points, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(points[0].index, 5);
	assert_int_equal(points[0].before, 11);
	assert_int_equal(points[0].after, 710);
}

/* A year of nights without a change: how often one is claimed all the same. */
static void test_noise_alone_seldom_makes_a_change_point(void **state)
{
	unsigned claimed = 0, rounds = 400;
	struct rng rng;

	(void)state;
	rng_init(&rng, SEED);
	for (unsigned round = 0; round < rounds; round++) {
		int64_t values[60];
		auto_free struct change_point *points = NULL;
		size_t n;

		for (unsigned i = 0; i < 60; i++) {
			double z = 0; /* near enough to normal */

			for (unsigned k = 0; k < 12; k++)
				z += rng_unit(&rng);
			values[i] = (int64_t)(100000 * exp(0.3 * (z - 6)));
		}
		assert_int_equal(compare_change_points(values, 60, &config, &points, &n), 0);
		claimed += n > 0;
	}
	print_message("%u of %u series without a change have a change point\n", claimed, rounds);
	if (claimed > rounds / 20)
		fail_msg("%u of %u", claimed, rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_p_is_that_of_all_arrangements_with_ties_too),
		cmocka_unit_test(test_p_of_many_values_meets_the_exact_one_of_few),
		cmocka_unit_test(test_shift_and_p_match_a_published_example),
		cmocka_unit_test(test_interval_covers_the_true_shift_as_often_as_it_says),
		cmocka_unit_test(test_a_change_needs_significance_ratio_and_resolution),
		cmocka_unit_test(test_trials_of_one_boot_count_once_if_they_cluster),
		cmocka_unit_test(test_what_is_no_input_is_refused),
		cmocka_unit_test(test_words_hold_the_numbers),
		cmocka_unit_test(test_conditions_that_differ_are_named),
		cmocka_unit_test(test_change_points_are_where_the_level_changes),
		cmocka_unit_test(test_levels_are_the_medians_on_both_sides),
		cmocka_unit_test(test_noise_alone_seldom_makes_a_change_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
