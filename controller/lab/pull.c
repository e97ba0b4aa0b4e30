/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull.c - jobs of KernelCI's PULL_LABS: asked for, taken, moved on in turns. */
#include "base/fdio.h"
#include "base/http_ask.h"
#include "base/parse.h"
#include "pull_priv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define EVENTS_LIMIT     1000 /* asked for at once */
#define EVENTS_MAX_BYTES (16u << 20)
#define JOB_MAX_BYTES    (1u << 20)
#define ID_MAX           200 /* bytes of a test's id */

/* ---- asking ---- */

int pull_get(const struct pull *p, const char *url, nsec_t timeout_ns, size_t max, int file,
	     struct strbuf *ret, struct err *e)
{
	const struct http_ask q = {
		.method = "GET",
		.url = url,
		.until_ns = waiter_now(p->w) + timeout_ns,
		.answer_max = max,
		.file = file,
		.w = p->w,
	};
	auto_free char *shown = http_url_shown(url);
	unsigned status = 0;
	int r;

	r = http_ask(&q, ret, &status, e);
	if (r < 0) {
		if (e->kind == ERR_CONFIG)
			e->code = r == -EIO || r == -ETIMEDOUT ? EAGAIN : EBADMSG;
		return -e->code;
	}
	if (!http_is_success(status)) {
		(void)!http_refused(url, status, ret, e);
		e->code = http_may_heal(status) ? EAGAIN : EBADMSG;
		return -e->code;
	}
	if (file == 0 && ret->len >= max)
		return err_set(e, ERR_CONFIG, EBADMSG, "%s: more than %zu bytes", shown, max);
	return 0;
}

/* ---- what is offered ---- */

static bool is_own_rig(const struct pull *p, const char *name)
{
	for (size_t i = 0; i < p->n_rigs; i++)
		if (strcmp(p->rigs[i], name) == 0)
			return true;
	return false;
}

/* What an event says of its job, or the node in it. */
static const char *word_of(const json_t *event, const char *key)
{
	const json_t *data = json_object_get(json_object_get(event, "data"), "data");
	const char *text = pull_text_of(data, key);

	return *text ? text
		     : pull_text_of(json_object_get(json_object_get(event, "node"), "data"), key);
}

static bool is_https(const char *url)
{
	return strncasecmp(url, "https://", 8) == 0;
}

/* NULL, or why the lab cannot do anything with it. */
static const char *check_definition(const struct pull *p, const json_t *definition)
{
	const json_t *tests = json_object_get(definition, "tests");
	const char *callback = pull_text_of(json_object_get(definition, "callback"), "url");
	const json_t *test;
	size_t i;

	if (!http_is_url(callback))
		return "it has no callback address";
	/* the token goes there */
	if (is_https(p->cfg->url) && !is_https(callback))
		return "its callback address is not https, as that of the service is";
	if (json_array_size(tests) == 0 || json_array_size(tests) > PULL_TESTS_MAX)
		return "it has no tests, or too many";
	json_array_foreach(tests, i, test)
	{
		const char *id = pull_text_of(test, "id");

		if (!*id || strlen(id) > ID_MAX)
			return "a test has no id, or a very long one";
		for (size_t k = 0; k < i; k++)
			if (strcmp(pull_text_of(json_array_get(tests, k), "id"), id) == 0)
				return "two tests have the same id";
	}
	return NULL;
}

static int take_job(struct pull *p, const char *node, const char *url, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	json_t *definition;
	json_t *record;
	const char *rig;
	const char *why;
	int r;

	r = pull_get(p, url, PULL_ASK_NS, JOB_MAX_BYTES, 0, &text, e);
	if (r == -EBADMSG) {
		pull_say(p, "job %s is left: %s", node, e->text);
		err_clear(e);
		return 0;
	}
	if (r < 0)
		return r;
	definition = pull_parse(&text);
	rig = pull_text_of(json_object_get(definition, "environment"), "platform");
	if (!json_is_object(definition))
		why = "it is no JSON object";
	else
		why = is_own_rig(p, rig) ? check_definition(p, definition) : NULL;
	if (why)
		pull_say(p, "job %s is left: %s", node, why);
	if (why || !is_own_rig(p, rig)) {
		json_decref(definition);
		return 0;
	}
	record = json_pack("{s:s, s:s, s:s, s:o}", "node", node, "state", "taken", "rig", rig,
			   "definition", definition);
	r = pull_write_record(p, node, record, e);
	if (r < 0) {
		json_decref(record);
		return r;
	}
	pull_add_open(p, node, record);
	pull_say(p, "job %s for rig %s is taken", node, rig);
	return 0;
}

static int consider(struct pull *p, const json_t *event, struct err *e)
{
	const json_t *node = json_object_get(event, "node");
	const char *id = pull_text_of(node, "id");
	const char *url = pull_text_of(json_object_get(node, "artifacts"), "job_definition");
	auto_free char *path = parse_is_name(id) ? pull_record_path(p, id) : NULL;

	if (!path || !http_is_url(url) || access(path, F_OK) == 0)
		return 0;
	if (p->cfg->runtime && strcmp(word_of(event, "runtime"), p->cfg->runtime) != 0)
		return 0;
	if (*word_of(event, "platform") && !is_own_rig(p, word_of(event, "platform")))
		return 0;
	return take_job(p, id, url, e);
}

