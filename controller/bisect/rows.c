/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - a bisect as rows of the store. */
#include "bisect/rows.h"

#include "bisect/setup.h"
#include "bisect/words.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define NAME_SHOWN_MAX 96 /* of the id, so that the whole stays a name */

static const char *text_in(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Of "2026-11-30T11:17:54Z"; 0 if it is none. */
static int64_t wall_of(const json_t *o, struct tm *ret_tm)
{
	struct tm tm = {0};

	if (!strptime(text_in(o, "wall"), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return 0;
	*ret_tm = tm;
	return (int64_t)timegm(&tm) * NSEC_PER_SEC;
}

/* "rigs/a.yaml" is a. */
static char *name_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	if (len > 5 && strcmp(name + len - 5, ".yaml") == 0)
		len -= 5;
	return xasprintf("%.*s", (int)len, name);
}

static char *dumped(json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);

	json_decref(o);
	if (!text)
		abort(); /* out of memory, as xcalloc() */
	return text;
}

static struct store_bisect_test *add_test(const struct bisect *b, const json_t *o, uint32_t commit,
					  struct store_bisect *row)
{
	struct store_bisect_test *t;
	struct tm tm;

	row->tests = xrealloc(row->tests, row->n_tests + 1, sizeof(*row->tests));
	t = &row->tests[row->n_tests++];
	*t = (struct store_bisect_test){
		.commit = xstrdup(history_sha(bisect_history_of(b), commit)),
		.subject = words_utf8(history_subject(bisect_history_of(b), commit)),
		.verdict = xstrdup(bisect_verdict_of(b, commit)),
		.worst_us = -1,
		.tested_wall_ns = wall_of(o, &tm),
	};
	return t;
}

/* The trials of the boot that record `at` ends stand right before it. */
static void add_boot(const struct bisect *b, size_t at, uint32_t commit, struct store_bisect *row)
{
	const struct journal *j = bisect_journal_of(b);
	const json_t *boot = journal_at(j, at);
	struct store_bisect_test *t = add_test(b, boot, commit, row);

	for (size_t i = at; i-- > 0;) {
		const json_t *o = journal_at(j, i);
		const json_t *ms = json_object_get(o, "delay_ms");
		int64_t us = json_is_number(ms) ? llround(json_number_value(ms) * 1000) : -1;

		if (strcmp(text_in(o, "kind"), "trial") != 0 ||
		    strcmp(text_in(o, "commit"), t->commit) != 0 ||
		    !json_equal(json_object_get(o, "boot"), json_object_get(boot, "boot")))
			break;
		t->trials++;
		t->over += json_is_true(json_object_get(o, "over"));
		if (us > t->worst_us)
			t->worst_us = us;
	}
	if (*text_in(boot, "run"))
		t->run_id = xstrdup(text_in(boot, "run"));
}

static void add_tests(const struct bisect *b, struct store_bisect *row)
{
	const struct journal *j = bisect_journal_of(b);

	for (size_t i = 0; i < journal_n(j); i++) {
		const json_t *o = journal_at(j, i);
		const char *kind = text_in(o, "kind");
		struct err ignored = {0};
		uint32_t commit;

		if (history_find(bisect_history_of(b), text_in(o, "commit"), &commit, &ignored) < 0)
			continue;
		if (strcmp(text_in(o, "type"), "boot") == 0)
			add_boot(b, i, commit, row);
		/* one that boots and fails in another way has its boot right before */
		else if (strcmp(kind, "told") == 0 ||
			 (strcmp(kind, "untestable") == 0 &&
			  !(row->n_tests &&
			    strcmp(text_in(journal_at(j, i - 1), "type"), "boot") == 0 &&
			    strcmp(row->tests[row->n_tests - 1].commit, text_in(o, "commit")) ==
				    0)))
			add_test(b, o, commit, row);
	}
}

static void add_answer(const struct bisect *b, bool is_stopped, struct store_bisect *row)
{
	const struct bisect_core *core = bisect_core_of(b);
	auto_free uint32_t *answer = NULL;
	struct bisect_next next;
	struct bisect_estimate est;
	size_t n = bisect_core_answer(core, &answer, &row->probability);
	bool is_over = bisect_is_over(b);

	bisect_core_next(core, &next);
	bisect_core_estimate(core, &est);
	row->entropy_bits = est.entropy_bits;
	if (next.state == BISECT_DONE && n == 1)
		row->culprit = xstrdup(history_sha(bisect_history_of(b), answer[0]));
	if (next.state == BISECT_DONE && !is_over) {
		row->state = xstrdup(is_stopped ? "stopped" : "confirming");
		row->next =
			xstrdup("the culprit and its parents are built again and tested in turn");
		return;
	}
	row->state = xstrdup(is_stopped && !is_over ? "stopped" : bisect_state_name(next.state));
	row->next = xstrdup(next.why);
	if (!is_over && isfinite(est.hours) && est.hours < 1e6)
		row->eta_s = llround(est.hours * 3600);
}

struct store_bisect *bisect_rows(const struct bisect *b, bool is_stopped)
{
	const struct bisect_setup *s = bisect_setup_of(b);
	const struct history *h = bisect_history_of(b);
	const struct journal *j = bisect_journal_of(b);
	auto_free char *name = name_of_file(bisect_dir_of(b));
	struct store_bisect *row = xcalloc(1, sizeof(*row));
	json_t *config = bisect_setup_to_json(s);
	struct tm tm = {0};
	char when[32];

	row->started_wall_ns = wall_of(journal_at(j, 0), &tm);
	(void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	row->id = xasprintf("%.*s-%s", NAME_SHOWN_MAX, name, when);
	row->updated_wall_ns = wall_of(journal_at(j, journal_n(j) - 1), &tm);
	row->ended_wall_ns = bisect_is_over(b) ? row->updated_wall_ns : 0;
	row->repo = words_utf8(s->repo);
	row->good = xstrdup(h->good);
	row->bad = xstrdup(h->bad);
	row->rig = name_of_file(s->rig);
	row->scenario = name_of_file(s->scenario);
	row->n_commits = (unsigned)h->n;
	row->eta_s = -1;
	(void)json_object_del(config, "type");
	row->config = dumped(config);
	row->candidates = dumped(bisect_candidates_json(b));
	add_answer(b, is_stopped, row);
	add_tests(b, row);
	return row;
}
