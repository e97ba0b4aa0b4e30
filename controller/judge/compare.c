/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare.c - rank statistics between two builds, and change points of a series. */
#include "judge/compare.h"

#include "base/rng.h"
#include "judge/judge.h"

#include <math.h>
#include <string.h>

#define EXACT_VALUES_MAX 64u  /* both sides together; the exact distribution's table stays small */
#define CLUSTER_P        0.05 /* below it the values of a boot are taken to belong together */
#define CLUSTER_DRAWS    2000u
#define CLUSTER_SEED     0x636F6D70617265u

const struct compare_config compare_defaults = {
	.resolution = 4000,
	.min_ratio = 1.25,
	.confidence = 0.95,
};

const char *compare_change_name(enum compare_change c)
{
	static const char *const names[COMPARE_CHANGE_MAX] = {
		[COMPARE_NO_CHANGE] = "no-change",
		[COMPARE_REGRESSION] = "regression",
		[COMPARE_IMPROVEMENT] = "improvement",
		[COMPARE_UNCLEAR] = "unclear",
	};

	return c >= 0 && c < COMPARE_CHANGE_MAX ? names[c] : "unclear";
}

static bool is_config(const struct compare_config *c)
{
	return c->resolution > 0 && c->min_ratio > 1 && c->confidence > 0 && c->confidence < 1;
}

