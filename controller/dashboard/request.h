/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.h - a request and its answer, without sockets: what the routes work on. The server
 * (http.c), the writer of static sites (site.c) and the tests all come through here.
 */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"
#include "store/store.h"

#define REQUEST_ARGS_MAX  16 /* words after '?'; further ones are ignored */
#define REQUEST_PARTS_MAX 6  /* variable parts of a path */

struct live;
struct action_order;
struct action_set;
struct cache;

/* Pages of a site of files, below the root and without suffix: "runs/ID". */
struct page_set {
	char **paths; /* owned; sorted */
	size_t n;
};

struct request {
	const char *method;
	const char *path; /* decoded, begins with '/' */
	struct {
		const char *key, *value;
	} args[REQUEST_ARGS_MAX];
	size_t n_args;                        /* of a POST: its form */
	const char *body;                     /* of a PUT, else NULL */
	const char *parts[REQUEST_PARTS_MAX]; /* of the path, by the route's {…}; filled in by it */
	bool is_static;               /* for a file: links get ".html", no live view, no actions */
	const struct page_set *pages; /* what can be linked to; NULL: every page */
	bool has_actions;             /* a token is set: actions may be offered */
	const char *csrf;             /* value of the form field "csrf"; NULL without actions */
	const char *address;          /* of the client */
	const char *user; /* as it calls itself with Basic authorization; NULL = it does not */
};

struct reply {
	unsigned status;
	const char *type;   /* of the body */
	struct strbuf body; /* owned */
	int fd;             /* file to send instead of the body, or -1; owned */
	uint64_t fd_bytes;
	char *file_name;          /* "Content-Disposition: attachment"; owned, NULL = shown */
	char *location;           /* of a redirection; owned, NULL = none */
	char *etag;               /* owned; NULL = none */
	char error[ERR_TEXT_MAX]; /* what went wrong, if the status says so */
	int64_t fresh_ns; /* how long it stays right while the store does not change; 0 = unknown */
	int64_t settled_ns;         /* how long it may be given although the store has changed */
	bool is_immutable;          /* its URL holds a hash: may be kept for ever */
	struct live *live;          /* sent as it comes; not owned */
	struct action_order *order; /* to be carried out before there is an answer; owned */
};

#define REPLY_INIT                       \
	{                                \
		.status = 200, .fd = -1, \
	}

void reply_release(struct reply *rp);

/* What answers are made from. */
struct site {
	struct store *store;
	const char *recordings_dir; /* of runs that go on */
	struct metrics *metrics;    /* NULL: no server */
	struct live_set *live;      /* NULL: no live view */
	struct action_set *actions; /* NULL: nothing can be done */
	struct cache *cache;        /* NULL: every answer is made anew */
	const char *store_location; /* for those who are to act on it; NULL = the default one */
};

/* The value of ?key=, NULL if absent or empty. */
const char *request_arg(const struct request *rq, const char *key);

/*
 * Answers rq. Never fails: errors are answers too, in the form that the path promises (a page, or
 * {"error"} below /api). rp is REPLY_INIT before, reply_release() afterwards.
 */
void site_answer(struct site *s, struct request *rq, struct reply *rp);
/* The same for what went wrong later. */
void site_answer_error(const struct request *rq, const struct err *e, struct reply *rp);
/* An action was not allowed. */
void site_answer_refusal(const struct request *rq, unsigned status, const char *why,
			 struct reply *rp);
/* An action was carried out, and its command said this (not for pages: they are redirected). */
void site_answer_done(const struct request *rq, const char *said, struct reply *rp);
/* Whether what is at rq's path is for programs, not a page. */
bool request_is_api(const struct request *rq);
/* Whether it asks for something to be done: POST, PUT, and the GETs of interfaces that have no
   other method. */
bool request_is_act(const struct request *rq);
