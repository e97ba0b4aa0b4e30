/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull.c - jobs of KernelCI's PULL_LABS: asked for, queued, answered. */
#include "lab/pull.h"

#include "base/child.h"
#include "base/fdio.h"
#include "base/http_ask.h"
#include "base/parse.h"
#include "kernels/kernels.h"
#include "trial/scenario.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define EVENTS_LIMIT     1000 /* asked for at once */
#define EVENTS_MAX_BYTES (16u << 20)
#define JOB_MAX_BYTES    (1u << 20)
#define ANSWER_MAX_BYTES 4096
#define RECORD_MAX_BYTES (4u << 20)
#define ARTIFACT_MAX     ((size_t)4 << 30) /* bytes */
#define ASK_NS           (60 * NSEC_PER_SEC)
#define ARTIFACT_NS      (1800 * NSEC_PER_SEC)
#define UNPACK_NS        (600 * NSEC_PER_SEC)
#define FIRST_LOOK_NS    (86400 * NSEC_PER_SEC) /* how old a job may be, the first time it asks */
#define FETCH_TRIES      5 /* of a kernel, then the lab says that it cannot be had */
#define JOB_ATTEMPTS     3
#define ID_MAX           200           /* bytes of a test's id */
#define KEPT_S           (180 * 86400) /* that a job was answered, should it be offered again */

/*
 * A job that is not answered yet. Its record, the file NODE.json:
 *   "state"      "taken": its tests are not in the queue yet; "queued"; "ended": "answer" is to be
 *                posted. Of one that is over only "node" and "state" stay: "answered", "refused"
 *   "rig", "definition" (as it came), "error" (the lab cannot do it)
 *   "tests"      {"id", "job"} of those in the queue, and whole results of the others
 */
struct pulled {
	struct pulled *next;
	char *node;
	json_t *record;
	nsec_t retry_ns; /* not before; 0 = at once */
	unsigned tries;  /* of fetching its kernel */
};

struct pull {
	const struct lab_pull_cfg *cfg;
	const char *const *rigs;
	size_t n_rigs;
	struct store *st;
	struct waiter *w;
	const struct lab_hooks *hooks;
	char *dir;
	int lock_fd;
	char *cursor; /* time stamp of the last event that was dealt with */
	nsec_t next_ns;
	bool has_failed; /* the last time that it asked */
	struct pulled *open;
	size_t n_open;
};

static void say(const struct pull *p, const char *fmt, ...) printf_like(2, 3);

static void say(const struct pull *p, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX + 128];
	va_list ap;

	if (!p->hooks || !p->hooks->say)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* some of the words are the service's */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	p->hooks->say(p->hooks->self, text);
}

/* ---- JSON ---- */

static void set(json_t *obj, const char *key, json_t *value)
{
	if (json_object_set_new(obj, key, value) < 0)
		abort(); /* out of memory, as xcalloc() */
}

/* What is no UTF-8, as a text that was cut, loses all that is no ASCII. */
static json_t *text_json(const char *text)
{
	json_t *value = json_string(text);
	auto_free char *ascii = value ? NULL : xstrdup(text);

	for (char *c = ascii; c && *c; c++)
		if ((unsigned char)*c >= 128)
			*c = '?';
	return value ? value : json_string(ascii);
}

/* "" if it is not there or no string. */
static const char *text_of(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text ? text : "";
}

static json_t *parse(const struct strbuf *text)
{
	return json_loadb(strbuf_str(text), text->len, JSON_REJECT_DUPLICATES, NULL);
}

/* ---- records ---- */

static char *record_path(const struct pull *p, const char *node)
{
	return xasprintf("%s/%s.json", p->dir, node);
}

static int write_json(const char *path, const json_t *value, struct err *e)
{
	char *text = json_dumps(value, JSON_COMPACT);
	int r;

	if (!text)
		abort();
	r = file_write_atomic(path, text, strlen(text), e);
	free(text);
	return r;
}

static int write_record(const struct pull *p, const char *node, const json_t *record, struct err *e)
{
	auto_free char *path = record_path(p, node);

	return write_json(path, record, e);
}

