/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bisect_core_rates.c - likelihoods of boots and integrals over rates against plain sums. */
/* ctest: bisect */
#include "../../controller/bisect/core_priv.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>

#define assert_near(a, b, tolerance)                                        \
	do {                                                                \
		double a_ = (a), b_ = (b);                                  \
		if (!(fabs(a_ - b_) <= (tolerance)))                        \
			fail_msg("%s = %.12g, expected %.12g", #a, a_, b_); \
	} while (0)

/* The boot's own rate integrated numerically: Beta(f s, (1 - f) s), by the midpoint rule over the
   power that takes the poles away. */
static double plain_boot(double f, double rho, const struct soft *trials, unsigned n)
{
	double s = 1 / rho - 1, a = f * s, b = (1 - f) * s, sum = 0, total = 0;
	const unsigned steps = 200000;

	for (unsigned i = 0; i < steps; i++) {
		/* q = u^p / (u^p + (1-u)^p) keeps the density finite at both ends */
		double u = (i + 0.5) / steps, p = 2 / fmin(fmin(a, b), 1);
		double x = pow(u, p), y = pow(1 - u, p), q = x / (x + y);
		double log_jacobian = log(p) + (p - 1) * (log(u) + log1p(-u)) - 2 * log(x + y);
		double log_q = p * log(u) - log(x + y), log_r = p * log1p(-u) - log(x + y);
		double w = exp((a - 1) * log_q + (b - 1) * log_r + log_jacobian);
		double like = 1;

		for (unsigned j = 0; j < n; j++)
			like *= (1 - q) * trials[j].quiet + q * trials[j].stall;
		sum += w * like;
		total += w;
	}
	return log(sum / total);
}

static void test_boots_equal_the_integral_over_their_own_rate(void **state)
{
	static const unsigned at[] = {3, 12, 20, 29};
	struct soft trials[5];
	double logs[RATES_GRID];
	struct rates r;
	struct rng rng;

	(void)state;
	rates_init(&r, -1, -1);
	rng_init(&rng, 4);
	for (unsigned n = 1; n <= 5; n += 2) {
		for (unsigned j = 0; j < n; j++)
			trials[j] = rng_unit(&rng) < 0.5
					    ? (struct soft){.quiet = 1, .stall = rng_unit(&rng)}
					    : (struct soft){.quiet = rng_unit(&rng), .stall = 1};
		rates_boot(&r, SIDE_BAD, trials, n, logs);
		for (unsigned i = 0; i < ARRAY_SIZE(at); i++)
			for (unsigned c = 1; c < RATES_RHO; c++)
				assert_near(logs[at[i] * RATES_RHO + c],
					    plain_boot(r.f[SIDE_BAD][at[i]], r.rho[c], trials, n),
					    2e-3);
	}
}

static void test_probabilities_of_all_outcomes_of_a_boot_sum_to_one(void **state)
{
	struct soft trials[6];
	double sum[RATES_GRID] = {0}, logs[RATES_GRID];
	struct rates r;

	(void)state;
	rates_init(&r, -1, -1);
	for (unsigned outcome = 0; outcome < 64; outcome++) {
		for (unsigned j = 0; j < 6; j++) {
			bool is_over = outcome >> j & 1;

			trials[j] = (struct soft){.quiet = !is_over, .stall = is_over};
		}
		rates_boot(&r, SIDE_GOOD, trials, 6, logs);
		for (unsigned i = 0; i < RATES_GRID; i++)
			sum[i] += exp(logs[i]);
	}
	for (unsigned i = 0; i < RATES_GRID; i++)
		assert_near(sum[i], 1, 1e-9);
}

static void test_integration_keeps_bad_commits_above_good_ones(void **state)
{
	double logs[2][RATES_GRID], priors[2] = {0};
	struct rates_evidence ev;
	struct rates r;
	double evidence = 0, mean = 0;

	(void)state;
	rates_init(&r, -1, -1);
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < RATES_GRID; i++) {
			double f = r.f[side][i / RATES_RHO];

			/* 2 of 9 at the good side, 3 of 6 at the bad one */
			logs[side][i] =
				side ? 3 * log(f) + 3 * log1p(-f) : 2 * log(f) + 7 * log1p(-f);
			priors[side] += exp(r.log_prior[side][i]);
		}
	assert_near(priors[0], 1, 1e-12);
	assert_near(priors[1], 1, 1e-12);
	for (unsigned i = 0; i < RATES_GRID; i++)
		for (unsigned k = 0; k < RATES_GRID; k++)
			if (i / RATES_RHO < k / RATES_RHO) {
				double w = exp(logs[0][i] + r.log_prior[0][i] + logs[1][k] +
					       r.log_prior[1][k]);

				evidence += w;
				mean += w * r.f[1][k / RATES_RHO];
			}
	rates_integrate(&r, logs[0], logs[1], &ev);
	assert_near(ev.log_evidence, log(evidence), 1e-9);
	assert_near(ev.mean[SIDE_BAD], mean / evidence, 1e-9);
	for (unsigned side = 0; side < 2; side++) {
		double sum = 0;

		for (unsigned i = 0; i < RATES_F; i++)
			sum += ev.marginal[side][i];
		assert_near(sum, 1, 1e-9);
	}
	assert_true(ev.mean[SIDE_GOOD] < ev.mean[SIDE_BAD]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boots_equal_the_integral_over_their_own_rate),
		cmocka_unit_test(test_probabilities_of_all_outcomes_of_a_boot_sum_to_one),
		cmocka_unit_test(test_integration_keeps_bad_commits_above_good_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
