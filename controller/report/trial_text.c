/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trial_text.c - everything about one trial for a terminal. */
#include "base/waiter.h"
#include "console/console.h"
#include "report/excerpt.h"
#include "report/profile_text.h"
#include "report/pstore_text.h"
#include "report/report.h"
#include "report/run_text.h"
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

#define SGR_BOLD "\033[1m"
#define SGR_RED  "\033[31m"
#define SGR_END  "\033[0m"

struct page {
	struct strbuf *out;
	bool has_colour;
};

static void add_styled(struct page *p, const char *sgr, const char *text)
{
	bool is_styled = p->has_colour && *sgr;

	strbuf_addf(p->out, "%s%s%s", is_styled ? sgr : "", text, is_styled ? SGR_END : "");
}

static void add_visible(struct page *p, const char *s)
{
	text_add_visible(p->out, text_or_empty(s), strlen(text_or_empty(s)), 0);
}

static void add_heading(struct page *p, const char *text)
{
	strbuf_adds(p->out, "\n");
	add_styled(p, SGR_BOLD, text);
	strbuf_adds(p->out, "\n");
}

/* "  name          value"; nothing if there is no value. */
static void add_fact(struct page *p, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(p->out, "  %-12s ", name);
	add_visible(p, value);
	strbuf_adds(p->out, "\n");
}

/* Milliseconds relative to the cut, sign always shown. */
static void add_relative_ms(struct page *p, int64_t t_ns)
{
	strbuf_addf(p->out, "%+12.1f ms  ", (double)t_ns / 1e6);
}

static void add_head(struct page *p, const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf title = STRBUF_INIT;
	auto_strbuf struct strbuf worst = STRBUF_INIT;
	auto_strbuf struct strbuf kernel = STRBUF_INIT;
	auto_strbuf struct strbuf place = STRBUF_INIT;
	auto_free char *started = t->started_wall_ns ? wall_format(t->started_wall_ns) : NULL;

	strbuf_addf(&title, "trial %s.%u: ", r->id, t->number);
	run_text_add_trial(&title, r, t);
	add_styled(p, SGR_BOLD, strbuf_str(&title));
	strbuf_adds(p->out, "\n");

	text_add_ms(&worst, t->worst_us);
	if (t->worst_us >= 0) {
		if (t->worst_cpu >= 0)
			strbuf_addf(&worst, " on CPU%d", t->worst_cpu);
		if (t->worst_probe[0])
			strbuf_addf(&worst, ", probe %s", t->worst_probe);
		if (t->worst_func[0])
			strbuf_addf(&worst, ", held by %s", t->worst_func);
	}
	strbuf_adds(&worst, ", limit ");
	text_add_ms(&worst, r->limit_us);
	strbuf_adds(&kernel, text_or_empty(r->kernel_label));
	if (r->kernel_release && *r->kernel_release)
		strbuf_addf(&kernel, " (%s)", r->kernel_release);
	strbuf_addf(&place, "boot %u, unplug %u in it", t->boot, t->unplug);

	add_fact(p, "worst delay", strbuf_str(&worst));
	add_fact(p, "kernel", strbuf_str(&kernel));
	add_fact(p, "append", r->append);
	add_fact(p, "rig", r->rig);
	add_fact(p, "scenario", r->scenario);
	add_fact(p, "place", strbuf_str(&place));
	add_fact(p, "started", started);
}

static void add_evidence(struct page *p, const struct trial *t)
{
	add_heading(p, "Evidence");
	for (enum evidence_id id = 0; id < EVIDENCE_MAX; id++) {
		const struct evidence *ev = &t->evidence[id];
		bool is_missing = ev->state == EVIDENCE_MISSING;

		strbuf_adds(p->out, "  ");
		add_styled(p, is_missing ? SGR_RED : "", run_text_mark(ev->state));
		strbuf_addf(p->out, " %-16s ", evidence_name(id));
		if (ev->state != EVIDENCE_OK)
			strbuf_addf(p->out, "%s", evidence_state_name(ev->state));
		if (ev->state != EVIDENCE_OK && ev->detail[0])
			strbuf_adds(p->out, ": ");
		add_visible(p, ev->detail);
		strbuf_adds(p->out, "\n");
		if (is_missing)
			strbuf_addf(p->out, "    %-16s %s\n", "", evidence_meaning(id));
	}
}

static void add_timeline(struct page *p, const struct trial *t)
{
	if (!t->n_moments)
		return;
	add_heading(p, "Timeline (0 = the cut was asked for)");
	for (size_t i = 0; i < t->n_moments; i++) {
		const struct trial_moment *m = &t->moments[i];

		add_relative_ms(p, m->t_ns);
		text_add_padded(p->out, m->what, 16, false);
		strbuf_adds(p->out, " ");
		add_visible(p, m->detail);
		strbuf_adds(p->out, "\n");
	}
}