static int keep(const struct pull *p, const struct pulled *j, struct err *e)
{
	return write_record(p, j->node, j->record, e);
}

static void pulled_free(struct pulled *j)
{
	json_decref(j->record);
	free(j->node);
	free(j);
}

static struct pulled *add_open(struct pull *p, const char *node, json_t *record)
{
	struct pulled **at = &p->open;
	struct pulled *j = xcalloc(1, sizeof(*j));

	while (*at)
		at = &(*at)->next;
	j->node = xstrdup(node);
	j->record = record;
	*at = j;
	p->n_open++;
	return j;
}

/* It is over: what stays is that it was. */
static int close_record(const struct pull *p, const struct pulled *j, const char *state,
			struct err *e)
{
	json_t *record = json_pack("{s:s, s:s}", "node", j->node, "state", state);
	int r = write_record(p, j->node, record, e);

	json_decref(record);
	return r;
}

static bool is_old(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && wall_now() / NSEC_PER_SEC - st.st_mtime > KEPT_S;
}

static int load_record(struct pull *p, const char *name, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", p->dir, name);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *state;
	json_t *record;
	int r;

	r = file_read(path, RECORD_MAX_BYTES, &text, e);
	if (r < 0)
		return r;
	record = parse(&text);
	state = text_of(record, "state");
	if (!*state || !*text_of(record, "node")) {
		json_decref(record);
		return err_set(e, ERR_STORE, EBADMSG, "%s: no record of a job", path);
	}
	if (strcmp(state, "answered") == 0 || strcmp(state, "refused") == 0) {
		json_decref(record);
		if (is_old(path))
			(void)unlink(path);
	} else {
		(void)add_open(p, text_of(record, "node"), record);
	}
	return 0;
}

static int load_records(struct pull *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/cursor", p->dir);
	auto_strbuf struct strbuf cursor = STRBUF_INIT;
	struct dirent **list = NULL;
	int n;
	int r = 0;

	if (file_read(path, 200, &cursor, NULL) >= 0) {
		p->cursor = strbuf_take(&cursor);
	} else {
		auto_free char *first = wall_format(wall_now() - FIRST_LOOK_NS);

		/* without the "Z": the service's times have none */
		p->cursor = xasprintf("%.19s.000000", first);
	}
	n = scandir(p->dir, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(list[i]->d_name, '.');

		if (r >= 0 && dot && dot != list[i]->d_name && strcmp(dot, ".json") == 0)
			r = load_record(p, list[i]->d_name, e);
		free(list[i]);
	}
	free(list);
	return r;
}

/* ---- asking ---- */

static bool heals(unsigned status)
{
	return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* -EAGAIN: later it may be better. -EBADMSG: it will not. Into file if that is above 0. */
static int get(const struct pull *p, const char *url, nsec_t timeout_ns, size_t max, int file,
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
	if (status < 200 || status >= 300)
		return err_set(e, ERR_CONFIG, heals(status) ? EAGAIN : EBADMSG, "%s: status %u",
			       shown, status);
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
	const char *text = text_of(data, key);

	return *text ? text : text_of(json_object_get(json_object_get(event, "node"), "data"), key);
}

static bool is_https(const char *url)
{
	return strncasecmp(url, "https://", 8) == 0;
}

/* NULL, or why the lab cannot do anything with it. */
static const char *check_definition(const struct pull *p, const json_t *definition)
{
	const json_t *tests = json_object_get(definition, "tests");
	const char *callback = text_of(json_object_get(definition, "callback"), "url");
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
		const char *id = text_of(test, "id");

		if (!*id || strlen(id) > ID_MAX)
			return "a test has no id, or a very long one";
		for (size_t k = 0; k < i; k++)
			if (strcmp(text_of(json_array_get(tests, k), "id"), id) == 0)
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

	r = get(p, url, ASK_NS, JOB_MAX_BYTES, 0, &text, e);
	if (r == -EBADMSG) {
		say(p, "job %s is left: %s", node, e->text);
		err_clear(e);
		return 0;
	}
	if (r < 0)
		return r;
	definition = parse(&text);
	rig = text_of(json_object_get(definition, "environment"), "platform");
	if (!json_is_object(definition))
		why = "it is no JSON object";
	else
		why = is_own_rig(p, rig) ? check_definition(p, definition) : NULL;
	if (why)
		say(p, "job %s is left: %s", node, why);
	if (why || !is_own_rig(p, rig)) {
		json_decref(definition);
		return 0;
	}
	record = json_pack("{s:s, s:s, s:s, s:o}", "node", node, "state", "taken", "rig", rig,
			   "definition", definition);
	r = write_record(p, node, record, e);
	if (r < 0) {
		json_decref(record);
		return r;
	}
	(void)add_open(p, node, record);
	say(p, "job %s for rig %s is taken", node, rig);
	return 0;
}

static int consider(struct pull *p, const json_t *event, struct err *e)
{
	const json_t *node = json_object_get(event, "node");
	const char *id = text_of(node, "id");
	const char *url = text_of(json_object_get(node, "artifacts"), "job_definition");
	auto_free char *path = parse_is_name(id) ? record_path(p, id) : NULL;

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

	r = get(p, url, ASK_NS, EVENTS_MAX_BYTES, 0, &text, e);
	if (r < 0)
		return r;
	events = parse(&text);
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
			r = set_cursor(p, text_of(event, "timestamp"), e);
		if (r < 0)
			break;
	}
	json_decref(events);
	return r;
}

