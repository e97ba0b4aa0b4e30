/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull_priv.h - what the files of pull.h share; not for others. */
#pragma once

#include "base/strbuf.h"
#include "lab/pull.h"
#include "store/queue.h"
#include "store/store.h"

#include <jansson.h>

#define PULL_ASK_NS (60 * NSEC_PER_SEC) /* for what is small */

/*
 * A job that is not answered yet. Its record, the file NODE.json:
 *   "state"      "taken": its tests are not in the queue yet; "queued"; "ended": "answer" is to be
 *                posted. Of one that is over only "node" and "state" stay: "answered", "refused"
 *   "rig", "definition" (as it came), "error" (the lab cannot do it)
 *   "tests"      {"id", "job"} of those in the queue, and whole results of the others
 */
struct pulled {
	struct pulled *next;
	char *node;
	json_t *record;
	nsec_t retry_ns; /* not before; 0 = at once */
	unsigned tries;  /* of fetching its kernel */
};

struct pull {
	const struct lab_pull_cfg *cfg;
	const char *const *rigs;
	size_t n_rigs;
	struct store *st;
	struct waiter *w;
	const struct lab_hooks *hooks;
	char *dir;
	int lock_fd;
	char *cursor; /* time stamp of the last event that was dealt with */
	nsec_t next_ns;
	bool has_failed; /* the last time that it asked */
	struct pulled *open;
	size_t n_open;
};

void pull_say(const struct pull *p, const char *fmt, ...) printf_like(2, 3);

/*
 * GET. -EAGAIN: later it may be better. -EBADMSG: it will not. Into file if that is above 0, else
 * at most max bytes are added to ret.
 */
int pull_get(const struct pull *p, const char *url, nsec_t timeout_ns, size_t max, int file,
	     struct strbuf *ret, struct err *e) must_check;

/* ---- JSON ---- */

/* Takes value over. */
void pull_set(json_t *obj, const char *key, json_t *value);
/* What is no UTF-8, as a text that was cut, loses all that is no ASCII. A new reference. */
json_t *pull_text_json(const char *text);
/* "" if it is not there or no string. */
const char *pull_text_of(const json_t *obj, const char *key);
/* NULL if it is no JSON. A new reference. */
json_t *pull_parse(const struct strbuf *text);

/* ---- pull_record.c ---- */

/* Caller frees. */
char *pull_record_path(const struct pull *p, const char *node);
int pull_write_record(const struct pull *p, const char *node, const json_t *record,
		      struct err *e) must_check;
/* The job's record as it is now, on the disk. */
int pull_keep(const struct pull *p, const struct pulled *j, struct err *e) must_check;
/* It is over: what stays is that it was. */
int pull_close_record(const struct pull *p, const struct pulled *j, const char *state,
		      struct err *e) must_check;
/* Takes the record over. */
void pull_add_open(struct pull *p, const char *node, json_t *record);
void pulled_free(struct pulled *j);
/* Jobs that are not answered yet, and up to where events were dealt with. */
int pull_load_records(struct pull *p, struct err *e) must_check;

/* ---- pull_kernel.c ---- */

/*
 * The kernel of the job's artifacts is in the store; its name follows from where it comes from.
 * -EAGAIN, -EBADMSG as pull_get(). Caller frees *ret.
 */
int pull_ensure_kernel(const struct pull *p, const json_t *definition, char **ret,
		       struct err *e) must_check;

/* ---- pull_jobs.c ---- */

/* The entry of a test that is not run. A new reference. */
json_t *pull_unrun(const char *id, const char *status, const char *why);
/* From "taken" to "queued". -EAGAIN: later. */
int pull_begin(struct pull *p, struct pulled *j, struct err *e) must_check;

/* ---- pull_answer.c ---- */

/* From "queued" to "ended", if all its jobs have ended. */
int pull_finish(struct pull *p, struct pulled *j, struct err *e) must_check;
/* 0 = it is over; -EAGAIN. */
int pull_post(struct pull *p, const struct pulled *j, struct err *e) must_check;
