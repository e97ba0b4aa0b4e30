/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_lists.c - rigs, kernel builds, incidents, and what runs now. */
#include "base/parse.h"
#include "live.h"
#include "pages.h"
#include "report/json.h"
#include "report/json_put.h"
#include "store/query.h"
#include "store/queue.h"

#include <inttypes.h>
#include <string.h>

#define RUNS_MAX      4000
#define RUNS_SHOWN    60
#define INCIDENTS_MAX 500

static void add_runs_table(struct strbuf *out, const struct request *rq,
			   const struct run_list *runs)
{
	strbuf_adds(out, "<table class=rows><thead><tr><th scope=col>started<th scope=col>kernel"
			 "<th scope=col>rig<th scope=col>scenario<th scope=col>verdict"
			 "<th scope=col class=num>worst</thead><tbody>\n");
	for (size_t i = 0; i < runs->n && i < RUNS_SHOWN; i++) {
		const struct run *r = runs->runs[i];
		auto_free char *name = view_kernel_name(r);

		strbuf_adds(out, "<tr><td class=when>");
		html_time(out, r->started_wall_ns);
		strbuf_adds(out, "<th scope=row>");
		html_link(out, rq, "runs/", r->id, name);
		strbuf_adds(out, "<td>");
		html_text(out, r->rig);
		strbuf_adds(out, "<td>");
		html_text(out, r->scenario);
		strbuf_adds(out, "<td>");
		html_verdict(out, r->result.verdict);
		strbuf_adds(out, "<td class=num>");
		html_ms(out, r->result.worst_us);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table>\n");
	if (runs->n > RUNS_SHOWN)
		strbuf_addf(out, "<p class=dim>and %zu older runs\n", runs->n - RUNS_SHOWN);
}

/* ---- rigs ---- */

struct rig_row {
	const char *name;
	const struct run *newest;      /* NULL = none */
	const struct store_rig *state; /* NULL = not known to the queue */
};

/* Rigs that the queue knows or that have runs. Caller frees. */
static size_t list_rigs(const struct run_list *runs, const struct store_rig *states,
			size_t n_states, struct rig_row **ret)
{
	size_t n = 0;

	*ret = xcalloc(runs->n + n_states + 1, sizeof(**ret));
	for (size_t i = 0; i < n_states; i++)
		(*ret)[n++] = (struct rig_row){.name = states[i].rig, .state = &states[i]};
	for (size_t i = 0; i < runs->n; i++) {
		size_t k = 0;

		while (k < n && strcmp((*ret)[k].name, runs->runs[i]->rig) != 0)
			k++;
		if (k == n)
			(*ret)[n++].name = runs->runs[i]->rig;
		if (!(*ret)[k].newest)
			(*ret)[k].newest = runs->runs[i];
	}
	return n;
}

static void add_rig_state(struct strbuf *out, const struct store_rig *st)
{
	if (!st) {
		strbuf_adds(out, "<span class=dim>no worker serves it</span>");
		return;
	}
	if (!st->running && !st->holder && !st->quarantined_wall_ns)
		strbuf_adds(out, "<span class=dim>idle</span> ");
	if (st->quarantined_wall_ns) {
		strbuf_adds(out, "<span class=unwell>⚠ in quarantine: ");
		html_text(out, st->quarantine_reason);
		strbuf_adds(out, "</span> ");
	}
	if (st->running) {
		strbuf_adds(out, "<span class=running>● ");
		html_text(out, st->running);
		strbuf_adds(out, "</span> ");
	}
	if (st->holder) {
		strbuf_adds(out, "<b>held by ");
		html_text(out, st->holder);
		strbuf_adds(out, "</b> ");
		if (st->hold_purpose && *st->hold_purpose) {
			strbuf_adds(out, "(");
			html_text(out, st->hold_purpose);
			strbuf_adds(out, ") ");
		}
		strbuf_adds(out, "until ");
		html_time(out, st->held_until_wall_ns);
		strbuf_adds(out, " ");
	}
	if (st->checked_wall_ns) {
		strbuf_addf(out, "<span class=%s>%s checked</span> ",
			    st->is_check_ok ? "well" : "unwell", st->is_check_ok ? "✓" : "⚠");
		html_time(out, st->checked_wall_ns);
		strbuf_adds(out, " ");
		html_text(out, st->check_text);
	}
}

int page_rigs(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct data_filter f = {.rig = rq->parts[0], .last = RUNS_MAX};
	auto_run_list struct run_list runs = {0};
	auto_free struct rig_row *rows = NULL;
	struct store_rig *states = NULL;
	struct strbuf *out = &rp->body;
	size_t n_states = 0;
	size_t n;
	int r;

	r = data_runs(s, &f, &runs, e);
	if (r >= 0)
		r = store_rigs(s->store, &states, &n_states, e);
	if (r < 0)
		return r;
	n = list_rigs(&runs, states, n_states, &rows);
	page_begin(out, rq, NAV_RIGS, rq->parts[0] ? rq->parts[0] : "Rigs", false);
	strbuf_adds(out, "<h1>");
	html_text(out, rq->parts[0] ? rq->parts[0] : "Rigs");
	strbuf_adds(out, "</h1>\n<section class=card><table class=rows><thead><tr><th scope=col>rig"
			 "<th scope=col>class<th scope=col>state<th scope=col>newest run"
			 "<th scope=col>verdict</thead><tbody>\n");
	for (size_t i = 0; i < n; i++) {
		if (rq->parts[0] && strcmp(rows[i].name, rq->parts[0]) != 0)
			continue;
		strbuf_adds(out, "<tr><th scope=row>");
		html_link(out, rq, "rigs/", rows[i].name, rows[i].name);
		strbuf_adds(out, "<td>");
		html_text(out, rows[i].newest ? rows[i].newest->rig_class : NULL);
		strbuf_adds(out, "<td>");
		add_rig_state(out, rows[i].state);
		strbuf_adds(out, "<td>");
		if (rows[i].newest) {
			html_time(out, rows[i].newest->started_wall_ns);
			strbuf_adds(out, "<td>");
			html_verdict(out, rows[i].newest->result.verdict);
		} else {
			strbuf_adds(out, "none<td>");
		}
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table></section>\n");
	if (rq->parts[0]) {
		const char *holder = NULL;

		for (size_t i = 0; i < n; i++)
			if (rows[i].state && strcmp(rows[i].name, rq->parts[0]) == 0)
				holder = rows[i].state->holder;
		add_rig_actions(out, s, rq, rq->parts[0], holder);
		strbuf_adds(out, "<section class=card><h2>Runs</h2>");
		add_runs_table(out, rq, &runs);
		strbuf_adds(out, "</section>\n");
	}
	page_end(out, rq);
	store_rigs_free(states, n_states);
	return 0;
}

int api_rigs(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct data_filter f = {.last = RUNS_MAX};
	auto_run_list struct run_list runs = {0};
	auto_free struct rig_row *rows = NULL;
	struct store_rig *states = NULL;
	json_t *root;
	json_t *array;
	size_t n_states = 0;
	size_t n;
	int r;

	(void)rq;
	r = data_runs(s, &f, &runs, e);
	if (r >= 0)
		r = store_rigs(s->store, &states, &n_states, e);
	if (r < 0)
		return r;
	root = json_object();
	array = json_array();
	n = list_rigs(&runs, states, n_states, &rows);
	for (size_t i = 0; i < n; i++) {
		const struct store_rig *st = rows[i].state;
		json_t *obj = json_object();

		set_text(obj, "rig", rows[i].name);
		if (st) {
			auto_free char *checked =
				st->checked_wall_ns ? wall_format(st->checked_wall_ns) : NULL;

			set(obj, "in_quarantine", json_boolean(st->quarantined_wall_ns != 0));
			set_text(obj, "quarantine_reason", st->quarantine_reason);
			set_text(obj, "running", st->running);
			set_text(obj, "holder", st->holder);
			set_text(obj, "checked", checked);
			if (st->checked_wall_ns)
				set(obj, "is_check_ok", json_boolean(st->is_check_ok));
			set_text(obj, "check_text", st->check_text);
		}
		if (rows[i].newest)
			set(obj, "newest_run", report_run_value(rows[i].newest));
		append(array, obj);
	}
	set(root, "rigs", array);
	reply_json(rp, root);
	store_rigs_free(states, n_states);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ---- kernel builds ---- */

int page_kernels(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct data_filter f = {.kernel = rq->parts[0], .last = RUNS_MAX};
	auto_run_list struct run_list runs = {0};
	struct strbuf *out = &rp->body;
	int r;

	r = data_runs(s, &f, &runs, e);
	if (r < 0)
		return r;
	page_begin(out, rq, NAV_KERNELS, rq->parts[0] ? rq->parts[0] : "Kernels", false);
	strbuf_adds(out, "<h1>");
	html_text(out, rq->parts[0] ? rq->parts[0] : "Kernels");
	strbuf_adds(out, "</h1>\n<section class=card>");
	if (rq->parts[0]) {
		if (runs.n) {
			strbuf_adds(out, "<p>");
			html_text(out, runs.runs[0]->kernel_release);
			strbuf_adds(out, " ");
			html_text(out, runs.runs[0]->kernel_version);
			strbuf_adds(out, "\n");
		}
		add_runs_table(out, rq, &runs);
	} else {
		strbuf_adds(out,
			    "<table class=rows><thead><tr><th scope=col>kernel<th scope=col>"
			    "build<th scope=col>newest run<th scope=col>verdict</thead><tbody>\n");
		for (size_t i = 0; i < runs.n; i++) {
			const struct run *run = runs.runs[i];
			auto_free char *name = NULL;
			bool is_first = true;

			for (size_t k = 0; k < i && is_first; k++)
				is_first = !view_is_same_kernel(runs.runs[k], run);
			if (!is_first)
				continue;
			name = view_kernel_name(run);
			strbuf_adds(out, "<tr><th scope=row>");
			html_link(out, rq, "kernels/", run->kernel, name);
			strbuf_adds(out, "<td>");
			html_text(out, run->kernel);
			strbuf_adds(out, "<td>");
			html_link(out, rq, "runs/", run->id, run->rig);
			strbuf_adds(out, ", ");
			html_time(out, run->started_wall_ns);
			strbuf_adds(out, "<td>");
			html_verdict(out, run->result.verdict);
			strbuf_adds(out, "\n");
		}
		strbuf_adds(out, "</tbody></table>");
	}
	strbuf_adds(out, "</section>\n");
	page_end(out, rq);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ---- incidents ---- */

static void add_incidents(struct strbuf *out, const struct request *rq,
			  const struct store_incident *rows, size_t n)
{
	strbuf_adds(out, "<table class=rows><thead><tr><th scope=col>when<th scope=col>class"
			 "<th scope=col>what<th scope=col class=num>times<th scope=col>trial"
			 "<th scope=col>kernel<th scope=col>rig</thead><tbody>\n");
	for (size_t i = 0; i < n; i++) {
		auto_free char *trial = xasprintf("%s.%u", rows[i].run_id, rows[i].trial);

		strbuf_adds(out, "<tr><td class=when>");
		html_time(out, rows[i].started_wall_ns);
		strbuf_adds(out, "<td>");
		html_text(out, rows[i].cls);
		strbuf_adds(out, "<td><code>");
		html_text(out, rows[i].title);
		strbuf_addf(out, "</code><td class=num>%u<th scope=row>", rows[i].count);
		html_link(out, rq, "trials/", trial, trial);
		strbuf_adds(out, "<td>");
		html_text(out, rows[i].kernel);
		strbuf_adds(out, "<td>");
		html_text(out, rows[i].rig);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table>");
}

int page_incidents(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const char *words = request_arg(rq, "q");
	struct store_incident *rows = NULL;
	struct strbuf *out = &rp->body;
	size_t n = 0;
	int r;

	r = store_incidents(s->store, words, INCIDENTS_MAX, &rows, &n, e);
	if (r < 0)
		return r;
	page_begin(out, rq, NAV_INCIDENTS, "Incidents", false);
	strbuf_adds(out, "<h1>Incidents</h1>\n");
	if (!rq->is_static) {
		strbuf_adds(out, "<form class=search role=search><label>Words <input type=search "
				 "name=q value=\"");
		html_text(out, words);
		strbuf_adds(out, "\" placeholder=\"workqueue lockup\"></label><button>Search"
				 "</button></form>\n");
	}
	strbuf_addf(out, "<section class=card><p class=dim>%zu%s incidents", n,
		    n == INCIDENTS_MAX ? " newest" : "");
	if (words) {
		strbuf_adds(out, " with “");
		html_text(out, words);
		strbuf_adds(out, "”");
	} else {
		strbuf_adds(out, " other than the plain USB disconnect");
	}
	strbuf_adds(out, "</p>");
	if (n)
		add_incidents(out, rq, rows, n);
	strbuf_adds(out, "</section>\n");
	page_end(out, rq);
	store_incidents_free(rows, n);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

int api_incidents(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	struct store_incident *rows = NULL;
	json_t *root;
	json_t *array;
	size_t n = 0;
	int r;

	r = store_incidents(s->store, request_arg(rq, "q"), INCIDENTS_MAX, &rows, &n, e);
	if (r < 0)
		return r;
	root = json_object();
	array = json_array();
	for (size_t i = 0; i < n; i++) {
		auto_free char *trial = xasprintf("%s.%u", rows[i].run_id, rows[i].trial);
		auto_free char *started = wall_format(rows[i].started_wall_ns);
		json_t *obj = json_object();

		set_text(obj, "class", rows[i].cls);
		set_text(obj, "title", rows[i].title);
		set_count(obj, "count", rows[i].count);
		set_text(obj, "trial", trial);
		set_text(obj, "rig", rows[i].rig);
		set_text(obj, "kernel", rows[i].kernel);
		set_text(obj, "started", started);
		append(array, obj);
	}
	set(root, "incidents", array);
	reply_json(rp, root);
	store_incidents_free(rows, n);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ---- live ---- */

int page_live(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run struct run *run = NULL;
	auto_free char *name = NULL;
	struct strbuf *out = &rp->body;
	int r;

	r = data_run(s, rq->parts[0], &run, e);
	if (r < 0)
		return r;
	name = view_kernel_name(run);
	page_begin(out, rq, NAV_NONE, "Live", false);
	strbuf_adds(out, "<h1>");
	html_text(out, name);
	strbuf_adds(out, " <span class=dim>on ");
	html_text(out, run->rig);
	strbuf_adds(out, "</span></h1>\n<p class=lead id=live-state role=status>");
	strbuf_adds(out, run->ended_wall_ns ? "This run has ended: " : "Goes on. ");
	html_link(out, rq, "runs/", run->id, "its trials");
	strbuf_adds(out,
		    ".<noscript> The live view needs JavaScript.</noscript>\n"
		    "<dl class=live-numbers>"
		    "<div aria-live=polite aria-atomic=true><dt>valid trials<dd id=live-valid>–"
		    "</div><div aria-live=polite aria-atomic=true><dt>over the limit"
		    "<dd id=live-over>–</div><div><dt>worst delay<dd id=live-worst>–</div>"
		    "<div><dt>newest delay<dd id=live-delay>–</div>"
		    "</dl>\n<div class=beside><section class=card><h2>Console</h2>"
		    "<ol class=\"console live\" tabindex=0 aria-label=\"Live console\"");
	if (!run->ended_wall_ns) {
		strbuf_adds(out, " data-events=\"");
		page_api_url(out, rq, "live/", run->id, "/events", NULL);
		strbuf_adds(out, "\"");
	}
	strbuf_adds(out, "></ol></section><section class=card><h2>Trials</h2><table class=rows>"
			 "<thead><tr><th scope=col>trial<th scope=col class=num>worst<th scope=col>"
			 "outcome</thead><tbody id=live-trials></tbody></table></section></div>\n");
	page_end(out, rq);
	return 0;
}

int api_live(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run_list struct run_list running = {0};
	json_t *root;
	json_t *array;
	int r;

	(void)rq;
	r = data_running(s, &running, e);
	if (r < 0)
		return r;
	root = json_object();
	array = json_array();
	for (size_t i = 0; i < running.n; i++)
		append(array, report_run_value(running.runs[i]));
	set(root, "runs", array);
	reply_json(rp, root);
	return 0;
}

int api_events(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run struct run *run = NULL;
	int r;

	if (!s->live || !parse_is_name(rq->parts[0]))
		return err_set(e, ERR_USAGE, ENOENT, "there is no live view of '%s'", rq->parts[0]);
	r = data_run(s, rq->parts[0], &run, e);
	if (r < 0)
		return r;
	if (run->ended_wall_ns)
		return err_set(e, ERR_USAGE, ENOENT, "run '%s' has ended", run->id);
	rp->type = "text/event-stream";
	rp->live = live_find(s->live, run->id);
	if (!rp->live)
		return err_set(e, ERR_USAGE, EBUSY, "too many runs are watched");
	return 0;
}
