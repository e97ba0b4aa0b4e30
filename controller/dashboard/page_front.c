/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_front.c - the first screen: what got worse, where, since when; then everything at a glance.
 */
#include "pages.h"
#include "report/json.h"
#include "report/json_put.h"
#include "store/query.h"
#include "store/queue.h"

#include <inttypes.h>
#include <string.h>

#define OLDER_MAX   12 /* older builds in a matrix */
#define SIDE_OPEN   6  /* changes of a kind that are seen at once */
#define RECENT_DAYS 120

/* ---- changes in words ---- */

static void add_worst(struct strbuf *out, const struct run *r)
{
	if (r->result.crashes)
		strbuf_adds(out, r->result.crashes == 1 ? "a crash" : "crashes");
	else
		html_ms(out, r->result.worst_us);
}

static void add_change_links(struct strbuf *out, const struct request *rq, const struct change *c)
{
	auto_free char *trend = view_trend_name(c->now);
	auto_free char *compared = c->was ? xasprintf("%s..%s", c->was->id, c->now->id) : NULL;

	strbuf_adds(out, "<span class=links>");
	html_link(out, rq, "runs/", c->now->id, "trials");
	strbuf_adds(out, " ");
	html_link(out, rq, "trends/", trend, "trend");
	if (compared) {
		strbuf_adds(out, " ");
		html_link(out, rq, "compare/", compared, "compare");
	}
	strbuf_adds(out, "</span>");
}

static void add_change(struct strbuf *out, const struct request *rq, const struct change *c)
{
	static const char *const css[] = {
		[CHANGE_WORSE] = "worse", [CHANGE_BETTER] = "better", [CHANGE_BAD] = "bad"};
	auto_free char *name = view_kernel_name(c->now);
	char night[11];

	wall_night(c->since->started_wall_ns, wall_now(), night);
	strbuf_addf(out,
		    "<li class=\"change %s\"><span class=sign aria-hidden=true>%s</span><div><p>",
		    css[c->kind], html_verdict_sign(c->now->result.verdict));
	strbuf_adds(out, "<b>");
	html_link(out, rq, "runs/", c->now->id, name);
	strbuf_adds(out, "</b> on <b>");
	html_link(out, rq, "rigs/", c->now->rig, c->now->rig);
	strbuf_adds(out, "</b>: worst <b class=num>");
	add_worst(out, c->now);
	strbuf_adds(out, "</b>");
	if (c->was) {
		strbuf_adds(out, ", was <span class=num>");
		add_worst(out, c->was);
		strbuf_adds(out, "</span>");
	}
	strbuf_addf(out, ", since the night of <b>%s</b>", night);
	if (c->kind != CHANGE_WORSE) {
		strbuf_adds(out, "</div>\n");
		return;
	}
	strbuf_adds(out, "<p class=dim>");
	html_text(out, c->now->scenario);
	strbuf_adds(out, ", limit ");
	html_ms(out, c->now->limit_us);
	strbuf_addf(out, ", %u of %u trials over ", c->now->result.over, c->now->result.valid);
	add_change_links(out, rq, c);
	strbuf_adds(out, "</div>\n");
}

static size_t count_changes(const struct change_list *l, enum change_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->changes[i].kind == kind;
	return n;
}

/* Those of a kind, newest first; the ones behind `open` come to light on demand. */
static void add_changes(struct strbuf *out, const struct request *rq, const struct change_list *l,
			enum change_kind kind, size_t open)
{
	size_t all = count_changes(l, kind);
	size_t n = 0;

	strbuf_adds(out, "<ol class=changes>\n");
	for (size_t i = 0; i < l->n; i++) {
		if (l->changes[i].kind != kind)
			continue;
		if (n++ == open)
			strbuf_addf(out,
				    "</ol><details><summary>%zu more</summary>"
				    "<ol class=changes>\n",
				    all - open);
		add_change(out, rq, &l->changes[i]);
	}
	strbuf_adds(out, all > open ? "</ol></details>\n" : "</ol>\n");
}

