/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site.c - from a path to the handler that answers it. */
#include "action.h"
#include "assets.h"
#include "base/waiter.h"
#include "cache.h"
#include "metrics.h"
#include "pages.h"
#include "report/json.h"
#include "report/json_put.h"

#include <string.h>

const struct route routes[] = {
	{"GET", "/", page_front},
	{"GET", "/runs/{}", page_run},
	{"GET", "/trials/{}", page_trial},
	{"GET", "/trends", page_trends},
	{"GET", "/trends/{}/{}/{}", page_trend},
	{"GET", "/compare", page_compare},
	{"GET", "/compare/{}", page_compare},
	{"GET", "/bisects", page_bisects},
	{"GET", "/bisects/{}", page_bisects},
	{"GET", "/rigs", page_rigs},
	{"GET", "/rigs/{}", page_rigs},
	{"GET", "/kernels", page_kernels},
	{"GET", "/kernels/{}", page_kernels},
	{"GET", "/incidents", page_incidents},
	{"GET", "/live/{}", page_live},
	{"GET", "/login", page_login},
	{"GET", "/assets/{}", send_asset},
	{"GET", "/metrics", api_metrics},
	{"GET", "/api/v1/openapi.json", api_openapi},
	{"GET", "/api/v1/front", api_front},
	{"GET", "/api/v1/runs", api_runs},
	{"GET", "/api/v1/runs/{}", api_run},
	{"GET", "/api/v1/runs/{}/boots/{}/{}", api_recording},
	{"GET", "/api/v1/trials/{}", api_trial},
	{"GET", "/api/v1/trends/{}/{}/{}", api_trend},
	{"GET", "/api/v1/compare/{}", api_compare},
	{"GET", "/api/v1/rigs", api_rigs},
	{"GET", "/api/v1/incidents", api_incidents},
	{"GET", "/api/v1/live", api_live},
	{"GET", "/api/v1/live/{}/events", api_events},
	{"GET", "/jobs", page_jobs},
	{"GET", "/api/v1/jobs", api_jobs},
	{"GET", "/api/v1/bisects", api_bisects},
	{"GET", "/api/v1/bisects/{}", api_bisects},
	{"GET", "/api/v1/actions", api_actions},
	{"POST", "/rigs/{}/lock", act_lock},
	{"POST", "/rigs/{}/unlock", act_unlock},
	{"POST", "/rigs/{}/switch", act_switch},
	{"POST", "/jobs/{}/cancel", act_cancel},
	{"POST", "/api/v1/rigs/{}/lock", act_lock},
	{"POST", "/api/v1/rigs/{}/unlock", act_unlock},
	{"POST", "/api/v1/rigs/{}/switch", act_switch},
	{"POST", "/api/v1/jobs/{}/cancel", act_cancel},
	{"PUT", "/api/v1/rigs/{}/switch/value", act_set_value},
	{"GET", "/api/v1/rigs/{}/switch/value", act_get_value},
	{"GET", "/power/control/{}", act_pdu},
	{0},
};

void reply_release(struct reply *rp)
{
	strbuf_release(&rp->body);
	if (rp->fd >= 0)
		close(rp->fd);
	util_free(rp->file_name);
	util_free(rp->location);
	util_free(rp->etag);
	action_order_free(rp->order);
	*rp = (struct reply)REPLY_INIT;
}

const char *request_arg(const struct request *rq, const char *key)
{
	for (size_t i = 0; i < rq->n_args; i++)
		if (strcmp(rq->args[i].key, key) == 0 && *rq->args[i].value)
			return rq->args[i].value;
	return NULL;
}

void reply_json(struct reply *rp, json_t *value)
{
	rp->type = "application/json";
	report_add_value(&rp->body, value);
	strbuf_adds(&rp->body, "\n");
}