static void add_delays(struct page *p, const struct trial *t)
{
	if (!t->n_delays)
		return;
	add_heading(p, "Delays on the console");
	for (size_t i = 0; i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];
		auto_strbuf struct strbuf ms = STRBUF_INIT;

		text_add_ms(&ms, d->us);
		strbuf_adds(p->out, "  ");
		text_add_padded(p->out, strbuf_str(&ms), 10, true);
		if (d->cpu >= 0)
			strbuf_addf(p->out, "  CPU%d", d->cpu);
		if (d->probe[0])
			strbuf_addf(p->out, "  %s", d->probe);
		if (d->due_us != CONSOLE_UNKNOWN)
			strbuf_addf(p->out, "  due at [%.6f]", (double)d->due_us / 1e6);
		strbuf_addf(p->out, "%s%s\n", d->is_live ? "  still running when printed" : "",
			    d->is_suspect ? "  line is mangled, not counted" : "");
	}
}

static void add_incidents(struct page *p, const struct trial *t)
{
	if (!t->n_incidents)
		return;
	add_heading(p, "Incidents");
	for (size_t i = 0; i < t->n_incidents; i++) {
		const struct trial_incident *inc = &t->incidents[i];

		strbuf_addf(p->out, "  %-18s ", inc->cls);
		add_visible(p, inc->title);
		if (inc->count > 1)
			strbuf_addf(p->out, "  %u times", inc->count);
		if (inc->worst_s != CONSOLE_UNKNOWN)
			strbuf_addf(p->out, "  worst %" PRId64 " s", inc->worst_s);
		if (inc->t_first_us != CONSOLE_UNKNOWN)
			strbuf_addf(p->out, "  at [%.6f]", (double)inc->t_first_us / 1e6);
		strbuf_adds(p->out, "\n");
	}
}

static void add_numbers(struct page *p, const struct trial *t)
{
	if (!t->n_numbers)
		return;
	add_heading(p, "Numbers");
	for (size_t i = 0; i < t->n_numbers; i++)
		strbuf_addf(p->out, "  %-24s %" PRId64 "\n", t->numbers[i].name,
			    t->numbers[i].value);
}

static void add_profile(struct page *p, const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	profile_text_add(&text, r, t);
	if (!text.len)
		return;
	add_heading(p, "Profile");
	strbuf_adds(p->out, strbuf_str(&text));
}

static void add_pstore(struct page *p, const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_pstore struct pstore pstore = {0};
	struct err e = {0};
	char *rest, *line;

	if (pstore_of_run(r, &pstore, &e) < 0) {
		strbuf_adds(&text, "cannot be shown: ");
		text_add_visible(&text, e.text, strlen(e.text), 0);
	}
	pstore_text_add(&text, &pstore, t->boot);
	if (!text.len)
		return;
	add_heading(p, "Kernel records (pstore) of the boot");
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			strbuf_addf(p->out, "  %s\n", line);
}

static void add_console(struct page *p, const struct run *r, const struct trial *t)
{
	const struct trial_boot *b = run_text_boot(r, t->boot);
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};
	int64_t cut_ns;
	bool has_cut;

	add_heading(p, "Console around the cut");
	if (!b || !b->recording || !*b->recording) {
		strbuf_adds(p->out, "  the run has no recording of this boot\n");
		return;
	}
	strbuf_adds(p->out, "  ");
	add_visible(p, b->recording);
	strbuf_addf(p->out, "/console.raw, bytes %" PRIu64 " to %" PRIu64 "\n", t->console_from,
		    t->console_to);
	if (run_text_excerpt(t, b, NULL, &x, &has_cut, &cut_ns, &e) < 0) {
		strbuf_adds(p->out, "  cannot be shown: ");
		add_visible(p, e.text);
		strbuf_adds(p->out, "\n");
		return;
	}
	if (!has_cut)
		strbuf_adds(p->out,
			    "  (times from the start of the boot: the console does not show "
			    "the cut)\n");
	if (x.left_before)
		strbuf_addf(p->out, "  … %" PRIu64 " lines before\n", x.left_before);
	for (size_t i = 0; i < x.n; i++) {
		add_relative_ms(p, x.lines[i].t_ns - cut_ns);
		strbuf_addf(p->out, "%s\n", x.lines[i].text);
	}
	if (x.left_after)
		strbuf_addf(p->out, "  … %" PRIu64 " lines more\n", x.left_after);
	if (x.is_cut)
		strbuf_addf(p->out, "  … and what is beyond the first %u KiB\n",
			    EXCERPT_BYTES_MAX / 1024);
}

void report_trial(struct strbuf *out, const struct run *r, const struct trial *t, bool has_colour)
{
	struct page p = {.out = out, .has_colour = has_colour};

	add_head(&p, r, t);
	add_timeline(&p, t);
	add_evidence(&p, t);
	add_delays(&p, t);
	add_incidents(&p, t);
	add_numbers(&p, t);
	add_profile(&p, r, t);
	add_pstore(&p, r, t);
	add_console(&p, r, t);
}
