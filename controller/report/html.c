/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.c - runs as one self-contained page: tables, and the worst delay of each trial as a plot. */
#include "base/waiter.h"
#include "html_style.h"
#include "report/profile_text.h"
#include "report/pstore_text.h"
#include "report/report.h"
#include "report/run_text.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define STRIP_PAD_PX   11 /* above the first and below the last lane */
#define STRIP_LANE_PX  12
#define STRIP_LANES    12  /* boots beyond share lanes */
#define STRIP_EDGE_PCT 3.0 /* free on both sides of the axis */
#define AXIS_LOW       2   /* 0.1 ms: finer is noise */
#define AXIS_HIGH      10  /* 10,000 s: what is beyond lies at the edge */
#define AXIS_PX        22

/* Decades of the logarithmic axis: from 10^low to 10^high microseconds. */
struct axis {
	int low, high;
};

enum mark { MARK_UNDER, MARK_OVER, MARK_VOID, MARK_CRASH, MARK_MAX };

static const struct {
	const char *css;
	const char *shape;
	const char *meaning;
} marks[MARK_MAX] = {
	[MARK_UNDER] = {"under", "<circle r='4.2'/>", "valid, within the limit"},
	[MARK_OVER] = {"over", "<path d='M0-6.2 6.2 0 0 6.2-6.2 0Z'/>", "valid, over the limit"},
	[MARK_VOID] = {"void", "<path d='M-4-4 4 4M4-4-4 4'/>",
		       "invalid, does not count (left edge: nothing measured)"},
	[MARK_CRASH] = {"crash", "<path d='M0-5.5V5.5M-4.8-2.8 4.8 2.8M-4.8 2.8 4.8-2.8'/>",
			"the kernel died (right edge)"},
};

static enum mark mark_of(const struct run *r, const struct trial *t)
{
	if (t->is_crash)
		return MARK_CRASH;
	if (!t->is_valid)
		return MARK_VOID;
	return t->worst_us > r->limit_us ? MARK_OVER : MARK_UNDER;
}

static void add_ms(struct strbuf *out, int64_t us)
{
	text_add_ms(out, us);
}

static void add_chip(struct strbuf *out, enum verdict v)
{
	strbuf_addf(out, "<span class='chip %s'>%s</span>", verdict_name(v), verdict_name(v));
}

static const char *label_of(const struct run *r)
{
	return r->kernel_label && *r->kernel_label ? r->kernel_label : text_or_empty(r->kernel);
}

/* Breaks lines between words only, not at the hyphens of a version. */
static void add_label(struct strbuf *out, const struct run *r)
{
	auto_free char *label = xstrdup(label_of(r));
	char *rest = label;

	for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
		strbuf_adds(out, "<span class=word>");
		text_add_html(out, word);
		strbuf_adds(out, rest ? "</span> " : "</span>");
	}
}

/* Keeps a number and its unit ("95 %", "50 ms") on one line. */
static void add_outcome(struct strbuf *out, const struct run *r)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf tied = STRBUF_INIT;

	run_text_add_outcome(&text, r);
	for (const char *p = strbuf_str(&text); *p; p++) {
		if (strncmp(p, " %", 2) == 0 || strncmp(p, " ms", 3) == 0)
			strbuf_adds(&tied, "\u00a0");
		else
			strbuf_add(&tied, p, 1);
	}
	text_add_html(out, strbuf_str(&tied));
}

