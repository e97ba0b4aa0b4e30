/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.c - the few distribution-free statistics behind a verdict. */
#include "base/rng.h"
#include "judge/judge.h"

#include <math.h>
#include <string.h>

#define CLUSTER_EXACT_TABLES 131072u /* most tables that are enumerated one by one */
#define CLUSTER_DRAWS        10000u
#define CLUSTER_SEED         0x7374616C6C726967u

/* P(X <= k) of a binomial with n tries at rate p. Terms are summed from their logarithms, each from
   the one before, so that nothing overflows however large n is. */
static double binomial_cdf(unsigned k, unsigned n, double p)
{
	double log_odds, log_term, sum = 0;

	if (k >= n || p <= 0)
		return 1;
	if (p >= 1)
		return 0;

	log_odds = log(p) - log1p(-p);
	log_term = n * log1p(-p);
	for (unsigned i = 0;; i++) {
		sum += exp(log_term);
		if (i == k)
			break;
		log_term += log((double)(n - i) / (i + 1.0)) + log_odds;
	}
	return sum < 1 ? sum : 1;
}

static bool is_confidence(double confidence)
{
	return confidence > 0 && confidence < 1;
}

/*
 * Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
 * binomial", Biometrika 26 (1934): the upper bound is the rate at which k or fewer hits have the
 * probability 1 - confidence. The cdf falls with the rate, so halving the interval finds it.
 */
double stats_binomial_high(unsigned k, unsigned n, double confidence)
{
	double low = 0, high = 1;

	if (k >= n || !is_confidence(confidence))
		return 1;

	for (;;) {
		double mid = low + (high - low) / 2;

		if (mid <= low || mid >= high)
			return high;
		if (binomial_cdf(k, n, mid) > 1 - confidence)
			low = mid;
		else
			high = mid;
	}
}

/* k hits are n - k misses: the lower bound of the hits is what the misses' upper bound leaves. */
double stats_binomial_low(unsigned k, unsigned n, double confidence)
{
	if (k == 0 || k > n || !is_confidence(confidence))
		return 0;
	return 1 - stats_binomial_high(n - k, n, confidence);
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t stats_median_i64(int64_t *values, size_t n)
{
	int64_t low, high;

	qsort(values, n, sizeof(*values), compare_i64);
	low = values[(n - 1) / 2];
	high = values[n / 2];
	return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

/*
 * Order-statistic interval of the median (David and Nagaraja, "Order Statistics", 7.1): the values
 * with the indexes l and n - 1 - l enclose it with probability 1 - 2 P(B <= l), B binomial(n, 1/2).
 */
bool stats_median_interval(size_t n, double confidence, size_t *ret_low, size_t *ret_high)
{
	double log_term, tail = 0;
	size_t found = 0; /* how many values can be left out at either end, plus one */

	if (n == 0 || !is_confidence(confidence))
		return false;

	log_term = -(double)n * M_LN2;
	for (size_t i = 0; i < n / 2 + n % 2; i++) {
		tail += exp(log_term);
		if (1 - 2 * tail < confidence)
			break;
		found = i + 1;
		log_term += log((double)(n - i) / ((double)i + 1));
	}
	if (!found)
		return false;

	*ret_low = found - 1;
	*ret_high = n - found;
	return true;
}

/* What the test of stats_cluster_p() works on; groups without tries are left out. */
struct cluster {
	size_t groups;
	unsigned *total;
	size_t n;              /* sum of the totals */
	size_t hits;           /* sum of the hits */
	double observed;       /* unevenness as observed */
	double *log_factorial; /* of 0…n */
};

/*
 * Sum of hits^2 / tries over the groups. With the sums fixed this orders tables exactly as
 * Pearson's chi-squared does.
 */
static double unevenness(unsigned hits, unsigned total)
{
	return (double)hits * hits / total;
}

static bool is_as_uneven(const struct cluster *c, double sum)
{
	return sum >= c->observed * (1 - 1e-9);
}

static double log_choose(const struct cluster *c, size_t n, size_t k)
{
	return c->log_factorial[n] - c->log_factorial[k] - c->log_factorial[n - k];
}

/* Probability of all tables that put `left` hits into the groups from `group` on and come out at
   least as uneven. The depth is bounded: each group at least doubles the number of tables. */
static double exact_tail(const struct cluster *c, size_t group, size_t left, double sum,
			 double log_weight)
{
	double p = 0;

	if (group == c->groups) {
		if (left > 0 || !is_as_uneven(c, sum))
			return 0;
		return exp(log_weight - log_choose(c, c->n, c->hits));
	}
	for (unsigned k = 0; k <= c->total[group] && k <= left; k++)
		p += exact_tail(c, group + 1, left - k, sum + unevenness(k, c->total[group]),
				log_weight + log_choose(c, c->total[group], k));
	return p;
}

/* (1 + draws at least as uneven) / (1 + draws): never 0, as the observed order is one of them. */
static double permutation_tail(const struct cluster *c)
{
	auto_free size_t *group_of = xcalloc(c->n, sizeof(*group_of));
	auto_free unsigned *hits = xcalloc(c->groups, sizeof(*hits));
	unsigned as_uneven = 0;
	struct rng rng;
	size_t n = 0;

	for (size_t g = 0; g < c->groups; g++)
		for (unsigned i = 0; i < c->total[g]; i++)
			group_of[n++] = g;

	rng_init(&rng, CLUSTER_SEED);
	for (unsigned draw = 0; draw < CLUSTER_DRAWS; draw++) {
		double sum = 0;

		memset(hits, 0, c->groups * sizeof(*hits));
		for (size_t i = 0; i < c->hits; i++) {
			size_t j = i + (size_t)rng_below(&rng, c->n - i);
			size_t g = group_of[j];

			group_of[j] = group_of[i];
			group_of[i] = g;
			hits[g]++;
		}
		for (size_t g = 0; g < c->groups; g++)
			sum += unevenness(hits[g], c->total[g]);
		as_uneven += is_as_uneven(c, sum);
	}
	return (1.0 + as_uneven) / (1.0 + CLUSTER_DRAWS);
}

double stats_cluster_p(const unsigned *over, const unsigned *total, size_t groups)
{
	auto_free unsigned *used = xcalloc(groups, sizeof(*used));
	auto_free double *log_factorial = NULL;
	struct cluster c = {.total = used};
	size_t tables = 1;
	double p;

	for (size_t g = 0; g < groups; g++) {
		if (total[g] == 0)
			continue;
		used[c.groups++] = total[g];
		c.n += total[g];
		c.hits += over[g];
		c.observed += unevenness(over[g], total[g]);
		if (tables <= CLUSTER_EXACT_TABLES)
			tables *= (size_t)total[g] + 1;
	}
	if (c.groups < 2 || c.hits == 0 || c.hits >= c.n)
		return 1;
	if (tables > CLUSTER_EXACT_TABLES)
		return permutation_tail(&c);

	log_factorial = xcalloc(c.n + 1, sizeof(*log_factorial));
	for (size_t i = 1; i <= c.n; i++)
		log_factorial[i] = log_factorial[i - 1] + log((double)i);
	c.log_factorial = log_factorial;
	p = exact_tail(&c, 0, c.hits, 0, 0);
	return p < 1 ? p : 1;
}
