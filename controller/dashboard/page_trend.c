/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_trend.c - worst delays over time, and two or more runs held against each other. */
#include "base/parse.h"
#include "pages.h"
#include "report/compare_text.h"
#include "report/json.h"
#include "report/json_put.h"
#include "trial/run_compare.h"

#include <inttypes.h>
#include <string.h>

#define DAYS_BY_DEFAULT 365
#define RUNS_MAX        4000
#define ROWS_SHOWN      200 /* of the table below a chart */
#define COMPARED_MAX    6

/* ---- trends ---- */

int page_trends(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct data_filter f = {.last = RUNS_MAX};
	auto_run_list struct run_list runs = {0};
	struct strbuf *out = &rp->body;
	int r;

	r = data_runs(s, &f, &runs, e);
	if (r < 0)
		return r;
	page_begin(out, rq, NAV_TRENDS, "Trends", false);
	strbuf_adds(out, "<h1>Trends</h1>\n<section class=card><table class=rows><thead><tr>"
			 "<th scope=col>scenario<th scope=col>rig<th scope=col>newest run"
			 "<th scope=col class=num>worst<th scope=col>verdict</thead><tbody>\n");
	for (size_t i = 0; i < runs.n; i++) {
		const struct run *run = runs.runs[i];
		auto_free char *name = NULL;
		bool is_first = true;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = strcmp(runs.runs[k]->scenario, run->scenario) != 0 ||
				   strcmp(runs.runs[k]->rig, run->rig) != 0 ||
				   strcmp(runs.runs[k]->rig_class, run->rig_class) != 0;
		if (!is_first)
			continue;
		name = view_kernel_name(run);
		strbuf_adds(out, "<tr><td>");
		html_text(out, run->scenario);
		strbuf_adds(out, "<th scope=row><a href=\"");
		page_url(out, rq, "trends/", run->rig_class, "/", run->scenario, "/", run->rig,
			 NULL);
		strbuf_adds(out, "\">");
		html_text(out, run->rig);
		strbuf_adds(out, "</a><td>");
		html_text(out, name);
		strbuf_adds(out, ", ");
		html_time(out, run->started_wall_ns);
		strbuf_adds(out, "<td class=num>");
		html_ms(out, run->result.worst_us);
		strbuf_adds(out, "<td>");
		html_verdict(out, run->result.verdict);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table></section>\n");
	page_end(out, rq);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

static int read_trend(struct site *s, const struct request *rq, struct run_list *ret, struct err *e)
{
	const char *days_text = request_arg(rq, "days");
	uint32_t days = DAYS_BY_DEFAULT;
	struct data_filter f = {
		.rig_class = rq->parts[0],
		.scenario = rq->parts[1],
		.rig = rq->parts[2],
		.kernel = request_arg(rq, "kernel"),
		.last = RUNS_MAX,
	};
	int r;

	if (days_text) {
		r = parse_u32("days", days_text, 1, 36500, &days, e);
		if (r < 0)
			return r;
	}
	f.since_wall_ns = wall_now() - (int64_t)days * 86400 * NSEC_PER_SEC;
	return data_runs(s, &f, ret, e);
}

static bool starts_series(const struct run_list *runs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (view_is_same_series(runs->runs[k], runs->runs[i]))
			return false;
	return true;
}

/* The level changes of the series that begins with runs[newest]; true for a run at which one
   begins. Values are worst delays, oldest first. */
static void mark_changes(const struct run_list *runs, size_t newest, bool *is_change)
{
	auto_free int64_t *values = xcalloc(runs->n, sizeof(*values));
	auto_free size_t *index = xcalloc(runs->n, sizeof(*index));
	auto_free struct change_point *points = NULL;
	size_t n_points = 0;
	size_t n = 0;

	for (size_t k = runs->n; k-- > newest;)
		if (runs->runs[k]->result.worst_us >= 0 &&
		    view_is_same_series(runs->runs[k], runs->runs[newest]) &&
		    n < COMPARE_VALUES_MAX) {
			index[n] = k;
			values[n++] = runs->runs[k]->result.worst_us;
		}
	if (compare_change_points(values, n, &compare_defaults, &points, &n_points) < 0)
		return;
	for (size_t i = 0; i < n_points; i++)
		is_change[index[points[i].index]] = true;
}

static bool *find_changes(const struct run_list *runs)
{
	bool *is_change = xcalloc(runs->n + 1, sizeof(*is_change));

	for (size_t i = 0; i < runs->n; i++)
		if (starts_series(runs, i))
			mark_changes(runs, i, is_change);
	return is_change;
}

int page_trend(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run_list struct run_list runs = {0};
	auto_free bool *is_change = NULL;
	auto_free char *title = xasprintf("%s on %s", rq->parts[1], rq->parts[2]);
	struct strbuf *out = &rp->body;
	int r;

	r = read_trend(s, rq, &runs, e);
	if (r < 0)
		return r;
	is_change = find_changes(&runs);
	page_begin(out, rq, NAV_TRENDS, title, true);
	strbuf_adds(out, "<h1>");
	html_text(out, rq->parts[1]);
	strbuf_adds(out, " <span class=dim>on ");
	html_text(out, rq->parts[2]);
	strbuf_adds(out,
		    "</span></h1>\n<section class=card><div class=toolbar><label>Only kernels "
		    "with <input type=search id=trend-filter></label><button type=button "
		    "data-png hidden>Save as PNG</button></div><div class=chart data-trend=\"");
	page_api_url(out, rq, "trends/", rq->parts[0], "/", rq->parts[1], "/", rq->parts[2], NULL);
	strbuf_adds(out, "\" role=img aria-label=\"Worst delay of each run over time on a "
			 "logarithmic scale; the table below has the numbers\"></div></section>\n"
			 "<section class=card><table class=rows><thead><tr><th scope=col>started"
			 "<th scope=col>kernel<th scope=col>verdict<th scope=col class=num>worst"
			 "<th scope=col class=num>p99<th scope=col class=num>p50<th scope=col "
			 "class=num>over<th scope=col>change</thead><tbody>\n");
	for (size_t i = 0; i < runs.n && i < ROWS_SHOWN; i++) {
		const struct run *run = runs.runs[i];
		auto_free char *name = view_kernel_name(run);

		strbuf_adds(out, "<tr><td class=when>");
		html_time(out, run->started_wall_ns);
		strbuf_adds(out, "<th scope=row>");
		html_link(out, rq, "runs/", run->id, name);
		strbuf_adds(out, "<td>");
		html_verdict(out, run->result.verdict);
		strbuf_adds(out, "<td class=num>");
		html_ms(out, run->result.worst_us);
		strbuf_adds(out, "<td class=num>");
		html_ms(out, run->result.p99_us);
		strbuf_adds(out, "<td class=num>");
		html_ms(out, run->result.p50_us);
		strbuf_addf(out, "<td class=num>%u/%u<td>%s\n", run->result.over, run->result.valid,
			    is_change[i] ? "level changes here" : "");
	}
	strbuf_adds(out, "</tbody></table>");
	if (runs.n > ROWS_SHOWN) {
		strbuf_addf(out, "<p class=dim>and %zu older runs, all of them as ",
			    runs.n - ROWS_SHOWN);
		strbuf_adds(out, "<a href=\"");
		page_api_url(out, rq, "trends/", rq->parts[0], "/", rq->parts[1], "/", rq->parts[2],
			     NULL);
		strbuf_adds(out, "\" download>JSON</a>");
	}
	strbuf_adds(out, "</section>\n");
	page_end(out, rq);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

int api_trend(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run_list struct run_list runs = {0};
	auto_free bool *is_change = NULL;
	json_t *root;
	json_t *points;
	int r;

	r = read_trend(s, rq, &runs, e);
	if (r < 0)
		return r;
	is_change = find_changes(&runs);
	root = json_object();
	points = json_array();
	for (size_t i = runs.n; i-- > 0;) {
		const struct run *run = runs.runs[i];
		auto_free char *name = view_kernel_name(run);
		json_t *obj = json_object();

		set_text(obj, "run", run->id);
		set_text(obj, "kernel", run->kernel);
		set_text(obj, "kernel_name", name);
		set_text(obj, "verdict", verdict_name(run->result.verdict));
		set_count(obj, "started_s", (uint64_t)(run->started_wall_ns / NSEC_PER_SEC));
		set(obj, "limit_ms", json_real((double)run->limit_us / 1000.0));
		if (run->result.worst_us >= 0)
			set(obj, "worst_ms", json_real((double)run->result.worst_us / 1000.0));
		if (run->result.p99_us >= 0)
			set(obj, "p99_ms", json_real((double)run->result.p99_us / 1000.0));
		if (run->result.p50_us >= 0)
			set(obj, "p50_ms", json_real((double)run->result.p50_us / 1000.0));
		if (is_change[i])
			set(obj, "is_change", json_true());
		append(points, obj);
	}
	set(root, "points", points);
	reply_json(rp, root);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ---- compare ---- */

/* "A..B..C" in the path. */
static int read_compared(struct site *s, const char *names, struct run_list *ret, struct err *e)
{
	auto_free char *copy = xstrdup(names);

	for (char *p = copy; p;) {
		char *dots = strstr(p, "..");
		struct run *run = NULL;
		int r;

		if (dots)
			*dots = '\0';
		if (ret->n == COMPARED_MAX)
			return err_set(e, ERR_USAGE, E2BIG, "more than %d runs to compare",
				       COMPARED_MAX);
		r = data_run(s, p, &run, e);
		if (r < 0)
			return r;
		ret->runs = xrealloc(ret->runs, ret->n + 1, sizeof(struct run *));
		ret->runs[ret->n++] = run;
		p = dots ? dots + 2 : NULL;
	}
	return 0;
}

/* What the comparison of base and r says, or why there is none. */
static void add_comparison(struct strbuf *out, const struct run *base, const struct run *r)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;
	struct compare_result c;
	int res;

	if (run_differences(base, r, &words)) {
		strbuf_adds(out, "not comparable: ");
		html_text(out, strbuf_str(&words));
		return;
	}
	res = run_compare(base, r, &compare_defaults, &c);
	if (res < 0) {
		strbuf_adds(out, res == -ENODATA ? "a side has no valid trial" : "too many trials");
		return;
	}
	compare_words(&c, compare_defaults.confidence, &words);
	html_text(out, strbuf_str(&words));
}

static void add_compare_help(struct strbuf *out)
{
	strbuf_adds(out, "<form class=search data-compare-form><label>Runs <input type=search "
			 "name=runs size=40 placeholder=\"RUN..RUN\" required></label>"
			 "<button>Compare</button></form>\n<p>The address says what is compared: "
			 "<code>compare/RUN..RUN</code>, up to six runs; the first is the base. "
			 "Regressions on the overview link to theirs.\n");
}

int page_compare(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run_list struct run_list runs = {0};
	struct strbuf *out = &rp->body;
	int r = 0;

	if (rq->parts[0])
		r = read_compared(s, rq->parts[0], &runs, e);
	if (r < 0)
		return r;
	page_begin(out, rq, NAV_COMPARE, "Compare", true);
	strbuf_adds(out, "<h1>Compare</h1>\n");
	if (runs.n < 2)
		add_compare_help(out);
	if (runs.n) {
		strbuf_adds(out,
			    "<section class=card><table class=rows><thead><tr><th scope=col>run"
			    "<th scope=col>verdict<th scope=col class=num>valid<th scope=col "
			    "class=num>p50<th scope=col class=num>worst<th scope=col>against "
			    "the first</thead><tbody>\n");
		for (size_t i = 0; i < runs.n; i++) {
			const struct run *run = runs.runs[i];
			auto_free char *name = view_kernel_name(run);
			auto_free char *text = xasprintf("%s on %s", name, run->rig);

			strbuf_adds(out, "<tr><th scope=row>");
			html_link(out, rq, "runs/", run->id, text);
			strbuf_adds(out, "<td>");
			html_verdict(out, run->result.verdict);
			strbuf_addf(out, "<td class=num>%u<td class=num>", run->result.valid);
			html_ms(out, run->result.p50_us);
			strbuf_adds(out, "<td class=num>");
			html_ms(out, run->result.worst_us);
			strbuf_adds(out, "<td>");
			if (i)
				add_comparison(out, runs.runs[0], run);
			else
				strbuf_adds(out, "base");
			strbuf_adds(out, "\n");
		}
		strbuf_adds(out,
			    "</tbody></table></section>\n<section class=card><div class=toolbar>"
			    "<h2>Share of trials up to a delay (ECDF)</h2><button type=button "
			    "data-png hidden>Save as PNG</button></div><div class=chart "
			    "data-ecdf=\"");
		page_api_url(out, rq, "compare/", rq->parts[0], NULL);
		strbuf_adds(out, "\" role=img aria-label=\"Distribution of worst delays\"></div>"
				 "</section>\n<section class=card><h2>Trials by delay (histogram)"
				 "</h2><div class=chart data-histogram=\"");
		page_api_url(out, rq, "compare/", rq->parts[0], NULL);
		strbuf_adds(out, "\" role=img aria-label=\"Histogram of worst delays\"></div>"
				 "</section>\n");
	}
	page_end(out, rq);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

int api_compare(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run_list struct run_list runs = {0};
	json_t *root;
	json_t *array;
	int r;

	r = read_compared(s, rq->parts[0], &runs, e);
	if (r < 0)
		return r;
	root = json_object();
	array = json_array();
	for (size_t i = 0; i < runs.n; i++) {
		const struct run *run = runs.runs[i];
		auto_free char *name = view_kernel_name(run);
		json_t *obj = json_object();
		json_t *values = json_array();

		for (size_t k = 0; k < run->n_trials; k++)
			if (run->trials[k]->is_valid && run->trials[k]->worst_us >= 0)
				append(values,
				       json_real((double)run->trials[k]->worst_us / 1000.0));
		set(obj, "run", report_run_value(run));
		set_text(obj, "kernel_name", name);
		set(obj, "worst_ms", values);
		if (i) {
			auto_strbuf struct strbuf words = STRBUF_INIT;
			auto_strbuf struct strbuf differ = STRBUF_INIT;
			struct compare_result c;

			if (run_differences(runs.runs[0], run, &differ)) {
				set_text(obj, "not_comparable", strbuf_str(&differ));
			} else if (run_compare(runs.runs[0], run, &compare_defaults, &c) == 0) {
				compare_words(&c, compare_defaults.confidence, &words);
				set_text(obj, "change", compare_change_name(c.change));
				set_text(obj, "words", strbuf_str(&words));
			}
		}
		append(array, obj);
	}
	set(root, "runs", array);
	reply_json(rp, root);
	rp->fresh_ns = FRESH_NS;
	return 0;
}
