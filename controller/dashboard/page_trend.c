/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_trend.c - worst delays over time, and two or more runs held against each other. */
#include "base/parse.h"
#include "pages.h"
#include "report/compare_text.h"
#include "report/json.h"
#include "report/json_put.h"
#include "store/query.h"
#include "trial/run_compare.h"

#include <inttypes.h>
#include <string.h>

#define EXPORT_MAX      10000 /* runs in a file, as api_runs() allows */
#define DAYS_BY_DEFAULT 365
#define ROWS_SHOWN      200 /* of the table below a chart */
#define COMPARED_MAX    6

/* ---- trends ---- */

/*
 * What the charts of a page show, in it, where it is a file: a browser does not let a file from a
 * disk ask for another one.
 */
static int add_data(struct site *s, const struct request *rq, struct strbuf *out,
		    int (*api)(struct site *s, const struct request *rq, struct reply *rp,
			       struct err *e),
		    struct err *e)
{
	struct reply rp = REPLY_INIT;
	int r;

	if (!rq->is_static)
		return 0;
	r = api(s, rq, &rp, e);
	if (r >= 0)
		html_data(out, strbuf_str(&rp.body));
	reply_release(&rp);
	return r;
}

int page_trends(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const struct store_overview_filter f = {0};
	auto_run_list struct run_list runs = {0};
	struct strbuf *out = &rp->body;
	int r;

	r = store_overview(s->store, &f, &runs.runs, &runs.n, e);
	if (r < 0)
		return r;
	page_begin(out, rq, NAV_TRENDS, "Trends", false);
	strbuf_adds(out, "<h1>Trends</h1>\n<section class=card><table class=rows><thead><tr>"
			 "<th scope=col>scenario<th scope=col>rig<th scope=col>newest run"
			 "<th scope=col class=num>worst<th scope=col>verdict</thead><tbody>\n");
	for (size_t i = 0; i < runs.n; i++) {
		const struct run *run = runs.runs[i];
		auto_free char *name = NULL;
		auto_free char *trend = NULL;
		bool is_first = true;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = strcmp(runs.runs[k]->scenario, run->scenario) != 0 ||
				   strcmp(runs.runs[k]->rig, run->rig) != 0 ||
				   strcmp(runs.runs[k]->rig_class, run->rig_class) != 0;
		if (!is_first)
			continue;
		name = view_kernel_name(run);
		trend = view_trend_name(run);
		strbuf_adds(out, "<tr><td>");
		html_text(out, run->scenario);
		strbuf_adds(out, "<th scope=row>");
		html_link(out, rq, "trends/", trend, run->rig);
		strbuf_adds(out, "<td>");
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

static void auto_cleanup_trend(struct store_trend *t)
{
	store_trend_release(t);
}
#define auto_trend __attribute__((cleanup(auto_cleanup_trend)))

static int read_trend(struct site *s, const struct request *rq, struct store_trend *ret,
		      struct err *e)
{
	const char *days_text = request_arg(rq, "days");
	uint32_t days = DAYS_BY_DEFAULT;
	struct store_trend_filter f = {
		.rig_class = rq->parts[0],
		.scenario = rq->parts[1],
		.rig = rq->parts[2],
		.kernel = request_arg(rq, "kernel"),
	};
	int r;

	if (days_text) {
		r = parse_u32("days", days_text, 1, 36500, &days, e);
		if (r < 0)
			return r;
	}
	f.since_wall_ns = wall_now() - (int64_t)days * 86400 * NSEC_PER_SEC;
	return store_trend(s->store, &f, ret, e);
}

/* True for a point at which a level of this series begins. */
static void mark_changes(const struct store_trend *t, int64_t series, bool *is_change)
{
	size_t n = 0;
	auto_free struct store_change *changes = store_trend_changes(t, t->n, series, &n);

	for (size_t i = 0; i < n; i++)
		is_change[changes[i].point] = true;
}

static int by_number(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool *find_changes(const struct store_trend *t)
{
	bool *is_change = xcalloc(t->n + 1, sizeof(*is_change));
	auto_free int64_t *series = xcalloc(t->n + 1, sizeof(*series));

	for (size_t i = 0; i < t->n; i++)
		series[i] = t->points[i].series;
	qsort(series, t->n, sizeof(*series), by_number);
	for (size_t i = 0; i < t->n; i++)
		if (!i || series[i] != series[i - 1])
			mark_changes(t, series[i], is_change);
	return is_change;
}

/* Caller frees. */
static char *build_name(const struct store_build *b)
{
	const struct run r = {
		.kernel = b->name,
		.kernel_release = b->release,
		.kernel_version = b->version,
		.append = b->append,
	};

	return view_kernel_name(&r);
}

static void add_trend_row(struct strbuf *out, const struct request *rq, const struct store_trend *t,
			  const struct store_point *p, bool is_change)
{
	auto_free char *name = build_name(&t->builds[p->build]);

	strbuf_adds(out, "<tr><td class=when>");
	html_time(out, p->started_wall_ns);
	strbuf_adds(out, "<th scope=row>");
	html_link(out, rq, "runs/", p->run_id, name);
	strbuf_adds(out, "<td>");
	html_verdict(out, p->verdict);
	strbuf_adds(out, "<td class=num>");
	html_ms(out, p->worst_us);
	strbuf_adds(out, "<td class=num>");
	html_ms(out, p->p99_us);
	strbuf_adds(out, "<td class=num>");
	html_ms(out, p->p50_us);
	strbuf_addf(out, "<td class=num>%u/%u<td>%s\n", p->over, p->valid,
		    is_change ? "level changes here" : "");
}

/* The numbers of the chart; a site of files has no answers to questions of its own. */
static void add_exports(struct strbuf *out, const struct request *rq)
{
	strbuf_adds(out, "<a href=\"");
	page_api_url(out, rq, "trends/", rq->parts[0], "/", rq->parts[1], "/", rq->parts[2], NULL);
	strbuf_adds(out, "\" download>JSON</a>");
	if (rq->is_static)
		return;
	strbuf_adds(out, "<a href=\"");
	page_api_url(out, rq, "runs", NULL);
	strbuf_adds(out, "?class=");
	html_query(out, rq->parts[0]);
	strbuf_adds(out, "&amp;scenario=");
	html_query(out, rq->parts[1]);
	strbuf_adds(out, "&amp;rig=");
	html_query(out, rq->parts[2]);
	strbuf_addf(out, "&amp;last=%u&amp;format=csv\" download>CSV</a>", EXPORT_MAX);
}

int page_trend(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_trend struct store_trend t = {0};
	auto_free bool *is_change = NULL;
	auto_free char *title = xasprintf("%s on %s", rq->parts[1], rq->parts[2]);
	struct strbuf *out = &rp->body;
	size_t left;
	int r;

	r = read_trend(s, rq, &t, e);
	if (r < 0)
		return r;
	is_change = find_changes(&t);
	page_begin(out, rq, NAV_TRENDS, title, true);
	strbuf_adds(out, "<h1>");
	html_text(out, rq->parts[1]);
	strbuf_adds(out, " <span class=dim>on ");
	html_text(out, rq->parts[2]);
	strbuf_adds(out, "</span></h1>\n<section class=card><div class=toolbar><label>Only kernels "
			 "with <input type=search id=trend-filter></label><button type=button "
			 "data-png hidden>Save as PNG</button>");
	add_exports(out, rq);
	strbuf_adds(out, "</div><div class=chart data-trend=\"");
	page_api_url(out, rq, "trends/", rq->parts[0], "/", rq->parts[1], "/", rq->parts[2], NULL);
	strbuf_adds(
		out,
		"\" role=img aria-label=\"Worst delay of each run over time on a "
		"logarithmic scale; the table below has the numbers\"></div>"
		"<p class=\"dim small\"><span class=fail>◆</span> FAIL, <span class=pass>●</span>"
		" PASS, ○ any other, each at the worst delay of a run; the line below it "
		"leads to the median, with a tick at p99; <span class=limit>╌</span> limit; "
		"<span class=level>┆</span> the level changes.</section>\n"
		"<section class=card><table class=rows><thead><tr><th scope=col>started"
		"<th scope=col>kernel<th scope=col>verdict<th scope=col class=num>worst"
		"<th scope=col class=num>p99<th scope=col class=num>p50<th scope=col "
		"class=num>over<th scope=col>change</thead><tbody>\n");
	for (left = t.n; left > 0 && t.n - left < ROWS_SHOWN; left--)
		add_trend_row(out, rq, &t, &t.points[left - 1], is_change[left - 1]);
	strbuf_adds(out, "</tbody></table>");
	if (left) {
		strbuf_addf(out, "<p class=dim>and %zu older runs, all of them as ", left);
		strbuf_adds(out, "<a href=\"");
		page_api_url(out, rq, "trends/", rq->parts[0], "/", rq->parts[1], "/", rq->parts[2],
			     NULL);
		strbuf_adds(out, "\" download>JSON</a>");
	}
	strbuf_adds(out, "</section>\n");
	r = add_data(s, rq, out, api_trend, e);
	page_end(out, rq);
	rp->settled_ns = SETTLED_NS;
	rp->fresh_ns = FRESH_NS;
	return r;
}

static void set_us(json_t *obj, const char *key, int64_t us)
{
	if (us >= 0)
		set_real(obj, key, (double)us / 1000.0);
}

/* One point after the other becomes text: a year has thousands, of few kernels. */
static void add_points(struct strbuf *out, const struct store_trend *t, const bool *is_change)
{
	auto_free char **names = xcalloc(t->n_builds + 1, sizeof(*names));
	json_t *obj = json_object();

	for (size_t i = 0; i < t->n_builds; i++)
		names[i] = build_name(&t->builds[i]);
	for (size_t i = 0; i < t->n; i++) {
		const struct store_point *p = &t->points[i];

		json_object_clear(obj);
		set_text(obj, "run", p->run_id);
		set_text(obj, "kernel", t->builds[p->build].name);
		set_text(obj, "kernel_name", names[p->build]);
		set_text(obj, "verdict", verdict_name(p->verdict));
		set_count(obj, "started_s", (uint64_t)(p->started_wall_ns / NSEC_PER_SEC));
		set_us(obj, "limit_ms", p->limit_us);
		set_us(obj, "worst_ms", p->worst_us);
		set_us(obj, "p99_ms", p->p99_us);
		set_us(obj, "p50_ms", p->p50_us);
		if (is_change[i])
			set(obj, "is_change", json_true());
		strbuf_adds(out, i ? "," : "");
		report_add_value(out, json_incref(obj));
	}
	json_decref(obj);
	for (size_t i = 0; i < t->n_builds; i++)
		free(names[i]);
}

int api_trend(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_trend struct store_trend t = {0};
	auto_free bool *is_change = NULL;
	int r;

	r = read_trend(s, rq, &t, e);
	if (r < 0)
		return r;
	is_change = find_changes(&t);
	rp->type = "application/json";
	strbuf_adds(&rp->body, "{\"points\":[");
	add_points(&rp->body, &t, is_change);
	strbuf_adds(&rp->body, "]}\n");
	rp->settled_ns = SETTLED_NS;
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

/* All samples of the run's valid trials in one histogram, the first one of ret; none if there are
   no samples. */
static void sum_samples(const struct run *r, struct trial *ret)
{
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = r->trials[i];

		for (size_t k = 0; t->is_valid && k < t->n_histograms; k++)
			for (size_t b = 0; b < t->histograms[k].n_buckets; b++)
				/* those of another module could lie across: what does not fit is
				   left out */
				(void)trial_add_samples(ret, "all", &t->histograms[k].buckets[b]);
	}
}

static bool has_samples(const struct run *r)
{
	for (size_t i = 0; i < r->n_trials; i++)
		if (r->trials[i]->is_valid && r->trials[i]->n_histograms)
			return true;
	return false;
}

static void add_samples_chart(struct strbuf *out, const struct request *rq,
			      const struct run_list *runs)
{
	bool is_any = false;

	for (size_t i = 0; i < runs->n; i++)
		is_any |= has_samples(runs->runs[i]);
	if (!is_any)
		return;
	strbuf_adds(out, "<section class=card><div class=toolbar><h2>Share of all samples longer "
			 "than a delay</h2><button type=button data-png hidden>Save as PNG</button>"
			 "</div><div class=chart data-samples=\"");
	page_api_url(out, rq, "compare/", rq->parts[0], NULL);
	strbuf_adds(out, "\" role=img aria-label=\"Distribution of all samples of the judged "
			 "probes\"></div></section>\n");
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
	if (runs.n) {
		strbuf_adds(out, "<p class=links><a href=\"");
		page_api_url(out, rq, "compare/", rq->parts[0], NULL);
		strbuf_adds(out, "\" download>JSON</a>\n");
	}
	if (runs.n < 2)
		add_compare_help(out);
	if (runs.n) {
		strbuf_adds(
			out,
			"<section class=card><table class=rows><thead><tr><th scope=col>run"
			"<th scope=col>started<th scope=col>verdict<th scope=col class=num>valid<th scope=col "
			"class=num>p50<th scope=col class=num>worst<th scope=col>against "
			"the first</thead><tbody>\n");
		for (size_t i = 0; i < runs.n; i++) {
			const struct run *run = runs.runs[i];
			auto_free char *name = view_kernel_name(run);
			auto_free char *text = xasprintf("%s on %s", name, run->rig);

			strbuf_adds(out, "<tr><th scope=row class=run>");
			html_link(out, rq, "runs/", run->id, text);
			strbuf_adds(out, "<td class=when>");
			html_time(out, run->started_wall_ns);
			strbuf_adds(out, "<td>");
			html_verdict(out, run->result.verdict);
			strbuf_addf(out, "<td class=num>%u<td class=num>", run->result.valid);
			html_ms(out, run->result.p50_us);
			strbuf_adds(out, "<td class=num>");
			html_ms(out, run->result.worst_us);
			strbuf_adds(out, "<td class=words>");
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
		strbuf_adds(out,
			    "\" role=img aria-label=\"Distribution of worst delays\"></div>"
			    "</section>\n<section class=card><div class=toolbar><h2>Trials by "
			    "delay (histogram)</h2><button type=button data-png hidden>Save as "
			    "PNG</button></div><div class=chart data-histogram=\"");
		page_api_url(out, rq, "compare/", rq->parts[0], NULL);
		strbuf_adds(out, "\" role=img aria-label=\"Histogram of worst delays\"></div>"
				 "</section>\n");
		add_samples_chart(out, rq, &runs);
		r = add_data(s, rq, out, api_compare, e);
	}
	page_end(out, rq);
	rp->fresh_ns = FRESH_NS;
	return r;
}

static void set_samples(json_t *obj, const struct run *r)
{
	struct trial *sum = trial_new();
	json_t *samples = json_object();
	json_t *low = json_array();
	json_t *end = json_array();
	json_t *counts = json_array();

	sum_samples(r, sum);
	for (size_t i = 0; sum->n_histograms && i < sum->histograms[0].n_buckets; i++) {
		const struct trial_bucket *b = &sum->histograms[0].buckets[i];

		append(low, json_real((double)b->low_ns / 1e6));
		append(end, json_real((double)b->end_ns / 1e6));
		append(counts, json_integer(b->count));
	}
	if (sum->n_histograms)
		set_count(samples, "count", (uint64_t)trial_histogram_samples(&sum->histograms[0]));
	set(samples, "low_ms", low);
	set(samples, "end_ms", end);
	set(samples, "counts", counts);
	if (sum->n_histograms)
		set(obj, "samples", samples);
	else
		json_decref(samples);
	trial_free(sum);
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
		set_samples(obj, run);
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
