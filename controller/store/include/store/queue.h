/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - jobs that wait for a rig, who works on them, and who holds which rig.
 *
 * A worker takes a job for a time (a lease) and renews it while it works. Who does not renew loses
 * it: the job is taken by another, and what the first one reports then is refused (-ESTALE). With
 * one PostgreSQL many hosts share the queue; with SQLite the workers of one host. All lease times
 * are the database's clock.
 *
 * Rigs, workers and holders are known by their names. Errors and blocking as in store.h.
 */
#pragma once

#include "store/store.h"

enum store_job_state {
	STORE_JOB_QUEUED,
	STORE_JOB_RUNNING,
	STORE_JOB_DONE,      /* it has a verdict, whichever */
	STORE_JOB_FAILED,    /* it never came to one; error says why */
	STORE_JOB_CANCELLED, /* by a person */
	STORE_JOB_STATE_MAX
};

/* "queued", "running", "done", "failed", "cancelled". */
const char *store_job_state_name(enum store_job_state state);
bool store_job_state_parse(const char *name, enum store_job_state *ret);

/* Strings are owned and never NULL when read, except where it says so; NULL is "" when written. */
struct store_job {
	int64_t job; /* its number; 0 before it is stored */
	enum store_job_state state;
	char *kind;       /* "run", "replay", "check" */
	int64_t priority; /* the highest first, then the oldest */
	char *rig;        /* NULL = any */
	char *scenario, *kernel, *append;
	unsigned trials, boots; /* 0 = the scenario's */
	char *parameters;       /* a JSON object */
	int64_t night;          /* 0 = of no plan */
	char *item;             /* what of the plan, or of whoever asked for it; NULL = none */
	int64_t submitted_wall_ns;
	char *submitted_by;
	int64_t not_before_wall_ns; /* 0 = at once */
	unsigned attempts, attempts_max;
	bool is_cancel_wanted; /* while it runs */
	char *worker, *on_rig; /* of the newest attempt; NULL = none yet */
	int64_t lease_until_wall_ns, started_wall_ns, ended_wall_ns; /* 0 = not */
	char *run_id;          /* of the newest attempt that began one; NULL = none */
	char *verdict, *error; /* NULL = none */
};

void store_job_free(struct store_job *j);
DEFINE_AUTO(store_job, struct store_job *, store_job_free)
#define auto_store_job AUTO(store_job)

/*
 * Queues a job: what it is, priority, attempts_max (at least 1), submitted_by, not_before and the
 * plan's item are taken from j. *ret_job is its number. Returns 0, or 1 if that item of that night
 * (0 is like one) is in the queue already (then *ret_job is the one that is there).
 */
int store_job_submit(struct store *st, const struct store_job *j, int64_t *ret_job,
		     struct err *e) must_check;
/* n jobs in one transaction; numbers into ret_jobs[n], which may be NULL. */
int store_jobs_submit(struct store *st, const struct store_job *const *jobs, size_t n,
		      int64_t *ret_jobs, struct err *e) must_check;

struct store_job_filter {
	int64_t job;     /* 0 = all */
	int64_t night;   /* 0 = all */
	const char *rig; /* wanted or used; NULL = all */
	bool only_open;  /* queued or running */
	unsigned last;   /* newest N, 0 = all */
};

/* In the order in which they are taken: running, queued, then ended ones, the newest first. Caller
   frees with store_jobs_free(). */
int store_jobs(struct store *st, const struct store_job_filter *f, struct store_job ***ret,
	       size_t *ret_n, struct err *e) must_check;
void store_jobs_free(struct store_job **jobs, size_t n);

/* Counts of jobs by state. */
int store_job_counts(struct store *st, int64_t ret[STORE_JOB_STATE_MAX], struct err *e) must_check;

/*
 * A queued job is cancelled at once (returns 0), a running one when its worker hears of it (returns
 * 1). ERR_USAGE: -ENOENT, or -EALREADY if it has ended.
 */
int store_job_cancel(struct store *st, int64_t job, struct err *e) must_check;

/* ---- for workers ---- */

struct store_worker {
	char name[96]; /* unique: host, pid and something random */
	char host[64];
	int64_t pid;
	const char *const *rigs; /* that it can use */
	size_t n_rigs;
	int64_t lease_ns; /* how long a job is its own without a sign of life */
};

#define STORE_WORKER_RIGS_MAX 64

/* Says that the worker is there, and makes its rigs known. Again = its sign of life. */
int store_worker_register(struct store *st, const struct store_worker *w, struct err *e) must_check;
/* It goes on purpose: its rigs are free at once. */
int store_worker_leave(struct store *st, const struct store_worker *w, struct err *e) must_check;

/*
 * Takes the next job that one of the worker's rigs can do and holds that rig for it. A rig that
 * another holds is passed over; one that is in quarantine does jobs of kind "check" only. Jobs
 * whose worker has gone silent go back into the queue first (or are failed after attempts_max).
 * 1 = taken (caller frees), 0 = there is nothing to do now.
 */
int store_job_take(struct store *st, const struct store_worker *w, struct store_job **ret,
		   struct err *e) must_check;

