/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_nightly.c - a plan, every night. */
#include "base/service.h"
#include "cli/common.h"
#include "lab/nightly.h"
#include "report/compare_text.h"
#include "report/json_put.h"
#include "report/report.h"
#include "report/text.h"

#include <jansson.h>

#include <string.h>

#define LEASE_S 60

static const struct opt options[] = {
	{.name = "dry-run",
	 .letter = 'n',
	 .type = OPT_FLAG,
	 .help = "show what the plan comes to and how long it should take; change nothing"},
	{.name = "new",
	 .type = OPT_FLAG,
	 .help = "begin a new night even if the last one did not end"},
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write the runs of the night as JSON to FILE, \"-\" for the standard output "
		 "without the table"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

/* ---- --dry-run ---- */

static void add_duration(struct strbuf *out, int64_t s)
{
	if (s < 0)
		strbuf_adds(out, TEXT_UNKNOWN);
	else if (s < 60)
		strbuf_addf(out, "%lld s", (long long)s);
	else if (s < 5400)
		strbuf_addf(out, "%lld min", (long long)(s + 30) / 60);
	else
		strbuf_addf(out, "%.1f h", (double)s / 3600);
}

static void add_cell(struct strbuf *out, const char *text, size_t width, bool is_right)
{
	auto_strbuf struct strbuf visible = STRBUF_INIT;

	text_add_visible(&visible, text, strlen(text), 0);
	text_add_padded(out, strbuf_str(&visible), width, is_right);
	strbuf_adds(out, "  ");
}

/* The widest of the texts and the head. */
struct widths {
	size_t kernel, append, scenario, rig;
};

static void widen(size_t *width, const char *text)
{
	size_t w = text_width(text);

	if (w > *width)
		*width = w;
}

static void add_plan_row(struct strbuf *out, const struct widths *w, const char *kernel,
			 const char *append, const char *scenario, const char *rig,
			 const char *expected, const char *note)
{
	add_cell(out, kernel, w->kernel, false);
	add_cell(out, append, w->append, false);
	add_cell(out, scenario, w->scenario, false);
	add_cell(out, rig, w->rig, false);
	text_add_padded(out, expected, 8, true);
	if (*note) {
		strbuf_adds(out, "  left out: ");
		text_add_visible(out, note, strlen(note), 0);
	}
	strbuf_adds(out, "\n");
}

static void plan_text(struct strbuf *out, const struct plan *p, const struct nightly_list *list)
{
	struct widths w = {
		.kernel = strlen("kernel build"),
		.append = strlen("append"),
		.scenario = strlen("scenario"),
		.rig = strlen("rig"),
	};
	int64_t total_s = 0;
	size_t n_run = 0, n_unknown = 0;

	for (size_t i = 0; i < list->n; i++) {
		widen(&w.kernel, list->items[i].kernel);
		widen(&w.append, list->items[i].append);
		widen(&w.scenario, list->items[i].scenario);
		widen(&w.rig, list->items[i].rig);
	}
	add_plan_row(out, &w, "kernel build", "append", "scenario", "rig", "expected", "");
	for (size_t i = 0; i < list->n; i++) {
		const struct nightly_item *it = &list->items[i];
		auto_strbuf struct strbuf expected = STRBUF_INIT;

		add_duration(&expected, it->expected_s);
		add_plan_row(out, &w, it->kernel, it->append, it->scenario, it->rig,
			     strbuf_str(&expected), text_or_empty(it->left_out));
		if (it->left_out)
			continue;
		n_run++;
		if (it->expected_s < 0)
			n_unknown++;
		else
			total_s += it->expected_s;
	}
	strbuf_addf(out, "%zu %s, ", n_run, n_run == 1 ? "run" : "runs");
	if (n_unknown)
		strbuf_addf(out, "%zu of them never run here before, the others ", n_unknown);
	add_duration(out, total_s);
	strbuf_adds(out, " if one follows the other");
	if (p->budget_minutes) {
		strbuf_adds(out, "; budget ");
		add_duration(out, (int64_t)p->budget_minutes * 60);
	}
	strbuf_adds(out, "\n");
}

static void plan_json(struct strbuf *out, const struct nightly_list *list)
{
	json_t *root = json_object(), *runs = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct nightly_item *it = &list->items[i];
		json_t *obj = json_object();

		set_text(obj, "kernel", it->kernel);
		set_text(obj, "append", it->append);
		set_text(obj, "scenario", it->scenario);
		set_text(obj, "rig", it->rig);
		set_text(obj, "left_out", it->left_out);
		if (it->expected_s >= 0)
			(void)json_object_set_new(obj, "expected_s", json_integer(it->expected_s));
		(void)json_array_append_new(runs, obj);
	}
	(void)json_object_set_new(root, "planned_runs", runs);
	add_json_line(out, root, JSON_COMPACT);
}