static void add_verdict_table(struct strbuf *out, struct run *const *runs, const size_t *order,
			      size_t n)
{
	strbuf_adds(out, "<div class=card><table><thead><tr><th>kernel build<th>rig"
			 "<th class=num>valid<th class=num>over<th class=num>worst"
			 "<th class=num>p50<th>verdict<th>strength</thead><tbody>\n");
	for (size_t i = 0; i < n; i++) {
		const struct run *r = runs[order[i]];
		const struct judge_result *j = &r->result;

		strbuf_adds(out, "<tr><td class=label><b>");
		add_label(out, r);
		strbuf_adds(out, "</b><td data-k=rig class=word>");
		text_add_html(out, text_or_empty(r->rig));
		strbuf_addf(out, "<td data-k=valid class=num>%u/%u<td data-k=over class=num>",
			    j->valid, r->planned_valid);
		if (j->valid)
			strbuf_addf(out, "%u/%u", j->over, j->valid);
		else
			strbuf_adds(out, TEXT_UNKNOWN);
		strbuf_adds(out, "<td data-k=worst class=num>");
		add_ms(out, j->worst_us);
		strbuf_adds(out, "<td data-k=p50 class=num>");
		add_ms(out, j->p50_us);
		strbuf_adds(out, "<td data-k=verdict>");
		add_chip(out, j->verdict);
		strbuf_adds(out, "<td class=text>");
		add_outcome(out, r);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table></div>\n");
}

static int decade_below(int64_t us)
{
	return (int)floor(log10((double)(us > 0 ? us : 1)));
}

/* Whole decades around the limit and everything measured, from 0.1 ms on. */
static struct axis axis_of(struct run *const *runs, const size_t *order, size_t n)
{
	int64_t limit_us = runs[order[0]]->limit_us;
	struct axis a = {.low = decade_below(limit_us), .high = decade_below(limit_us) + 1};

	for (size_t i = 0; i < n; i++) {
		const struct run *r = runs[order[i]];

		for (size_t k = 0; k < r->n_trials; k++) {
			int d = decade_below(r->trials[k]->worst_us);

			if (r->trials[k]->worst_us < 0)
				continue;
			if (d < a.low)
				a.low = d;
			if (d + 1 > a.high)
				a.high = d + 1;
		}
	}
	if (a.low < AXIS_LOW)
		a.low = AXIS_LOW;
	if (a.high > AXIS_HIGH)
		a.high = AXIS_HIGH;
	if (a.high <= a.low)
		a.high = a.low + 1;
	return a;
}

static double axis_pct(const struct axis *a, int64_t us)
{
	double at = (log10((double)(us > 0 ? us : 1)) - a->low) / (a->high - a->low);

	at = at < 0 ? 0 : at > 1 ? 1 : at;
	return STRIP_EDGE_PCT + at * (100 - 2 * STRIP_EDGE_PCT);
}

static void add_grid(struct strbuf *out, const struct axis *a, int64_t limit_us, unsigned height)
{
	for (int d = a->low; d <= a->high; d++) {
		double x = axis_pct(a, (int64_t)pow(10, d));

		strbuf_addf(out, "<line class=grid x1='%.2f%%' x2='%.2f%%' y1=0 y2=%u />", x, x,
			    height);
	}
	strbuf_addf(out, "<line class=limit x1='%.2f%%' x2='%.2f%%' y1=0 y2=%u />",
		    axis_pct(a, limit_us), axis_pct(a, limit_us), height);
}

static void add_decade_name(struct strbuf *out, int decade)
{
	if (decade < 3)
		strbuf_addf(out, "%g ms", pow(10, decade - 3));
	else if (decade < 6)
		strbuf_addf(out, "%.0f ms", pow(10, decade - 3));
	else
		strbuf_addf(out, "%.0f s", pow(10, decade - 6));
}

/* A lane for each boot, so that it is seen when outcomes cluster by boot. */
static unsigned lane_of(const struct run *r, unsigned boot)
{
	unsigned lane = 0;

	for (size_t i = 0; i < r->n_trials; i++) {
		bool is_new = r->trials[i]->boot < boot;

		for (size_t k = 0; k < i && is_new; k++)
			is_new = r->trials[k]->boot != r->trials[i]->boot;
		lane += is_new;
	}
	return lane % STRIP_LANES;
}

static void add_strip(struct strbuf *out, const struct run *r, const struct axis *a)
{
	unsigned lanes = 1;
	unsigned height;

	for (size_t i = 0; i < r->n_trials; i++) {
		unsigned lane = lane_of(r, r->trials[i]->boot);

		if (lane >= lanes)
			lanes = lane + 1;
	}
	height = 2 * STRIP_PAD_PX + (lanes - 1) * STRIP_LANE_PX;
	if (height < 40)
		height = 40;
	strbuf_addf(out,
		    "<svg width='100%%' height=%u role=img aria-label='worst delay of %zu trials "
		    "against the limit'>",
		    height, r->n_trials);
	add_grid(out, a, r->limit_us, height);
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = r->trials[i];
		enum mark m = mark_of(r, t);
		auto_strbuf struct strbuf words = STRBUF_INIT;
		double x = m == MARK_CRASH   ? 100 - STRIP_EDGE_PCT / 2
			   : t->worst_us < 0 ? STRIP_EDGE_PCT / 2
					     : axis_pct(a, t->worst_us);
		unsigned y = height / 2 - (lanes - 1) * STRIP_LANE_PX / 2 +
			     lane_of(r, t->boot) * STRIP_LANE_PX;

		strbuf_addf(&words, "trial %u, boot %u: ", t->number, t->boot);
		run_text_add_trial(&words, r, t);
		strbuf_adds(&words, ", worst ");
		text_add_ms(&words, t->worst_us);
		strbuf_addf(out, "<use href='#%s' class=%s x='%.2f%%' y=%u><title>", marks[m].css,
			    marks[m].css, x, y);
		text_add_html(out, strbuf_str(&words));
		strbuf_adds(out, "</title></use>");
	}
	strbuf_adds(out, "</svg>\n");
}

