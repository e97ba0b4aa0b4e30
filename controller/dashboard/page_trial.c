/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_trial.c - one trial: the timeline of its cut beside the recorded console, linked both ways,
 * the evidence, and how to do it again.
 *
 * Times are relative to the command to the switch. The kernel's own stamps are tied to it by the
 * "USB disconnect" line: its stamp on one side, "cut_seen_us" on the other.
 */
#include "console/console.h"
#include "pages.h"
#include "report/json.h"
#include "report/profile_text.h"
#include "report/pstore_text.h"
#include "report/run_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CONSOLE_LINES  1500 /* shown beside the timeline */
#define CONSOLE_BEFORE 400  /* of them before the disconnect */
#define LANES_MAX      64
#define BARS_MAX       400 /* drawn in all */
#define LABEL_PCT      13  /* of the timeline, that a number takes */
#define GRID_LINES     6
#define CURVE_MAX      240 /* points of a curve; of more each second, third, … is drawn */
#define DELAY_ID       "d"
#define LINE_ID        "c"

/* ---- the scale ---- */

struct scale {
	double from_ms, to_ms;
};

/* Clock of the kernel's stamps to ms after the command; false without a disconnect line. */
static bool kernel_offset_ms(const struct trial *t, double *ret)
{
	int64_t seen_us;

	if (!trial_number(t, "cut_seen_us", &seen_us))
		return false;
	for (size_t i = 0; i < t->n_incidents; i++)
		if (strcmp(t->incidents[i].cls, console_class_name(CONSOLE_USB_DISCONNECT)) == 0 &&
		    t->incidents[i].t_first_us != CONSOLE_UNKNOWN) {
			*ret = (double)(seen_us - t->incidents[i].t_first_us) / 1000.0;
			return true;
		}
	return false;
}

static void widen(struct scale *sc, double ms)
{
	if (ms < sc->from_ms)
		sc->from_ms = ms;
	if (ms > sc->to_ms)
		sc->to_ms = ms;
}

static bool is_of_cut(const struct trial_delay *d, double offset_ms)
{
	return (double)(d->due_us + d->us) / 1000.0 + offset_ms >= 0;
}

static struct scale scale_of(const struct trial *t, double offset_ms, int64_t limit_us)
{
	const double limit_ms = (double)limit_us / 1000.0 * 1.5;
	struct scale sc = {.from_ms = 0, .to_ms = 0};
	double margin;

	for (size_t i = 0; i < t->n_moments; i++)
		if (strncmp(t->moments[i].what, "cut-", 4) == 0)
			widen(&sc, (double)t->moments[i].t_ns / 1e6);
	for (size_t i = 0; i < t->n_incidents; i++)
		if (t->incidents[i].t_first_us != CONSOLE_UNKNOWN &&
		    (double)t->incidents[i].t_first_us / 1000.0 + offset_ms > 0)
			widen(&sc, (double)t->incidents[i].t_first_us / 1000.0 + offset_ms);
	for (size_t i = 0; i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];

		if (d->due_us == CONSOLE_UNKNOWN || !is_of_cut(d, offset_ms))
			continue;
		widen(&sc, (double)d->due_us / 1000.0 + offset_ms);
		widen(&sc, (double)(d->due_us + d->us) / 1000.0 + offset_ms);
	}
	/* the limit, unless what happened would be small before it */
	widen(&sc, sc.to_ms > 0 && limit_ms > 2 * sc.to_ms ? 2 * sc.to_ms : limit_ms);
	margin = (sc.to_ms - sc.from_ms) * 0.04;
	sc.from_ms -= margin;
	sc.to_ms += 3 * margin; /* room for a word behind the last bar */
	return sc;
}

static double pct(const struct scale *sc, double ms)
{
	double at = (ms - sc->from_ms) / (sc->to_ms - sc->from_ms) * 100;

	return at < 0 ? 0 : at > 100 ? 100 : at;
}