static int write_both(struct cli *cli, const char *json_path, const struct strbuf *json,
		      const struct strbuf *text, struct err *e)
{
	if (json_path) {
		int r = cli_write(cli, json_path, json, e);

		if (r < 0 || strcmp(json_path, "-") == 0)
			return r;
	}
	return cli_write(cli, "-", text, e);
}

static int dry_run(struct cli *cli, const struct args *a, const struct plan *p,
		   const struct kernels_ctx *ctx, struct err *e)
{
	auto_nightly_list struct nightly_list list = {0};
	auto_strbuf struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
	auto_store struct store *st = NULL;
	struct err none = {0};
	int r;

	r = cli_store_open(a, STORE_READ, &st, &none);
	if (r < 0 && r != -ENOENT) {
		*e = none;
		return r;
	}
	r = nightly_expand(p, ctx, st, NIGHTLY_DRY, &list, e);
	if (r < 0)
		return r;
	plan_text(&text, p, &list);
	plan_json(&json, &list);
	return write_both(cli, args_text(a, "json"), &json, &text, e);
}

/* ---- a night ---- */

static void on_say(void *self, const char *text)
{
	progress_stays(self, text);
	service_status(text);
}

static void add_comparison(struct strbuf *out, const struct nightly_result *res)
{
	const struct run *r = res->run;

	if (!r) {
		strbuf_addf(out, "not run: ");
		text_add_visible(out, res->job->item, strlen(res->job->item), 0);
		strbuf_addf(out, ": %s", store_job_state_name(res->job->state));
		if (res->job->error) {
			strbuf_adds(out, ": ");
			text_add_visible(out, res->job->error, strlen(res->job->error), 0);
		}
		strbuf_adds(out, "\n");
		return;
	}
	if (!res->baseline && !res->since.run_id)
		return;
	text_add_visible(out, r->kernel_label, strlen(r->kernel_label), 0);
	strbuf_addf(out, " on %s, %s: ", r->rig, r->scenario);
	if (!res->baseline) {
		strbuf_adds(out, "nothing to compare with");
	} else if (res->is_compared) {
		compare_words(&res->change, compare_defaults.confidence, out);
		strbuf_addf(out, " against run %s", res->baseline->id);
	} else if (res->differences) {
		strbuf_addf(out, "not compared with run %s: ", res->baseline->id);
		text_add_visible(out, res->differences, strlen(res->differences), 0);
	} else {
		strbuf_addf(out, "run %s has nothing to compare with", res->baseline->id);
	}
	if (res->since.run_id) {
		strbuf_adds(out, "; ");
		news_since_words(&res->since, wall_now(), out);
	}
	strbuf_adds(out, "\n");
}

