/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull_answer.c - what came of a job is posted. */
#include "base/http_ask.h"
#include "pull_priv.h"

#include <string.h>

#define ANSWER_MAX_BYTES 4096

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
	pull_set(t, "why", pull_text_json(strbuf_str(&why)));
	if (j->started_wall_ns && j->ended_wall_ns >= j->started_wall_ns)
		pull_set(t, "duration_ms",
			 json_integer((j->ended_wall_ns - j->started_wall_ns) / NSEC_PER_MSEC));
	if (run && run->result.valid) {
		pull_set(metrics, "valid_trials", json_integer(run->result.valid));
		pull_set(metrics, "over_limit", json_integer(run->result.over));
		if (run->result.worst_us >= 0)
			pull_set(metrics, "worst_ms",
				 json_real((double)run->result.worst_us / 1000));
		if (run->result.p50_us >= 0)
			pull_set(metrics, "p50_ms", json_real((double)run->result.p50_us / 1000));
	}
	if (json_object_size(metrics))
		pull_set(t, "metrics", metrics);
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
		n_failed += strcmp(pull_text_of(t, "status"), "fail") == 0 ||
			    strcmp(pull_text_of(t, "status"), "error") == 0;
		strbuf_addf(&log, "%s: %s: %s\n", pull_text_of(t, "id"), pull_text_of(t, "status"),
			    pull_text_of(t, "why"));
		pull_set(results, pull_text_of(t, "id"), result);
	}
	answer = json_pack("{s:{s:i, s:i}, s:o, s:{s:s}, s:{s:s}}", "summary", "total",
			   (int)json_array_size(tests), "failed", n_failed, "tests", results,
			   "metadata", "system", system, "artifacts", "log", strbuf_str(&log));
	if (error) {
		pull_set(answer, "error_code", json_string("Infrastructure"));
		pull_set(answer, "error_msg", pull_text_json(error));
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
		*ret = pull_unrun(pull_text_of(test, "id"), "error",
				  "its job is no longer in the queue");
		*ret_is_infra = true;
		r = 1;
	} else if (r >= 0 && has_ended(jobs[0])) {
		r = store_find_run(p->st, jobs[0]->run_id, &run, e);
		if (r >= 0) {
			*ret = pull_test(pull_text_of(test, "id"), jobs[0], run);
			*ret_is_infra |= jobs[0]->state != STORE_JOB_DONE;
			r = 1;
		}
	}
	store_jobs_free(jobs, n);
	return r;
}

int pull_finish(struct pull *p, struct pulled *j, struct err *e)
{
	const json_t *tests = json_object_get(j->record, "tests");
	const char *error = pull_text_of(j->record, "error");
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
		pull_set(j->record, "answer",
			 pull_answer(entries, pull_text_of(j->record, "rig"),
				     *error ? error : NULL));
		pull_set(j->record, "state", json_string("ended"));
		r = pull_keep(p, j, e);
	}
	json_decref(entries);
	return r < 0 ? r : 0;
}

int pull_post(struct pull *p, const struct pulled *j, struct err *e)
{
	const json_t *definition = json_object_get(j->record, "definition");
	const char *url = pull_text_of(json_object_get(definition, "callback"), "url");
	char *body = json_dumps(json_object_get(j->record, "answer"), JSON_COMPACT);
	const struct http_ask q = {
		.method = "POST",
		.url = url,
		.authorization = p->cfg->token,
		.type = "application/json",
		.body = body,
		.body_bytes = body ? strlen(body) : 0,
		.until_ns = waiter_now(p->w) + PULL_ASK_NS,
		.answer_max = ANSWER_MAX_BYTES,
		.w = p->w,
	};
	auto_strbuf struct strbuf said = STRBUF_INIT;
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
		pull_say(p, "job %s: answered", j->node);
		return pull_close_record(p, j, "answered", e);
	}
	r = http_refused(url, status, &said, e);
	/* a wrong token can be put right */
	if (http_may_heal(status) || r == -EACCES || status < 400) {
		e->code = EAGAIN;
		return -EAGAIN;
	}
	pull_say(p, "job %s: its result is not wanted: %s", j->node, e->text);
	err_clear(e);
	return pull_close_record(p, j, "refused", e);
}
