/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http_ask.h - one HTTP request to a service of the lab, as a client.
 *
 * All waiting goes through the waiter, so sources are served meanwhile and a stop ends it.
 * Redirections are not followed: what a switch is told, or a token, goes to the host that was named
 * and to no other one. URLs may hold a user name and a password ("http://ann:secret@pdu/"), which
 * are sent as Basic authentication and never shown; neither is what stands behind '?'.
 */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"

struct http_ask {
	const char *method;        /* "GET", "PUT", "POST" */
	const char *url;           /* http:// or https:// */
	const char *authorization; /* "Bearer TOKEN"; NULL = none */
	const char *type;          /* of the body */
	const void *body;          /* NULL = none */
	size_t body_bytes;
	nsec_t until_ns;   /* the whole answer must be there */
	size_t answer_max; /* bytes of the answer's body that are kept; the rest is dropped */
	int file; /* above 0: the body of an answer with status 2xx goes there, not to ret_body */
	struct waiter *w;
};

/*
 * Blocks until the answer is there in whole: *ret_status is its status, whatever it is, and its
 * body is added to ret_body. Errors (ERR_CONFIG, the URL as http_url_shown() gives it): -EINVAL no
 * http address, -ETIMEDOUT, -EIO everything else that goes wrong between two machines (no such
 * host, refused, cut off before the end), -EFBIG more than answer_max bytes for the file;
 * ERR_INTERNAL, as for a file that cannot be written; what waiter_until() returns.
 */
int http_ask(const struct http_ask *q, struct strbuf *ret_body, unsigned *ret_status,
	     struct err *e) must_check;

static inline bool http_is_success(unsigned status)
{
	return status >= 200 && status < 300;
}

/* The same request may get another status later. */
static inline bool http_may_heal(unsigned status)
{
	return status == 408 || status == 425 || status == 429 || status >= 500;
}

#define HTTP_SAID_MAX 120 /* bytes of an answer in an error */

/* What a service said, cut and without control characters, so that it can stand in a line. */
void http_add_said(struct strbuf *out, const struct strbuf *body);
/* The error of an answer that is no success: ERR_CONFIG, -EACCES for 401 and 403, else -EIO. */
int http_refused(const char *url, unsigned status, const struct strbuf *body,
		 struct err *e) must_check;

/* Can be asked: http:// or https://, with a host. */
bool http_is_url(const char *url);
/* Without user name, password, query and fragment. Caller frees. */
char *http_url_shown(const char *url);
/* As a value behind '?': "a b" -> "a%20b". Caller frees. */
char *http_escape(const char *text);
