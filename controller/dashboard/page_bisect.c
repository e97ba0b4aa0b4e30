/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_bisect.c - bisects: where the culprit may be, what was tested and how it came out, what
   comes next. A page of one that goes on looks for news by itself. */
#include "pages.h"
#include "report/json.h"
#include "report/json_put.h"
#include "store/query.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HASH_SHOWN       12 /* characters of a commit's hash */
#define DOTS_MAX         200
#define CANDIDATES_SHOWN 10 /* the others are one row */

static void add_hash(struct strbuf *out, const char *commit)
{
	auto_free char *hash = xasprintf("%.*s", HASH_SHOWN, text_or_empty(commit));

	strbuf_adds(out, "<code title=\"");
	html_text(out, commit);
	strbuf_adds(out, "\">");
	html_text(out, hash);
	strbuf_adds(out, "</code>");
}

static void add_duration(struct strbuf *out, int64_t s)
{
	if (s < 3600)
		strbuf_addf(out, "%" PRId64 " min", (s + 59) / 60);
	else
		strbuf_addf(out, "%" PRId64 " h %02" PRId64 " min", s / 3600, s % 3600 / 60);
}

static void add_next(struct strbuf *out, const struct store_bisect *b)
{
	html_text(out, b->next);
	if (b->eta_s >= 0 && !b->ended_wall_ns) {
		strbuf_adds(out, " <span class=dim>(about ");
		add_duration(out, b->eta_s);
		strbuf_adds(out, " left)</span>");
	}
}

/* ---- all of them ---- */

static void add_bisect_row(struct strbuf *out, const struct request *rq,
			   const struct store_bisect *b)
{
	strbuf_adds(out, "<tr><th scope=row>");
	html_link(out, rq, "bisects/", b->id, b->id);
	strbuf_adds(out, "<td>");
	html_text(out, b->state);
	strbuf_adds(out, "<td>");
	if (b->culprit)
		add_hash(out, b->culprit);
	strbuf_adds(out, "<td class=num>");
	if (isfinite(b->probability))
		strbuf_addf(out, "%.1f %%", b->probability * 100);
	strbuf_addf(out, "<td class=num>%u<td>", b->n_commits);
	add_next(out, b);
	strbuf_adds(out, "<td class=when>");
	html_time(out, b->updated_wall_ns);
	strbuf_adds(out, "\n");
}

static void add_bisect_table(struct strbuf *out, const struct request *rq,
			     const struct store_bisect *rows, size_t n)
{
	strbuf_adds(out, "<section class=card>");
	if (n) {
		strbuf_adds(out,
			    "<div class=scroll tabindex=0 role=region aria-label=Bisects>"
			    "<table class=rows><thead><tr><th scope=col>bisect<th scope=col>state"
			    "<th scope=col>culprit<th scope=col class=num>probability"
			    "<th scope=col class=num>commits<th scope=col>next<th scope=col>"
			    "updated</thead><tbody>\n");
		for (size_t i = 0; i < n; i++)
			add_bisect_row(out, rq, &rows[i]);
		strbuf_adds(out, "</tbody></table></div>");
	} else {
		strbuf_adds(out, "<p>No bisect is in the store. <code>stallrig bisect start</code> "
				 "makes one.");
	}
	strbuf_adds(out, "</section>\n");
}

/* ---- one ---- */

/* The commit, and what it says of itself. */
static void add_commit(struct strbuf *out, const json_t *candidates, const char *commit)
{
	size_t i;
	json_t *item;

	add_hash(out, commit);
	json_array_foreach(candidates, i, item)
	{
		const char *other = json_string_value(json_object_get(item, "commit"));

		if (other && strcmp(other, commit) == 0) {
			strbuf_adds(out, " <b>");
			html_text(out, json_string_value(json_object_get(item, "subject")));
			strbuf_adds(out, "</b>");
			return;
		}
	}
}

static void add_answer(struct strbuf *out, const struct store_bisect *b)
{
	json_t *list = b->candidates ? json_loads(b->candidates, 0, NULL) : NULL;
	const char *first = json_string_value(json_object_get(json_array_get(list, 0), "commit"));

	strbuf_adds(out, "<p class=lead>");
	if (b->culprit) {
		strbuf_adds(out, "The culprit is ");
		add_commit(out, list, b->culprit);
	} else {
		strbuf_adds(out, "State: <b>");
		html_text(out, b->state);
		strbuf_adds(out, "</b>.");
		if (first) {
			strbuf_adds(out, " The likeliest so far is ");
			add_commit(out, list, first);
		}
	}
	if ((b->culprit || first) && isfinite(b->probability))
		strbuf_addf(out, ", with <b class=num>%.1f %%</b>.", b->probability * 100);
	strbuf_adds(out, "\n");
	if (b->next && *b->next && !b->ended_wall_ns) {
		strbuf_adds(out, "<p class=next><span class=dim>Next step:</span> ");
		add_next(out, b);
		strbuf_adds(out, "\n");
	}
	json_decref(list);
}

