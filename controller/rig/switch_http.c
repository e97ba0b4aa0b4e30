/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_http.c - a lab's power service switches, asked over HTTP.
 *
 * Three ways of asking, which the power drivers of other lab software use too: pdudaemon's
 * (/power/control/on?hostname=…&port=…, which only promises to do it and cannot be asked),
 * labgrid's `rest` (GET and PUT of 0 or 1), and labgrid's HttpDigitalOutput (a request and a body
 * for each state, patterns for what the service says).
 */
#include "base/access.h"
#include "base/http_ask.h"
#include "switch_driver.h"

#include <regex.h>
#include <string.h>

#define GET_MS     4000  /* a guardian's get() has to be done in five seconds */
#define AGAIN_MS   100   /* between questions whether it has changed */
#define ANSWER_MAX 65536 /* bytes */

struct switch_http {
	const struct switch_cfg *cfg; /* not owned */
	struct switch_ops ops;
	struct waiter *w;
	enum switch_state state; /* what was done last */
	char *authorization;     /* owned; NULL = none */
	char *urls[2];           /* owned; that sets enum switch_state */
	const char *bodies[2];   /* NULL = none */
	const char *method;
	const char *status_url; /* NULL = it cannot be asked */
	regex_t matches[2];     /* what it says, if has_matches */
	bool has_matches;
};

static void trim(struct strbuf *body)
{
	while (body->len && strchr(" \t\r\n", body->data[body->len - 1]))
		body->data[--body->len] = '\0';
}

/* One request; its answer without the blanks at the end. */
static int ask(struct switch_http *s, const char *method, const char *url, const char *body,
	       nsec_t until_ns, struct strbuf *answer, struct err *e)
{
	const struct http_ask q = {
		.method = method,
		.url = url,
		.authorization = s->authorization,
		.type = body ? "text/plain" : NULL,
		.body = body,
		.body_bytes = body ? strlen(body) : 0,
		.until_ns = until_ns,
		.answer_max = ANSWER_MAX,
		.w = s->w,
	};
	unsigned status = 0;
	int r;

	r = http_ask(&q, answer, &status, e);
	if (r < 0)
		return e->kind == ERR_CONFIG ? err_rekind(e, ERR_RIG) : r;
	trim(answer);
	if (http_is_success(status))
		return 0;
	(void)!http_refused(url, status, answer, e);
	return err_rekind(e, ERR_RIG);
}

/* From the first to the last character. */
static bool is_match(const regex_t *pattern, const struct strbuf *text)
{
	regmatch_t m;

	return memchr(strbuf_str(text), '\0', text->len) == NULL &&
	       regexec(pattern, strbuf_str(text), 1, &m, 0) == 0 && m.rm_so == 0 &&
	       (size_t)m.rm_eo == text->len;
}

/* SWITCH_OFF, SWITCH_ON, or an error that says what it said instead. */
static int ask_state(struct switch_http *s, nsec_t until_ns, struct err *e)
{
	auto_strbuf struct strbuf answer = STRBUF_INIT;
	auto_strbuf struct strbuf said = STRBUF_INIT;
	auto_free char *shown = http_url_shown(s->status_url);
	bool is[2];
	int r;

	r = ask(s, "GET", s->status_url, NULL, until_ns, &answer, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(is); i++)
		is[i] = answer.len < ANSWER_MAX && is_match(&s->matches[i], &answer);
	if (is[SWITCH_OFF] != is[SWITCH_ON])
		return is[SWITCH_ON] ? SWITCH_ON : SWITCH_OFF;
	http_add_said(&said, &answer);
	return err_set(e, ERR_RIG, EPROTO, "%s: says neither on nor off: '%s'", shown,
		       strbuf_str(&said));
}

static nsec_t timeout_of(const struct switch_http *s, unsigned at_most_ms)
{
	unsigned ms = s->cfg->timeout_ms < at_most_ms ? s->cfg->timeout_ms : at_most_ms;

	return waiter_now(s->w) + ms * NSEC_PER_MSEC;
}

/* A service may have taken the request and be at it still. */
static int wait_for_state(struct switch_http *s, enum switch_state state, nsec_t until_ns,
			  struct err *e)
{
	auto_free char *shown = http_url_shown(s->status_url);

	for (;;) {
		int r = ask_state(s, until_ns, e);

		if (r < 0 || r == (int)state)
			return r < 0 ? r : 0;
		if (waiter_now(s->w) + AGAIN_MS * NSEC_PER_MSEC >= until_ns)
			return err_set(e, ERR_RIG, EIO, "%s: does not say '%s' afterwards", shown,
				       switch_state_name(state));
		r = waiter_sleep(s->w, AGAIN_MS * NSEC_PER_MSEC, e);
		if (r < 0)
			return r;
	}
}