/* ---- kernels ---- */

static int check_sum(const json_t *definition, const char *key, const char *path, struct err *e)
{
	const json_t *sums = json_object_get(json_object_get(definition, "integrity"), "sha256");
	const char *wanted = text_of(sums, key);
	char found[SHA256_HEX_SIZE];
	int r;

	if (!*wanted)
		return 0;
	r = sha256_file(path, found, e);
	if (r >= 0 && strcasecmp(wanted, found) != 0)
		r = err_set(e, ERR_CONFIG, EBADMSG, "%s: its SHA-256 is %s, not %s", key, found,
			    wanted);
	return r;
}

/* 1 = it is at *ret_path, 0 = the job has no such artifact. */
static int fetch_artifact(const struct pull *p, const json_t *definition, const char *key,
			  const char *dir, char **ret_path, struct err *e)
{
	const char *url = text_of(json_object_get(definition, "artifacts"), key);
	auto_free char *path = xasprintf("%s/%s", dir, key);
	auto_free char *shown = http_url_shown(url);
	auto_strbuf struct strbuf said = STRBUF_INIT;
	auto_fd int fd = -1;
	int r;

	if (!*url)
		return 0;
	say(p, "fetching %s", shown);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	r = get(p, url, ARTIFACT_NS, ARTIFACT_MAX, fd, &said, e);
	if (r >= 0)
		r = check_sum(definition, key, path, e);
	if (r < 0)
		return r;
	*ret_path = take(path);
	return 1;
}

/* The same for an archive, which is unpacked. */
static int fetch_tree(const struct pull *p, const json_t *definition, const char *key,
		      const char *dir, char **ret_path, struct err *e)
{
	auto_free char *archive = NULL;
	auto_free char *tree = xasprintf("%s/%s.tree", dir, key);
	int r;

	r = fetch_artifact(p, definition, key, dir, &archive, e);
	if (r > 0) {
		const char *const argv[] = {"tar", "-xf", archive, "-C", tree, "--no-same-owner",
					    NULL};
		const struct child_cfg cfg = {
			.argv = argv, .stdin_fd = -1, .dies_with_parent = true};

		r = dir_make(tree, e);
		if (r >= 0)
			r = child_run(p->w, &cfg, UNPACK_NS, NULL, e);
		if (r == -ECHILD)
			r = err_set(e, ERR_CONFIG, EBADMSG, "%s: no archive that tar unpacks", key);
		(void)unlink(archive);
		if (r >= 0)
			*ret_path = take(tree);
	}
	return r < 0 ? r : 0;
}

