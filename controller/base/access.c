/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.c - who may do what. */
#include "base/access.h"

#include <nettle/base64.h>
#include <nettle/memops.h>

#include <string.h>
#include <sys/stat.h>

#define TOKEN_FILE_MAX 4096
#define BASIC_MAX      1024 /* characters of a Basic authorization */

int access_check_token(const char *token, struct err *e)
{
	if (strlen(token) < ACCESS_TOKEN_MIN)
		return err_set(e, ERR_USAGE, EINVAL,
			       "the token has %zu characters, at least %d are needed",
			       strlen(token), ACCESS_TOKEN_MIN);
	for (const char *p = token; *p; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(
				e, ERR_USAGE, EINVAL,
				"the token has a character that is no printable ASCII at %zu",
				(size_t)(p - token) + 1);
	return 0;
}

int access_read_token(const char *path, char **ret, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *token = NULL;
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return err_errno(e, ERR_USAGE, errno, "token file '%s'", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(e, ERR_USAGE, EACCES,
			       "token file '%s': others than its owner can read it, chmod 600 it",
			       path);
	r = file_read(path, TOKEN_FILE_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_USAGE);
	token = xasprintf("%.*s", (int)strcspn(strbuf_str(&text), "\r\n"), strbuf_str(&text));
	r = access_check_token(token, e);
	if (r < 0)
		return err_wrap(e, "token file '%s'", path);
	*ret = take(token);
	return 0;
}

/* Digests of one length are compared, so that the time taken tells neither where the two differ nor
   how long the secret is. */
static bool is_same(const char *shown, const char *secret)
{
	char a[SHA256_HEX_SIZE];
	char b[SHA256_HEX_SIZE];

	sha256_bytes(shown, strlen(shown), a);
	sha256_bytes(secret, strlen(secret), b);
	return memeql_sec(a, b, sizeof(a));
}

static void derive(const char *what, const char *token, char ret[SHA256_HEX_SIZE])
{
	auto_free char *text = xasprintf("stallrig %s %s", what, token);

	sha256_bytes(text, strlen(text), ret);
}

void access_init(struct access *a, const char *token, const char *address, const char *const *hosts)
{
	*a = (struct access){.token = token, .hosts = hosts, .address = address};
	if (!token)
		return;
	derive("session", token, a->cookie);
	derive("form", token, a->csrf);
}

/* The name without a port: "[::1]:8087" -> "::1". */
static void host_name(const char *host, char *ret, size_t cap)
{
	size_t n;

	if (*host == '[') {
		host++;
		n = strcspn(host, "]");
	} else {
		n = strcspn(host, ":");
	}
	(void)snprintf(ret, cap, "%.*s", n < cap ? (int)n : 0, host);
}

bool access_is_own_host(const struct access *a, const char *host)
{
	static const char *const loopback[] = {"localhost", "127.0.0.1", "::1"};
	char name[256];

	if (!host)
		return false;
	host_name(host, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		if (strcasecmp(name, loopback[i]) == 0)
			return true;
	for (size_t i = 0; a->hosts && a->hosts[i]; i++)
		if (strcasecmp(name, a->hosts[i]) == 0)
			return true;
	return strcasecmp(name, a->address) == 0;
}

/* What stands behind the scheme; NULL if it is another one. */
static const char *behind_scheme(const char *authorization, const char *scheme)
{
	size_t n = strlen(scheme);

	return authorization && strncasecmp(authorization, scheme, n) == 0 ? authorization + n
									   : NULL;
}

static bool has_bearer(const struct access *a, const char *authorization)
{
	const char *shown = behind_scheme(authorization, "Bearer ");

	return shown && is_same(shown, a->token);
}

bool access_user(const struct access *a, const struct access_words *w, char *ret, size_t cap)
{
	const char *coded = behind_scheme(w->authorization, "Basic ");
	char text[BASE64_DECODE_LENGTH(BASIC_MAX) + 1];
	struct base64_decode_ctx ctx;
	size_t n = sizeof(text) - 1;
	char *colon;

	if (!a->token || !coded || w->origin || w->fetch_site || strlen(coded) > BASIC_MAX)
		return false;
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &n, (uint8_t *)text, strlen(coded), coded) ||
	    !base64_decode_final(&ctx))
		return false;
	text[n] = '\0';
	colon = strchr(text, ':');
	if (!colon || strlen(text) != n || !is_same(colon + 1, a->token))
		return false;
	(void)snprintf(ret, cap, "%.*s", (int)(colon - text), text);
	return true;
}

/* In a header that a program sends. */
static bool shows_token(const struct access *a, const struct access_words *w)
{
	char user[2];

	return has_bearer(a, w->authorization) || access_user(a, w, user, sizeof(user));
}

bool access_may_read(const struct access *a, const struct access_words *w)
{
	return !a->token || shows_token(a, w) || (w->cookie && is_same(w->cookie, a->cookie));
}

/* "http://lab:8087" names the server that "Host: lab:8087" was sent to. */
static bool is_own_origin(const struct access *a, const struct access_words *w)
{
	const char *at = w->origin ? strstr(w->origin, "://") : NULL;
	char name[256];

	if (!at)
		return false;
	at += 3;
	if (w->host && strcasecmp(at, w->host) == 0)
		return true;
	host_name(at, name, sizeof(name));
	for (size_t i = 0; a->hosts && a->hosts[i]; i++)
		if (strcasecmp(name, a->hosts[i]) == 0)
			return true;
	return false;
}

bool access_may_act(const struct access *a, const struct access_words *w)
{
	if (!a->token)
		return false;
	if (shows_token(a, w))
		return true;
	return w->cookie && is_same(w->cookie, a->cookie) && w->csrf && is_same(w->csrf, a->csrf) &&
	       is_own_origin(a, w);
}

const char *access_refusal(const struct access *a, const struct access_words *w)
{
	if (!a->token)
		return "actions need a server with a token, see --token-file";
	if (w->authorization)
		return "the token in Authorization is not the one of this server";
	if (!w->cookie || !is_same(w->cookie, a->cookie))
		return "an action needs the token: log in, or send Authorization: Bearer TOKEN";
	if (!is_own_origin(a, w))
		return "the request comes from a page of another name (Origin), see --host";
	return "the form has not the secret of this server's pages (field csrf): load the page "
	       "again";
}

bool access_is_token(const struct access *a, const char *token)
{
	return a->token && token && is_same(token, a->token);
}