int send_asset(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct asset *a = asset_by_url(rq->parts[0]);

	(void)s;
	if (!a)
		return err_set(e, ERR_USAGE, ENOENT, "there is no file '%s'", rq->parts[0]);
	rp->type = a->type;
	rp->is_immutable = true;
	strbuf_add(&rp->body, a->bytes, a->n);
	return 0;
}

int api_openapi(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct asset *a = asset("openapi.json");

	(void)s;
	(void)rq;
	(void)e;
	rp->type = a->type;
	strbuf_add(&rp->body, a->bytes, a->n);
	return 0;
}

int page_login(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	struct strbuf *out = &rp->body;

	(void)s;
	(void)e;
	page_begin(out, rq, NAV_NONE, "Log in", false);
	strbuf_adds(out, "<h1>Log in</h1>\n<form class=card method=post action=\"");
	page_url(out, rq, "login", NULL);
	strbuf_adds(out,
		    "\"><p><label for=token>Token of this server</label>"
		    "<p><input id=token name=token type=password autocomplete=current-password "
		    "required autofocus> <button>Log in</button></form>\n");
	page_end(out, rq);
	return 0;
}

int api_metrics(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	(void)rq;
	if (!s->metrics)
		return err_set(e, ERR_USAGE, ENOENT, "no server, no metrics");
	rp->type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_add_text(&rp->body, s->metrics);
	return 0;
}

/* ---- errors ---- */

static unsigned status_of(const struct err *e)
{
	if (e->code == ENOENT)
		return 404;
	if (e->code == EBUSY || e->code == EAGAIN)
		return 503;
	if (e->code == EALREADY)
		return 409;
	if (e->kind == ERR_RIG)
		return 502;
	return e->kind == ERR_USAGE ? 400 : 500;
}

static bool is_pdu(const struct request *rq)
{
	return strncmp(rq->path, "/power/", 7) == 0;
}

/* Interfaces of other software, which answer with a word and not in JSON. */
static bool is_plain(const struct request *rq)
{
	static const char end[] = "/switch/value";
	size_t n = strlen(rq->path);

	return is_pdu(rq) ||
	       (n > sizeof(end) - 1 && strcmp(rq->path + n - (sizeof(end) - 1), end) == 0);
}

bool request_is_api(const struct request *rq)
{
	return strncmp(rq->path, "/api/", 5) == 0 || is_plain(rq);
}

static void answer_error(const struct request *rq, unsigned status, const char *text,
			 struct reply *rp)
{
	struct strbuf *out = &rp->body;

	reply_release(rp);
	rp->status = status;
	(void)snprintf(rp->error, sizeof(rp->error), "%s", text);
	if (is_plain(rq)) {
		rp->type = "text/plain; charset=utf-8";
		strbuf_addf(out, "%s\n", text);
		return;
	}
	if (request_is_api(rq)) {
		json_t *obj = json_object();

		set_text(obj, "error", text);
		reply_json(rp, obj);
		return;
	}
	rp->type = "text/html; charset=utf-8";
	page_begin(out, rq, NAV_NONE, status == 404 ? "Not there" : "Not possible", false);
	strbuf_addf(out, "<h1>%s</h1>\n<p>", status == 404 ? "Not there" : "Not possible");
	html_text(out, text);
	strbuf_adds(out, ".\n");
	page_end(out, rq);
}

void site_answer_error(const struct request *rq, const struct err *e, struct reply *rp)
{
	answer_error(rq, status_of(e), e->text, rp);
}

void site_answer_refusal(const struct request *rq, unsigned status, const char *why,
			 struct reply *rp)
{
	answer_error(rq, status, why, rp);
}

/* What `switch status --json` or one that changed it says, as 0 or 1. What was measured counts
   before what the switch claims. */
