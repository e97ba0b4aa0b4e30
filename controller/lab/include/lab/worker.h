/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worker.h - takes jobs from a store's queue and does them, one at a time, until it is stopped.
 *
 * A run is done by a process of its own ("stallrig job run"), so that a worker's signs of life go
 * on whatever a trial does, and a crash costs an attempt and not the worker. The process dies with
 * its worker. A worker that cannot renew its lease for as long as it lasts ends the run: by then
 * the job is another's.
 */
#pragma once

#include "base/waiter.h"
#include "store/queue.h"

struct lab_hooks {
	/* the worker is known to the store and takes jobs from now on; may be NULL */
	void (*ready)(void);
	/* one line for the journal: what was taken, how it ended, what went wrong */
	void (*say)(void *self, const char *text);
	void *self;
};

struct lab_pull_cfg;

struct lab_worker_cfg {
	const char *location;    /* of the store; NULL = the default one */
	const char *program;     /* path of stallrig, to start jobs with */
	const char *const *rigs; /* names or files, checked by the caller */
	size_t n_rigs;
	unsigned lease_s;                /* without a sign of life; 3 signs come in that time */
	unsigned idle_s;                 /* how often to look where no news come */
	bool ends_when_empty;            /* return when there is nothing to do now */
	const struct lab_pull_cfg *pull; /* a service that has jobs, see pull.h; NULL = none */
	struct waiter *w;
	const struct lab_hooks *hooks;
};

/*
 * Blocks. 0 when ends_when_empty and nothing is left; ERR_STOPPED after a stop signal (the job was
 * given back); otherwise only what cannot get better by waiting (usage, a store that is none). A
 * server that has gone is waited for.
 */
int lab_worker_run(const struct lab_worker_cfg *cfg, struct err *e) must_check;

/*
 * Does the job that worker holds, in this process, and ends it in the queue. *ret_state is what
 * became of it. -ESTALE: the job is no longer the worker's. ERR_STOPPED: not ended, the worker
 * decides. hooks may be NULL.
 */
int lab_job_run(struct store *st, const char *worker, const struct store_job *j, struct waiter *w,
		const struct lab_hooks *hooks, enum store_job_state *ret_state,
		struct err *e) must_check;

/* A job's parameters (store/queue.h) with one of them, a text. Caller frees. */
char *lab_job_parameter(const char *key, const char *value);

/* "user@host" of this process, for holders and submitters. */
void lab_who(char *ret, size_t cap);
