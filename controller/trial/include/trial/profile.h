/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - where the target's CPUs spent their time in a trial: the agent's samples with the
 * kernel's call chains, counted over a window. A trial's samples are trial-<number>-profile.txt
 * beside its other facts: the records of docs/protocol.md, and two that are added here:
 *
 *   w<from us>,<to us>,<name>                            a window, since the profile's start
 *   e<lost>,<dropped>,<throttled>,<idle>,<own>           what the agent counted beside the samples
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "trial/trial.h"

#define PROFILE_FILE_MAX    ((size_t)64 << 20)
#define PROFILE_WINDOWS_MAX 4096
#define PROFILE_IDS_MAX     65536 /* of addresses and stacks each; the agent has fewer */
#define PROFILE_DEPTH_MAX   127   /* functions of a call chain */

struct profile;

struct profile_window {
	char name[48]; /* a load's and its jobs as in its numbers ("dd_50"), "cut" */
	int64_t from_us, to_us;
};

struct profile_head {
	char event[16]; /* "cycles", "cpu-clock" */
	unsigned hz, cpus;
	int64_t start_ns; /* CLOCK_MONOTONIC of the target */
	uint64_t lost, dropped, throttled, idle, own;
};

/* ERR_STORE/-EBADMSG with "path:line" for a record that is none; -E2BIG beyond the limits. */
int profile_parse(const char *text, size_t n, const char *path, struct profile **ret,
		  struct err *e) must_check;
/*
 * The profile of a trial of a run whose recordings are here. *ret is NULL (and 0 returned) if it
 * has none.
 */
int profile_of_trial(const struct run *r, const struct trial *t, struct profile **ret,
		     struct err *e) must_check;
/* The path of that file, whether it is there or not; NULL if the trial has no boot. Caller frees.
 */
char *profile_path(const struct run *r, const struct trial *t);
/* Accepts NULL. */
void profile_free(struct profile *p);
DEFINE_AUTO(profile, struct profile *, profile_free)
#define auto_profile AUTO(profile)

const struct profile_head *profile_head(const struct profile *p);
/* In the order of the file. */
size_t profile_windows(const struct profile *p, const struct profile_window **ret);
/* NULL if there is none of that name. */
const struct profile_window *profile_window(const struct profile *p, const char *name);
/* Samples of the window, those of user space among them. */
uint64_t profile_samples(const struct profile *p, const struct profile_window *w);

/* Names for what has none: "[user]" (user space), "[unknown]". */
#define PROFILE_USER    "[user]"
#define PROFILE_UNKNOWN "[unknown]"

struct profile_row {
	const char *function; /* of the profile */
	const char *module;   /* "" = the kernel itself */
	uint64_t samples;     /* in which it was the innermost */
};

/* The innermost functions of the window, the most frequent first. Caller frees. */
size_t profile_top(const struct profile *p, const struct profile_window *w,
		   struct profile_row **ret);

/*
 * How many samples of the window have an innermost function whose name, with or without what the
 * compiler hangs on behind a dot, is like one of n patterns ('*', '?').
 */
uint64_t profile_matching(const struct profile *p, const struct profile_window *w,
			  char *const *patterns, size_t n);

/*
 * Calls fn for each call chain of the window with its samples: functions, the outermost first.
 * Chains with the same functions come one after the other, sorted by their names.
 */
typedef void (*profile_chain_fn)(void *self, const char *const *functions, size_t depth,
				 uint64_t samples);
void profile_chains(const struct profile *p, const struct profile_window *w, profile_chain_fn fn,
		    void *self);
/* "outer;inner 17\n" for each: what flame graph tools read. */
void profile_folded(const struct profile *p, const struct profile_window *w, struct strbuf *out);