static void answer_value(const struct request *rq, const char *said, struct reply *rp)
{
	json_t *o = json_loads(said, 0, NULL);
	const char *state = json_string_value(json_object_get(o, "sensed"));

	if (!state || strcmp(state, "unknown") == 0)
		state = json_string_value(json_object_get(o, "state"));
	if (state && (strcmp(state, "on") == 0 || strcmp(state, "off") == 0)) {
		rp->type = "text/plain; charset=utf-8";
		strbuf_adds(&rp->body, strcmp(state, "on") == 0 ? "1" : "0");
	} else {
		answer_error(rq, 502, "The switch does not say whether it is on", rp);
	}
	json_decref(o);
}

void site_answer_done(const struct request *rq, const char *said, struct reply *rp)
{
	json_t *obj;

	if (is_pdu(rq)) {
		rp->type = "text/plain; charset=utf-8";
		strbuf_adds(&rp->body, "OK - accepted request\n");
		return;
	}
	if (is_plain(rq)) {
		answer_value(rq, said, rp);
		return;
	}
	obj = json_object();
	set_text(obj, "said", said);
	reply_json(rp, obj);
}

/* ---- routes ---- */

/* Cuts path in place. */
static bool matches(const char *pattern, char *path, struct request *rq)
{
	size_t n = 0;

	while (*pattern) {
		char *end;

		if (strncmp(pattern, "{}", 2) != 0) {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		end = strchrnul(path, '/');
		if (end == path || n == REQUEST_PARTS_MAX)
			return false;
		rq->parts[n++] = path;
		pattern += 2;
		path = end;
		if (*pattern != *end) /* both end here, or both go on with '/' */
			return false;
		if (*end) { /* the part ends here, and the '/' of both is used up */
			*path++ = '\0';
			pattern++;
		}
	}
	return *path == '\0';
}

/* NULL if there is none. Cuts path, a copy of rq's, in place; rq->parts point into it. */
static const struct route *find_route(struct request *rq, char *path)
{
	const char *method = strcmp(rq->method, "HEAD") == 0 ? "GET" : rq->method;

	for (const struct route *rt = routes; rt->method; rt++) {
		if (strcmp(rt->method, method) == 0 && matches(rt->pattern, path, rq))
			return rt;
		(void)snprintf(path, strlen(rq->path) + 1, "%s", rq->path);
	}
	return NULL;
}

/* Also the GETs that ask for something to be done. */
static bool is_act(const struct route *rt)
{
	return strcmp(rt->method, "GET") != 0 || rt->fn == act_get_value || rt->fn == act_pdu;
}

bool request_is_act(const struct request *rq)
{
	struct request copy = *rq;
	auto_free char *path = xstrdup(rq->path);
	const struct route *rt;

	if (strcmp(rq->method, "POST") == 0 || strcmp(rq->method, "PUT") == 0)
		return true;
	rt = find_route(&copy, path);
	return rt && is_act(rt);
}

static void make_answer(struct site *s, struct request *rq, struct reply *rp)
{
	auto_free char *path = xstrdup(rq->path);
	const struct route *rt = find_route(rq, path);
	struct err e = {0};

	rp->type = "text/html; charset=utf-8";
	if (!rt)
		answer_error(rq, 404, "There is no such page", rp);
	else if (is_act(rt) && strcmp(rq->method, "HEAD") == 0)
		answer_error(rq, 405, "HEAD must not change anything: use GET", rp);
	else if (rt->fn(s, rq, rp, &e) < 0)
		site_answer_error(rq, &e, rp);
}

void site_answer(struct site *s, struct request *rq, struct reply *rp)
{
	int64_t now_wall_ns = wall_now();
	struct err e = {0};
	int64_t state;

	/* the state is asked for before the answer is made: a change meanwhile makes it old, not
	   wrong */
	if (!s->cache || request_is_act(rq) || store_state(s->store, &state, &e) < 0) {
		make_answer(s, rq, rp);
		return;
	}
	if (cache_get(s->cache, rq, state, now_wall_ns, rp))
		return;
	make_answer(s, rq, rp);
	cache_put(s->cache, rq, state, now_wall_ns, rp);
}
