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

struct request {
	const char *method;
	const char *path; /* decoded, begins with '/' */
	struct {
		const char *key, *value;
	} args[REQUEST_ARGS_MAX];
	size_t n_args;
	const char *parts[REQUEST_PARTS_MAX]; /* of the path, by the route's {…}; filled in by it */
	bool is_static;   /* for a file: links get ".html", no live view, no actions */
	bool has_actions; /* a token is set: actions may be offered */
	const char *csrf; /* value of the form field "csrf"; NULL without actions */
};

struct reply {
	unsigned status;
	const char *type;   /* of the body */
	struct strbuf body; /* owned */
	int fd;             /* file to send instead of the body, or -1; owned */
	uint64_t fd_bytes;
	char *file_name;   /* "Content-Disposition: attachment"; owned, NULL = shown */
	char *location;    /* of a redirection; owned, NULL = none */
	char *etag;        /* owned; NULL = none */
	bool is_immutable; /* its URL holds a hash: may be kept for ever */
	struct live *live; /* sent as it comes; not owned */
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
};

/* The value of ?key=, NULL if absent or empty. */
const char *request_arg(const struct request *rq, const char *key);

/*
 * Answers rq. Never fails: errors are answers too, in the form that the path promises (a page, or
 * {"error"} below /api). rp is REPLY_INIT before, reply_release() afterwards.
 */
void site_answer(struct site *s, struct request *rq, struct reply *rp);
