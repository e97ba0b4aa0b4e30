/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare.h - is a kernel build worse than its baseline, how much, and since when? Pure.
 *
 * A verdict holds a build against a limit; a comparison holds it against another build measured on
 * the same rig class under the same conditions. All statistics are rank statistics: delays have
 * long tails and no known distribution.
 */
#pragma once

#include "base/strbuf.h"
#include "base/util.h"

#include <stdbool.h>

/* Most values that one side or one series may have; more is refused with -E2BIG. */
#define COMPARE_VALUES_MAX 2048u

enum compare_change {
	COMPARE_NO_CHANGE,   /* the interval excludes any change that would matter */
	COMPARE_REGRESSION,  /* the new build is worse, and by enough to matter */
	COMPARE_IMPROVEMENT, /* the same, better */
	COMPARE_UNCLEAR,     /* the values allow both a change and none: more are needed */
	COMPARE_CHANGE_MAX
};

/* "no-change", "regression", "improvement", "unclear". Never NULL. */
const char *compare_change_name(enum compare_change c);

/* The valid trials of one build. Values in any unit, larger is worse (delays: us). */
struct compare_side {
	const int64_t *values; /* n of them, each >= 0 */
	const unsigned *boots; /* n of them: trials of one boot share a number; NULL = each trial
				  is independent */
	size_t n;
};

struct compare_config {
	int64_t resolution; /* > 0; differences up to this are none (the instrument's own error) */
	double min_ratio;   /* > 1; a change of the median by less does not matter */
	double confidence;  /* two-sided, in (0, 1) */
};

/* For delays in us: one tick of a 250 Hz kernel, factor 1.25, 95 %. */
extern const struct compare_config compare_defaults;

struct compare_result {
	enum compare_change change;
	size_t n_base, n_new;         /* trials */
	size_t boots_base, boots_new; /* boots behind them; 0 if the boots were not given */
	bool is_by_boot;              /* values cluster by boot: each boot counts once, by its
					 median */
	int64_t p50_base, p50_new;    /* medians of the trials */
	double shift;                 /* Hodges-Lehmann estimate of new - base */
	double shift_low, shift_high; /* its interval */
	double ratio;                 /* the same for new / base, values raised to the resolution */
	double ratio_low, ratio_high;
	double superiority; /* P(a new value > a base value), ties half: 0.5 = no effect */
	double p;           /* Mann-Whitney, two-sided */
};

/*
 * Compares two builds. ret is filled and 0 returned; -EINVAL for a negative value or a config out
 * of its range, -ENODATA if a side is empty, -E2BIG beyond COMPARE_VALUES_MAX.
 *
 * Rank-sum test: Mann and Whitney, "On a test of whether one of two random variables is
 * stochastically larger than the other", Ann. Math. Statist. 18 (1947); exact
 * over all arrangements of the values, ties and all, up to 64 values together, else normal with
 * the correction for ties. Shift and interval: Hodges and Lehmann, "Estimates of location based on
 * rank tests", Ann. Math. Statist. 34 (1963): median and order statistics of all differences; where
 * so few values allow no interval at that confidence it is unbounded (-INFINITY, INFINITY; ratio 0,
 * INFINITY).
 *
 * REGRESSION and IMPROVEMENT need p <= 1 - confidence, an estimated ratio beyond min_ratio and an
 * estimated shift beyond the resolution. NO_CHANGE needs an interval of the ratio inside
 * (1 / min_ratio, min_ratio) or one of the shift inside +-resolution. All else is UNCLEAR.
 */
int compare_builds(const struct compare_side *base, const struct compare_side *new_build,
		   const struct compare_config *c, struct compare_result *ret) must_check;

/* "regression: p50 812 ms, was 4 ms (x 203, 95 % interval 80 to 400; 8 and 8 trials)". Appends; the
   values are us. */
void compare_words(const struct compare_result *r, double confidence, struct strbuf *ret);

/* One condition under which both were measured, e.g. {"hz", "250", "1000"}. NULL = not known. */
struct compare_condition {
	const char *name;
	const char *base, *new_build;
};

/*
 * How many conditions differ (one known on one side only differs); 0 = comparable. The differing
 * ones are appended to ret_words, ", " between them: "hz 250 and 1000".
 */
size_t compare_conditions(const struct compare_condition *conditions, size_t n,
			  struct strbuf *ret_words);

struct change_point {
	size_t index;          /* first value of the new level, >= 1 */
	int64_t before, after; /* medians of the two levels */
};

/*
 * Where a series (one value a night, oldest first, each >= 0) changes its level for good or for a
 * while; since when the present level holds is the last point. Optimal partitioning (Jackson et
 * al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Process. Lett.
 * 12, 2005) of the logarithms into constant levels, squared error, at a cost of 3 ln(n) variances a
 * change; the variance is that of the differences between neighbours, by their median so that the
 * changes themselves do not raise it. A single value that stands out is no level (a running median
 * of three removes it first), unless it is the newest. Changes by less than min_ratio or the
 * resolution are left out.
 *
 * Caller frees *ret; *ret is NULL if there is none. -EINVAL, -E2BIG as above. n may be 0.
 */
int compare_change_points(const int64_t *values, size_t n, const struct compare_config *c,
			  struct change_point **ret, size_t *ret_n) must_check;