static void add_legend(struct strbuf *out, struct run *const *runs, const size_t *order, size_t n)
{
	bool is_used[MARK_MAX] = {false};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < runs[order[i]]->n_trials; k++)
			is_used[mark_of(runs[order[i]], runs[order[i]]->trials[k])] = true;
	strbuf_adds(out, "<ul class=legend>");
	for (enum mark m = 0; m < MARK_MAX; m++)
		if (is_used[m])
			strbuf_addf(
				out,
				"<li><svg width=14 height=14><use href='#%s' class=%s x=7 y=7 />"
				"</svg>%s",
				marks[m].css, marks[m].css, marks[m].meaning);
	strbuf_adds(out, "<li>one line of marks a boot</ul>");
}

static bool has_trials(struct run *const *runs, const size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runs[order[i]]->n_trials)
			return true;
	return false;
}

static void add_plot(struct strbuf *out, struct run *const *runs, const size_t *order, size_t n)
{
	struct axis a = axis_of(runs, order, n);
	int64_t limit_us = runs[order[0]]->limit_us;
	double limit_pct = axis_pct(&a, limit_us);

	strbuf_adds(out, "<div class=card><h3>Worst delay of each trial</h3><div class=plot>\n");
	strbuf_addf(out,
		    "<div></div><svg width='100%%' height=%d><text class=lt x='%.2f%%' y=15 "
		    "text-anchor=%s>limit ",
		    AXIS_PX, limit_pct,
		    limit_pct < 15   ? "start"
		    : limit_pct > 85 ? "end"
				     : "middle");
	text_add_ms(out, limit_us);
	strbuf_adds(out, "</text></svg>\n");
	for (size_t i = 0; i < n; i++) {
		const struct run *r = runs[order[i]];

		strbuf_adds(out, "<div class=row><span>");
		add_label(out, r);
		strbuf_adds(out, " <span class=dim>");
		text_add_html(out, text_or_empty(r->rig));
		strbuf_adds(out, "</span></span></div>");
		add_strip(out, r, &a);
	}
	strbuf_addf(out, "<div></div><svg width='100%%' height=%d aria-hidden=true>", AXIS_PX);
	for (int d = a.low; d <= a.high; d++) {
		strbuf_addf(out, "<text x='%.2f%%' y=15 text-anchor=%s>",
			    axis_pct(&a, (int64_t)pow(10, d)),
			    d == a.low    ? "start"
			    : d == a.high ? "end"
					  : "middle");
		add_decade_name(out, d);
		strbuf_adds(out, "</text>");
	}
	strbuf_adds(out, "</svg>\n</div>");
	add_legend(out, runs, order, n);
	strbuf_adds(out, "</div>\n");
}

