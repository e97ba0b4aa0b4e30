/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * access.h - who may do what with a server of this machine over HTTP. Pure but for reading the
 * token's file.
 *
 * Reading needs the token if one is set. An action always needs it, and a sign that the request
 * was meant: the header "Authorization" (which no foreign page can send), or the cookie together
 * with the form field "csrf" and an Origin that is the server itself. Secrets are compared in a
 * time that does not depend on where they differ.
 *
 * "Authorization" may be "Bearer TOKEN" or, for clients that know only addresses as
 * http://ann:TOKEN@lab/ and .netrc files, Basic with the token as password. A browser repeats Basic
 * on its own, also for a foreign page, so it is not taken from one: the server never asks for it
 * (WWW-Authenticate), and refuses it together with Origin or Sec-Fetch-Site.
 */
#pragma once

#include "base/fdio.h"

#include <stdbool.h>

#define ACCESS_TOKEN_MIN 16 /* characters of a token */

struct access {
	const char *token;            /* NULL = none is set */
	const char *const *hosts;     /* further names, NULL-terminated; may be NULL */
	const char *address;          /* that the server listens on */
	char cookie[SHA256_HEX_SIZE]; /* what a browser that logged in shows */
	char csrf[SHA256_HEX_SIZE];
};

/* ERR_USAGE/-EINVAL for one that is too short or not of printable ASCII without blanks. */
int access_check_token(const char *token, struct err *e) must_check;
/*
 * The first line of a file that nobody but its owner may read (ERR_USAGE/-EACCES), checked as
 * above. Caller frees.
 */
int access_read_token(const char *path, char **ret, struct err *e) must_check;

/* token and hosts are not copied. */
void access_init(struct access *a, const char *token, const char *address,
		 const char *const *hosts);

struct access_words {
	/* header fields; NULL = absent */
	const char *host, *authorization, *cookie, *origin, *fetch_site; /* Sec-Fetch-Site */
	const char *csrf; /* form field; NULL = absent */
};

/* The name in "Host:" is one of this server's: no page of another name may talk to it. */
bool access_is_own_host(const struct access *a, const char *host);
bool access_may_read(const struct access *a, const struct access_words *w);
/*
 * Origin must name what "Host:" names, or one of the hosts (as behind a proxy that changes Host).
 */
bool access_may_act(const struct access *a, const struct access_words *w);
/*
 * The user name of a Basic authorization that is let in, in ret, cut at cap - 1 bytes. False for
 * any other.
 */
bool access_user(const struct access *a, const struct access_words *w, char *ret, size_t cap);
/* Why access_may_act() said no, for whoever asked. */
const char *access_refusal(const struct access *a, const struct access_words *w);
/* The token typed at the login page is the right one. */
bool access_is_token(const struct access *a, const char *token);

#define ACCESS_COOKIE "stallrig_session"
