/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nightly.h - a plan carried out: its runs go into the store's queue as the items of a night, and
 * are done here. A night that was stopped, in whichever way, goes on where it was.
 */
#pragma once

#include "kernels/kernels.h"
#include "lab/news.h"
#include "lab/plan.h"
#include "lab/worker.h"
#include "store/nights.h"

/* One run of a plan. Strings are owned. */
struct nightly_item {
	char *name;   /* unique in the night: "<entry>|<build>|<append>|<scenario>|<rig>" */
	char *entry;  /* plan_kernel_text() */
	char *kernel; /* build in the kernel store; what is to be fetched if it is not there yet */
	char *append, *scenario, *rig;
	unsigned priority;
	char *left_out;     /* why it is not run; NULL = it is */
	bool is_judged;     /* left out because an earlier night came to PASS or FAIL */
	bool is_settling;   /* left out because it may still be being written */
	bool is_dropped;    /* of a watched folder */
	int64_t expected_s; /* from earlier runs of that scenario on that rig; -1 = there are none
			     */
};

struct nightly_list {
	struct nightly_item *items; /* owned */
	size_t n;
};

void nightly_list_release(struct nightly_list *l);

static inline void auto_cleanup_nightly_list(struct nightly_list *l)
{
	nightly_list_release(l);
}
#define auto_nightly_list __attribute__((cleanup(auto_cleanup_nightly_list)))

#define NIGHTLY_ITEMS_MAX 10000u

enum nightly_look {
	NIGHTLY_DRY,     /* nothing is changed */
	NIGHTLY_ALL,     /* series are fetched, branches built, dropped kernels added */
	NIGHTLY_DROPPED, /* only what lies in watched folders, which is added */
};

/*
 * What the plan comes to: kernels x scenarios x rigs, in that order. Blocks for minutes, or hours
 * if kernels are built, unless nothing may be changed; what would be fetched is named by its series
 * then, what would be built by the name that it will have. st may be NULL: nothing was ever run.
 * ERR_CONFIG and ERR_USAGE name the entry, rig or scenario that is wrong; a kernel that cannot be
 * fetched or added leaves its items out and says why.
 */
int nightly_expand(const struct plan *p, const struct kernels_ctx *ctx, struct store *st,
		   enum nightly_look look, struct nightly_list *ret, struct err *e) must_check;

struct nightly_cfg {
	const struct plan *plan;
	struct store *store;
	const char *location; /* of the same store, for the worker; NULL = the default one */
	const char *program;  /* path of stallrig, to start jobs with */
	const struct kernels_ctx *kernels;
	unsigned lease_s;
	bool starts_anew; /* a night that did not end is ended first */
	struct waiter *w;
	/* one line for a person or the journal */
	void (*say)(void *self, const char *text);
	void *self;
};

/* A night's run with what it is held against. Owned. */
struct nightly_result {
	struct store_job *job;
	struct run *run;      /* with its trials; NULL = it came to none */
	struct run *baseline; /* NULL = there is none */
	char *differences;    /* conditions that forbid to compare; NULL = none */
	bool is_compared;
	bool is_baseline; /* the others are held against it, so it has no verdict of its own */
	struct compare_result change; /* if is_compared */
	struct news_since since;      /* if it failed, or changed */
};

/*
 * Since when the worst delays of the run's series (store_overview()) are at the level that they
 * have with this run. Nothing of it is set if the level did not change within a year.
 */
int nightly_since(struct store *st, const struct run *run, struct news_since *ret,
		  struct err *e) must_check;

struct nightly_report {
	int64_t night;
	struct nightly_result *results; /* owned, in the order of the plan */
	size_t n;
	struct nightly_list left_out; /* only its left-out items */
};

void nightly_report_release(struct nightly_report *r);

static inline void auto_cleanup_nightly_report(struct nightly_report *r)
{
	nightly_report_release(r);
}
#define auto_nightly_report __attribute__((cleanup(auto_cleanup_nightly_report)))

/*
 * Blocks until every run of the night has ended, or the budget is used up (what waits is cancelled
 * then). ERR_STOPPED after a stop signal: the night goes on with the next call.
 */
int nightly_run(const struct nightly_cfg *cfg, struct nightly_report *ret,
		struct err *e) must_check;