/* Headers stay where they are: the kernel in the store points to them. */
static int add_kernel(const struct pull *p, const json_t *definition, const char *name,
		      struct err *e)
{
	auto_free char *sub = xasprintf("pulled/%s", name);
	auto_free char *dir = path_cache(sub);
	auto_free char *image = NULL;
	auto_free char *config = NULL;
	auto_free char *modules = NULL;
	auto_free char *headers = NULL;
	auto_kernel_build struct kernel_build *k = NULL;
	const struct kernels_ctx ctx = {.w = p->w};
	struct kernel_add_cfg cfg = {.name = name, .n_paths = 1};
	const char *paths[1];
	int r;

	r = dir_remove(dir, e);
	if (r >= 0)
		r = dir_make(dir, e);
	if (r >= 0)
		r = fetch_artifact(p, definition, "kernel", dir, &image, e);
	if (r == 0)
		return err_set(e, ERR_CONFIG, EBADMSG, "the job has no artifact 'kernel'");
	if (r >= 0)
		r = fetch_artifact(p, definition, "config", dir, &config, e);
	if (r >= 0)
		r = fetch_tree(p, definition, "modules", dir, &modules, e);
	if (r >= 0)
		r = fetch_tree(p, definition, "headers", dir, &headers, e);
	if (r < 0)
		return r;
	paths[0] = image;
	cfg.paths = paths;
	cfg.modules_dir = modules;
	cfg.headers_dir = headers;
	cfg.config = config;
	r = kernel_add(&ctx, &cfg, &k, e);
	(void)unlink(image);
	if (modules && dir_remove(modules, NULL) < 0)
		say(p, "%s stays", modules);
	return r < 0 ? r : 0;
}

/* The job's own kernel is in the store, under a name that follows from where it comes from. */
static int ensure_kernel(const struct pull *p, const json_t *definition, char **ret, struct err *e)
{
	static const char *const keys[] = {"kernel", "modules", "config", "headers"};
	const json_t *artifacts = json_object_get(definition, "artifacts");
	const struct kernels_ctx ctx = {.w = p->w};
	auto_kernel_build struct kernel_build *k = NULL;
	auto_strbuf struct strbuf from = STRBUF_INIT;
	auto_free char *name = NULL;
	char sum[SHA256_HEX_SIZE];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		strbuf_addf(&from, "%s\n", text_of(artifacts, keys[i]));
	sha256_bytes(strbuf_str(&from), from.len, sum);
	name = xasprintf("pulled-%.16s", sum);
	r = kernel_find(&ctx, name, NULL, &k, e);
	if (r == -ENOENT) {
		err_clear(e);
		r = add_kernel(p, definition, name, e);
	}
	if (r >= 0)
		*ret = take(name);
	else if (e->kind != ERR_STOPPED && r != -EAGAIN && r != -ENOSPC)
		e->code = EBADMSG; /* it is this job's: the others go on */
	return r < 0 ? -e->code : 0;
}

/* ---- from tests to jobs of the queue ---- */

struct wish {
	char *scenario, *kernel; /* kernel NULL = the job's artifacts */
	unsigned trials;
};

static void wish_release(struct wish *w)
{
	free(w->scenario);
	free(w->kernel);
}

static bool is_kernel_word(const char *text)
{
	static const char series[] = "debian:";

	return parse_is_name(
		strncmp(text, series, sizeof(series) - 1) == 0 ? text + sizeof(series) - 1 : text);
}

static int read_word(struct wish *w, const char *word, struct err *e)
{
	if (strncmp(word, "scenario=", 9) == 0) {
		free(w->scenario);
		w->scenario = xstrdup(word + 9);
		return 0;
	}
	if (strncmp(word, "kernel=", 7) == 0 && is_kernel_word(word + 7)) {
		free(w->kernel);
		w->kernel = xstrdup(word + 7);
		return 0;
	}
	if (strncmp(word, "trials=", 7) == 0)
		return parse_u32("trials", word + 7, 1, 10000, &w->trials, e);
	return err_set(e, ERR_USAGE, EINVAL,
		       "parameters: '%.80s' is none of scenario=NAME, kernel=NAME, "
		       "kernel=debian:SERIES, trials=N",
		       word);
}

