/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_priv.h - the state of a run, shared by runner.c (runs, boots) and steps.c (trials). */
#pragma once

#include "machine_watch.h"
#include "trial/evidence.h"
#include "trial/recording.h"
#include "trial/runner.h"

#define CALL_NS  (10 * NSEC_PER_SEC) /* an agent command that does no bulk work */
#define STICK_NS (30 * NSEC_PER_SEC) /* from power to the block device */

struct runner {
	const struct runner_cfg *cfg;
	const struct scenario *sc;
	struct waiter *w;
	struct run *run;
	char *dir; /* recordings of this run */
	struct rig *rig;
	struct rng rng;
	unsigned failed_boots;   /* in a row */
	bool is_rig_suspect;     /* one of them failed because of the bench */
	bool is_content_checked; /* the stick's file had the expected hash in this run */
	/* of the target's persistent store, see collect.c */
	bool is_pstore_known;  /* it was empty when it was looked at last, */
	unsigned n_crashed;    /* … and so many boots since then may have left records, */
	unsigned crashed_boot; /* … the last of which is this one */

	/* of the boot that is going on */
	struct trial_boot *boot;
	struct recording *rec;
	struct console_parser *parser;
	struct event_log log;
	struct err console_err; /* a recording that could not be written */
	char agent_release[96];
	char agent_version[192];
	char *environment;
	struct machine_watch machine;
	bool is_crashed;         /* its kernel crashed, hung or ended the machine */
	bool is_collecting;      /* it is there for the pstore records only */
	bool is_set_up;          /* the scenario's commands have run in this boot */
	bool is_profile_checked; /* the kernel has functions of each of the scenario's sets */
	char device[64];         /* "/dev/sda" */
	char file_path[256];     /* what is read */

	/* of the trial that is going on */
	struct trial *trial;
	struct observation obs;
	char mark_start[33];
	char mark_end[33];
	char replug_path[64];
	char worst_func[64];
	char load_progress[8192]; /* observation.load_progress: two words a second */
	struct strbuf samples;    /* as obs has them */
	char failed_why[256];
	char *environment_now;
	struct trial_number *numbers;  /* of the loads, as obs has them */
	struct strbuf load_words;      /* all that the loads answered, for the recording */
	bool is_profiling;             /* the target's sampler runs */
	int64_t profile_start_ns;      /* CLOCK_MONOTONIC of the target */
	int64_t window_from_us;        /* of the window that is open */
	struct strbuf profile_windows; /* records of those that are closed */
};

/* A measurement of the trial; its name is cut where it is too long. */
void runner_add_number(struct runner *rn, const char *name, int64_t value);
/* One short line for a person: what goes on now. */
void runner_phase(struct runner *rn, const char *fmt, ...) printf_like(2, 3);
/* True if this boot's console shows something that condemns the kernel. */
bool runner_has_crash(const struct runner *rn);

/* Value of key= in an agent's reply, percent-decoded. */
bool reply_text(const char *reply, const char *key, char *ret, size_t cap);
/* Waits until the target sees the rig's stick; its words go to ret. -ENODEV at the deadline. */
int runner_await_stick(struct runner *rn, nsec_t deadline_ns, struct strbuf *ret,
		       struct err *e) must_check;
/* What must not change while trials of one boot are compared. Caller frees. */
int runner_read_environment(struct runner *rn, char **ret, struct err *e) must_check;

/*
 * collect.c: moves the pstore records of earlier boots from the target into the run's folder. An
 * error of the target becomes a note of the run; negative only for what makes the run pointless.
 * Does nothing on a rig without boot.pstore.
 */
int collect_records(struct runner *rn, struct err *e) must_check;
/* Tells a person and the run's folder why there are none. */
int collect_note(struct runner *rn, const char *text, struct err *e) must_check;

enum { STEP_GO = 0, STEP_OVER = 1 };

/*
 * profile_steps.c: the sampler on the target. All do nothing in a scenario without a profile. Begin
 * returns once it samples; a window is between open and close; end takes the samples, keeps them
 * as trial-<n>-profile.txt and adds the numbers <window>_samples and <window>_<set>_ppm. Drop ends
 * it without that and cannot fail.
 */
int profiling_begin(struct runner *rn, struct err *e) must_check;
int profiling_open(struct runner *rn, struct err *e) must_check;
int profiling_close(struct runner *rn, const char *window, struct err *e) must_check;
int profiling_end(struct runner *rn, struct err *e) must_check;
void profiling_drop(struct runner *rn);

/* The steps of a load scenario: its commands, once a boot; the loads, measured. */
int step_set_up(struct runner *rn, struct err *e) must_check;
int step_loads(struct runner *rn, struct err *e) must_check;

/*
 * Executes the trial that rn->trial and rn->obs describe. Errors of the target become missing
 * evidence; negative only for what makes the whole run pointless. *ret_is_boot_usable: the target
 * is as it was before, another trial may follow.
 */
int steps_run(struct runner *rn, bool *ret_is_boot_usable, struct err *e) must_check;
