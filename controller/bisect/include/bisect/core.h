/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core.h - the decision core of a bisect whose single answers lie. Pure: no git, no clock, no I/O,
 * nothing random. State is a function of the inputs and the sequence of events, so applying a
 * journal's events again gives the same state to the last bit.
 *
 * The question: which commit is the first bad one? Commit c is bad exactly if the culprit is c or
 * an ancestor of c. A trial on a bad commit fails with an unknown rate, one on a good commit with
 * another, lower one; both rates and how much outcomes cluster by boot are integrated out, never
 * assumed. The maths with its sources: docs/bisect.md.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#define BISECT_COMMITS_MAX         262144u /* v6.1..v6.12 has about 160,000 */
#define BISECT_PARENTS_MAX         128u    /* Linux has a merge of 66 */
#define BISECT_TRIALS_PER_BOOT_MAX 64u
#define BISECT_TRIALS_MAX          100000u /* of a whole bisect */
#define BISECT_TESTED_MAX          4096u   /* commits with at least one trial or told answer */

/* In place of a commit's index: the good end, which is no candidate. */
#define BISECT_GOOD_END UINT32_MAX

struct bisect_commit {
	const uint32_t *parents; /* indexes smaller than the commit's own; parents that are not
				    candidates (they are good) are left out */
	unsigned n_parents;
	double weight;    /* prior, > 0, in any unit; equal weights if nothing is known */
	const char *name; /* for texts, copied; NULL = "#<index>" */
};

/* Seconds that things take. All >= 0, trial_s > 0. */
struct bisect_cost {
	double build_cold_s;       /* nothing was built before */
	double build_warm_s;       /* incremental, the worktree is at another commit */
	double build_per_commit_s; /* added to a warm build for each commit between; never more
				      than cold in total */
	double boot_s;
	double trial_s;
};

struct bisect_cfg {
	double target; /* stop once the answer is this probable; in [0.5, 0.9999] */
	struct bisect_cost cost;
	bool uses_delays; /* delays count, not only whether they are over the limit */
	/* Each end: at least min, at most max valid trials until they can be told apart. */
	unsigned ends_min_trials; /* >= 2 */
	unsigned ends_max_trials;
	/* wanted probability that the ends differ, e.g. 0.99; the search begins at the root of its
	   odds, no answer is given below it */
	double ends_confidence;
	unsigned max_trials; /* give up after so many (the ends' included); 0 = never */
	/* Rates of failing trials known from elsewhere, < 0 = unknown. With both known the ends
	   need no trials; over_good < over_bad. */
	double known_over_good;
	double known_over_bad;
};

/*
 * target 0.99; cost: build 900 s cold, 60 s warm, boot 10 s, trial 30 s; ends 5 to 100 trials each
 * at 0.99; delays are used; rates unknown.
 */
void bisect_cfg_default(struct bisect_cfg *ret);

enum bisect_event_kind {
	BISECT_EV_TRIAL,      /* one valid trial: boot, is_over, delay_ms, is_censored */
	BISECT_EV_TOLD,       /* somebody says good or bad: is_bad, certainty */
	BISECT_EV_UNTESTABLE, /* does not build, boot or load the probe, or fails in another way */
	BISECT_EV_TESTABLE,   /* takes UNTESTABLE back (a hotfix was found) */
	BISECT_EV_BUILT,      /* the worktree now stands at this commit, its artefacts are kept */
	BISECT_EV_UNCACHED,   /* its kept artefacts are gone */
	BISECT_EV_MAX
};

struct bisect_event {
	enum bisect_event_kind kind;
	uint32_t commit;  /* index or BISECT_GOOD_END */
	uint32_t boot;    /* trials of one commit with the same number share a boot */
	bool is_over;     /* the wanted failure was seen (over the limit, or a crash by title) */
	double delay_ms;  /* worst delay of the trial; < 0 = not measured (a crash) */
	bool is_censored; /* the delay had not ended at delay_ms */
	bool is_bad;
	double certainty; /* of a told answer, in [0.5, 0.999999] */
};

/* "trial", "told", "untestable", "testable", "built", "uncached"; for journals. */
const char *bisect_event_name(enum bisect_event_kind kind);
bool bisect_event_parse(const char *name, enum bisect_event_kind *ret);

struct bisect_core;

/*
 * commits: n candidates, parents before children; the last one is the bad end and every other is
 * its ancestor (what `git rev-list --topo-order --reverse good..bad` prints). Everything is copied.
 * Errors are ERR_CONFIG and name the commit and the value. Never blocks.
 */
int bisect_core_new(const struct bisect_cfg *cfg, const struct bisect_commit *commits, size_t n,
		    struct bisect_core **ret, struct err *e) must_check;
void bisect_core_free(struct bisect_core *b);
DEFINE_AUTO(bisect_core, struct bisect_core *, bisect_core_free)
#define auto_bisect_core AUTO(bisect_core)

