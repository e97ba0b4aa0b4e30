/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http.h - HTTP over sockets: limits, access, and the way from a connection to a route and back. */
#pragma once

#include "request.h"

struct http;

struct http_cfg {
	const char *address;
	uint16_t port;
	const char *token;
	const char *const *hosts;
	struct site *site;
	struct waiter *w;
};

int http_open(const struct http_cfg *cfg, struct http **ret, struct err *e) must_check;
/* Accepts NULL. */
void http_close(struct http *h);
uint16_t http_port(const struct http *h);
/* For waiter_until(): a socket has something for http_run(). */
bool http_has_news(void *http);
/* Does what can be done now; returns until when nothing but news from a socket is to be waited for.
 */
nsec_t http_run(struct http *h);
