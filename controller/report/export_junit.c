/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_junit.c - JUnit XML as Jenkins, GitLab and their kin read it. */
#include "base/waiter.h"
#include "report/export.h"
#include "report/run_text.h"
#include "report/text.h"

#include <string.h>

/* XML 1.0 has no way to write most control characters: text_add_html() makes them visible. */
static void add_attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	text_add_html(out, text_or_empty(value));
	strbuf_adds(out, "\"");
}

static void add_property(struct strbuf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_adds(out, "      <property");
	add_attribute(out, "name", name);
	add_attribute(out, "value", value);
	strbuf_adds(out, "/>\n");
}

static void add_ms_property(struct strbuf *out, const char *name, int64_t us)
{
	auto_free char *text = us >= 0 ? xasprintf("%.3f", (double)us / 1000) : NULL;

	add_property(out, name, text);
}

static void add_count_property(struct strbuf *out, const char *name, unsigned value)
{
	auto_free char *text = xasprintf("%u", value);

	add_property(out, name, text);
}

static void add_properties(struct strbuf *out, const struct run *r)
{
	const struct judge_result *j = &r->result;

	strbuf_adds(out, "    <properties>\n");
	add_property(out, "run", r->id);
	add_property(out, "verdict", verdict_name(j->verdict));
	add_property(out, "reason", j->reason);
	add_property(out, "strength", j->strength);
	add_property(out, "kernel", r->kernel);
	add_property(out, "kernel_release", r->kernel_release);
	add_property(out, "append", r->append);
	add_property(out, "rig", r->rig);
	add_property(out, "rig_class", r->rig_class);
	add_ms_property(out, "limit_ms", r->limit_us);
	add_ms_property(out, "worst_ms", j->worst_us);
	add_ms_property(out, "p50_ms", j->p50_us);
	add_count_property(out, "valid", j->valid);
	add_count_property(out, "over", j->over);
	add_count_property(out, "invalid", j->invalid);
	add_count_property(out, "crashes", j->crashes);
	strbuf_adds(out, "    </properties>\n");
}

static void add_trials(struct strbuf *out, const struct run *r)
{
	strbuf_adds(out, "      <system-out>");
	for (size_t i = 0; i < r->n_trials; i++) {
		auto_strbuf struct strbuf line = STRBUF_INIT;

		run_text_add_trial_id(&line, r, r->trials[i]);
		strbuf_adds(&line, " ");
		text_add_ms(&line, r->trials[i]->worst_us);
		strbuf_adds(&line, " ");
		run_text_add_trial(&line, r, r->trials[i]);
		text_add_html(out, strbuf_str(&line));
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</system-out>\n");
}

static void add_run(struct strbuf *out, const struct run *r)
{
	enum verdict v = r->result.verdict;
	bool is_error = v != VERDICT_PASS && v != VERDICT_FAIL;
	auto_free char *name = xasprintf(
		"%s on %s: %s", r->scenario, r->rig,
		r->kernel_label && *r->kernel_label ? r->kernel_label : text_or_empty(r->kernel));
	auto_free char *class_name = xasprintf("stallrig.%s.%s", r->scenario, r->rig);
	auto_free char *started = wall_format(r->started_wall_ns);
	auto_free char *seconds = xasprintf(
		"%.3f",
		r->ended_wall_ns ? (double)(r->ended_wall_ns - r->started_wall_ns) / 1e9 : 0);

	strbuf_adds(out, "  <testsuite");
	add_attribute(out, "name", name);
	strbuf_addf(out, " tests=\"1\" failures=\"%d\" errors=\"%d\" skipped=\"0\"",
		    v == VERDICT_FAIL, is_error);
	add_attribute(out, "time", seconds);
	add_attribute(out, "timestamp", started);
	strbuf_adds(out, ">\n");
	add_properties(out, r);
	strbuf_adds(out, "    <testcase name=\"verdict\"");
	add_attribute(out, "classname", class_name);
	add_attribute(out, "time", seconds);
	strbuf_adds(out, ">\n");
	if (v != VERDICT_PASS) {
		auto_strbuf struct strbuf outcome = STRBUF_INIT;

		run_text_add_outcome(&outcome, r);
		strbuf_addf(out, "      <%s", is_error ? "error" : "failure");
		add_attribute(out, "type", r->result.reason);
		add_attribute(out, "message", strbuf_str(&outcome));
		strbuf_addf(out, ">%s</%s>\n", verdict_name(v), is_error ? "error" : "failure");
	}
	add_trials(out, r);
	strbuf_adds(out, "    </testcase>\n  </testsuite>\n");
}

int export_junit(struct strbuf *out, struct run *const *runs, size_t n,
		 const struct export_options *o, struct err *e)
{
	size_t failures = 0, errors = 0;

	(void)o;
	(void)e;
	for (size_t i = 0; i < n; i++) {
		enum verdict v = runs[i]->result.verdict;

		failures += v == VERDICT_FAIL;
		errors += v != VERDICT_PASS && v != VERDICT_FAIL;
	}
	strbuf_addf(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"stallrig\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		n, failures, errors);
	for (size_t i = 0; i < n; i++)
		add_run(out, runs[i]);
	strbuf_adds(out, "</testsuites>\n");
	return 0;
}