/* ---- the timeline ---- */

/* Round distances between `lines` lines of the grid: 1, 2 or 5 times a power of ten. */
static double grid_step(const struct scale *sc, unsigned lines)
{
	double rough = (sc->to_ms - sc->from_ms) / lines;
	double power = pow(10, floor(log10(rough)));
	double digit = rough / power;

	return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

static void begin_lane(struct strbuf *out, const struct scale *sc, const char *css)
{
	double step = grid_step(sc, GRID_LINES);

	strbuf_addf(out, "<svg class=\"lane %s\">", css);
	for (double ms = ceil(sc->from_ms / step) * step; ms < sc->to_ms; ms += step)
		strbuf_addf(out, "<line class=%s x1=\"%.2f%%\" x2=\"%.2f%%\" y1=0 y2=\"100%%\" />",
			    fabs(ms) < step / 2 ? "zero" : "grid", pct(sc, ms), pct(sc, ms));
}

/* A number below a line of the grid; none where it would stand over the edge. */
static void add_tick(struct strbuf *out, double x_pct, double value)
{
	if (x_pct <= 96)
		strbuf_addf(out, "<text x=\"%.2f%%\" y=\"66%%\" text-anchor=%s>%g</text>", x_pct,
			    x_pct < 2 ? "start" : "middle", value);
}

static void add_axis(struct strbuf *out, const struct scale *sc)
{
	double step = grid_step(sc, GRID_LINES);

	strbuf_adds(out, "<div class=name>ms after the cut</div><svg class=\"lane axis\">");
	for (double ms = ceil(sc->from_ms / step) * step; ms < sc->to_ms; ms += step)
		add_tick(out, pct(sc, ms), fabs(ms) < step / 2 ? 0 : ms);
	strbuf_adds(out, "</svg>\n");
}

static const struct trial_incident *incident_of(const struct trial *t, const char *cls)
{
	for (size_t i = 0; i < t->n_incidents; i++)
		if (strcmp(t->incidents[i].cls, cls) == 0)
			return &t->incidents[i];
	return NULL;
}

static void add_mark(struct strbuf *out, const struct scale *sc, double ms, const char *word,
		     const char *title, const char *css)
{
	double x = pct(sc, ms);

	strbuf_addf(out, "<g class=\"mark %s\"><title>", css);
	html_text(out, title);
	strbuf_addf(out,
		    "</title><line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=0 y2=\"100%%\" />"
		    "<text x=\"%.2f%%\" dx=%d y=\"66%%\" text-anchor=%s>",
		    x, x, x, x > 70 ? -4 : 4, x > 70 ? "end" : "start");
	html_text(out, word);
	strbuf_adds(out, "</text></g>");
}

/* What happened to the switch and what the kernel said of it. */
static void add_switch_lanes(struct strbuf *out, const struct trial *t, const struct scale *sc)
{
	static const struct {
		const char *what;
		const char *lane; /* a new lane begins with a name */
		const char *word;
	} rows[] = {
		{"cut-asked", "switch: asked", "cut"},
		{"cut-applied", "switch: sensed", "edge"},
		{"usb-disconnect", "kernel: USB", "disconnect"},
	};

	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		strbuf_addf(out, "<div class=name>%s</div>", rows[r].lane);
		begin_lane(out, sc, "marks");
		for (size_t i = 0; i < t->n_moments; i++) {
			const struct trial_moment *m = &t->moments[i];
			auto_free char *title = NULL;
			const struct trial_incident *inc = incident_of(t, m->what);
			double ms = (double)m->t_ns / 1e6;

			if (strcmp(m->what, rows[r].what) != 0)
				continue;
			title = xasprintf("%.1f ms: %s %s", ms, m->what, m->detail);
			if (inc)
				strbuf_addf(out, "<a href=\"#" LINE_ID "%" PRIu64 "\">",
					    inc->offset);
			add_mark(out, sc, ms, rows[r].word, title, "");
			if (inc)
				strbuf_adds(out, "</a>");
		}
		strbuf_adds(out, "</svg>\n");
	}
}

