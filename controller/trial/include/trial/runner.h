/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner.h - executes a scenario on a rig with a kernel build: boots, trials, verdict. */
#pragma once

#include "kernels/kernels.h"
#include "rig/rig.h"
#include "trial/scenario.h"
#include "trial/trial.h"

/* Called as things happen; each may be NULL. They must not block. */
struct runner_hooks {
	/* one short line for a person: what goes on now */
	void (*phase)(void *self, const struct run *r, const char *text);
	/* the run's head is complete (ended_wall_ns 0), and again when it has ended */
	int (*run)(void *self, const struct run *r, struct err *e);
	/* the target is up, and again when the boot is over (console_bytes) */
	int (*boot)(void *self, const struct run *r, const struct trial_boot *b, struct err *e);
	/* a trial has ended */
	int (*trial)(void *self, const struct run *r, const struct trial *t, struct err *e);
};

struct runner_cfg {
	const struct rig_cfg *rig;
	const struct scenario *scenario;
	const struct kernel_build *kernel;
	const struct kernels_ctx *kernels;
	const char *append;         /* added to the kernel command line; NULL = nothing */
	unsigned trials;            /* valid trials wanted; 0 = the scenario's */
	unsigned per_boot;          /* trials per boot; 0 = the scenario's */
	const char *faults;         /* switch fault decorator, see rig/switch.h; NULL = none */
	nsec_t lock_wait_ns;        /* how long to wait for a rig that is held */
	const char *recordings_dir; /* NULL = path_state("recordings") */
	struct waiter *w;
	const struct runner_hooks *hooks;
	void *self;
};

/*
 * Blocks until the planned trials are done, a verdict is certain, or the rig or the kernel gives
 * up; *ret then has its verdict in ->result and 0 is returned. Negative (usage, config, store,
 * internal, stopped): *ret may still be set to what was done so far, judged.
 */
int runner_run(const struct runner_cfg *cfg, struct run **ret, struct err *e) must_check;
