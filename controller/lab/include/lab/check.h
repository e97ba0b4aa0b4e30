/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - the health of a rig: one unplug under its golden kernel, a build that is known to pass.
 * What fails then is the rig.
 */
#pragma once

#include "lab/worker.h"
#include "rig/rig.h"
#include "trial/trial.h"

/* The scenario of a check: one valid trial. */
#define CHECK_SCENARIO "rig-health"

enum check_part {
	CHECK_BOOT,          /* the golden kernel came up and the machine stayed up */
	CHECK_CONSOLE,       /* alive, and nothing was lost on it */
	CHECK_CONTROL,       /* an injected stall was seen with its length */
	CHECK_STICK_READS,   /* its file came whole into the page cache */
	CHECK_SWITCH,        /* off reads back as off */
	CHECK_STICK_GOES,    /* the target saw that very port go */
	CHECK_STICK_COMES,   /* and come again, as it was */
	CHECK_GOLDEN_KERNEL, /* PASS */
	CHECK_PART_MAX
};

/* "boot", "console", "control", "stick-reads", "switch", "stick-goes", "stick-comes",
   "golden-kernel". */
const char *check_part_name(enum check_part part);

enum check_state { CHECK_UNKNOWN, CHECK_OK, CHECK_FAILED };

/* "unknown", "ok", "failed". */
const char *check_state_name(enum check_state state);

struct check_result {
	struct {
		enum check_state state;
		char detail[256];
	} parts[CHECK_PART_MAX];
	/*
	 * PASS: all parts are ok. RIG_FAULT: one failed. INCONCLUSIVE: something disturbed it, as a
	 * host with too much to do; that says nothing about the rig.
	 */
	enum verdict verdict;
	char text[400]; /* one line: why, or what stands behind the ok */
};

/* What a run of the check's scenario with the golden kernel says about its rig. */
void check_judge(const struct run *r, struct check_result *ret);

/* The rig could not even be opened, or ended in an error: error is the reason. */
void check_judge_error(const char *error, struct check_result *ret);

/*
 * Keeps it in the store: as the rig's last check; a failed one puts the rig into quarantine, a
 * passed one ends its quarantine, one that says nothing changes neither.
 */
int check_keep(struct store *st, const char *rig, const struct check_result *res,
	       struct err *e) must_check;

struct check_cfg {
	struct store *store;
	const char *rig;    /* name or file */
	const char *kernel; /* NULL = the rig's golden_kernel */
	const char *faults; /* see rig/faults.h; NULL = none */
	nsec_t lock_wait_ns;
	struct waiter *w;
	const struct lab_hooks *hooks; /* may be NULL */
};

/*
 * Checks the rig here and now, and keeps the result. Blocks for a minute. The run is in the store
 * like any other; *ret_run (NULL if there was none) is the caller's. ERR_CONFIG if the rig has no
 * golden kernel and none is given, ERR_USAGE/-EBUSY if the rig is held: both say nothing about the
 * rig, and nothing is kept.
 */
int lab_check_rig(const struct check_cfg *cfg, struct check_result *ret, struct run **ret_run,
		  struct err *e) must_check;