static bool is_shown_elsewhere(const char *cls)
{
	return strcmp(cls, console_class_name(CONSOLE_USB_DISCONNECT)) == 0;
}

static void add_incident_lane(struct strbuf *out, const struct trial *t, const struct scale *sc,
			      double offset_ms)
{
	bool is_any = false;

	for (size_t i = 0; i < t->n_incidents; i++)
		is_any |= !is_shown_elsewhere(t->incidents[i].cls);
	if (!is_any)
		return;
	strbuf_adds(out, "<div class=name>kernel: incidents</div>");
	begin_lane(out, sc, "marks");
	for (size_t i = 0; i < t->n_incidents; i++) {
		const struct trial_incident *inc = &t->incidents[i];
		double ms = (double)inc->t_first_us / 1000.0 + offset_ms;
		auto_free char *title = NULL;

		if (is_shown_elsewhere(inc->cls) || inc->t_first_us == CONSOLE_UNKNOWN ||
		    ms < sc->from_ms)
			continue;
		title = xasprintf("%.1f ms: %s %s (%u times)", ms, inc->cls, inc->title,
				  inc->count);
		strbuf_addf(out, "<a href=\"#" LINE_ID "%" PRIu64 "\">", inc->offset);
		add_mark(out, sc, ms, inc->cls, title, "incident");
		strbuf_adds(out, "</a>");
	}
	strbuf_adds(out, "</svg>\n");
}

struct lane {
	int cpu;
	const char *probe;
};

static int by_probe_and_cpu(const void *a, const void *b)
{
	const struct lane *la = a, *lb = b;
	int order = strcmp(la->probe, lb->probe);

	return order ? order : (la->cpu > lb->cpu) - (la->cpu < lb->cpu);
}

static size_t list_lanes(const struct trial *t, double offset_ms, struct lane *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];
		size_t k = 0;

		if (d->due_us == CONSOLE_UNKNOWN || !is_of_cut(d, offset_ms))
			continue;
		while (k < n && (ret[k].cpu != d->cpu || strcmp(ret[k].probe, d->probe) != 0))
			k++;
		if (k == n && n < LANES_MAX)
			ret[n++] = (struct lane){.cpu = d->cpu, .probe = d->probe};
	}
	if (n)
		qsort(ret, n, sizeof(*ret), by_probe_and_cpu);
	return n;
}

/* A number beside a bar would lie across the next one, or stand over the edge. */
static bool has_room(const struct trial *t, const struct trial_delay *d, const struct scale *sc,
		     double offset_ms)
{
	double end = pct(sc, (double)(d->due_us + d->us) / 1000.0 + offset_ms);

	for (size_t i = 0; i < t->n_delays; i++) {
		const struct trial_delay *other = &t->delays[i];
		double from_ms = (double)other->due_us / 1000.0 + offset_ms;

		if (other != d && other->cpu == d->cpu && strcmp(other->probe, d->probe) == 0 &&
		    pct(sc, from_ms) < end + LABEL_PCT &&
		    pct(sc, from_ms + (double)other->us / 1000.0) > end)
			return false;
	}
	return end + LABEL_PCT < 100;
}