static void add_evidence(struct strbuf *out, const struct trial *t)
{
	static const char *const css[] = {
		[EVIDENCE_NOT_REACHED] = "no",
		[EVIDENCE_OK] = "ok",
		[EVIDENCE_MISSING] = "miss",
		[EVIDENCE_NOT_NEEDED] = "no",
	};

	strbuf_adds(out, "<td data-k=evidence class=ev>");
	for (enum evidence_id id = 0; id < EVIDENCE_MAX; id++) {
		const struct evidence *ev = &t->evidence[id];

		strbuf_addf(out, "<span class=%s title=\"%s, %s: ", css[ev->state],
			    evidence_name(id), evidence_state_name(ev->state));
		text_add_html(out, ev->detail);
		strbuf_addf(out, "\">%s</span>", run_text_mark(ev->state));
	}
}

static void add_profile(struct strbuf *out, const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	profile_text_add_html(&text, r, t);
	if (text.len)
		strbuf_addf(out, "<h3>Trial %u</h3>\n%s", t->number, strbuf_str(&text));
}

static void add_trials(struct strbuf *out, const struct run *r)
{
	strbuf_adds(out, "<table><thead><tr><th class=num>trial<th class=num>boot"
			 "<th class=num>worst<th>where<th>outcome<th>evidence</thead><tbody>\n");
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = r->trials[i];
		auto_strbuf struct strbuf words = STRBUF_INIT;

		run_text_add_trial(&words, r, t);
		strbuf_addf(out,
			    "<tr><td data-k=trial class=num>%u<td data-k=boot class=num>%u"
			    "<td data-k=worst class=num>",
			    t->number, t->boot);
		text_add_ms(out, t->worst_us);
		strbuf_adds(out, "<td data-k=where>");
		if (t->worst_us >= 0 && t->worst_cpu >= 0)
			strbuf_addf(out, "CPU%d ", t->worst_cpu);
		text_add_html(out, t->worst_us >= 0 ? t->worst_probe : "");
		if (t->worst_func[0]) {
			strbuf_adds(out, " <span class=dim>held by <code>");
			text_add_html(out, t->worst_func);
			strbuf_adds(out, "</code></span>");
		}
		strbuf_adds(out, "<td data-k=outcome>");
		text_add_html(out, strbuf_str(&words));
		if (!t->is_valid && !t->is_crash && t->evidence[t->missing].detail[0]) {
			strbuf_adds(out, " <span class=dim>(");
			text_add_html(out, t->evidence[t->missing].detail);
			strbuf_adds(out, ")</span>");
		}
		add_evidence(out, t);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table>\n");
	for (size_t i = 0; i < r->n_trials; i++)
		add_profile(out, r, r->trials[i]);
}

static void add_fact(struct strbuf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(out, "<dt>%s<dd><code>", name);
	text_add_html(out, value);
	strbuf_adds(out, "</code>");
}

static void add_pstore(struct strbuf *out, const struct run *r)
{
	auto_strbuf struct strbuf counts = STRBUF_INIT;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_pstore struct pstore p = {0};
	struct err e = {0};
	char *rest, *line;

	if (pstore_of_run(r, &p, &e) < 0) {
		add_fact(out, "pstore", e.text);
		return;
	}
	pstore_text_add_counts(&counts, &p);
	add_fact(out, "pstore", strbuf_str(&counts));
	pstore_text_add(&text, &p, 0);
	rest = text.data;
	while (rest && (line = strsep(&rest, "\n")))
		add_fact(out, "pstore", line);
}