/* "3 builds: 1 PASS, 2 INCONCLUSIVE", of the newest build of each series on each rig. */
static void add_tally(struct strbuf *out, const struct matrix_list *l)
{
	unsigned counts[VERDICT_MAX] = {0};
	bool is_first = true;

	for (size_t i = 0; i < l->n; i++) {
		const struct matrix *m = &l->matrices[i];

		for (size_t k = 0; k < m->n_newest * m->n_cols; k++)
			if (m->cells[k])
				counts[m->cells[k]->result.verdict]++;
	}
	strbuf_adds(out, "<p class=tally>Newest builds: ");
	for (enum verdict v = 0; v < VERDICT_MAX; v++) {
		if (!counts[v])
			continue;
		strbuf_addf(out, "%s<span class=\"%s\"><b>%u</b> %s</span>", is_first ? "" : ", ",
			    html_verdict_class(v), counts[v], verdict_name(v));
		is_first = false;
	}
	strbuf_adds(out, "\n");
}

static void add_headline(struct strbuf *out, const struct change_list *l,
			 const struct matrix_list *matrices)
{
	size_t worse = count_changes(l, CHANGE_WORSE);

	if (!matrices->n) {
		strbuf_adds(out, "<h1>No results yet</h1>\n<p>No run has ended here. "
				 "<code>stallrig run</code> makes one.\n");
		return;
	}
	if (worse)
		strbuf_addf(out, "<h1 class=worse data-refresh=10>%zu %s worse</h1>\n", worse,
			    worse == 1 ? "kernel got" : "kernels got");
	else
		strbuf_adds(out, "<h1 data-refresh=10>Nothing got worse</h1>\n");
}

/* ---- the matrix ---- */

static void add_cell_words(struct strbuf *out, const struct run *r)
{
	const struct judge_result *j = &r->result;

	if (j->crashes)
		strbuf_adds(out, "crash");
	else if (j->worst_us >= 0)
		html_ms(out, j->worst_us);
	else if (j->verdict == VERDICT_RIG_FAULT)
		strbuf_adds(out, "rig fault");
	else if (j->verdict == VERDICT_UNTESTABLE)
		strbuf_adds(out, "untestable");
	else
		strbuf_addf(out, "%u/%u valid", j->valid, r->planned_valid);
}

static bool is_new_failure(const struct change_list *l, const struct run *r)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->changes[i].kind == CHANGE_WORSE && l->changes[i].now == r)
			return true;
	return false;
}

static void add_cell(struct strbuf *out, const struct request *rq, const struct change_list *l,
		     const struct run *r)
{
	auto_strbuf struct strbuf outcome = STRBUF_INIT;

	if (!r) {
		strbuf_adds(out, "<td class=\"cell none\"><span class=sr>not tested</span>"
				 "<span aria-hidden=true>·</span>");
		return;
	}
	strbuf_addf(out, "<td class=\"cell %s%s\"><a href=\"",
		    html_verdict_class(r->result.verdict), is_new_failure(l, r) ? " new" : "");
	page_url(out, rq, "runs/", r->id, NULL);
	strbuf_adds(out, "\" title=\"");
	strbuf_addf(&outcome, "%s: ", verdict_name(r->result.verdict));
	html_text(out, strbuf_str(&outcome));
	strbuf_reset(&outcome);
	strbuf_adds(&outcome, r->result.strength);
	html_text(out, strbuf_str(&outcome));
	strbuf_addf(out,
		    "\"><span class=sign aria-hidden=true>%s</span><span class=sr>%s%s, </span>",
		    html_verdict_sign(r->result.verdict), is_new_failure(l, r) ? "new " : "",
		    verdict_name(r->result.verdict));
	add_cell_words(out, r);
	strbuf_adds(out, "</a>");
}

static void add_row(struct strbuf *out, const struct request *rq, const struct change_list *l,
		    const struct matrix *m, size_t row)
{
	const struct run *r = m->rows[row];
	auto_free char *version = view_kernel_version(r);

	strbuf_adds(out, "<tr><th scope=row>");
	html_link(out, rq, "kernels/", r->kernel, version);
	strbuf_adds(out, "<small>");
	html_text(out, r->append && *r->append ? r->append : r->arch);
	strbuf_adds(out, "</small>");
	for (size_t c = 0; c < m->n_cols; c++)
		add_cell(out, rq, l, m->cells[row * m->n_cols + c]);
	strbuf_adds(out, "\n");
}