static int switch_http_set(void *self, enum switch_state state, nsec_t deadline_ns,
			   struct switch_change *ret, struct err *e)
{
	struct switch_http *s = self;
	auto_strbuf struct strbuf answer = STRBUF_INIT;
	nsec_t until_ns = timeout_of(s, UINT32_MAX);
	int r;

	if (deadline_ns < until_ns)
		until_ns = deadline_ns;
	*ret = (struct switch_change){.asked_ns = waiter_now(s->w)};
	/* until the service has said what it did, nobody knows */
	s->state = SWITCH_UNKNOWN;
	r = ask(s, s->method, s->urls[state], s->bodies[state], until_ns, &answer, e);
	if (r >= 0 && s->status_url)
		r = wait_for_state(s, state, until_ns, e);
	ret->applied_ns = waiter_now(s->w);
	if (r >= 0)
		s->state = state;
	return r;
}

static enum switch_state switch_http_get(void *self)
{
	struct switch_http *s = self;
	struct err ignored = {0};
	int r;

	if (!s->status_url)
		return s->state;
	r = ask_state(s, timeout_of(s, GET_MS), &ignored);
	return r < 0 ? SWITCH_UNKNOWN : (enum switch_state)r;
}

static void switch_http_close(void *self)
{
	struct switch_http *s = self;

	for (size_t i = 0; i < ARRAY_SIZE(s->urls); i++) {
		free(s->urls[i]);
		if (s->has_matches)
			regfree(&s->matches[i]);
	}
	free(s->authorization);
	free(s);
}

/* Patterns that switch_cfg_check() has let through. */
static void set_matches(struct switch_http *s, const char *off, const char *on)
{
	if (regcomp(&s->matches[SWITCH_OFF], off, REG_EXTENDED) != 0 ||
	    regcomp(&s->matches[SWITCH_ON], on, REG_EXTENDED) != 0)
		abort();
	s->has_matches = true;
}

static void be_pdudaemon(struct switch_http *s)
{
	static const char *const verbs[] = {[SWITCH_OFF] = "off", [SWITCH_ON] = "on"};
	auto_free char *pdu = http_escape(s->cfg->pdu);
	auto_free char *outlet = http_escape(s->cfg->outlet);
	size_t n = strlen(s->cfg->url);

	while (n && s->cfg->url[n - 1] == '/')
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		s->urls[i] = xasprintf("%.*s/power/control/%s?hostname=%s&port=%s", (int)n,
				       s->cfg->url, verbs[i], pdu, outlet);
	s->method = "GET";
}

static void be_rest(struct switch_http *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->urls); i++)
		s->urls[i] = xstrdup(s->cfg->url);
	s->bodies[SWITCH_OFF] = "0";
	s->bodies[SWITCH_ON] = "1";
	s->method = "PUT";
	s->status_url = s->cfg->url;
	set_matches(s, "0", "1");
}

static void be_output(struct switch_http *s)
{
	const struct switch_cfg *c = s->cfg;

	s->urls[SWITCH_OFF] = xstrdup(c->off_url ? c->off_url : c->url);
	s->urls[SWITCH_ON] = xstrdup(c->url);
	s->bodies[SWITCH_OFF] = c->off_body;
	s->bodies[SWITCH_ON] = c->on_body;
	s->method = c->method ? c->method : "PUT";
	if (!c->on_match)
		return;
	s->status_url = c->status_url ? c->status_url : c->url;
	set_matches(s, c->off_match, c->on_match);
}

int switch_http_open(const struct switch_cfg *cfg, struct waiter *w,
		     const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	struct switch_http *s;
	auto_free char *token = NULL;

	if (cfg->token_file && access_read_token(cfg->token_file, &token, e) < 0)
		return err_rekind(e, ERR_CONFIG);
	s = xcalloc(1, sizeof(*s));
	s->cfg = cfg;
	s->w = w;
	s->state = SWITCH_UNKNOWN;
	s->authorization = token ? xasprintf("Bearer %s", token) : NULL;
	if (strcmp(cfg->protocol, "pdudaemon") == 0)
		be_pdudaemon(s);
	else if (strcmp(cfg->protocol, "rest") == 0)
		be_rest(s);
	else
		be_output(s);
	s->ops = (struct switch_ops){
		.driver = "http",
		.caps = s->status_url ? SWITCH_CAN_READBACK | SWITCH_PER_PORT : SWITCH_PER_PORT,
		.set = switch_http_set,
		.get = switch_http_get,
		.close = switch_http_close,
	};
	*ret_ops = &s->ops;
	*ret_self = s;
	return 0;
}