static void add_run(struct strbuf *out, const struct run *r, bool is_open)
{
	auto_free char *started = r->started_wall_ns ? wall_format(r->started_wall_ns) : NULL;

	strbuf_addf(out, "<details class=card%s><summary>", is_open ? " open" : "");
	text_add_html(out, label_of(r));
	strbuf_adds(out, " ");
	add_chip(out, r->result.verdict);
	strbuf_adds(out, "</summary><dl>");
	add_fact(out, "run", r->id);
	add_fact(out, "started", started);
	add_fact(out, "kernel", r->kernel);
	add_fact(out, "release", r->kernel_release);
	add_fact(out, "version", r->kernel_version);
	add_fact(out, "append", r->append);
	add_fact(out, "rig", r->rig);
	add_fact(out, "config sha256", r->kernel_config_sha256);
	add_fact(out, "image sha256", r->kernel_image_sha256);
	add_fact(out, "first recording", r->n_boots ? r->boots[0].recording : NULL);
	add_pstore(out, r);
	strbuf_adds(out, "</dl>\n");
	if (r->n_trials) {
		add_trials(out, r);
		strbuf_adds(out, "<p class=dim><code>stallrig show ");
		text_add_html(out, text_or_empty(r->id));
		strbuf_adds(out, ".N</code> shows the timeline and the console of trial N.</p>");
	} else {
		strbuf_adds(out, "<p class=dim>No trial was made.</p>");
	}
	strbuf_adds(out, "</details>\n");
}

static void add_group(struct strbuf *out, struct run *const *runs, const size_t *order, size_t n,
		      bool is_only)
{
	strbuf_adds(out, "<h2>");
	{
		auto_strbuf struct strbuf words = STRBUF_INIT;

		run_text_add_group(&words, runs[order[0]]);
		/* a heading begins with a capital; the words are the project's own here */
		strbuf_adds(out, "S");
		text_add_html(out, strbuf_str(&words) + 1);
	}
	strbuf_adds(out, "</h2>\n");
	add_verdict_table(out, runs, order, n);
	if (has_trials(runs, order, n))
		add_plot(out, runs, order, n);
	for (size_t i = 0; i < n; i++)
		add_run(out, runs[order[i]], is_only && n == 1);
}

static void add_shapes(struct strbuf *out)
{
	strbuf_adds(out, "<svg width=0 height=0 style='position:absolute' aria-hidden=true><defs>");
	for (enum mark m = 0; m < MARK_MAX; m++)
		strbuf_addf(out, "<g id=%s>%s</g>", marks[m].css, marks[m].shape);
	strbuf_adds(out, "</defs></svg>\n");
}

static void add_subtitle(struct strbuf *out, struct run *const *runs, size_t n)
{
	int64_t newest_ns = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t t_ns =
			runs[i]->ended_wall_ns ? runs[i]->ended_wall_ns : runs[i]->started_wall_ns;

		if (t_ns > newest_ns)
			newest_ns = t_ns;
	}
	strbuf_addf(out, "<p class=dim>%zu run%s", n, n == 1 ? "" : "s");
	if (newest_ns) {
		auto_free char *text = wall_format(newest_ns);

		strbuf_addf(out, ", newest result %s", text);
	}
	strbuf_adds(out, "</p>\n");
}

void report_html(struct strbuf *out, struct run *const *runs, size_t n, const char *title)
{
	auto_free size_t *order = xcalloc(n, sizeof(*order));
	auto_free size_t *group = xcalloc(n, sizeof(*group));
	size_t groups = run_text_group(runs, n, order, group);

	strbuf_adds(out,
		    "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
		    "<meta name=viewport content='width=device-width,initial-scale=1'>\n<title>");
	text_add_html(out, title);
	strbuf_addf(out, "</title>\n<style>\n%s</style></head>\n<body>", html_style);
	add_shapes(out);
	strbuf_adds(out, "<main><h1>");
	text_add_html(out, title);
	strbuf_adds(out, "</h1>\n");
	add_subtitle(out, runs, n);
	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end < n && group[end] == group[i])
			end++;
		add_group(out, runs, order + i, end - i, groups == 1);
		i = end;
	}
	if (n == 0)
		strbuf_adds(out, "<p>No run was found.</p>\n");
	strbuf_adds(out, "</main></body></html>\n");
}