static int read_wish(const json_t *test, struct wish *ret, struct err *e)
{
	auto_free char *words = xstrdup(text_of(test, "parameters"));
	auto_scenario struct scenario *sc = NULL;
	char *rest = words;
	int r = 0;

	ret->scenario = xstrdup(text_of(test, "id"));
	for (char *word = strsep(&rest, " "); r >= 0 && word; word = strsep(&rest, " "))
		if (*word)
			r = read_word(ret, word, e);
	if (r < 0)
		return r;
	/* a name and never a path: whoever made the job is not on this host */
	if (!parse_is_name(ret->scenario))
		return err_set(e, ERR_USAGE, EINVAL, "'%.80s' is no name of a scenario",
			       ret->scenario);
	return scenario_load(ret->scenario, &sc, e);
}

/* The entry of a test that is not run. */
static json_t *unrun(const char *id, const char *status, const char *why)
{
	json_t *t = json_pack("{s:s, s:s}", "id", id, "status", status);

	set(t, "why", text_json(why));
	return t;
}

static int submit(struct pull *p, const struct pulled *j, const char *id, const struct wish *w,
		  const char *kernel, int64_t *ret, struct err *e)
{
	auto_free char *item = xasprintf("pull-labs:%s/%s", j->node, id);
	auto_free char *rig = xstrdup(text_of(j->record, "rig"));
	auto_free char *build = xstrdup(kernel);
	static char kind[] = "run", by[] = "pull-labs", append[] = "", parameters[] = "{}";
	const struct store_job job = {
		.kind = kind,
		.rig = rig,
		.scenario = w->scenario,
		.kernel = build,
		.append = append,
		.trials = w->trials,
		.parameters = parameters,
		.item = item,
		.submitted_by = by,
		.attempts_max = JOB_ATTEMPTS,
	};
	int r = store_job_submit(p->st, &job, ret, e);

	return r < 0 ? r : 0;
}

/* One test: it gets its entry in tests. */
static int begin_test(struct pull *p, const struct pulled *j, const json_t *test, json_t *tests,
		      struct err *e)
{
	__attribute__((cleanup(wish_release))) struct wish w = {0};
	const json_t *definition = json_object_get(j->record, "definition");
	const char *id = text_of(test, "id");
	auto_free char *kernel = NULL;
	int64_t job = 0;
	int r;

	if (strcmp(text_of(test, "type"), "stallrig") != 0) {
		auto_free char *why = xasprintf("this lab does tests of the type 'stallrig', not "
						"'%.80s'",
						text_of(test, "type"));

		json_array_append_new(tests, unrun(id, "skip", why));
		return 0;
	}
	r = read_wish(test, &w, e);
	if (r < 0) {
		json_array_append_new(tests, unrun(id, "error", e->text));
		err_clear(e);
		return 0;
	}
	if (w.kernel)
		kernel = xstrdup(w.kernel);
	else
		r = ensure_kernel(p, definition, &kernel, e);
	if (r >= 0)
		r = submit(p, j, id, &w, kernel, &job, e);
	if (r < 0)
		return r;
	json_array_append_new(tests, json_pack("{s:s, s:I}", "id", id, "job", (json_int_t)job));
	say(p, "job %s: test '%s' is job %lld", j->node, id, (long long)job);
	return 0;
}

static int begin(struct pull *p, struct pulled *j, struct err *e)
{
	const json_t *definition = json_object_get(j->record, "definition");
	json_t *tests = json_array();
	const json_t *test;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(definition, "tests"), i, test)
	{
		r = begin_test(p, j, test, tests, e);
		if (r < 0)
			break;
	}
	if (r == -EAGAIN && ++j->tries < FETCH_TRIES) {
		json_decref(tests);
		return r;
	}
	if (r == -EBADMSG || r == -EAGAIN) {
		/* those that are in the queue already go on; the rest is an error */
		say(p, "job %s: %s", j->node, e->text);
		set(j->record, "error", text_json(e->text));
		json_array_foreach(json_object_get(definition, "tests"), i,
				   test) if (i >= json_array_size(tests))
			json_array_append_new(tests, unrun(text_of(test, "id"), "error", e->text));
		err_clear(e);
		r = 0;
	}
	if (r < 0) {
		json_decref(tests);
		return r;
	}
	set(j->record, "tests", tests);
	set(j->record, "state", json_string("queued"));
	return keep(p, j, e);
}

