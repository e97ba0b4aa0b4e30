/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * access.h - who may do what. Pure.
 *
 * Reading needs the token if one is set. An action always needs it, and a sign that the request
 * was meant: the header "Authorization" (which no foreign page can send), or the cookie together
 * with the form field "csrf" and an Origin that is the server itself.
 */
#pragma once

#include "base/fdio.h"

struct access {
	const char *token;            /* NULL = none is set */
	const char *const *hosts;     /* further names; may be NULL */
	const char *address;          /* that the server listens on */
	char cookie[SHA256_HEX_SIZE]; /* what a browser that logged in shows */
	char csrf[SHA256_HEX_SIZE];
};

/* token is not copied. */
void access_init(struct access *a, const char *token, const char *address,
		 const char *const *hosts);

struct access_words {
	const char *host, *authorization, *cookie, *origin; /* header fields; NULL = absent */
	const char *csrf;                                   /* form field; NULL = absent */
};

/* The name in "Host:" is one of this server's: no page of another name may talk to it. */
bool access_is_own_host(const struct access *a, const char *host);
bool access_may_read(const struct access *a, const struct access_words *w);
bool access_may_act(const struct access *a, const struct access_words *w);
/* The token typed at the login page is the right one. */
bool access_is_token(const struct access *a, const char *token);

#define ACCESS_COOKIE "stallrig_session"
