/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages.h - the routes' handlers: each fills a reply from the store. */
#pragma once

#include "html.h"
#include "view.h"

#include <jansson.h>

/* 0, or a negative error that becomes the answer: -ENOENT 404, -EALREADY 409, ERR_USAGE 400, -EBUSY
   503, ERR_RIG 502. */
typedef int (*page_fn)(struct site *s, const struct request *rq, struct reply *rp, struct err *e);

struct route {
	const char *method;
	const char *pattern; /* "/api/v1/trials/{}" */
	page_fn fn;
};

/* Ends with a row whose method is NULL. */
extern const struct route routes[];

int page_front(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_front(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_run(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_run(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_runs(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_trial(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_trial(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_recording(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_trends(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_trend(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_trend(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_compare(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_compare(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_rigs(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_rigs(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_kernels(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_incidents(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_incidents(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_bisects(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_bisects(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_live(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_live(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_events(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_jobs(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_jobs(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_actions(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
/* Fill rp->order. */
int act_lock(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int act_unlock(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int act_switch(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int act_set_value(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int act_get_value(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int act_pdu(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int act_cancel(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int page_login(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_openapi(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int api_metrics(struct site *s, const struct request *rq, struct reply *rp, struct err *e);
int send_asset(struct site *s, const struct request *rq, struct reply *rp, struct err *e);

/* While the store stays as it is, only the clock makes an answer old: which night is tonight, which
   run has gone silent. */
#define FRESH_NS (10 * NSEC_PER_SEC)
/* What costs tens of milliseconds is not made anew for each of a lab's writes. */
#define SETTLED_NS NSEC_PER_SEC

/* The reply is this value; it is dropped. */
void reply_json(struct reply *rp, json_t *value);

/* What can be done with a rig, as forms, and what was done; nothing where nothing can be done.
   holder NULL = it is free. */
void add_rig_actions(struct strbuf *out, const struct site *s, const struct request *rq,
		     const char *rig, const char *holder);

/* ---- out of the store, in data.c ---- */

/* What the overview is made of, see store_overview(). */
int front_runs(struct site *s, const struct request *rq, struct run_list *ret,
	       struct err *e) must_check;

struct data_filter {
	const char *scenario, *rig, *rig_class; /* exact; NULL = any */
	const char *kernel;                     /* name or label contains this; NULL = any */
	int64_t since_wall_ns;                  /* started then or later; 0 = any */
	unsigned last;                          /* newest N; 0 = all */
};

/* Heads of runs, newest first. */
int data_runs(struct site *s, const struct data_filter *f, struct run_list *ret,
	      struct err *e) must_check;
/* A whole run; -ENOENT if there is none. */
int data_run(struct site *s, const char *id, struct run **ret, struct err *e) must_check;
/*
 * The runs that go on: not ended, and something was heard of them in the last RUNNING_SILENCE_S
 * (their start, or bytes on their console). Heads only.
 */
int data_running(struct site *s, struct run_list *ret, struct err *e) must_check;

#define RUNNING_SILENCE_S 600
