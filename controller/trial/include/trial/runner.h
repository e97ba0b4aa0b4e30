/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner.h - executes a scenario on a rig with a kernel build: boots, trials, verdict. */
#pragma once

#include "kernels/kernels.h"
#include "rig/rig.h"
#include "trial/scenario.h"
#include "trial/trial.h"
#include "trial/waivers.h"

/* Called as things happen; each may be NULL. They must not block. */
struct runner_hooks {
	/* one short line for a person: what goes on now */
	void (*phase)(void *self, const struct run *r, const char *text);
	/* the run's head is complete (ended_wall_ns 0), and again when it has ended */
	int (*run)(void *self, const struct run *r, struct err *e);
	/* before each boot: how worn the rig's switch and stick are; NULL = it is not counted */
	int (*wear)(void *self, struct switch_wear *ret, struct err *e);
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
	const struct run *baseline; /* what a load scenario's numbers are held against; NULL */
	unsigned trials;            /* valid trials wanted; 0 = the scenario's */
	unsigned per_boot;          /* trials per boot; 0 = the scenario's */
	/* incidents that do not condemn the kernel, and the file that they are from; NULL: none */
	const struct waivers *waivers;
	const char *waivers_path;
	const char *faults;         /* switch fault decorator, see rig/switch.h; NULL = none */
	nsec_t lock_wait_ns;        /* how long to wait for a rig that is held */
	const char *recordings_dir; /* NULL = path_state("recordings") */
	/*
	 * A run that did not end, with everything that the store has of it: it goes on under its
	 * own id with its own plan (`trials` is ignored) until that is fulfilled; a boot never goes
	 * on, the next one follows. NULL = a new run. If it does, *ret is that same run; as long as
	 * *ret is not set it stays the caller's.
	 */
	struct run *resume;
	struct waiter *w;
	const struct runner_hooks *hooks;
	void *self;
};

/*
 * Blocks until the planned trials are done, a verdict is certain, or the rig or the kernel gives
 * up; *ret then has its verdict in ->result and 0 is returned. Negative (usage, config, store,
 * internal, stopped): *ret may still be set to what was done so far, judged. A run to go on with
 * that is of another rig, scenario, kernel build or command line, or has ended, is
 * ERR_USAGE/-EINVAL.
 */
int runner_run(const struct runner_cfg *cfg, struct run **ret, struct err *e) must_check;
