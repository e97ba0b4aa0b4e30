/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.h - questions that a reader has beside whole runs: what an overview
   shows, incidents by their words, bisects. The rows are the caller's. Errors and blocking as in
   store.h. */
#pragma once

#include "store/store.h"

struct store_overview_filter {
	const char *scenario, *rig, *rig_class; /* exact; NULL = any */
	const char *kernel;                     /* name or label contains this; NULL = any */
	int64_t since_wall_ns;                  /* series with a run that started then or later */
	unsigned older;                         /* builds beside the newest of each series */
};

/*
 * Of the runs that the filter lets through only those that an overview shows, heads and verdicts,
 * newest first:
 * - the newest run of each rig in each scenario, and the newest one that has ended;
 * - the newest ended run since then of each scenario, limit, rig, kernel build and command line,
 *   for the newest build of each kernel series and the `older` newest builds beside (of each
 *   scenario, limit and rig class); with `kernel` if it has that in its name or label;
 * - of each series the newest judged run (PASS or FAIL), the first one of its unbroken row of the
 *   same verdict, and the last judged one before that row, however old they are.
 * A kernel series is the first two numbers of a release and the flavour behind it; a series is one
 * on a rig with the same scenario, limit and command line. Freed as those of store_runs().
 */
int store_overview(struct store *st, const struct store_overview_filter *f, struct run ***ret,
		   size_t *ret_n, struct err *e) must_check;

struct store_trend_filter {
	const char *rig, *rig_class, *scenario; /* exact */
	const char *kernel;                     /* name or label contains this; NULL = any */
	int64_t since_wall_ns;                  /* started then or later */
};

/* A kernel build with a command line. */
struct store_build {
	char *name, *release, *version, *append;
};

/* A run, as a trend shows it. */
struct store_point {
	char *run_id;
	int64_t series; /* points with the same number are of one series, see store_overview() */
	size_t build;   /* index into builds */
	enum verdict verdict; /* INCONCLUSIVE also if it was not judged yet */
	int64_t started_wall_ns, limit_us;
	int64_t worst_us, p99_us, p50_us; /* -1 unknown */
	unsigned over, valid;
};

struct store_trend {
	struct store_point *points; /* oldest first */
	size_t n;
	struct store_build *builds;
	size_t n_builds;
};

/* All runs of a scenario on a rig that the filter lets through. *ret is written on success only. */
int store_trend(struct store *st, const struct store_trend_filter *f, struct store_trend *ret,
		struct err *e) must_check;
void store_trend_release(struct store_trend *t);

/* A run with which a series comes to another level. */
struct store_change {
	size_t point;                /* of the trend */
	int64_t before_us, after_us; /* medians of the worst delays of the two levels */
};

/*
 * Where a series of the trend's first n points changes its level: compare_change_points() of the
 * newest COMPARE_VALUES_MAX worst delays, oldest first. NULL and 0 if it does not. Caller frees.
 */
struct store_change *store_trend_changes(const struct store_trend *t, size_t n, int64_t series,
					 size_t *ret_n);

struct store_incident {
	char *cls, *title;
	unsigned count;
	char *run_id;
	unsigned trial; /* number in the run */
	char *rig, *kernel;
	int64_t started_wall_ns; /* of the trial */
};

/*
 * The newest `last` incidents whose class and title hold all words (the last one may go on); words
 * NULL or without a letter: all but plain USB disconnects.
 */
int store_incidents(struct store *st, const char *words, unsigned last, struct store_incident **ret,
		    size_t *ret_n, struct err *e) must_check;
void store_incidents_free(struct store_incident *rows, size_t n);

/* One boot of a commit, or that it cannot be tested, or what somebody told of it. */
struct store_bisect_test {
	char *commit, *subject, *verdict;
	unsigned trials, over;
	int64_t worst_us; /* -1 unknown */
	char *run_id;     /* NULL = none */
	int64_t tested_wall_ns;
};

struct store_bisect {
	char *id, *repo, *good, *bad, *rig, *scenario, *state;
	unsigned n_commits;
	char *culprit;      /* NULL = not known yet */
	double probability; /* of the culprit, or of the likeliest answer so far; NAN = unknown */
	char *next;         /* what is tested next and why; "" */
	int64_t eta_s;      /* -1 = unknown */
	int64_t started_wall_ns, updated_wall_ns;
	int64_t ended_wall_ns; /* 0 = goes on */
	char *config;          /* a JSON object: how it was started */
	double entropy_bits;   /* of what is not known yet; NAN = unknown */
	/* JSON [{"commit","subject","probability"}], the likeliest first, newest; NULL = none */
	char *candidates;
	struct store_bisect_test *tests;
	size_t n_tests;
};

/* Newest first; id NULL = all, without tests and candidates. */
int store_bisects(struct store *st, const char *id, struct store_bisect **ret, size_t *ret_n,
		  struct err *e) must_check;
void store_bisects_free(struct store_bisect *rows, size_t n);

/*
 * Writes how a bisect stands, whose id names it for good: its row is made or changed, tests that
 * the store has fewer of are added (those that it has stay as they are), and entropy and
 * candidates are kept as what was known after that many tests. One transaction; doing it again
 * changes nothing. ERR_USAGE if the id is no name (parse_is_name()), ERR_STORE if it cannot be
 * written.
 */
int store_bisect_put(struct store *st, const struct store_bisect *b, struct err *e) must_check;
