/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_priv.h - the parts of the decision core: history, rates, delays. Only core*.c include it. */
#pragma once

#include "bisect/core.h"

/* ---- core_graph.c: the history ---- */

#define GRAPH_NONE UINT32_MAX

/*
 * Sums over all ancestors of every commit in one pass: the sum of a commit is that of its base (its
 * parent with the most ancestors) plus its own value plus those of its delta, the ancestors that
 * the base does not have. In real histories each commit comes into few deltas, so a pass is O(n).
 */
struct graph {
	size_t n;
	uint32_t *parents_at; /* n + 1 indexes into parents */
	uint32_t *parents;
	uint32_t *base;     /* GRAPH_NONE for a root */
	uint32_t *count;    /* ancestors and the commit itself */
	size_t *delta_at;   /* n + 1 indexes into delta */
	uint32_t *delta;    /* kept lists */
	uint8_t *is_walked; /* the list did not fit the budget and is found anew each time */
	uint8_t *colour;    /* scratch, all 0 between calls */
	uint32_t *touched;  /* scratch of n */
	uint32_t *found;    /* scratch of n */
};

/*
 * Parents as in struct bisect_commit. delta_budget: most list entries that are kept. On an error
 * nothing is left behind: -EINVAL with *ret_bad the commit that has a parent which is not before
 * it, or more than BISECT_PARENTS_MAX.
 */
int graph_init(struct graph *g, const struct bisect_commit *commits, size_t n, size_t delta_budget,
	       size_t *ret_bad) must_check;
void graph_release(struct graph *g);
/* ret[c] = sum of value over c and its ancestors. */
void graph_sum_ancestors(const struct graph *g, const double *value, double *ret);
/* ret[c] = sum (modulo 2^64) of value over c and its descendants; value is used up. */
void graph_sum_descendants(const struct graph *g, uint64_t *value, uint64_t *ret);
/* Sets the bits of c and its ancestors; bits has graph_bits_words(g) words, all 0. */
size_t graph_bits_words(const struct graph *g);
void graph_ancestor_bits(const struct graph *g, uint32_t c, uint64_t *bits);

static inline bool graph_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* ---- core_rates.c: unknown rates of failing trials, boots that cluster ---- */

#define RATES_F    32u /* values of a rate */
#define RATES_RHO  4u  /* values of the correlation of trials of one boot */
#define RATES_GRID (RATES_F * RATES_RHO)

enum side { SIDE_GOOD, SIDE_BAD };

/* One trial: its likelihood without and with a stall, the larger one scaled to 1. */
struct soft {
	double quiet, stall;
};

struct rates {
	bool is_known; /* one point instead of a grid of f */
	unsigned n_f;
	double f[2][RATES_F]; /* by side; ascending and the same for both unless known */
	double rho[RATES_RHO];
	double log_prior[2][RATES_GRID]; /* [side][f * RATES_RHO + rho] */
};

void rates_init(struct rates *r, double known_good, double known_bad);
/* Log likelihood of the trials of one boot at each point of a side's grid. n >= 1. */
void rates_boot(const struct rates *r, enum side side, const struct soft *trials, unsigned n,
		double ret[RATES_GRID]);

/* What the data of a class say once the rates are integrated out. */
struct rates_evidence {
	double log_evidence;
	double mean[2]; /* of f */
	double mean_rho[2];
	double marginal[2][RATES_F]; /* posterior of f, sums to 1 */
};
/*
 * good, bad: sums of log likelihoods over the data on either side (priors are added here). Rates of
 * bad commits are above those of good ones.
 */
void rates_integrate(const struct rates *r, const double good[RATES_GRID],
		     const double bad[RATES_GRID], struct rates_evidence *ret);
/*
 * Log evidence that all data come from one rate and correlation, of a good or of a bad commit. Sums
 * as above; only for unknown rates, whose grid is the same for both sides.
 */
double rates_same(const struct rates *r, const double all[RATES_GRID]);

