/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pull.h - a lab of KernelCI that needs no way in: jobs are asked for at its API (PULL_LABS), go
 * into the queue of the store, and what came of them is posted to where each job says.
 *
 * What was taken lies in the state folder, a file for each node, and moves on by renames: after any
 * stop a job that was taken goes on where it was, is done once, and its result is posted until the
 * service takes it. A stop between posting and the note of it posts the same result again.
 *
 * A job is this lab's if its platform is the name of one of the rigs. Of its tests those of the
 * type "stallrig" are run, the others answered with "skip". Their parameters are words
 * "scenario=NAME" (else the test's id is one), "kernel=NAME" or "kernel=debian:SERIES" (else the
 * job's artifacts are fetched: kernel, modules, and, beyond the protocol, config and headers,
 * without which the probe cannot be built) and "trials=N".
 */
#pragma once

#include "lab/worker.h"

#include <jansson.h>

#define PULL_OPEN_MAX \
	1000u /* jobs that are not answered yet; further ones are left at the service */
#define PULL_TESTS_MAX 64u /* of one job */

struct lab_pull_cfg {
	const char *url;     /* of the API, as https://api.kernelci.org/latest */
	const char *runtime; /* the lab's name there; NULL = any */
	const char *token;   /* sent as Authorization with results; NULL = none */
	unsigned poll_s;
};

struct pull;

/*
 * rigs: names. All but hooks is borrowed. ERR_USAGE: no http address, or another worker of this
 * host asks there already (-EBUSY).
 */
int pull_open(const struct lab_pull_cfg *cfg, const char *const *rigs, size_t n_rigs,
	      struct store *st, struct waiter *w, const struct lab_hooks *hooks, struct pull **ret,
	      struct err *e) must_check;
/* Accepts NULL. */
void pull_close(struct pull *p);
/*
 * Asks for jobs if it is time, puts them into the queue, posts what has ended. 1 = a job is not
 * answered yet or the service was not to be had, 0 = nothing is left to do. Blocks for what is
 * fetched and posted. Errors of the service are said and tried again later; negative: the store's,
 * ERR_STOPPED, ERR_INTERNAL.
 */
int pull_turn(struct pull *p, struct err *e) must_check;

/*
 * What is posted of a job: tests is an array of {"id", "status", "why"?, "duration_ms"?,
 * "metrics"?}; system: the rig. error NULL = none; else the lab could not do the job. A new
 * reference.
 */
json_t *pull_answer(const json_t *tests, const char *system, const char *error);
/* The entry of a test whose job has ended; run may be NULL. A new reference. */
json_t *pull_test(const char *id, const struct store_job *j, const struct run *run);