/*
 * A sign of life for the job, its rig and the worker. 0, or 1 if it is to be cancelled. -ESTALE: it
 * is no longer this worker's, stop.
 */
int store_job_renew(struct store *st, const struct store_worker *w, const struct store_job *j,
		    struct err *e) must_check;

/*
 * The attempt's run has this id, and is or is about to be in the store. A job that is taken again
 * has the id of the last attempt's run: one that did not end can go on. -ESTALE as above.
 */
int store_job_began(struct store *st, const char *worker, const struct store_job *j,
		    const char *run_id, struct err *e) must_check;

struct store_job_result {
	enum store_job_state state; /* STORE_JOB_QUEUED = once more, failed after attempts_max */
	const struct run *run;      /* its end is stored in the same transaction; NULL = none */
	const char *error;          /* NULL = none */
	int64_t pause_ns;           /* before it is taken again */
};

/* Ends the attempt and frees the rig. -ESTALE: it is no longer this worker's; nothing was stored.
 */
int store_job_finish(struct store *st, const char *worker, const struct store_job *j,
		     const struct store_job_result *result, struct err *e) must_check;

/*
 * Readable when a job may have come (add it to a waiter); -1 = there is no such news, look again
 * after a while. The number can change after each call of this room. store_queue_has_news() takes
 * what came.
 */
int store_queue_listen(struct store *st, struct err *e) must_check;
int store_queue_fd(struct store *st);
bool store_queue_has_news(struct store *st);

/* ---- rigs ---- */

struct store_rig {
	char *rig;
	char *host;              /* NULL = no worker served it yet */
	int64_t checked_wall_ns; /* 0 = never */
	bool is_check_ok;
	char *check_text;            /* NULL = none */
	int64_t quarantined_wall_ns; /* 0 = it is not */
	char *quarantine_reason;     /* NULL = none */
	char *running;               /* what it does now; NULL = nothing */
	int64_t running_wall_ns;
	char *holder, *hold_purpose; /* NULL = free */
	int64_t held_wall_ns, held_until_wall_ns;
};

/* By name. A hold that is over does not show. Caller frees with store_rigs_free(). */
int store_rigs(struct store *st, struct store_rig **ret, size_t *ret_n, struct err *e) must_check;
void store_rigs_free(struct store_rig *rigs, size_t n);

/*
 * Holds the rig for holder until duration_ns from now; the same holder's is made longer or shorter.
 * ERR_USAGE/-EBUSY names who holds it until when.
 */
int store_rig_hold(struct store *st, const char *rig, const char *holder, const char *purpose,
		   int64_t duration_ns, struct err *e) must_check;
/* 0 if the rig is free or held by this holder, else ERR_USAGE/-EBUSY as above. Changes nothing. */
int store_rig_for(struct store *st, const char *rig, const char *holder, struct err *e) must_check;
/* holder NULL = whoever it is. ERR_USAGE/-ENOENT if nobody holds it, -EBUSY if another does. */
int store_rig_release(struct store *st, const char *rig, const char *holder,
		      struct err *e) must_check;
/* What the last check said. It does not touch the quarantine. */
int store_rig_checked(struct store *st, const char *rig, bool is_ok, const char *text,
		      struct err *e) must_check;
/* reason NULL = out of quarantine. */
int store_rig_quarantine(struct store *st, const char *rig, const char *reason,
			 struct err *e) must_check;

/* ---- wear ---- */

struct store_wear {
	char *rig;
	char *kind; /* "switch", "stick" */
	char *part; /* port or serial number */
	int64_t cycles;
	int64_t first_wall_ns, last_wall_ns;
};

/* Adds cycles (plug and unplug are one) to a part's count. kind is "switch" or "stick". */
int store_wear_add(struct store *st, const char *rig, const char *kind, const char *part,
		   int64_t cycles, struct err *e) must_check;
/*
 * Counts the cut of a trial on switch and stick: contacts and plugs wear out whether the trial is
 * valid or not. Nothing if it came to no cut or port is NULL (see switch_cfg_worn_part()).
 */
int store_count_cut(struct store *st, const char *rig, const char *port, const char *stick_serial,
		    const struct trial *t, struct err *e) must_check;
/* What a runner's trial hook does: adds the trial, counts its cut, updates the run's row. */
int store_trial_end(struct store *st, const struct run *r, const struct trial *t, const char *port,
		    const char *stick_serial, struct err *e) must_check;
/* By rig, kind and part; rig NULL = all. Caller frees with store_wear_free(). */
int store_wear(struct store *st, const char *rig, struct store_wear **ret, size_t *ret_n,
	       struct err *e) must_check;
void store_wear_free(struct store_wear *wear, size_t n);
/*
 * How worn a rig's switch (named by its port; NULL = nothing is cut: all 0) and its stick are. A
 * stick's cuts count wherever it was cut.
 */
int store_wear_of(struct store *st, const char *rig, const char *port, const char *stick_serial,
		  uint64_t *ret_switch_cycles, uint64_t *ret_stick_cycles,
		  struct err *e) must_check;
/* Forgets the count of a part, because a new one is in its place. -ENOENT (ERR_USAGE): it has none.
 */
int store_wear_forget(struct store *st, const char *rig, const char *part,
		      struct err *e) must_check;