static void add_delay_bar(struct strbuf *out, const struct trial *t, const struct trial_delay *d,
			  const struct scale *sc, double offset_ms, int64_t limit_us)
{
	size_t index = (size_t)(d - t->delays);
	double from_ms = (double)d->due_us / 1000.0 + offset_ms;
	double to_ms = from_ms + (double)d->us / 1000.0;
	double x = pct(sc, from_ms);
	double width = pct(sc, to_ms) - x;

	strbuf_addf(out,
		    "<a href=\"#" LINE_ID "%" PRIu64 "\" id=" DELAY_ID "%zu class=\"delay %s\">"
		    "<title>due %.1f ms, ran %.1f ms after the cut: %.1f ms late%s%s</title>"
		    "<rect x=\"%.2f%%\" width=\"%.2f%%\" y=\"18%%\" height=\"57%%\" rx=2 />",
		    d->offset, index, d->us > limit_us ? "over" : "under", from_ms, to_ms,
		    (double)d->us / 1000.0, d->is_live ? ", still waiting then" : "",
		    d->is_suspect ? ", line damaged" : "", x, width < 0.3 ? 0.3 : width);
	if (width > 12)
		strbuf_addf(out, "<text class=in x=\"%.2f%%\" dx=6 y=\"64%%\">%.0f ms</text>", x,
			    (double)d->us / 1000.0);
	else if (d->us > limit_us && has_room(t, d, sc, offset_ms))
		strbuf_addf(out, "<text x=\"%.2f%%\" dx=4 y=\"64%%\">%.0f ms</text>", x + width,
			    (double)d->us / 1000.0);
	strbuf_adds(out, "</a>");
}

static void add_delay_lanes(struct strbuf *out, const struct trial *t, const struct scale *sc,
			    double offset_ms, int64_t limit_us)
{
	struct lane lanes[LANES_MAX];
	size_t n = list_lanes(t, offset_ms, lanes);
	size_t bars = 0;

	for (size_t l = 0; l < n; l++) {
		strbuf_adds(out, "<div class=name>");
		html_text(out, lanes[l].probe[0] ? lanes[l].probe : "delay");
		if (lanes[l].cpu >= 0)
			strbuf_addf(out, ", CPU%d", lanes[l].cpu);
		strbuf_adds(out, "</div>");
		begin_lane(out, sc, "delays");
		for (size_t i = 0; i < t->n_delays; i++) {
			const struct trial_delay *d = &t->delays[i];

			if (d->cpu != lanes[l].cpu || strcmp(d->probe, lanes[l].probe) != 0 ||
			    d->due_us == CONSOLE_UNKNOWN || !is_of_cut(d, offset_ms) ||
			    bars++ >= BARS_MAX)
				continue;
			add_delay_bar(out, t, d, sc, offset_ms, limit_us);
		}
		strbuf_adds(out, "</svg>\n");
	}
}

/* ---- dd before the cut ---- */

/* What was read over time, on a scale of its own: seconds before the cut, not milliseconds around
 * it. */
static void add_curve(struct strbuf *out, const struct trial *t, const struct scale *sc)
{
	const double top_pct = 8, height_pct = 84;
	size_t step = (t->n_load + CURVE_MAX - 1) / CURVE_MAX;
	int64_t most = 1;
	double x = 0, y = 0;

	for (size_t i = 0; i < t->n_load; i++)
		if (t->load[i].bytes > most)
			most = t->load[i].bytes;
	strbuf_addf(out, "<div class=name>read, 0 … %" PRId64 " MiB</div>", most >> 20);
	begin_lane(out, sc, "curve");
	for (size_t i = 0; i < t->n_load; i += step) {
		const struct trial_load_point *p = &t->load[i];
		double ms = (double)p->t_ns / 1e6;
		double x_now = pct(sc, ms);
		double y_now = top_pct + height_pct * (1 - (double)p->bytes / (double)most);

		if (i)
			strbuf_addf(
				out,
				"<line x1=\"%.2f%%\" y1=\"%.1f%%\" x2=\"%.2f%%\" y2=\"%.1f%%\" />",
				x, y, x_now, y_now);
		strbuf_addf(out,
			    "<circle cx=\"%.2f%%\" cy=\"%.1f%%\" r=2.5><title>%.1f s: %" PRId64
			    " MiB</title></circle>",
			    x_now, y_now, ms / 1000, p->bytes >> 20);
		x = x_now;
		y = y_now;
	}
	strbuf_adds(out, "</svg>\n");
}