/* The rows behind these are not whole: the store gives of them only what changes and rigs need. */
static size_t rows_shown(const struct matrix *m)
{
	return m->n_newest + OLDER_MAX < m->n_rows ? m->n_newest + OLDER_MAX : m->n_rows;
}

static void add_matrix(struct strbuf *out, const struct request *rq, const struct change_list *l,
		       const struct matrix *m)
{
	size_t n_rows = rows_shown(m);

	strbuf_adds(out, "<section class=\"card matrix\"><h2>");
	html_text(out, m->of->scenario);
	strbuf_adds(out, " <span class=dim>on ");
	html_text(out, m->of->rig_class);
	strbuf_adds(out, " rigs, limit ");
	html_ms(out, m->of->limit_us);
	strbuf_adds(out,
		    "</span></h2>\n<div class=scroll tabindex=0 role=region aria-label=\"Worst "
		    "delay by kernel and rig: ");
	html_text(out, m->of->scenario);
	strbuf_adds(out, " on ");
	html_text(out, m->of->rig_class);
	strbuf_adds(out, " rigs, limit ");
	html_ms(out, m->of->limit_us);
	strbuf_adds(out, "\"><table><thead><tr><th scope=col>newest builds");
	for (size_t c = 0; c < m->n_cols; c++) {
		strbuf_adds(out, "<th scope=col>");
		html_link(out, rq, "rigs/", m->cols[c], m->cols[c]);
	}
	strbuf_adds(out, "</thead><tbody>\n");
	for (size_t r = 0; r < n_rows; r++) {
		if (r == m->n_newest)
			strbuf_addf(out,
				    "</tbody><tbody class=older><tr><th scope=rowgroup "
				    "colspan=%zu>older builds\n",
				    m->n_cols + 1);
		add_row(out, rq, l, m, r);
	}
	strbuf_adds(out, "</tbody></table></div>");
	if (m->n_rows > n_rows) {
		strbuf_adds(out, "<p class=dim>There are still older ones: ");
		html_link(out, rq, "kernels", "", "all kernels");
	}
	strbuf_adds(out, "</section>\n");
}

static void add_legend(struct strbuf *out)
{
	strbuf_adds(out, "<ul class=legend aria-label=Legend><li><span class=\"swatch fail new\" "
			 "aria-hidden=true>✗</span>FAIL, new");
	for (enum verdict v = 0; v < VERDICT_MAX; v++) {
		strbuf_addf(out, "<li><span class=\"swatch %s\" aria-hidden=true>%s</span>%s",
			    html_verdict_class(v), html_verdict_sign(v), verdict_name(v));
	}
	strbuf_adds(out,
		    "<li><span class=\"swatch none\" aria-hidden=true>·</span>not tested</ul>\n");
}

/* ---- rigs ---- */

/* What the store says, as it is shown. */
struct front {
	struct run_list runs, running;
	struct store_rig *rigs; /* those in quarantine first; owned */
	size_t n_rigs, n_quarantined;
};

static void auto_cleanup_front(struct front *f)
{
	run_list_release(&f->runs);
	run_list_release(&f->running);
	store_rigs_free(f->rigs, f->n_rigs);
}
#define auto_front __attribute__((cleanup(auto_cleanup_front)))

static const struct run *newest_of_rig(const struct run_list *runs, const char *rig)
{
	for (size_t i = 0; i < runs->n; i++)
		if (runs->runs[i]->ended_wall_ns && strcmp(runs->runs[i]->rig, rig) == 0)
			return runs->runs[i];
	return NULL;
}

static const struct run *running_on(const struct run_list *running, const char *rig)
{
	for (size_t i = 0; i < running->n; i++)
		if (strcmp(running->runs[i]->rig, rig) == 0)
			return running->runs[i];
	return NULL;
}

