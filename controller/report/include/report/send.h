/* SPDX-License-Identifier: GPL-2.0-or-later */
/* send.h - a report posted to a service, as KCIDB's. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "base/waiter.h"

struct send_cfg {
	const char *url;   /* http:// or https:// */
	const char *token; /* sent as "Authorization: Bearer", never shown; NULL = none */
	unsigned tries;    /* in all, at least 1 */
	nsec_t pause_ns;   /* before the second try; twice as long before each further one */
	nsec_t timeout_ns; /* of one try */
	struct waiter *w;
	/* may be NULL: a try failed and another one follows */
	void (*failed)(void *self, const char *text);
	void *self;
};

#define SEND_ANSWER_MAX 65536 /* bytes of the answer that are kept */

/*
 * Posts the JSON text. What time can heal (no connection, a time-out, status 408, 429 and 5xx) is
 * tried again: what is sent must be such that twice is no harm. *ret_answer: the body of the
 * answer. Blocks for up to tries x timeout and the pauses. ERR_CONFIG names URL, status and what
 * the server said; -EACCES for 401 and 403, -ETIMEDOUT or -EIO for what did not heal; ERR_STOPPED.
 */
int send_json(const struct send_cfg *cfg, const struct strbuf *json, struct strbuf *ret_answer,
	      struct err *e) must_check;