static void add_load(struct strbuf *out, const struct trial *t)
{
	const struct trial_load_point *first = t->load, *last = first + t->n_load - 1;
	struct scale sc;
	double s, step;

	if (t->n_load < 2 || last->t_ns <= first->t_ns || last->bytes <= 0)
		return;
	s = (double)(last->t_ns - first->t_ns) / 1e9;
	sc = (struct scale){.from_ms = (double)first->t_ns / 1e6,
			    .to_ms = (double)last->t_ns / 1e6};
	step = grid_step(&sc, GRID_LINES);
	strbuf_addf(
		out,
		"<h3>dd before the cut</h3><p class=\"dim small\">%" PRId64
		" MiB in %.1f s, %.1f MiB/s.\n<div class=tl role=group aria-label=\"What dd had "
		"read over time\">\n",
		last->bytes >> 20, s, (double)last->bytes / 1048576.0 / s);
	add_curve(out, t, &sc);
	strbuf_adds(out, "<div class=name>s before the cut</div><svg class=\"lane axis\">");
	for (double ms = ceil(sc.from_ms / step) * step; ms <= sc.to_ms; ms += step)
		add_tick(out, pct(&sc, ms), fabs(ms) / 1000);
	strbuf_adds(out, "</svg>\n</div>\n");
}

static void add_timeline(struct strbuf *out, const struct run *r, const struct trial *t)
{
	double offset_ms = 0;
	bool has_clock = kernel_offset_ms(t, &offset_ms);
	struct scale sc;

	strbuf_adds(out, "<section class=\"card timeline\"><h2>Timeline</h2>\n");
	if (!has_clock) {
		strbuf_adds(out, "<p>The stick was not cut, or the console did not show it: there "
				 "is nothing to draw. The evidence below says why.</section>\n");
		return;
	}
	sc = scale_of(t, offset_ms, r->limit_us);
	strbuf_adds(out, "<div class=tl role=group aria-label=\"Delays after the cut; the list "
			 "below says the same\">\n");
	add_switch_lanes(out, t, &sc);
	add_incident_lane(out, t, &sc, offset_ms);
	add_delay_lanes(out, t, &sc, offset_ms, r->limit_us);
	add_axis(out, &sc);
	strbuf_adds(out,
		    "</div>\n<p class=\"dim small\">A bar goes from when work was due to when it "
		    "ran; filled: over the limit of ");
	html_ms(out, r->limit_us);
	strbuf_adds(out, ".\n");
	add_load(out, t);
	strbuf_adds(out, "<details><summary>As a list</summary><table class=rows><thead><tr>"
			 "<th scope=col class=num>ms<th scope=col>what<th scope=col>text</thead>"
			 "<tbody>\n");
	for (size_t i = 0; i < t->n_moments; i++) {
		strbuf_addf(out, "<tr><td class=num>%.1f<td>", (double)t->moments[i].t_ns / 1e6);
		html_text(out, t->moments[i].what);
		strbuf_adds(out, "<td><code>");
		html_text(out, t->moments[i].detail);
		strbuf_adds(out, "</code>\n");
	}
	strbuf_adds(out, "</tbody></table></details></section>\n");
}

/* ---- the console ---- */

static const struct trial_delay *delay_at(const struct trial *t, const struct excerpt_line *line,
					  uint64_t end, size_t *ret_index)
{
	for (size_t i = 0; i < t->n_delays; i++)
		if (t->delays[i].offset >= line->offset && t->delays[i].offset < end) {
			*ret_index = i;
			return &t->delays[i];
		}
	return NULL;
}

static bool is_incident_at(const struct trial *t, const struct excerpt_line *line, uint64_t end)
{
	for (size_t i = 0; i < t->n_incidents; i++)
		if (t->incidents[i].offset >= line->offset && t->incidents[i].offset < end)
			return true;
	return false;
}

