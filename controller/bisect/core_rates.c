/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_rates.c - likelihood of trials when the rate of failing ones is not known and differs from
   boot to boot. */
#include "core_priv.h"

#include <math.h>
#include <string.h>

/*
 * Priors of the rates, Beta(a, b): good commits rarely fail, of bad ones little is known. The grid
 * points are even in asin(sqrt(f)), where Jeffreys' prior Beta(1/2, 1/2) is flat, so a point's
 * weight is the density relative to that one.
 */
static const struct {
	double a, b;
} rate_prior[2] = {[SIDE_GOOD] = {0.6, 4.0}, [SIDE_BAD] = {1.2, 0.8}};

/* Correlation of two trials of one boot: 0 = independent, 1 = decided at boot. */
static const double rho_values[RATES_RHO] = {0, 0.1, 0.35, 0.8};
static const double rho_prior[RATES_RHO] = {0.4, 0.2, 0.2, 0.2};

static double log_sum(const double *log_values, size_t n)
{
	double max = -INFINITY, sum = 0;

	for (size_t i = 0; i < n; i++)
		max = fmax(max, log_values[i]);
	for (size_t i = 0; i < n; i++)
		sum += exp(log_values[i] - max);
	return max + log(sum);
}

void rates_init(struct rates *r, double known_good, double known_bad)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->rho, rho_values, sizeof(r->rho));
	r->is_known = known_good >= 0 && known_bad >= 0;
	r->n_f = r->is_known ? 1 : RATES_F;
	for (unsigned side = 0; side < 2; side++) {
		for (unsigned i = 0; i < r->n_f; i++) {
			double s = sin(M_PI / 2 * (i + 0.5) / RATES_F);
			double f = s * s;
			double log_weight = (rate_prior[side].a - 0.5) * log(f) +
					    (rate_prior[side].b - 0.5) * log1p(-f);

			if (r->is_known) {
				f = side == SIDE_GOOD ? known_good : known_bad;
				f = fmin(fmax(f, 1e-4), 1 - 1e-4);
				log_weight = 0;
			}
			r->f[side][i] = f;
			for (unsigned k = 0; k < RATES_RHO; k++)
				r->log_prior[side][i * RATES_RHO + k] =
					log_weight + log(rho_prior[k]);
		}
	}
	for (unsigned side = 0; side < 2; side++) {
		size_t n = (size_t)r->n_f * RATES_RHO;
		double total = log_sum(r->log_prior[side], n);

		for (size_t i = 0; i < n; i++)
			r->log_prior[side][i] -= total;
	}
}

/*
 * The boot has a rate q of its own, Beta(f s, (1 - f) s) with s = 1 / rho - 1, so that two trials
 * of a boot correlate with rho (beta-binomial, Skellam 1948). The likelihood of n soft trials is
 * E[prod((1 - q) quiet_j + q stall_j)] = sum over k of e_k E[q^k (1 - q)^(n - k)], with e_k the sum
 * over all ways to choose the k trials that stalled.
 */
void rates_boot(const struct rates *r, enum side side, const struct soft *trials, unsigned n,
		double ret[RATES_GRID])
{
	double e[BISECT_TRIALS_PER_BOOT_MAX + 1] = {1};

	for (unsigned j = 0; j < n && n > 1; j++)
		for (unsigned k = j + 2; k-- > 0;)
			e[k] = (k <= j ? e[k] * trials[j].quiet : 0) +
			       (k ? e[k - 1] * trials[j].stall : 0);

	for (unsigned i = 0; i < r->n_f; i++) {
		double f = r->f[side][i];
		double independent = 0;

		for (unsigned j = 0; j < n; j++)
			independent += log((1 - f) * trials[j].quiet + f * trials[j].stall);
		for (unsigned c = 0; c < RATES_RHO; c++) {
			double *out = &ret[i * RATES_RHO + c];
			double s, a, b, term = 1, sum = 0;

			if (n == 1 || r->rho[c] <= 0) {
				*out = independent;
				continue;
			}
			s = 1 / r->rho[c] - 1;
			a = f * s;
			b = (1 - f) * s;
			/* E[q^k (1-q)^(n-k)] from k = 0 upwards, each from the one before */
			for (unsigned k = 0; k < n; k++)
				term *= (b + k) / (s + k);
			for (unsigned k = 0;; k++) {
				sum += e[k] * term;
				if (k == n)
					break;
				term *= (a + k) / (b + (n - k - 1));
			}
			*out = log(sum);
		}
	}
}

/* exp(sum + prior) relative to the largest; returns the logarithm of the scale. */
static double scaled(const struct rates *r, enum side side, const double *sum, double *ret)
{
	size_t n = (size_t)r->n_f * RATES_RHO;
	double max = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		ret[i] = sum[i] + r->log_prior[side][i];
		max = fmax(max, ret[i]);
	}
	for (size_t i = 0; i < n; i++)
		ret[i] = ret[i] - max < -40 ? 0 : exp(ret[i] - max);
	return max;
}

void rates_integrate(const struct rates *r, const double good[RATES_GRID],
		     const double bad[RATES_GRID], struct rates_evidence *ret)
{
	double w[2][RATES_GRID], by_f[2][RATES_F], total = 0, below = 0, above = 0;
	double other[2][RATES_F]; /* how much of the other side each value goes together with */
	double scale = scaled(r, SIDE_GOOD, good, w[SIDE_GOOD]);

	scale += scaled(r, SIDE_BAD, bad, w[SIDE_BAD]);
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < r->n_f; i++) {
			by_f[side][i] = 0;
			for (unsigned c = 0; c < RATES_RHO; c++)
				by_f[side][i] += w[side][i * RATES_RHO + c];
		}
	if (r->is_known) {
		other[SIDE_GOOD][0] = by_f[SIDE_BAD][0];
		other[SIDE_BAD][0] = by_f[SIDE_GOOD][0];
	} else {
		for (unsigned i = 0; i < r->n_f; i++) {
			other[SIDE_BAD][i] = below;
			below += by_f[SIDE_GOOD][i];
		}
		for (unsigned i = r->n_f; i-- > 0;) {
			other[SIDE_GOOD][i] = above;
			above += by_f[SIDE_BAD][i];
		}
	}
	for (unsigned i = 0; i < r->n_f; i++)
		total += by_f[SIDE_BAD][i] * other[SIDE_BAD][i];
	/* nothing left within 40 nats: the bad side surely fails less often than the good one */
	total = fmax(total, 1e-300);
	ret->log_evidence = scale + log(total);

	for (unsigned side = 0; side < 2; side++) {
		ret->mean[side] = 0;
		ret->mean_rho[side] = 0;
		for (unsigned i = 0; i < r->n_f; i++) {
			double p = by_f[side][i] * other[side][i] / total;

			ret->mean[side] += p * r->f[side][i];
			ret->marginal[side][i] = p;
			for (unsigned c = 0; c < RATES_RHO; c++)
				ret->mean_rho[side] += w[side][i * RATES_RHO + c] * other[side][i] /
						       total * r->rho[c];
		}
	}
}

double rates_same(const struct rates *r, const double all[RATES_GRID])
{
	double sum[2 * RATES_GRID];

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < RATES_GRID; i++)
			sum[side * RATES_GRID + i] = all[i] + r->log_prior[side][i] - M_LN2;
	return log_sum(sum, 2 * RATES_GRID);
}