static int set_cursor(struct pull *p, const char *timestamp, struct err *e)
{
	auto_free char *path = xasprintf("%s/cursor", p->dir);

	/* all are of one form, so their order is that of the times */
	if (strcmp(timestamp, p->cursor) <= 0)
		return 0;
	free(p->cursor);
	p->cursor = xstrdup(timestamp);
	return file_write_atomic(path, p->cursor, strlen(p->cursor), e);
}

static int poll_service(struct pull *p, struct err *e)
{
	auto_free char *from = http_escape(p->cursor);
	auto_free char *url =
		xasprintf("%s/events?state=done&kind=job&limit=%d&recursive=true&from=%s",
			  p->cfg->url, EVENTS_LIMIT, from);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *shown = http_url_shown(url);
	const json_t *event;
	json_t *events;
	size_t i;
	int r;

	r = pull_get(p, url, PULL_ASK_NS, EVENTS_MAX_BYTES, 0, &text, e);
	if (r < 0)
		return r;
	events = pull_parse(&text);
	if (!json_is_array(events)) {
		json_decref(events);
		return err_set(e, ERR_CONFIG, EBADMSG, "%s: no list of events in JSON", shown);
	}
	json_array_foreach(events, i, event)
	{
		if (p->n_open >= PULL_OPEN_MAX)
			break;
		r = consider(p, event, e);
		if (r >= 0)
			r = set_cursor(p, pull_text_of(event, "timestamp"), e);
		if (r < 0)
			break;
	}
	json_decref(events);
	return r;
}

/* ---- turns ---- */

/* 1 = it is over. */
static int advance(struct pull *p, struct pulled *j, struct err *e)
{
	int r = 0;

	if (strcmp(pull_text_of(j->record, "state"), "taken") == 0)
		r = pull_begin(p, j, e);
	if (r >= 0 && strcmp(pull_text_of(j->record, "state"), "queued") == 0)
		r = pull_finish(p, j, e);
	if (r < 0 || strcmp(pull_text_of(j->record, "state"), "ended") != 0)
		return r < 0 ? r : 0;
	r = pull_post(p, j, e);
	return r < 0 ? r : 1;
}

static int advance_all(struct pull *p, struct err *e)
{
	for (struct pulled **at = &p->open; *at;) {
		struct pulled *j = *at;
		int r = waiter_now(p->w) >= j->retry_ns ? advance(p, j, e) : 0;

		if (r == -EAGAIN && e->kind == ERR_CONFIG) {
			pull_say(p, "job %s: %s; tried again in %u s", j->node, e->text,
				 p->cfg->poll_s);
			err_clear(e);
			j->retry_ns = waiter_now(p->w) + p->cfg->poll_s * NSEC_PER_SEC;
			r = 0;
		}
		if (r < 0)
			return r;
		if (r == 0) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		p->n_open--;
		pulled_free(j);
	}
	return 0;
}

int pull_turn(struct pull *p, struct err *e)
{
	int r;

	if (waiter_now(p->w) >= p->next_ns) {
		r = poll_service(p, e);
		p->has_failed = r < 0;
		p->next_ns = waiter_now(p->w) + p->cfg->poll_s * NSEC_PER_SEC;
		if (r < 0 && e->kind != ERR_CONFIG)
			return r;
		if (r < 0)
			pull_say(p, "%s; asked again in %u s", e->text, p->cfg->poll_s);
		err_clear(e);
	}
	r = advance_all(p, e);
	return r < 0 ? r : p->open || p->has_failed;
}

static int lock_dir(struct pull *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/lock", p->dir);

	p->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (p->lock_fd < 0)
		return err_errno(e, ERR_STORE, errno, "%s", path);
	if (flock(p->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_USAGE, EBUSY,
			       "another worker of this host asks there for jobs already (%s)",
			       path);
	return 0;
}

int pull_open(const struct lab_pull_cfg *cfg, const char *const *rigs, size_t n_rigs,
	      struct store *st, struct waiter *w, const struct lab_hooks *hooks, struct pull **ret,
	      struct err *e)
{
	auto_free char *shown = http_url_shown(cfg->url);
	auto_free char *sub = NULL;
	char sum[SHA256_HEX_SIZE];
	struct pull *p;
	int r;

	if (!http_is_url(cfg->url) || strpbrk(cfg->url, "?#"))
		return err_set(e, ERR_USAGE, EINVAL,
			       "'%s' is no http:// or https:// address of a service", shown);
	sha256_bytes(cfg->url, strlen(cfg->url), sum);
	sub = xasprintf("pull-labs/%.16s", sum);
	p = xcalloc(1, sizeof(*p));
	*p = (struct pull){
		.cfg = cfg,
		.rigs = rigs,
		.n_rigs = n_rigs,
		.st = st,
		.w = w,
		.hooks = hooks,
		.dir = path_state(sub),
		.lock_fd = -1,
	};
	r = dir_make(p->dir, e);
	if (r >= 0)
		r = lock_dir(p, e);
	if (r >= 0)
		r = pull_load_records(p, e);
	if (r < 0) {
		pull_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

void pull_close(struct pull *p)
{
	if (!p)
		return;
	while (p->open) {
		struct pulled *j = p->open;

		p->open = j->next;
		pulled_free(j);
	}
	if (p->lock_fd >= 0)
		close(p->lock_fd);
	free(p->cursor);
	free(p->dir);
	free(p);
}