static void add_facts(struct strbuf *out, const struct request *rq, const struct store_bisect *b)
{
	strbuf_addf(out, "<section class=card><dl class=facts><dt>commits between the ends<dd>%u",
		    b->n_commits);
	if (isfinite(b->entropy_bits))
		strbuf_addf(out, "<dt>not known yet<dd>%.2f bits", b->entropy_bits);
	strbuf_adds(out, "<dt>rig<dd>");
	html_link(out, rq, "rigs/", b->rig, b->rig);
	html_fact(out, "scenario", b->scenario);
	html_fact(out, "repository", b->repo);
	strbuf_adds(out, "<dt>good<dd>");
	add_hash(out, b->good);
	strbuf_adds(out, "<dt>bad<dd>");
	add_hash(out, b->bad);
	strbuf_adds(out, "<dt>started<dd>");
	html_time(out, b->started_wall_ns);
	if (b->ended_wall_ns) {
		strbuf_adds(out, "<dt>ended<dd>");
		html_time(out, b->ended_wall_ns);
	}
	strbuf_adds(out, "</dl></section>\n");
}

static void add_probability(struct strbuf *out, double p)
{
	strbuf_addf(out,
		    "<td class=num>%.1f %%<td class=barcell aria-hidden=true>"
		    "<svg class=bar><rect y=4 height=10 width=\"%.1f%%\" class=over />"
		    "</svg>\n",
		    p * 100, p * 100);
}

static void add_candidates(struct strbuf *out, const struct store_bisect *b)
{
	json_t *list = b->candidates ? json_loads(b->candidates, 0, NULL) : NULL;
	const size_t listed = json_array_size(list);
	/* the store has the likeliest; each commit between the ends is a candidate */
	const size_t n = b->n_commits > listed ? b->n_commits : listed;
	/* a row for one other would save nothing */
	const size_t shown = n <= CANDIDATES_SHOWN + 1 ? n : CANDIDATES_SHOWN;
	double others = 1;
	size_t i;
	json_t *item;

	strbuf_adds(out, "<section class=card><h2>Where the culprit may be</h2>"
			 "<div class=scroll tabindex=0 role=region aria-label=Candidates>"
			 "<table class=rows><thead><tr><th scope=col>commit<th scope=col>subject"
			 "<th scope=col class=num>probability"
			 "<th scope=col class=barcell><span class=axis>0 … 100 %</span></thead>"
			 "<tbody>\n");
	json_array_foreach(list, i, item)
	{
		double p = json_number_value(json_object_get(item, "probability"));

		if (i >= shown)
			break;
		others -= p;
		strbuf_adds(out, "<tr><th scope=row>");
		add_hash(out, json_string_value(json_object_get(item, "commit")));
		strbuf_adds(out, "<td>");
		html_text(out, json_string_value(json_object_get(item, "subject")));
		add_probability(out, p);
	}
	if (listed && n > shown) {
		strbuf_addf(out, "<tr><th scope=row>%zu others<td>together", n - shown);
		add_probability(out, others > 0 ? others : 0);
	}
	strbuf_adds(out, "</tbody></table></div></section>\n");
	json_decref(list);
}

/* The worst delay of each valid trial on a logarithmic axis, the limit as a line. */
static void add_dots(struct strbuf *out, const struct run *r)
{
	size_t n = 0;

	strbuf_adds(out, "<svg class=\"bar dots\">");
	for (size_t i = 0; i < r->n_trials && n < DOTS_MAX; i++) {
		const struct trial *t = r->trials[i];

		if (!t->is_valid || t->worst_us < 0)
			continue;
		strbuf_addf(out, "<circle r=4 cy=9 cx=\"%.2f%%\" class=%s />",
			    html_log_pct(t->worst_us),
			    t->worst_us > r->limit_us ? "over" : "under");
		n++;
	}
	strbuf_addf(out, "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=0 y2=18 class=limit /></svg>",
		    html_log_pct(r->limit_us), html_log_pct(r->limit_us));
}

static void add_test(struct site *s, struct strbuf *out, const struct request *rq,
		     const struct store_bisect_test *t)
{
	auto_run struct run *run = NULL;
	struct err e = {0};

	strbuf_adds(out, "<tr><td class=when>");
	html_time(out, t->tested_wall_ns);
	strbuf_adds(out, "<th scope=row>");
	add_hash(out, t->commit);
	strbuf_adds(out, "<td>");
	html_text(out, t->subject);
	strbuf_adds(out, "<td>");
	html_text(out, t->verdict);
	strbuf_addf(out, "<td class=num>%u/%u<td class=num>", t->over, t->trials);
	html_ms(out, t->worst_us);
	strbuf_adds(out, "<td class=barcell aria-hidden=true>");
	/* a run that was removed takes only its picture with it */
	if (t->run_id && data_run(s, t->run_id, &run, &e) >= 0)
		add_dots(out, run);
	strbuf_adds(out, "<td>");
	if (run)
		html_link(out, rq, "runs/", t->run_id, "trials");
	strbuf_adds(out, "\n");
}