static int show_night(struct cli *cli, const struct args *a, const struct nightly_report *report,
		      struct err *e)
{
	auto_free struct run **runs = xcalloc(report->n + 1, sizeof(*runs));
	auto_strbuf struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < report->n; i++)
		if (report->results[i].run)
			runs[n++] = report->results[i].run;
	progress_clear(cli);
	report_json(&json, runs, n);
	if (n)
		report_table(&text, runs, n, cli->is_out_tty);
	strbuf_adds(&text, "\n");
	for (size_t i = 0; i < report->n; i++)
		add_comparison(&text, &report->results[i]);
	for (size_t i = 0; i < report->left_out.n; i++) {
		const struct nightly_item *it = &report->left_out.items[i];

		strbuf_adds(&text, "left out: ");
		text_add_visible(&text, it->name, strlen(it->name), 0);
		strbuf_adds(&text, ": ");
		text_add_visible(&text, it->left_out, strlen(it->left_out), 0);
		strbuf_adds(&text, "\n");
	}
	return write_both(cli, args_text(a, "json"), &json, &text, e);
}

/* What could not be run was not judged, nor is a baseline: a night of that is no PASS. */
static enum verdict heaviest(const struct nightly_report *report)
{
	bool is_nothing_judged = report->n > 0;
	enum verdict v = VERDICT_PASS;

	for (size_t i = 0; i < report->n; i++) {
		const struct nightly_result *res = &report->results[i];
		enum verdict of_run = res->run ? res->run->result.verdict : VERDICT_INCONCLUSIVE;

		if (res->is_baseline)
			continue;
		is_nothing_judged = false;
		if (verdict_weight(of_run) > verdict_weight(v))
			v = of_run;
	}
	for (size_t i = 0; i < report->left_out.n; i++) {
		if (report->left_out.items[i].is_judged)
			is_nothing_judged = false;
		else if (verdict_weight(VERDICT_INCONCLUSIVE) > verdict_weight(v))
			v = VERDICT_INCONCLUSIVE;
	}
	return is_nothing_judged ? VERDICT_INCONCLUSIVE : v;
}

static int run_nightly(struct cli *cli, const struct args *a, struct err *e)
{
	auto_nightly_report struct nightly_report report = {0};
	auto_free char *program = NULL;
	auto_plan struct plan *p = NULL;
	auto_store struct store *st = NULL;
	struct kernels_ctx ctx;
	struct nightly_cfg cfg = {
		.location = cli_store_location(a),
		.kernels = &ctx,
		.lease_s = LEASE_S,
		.starts_anew = args_has(a, "new"),
		.w = cli->w,
		.say = on_say,
		.self = cli,
	};
	int r;

	waiter_catch_stop_signals();
	cli_kernels_ctx(cli, &ctx);
	r = plan_load(a->positional[0], &p, e);
	if (r < 0)
		return r;
	if (args_has(a, "dry-run"))
		return dry_run(cli, a, p, &ctx, e);

	r = service_begin(cli->w, e);
	if (r < 0)
		return r;
	program = realpath("/proc/self/exe", NULL);
	if (!program)
		return err_errno(e, ERR_INTERNAL, errno, "/proc/self/exe");
	r = cli_store_open(a, STORE_WRITE, &st, e);
	if (r < 0)
		return r;
	cfg.plan = p;
	cfg.store = st;
	cfg.program = program;
	service_ready();
	r = nightly_run(&cfg, &report, e);
	service_stopping();
	if (r < 0)
		return r;
	r = show_night(cli, a, &report, e);
	return r < 0 ? r : verdict_exit_code(heaviest(&report));
}

const struct cmd cmd_nightly = {
	.name = "nightly",
	.summary = "Carry a plan out: many kernel builds under many scenarios on many rigs",
	.details =
		"A night that was stopped, in whichever way, goes on with the next call: what "
		"is done stays done. Each run is compared with its baseline, and what changed is "
		"told to the plan's program. The exit status is that of 'run' over all runs; one "
		"that could not be begun counts as INCONCLUSIVE.",
	.positional = {.name = "PLAN", .type = OPT_TEXT, .min = 1, .max = 1},
	.options = options,
	.run = run_nightly,
};