/* ---- from ended jobs to an answer ---- */

json_t *pull_test(const char *id, const struct store_job *j, const struct run *run)
{
	const char *verdict = j->state == STORE_JOB_DONE && j->verdict ? j->verdict : "";
	const char *status = strcmp(verdict, "PASS") == 0   ? "pass"
			     : strcmp(verdict, "FAIL") == 0 ? "fail"
							    : "error";
	auto_strbuf struct strbuf why = STRBUF_INIT;
	json_t *t = json_pack("{s:s, s:s}", "id", id, "status", status);
	json_t *metrics = json_object();

	if (run)
		strbuf_addf(&why, "%s %s: %s", verdict_name(run->result.verdict),
			    run->result.reason, run->result.strength);
	else
		strbuf_adds(&why, *verdict ? verdict : store_job_state_name(j->state));
	if (j->error && *j->error)
		strbuf_addf(&why, " (%s)", j->error);
	set(t, "why", text_json(strbuf_str(&why)));
	if (j->started_wall_ns && j->ended_wall_ns >= j->started_wall_ns)
		set(t, "duration_ms",
		    json_integer((j->ended_wall_ns - j->started_wall_ns) / NSEC_PER_MSEC));
	if (run && run->result.valid) {
		set(metrics, "valid_trials", json_integer(run->result.valid));
		set(metrics, "over_limit", json_integer(run->result.over));
		if (run->result.worst_us >= 0)
			set(metrics, "worst_ms", json_real((double)run->result.worst_us / 1000));
		if (run->result.p50_us >= 0)
			set(metrics, "p50_ms", json_real((double)run->result.p50_us / 1000));
	}
	if (json_object_size(metrics))
		set(t, "metrics", metrics);
	else
		json_decref(metrics);
	return t;
}

json_t *pull_answer(const json_t *tests, const char *system, const char *error)
{
	static const char *const kept[] = {"status", "duration_ms", "metrics"};
	auto_strbuf struct strbuf log = STRBUF_INIT;
	json_t *results = json_object();
	json_t *answer;
	const json_t *t;
	int n_failed = 0;
	size_t i;

	json_array_foreach(tests, i, t)
	{
		json_t *result = json_object();

		for (size_t k = 0; k < ARRAY_SIZE(kept); k++)
			if (json_object_get(t, kept[k]))
				json_object_set(result, kept[k], json_object_get(t, kept[k]));
		n_failed += strcmp(text_of(t, "status"), "fail") == 0 ||
			    strcmp(text_of(t, "status"), "error") == 0;
		strbuf_addf(&log, "%s: %s: %s\n", text_of(t, "id"), text_of(t, "status"),
			    text_of(t, "why"));
		set(results, text_of(t, "id"), result);
	}
	answer = json_pack("{s:{s:i, s:i}, s:o, s:{s:s}, s:{s:s}}", "summary", "total",
			   (int)json_array_size(tests), "failed", n_failed, "tests", results,
			   "metadata", "system", system, "artifacts", "log", strbuf_str(&log));
	if (error) {
		set(answer, "error_code", json_string("Infrastructure"));
		set(answer, "error_msg", text_json(error));
	}
	return answer;
}

static bool has_ended(const struct store_job *j)
{
	return j->state != STORE_JOB_QUEUED && j->state != STORE_JOB_RUNNING;
}

/* 1 = *ret is its entry, 0 = its job goes on. */
static int look_at_test(struct pull *p, const json_t *test, json_t **ret, bool *ret_is_infra,
			struct err *e)
{
	const struct store_job_filter f = {.job = json_integer_value(json_object_get(test, "job"))};
	auto_run struct run *run = NULL;
	struct store_job **jobs = NULL;
	size_t n = 0;
	int r;

