/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export_openmetrics.c - gauges in the text that Prometheus' own format and OpenMetrics share: base
 * units, no time stamps, few labels. The kernel build is a label of one info series only, so that a
 * new build begins no new series of delays.
 */
#include "report/export.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

/* Of each rig and scenario the newest run that has ended. */
static size_t newest(struct run *const *runs, size_t n, const struct run **ret)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		if (!runs[i]->ended_wall_ns)
			continue;
		while (k < kept && (strcmp(ret[k]->rig, runs[i]->rig) != 0 ||
				    strcmp(ret[k]->scenario, runs[i]->scenario) != 0))
			k++;
		if (k == kept)
			ret[kept++] = runs[i];
		else if (runs[i]->started_wall_ns > ret[k]->started_wall_ns)
			ret[k] = runs[i];
	}
	return kept;
}

static void add_label(struct strbuf *out, const char *name, const char *value)
{
	auto_strbuf struct strbuf clean = STRBUF_INIT;

	text_add_utf8(&clean, text_or_empty(value), strlen(text_or_empty(value)));
	strbuf_addf(out, "%s=\"", name);
	for (const char *c = strbuf_str(&clean); *c; c++) {
		if (*c == '\n')
			strbuf_adds(out, "\\n");
		else if (*c == '"' || *c == '\\')
			strbuf_addf(out, "\\%c", *c);
		else
			strbuf_add(out, c, 1);
	}
	strbuf_adds(out, "\"");
}

static double seconds(int64_t us)
{
	return us < 0 ? NAN : (double)us / 1e6;
}

static double worst(const struct run *r)
{
	return seconds(r->result.worst_us);
}

static double p50(const struct run *r)
{
	return seconds(r->result.p50_us);
}

static double limit(const struct run *r)
{
	return seconds(r->limit_us);
}

static double valid(const struct run *r)
{
	return r->result.valid;
}

static double over(const struct run *r)
{
	return r->result.over;
}

static double ended(const struct run *r)
{
	return (double)r->ended_wall_ns / 1e9;
}

static const struct {
	const char *name, *help;
	double (*value)(const struct run *r); /* NAN = unknown, left out */
} gauges[] = {
	{"stallrig_worst_delay_seconds", "Worst delay of the newest run's valid trials.", worst},
	{"stallrig_median_delay_seconds", "Median over the newest run's valid trials.", p50},
	{"stallrig_limit_seconds", "Delay that a trial may not exceed.", limit},
	{"stallrig_valid_trials", "Valid trials of the newest run.", valid},
	{"stallrig_over_trials", "Trials of the newest run that were over the limit.", over},
	{"stallrig_last_run_timestamp_seconds", "When the newest run ended.", ended},
};

static void add_head(struct strbuf *out, const char *name, const char *help)
{
	strbuf_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void add_place(struct strbuf *out, const char *name, const struct run *r)
{
	strbuf_addf(out, "%s{", name);
	add_label(out, "rig", r->rig);
	strbuf_adds(out, ",");
	add_label(out, "scenario", r->scenario);
}

int export_openmetrics(struct strbuf *out, struct run *const *runs, size_t n,
		       const struct export_options *o, struct err *e)
{
	auto_free const struct run **kept = xcalloc(n ? n : 1, sizeof(*kept));
	size_t n_kept = newest(runs, n, kept);

	(void)o;
	(void)e;
	for (size_t g = 0; g < ARRAY_SIZE(gauges); g++) {
		add_head(out, gauges[g].name, gauges[g].help);
		for (size_t i = 0; i < n_kept; i++) {
			double value = gauges[g].value(kept[i]);

			if (isnan(value))
				continue;
			add_place(out, gauges[g].name, kept[i]);
			strbuf_addf(out, "} %.15g\n", value);
		}
	}
	add_head(out, "stallrig_verdict", "1 for the newest run's verdict, 0 for the others.");
	for (size_t i = 0; i < n_kept; i++)
		for (enum verdict v = 0; v < VERDICT_MAX; v++) {
			add_place(out, "stallrig_verdict", kept[i]);
			strbuf_adds(out, ",");
			add_label(out, "verdict", verdict_name(v));
			strbuf_addf(out, "} %d\n", kept[i]->result.verdict == v);
		}
	add_head(out, "stallrig_last_run_info", "What the newest run was of.");
	for (size_t i = 0; i < n_kept; i++) {
		add_place(out, "stallrig_last_run_info", kept[i]);
		strbuf_adds(out, ",");
		add_label(out, "rig_class", kept[i]->rig_class);
		strbuf_adds(out, ",");
		add_label(out, "kernel", kept[i]->kernel);
		strbuf_adds(out, ",");
		add_label(out, "append", kept[i]->append);
		strbuf_adds(out, ",");
		add_label(out, "run", kept[i]->id);
		strbuf_adds(out, "} 1\n");
	}
	strbuf_adds(out, "# EOF\n");
	return 0;
}
