/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull_jobs.c - the tests of a job become jobs of the queue. */
#include "base/parse.h"
#include "pull_priv.h"
#include "trial/scenario.h"

#include <string.h>

#define FETCH_TRIES  5 /* of a kernel, then the lab says that it cannot be had */
#define JOB_ATTEMPTS 3

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
	auto_free char *words = xstrdup(pull_text_of(test, "parameters"));
	auto_scenario struct scenario *sc = NULL;
	char *rest = words;
	int r = 0;

	ret->scenario = xstrdup(pull_text_of(test, "id"));
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

json_t *pull_unrun(const char *id, const char *status, const char *why)
{
	json_t *t = json_pack("{s:s, s:s}", "id", id, "status", status);

	pull_set(t, "why", pull_text_json(why));
	return t;
}

static int submit(struct pull *p, const struct pulled *j, const char *id, const struct wish *w,
		  const char *kernel, int64_t *ret, struct err *e)
{
	auto_free char *item = xasprintf("pull-labs:%s/%s", j->node, id);
	auto_free char *rig = xstrdup(pull_text_of(j->record, "rig"));
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
	const char *id = pull_text_of(test, "id");
	auto_free char *kernel = NULL;
	int64_t job = 0;
	int r;

	if (strcmp(pull_text_of(test, "type"), "stallrig") != 0) {
		auto_free char *why = xasprintf("this lab does tests of the type 'stallrig', not "
						"'%.80s'",
						pull_text_of(test, "type"));

		json_array_append_new(tests, pull_unrun(id, "skip", why));
		return 0;
	}
	r = read_wish(test, &w, e);
	if (r < 0) {
		json_array_append_new(tests, pull_unrun(id, "error", e->text));
		err_clear(e);
		return 0;
	}
	if (w.kernel)
		kernel = xstrdup(w.kernel);
	else
		r = pull_ensure_kernel(p, definition, &kernel, e);
	if (r >= 0)
		r = submit(p, j, id, &w, kernel, &job, e);
	if (r < 0)
		return r;
	json_array_append_new(tests, json_pack("{s:s, s:I}", "id", id, "job", (json_int_t)job));
	pull_say(p, "job %s: test '%s' is job %lld", j->node, id, (long long)job);
	return 0;
}

int pull_begin(struct pull *p, struct pulled *j, struct err *e)
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
		pull_say(p, "job %s: %s", j->node, e->text);
		pull_set(j->record, "error", pull_text_json(e->text));
		json_array_foreach(json_object_get(definition, "tests"), i,
				   test) if (i >= json_array_size(tests))
			json_array_append_new(
				tests, pull_unrun(pull_text_of(test, "id"), "error", e->text));
		err_clear(e);
		r = 0;
	}
	if (r < 0) {
		json_decref(tests);
		return r;
	}
	pull_set(j->record, "tests", tests);
	pull_set(j->record, "state", json_string("queued"));
	return pull_keep(p, j, e);
}