static int check_values(const int64_t *values, size_t n)
{
	if (n > COMPARE_VALUES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (values[i] < 0)
			return -EINVAL;
	return 0;
}

static int by_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static int64_t median_of(const int64_t *values, size_t n)
{
	auto_free int64_t *copy = xcalloc(n, sizeof(*copy));

	memcpy(copy, values, n * sizeof(*copy));
	return stats_median_i64(copy, n);
}

struct ranked {
	int64_t value;
	size_t from; /* where it stood */
};

static int by_value(const void *a, const void *b)
{
	return by_i64(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

/* Twice the mid-rank of each value, so that tied ones stay whole numbers: 2 … 2n. */
static void double_ranks(const int64_t *values, size_t n, unsigned *ret_ranks, double *ret_ties)
{
	auto_free struct ranked *sorted = xcalloc(n, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct ranked){.value = values[i], .from = i};
	qsort(sorted, n, sizeof(*sorted), by_value);

	*ret_ties = 0;
	for (size_t i = 0, end; i < n; i = end) {
		double tied;

		for (end = i + 1; end < n && sorted[end].value == sorted[i].value; end++)
			;
		for (size_t j = i; j < end; j++)
			ret_ranks[sorted[j].from] = (unsigned)(i + end + 1);
		tied = (double)(end - i);
		*ret_ties += tied * tied * tied - tied;
	}
}

/*
 * How likely each sum of m of the n doubled ranks is if every choice of m is: table[sum] for
 * sum = 0 … the sum of all. Caller frees.
 */
static double *rank_sum_distribution(const unsigned *ranks, size_t n, size_t m, size_t *ret_sums)
{
	auto_free double *ways = NULL; /* [chosen][sum] */
	size_t sums = 1;
	double all = 0;
	double *ret;

	for (size_t i = 0; i < n; i++)
		sums += ranks[i];
	ways = xcalloc((m + 1) * sums, sizeof(*ways));
	ways[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t chosen = m < i + 1 ? m : i + 1; chosen > 0; chosen--)
			for (size_t sum = ranks[i]; sum < sums; sum++)
				ways[chosen * sums + sum] +=
					ways[(chosen - 1) * sums + sum - ranks[i]];

	ret = xcalloc(sums, sizeof(*ret));
	for (size_t sum = 0; sum < sums; sum++)
		all += ways[m * sums + sum];
	for (size_t sum = 0; sum < sums; sum++)
		ret[sum] = ways[m * sums + sum] / all;
	*ret_sums = sums;
	return ret;
}

/* P(Z > z). */
static double normal_tail(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

/* z with P(Z > z) = tail; the tail falls with z, so halving the interval finds it. */
static double normal_quantile(double tail)
{
	double low = 0, high = 40;

	for (unsigned i = 0; i < 100; i++) {
		double mid = low + (high - low) / 2;

		if (normal_tail(mid) > tail)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Two-sided p of the rank sum of the first m of n values. */
static double rank_sum_p(const unsigned *ranks, size_t n, size_t m, double ties)
{
	double sum = 0, mean = (double)m * ((double)n + 1), distance, p = 0;

	for (size_t i = 0; i < m; i++)
		sum += ranks[i];
	distance = fabs(sum - mean);

	if (n <= EXACT_VALUES_MAX) {
		size_t sums;
		auto_free double *table = rank_sum_distribution(ranks, n, m, &sums);

		for (size_t i = 0; i < sums; i++)
			if (fabs((double)i - mean) >= distance - 0.5)
				p += table[i];
	} else {
		double k = (double)n;
		/* of the doubled ranks: four times the usual one */
		double variance = (double)m * (k - (double)m) / 3 * (k + 1 - ties / (k * (k - 1)));

		if (variance <= 0)
			return 1;
		p = 2 * normal_tail(fmax(0, distance - 1) / sqrt(variance));
	}
	return fmin(p, 1);
}

/*
 * How many of the m * k sorted differences are left out at either end of the interval, plus one; 0
 * if there is none at that confidence.
 */
static size_t interval_rank(size_t m, size_t k, double confidence)
{
	double tail = (1 - confidence) / 2;
	size_t n = m + k;
	double z, rank;

	if (n <= EXACT_VALUES_MAX) {
		unsigned ranks[EXACT_VALUES_MAX];
		size_t sums, least = m * (m + 1); /* doubled, of the m lowest */
		auto_free double *table = NULL;
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			ranks[i] = 2 * ((unsigned)i + 1);
		table = rank_sum_distribution(ranks, n, m, &sums);
		for (size_t u = 0; u < m * k; u++) {
			sum += table[least + 2 * u];
			if (sum > tail)
				return u;
		}
		return m * k;
	}
	z = normal_quantile(tail);
	rank = (double)m * (double)k / 2 - z * sqrt((double)m * (double)k * ((double)n + 1) / 12);
	return rank < 1 ? 0 : (size_t)rank;
}

static double sorted_median(const double *sorted, size_t n)
{
	return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

struct side {
	int64_t *values; /* owned */
	size_t n;
};

static double raised(int64_t value, int64_t floor)
{
	return (double)(value > floor ? value : floor);
}

static void estimate_shift(const struct side *base, const struct side *new_build,
			   const struct compare_config *c, struct compare_result *r)
{
	size_t pairs = base->n * new_build->n;
	size_t rank = interval_rank(base->n, new_build->n, c->confidence);
	auto_free double *shift = xcalloc(pairs, sizeof(*shift));
	auto_free double *ratio = xcalloc(pairs, sizeof(*ratio));
	double superior = 0;

	for (size_t i = 0; i < base->n; i++)
		for (size_t j = 0; j < new_build->n; j++) {
			int64_t a = base->values[i], b = new_build->values[j];

			shift[i * new_build->n + j] = (double)b - (double)a;
			ratio[i * new_build->n + j] =
				raised(b, c->resolution) / raised(a, c->resolution);
			superior += b > a ? 1 : b == a ? 0.5 : 0;
		}
	qsort(shift, pairs, sizeof(*shift), by_double);
	qsort(ratio, pairs, sizeof(*ratio), by_double);

	r->superiority = superior / (double)pairs;
	r->shift = sorted_median(shift, pairs);
	r->ratio = sqrt(ratio[(pairs - 1) / 2] * ratio[pairs / 2]);
	r->shift_low = rank ? shift[rank - 1] : -INFINITY;
	r->shift_high = rank ? shift[pairs - rank] : INFINITY;
	r->ratio_low = rank ? ratio[rank - 1] : 0;
	r->ratio_high = rank ? ratio[pairs - rank] : INFINITY;
}

static size_t count_boots(const struct compare_side *s)
{
	size_t n = 0;

	if (!s->boots)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		size_t j = 0;

		while (s->boots[j] != s->boots[i])
			j++;
		n += j == i;
	}
	return n;
}

/* Sum over the boots of (sum of ranks)^2 / trials: orders the arrangements as Kruskal and Wallis's
   H does. boot_of: index of each value's boot. */
static double unevenness(const unsigned *ranks, const size_t *boot_of, size_t n, size_t boots)
{
	auto_free double *sum = xcalloc(boots, sizeof(*sum));
	auto_free size_t *size = xcalloc(boots, sizeof(*size));
	double ret = 0;

	for (size_t i = 0; i < n; i++) {
		sum[boot_of[i]] += ranks[i];
		size[boot_of[i]]++;
	}
	for (size_t b = 0; b < boots; b++)
		ret += sum[b] * sum[b] / (double)size[b];
	return ret;
}

/* Do the values of a boot resemble each other more than those of different boots? By shuffling. */
static bool is_clustered(const struct compare_side *s)
{
	size_t boots = count_boots(s);
	auto_free unsigned *ranks = xcalloc(s->n, sizeof(*ranks));
	auto_free size_t *boot_of = xcalloc(s->n, sizeof(*boot_of));
	double observed, ties;
	unsigned as_uneven = 0;
	struct rng rng;
	size_t seen = 0;

	if (boots < 2 || boots == s->n)
		return false;

	for (size_t i = 0; i < s->n; i++) {
		size_t j = 0;

		while (s->boots[j] != s->boots[i])
			j++;
		boot_of[i] = j == i ? seen++ : boot_of[j];
	}
	double_ranks(s->values, s->n, ranks, &ties);
	observed = unevenness(ranks, boot_of, s->n, boots);

	rng_init(&rng, CLUSTER_SEED);
	for (unsigned draw = 0; draw < CLUSTER_DRAWS; draw++) {
		for (size_t i = s->n - 1; i > 0; i--) {
			size_t j = rng_below(&rng, i + 1);
			unsigned swap = ranks[i];

			ranks[i] = ranks[j];
			ranks[j] = swap;
		}
		as_uneven += unevenness(ranks, boot_of, s->n, boots) >= observed * (1 - 1e-9);
	}
	return (as_uneven + 1.0) / (CLUSTER_DRAWS + 1.0) < CLUSTER_P;
}

/* One value a boot: the median of its trials. */
static void take_boots(const struct compare_side *s, struct side *ret)
{
	auto_free int64_t *of_boot = xcalloc(s->n, sizeof(*of_boot));

	ret->values = xcalloc(s->n, sizeof(*ret->values));
	for (size_t i = 0; i < s->n; i++) {
		size_t n = 0, first = 0;

		while (s->boots[first] != s->boots[i])
			first++;
		if (first != i)
			continue;
		for (size_t j = i; j < s->n; j++)
			if (s->boots[j] == s->boots[i])
				of_boot[n++] = s->values[j];
		ret->values[ret->n++] = stats_median_i64(of_boot, n);
	}
}

static void take_trials(const struct compare_side *s, struct side *ret)
{
	ret->n = s->n;
	ret->values = xcalloc(s->n, sizeof(*ret->values));
	memcpy(ret->values, s->values, s->n * sizeof(*ret->values));
}

static double mann_whitney_p(const struct side *base, const struct side *new_build)
{
	size_t n = base->n + new_build->n;
	auto_free int64_t *values = xcalloc(n, sizeof(*values));
	auto_free unsigned *ranks = xcalloc(n, sizeof(*ranks));
	double ties;

	memcpy(values, base->values, base->n * sizeof(*values));
	memcpy(values + base->n, new_build->values, new_build->n * sizeof(*values));
	double_ranks(values, n, ranks, &ties);
	return rank_sum_p(ranks, n, base->n, ties);
}

static enum compare_change decide(const struct compare_result *r, const struct compare_config *c)
{
	double resolution = (double)c->resolution;

	if (r->p <= 1 - c->confidence) {
		if (r->ratio >= c->min_ratio && r->shift > resolution)
			return COMPARE_REGRESSION;
		if (r->ratio <= 1 / c->min_ratio && r->shift < -resolution)
			return COMPARE_IMPROVEMENT;
	}
	if ((r->ratio_low > 1 / c->min_ratio && r->ratio_high < c->min_ratio) ||
	    (r->shift_low >= -resolution && r->shift_high <= resolution))
		return COMPARE_NO_CHANGE;
	return COMPARE_UNCLEAR;
}

int compare_builds(const struct compare_side *base, const struct compare_side *new_build,
		   const struct compare_config *c, struct compare_result *ret)
{
	struct side a = {0}, b = {0};
	int r;

	*ret = (struct compare_result){.change = COMPARE_UNCLEAR};
	if (!is_config(c))
		return -EINVAL;
	if (!base->n || !new_build->n)
		return -ENODATA;
	r = check_values(base->values, base->n);
	if (!r)
		r = check_values(new_build->values, new_build->n);
	if (r)
		return r;

	ret->n_base = base->n;
	ret->n_new = new_build->n;
	ret->boots_base = count_boots(base);
	ret->boots_new = count_boots(new_build);
	ret->p50_base = median_of(base->values, base->n);
	ret->p50_new = median_of(new_build->values, new_build->n);
	ret->is_by_boot =
		base->boots && new_build->boots && (is_clustered(base) || is_clustered(new_build));

	if (ret->is_by_boot) {
		take_boots(base, &a);
		take_boots(new_build, &b);
	} else {
		take_trials(base, &a);
		take_trials(new_build, &b);
	}
	ret->p = mann_whitney_p(&a, &b);
	estimate_shift(&a, &b, c, ret);
	ret->change = decide(ret, c);
	free(a.values);
	free(b.values);
	return 0;
}

static void add_ms(struct strbuf *out, int64_t us)
{
	strbuf_addf(out, us < 9950 ? "%.1f ms" : "%.0f ms", (double)us / 1000);
}

static void add_count(struct strbuf *out, size_t trials, size_t boots)
{
	strbuf_addf(out, "%zu %s", trials, trials == 1 ? "trial" : "trials");
	if (boots)
		strbuf_addf(out, " of %zu %s", boots, boots == 1 ? "boot" : "boots");
}

void compare_words(const struct compare_result *r, double confidence, struct strbuf *ret)
{
	strbuf_addf(ret, "%s: p50 ", compare_change_name(r->change));
	add_ms(ret, r->p50_new);
	strbuf_adds(ret, ", was ");
	add_ms(ret, r->p50_base);
	strbuf_addf(ret, " (x %.3g", r->ratio);
	if (isfinite(r->ratio_high))
		strbuf_addf(ret, ", %.4g %% interval %.3g to %.3g", confidence * 100, r->ratio_low,
			    r->ratio_high);
	else
		strbuf_adds(ret, ", too few for an interval");
	strbuf_adds(ret, "; ");
	add_count(ret, r->n_new, r->boots_new);
	strbuf_adds(ret, " and ");
	add_count(ret, r->n_base, r->boots_base);
	strbuf_adds(ret, r->is_by_boot ? ", a boot counted once)" : ")");
}

size_t compare_conditions(const struct compare_condition *conditions, size_t n,
			  struct strbuf *ret_words)
{
	size_t differing = 0;

	for (size_t i = 0; i < n; i++) {
		const struct compare_condition *c = &conditions[i];

		if (c->base == c->new_build ||
		    (c->base && c->new_build && !strcmp(c->base, c->new_build)))
			continue;
		strbuf_addf(ret_words, "%s%s %s and %s", differing ? ", " : "", c->name,
			    c->base ? c->base : "unknown", c->new_build ? c->new_build : "unknown");
		differing++;
	}
	return differing;
}

/* Squared error of log[from…to) around its mean, from sums of all before. */
static double segment_cost(const double *sum, const double *square, size_t from, size_t to)
{
	double s = sum[to] - sum[from];

	return square[to] - square[from] - s * s / (double)(to - from);
}

/* ret_start[i]: where the level begins that the best partition of the first i values ends with. */
static void partition(const double *logs, size_t n, double penalty, size_t *ret_start)
{
	auto_free double *sum = xcalloc(n + 1, sizeof(*sum));
	auto_free double *square = xcalloc(n + 1, sizeof(*square));
	auto_free double *best = xcalloc(n + 1, sizeof(*best));

	for (size_t i = 0; i < n; i++) {
		sum[i + 1] = sum[i] + logs[i];
		square[i + 1] = square[i] + logs[i] * logs[i];
	}
	best[0] = -penalty;
	for (size_t to = 1; to <= n; to++) {
		size_t shortest = to == n ? 1 : 2;

		best[to] = INFINITY;
		for (size_t from = 0; from + shortest <= to; from++) {
			double cost = best[from] + penalty + segment_cost(sum, square, from, to);

			if (cost < best[to]) {
				best[to] = cost;
				ret_start[to] = from;
			}
		}
	}
}

static double median3(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Of the noise around a level, from the differences between neighbours. */
static double noise_variance(const double *logs, size_t n, double min_ratio)
{
	auto_free double *distance = xcalloc(n, sizeof(*distance));
	double least = log(min_ratio) / 4, deviation;

	for (size_t i = 1; i < n; i++)
		distance[i - 1] = fabs(logs[i] - logs[i - 1]);
	qsort(distance, n - 1, sizeof(*distance), by_double);
	/* 1.4826: from the median of |x| to the deviation of a normal x (Hampel 1974) */
	deviation = fmax(1.4826 * sorted_median(distance, n - 1) / M_SQRT2, least);
	return deviation * deviation;
}

static bool is_change(int64_t before, int64_t after, const struct compare_config *c)
{
	double ratio = raised(after, c->resolution) / raised(before, c->resolution);
	int64_t distance = after > before ? after - before : before - after;

	return distance > c->resolution && (ratio >= c->min_ratio || ratio <= 1 / c->min_ratio);
}

int compare_change_points(const int64_t *values, size_t n, const struct compare_config *c,
			  struct change_point **ret, size_t *ret_n)
{
	auto_free double *logs = NULL, *smooth = NULL;
	auto_free size_t *start = NULL, *cuts = NULL;
	struct change_point *points;
	size_t n_cuts = 0, kept = 0, level_start = 0;
	int r = check_values(values, n);

	*ret = NULL;
	*ret_n = 0;
	if (r || !is_config(c))
		return r ? r : -EINVAL;
	if (n < 3)
		return 0;

	logs = xcalloc(n, sizeof(*logs));
	smooth = xcalloc(n, sizeof(*smooth));
	for (size_t i = 0; i < n; i++)
		logs[i] = log(raised(values[i], c->resolution));
	smooth[0] = median3(logs[0], logs[1], logs[2]);
	for (size_t i = 1; i + 1 < n; i++)
		smooth[i] = median3(logs[i - 1], logs[i], logs[i + 1]);
	smooth[n - 1] = logs[n - 1];

	start = xcalloc(n + 1, sizeof(*start));
	cuts = xcalloc(n + 1, sizeof(*cuts));
	partition(smooth, n, 3 * log((double)n) * noise_variance(logs, n, c->min_ratio), start);
	cuts[n_cuts++] = n;
	for (size_t at = start[n]; at > 0; at = start[at])
		cuts[n_cuts++] = at;

	/* cuts[] runs from the newest down: the end, then where each level begins */
	points = xcalloc(n_cuts, sizeof(*points));
	for (size_t i = n_cuts; i-- > 1;) {
		int64_t before = median_of(values + level_start, cuts[i] - level_start);
		int64_t after = median_of(values + cuts[i], cuts[i - 1] - cuts[i]);

		if (!is_change(before, after, c))
			continue;
		points[kept++] = (struct change_point){
			.index = cuts[i],
			.before = before,
			.after = after,
		};
		level_start = cuts[i];
	}
	if (!kept) {
		free(points);
		return 0;
	}
	*ret = points;
	*ret_n = kept;
	return 0;
}
