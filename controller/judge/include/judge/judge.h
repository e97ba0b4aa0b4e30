/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.h - from trials to the verdict of a kernel build under a scenario. Pure.
 *
 * A verdict is a claim: PASS needs its planned number of valid trials, FAIL needs the limit
 * exceeded with the required confidence (or a crash), everything else says what is missing.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

enum verdict {
	VERDICT_PASS,
	VERDICT_FAIL,
	VERDICT_INCONCLUSIVE,
	VERDICT_UNTESTABLE,
	VERDICT_RIG_FAULT,
	VERDICT_MAX
};

/* "PASS", "FAIL", "INCONCLUSIVE", "UNTESTABLE", "RIG-FAULT". */
const char *verdict_name(enum verdict v);
bool verdict_parse(const char *name, enum verdict *ret);
/* 0, 1, 125, 125, 130: as `git bisect run` wants them. */
int verdict_exit_code(enum verdict v);
/* Of several verdicts the one with the largest weight stands for all: PASS, INCONCLUSIVE,
   UNTESTABLE, FAIL, RIG-FAULT, from 0 up. */
unsigned verdict_weight(enum verdict v);

struct judge_trial {
	unsigned boot; /* trials of one boot share it */
	bool is_valid; /* all evidence is there */
	const char
		*missing; /* first missing evidence, e.g. "cache-loaded"; NULL if valid or crash */
	bool is_rig_to_blame; /* the missing evidence is the bench's doing */
	const char *crash;    /* signature, NULL = none; a crash is neither valid nor invalid */
	bool is_outside;      /* a number of a valid trial is outside its limit: "over" too */
	int64_t worst_us;     /* worst delay of a valid trial; one below 0 (not measured) makes the
				 trial invalid for want of "probe-running" */
};

/*
 * A number of the build beside the same one of its baseline, as a ratio with its interval.
 */
struct judge_ratio {
	char name[48];
	double ratio, low, high; /* low and high: one-sided bounds at the input's confidence */
	double min, max;         /* what is demanded; 0 = nothing */
	bool is_unknown;         /* one side has no value */
};

/* True if the whole interval is outside what is demanded. */
bool judge_ratio_is_outside(const struct judge_ratio *q);

struct judge_input {
	const struct judge_trial *trials;
	size_t n;
	unsigned planned_valid; /* how many valid trials PASS needs */
	int64_t limit_us;       /* a trial over it counts as "over" */
	double tolerated_over;  /* rate of over-limit trials that is still accepted, e.g. 0.01 */
	double confidence;      /* e.g. 0.95, one-sided; outside (0, 1) nothing can be claimed */
	const struct judge_ratio *ratios; /* what is demanded of them holds beside all else */
	size_t n_ratios;
	const char *no_baseline; /* why there is nothing to hold them against, though it is
				    needed; NULL = there is or it is not needed */
	unsigned failed_boots;   /* boots that never answered and that the rig let pass */
	const char *rig_fault;   /* "rig.qemu-ended: …", ended by the bench; NULL = no */
	const char *untestable;  /* "kernel.no-boot: …", the build did not build, boot or load the
				    probe; NULL = no */
};

struct judge_result {
	enum verdict verdict;
	char reason[96]; /* code: "over-limit", "crash", "evidence.cache-loaded", "straddles-limit",
			    "too-few-trials", "rig.…", "kernel.…", "none-over" */
	char strength[256]; /* the claim in words with its numbers, and boots that failed */
	unsigned valid, over, invalid, crashes;
	unsigned boots;                    /* boots with at least one valid trial */
	unsigned boots_over;               /* of these, boots with at least one over-limit trial */
	bool is_clustered;                 /* outcomes cluster by boot: boots were the unit */
	int64_t worst_us;                  /* over valid trials; -1 if none */
	int64_t p50_us;                    /* median of valid trials; -1 if none */
	int64_t p99_us;                    /* 99 of 100 valid trials are not above it; -1 if none */
	unsigned n_ratios, ratios_outside; /* of these, those that are surely outside */
	char worst_ratio[48];              /* the name of the one that is furthest outside, "" */
	double over_low, over_high;        /* confidence bounds of P(over), on the unit used */
};

/*
 * In this order: any crash is a FAIL; a rig fault and an untestable build end the run with their
 * own code and text; a rate of over-limit trials that is above tolerated_over with the confidence
 * is a FAIL, whatever was planned, and so is a ratio whose whole interval is outside its limit;
 * some over-limit trials are INCONCLUSIVE; planned_valid valid trials (at least one) with none over
 * and each ratio's whole interval inside its limit are a PASS; without a baseline that is needed,
 * or with a ratio whose interval contains its limit, they are INCONCLUSIVE; the rest names the
 * evidence that is missing most often, as RIG-FAULT if most of the invalid trials are the bench's
 * doing. The order of the trials does not matter. ret owns nothing.
 */
void judge_run(const struct judge_input *in, struct judge_result *ret);

/* ---- statistics (formulas named in stats.c) ---- */

/*
 * One-sided Clopper-Pearson bounds of a rate after k hits in n tries at the given confidence; 0 and
 * 1 where nothing is known (n = 0, or a confidence outside (0, 1)).
 */
double stats_binomial_low(unsigned k, unsigned n, double confidence);
double stats_binomial_high(unsigned k, unsigned n, double confidence);
/* Median, of an even number the middle between the two; sorts values in place. n > 0. */
int64_t stats_median_i64(int64_t *values, size_t n);
/* Two-sided distribution-free confidence interval of the median from order statistics: indexes into
   the sorted values, counted from 0; false if n is too small for the confidence. */
bool stats_median_interval(size_t n, double confidence, size_t *ret_low, size_t *ret_high);
/*
 * p-value that the outcomes are as unevenly spread over the groups as observed if the group did not
 * matter (exact for few, else seeded permutation, 10,000 draws): over[i] of total[i] in group i.
 */
double stats_cluster_p(const unsigned *over, const unsigned *total, size_t groups);