static void add_rig(struct strbuf *out, const struct request *rq, const struct run *r,
		    const struct run *now, const struct run *last)
{
	strbuf_adds(out, "<li><b>");
	html_link(out, rq, "rigs/", r->rig, r->rig);
	strbuf_adds(out, "</b> <span class=dim>");
	html_text(out, r->rig_class);
	strbuf_adds(out, "</span><p>");
	if (now) {
		auto_free char *name = view_kernel_name(now);
		const struct judge_result *j = &now->result;

		strbuf_adds(out, "<a class=running href=\"");
		page_url(out, rq, "live/", now->id, NULL);
		strbuf_addf(out, "\"><span aria-hidden=true>●</span> running ");
		html_text(out, name);
		strbuf_addf(out, ", %u of %u trials valid</a>", j->valid, now->planned_valid);
	} else {
		strbuf_adds(out, "<span class=dim>idle, </span>");
	}
	if (last) {
		bool is_well = last->result.verdict != VERDICT_RIG_FAULT;

		strbuf_addf(out, "<span class=\"%s\"><span aria-hidden=true>%s</span> %s</span> ",
			    is_well ? "well" : "unwell", is_well ? "✓" : "⚠",
			    is_well ? "worked" : "rig fault");
		html_time(out, last->ended_wall_ns);
	}
	strbuf_adds(out, "\n");
}

static void add_quarantine(struct strbuf *out, const struct store_rig *rig)
{
	strbuf_adds(out, "<p><span class=unwell><span aria-hidden=true>⚠</span> in quarantine");
	if (rig->quarantine_reason && *rig->quarantine_reason) {
		strbuf_adds(out, ": ");
		html_text(out, rig->quarantine_reason);
	}
	strbuf_adds(out, "</span>, since ");
	html_time(out, rig->quarantined_wall_ns);
	strbuf_adds(out, "\n");
}

/* The last check; nothing for a rig that no worker has served. */
static void add_check(struct strbuf *out, const struct store_rig *rig)
{
	if (!rig->checked_wall_ns)
		return;
	strbuf_addf(out, "<p><span class=\"%s\"><span aria-hidden=true>%s</span> %s</span> ",
		    rig->is_check_ok ? "well" : "unwell", rig->is_check_ok ? "✓" : "⚠",
		    rig->is_check_ok ? "checked" : "check failed");
	html_time(out, rig->checked_wall_ns);
	if (!rig->is_check_ok && rig->check_text) {
		strbuf_adds(out, ": ");
		html_text(out, rig->check_text);
	}
	strbuf_adds(out, "\n");
}

static const struct store_rig *state_of(const struct front *f, const char *rig)
{
	for (size_t i = 0; i < f->n_rigs; i++)
		if (strcmp(f->rigs[i].rig, rig) == 0)
			return &f->rigs[i];
	return NULL;
}

static bool has_run(const struct run_list *runs, const char *rig)
{
	for (size_t i = 0; i < runs->n; i++)
		if (strcmp(runs->runs[i]->rig, rig) == 0)
			return true;
	return false;
}

static void add_rigs(struct strbuf *out, const struct request *rq, const struct front *f)
{
	const struct run_list *runs = &f->runs;
	const struct run_list *running = &f->running;

	strbuf_adds(out, "<section class=card><h2>Rigs</h2>\n");
	if (!rq->is_static && running->n == 0)
		strbuf_adds(out, "<p id=nothing-runs>Nothing is running.\n");
	strbuf_adds(out, "<ul class=rigs>\n");
	for (size_t i = 0; i < f->n_quarantined; i++) {
		const struct store_rig *rig = &f->rigs[i];

		if (has_run(runs, rig->rig))
			continue;
		strbuf_adds(out, "<li><b>");
		html_link(out, rq, "rigs/", rig->rig, rig->rig);
		strbuf_adds(out, "</b>");
		add_quarantine(out, rig);
		add_check(out, rig);
	}
	for (size_t i = 0; i < runs->n; i++) {
		const struct store_rig *rig;
		const struct run *r = runs->runs[i];
		bool is_first = true;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = strcmp(runs->runs[k]->rig, r->rig) != 0;
		if (!is_first)
			continue;
		add_rig(out, rq, r, running_on(running, r->rig), newest_of_rig(runs, r->rig));
		rig = state_of(f, r->rig);
		if (rig && rig->quarantined_wall_ns)
			add_quarantine(out, rig);
		if (rig)
			add_check(out, rig);
	}
	strbuf_adds(out, "</ul></section>\n");
}

