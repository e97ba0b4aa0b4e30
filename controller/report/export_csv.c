/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_csv.c - RFC 4180: records end with CR LF, quotes are doubled inside quotes. */
#include "base/waiter.h"
#include "report/export.h"
#include "report/run_text.h"
#include "report/text.h"

#include <string.h>

/* s NULL = empty. */
static void add_cell(struct strbuf *out, const char *s, bool is_hostile)
{
	bool is_first = !out->len || out->data[out->len - 1] == '\n';

	if (!is_first)
		strbuf_adds(out, ",");
	if (!s)
		return;
	if (!strpbrk(s, ",\"\r\n")) {
		strbuf_adds(out, is_hostile ? "'" : "");
		text_add_utf8(out, s, strlen(s));
		return;
	}
	strbuf_adds(out, is_hostile ? "\"'" : "\"");
	for (const char *quote; (quote = strchr(s, '"')); s = quote + 1) {
		text_add_utf8(out, s, (size_t)(quote - s));
		strbuf_adds(out, "\"\"");
	}
	text_add_utf8(out, s, strlen(s));
	strbuf_adds(out, "\"");
}

/* A number or time of ours. */
static void add_field(struct strbuf *out, const char *s)
{
	add_cell(out, s, false);
}

/*
 * A text, which may come from a console or a kernel: a spreadsheet would work out what begins like
 * a formula, some also behind a tab or a line end. The apostrophe says that it is a text.
 */
static void add_text(struct strbuf *out, const char *s)
{
	add_cell(out, s, s && *s && strchr("=+-@\t\r\n", *s));
}

static void add_wall(struct strbuf *out, int64_t wall_ns)
{
	auto_free char *text = wall_ns ? wall_format(wall_ns) : NULL;

	add_field(out, text);
}

static void add_ms(struct strbuf *out, int64_t us)
{
	auto_free char *text = us >= 0 ? xasprintf("%.3f", (double)us / 1000) : NULL;

	add_field(out, text);
}

static void add_count(struct strbuf *out, int64_t value)
{
	auto_free char *text = value >= 0 ? xasprintf("%lld", (long long)value) : NULL;

	add_field(out, text);
}

static void add_run(struct strbuf *out, const struct run *r)
{
	add_text(out, r->id);
	add_text(out, r->kernel);
	add_text(out, r->kernel_label);
	add_text(out, r->append);
	add_text(out, r->rig);
	add_text(out, r->rig_class);
	add_text(out, r->scenario);
	add_ms(out, r->limit_us);
	add_field(out, verdict_name(r->result.verdict));
	add_text(out, r->result.reason);
}

static void add_trial(struct strbuf *out, const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf id = STRBUF_INIT;

	run_text_add_trial_id(&id, r, t);
	add_text(out, strbuf_str(&id));
	add_count(out, t->boot);
	add_wall(out, t->started_wall_ns);
	add_field(out, t->is_valid ? "1" : "0");
	add_field(out, t->is_valid || t->is_crash ? NULL : evidence_name(t->missing));
	add_text(out, t->is_crash ? t->crash : NULL);
	add_ms(out, t->worst_us);
	add_count(out, t->worst_us >= 0 ? t->worst_cpu : -1);
	add_text(out, t->worst_probe);
	add_text(out, t->worst_func);
}

int export_csv(struct strbuf *out, struct run *const *runs, size_t n,
	       const struct export_options *o, struct err *e)
{
	(void)o;
	(void)e;
	strbuf_adds(out, "run,kernel,kernel_label,append,rig,rig_class,scenario,limit_ms,verdict,"
			 "reason,trial,boot,started,valid,missing_evidence,crash,worst_ms,"
			 "worst_cpu,worst_probe,worst_func\r\n");
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < runs[i]->n_trials; k++) {
			add_run(out, runs[i]);
			add_trial(out, runs[i], runs[i]->trials[k]);
			strbuf_adds(out, "\r\n");
		}
		if (!runs[i]->n_trials) {
			add_run(out, runs[i]);
			strbuf_adds(out, ",,,,,,,,,,\r\n");
		}
	}
	return 0;
}
