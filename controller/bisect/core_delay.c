/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_delay.c - from the delay of a trial to how likely it is with and without a stall. */
#include "core_priv.h"

#include <math.h>
#include <string.h>

#define EM_ROUNDS    60u
#define OUTLIERS     0.01 /* share of delays that follow neither component */
#define SIGMA_MIN    0.05 /* timers are quantised: no component is narrower */
#define PRIOR_N      3.0  /* a component's variance starts as that many observations … */
#define PRIOR_SIGMA  0.3  /* … with this spread of log(ms) */
#define APART_SIGMAS 1.0  /* components closer than this mean sigma say nothing */
#define N_MIN        2.5  /* observations that each component needs */

/*
 * Student's t: the predictive distribution of a normal whose mean and variance were estimated from
 * n observations (Gelman et al., "Bayesian Data Analysis", 3.2). Logarithm of the density.
 */
static double log_student(double x, double mu, double sigma, double n)
{
	double nu = n + PRIOR_N - 1;
	double scale = sigma * sqrt(1 + 1 / n);
	double z = (x - mu) / scale;

	return lgamma((nu + 1) / 2) - lgamma(nu / 2) - 0.5 * log(nu * M_PI) - log(scale) -
	       (nu + 1) / 2 * log1p(z * z / nu);
}

static double log_normal(double x, double mu, double sigma)
{
	double z = (x - mu) / sigma;

	return -0.5 * z * z - log(sigma) - 0.5 * log(2 * M_PI);
}

/* P(X > x); of a normal, widened as the t distribution is. */
static double survival(double x, double mu, double sigma, double n)
{
	return 0.5 * erfc((x - mu) / (sigma * sqrt(1 + 1 / n) * M_SQRT2));
}

static double clamp_sigma(double variance_sum, double n)
{
	double v = (variance_sum + PRIOR_N * PRIOR_SIGMA * PRIOR_SIGMA) / (n + PRIOR_N);

	return fmax(sqrt(v), SIGMA_MIN);
}

static void estimate(const struct delay_obs *obs, const double *stall, size_t n,
		     struct delay_model *m)
{
	for (unsigned k = 0; k < 2; k++) {
		double sum = 0, squares = 0, total = 1e-9;

		for (size_t i = 0; i < n; i++) {
			double w = k ? stall[i] : 1 - stall[i];

			total += w;
			sum += w * obs[i].log_ms;
		}
		m->mu[k] = sum / total;
		for (size_t i = 0; i < n; i++) {
			double d = obs[i].log_ms - m->mu[k];

			squares += (k ? stall[i] : 1 - stall[i]) * d * d;
		}
		m->n[k] = total;
		m->sigma[k] = clamp_sigma(squares, total);
	}
}

/*
 * Expectation-maximisation of a mixture of two normals of log(ms) (Dempster, Laird and Rubin 1977)
 * over the trials of both ends. It starts from which trials were over the limit and never looks at
 * which end a trial is of: ends that are the same cannot be made to look different by the fit.
 */
void delay_fit(const struct delay_obs *obs, size_t n, struct delay_model *ret)
{
	auto_free double *stall = xcalloc(n + 1, sizeof(*stall));
	double sum = 0, squares = 0, share;
	size_t n_over = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		n_over += obs[i].is_over;
		stall[i] = obs[i].is_over;
		sum += obs[i].log_ms;
	}
	if (n_over < 2 || n - n_over < 2)
		return;

	sum /= (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (obs[i].log_ms - sum) * (obs[i].log_ms - sum);
	ret->broad_sigma = 2 * fmax(sqrt(squares / (double)n), 0.5);

	for (unsigned round = 0; round < EM_ROUNDS; round++) {
		double change = 0;

		estimate(obs, stall, n, ret);
		share = fmin(fmax(ret->n[1] / (double)n, 0.01), 0.99);
		for (size_t i = 0; i < n; i++) {
			double quiet = log_normal(obs[i].log_ms, ret->mu[0], ret->sigma[0]);
			double late = log_normal(obs[i].log_ms, ret->mu[1], ret->sigma[1]);
			double p = 1 / (1 + (1 - share) / share * exp(quiet - late));

			/* a delay that has not ended is at least as late as it looks */
			if (obs[i].is_censored)
				p = fmax(p, stall[i]);
			change = fmax(change, fabs(p - stall[i]));
			stall[i] = p;
		}
		if (change < 1e-4)
			break;
	}
	estimate(obs, stall, n, ret);
	ret->is_usable =
		ret->n[0] >= N_MIN && ret->n[1] >= N_MIN &&
		ret->mu[1] - ret->mu[0] > APART_SIGMAS * (ret->sigma[0] + ret->sigma[1]) / 2;
}

/* Stall against quiet for a delay of exactly x. The share of outliers, as dense everywhere as the
   spread of all delays is at its centre, bounds what one delay can say. */
static double density_ratio(const struct delay_model *m, double x)
{
	double floor = OUTLIERS / (1 - OUTLIERS) * exp(log_normal(0, 0, m->broad_sigma));

	return (exp(log_student(x, m->mu[1], m->sigma[1], m->n[1])) + floor) /
	       (exp(log_student(x, m->mu[0], m->sigma[0], m->n[0])) + floor);
}

struct soft delay_soft(const struct delay_model *m, const struct delay_obs *o)
{
	/* Beyond the centres the ratio may only grow: a wide tail of the quiet component must not
	   make the longest delays look quiet again, nor the shortest look like stalls. */
	double x = fmin(fmax(o->log_ms, m->mu[0]), m->mu[1]);
	double ratio = density_ratio(m, x);

	if (o->is_censored) {
		double later = survival(x, m->mu[1], m->sigma[1], m->n[1]) /
			       survival(x, m->mu[0], m->sigma[0], m->n[0]);

		ratio = fmax(ratio, fmin(later, density_ratio(m, m->mu[1])));
	}
	return ratio > 1 ? (struct soft){.quiet = 1 / ratio, .stall = 1}
			 : (struct soft){.quiet = 1, .stall = ratio};
}

double delay_stall_share(const struct delay_model *m, unsigned component)
{
	/* where both densities meet, between the centres; found by halving */
	double low = m->mu[0], high = m->mu[1];

	for (unsigned i = 0; i < 40; i++) {
		double mid = (low + high) / 2;
		double quiet = log_normal(mid, m->mu[0], m->sigma[0]);
		double late = log_normal(mid, m->mu[1], m->sigma[1]);

		if (late > quiet)
			high = mid;
		else
			low = mid;
	}
	return survival(low, m->mu[component], m->sigma[component], m->n[component]);
}
