/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.c - who may do what. */
#include "access.h"

#include <string.h>

/* Takes as long for a near miss as for a wide one. */
static bool is_same(const char *a, const char *b)
{
	size_t na = strlen(a);
	size_t nb = strlen(b);
	unsigned char diff = na != nb;

	for (size_t i = 0; i < na; i++)
		diff |= (unsigned char)(a[i] ^ b[nb ? i % nb : 0]);
	return diff == 0;
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

static bool has_bearer(const struct access *a, const char *authorization)
{
	static const char scheme[] = "Bearer ";

	return authorization && strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
	       is_same(authorization + sizeof(scheme) - 1, a->token);
}

bool access_may_read(const struct access *a, const struct access_words *w)
{
	return !a->token || has_bearer(a, w->authorization) ||
	       (w->cookie && is_same(w->cookie, a->cookie));
}

/* "http://lab:8087" names the server that "Host: lab:8087" was sent to. */
static bool is_own_origin(const struct access_words *w)
{
	const char *name = w->origin ? strstr(w->origin, "://") : NULL;

	return name && w->host && strcasecmp(name + 3, w->host) == 0;
}

bool access_may_act(const struct access *a, const struct access_words *w)
{
	if (!a->token)
		return false;
	if (has_bearer(a, w->authorization))
		return true;
	return w->cookie && is_same(w->cookie, a->cookie) && w->csrf && is_same(w->csrf, a->csrf) &&
	       is_own_origin(w);
}

bool access_is_token(const struct access *a, const char *token)
{
	return a->token && token && is_same(token, a->token);
}