	if (!f.job) {
		*ret = json_deep_copy(test);
		return 1;
	}
	r = store_jobs(p->st, &f, &jobs, &n, e);
	if (r >= 0 && n == 0) {
		*ret = unrun(text_of(test, "id"), "error", "its job is no longer in the queue");
		*ret_is_infra = true;
		r = 1;
	} else if (r >= 0 && has_ended(jobs[0])) {
		r = store_find_run(p->st, jobs[0]->run_id, &run, e);
		if (r >= 0) {
			*ret = pull_test(text_of(test, "id"), jobs[0], run);
			*ret_is_infra |= jobs[0]->state != STORE_JOB_DONE;
			r = 1;
		}
	}
	store_jobs_free(jobs, n);
	return r;
}

static int finish(struct pull *p, struct pulled *j, struct err *e)
{
	const json_t *tests = json_object_get(j->record, "tests");
	const char *error = text_of(j->record, "error");
	json_t *entries = json_array();
	bool is_infra = false;
	const json_t *test;
	size_t i;
	int r = 1;

	json_array_foreach(tests, i, test)
	{
		json_t *entry = NULL;

		r = look_at_test(p, test, &entry, &is_infra, e);
		if (r <= 0)
			break;
		json_array_append_new(entries, entry);
	}
	if (r > 0) {
		if (!*error && is_infra)
			error = "a job of the lab did not come to a verdict";
		set(j->record, "answer",
		    pull_answer(entries, text_of(j->record, "rig"), *error ? error : NULL));
		set(j->record, "state", json_string("ended"));
		r = keep(p, j, e);
	}
	json_decref(entries);
	return r < 0 ? r : 0;
}

/* 0 = it is over; -EAGAIN. */
static int post(struct pull *p, const struct pulled *j, struct err *e)
{
	const json_t *definition = json_object_get(j->record, "definition");
	const char *url = text_of(json_object_get(definition, "callback"), "url");
	char *body = json_dumps(json_object_get(j->record, "answer"), JSON_COMPACT);
	const struct http_ask q = {
		.method = "POST",
		.url = url,
		.authorization = p->cfg->token,
		.type = "application/json",
		.body = body,
		.body_bytes = body ? strlen(body) : 0,
		.until_ns = waiter_now(p->w) + ASK_NS,
		.answer_max = ANSWER_MAX_BYTES,
		.w = p->w,
	};
	auto_strbuf struct strbuf said = STRBUF_INIT;
	auto_free char *shown = http_url_shown(url);
	unsigned status = 0;
	int r;

	r = http_ask(&q, &said, &status, e);
	free(body);
	if (r < 0) {
		if (e->kind == ERR_CONFIG)
			e->code = EAGAIN;
		return -e->code;
	}
	if (http_is_success(status)) {
		say(p, "job %s: answered", j->node);
		return close_record(p, j, "answered", e);
	}
	/* a wrong token can be put right */
	if (heals(status) || status == 401 || status == 403 || status < 400)
		return err_set(e, ERR_CONFIG, EAGAIN, "%s: status %u", shown, status);
	say(p, "job %s: its result is not wanted: %s: status %u", j->node, shown, status);
	return close_record(p, j, "refused", e);
}

/* ---- turns ---- */

/* 1 = it is over. */
static int advance(struct pull *p, struct pulled *j, struct err *e)
{
	int r = 0;

	if (strcmp(text_of(j->record, "state"), "taken") == 0)
		r = begin(p, j, e);
	if (r >= 0 && strcmp(text_of(j->record, "state"), "queued") == 0)
		r = finish(p, j, e);
	if (r < 0 || strcmp(text_of(j->record, "state"), "ended") != 0)
		return r < 0 ? r : 0;
	r = post(p, j, e);
	return r < 0 ? r : 1;
}

static int advance_all(struct pull *p, struct err *e)
{
	for (struct pulled **at = &p->open; *at;) {
		struct pulled *j = *at;
		int r = waiter_now(p->w) >= j->retry_ns ? advance(p, j, e) : 0;

		if (r == -EAGAIN && e->kind == ERR_CONFIG) {
			say(p, "job %s: %s; tried again in %u s", j->node, e->text, p->cfg->poll_s);
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
			say(p, "%s; asked again in %u s", e->text, p->cfg->poll_s);
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
		r = load_records(p, e);
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