static void add_console_line(struct strbuf *out, const struct run *r, const struct trial *t,
			     const struct excerpt *x, size_t i, bool has_cut, int64_t cut_ns)
{
	const struct excerpt_line *line = &x->lines[i];
	uint64_t end = i + 1 < x->n ? x->lines[i + 1].offset : UINT64_MAX;
	size_t index = 0;
	const struct trial_delay *d = delay_at(t, line, end, &index);
	const char *css = d                              ? (d->us > r->limit_us ? "over" : "under")
			  : is_incident_at(t, line, end) ? "incident"
							 : "";

	strbuf_addf(out, "<li id=" LINE_ID "%" PRIu64 "%s%s%s>", d ? d->offset : line->offset,
		    *css || i == x->anchor ? " class=\"" : "", css,
		    i == x->anchor ? " anchor\""
		    : *css         ? "\""
				   : "");
	if (d)
		strbuf_addf(out, "<a href=\"#" DELAY_ID "%zu\">", index);
	strbuf_addf(out, "<span class=t>%+.0f</span>",
		    (double)(line->t_ns - (has_cut ? cut_ns : 0)) / 1e6);
	if (d)
		strbuf_adds(out, "</a>");
	strbuf_adds(out, "<code>");
	html_text(out, line->text);
	strbuf_adds(out, "</code>\n");
}

static void add_console(struct strbuf *out, const struct request *rq, const struct run *r,
			const struct trial *t, const struct trial_boot *b)
{
	static const struct excerpt_size size = {.lines = CONSOLE_LINES,
						 .lines_before = CONSOLE_BEFORE,
						 .columns = EXCERPT_COLUMNS_MAX,
						 .is_clean = true};
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	auto_free char *boot = xasprintf("%u", t->boot);
	struct err e = {0};
	bool has_cut;
	int64_t cut_ns;

	strbuf_adds(out, "<section class=\"card consolebox\"><h2>Console</h2>\n");
	if (!b || run_text_excerpt(t, b, &size, &x, &has_cut, &cut_ns, &e) < 0) {
		strbuf_adds(out, "<p>The recording cannot be shown: ");
		html_text(out, b ? e.text : "its boot is not in the store");
		strbuf_adds(out, ".</section>\n");
		return;
	}
	strbuf_addf(out,
		    "<p class=\"dim small\">ms after %s; times that are links lead to the "
		    "timeline.%s</p>\n<ol class=console tabindex=0 "
		    "aria-label=\"Console of the trial\">\n",
		    has_cut ? "the cut" : "the boot", x.is_cut ? " Only the first MiB." : "");
	if (x.left_before)
		strbuf_addf(out, "<li class=dim>%" PRIu64 " lines before\n", x.left_before);
	for (size_t i = 0; i < x.n; i++)
		add_console_line(out, r, t, &x, i, has_cut, cut_ns);
	if (x.left_after)
		strbuf_addf(out, "<li class=dim>%" PRIu64 " lines after\n", x.left_after);
	strbuf_adds(out, "</ol>");
	if (!rq->is_static) {
		static const char *const names[] = {"console.raw", "console.timing"};

		strbuf_adds(out, "<p class=links>Recording of the boot:");
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			strbuf_adds(out, " <a href=\"");
			page_api_url(out, rq, "runs/", r->id, "/boots/", boot, "/", names[i], NULL);
			strbuf_addf(out, "\" download>%s</a>", names[i]);
		}
	}
	strbuf_adds(out, "</section>\n");
}

/* ---- the rest ---- */