/* ---- the page ---- */

int front_runs(struct site *s, const struct request *rq, struct run_list *ret, struct err *e)
{
	const struct store_overview_filter f = {
		.scenario = request_arg(rq, "scenario"),
		.rig = request_arg(rq, "rig"),
		.rig_class = request_arg(rq, "class"),
		.kernel = request_arg(rq, "kernel"),
		.since_wall_ns = wall_now() - (int64_t)RECENT_DAYS * 24 * 3600 * NSEC_PER_SEC,
		/* one more tells whether there are still older ones */
		.older = OLDER_MAX + 1,
	};

	return store_overview(s->store, &f, &ret->runs, &ret->n, e);
}

static int read_front(struct site *s, const struct request *rq, struct front *ret, struct err *e)
{
	const char *rig_asked = request_arg(rq, "rig");
	bool is_about_all = !request_arg(rq, "scenario") && !request_arg(rq, "class") &&
			    !request_arg(rq, "kernel");
	size_t n = 0;
	int r;

	r = front_runs(s, rq, &ret->runs, e);
	if (r >= 0)
		r = store_rigs(s->store, &ret->rigs, &ret->n_rigs, e);
	if (r < 0)
		return r;
	/* a rig without runs here is left out if the question is about something else */
	for (size_t i = 0; i < ret->n_rigs; i++) {
		const struct store_rig *rig = &ret->rigs[i];
		bool is_meant = is_about_all && (!rig_asked || strcmp(rig_asked, rig->rig) == 0);

		for (size_t k = 0; k < ret->runs.n && !is_meant; k++)
			is_meant = strcmp(ret->runs.runs[k]->rig, rig->rig) == 0;
		if (rig->quarantined_wall_ns && is_meant) {
			struct store_rig kept = *rig;

			ret->rigs[i] = ret->rigs[n];
			ret->rigs[n++] = kept;
		}
	}
	ret->n_quarantined = n;
	if (rq->is_static)
		return 0;
	return data_running(s, &ret->running, e);
}

/* What an active filter leaves out is said, so that a link with one misleads nobody. */
static void add_filter(struct strbuf *out, const struct request *rq)
{
	static const char *const keys[] = {"scenario", "class", "rig", "kernel"};
	bool is_any = false;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = request_arg(rq, keys[i]);

		if (!value)
			continue;
		strbuf_addf(out, "%s%s ", is_any ? ", " : "<p class=filter>Only ", keys[i]);
		html_text(out, value);
		is_any = true;
	}
	if (!is_any)
		return;
	strbuf_adds(out, ". ");
	html_link(out, rq, "", "", "Show everything");
	strbuf_adds(out, "\n");
}

static void add_front(struct strbuf *out, const struct request *rq, const struct front *f)
{
	const struct run_list *runs = &f->runs;
	auto_matrix_list struct matrix_list matrices = {0};
	struct change_list changes;

	view_changes(runs, &changes);
	view_matrices(runs, &matrices);
	add_headline(out, &changes, &matrices);
	add_filter(out, rq);
	if (count_changes(&changes, CHANGE_WORSE))
		add_changes(out, rq, &changes, CHANGE_WORSE, SIZE_MAX);
	if (matrices.n)
		add_tally(out, &matrices);
	strbuf_adds(out, "<div class=columns><div class=wide>\n");
	for (size_t i = 0; i < matrices.n; i++)
		add_matrix(out, rq, &changes, &matrices.matrices[i]);
	if (matrices.n)
		add_legend(out);
	strbuf_adds(out, "</div><div class=side>\n");
	add_rigs(out, rq, f);
	if (count_changes(&changes, CHANGE_BAD)) {
		strbuf_adds(out, "<section class=card><h2>Over the limit all along</h2>\n");
		add_changes(out, rq, &changes, CHANGE_BAD, SIDE_OPEN);
		strbuf_adds(out, "</section>\n");
	}
	if (count_changes(&changes, CHANGE_BETTER)) {
		strbuf_adds(out, "<section class=card><h2>Got better</h2>\n");
		add_changes(out, rq, &changes, CHANGE_BETTER, SIDE_OPEN);
		strbuf_adds(out, "</section>\n");
	}
	strbuf_adds(out, "</div></div>\n");
	free(changes.changes);
}