/* ---- core_delay.c: what a delay says ---- */

struct delay_obs {
	double log_ms;
	bool is_over;
	bool is_censored;
};

/* Two log-normal components, quiet and stall, shared by good and bad commits. */
struct delay_model {
	bool is_usable;               /* enough data, components apart */
	double mu[2], sigma[2], n[2]; /* of log(ms); n: observations behind each */
	double broad_sigma;           /* of outliers */
};

void delay_fit(const struct delay_obs *obs, size_t n, struct delay_model *ret);
struct soft delay_soft(const struct delay_model *m, const struct delay_obs *o);
/* Probability that a trial drawn from the component counts rather as a stall. */
double delay_stall_share(const struct delay_model *m, unsigned component);

/* ---- core.c ---- */

struct boot {
	uint32_t id;
	unsigned n;
	struct {
		double log_ms;
		bool is_over, is_measured, is_censored;
	} trial[BISECT_TRIALS_PER_BOOT_MAX];
};

struct tested {
	uint32_t commit;
	uint64_t *bits; /* its ancestors and itself; NULL for the good end */
	struct boot *boots;
	unsigned n_boots, cap_boots, trials, over;
	double log_lik[2][RATES_GRID]; /* of all its boots, by side */
	double told;                   /* log odds of bad from told answers */
	bool is_told;
};

/* Numbers of failures, from 0 to m, for each number m of trials that core_pick.c looks at; an even
   number, so that compilers take two at a time. */
#define PICK_OUTCOMES 70u

struct bisect_core {
	struct bisect_cfg cfg;
	struct graph g;
	char **names;
	double *prior; /* sums to 1 */
	uint8_t *is_untestable, *is_cached;
	bool is_good_end_cached;
	size_t n_untestable;
	uint32_t *set_of; /* sets of commits that no testable commit can tell apart … */
	size_t n_sets;    /* … and how many they are; used only while n_untestable */
	double *set_p;    /* scratch of n */
	uint32_t last_built;
	struct rates rates;
	struct delay_model delay;
	struct tested *tested;
	size_t n_tested, cap_tested;
	struct bisect_used used;

	/* Commits that no tested commit tells apart share a class and so a likelihood. */
	uint32_t *class_of;
	size_t n_classes, cap_classes;
	uint32_t *class_first;          /* one member */
	double *class_good, *class_bad; /* n_classes x RATES_GRID */
	double *class_told, *class_prior;
	double *class_p; /* posterior */
	struct rates_evidence *class_ev;

	double *post;       /* posterior of each commit, sums to 1 */
	double *p_bad;      /* probability that the commit is bad */
	double mean_rho[2]; /* posterior means over all classes, as the next two */
	double mean[2];
	double marginal[2][RATES_F];
	double p_ends_differ;

	/* for picking the next, see core_update_*() */
	double *distance;      /* of each commit from last_built */
	double *p_untestable;  /* of each commit */
	double stall_share[2]; /* of quiet trials, of stalls: share that looks like a stall */
	double outcomes[2][RATES_F][PICK_OUTCOMES]; /* by side and value of its rate */
};

/* If the culprit is one of this class, is the tested commit bad? */
bool core_makes_bad(const struct bisect_core *b, size_t class, const struct tested *t);
/* Index in tested or n_tested. */
size_t core_find_tested(const struct bisect_core *b, uint32_t commit);
/* Probability that the ends differ from which on they need no more trials. */
double core_ends_enough(const struct bisect_core *b, double p_answer);
/* *ret_p_answer (may be NULL): probability of the likeliest answer. */
enum bisect_state core_state(const struct bisect_core *b, double *ret_p_answer);

/* ---- core_pick.c: what changes with few events only ---- */

/* After a fit of the delays. */
void core_update_outcomes(struct bisect_core *b);
/* After last_built changed. */
void core_update_distances(struct bisect_core *b);
/* After a commit was tested for the first time, became untestable or testable. */
void core_update_untestable(struct bisect_core *b);