static void add_evidence(struct strbuf *out, const struct trial *t)
{
	static const char *const css[] = {
		[EVIDENCE_NOT_REACHED] = "notreached",
		[EVIDENCE_OK] = "ok",
		[EVIDENCE_MISSING] = "missing",
		[EVIDENCE_NOT_NEEDED] = "notneeded",
	};

	strbuf_adds(out,
		    "<section class=card><h2>Evidence</h2><table class=\"rows evidence\"><thead>"
		    "<tr><th scope=col>what must hold<th scope=col>state<th scope=col>numbers"
		    "</thead><tbody>\n");
	for (enum evidence_id id = 0; id < EVIDENCE_MAX; id++) {
		const struct evidence *ev = &t->evidence[id];

		strbuf_addf(out, "<tr class=%s><th scope=row title=\"", css[ev->state]);
		html_text(out, evidence_meaning(id));
		strbuf_addf(out, "\">%s<td data-k=state><span aria-hidden=true>%s</span> %s<td>",
			    evidence_name(id), run_text_mark(ev->state),
			    evidence_state_name(ev->state));
		html_text(out, ev->detail);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table></section>\n");
}

static void add_shell_word(struct strbuf *out, const char *word)
{
	auto_strbuf struct strbuf quoted = STRBUF_INIT;

	strbuf_adds(&quoted, "'");
	for (; *word; word++)
		strbuf_adds(&quoted, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
	strbuf_adds(&quoted, "'");
	html_text(out, strbuf_str(&quoted));
}

static void add_again(struct strbuf *out, const struct run *r, const struct trial *t,
		      const struct trial_boot *b)
{
	strbuf_adds(out,
		    "<section class=card><h2>Do it again</h2>\n<pre><code>stallrig run --rig ");
	add_shell_word(out, text_or_empty(r->rig));
	strbuf_adds(out, " --scenario ");
	add_shell_word(out, text_or_empty(r->scenario));
	strbuf_adds(out, " --kernel ");
	add_shell_word(out, text_or_empty(r->kernel));
	if (r->append && *r->append) {
		strbuf_adds(out, " --append ");
		add_shell_word(out, r->append);
	}
	strbuf_addf(out, "\nstallrig show %s.%u", r->id, t->number);
	if (b && b->recording && *b->recording) {
		const char *slash = strrchr(b->recording, '/');
		auto_free char *dir =
			xasprintf("%.*s", slash ? (int)(slash - b->recording) : 0, b->recording);

		strbuf_adds(out, "\nstallrig judge ");
		add_shell_word(out, dir);
	}
	strbuf_adds(out, "</code></pre></section>\n");
}

/* What the boot's kernel left in the target's persistent store. */
static void add_pstore(struct strbuf *out, const struct run *r, const struct trial_boot *b)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_pstore struct pstore p = {0};
	struct err e = {0};
	char *rest, *line;

	if (pstore_of_run(r, &p, &e) < 0)
		strbuf_addf(&text, "%s\n", e.text);
	pstore_text_add(&text, &p, b->number);
	rest = text.data;
	while (rest && (line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		strbuf_adds(out, "<dt>pstore<dd>");
		html_text(out, line);
	}
}

static void add_numbers(struct strbuf *out, const struct run *r, const struct trial *t,
			const struct trial_boot *b)
{
	strbuf_adds(out, "<section class=card><h2>Numbers</h2><dl class=facts>\n");
	for (size_t i = 0; i < t->n_numbers; i++) {
		strbuf_adds(out, "<dt>");
		html_text(out, t->numbers[i].name);
		strbuf_addf(out, "<dd class=num>%" PRId64, t->numbers[i].value);
	}
	if (b) {
		strbuf_adds(out, "<dt>environment<dd>");
		html_text(out, b->environment);
		strbuf_adds(out, "<dt>banner<dd>");
		html_text(out, b->banner);
		add_pstore(out, r, b);
	}
	strbuf_adds(out, "</dl></section>\n");
}

static void add_sentence(struct strbuf *out, const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;
	bool is_over = t->is_crash || (t->is_valid && t->worst_us > r->limit_us);

	run_text_add_trial(&words, r, t);
	strbuf_addf(out, "<p class=lead><span class=\"chip %s\"><span aria-hidden=true>%s</span> ",
		    is_over       ? "fail"
		    : t->is_valid ? "pass"
				  : "unsure",
		    is_over       ? "✗"
		    : t->is_valid ? "✓"
				  : "?");
	html_text(out, strbuf_str(&words));
	strbuf_adds(out, "</span>");
	if (t->worst_us >= 0) {
		strbuf_adds(out, " Worst delay <b class=num>");
		html_ms(out, t->worst_us);
		strbuf_adds(out, "</b>");
		if (t->worst_cpu >= 0)
			strbuf_addf(out, " on CPU%d", t->worst_cpu);
		if (t->worst_probe[0]) {
			strbuf_adds(out, " (");
			html_text(out, t->worst_probe);
			strbuf_adds(out, ")");
		}
		if (t->worst_func[0]) {
			strbuf_adds(out, ", held by <code>");
			html_text(out, t->worst_func);
			strbuf_adds(out, "</code>");
		}
		strbuf_adds(out, "; limit ");
		html_ms(out, r->limit_us);
		strbuf_adds(out, ".");
	}
	if (!t->is_valid && !t->is_crash && t->evidence[t->missing].detail[0]) {
		strbuf_adds(out, " <span class=dim>");
		html_text(out, t->evidence[t->missing].detail);
		strbuf_adds(out, "</span>");
	}
	strbuf_adds(out, "\n");
}

static void add_neighbours(struct strbuf *out, const struct request *rq, const struct run *r,
			   const struct trial *t)
{
	auto_free char *id = xasprintf("%s.%u", r->id, t->number);

	strbuf_adds(out, "<p class=links>");
	html_link(out, rq, "runs/", r->id, "all trials of the run");
	for (size_t i = 0; i < r->n_trials; i++) {
		unsigned n = r->trials[i]->number;
		auto_free char *other = xasprintf("%s.%u", r->id, n);

		if (n != t->number - 1 && n != t->number + 1)
			continue;
		strbuf_adds(out, " ");
		html_link(out, rq, "trials/", other, n < t->number ? "← previous" : "next →");
	}
	strbuf_adds(out, " <a href=\"");
	page_api_url(out, rq, "trials/", id, NULL);
	strbuf_adds(out, "\" download>JSON</a>\n");
}

int page_trial(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run struct run *run = NULL;
	const struct trial *t;
	const struct trial_boot *b;
	auto_free char *name = NULL;
	auto_free char *title = NULL;
	struct strbuf *out = &rp->body;
	int r;

	r = store_find_trial(s->store, rq->parts[0], &run, &t, e);
	if (r < 0)
		return r;
	b = run_text_boot(run, t->boot);
	name = view_kernel_name(run);
	title = xasprintf("Trial %u of %s on %s", t->number, name, run->rig);
	page_begin(out, rq, NAV_NONE, title, false);
	strbuf_addf(out, "<h1>Trial %u <span class=dim>of ", t->number);
	html_text(out, name);
	strbuf_adds(out, " on ");
	html_text(out, run->rig);
	strbuf_adds(out, "</span></h1>\n");
	add_sentence(out, run, t);
	add_neighbours(out, rq, run, t);
	strbuf_adds(out, "<div class=beside>\n");
	add_timeline(out, run, t);
	add_console(out, rq, run, t, b);
	strbuf_adds(out, "</div>\n");
	add_evidence(out, t);
	add_again(out, run, t, b);
	add_numbers(out, run, t, b);
	profile_text_add_html(out, run, t);
	page_end(out, rq);
	return 0;
}

int api_trial(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run struct run *run = NULL;
	const struct trial *t;
	int r;

	r = store_find_trial(s->store, rq->parts[0], &run, &t, e);
	if (r < 0)
		return r;
	reply_json(rp, report_trial_value(run, t));
	return 0;
}
