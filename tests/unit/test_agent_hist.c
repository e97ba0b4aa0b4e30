/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "base/rng.h"
#include "hist.h"
#include "unit.h"

static void test_a_value_below_64_us_comes_back_exactly(void **state)
{
	struct hist h = {0};

	(void)state;
	assert_int_equal(hist_quantile_us(&h, 500), 0);
	for (unsigned us = 0; us < 64; us++)
		hist_add(&h, us);
	assert_int_equal(hist_quantile_us(&h, 0), 0);
	assert_int_equal(hist_quantile_us(&h, 500), 31);
	assert_int_equal(hist_quantile_us(&h, 1000), 63);
}

static void test_a_larger_value_is_at_most_a_64th_too_large(void **state)
{
	(void)state;
	for (unsigned shift = 6; shift < 36; shift++) {
		const uint64_t base = (uint64_t)1 << shift;
		const uint64_t values[] = {base - 1, base, base + 1, base + base / 3, 2 * base - 1};

		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			static struct hist h;
			uint64_t got;

			memset(&h, 0, sizeof(h));
			hist_add(&h, values[i]);
			/* so that the maximum does not hide the bucket's end */
			hist_add(&h, (uint64_t)1 << 40);
			got = hist_quantile_us(&h, 500);
			assert_true(got >= values[i]);
			assert_true(got - values[i] <= values[i] / 64);
		}
	}
}

static void test_values_beyond_the_range_land_in_the_last_bucket(void **state)
{
	static struct hist h;

	(void)state;
	memset(&h, 0, sizeof(h));
	hist_add(&h, UINT64_MAX);
	assert_int_equal(h.n, 1);
	assert_true(hist_quantile_us(&h, 500) == UINT64_MAX);
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Against sorting, over many orders of magnitude; merged from parts as the jobs' are. */
static void test_quantiles_agree_with_the_sorted_values(void **state)
{
	enum { N = 20000, PARTS = 4 };
	static const unsigned per_mille[] = {1, 10, 500, 900, 990, 999, 1000};
	static struct hist parts[PARTS], all;
	static uint64_t values[N];
	const uint64_t seed = 20211201;
	struct rng rng;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	rng_init(&rng, seed);
	for (size_t i = 0; i < N; i++) {
		values[i] = rng_below(&rng, (uint64_t)2 << rng_below(&rng, 30));
		hist_add(&parts[i % PARTS], values[i]);
	}
	for (size_t i = 0; i < PARTS; i++)
		hist_merge(&all, &parts[i]);
	assert_int_equal(all.n, N);
	qsort(values, N, sizeof(values[0]), compare_u64);
	assert_true(all.max_us == values[N - 1]);
	for (size_t i = 0; i < ARRAY_SIZE(per_mille); i++) {
		uint64_t exact = values[((size_t)N * per_mille[i] + 999) / 1000 - 1];
		uint64_t got = hist_quantile_us(&all, per_mille[i]);

		assert_true(got >= exact);
		assert_true(got - exact <= exact / 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_value_below_64_us_comes_back_exactly),
		cmocka_unit_test(test_a_larger_value_is_at_most_a_64th_too_large),
		cmocka_unit_test(test_values_beyond_the_range_land_in_the_last_bucket),
		cmocka_unit_test(test_quantiles_agree_with_the_sorted_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
