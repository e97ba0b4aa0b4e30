/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig_bench.h - the bench that is real: git worktree, compiler, rig, results in the store. */
#pragma once

#include "bisect/driver.h"
#include "kernels/kernels.h"
#include "rig/rig.h"
#include "store/store.h"
#include "trial/scenario.h"
#include "trial/trial.h"

struct rig_bench;

struct rig_bench_cfg {
	const struct bisect_setup *setup;
	const char *dir;      /* of the bisect: its kernels/ and logs/ */
	const char *worktree; /* git worktree to build in; NULL = one of its own in the cache */
	struct store *store;  /* results go there; may be NULL */
	struct waiter *w;
	void (*now)(void *self, const char *text); /* may be NULL */
	/* before each boot: returns 0 once nobody else holds the rig in the store; may be NULL */
	int (*await_rig)(void *self, const char *rig, struct err *e);
	void *self;
};

/*
 * Reads rig and scenario and, if the scenario limits shares of one, the baseline, and checks the
 * config and the hotfix rules; ERR_USAGE or ERR_CONFIG names what is wrong. Nothing is built or
 * booted yet.
 */
int rig_bench_open(const struct rig_bench_cfg *cfg, struct rig_bench **ret,
		   struct err *e) must_check;
void rig_bench_close(struct rig_bench *rb);
DEFINE_AUTO(rig_bench, struct rig_bench *, rig_bench_close)
#define auto_rig_bench AUTO(rig_bench)

/* Belongs to rb. */
const struct bisect_bench *rig_bench_of(struct rig_bench *rb);

/*
 * For `git bisect run`: builds what is checked out in the worktree and tests it once, with so many
 * trials. *ret has the verdict in ->result; ->untestable if it does not build.
 */
int rig_bench_step(struct rig_bench *rb, const char *sha, unsigned trials, struct run **ret,
		   struct err *e) must_check;

/*
 * Removes the worktree that bisects of this repository share, with git's note of it. A missing one
 * is fine.
 */
int rig_bench_remove_worktree(struct waiter *w, const char *repo, struct err *e) must_check;

/*
 * What a trial of the run says about the wanted failure: a delay over the run's limit, or a number
 * outside one (see run_trial_is_outside()). Where there are limits on numbers delays alone do not
 * tell good from bad, so there is no delay_ms then. False: it is no observation, ret_why says why
 * it makes the kernel untestable ("" = the trial is invalid, no more). Pure.
 */
bool bisect_observe(const struct run *run, const struct trial *t, const char *failure,
		    struct bisect_observation *ret, char *ret_why, size_t cap);

/* "FROM..TO=FILE" in its parts. ERR_USAGE if it is not of that form. Caller frees. */
int hotfix_parse(const char *rule, char **ret_from, char **ret_to, char **ret_file,
		 struct err *e) must_check;