int page_front(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_front struct front f = {0};
	int r;

	r = read_front(s, rq, &f, e);
	if (r < 0)
		return r;
	page_begin(&rp->body, rq, NAV_FRONT, "Worst delays", false);
	add_front(&rp->body, rq, &f);
	page_end(&rp->body, rq);
	rp->settled_ns = SETTLED_NS;
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ---- the API ---- */

static json_t *change_value(const struct change *c)
{
	static const char *const kinds[] = {
		[CHANGE_WORSE] = "worse", [CHANGE_BETTER] = "better", [CHANGE_BAD] = "bad"};
	auto_free char *since = wall_format(c->since->started_wall_ns);
	auto_free char *name = view_kernel_name(c->now);
	json_t *obj = json_object();

	set_text(obj, "kind", kinds[c->kind]);
	set_text(obj, "kernel_name", name);
	set_text(obj, "since", since);
	set(obj, "now", report_run_value(c->now));
	if (c->was)
		set(obj, "was", report_run_value(c->was));
	return obj;
}

static json_t *matrix_value(const struct matrix *m)
{
	json_t *obj = json_object();
	json_t *rigs = json_array();
	json_t *rows = json_array();

	set_text(obj, "scenario", m->of->scenario);
	set_text(obj, "rig_class", m->of->rig_class);
	set(obj, "limit_ms", json_real((double)m->of->limit_us / 1000.0));
	for (size_t c = 0; c < m->n_cols; c++)
		append(rigs, text_value(m->cols[c], strlen(m->cols[c])));
	set(obj, "rigs", rigs);
	for (size_t r = 0; r < rows_shown(m); r++) {
		auto_free char *name = view_kernel_name(m->rows[r]);
		json_t *row = json_object();
		json_t *cells = json_object();

		set_text(row, "kernel", m->rows[r]->kernel);
		set_text(row, "kernel_name", name);
		set_text(row, "append", m->rows[r]->append);
		for (size_t c = 0; c < m->n_cols; c++) {
			const struct run *run = m->cells[r * m->n_cols + c];

			if (run)
				set(cells, m->cols[c], report_run_value(run));
		}
		set(row, "runs", cells);
		append(rows, row);
	}
	set(obj, "kernels", rows);
	return obj;
}

static json_t *quarantine_value(const struct store_rig *rig)
{
	auto_free char *since = wall_format(rig->quarantined_wall_ns);
	json_t *obj = json_object();

	set_text(obj, "rig", rig->rig);
	set_text(obj, "since", since);
	set_text(obj, "reason", rig->quarantine_reason);
	return obj;
}

int api_front(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_front struct front f = {0};
	auto_matrix_list struct matrix_list matrices = {0};
	struct change_list changes;
	json_t *obj;
	json_t *array;
	int r;

	r = read_front(s, rq, &f, e);
	if (r < 0)
		return r;
	view_changes(&f.runs, &changes);
	view_matrices(&f.runs, &matrices);
	obj = json_object();
	array = json_array();
	for (size_t i = 0; i < changes.n; i++)
		append(array, change_value(&changes.changes[i]));
	set(obj, "changes", array);
	array = json_array();
	for (size_t i = 0; i < matrices.n; i++)
		append(array, matrix_value(&matrices.matrices[i]));
	set(obj, "matrices", array);
	array = json_array();
	for (size_t i = 0; i < f.running.n; i++)
		append(array, report_run_value(f.running.runs[i]));
	set(obj, "running", array);
	array = json_array();
	for (size_t i = 0; i < f.n_quarantined; i++)
		append(array, quarantine_value(&f.rigs[i]));
	set(obj, "quarantined_rigs", array);
	free(changes.changes);
	reply_json(rp, obj);
	rp->settled_ns = SETTLED_NS;
	rp->fresh_ns = FRESH_NS;
	return 0;
}