/*
 * Takes one event in; the only way to change the state. O(commits). An event that is refused
 * (ERR_CONFIG: no such commit, a number out of its range, a limit) changes nothing. The order of
 * events of different commits does not matter beyond rounding, but for BUILT.
 */
int bisect_core_apply(struct bisect_core *b, const struct bisect_event *ev,
		      struct err *e) must_check;

enum bisect_state {
	BISECT_MEASURING_ENDS, /* test the ends; first, and again if they stop to differ */
	BISECT_SEARCHING,      /* test a commit between */
	BISECT_DONE,           /* the answer has the wanted probability */
	BISECT_REFUSED,        /* the ends cannot be told apart */
	BISECT_EXHAUSTED, /* max_trials, or nothing left that could be tested: answer is a set */
	BISECT_STATE_MAX
};
/* "measuring-ends", "searching", "done", "refused", "exhausted". */
const char *bisect_state_name(enum bisect_state s);

/* What to do next. */
struct bisect_next {
	enum bisect_state state;
	double p_answer; /* probability of the likeliest answer so far */
	/* for MEASURING_ENDS and SEARCHING only: */
	uint32_t commit; /* index or BISECT_GOOD_END */
	unsigned boots;  /* so many boots, each with so many trials; then ask again. Asking
			    earlier, after each boot, is as good and may save trials */
	unsigned trials_per_boot;
	double p_bad;        /* probability that the commit is bad */
	double info_bits;    /* expected information about the culprit */
	double build_s;      /* expected cost of getting the kernel, 0 = kept */
	double cost_s;       /* expected cost of all: build, boots, trials */
	double p_untestable; /* estimate from known untestable neighbours */
	char why[320];       /* one sentence for people, also in the final states */
};

/* Changes nothing. O(commits). */
void bisect_core_next(const struct bisect_core *b, struct bisect_next *ret);

/*
 * Commits between this one and the last that was built, which build_per_commit_s counts; 0 if that
 * is 0 or nothing was built.
 */
double bisect_core_distance(const struct bisect_core *b, uint32_t commit);

/* Posterior probability that the commit is the first bad one; sums to 1 over all. */
double bisect_core_probability(const struct bisect_core *b, uint32_t commit);
/* Posterior probability that the commit is bad: 0 for BISECT_GOOD_END, 1 for the bad end. */
double bisect_core_p_bad(const struct bisect_core *b, uint32_t commit);

struct bisect_candidate {
	uint32_t commit;
	double probability;
};
/* The max likeliest candidates, likeliest first, ties by index. Returns how many. */
size_t bisect_core_top(const struct bisect_core *b, struct bisect_candidate *ret, size_t max);

/*
 * The answer as it stands: the likeliest commits that no testable commit can tell apart (one
 * commit unless untestable ones are in the way), or in the state EXHAUSTED as many of such sets as
 * reach the target. *ret is ascending; the caller frees it. Returns their number (>= 1),
 * *ret_probability their sum.
 */
size_t bisect_core_answer(const struct bisect_core *b, uint32_t **ret, double *ret_probability);

/* What is known of one commit. */
struct bisect_tested {
	uint32_t commit; /* index or BISECT_GOOD_END */
	unsigned boots, trials, over;
	double p_bad;     /* 0 for the good end, 1 for the bad one */
	double median_ms; /* of measured delays, < 0 = none */
	bool is_told;     /* somebody said good or bad */
	bool is_untestable;
};
/* Tested commits in the order of their first event, 0 … bisect_core_n_tested() - 1. */
size_t bisect_core_n_tested(const struct bisect_core *b);
void bisect_core_tested(const struct bisect_core *b, size_t i, struct bisect_tested *ret);
bool bisect_core_is_untestable(const struct bisect_core *b, uint32_t commit);
size_t bisect_core_n_commits(const struct bisect_core *b);
/* The name given, or "#<index>"; "good end". Valid as long as the core. */
const char *bisect_core_name(const struct bisect_core *b, uint32_t commit);

/* How the two kinds of commits behave, as far as is known. */
struct bisect_rates {
	double over_good, over_bad;           /* posterior means of the rates of failing trials */
	double over_good_low, over_good_high; /* central 95 % */
	double over_bad_low, over_bad_high;
	double boot_correlation_good, boot_correlation_bad; /* 0 = trials of a boot independent */
	/* that there is a first bad commit, against that all fail alike; from all trials */
	double p_ends_differ;
};
void bisect_core_rates(const struct bisect_core *b, struct bisect_rates *ret);

/* What is still to come until the target, on average; also before the first event. */
struct bisect_estimate {
	double entropy_bits; /* of the posterior */
	double builds, boots, trials, hours;
};
void bisect_core_estimate(const struct bisect_core *b, struct bisect_estimate *ret);

/* Valid trials, boots, builds (BUILT events) so far. */
struct bisect_used {
	unsigned trials, boots, builds;
};
void bisect_core_used(const struct bisect_core *b, struct bisect_used *ret);