static void add_bisect_tests(struct site *s, struct strbuf *out, const struct request *rq,
			     const struct store_bisect *b)
{
	strbuf_adds(out,
		    "<section class=card><h2>Tested</h2>"
		    "<div class=scroll tabindex=0 role=region aria-label=Tested>"
		    "<table class=rows><thead><tr><th scope=col>when"
		    "<th scope=col>commit<th scope=col>subject<th scope=col>verdict<th scope=col "
		    "class=num>over<th scope=col class=num>worst<th scope=col class=barcell>"
		    "<span class=axis>each trial, 0.1 ms … 10 s, line: limit</span>"
		    "<th scope=col><span class=sr>its trials</span></thead><tbody>\n");
	for (size_t i = b->n_tests; i-- > 0;)
		add_test(s, out, rq, &b->tests[i]);
	strbuf_adds(out, "</tbody></table></div></section>\n");
}

/* All bisects, or the one that the address names. Caller frees. */
static int find_bisects(struct site *s, const struct request *rq, struct store_bisect **ret,
			size_t *ret_n, struct err *e)
{
	const char *id = rq->parts[0];
	int r = store_bisects(s->store, id, ret, ret_n, e);

	if (r >= 0 && id && *ret_n == 0)
		r = err_set(e, ERR_USAGE, ENOENT, "there is no bisect '%s'", id);
	return r;
}

int page_bisects(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const char *id = rq->parts[0];
	struct store_bisect *rows = NULL;
	struct strbuf *out = &rp->body;
	bool goes_on = false;
	size_t n = 0;
	int r;

	r = find_bisects(s, rq, &rows, &n, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		goes_on |= rows[i].ended_wall_ns == 0;
	page_begin(out, rq, NAV_BISECTS, id ? id : "Bisects", false);
	strbuf_addf(out, "<h1%s>", goes_on ? " data-refresh=5" : "");
	html_text(out, id ? id : "Bisects");
	strbuf_adds(out, "</h1>\n");
	if (id) {
		add_answer(out, &rows[0]);
		add_candidates(out, &rows[0]);
		add_bisect_tests(s, out, rq, &rows[0]);
		add_facts(out, rq, &rows[0]);
	} else {
		add_bisect_table(out, rq, rows, n);
	}
	page_end(out, rq);
	store_bisects_free(rows, n);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ---- the API ---- */

static json_t *test_value(const struct store_bisect_test *t)
{
	json_t *obj = json_object();

	set_text(obj, "commit", t->commit);
	set_text(obj, "subject", t->subject);
	set_text(obj, "verdict", t->verdict);
	set_count(obj, "trials", t->trials);
	set_count(obj, "over", t->over);
	if (t->worst_us >= 0)
		set_real(obj, "worst_ms", (double)t->worst_us / 1000.0);
	set_text(obj, "run", t->run_id);
	set_wall(obj, "tested", t->tested_wall_ns);
	return obj;
}

static json_t *bisect_value(const struct store_bisect *b, bool is_whole)
{
	json_t *candidates = b->candidates ? json_loads(b->candidates, 0, NULL) : NULL;
	json_t *tests = json_array();
	json_t *obj = json_object();

	set_text(obj, "id", b->id);
	set_text(obj, "state", b->state);
	set_text(obj, "repo", b->repo);
	set_text(obj, "good", b->good);
	set_text(obj, "bad", b->bad);
	set_text(obj, "rig", b->rig);
	set_text(obj, "scenario", b->scenario);
	set_count(obj, "commits", b->n_commits);
	set_text(obj, "culprit", b->culprit);
	set_real(obj, "probability", b->probability);
	set_real(obj, "entropy_bits", b->entropy_bits);
	set_text(obj, "next", b->next);
	if (b->eta_s >= 0)
		set(obj, "eta_s", json_integer(b->eta_s));
	set_wall(obj, "started", b->started_wall_ns);
	set_wall(obj, "updated", b->updated_wall_ns);
	set_wall(obj, "ended", b->ended_wall_ns);
	for (size_t i = 0; i < b->n_tests; i++)
		append(tests, test_value(&b->tests[i]));
	if (is_whole) {
		if (candidates)
			set(obj, "candidates", json_incref(candidates));
		set(obj, "tests", json_incref(tests));
	}
	json_decref(candidates);
	json_decref(tests);
	return obj;
}

int api_bisects(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const char *id = rq->parts[0];
	struct store_bisect *rows = NULL;
	size_t n = 0;
	int r;

	r = find_bisects(s, rq, &rows, &n, e);
	if (r < 0)
		return r;
	if (id) {
		reply_json(rp, bisect_value(&rows[0], true));
	} else {
		json_t *root = json_object();
		json_t *array = json_array();

		for (size_t i = 0; i < n; i++)
			append(array, bisect_value(&rows[i], false));
		set(root, "bisects", array);
		reply_json(rp, root);
	}
	store_bisects_free(rows, n);
	rp->fresh_ns = FRESH_NS;
	return 0;
}
