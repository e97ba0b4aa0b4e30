/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dashboard.h - what got worse, where and since when: the store as pages and as a JSON API, over
 * HTTP (`stallrig serve`) or as files (`stallrig report --html DIR/`).
 *
 * Pages work without a script; the script adds charts and the live view and gets its numbers from
 * the API /api/v1, which docs/openapi.json describes. One process, no threads: the server is a
 * source of the waiter, and each request is answered from the store before the next one.
 */
#pragma once

#include "base/waiter.h"
#include "store/store.h"

#include <stdbool.h>

#define DASHBOARD_PORT 8087

/* Limits of the server; tests/unit/test_dashboard_http.c goes to each of them. */
#define DASHBOARD_CONNECTIONS_MAX 2000  /* beyond it, new ones wait in the listen queue */
#define DASHBOARD_HEAD_BYTES_MAX  16384 /* request line and header; beyond it 413, 414 or 431 */
#define DASHBOARD_URL_BYTES_MAX   2048
#define DASHBOARD_BODY_BYTES_MAX  4096
#define DASHBOARD_REQUEST_S       15 /* from connecting, or the last answer, to a whole request */
#define DASHBOARD_ANSWER_S        60 /* for taking an answer; recordings: DASHBOARD_DOWNLOAD_S */
#define DASHBOARD_DOWNLOAD_S      3600
#define DASHBOARD_VIEWERS_MAX     500 /* of live views; beyond it 503 */

struct dashboard_cfg {
	const char *address; /* NULL = 127.0.0.1; an IPv4 or IPv6 address */
	uint16_t port;       /* 0 = any that is free, see dashboard_port() */
	/*
	 * Secret that a client must show ("Authorization: Bearer", or the login page's cookie), as
	 * base/access.h wants it.
	 * NULL: none, only allowed on a loopback address; then there are no actions.
	 */
	const char *token;
	/* Further names by which clients may call the server ("Host:"), NULL-terminated; may be
	   NULL. Others than these, the address and loopback names are refused against DNS
	   rebinding. */
	const char *const *hosts;
	const char *recordings_dir; /* of runs that go on; NULL = path_state("recordings") */
	/*
	 * What actions (lock, cancel, switch) are carried out with: the path of this program and
	 * what its --store gets (NULL = nothing). program NULL, or no token: there are no actions.
	 * log(self, line) gets a line for each action and each refused attempt; may be NULL.
	 */
	const char *program;
	const char *store_location;
	void (*log)(void *self, const char *line);
	void *log_self;
	struct store *store; /* opened STORE_READ; stays the caller's */
	struct waiter *w;
};

struct dashboard;

/*
 * Begins to listen. ERR_USAGE: an address that is none, is taken or may not be had without a token.
 */
int dashboard_open(const struct dashboard_cfg *cfg, struct dashboard **ret,
		   struct err *e) must_check;
/* Ends all connections. Accepts NULL. */
void dashboard_close(struct dashboard *d);
DEFINE_AUTO(dashboard, struct dashboard *, dashboard_close)
#define auto_dashboard AUTO(dashboard)

uint16_t dashboard_port(const struct dashboard *d);
/* "http://127.0.0.1:8087/". Caller frees. */
char *dashboard_url(const struct dashboard *d);

/* Serves until until_ns (0), or a stop or an error of the waiter (negative). */
int dashboard_serve(struct dashboard *d, nsec_t until_ns, struct err *e) must_check;

/*
 * The same pages and API answers as files under dir (made if missing), for any web server. What is
 * there already is replaced, what is no longer made stays. ERR_INTERNAL names the file.
 */
int dashboard_write_site(struct store *st, const char *dir, struct err *e) must_check;
