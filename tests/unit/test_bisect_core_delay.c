/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bisect_core_delay.c - the fit finds what the delays were drawn from; ratios are monotone. */
/* ctest: bisect */
#include "../../controller/bisect/core_priv.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>

#define N 400u

static double draw_normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

/* 30 % stalls of about 55 ms among quiet trials of about 4 ms, the limit in between. */
static void draw(struct rng *r, double apart, struct delay_obs *obs)
{
	for (unsigned i = 0; i < N; i++) {
		bool is_stall = rng_unit(r) < 0.3;

		obs[i] = (struct delay_obs){.log_ms = log(4) + (is_stall ? apart : 0) +
						      0.4 * draw_normal(r)};
		obs[i].is_over = obs[i].log_ms > log(4) + apart / 2;
	}
}

static void test_fit_finds_the_components(void **state)
{
	static struct delay_obs obs[N];
	struct delay_model m;
	struct rng r;

	(void)state;
	rng_init(&r, 2);
	draw(&r, 2.6, obs);
	delay_fit(obs, N, &m);
	assert_true(m.is_usable);
	assert_true(fabs(m.mu[0] - log(4)) < 0.08);
	assert_true(fabs(m.mu[1] - log(4) - 2.6) < 0.12);
	assert_true(fabs(m.sigma[0] - 0.4) < 0.06 && fabs(m.sigma[1] - 0.4) < 0.08);
	assert_true(fabs(m.n[1] / N - 0.3) < 0.06);
	assert_true(delay_stall_share(&m, 0) < 0.01);
	assert_true(delay_stall_share(&m, 1) > 0.98);
}

static void test_a_longer_delay_is_never_less_of_a_stall(void **state)
{
	static struct delay_obs obs[N];
	struct delay_model m;
	struct rng r;

	(void)state;
	rng_init(&r, 3);
	for (unsigned run = 0; run < 10; run++) {
		double before[2] = {0, 0};

		draw(&r, 1 + 0.3 * run, obs);
		delay_fit(obs, N, &m);
		if (!m.is_usable)
			continue;
		for (double x = -8; x < 16; x += 0.05) {
			for (unsigned censored = 0; censored < 2; censored++) {
				struct delay_obs o = {.log_ms = x, .is_censored = censored};
				struct soft s = delay_soft(&m, &o);
				double ratio = s.stall / s.quiet;

				assert_true(s.stall <= 1 && s.quiet <= 1);
				/* no single delay is worth more than the outliers allow */
				assert_true(ratio > 1e-9 && ratio < 1e9);
				assert_true(ratio >= before[censored] * (1 - 1e-9));
				before[censored] = ratio;
			}
		}
	}
}

static void test_an_unfinished_delay_is_at_least_the_stall_that_it_looks(void **state)
{
	static struct delay_obs obs[N];
	struct delay_model m;
	struct rng r;

	(void)state;
	rng_init(&r, 5);
	draw(&r, 2.6, obs);
	delay_fit(obs, N, &m);
	for (double x = m.mu[0]; x < m.mu[1]; x += 0.1) {
		struct delay_obs o = {.log_ms = x};
		struct soft ended = delay_soft(&m, &o), open;

		o.is_censored = true;
		open = delay_soft(&m, &o);
		assert_true(open.stall / open.quiet >= ended.stall / ended.quiet);
	}
}

static void test_delays_that_say_nothing_are_not_used(void **state)
{
	static struct delay_obs obs[N];
	struct delay_model m;
	struct rng r;

	(void)state;
	rng_init(&r, 6);
	draw(&r, 2.6, obs);
	for (unsigned i = 0; i < N; i++)
		obs[i].is_over = i == 0; /* one alone is no component */
	delay_fit(obs, N, &m);
	assert_false(m.is_usable);
	delay_fit(obs, 0, &m);
	assert_false(m.is_usable);
	for (unsigned i = 0; i < N; i++) {
		obs[i].log_ms = 1; /* all the same */
		obs[i].is_over = i % 2;
	}
	delay_fit(obs, N, &m);
	assert_false(m.is_usable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit_finds_the_components),
		cmocka_unit_test(test_a_longer_delay_is_never_less_of_a_stall),
		cmocka_unit_test(test_an_unfinished_delay_is_at_least_the_stall_that_it_looks),
		cmocka_unit_test(test_delays_that_say_nothing_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
