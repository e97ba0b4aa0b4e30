/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nights.h - the nights of a plan: one execution of it, whose runs are jobs of the queue.
 * Errors and blocking as in store.h.
 */
#pragma once

#include "store/store.h"

/* Strings are owned and never NULL when read. */
struct store_night {
	int64_t night; /* its number */
	char *plan;    /* name */
	char *plan_sha256;
	int64_t started_wall_ns, ended_wall_ns; /* ended 0 = it goes on, or was stopped */
	int64_t budget_s;                       /* 0 = no limit */
	char *note;                             /* how it ended, "" = nothing to say */
};

void store_night_free(struct store_night *n);
DEFINE_AUTO(store_night, struct store_night *, store_night_free)
#define auto_store_night AUTO(store_night)

/* Begins a night by the database's clock. plan_yaml: the plan's text as it was then. */
int store_night_begin(struct store *st, const char *plan, const char *plan_sha256,
		      const char *plan_yaml, int64_t budget_s, int64_t *ret_night,
		      struct err *e) must_check;

/* The plan's newest night. ERR_USAGE/-ENOENT if it has none. */
int store_night_newest(struct store *st, const char *plan, struct store_night **ret,
		       struct err *e) must_check;

/* Ends it by the database's clock; a night that has ended stays as it is. -ENOENT. */
int store_night_end(struct store *st, int64_t night, const char *note, struct err *e) must_check;

/*
 * Id of the newest ended run that an earlier night's (before `night`, of the same plan) job of that
 * scenario, rig, kernel entry (what stands before '|' in the item) and command line came to with
 * the verdict PASS or FAIL. *ret is NULL if there is none; the caller frees it.
 */
int store_night_previous_run(struct store *st, int64_t night, const char *entry,
			     const char *scenario, const char *rig, const char *append, char **ret,
			     struct err *e) must_check;

/* Has an ended run of that build (name), command line, rig and scenario come to PASS or FAIL? */
int store_was_judged(struct store *st, const char *kernel, const char *append, const char *rig,
		     const char *scenario, bool *ret, struct err *e) must_check;
