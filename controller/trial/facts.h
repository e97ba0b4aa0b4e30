/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts.h - the observation of a trial as a file, so that it can be judged again. Private to the
 * room. Host times in the file are relative to the start of the boot's recording.
 */
#pragma once

#include "trial/evidence.h"
#include "trial/trial.h"

#include <jansson.h>

/* What a run was judged by, beside its scenario. */
struct facts_setup {
	const char *usb_path;
	unsigned console_baud;
	const char *waivers_path; /* NULL: none */
};

/*
 * Writes <dir>/run.json, <dir>/scenario.yaml and, if there are waivers, <dir>/waivers.yaml;
 * run.json again after each trial, so that the number of trials in it is right, and when the run
 * has ended.
 */
int facts_write_run(const char *dir, const struct run *r, const struct scenario *sc,
		    const struct facts_setup *setup, struct err *e) must_check;
/* Writes <dir>/trial-<number>.json. t0_ns: start of the boot's recording. */
int facts_write_trial(const char *dir, const struct trial *t, const struct observation *o,
		      nsec_t t0_ns, struct err *e) must_check;

/* A trial's facts as read back; its texts belong to root. */
struct facts {
	json_t *root;
	struct trial *trial; /* numbers of the trial; owned until taken */
	struct observation obs;
	struct trial_number *numbers; /* of the observation; owned */
	bool has_indexes;             /* of an earlier version, which wrote indexes and no places */
	/* counters were read when the console had given so many bytes */
	uint64_t integrity_before_at, integrity_after_at;
};

/* Until facts_find_events() the observation's indexes into the event log are places (event_log.h).
 */
int facts_read_trial(const char *path, struct facts *ret, struct err *e) must_check;
/*
 * With the events of the boot, whose console gave n_bytes, places become indexes. ERR_STORE if the
 * trial saw more of the console than that.
 */
int facts_find_events(struct facts *f, const struct event_log *log, uint64_t n_bytes,
		      struct err *e) must_check;
void facts_release(struct facts *f);
/* What run.json says beside the run. */
struct facts_head {
	char *usb_path; /* owned */
	unsigned console_baud;
	bool has_waivers;
	unsigned last_trial; /* number of the last one, 0: none */
};

void facts_head_release(struct facts_head *h);
/* A run without trials. */
int facts_read_run(const char *dir, struct run **ret, struct facts_head *ret_head,
		   struct err *e) must_check;
