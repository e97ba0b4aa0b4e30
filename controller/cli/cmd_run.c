/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_run.c - runs a scenario on a rig with kernel builds and keeps what comes out. */
#include "base/fdio.h"
#include "cli/common.h"
#include "cli/run_session.h"
#include "report/pstore_text.h"
#include "report/report.h"
#include "report/text.h"
#include "trial/runner.h"

#include <ctype.h>
#include <string.h>

#define APPEND_MAX 1024 /* the kernel's own limit is 2048 with all else */

static const struct opt options[] = {
	OPT_ROW_RIG,
	OPT_ROW_SCENARIO,
	{.name = "kernel",
	 .letter = 'k',
	 .type = OPT_KERNEL,
	 .arg = "KERNEL",
	 .is_required = true,
	 .is_list = true,
	 .help = "a build in the kernel store, or a series as in debian:6.1"},
	{.name = "baseline",
	 .type = OPT_KERNEL,
	 .arg = "KERNEL",
	 .help = "measure this build first and hold the numbers of the others against it, where the "
		 "scenario has limits on that"},
	{.name = "against",
	 .type = OPT_TEXT,
	 .arg = "RUN",
	 .help = "hold the numbers against this run of the store, which is not repeated then"},
	OPT_ROW_APPEND,
	OPT_ROW_TRIALS,
	OPT_ROW_BOOTS,
	{.name = "waivers",
	 .letter = 'w',
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "incidents that do not condemn the kernel, each with a reason (YAML, as for judge); "
		 "kept with the recordings"},
	OPT_ROW_JSON_FILE,
	OPT_ROW_STORE,
	OPT_ROW_FAULTS,
	{.name = "keep-going",
	 .type = OPT_FLAG,
	 .help = "go on with the next kernel after a RIG-FAULT"},
	OPT_ROW_NO_WAIT_HOUR,
	OPT_ROW_END,
};

/* One invocation of the command. */
struct session {
	struct cli *cli;
	struct store *store;
	struct run *runs[OPT_LIST_MAX + 1]; /* owned */
	size_t n_runs;
	const struct run *baseline; /* one of runs, or of the store; NULL = none */
};

static void session_release(struct session *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		run_free(s->runs[i]);
}

static enum verdict heaviest(const struct session *s)
{
	enum verdict v = VERDICT_PASS;

	for (size_t i = 0; i < s->n_runs; i++)
		/* a baseline has no verdict of its own: without one the others are INCONCLUSIVE */
		if (s->runs[i] != s->baseline &&
		    verdict_weight(s->runs[i]->result.verdict) > verdict_weight(v))
			v = s->runs[i]->result.verdict;
	return v;
}

static void add_pstore(struct strbuf *text, const struct run *run)
{
	auto_strbuf struct strbuf counts = STRBUF_INIT;
	auto_pstore struct pstore p = {0};
	struct err e = {0};

	if (pstore_of_run(run, &p, &e) < 0)
		fact_add(text, "pstore", "%s", e.text);
	pstore_text_add_counts(&counts, &p);
	if (counts.len)
		fact_add(text, "pstore", "%s", strbuf_str(&counts));
	for (size_t i = 0; i < p.n_notes; i++)
		fact_add(text, "pstore", "%s", p.notes[i]);
}

static int show_end(struct session *s, const struct args *a, struct err *e)
{
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r = 0;

	progress_clear(s->cli);
	if (s->n_runs == 0)
		return 0;
	if (json) {
		report_json(&text, s->runs, s->n_runs);
		r = cli_write(s->cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r < 0 || (json && strcmp(json, "-") == 0))
		return r;
	report_table(&text, s->runs, s->n_runs, s->cli->is_out_tty);
	strbuf_adds(&text, "\n");
	fact_add(&text, "store", "%s", store_location(s->store));
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct run *r_ = s->runs[i];

		if (r_->n_boots && r_->boots[0].recording) {
			const char *path = r_->boots[0].recording;
			const char *slash = strrchr(path, '/');

			fact_add(&text, "recordings", "%.*s", slash ? (int)(slash - path) : 0,
				 path);
		}
		add_pstore(&text, r_);
		if (r_->n_trials)
			fact_add(&text, "details", "stallrig show %s.%u", r_->id,
				 r_->trials[r_->n_trials - 1]->number);
	}
	return cli_write(s->cli, "-", &text, e);
}

static int check_append(const char *append, struct err *e)
{
	if (!append)
		return 0;
	if (strlen(append) > APPEND_MAX)
		return err_set(e, ERR_USAGE, E2BIG, "'run': --append: longer than %d bytes",
			       APPEND_MAX);
	for (const char *p = append; *p; p++)
		if (!isprint((unsigned char)*p))
			return err_set(e, ERR_USAGE, EINVAL,
				       "'run': --append: byte %zu is not printable ASCII",
				       (size_t)(p - append) + 1);
	return 0;
}

/* A series ("debian:6.1") means the rig's arch; a name is what it is. */
static int find_kernels(const struct kernels_ctx *ctx, const struct opt_value *specs,
			const char *arch, struct kernel_list *ret, struct err *e)
{
	ret->builds = xcalloc(specs->n, sizeof(*ret->builds));
	for (unsigned i = 0; i < specs->n; i++) {
		bool is_series = strchr(specs->texts[i], ':') != NULL;
		int r;

		r = kernel_find(ctx, specs->texts[i], is_series ? arch : NULL, &ret->builds[i], e);
		if (r == -ENOENT && is_series) {
			auto_free char *text = xstrdup(e->text);

			return err_set(e, e->kind, ENOENT,
				       "%s; 'stallrig kernel fetch %s --arch %s' gets it", text,
				       specs->texts[i], arch);
		}
		if (r < 0)
			return r;
		ret->n++;
	}
	return 0;
}

static int run_kernels(struct session *s, const struct args *a, struct runner_cfg *cfg,
		       const struct kernel_list *kernels, struct err *e)
{
	for (size_t i = 0; i < kernels->n; i++) {
		struct run *run = NULL;
		int r;

		cfg->kernel = kernels->builds[i];
		r = cli_rig_await(s->cli, s->store, args_text(a, "rig"), !args_has(a, "no-wait"),
				  e);
		if (r < 0)
			return r;
		r = run_session(s->cli, s->store, cfg, !args_has(a, "no-wait"), &run, e);
		if (run)
			s->runs[s->n_runs++] = run;
		if (r < 0)
			return r;
		if (run && run->result.verdict == VERDICT_RIG_FAULT && !args_has(a, "keep-going"))
			break;
	}
	return 0;
}

/* Measures the baseline, or finds it in the store; *ret_stored is the caller's then. */
static int get_baseline(struct session *s, const struct args *a, struct runner_cfg *cfg,
			const struct kernel_list *kernel, struct run **ret_stored, struct err *e)
{
	const char *id = args_text(a, "against");
	int r;

	if (kernel->n) {
		const unsigned trials = cfg->trials;

		if (!trials)
			cfg->trials = scenario_baseline_trials(cfg->scenario);
		r = run_kernels(s, a, cfg, kernel, e);
		cfg->trials = trials;
		s->baseline = s->n_runs ? s->runs[0] : NULL;
		cfg->baseline = s->baseline;
		return r;
	}
	if (!id)
		return 0;
	r = store_find_run(s->store, id, ret_stored, e);
	if (r < 0)
		return r;
	if (!*ret_stored)
		return err_set(e, ERR_USAGE, ENOENT, "%s: there is no run '%s'",
			       store_location(s->store), id);
	cfg->baseline = *ret_stored;
	return 0;
}

/* A baseline is for numbers, and comes from one place. */
static int check_baseline(const struct args *a, const struct scenario *sc, struct err *e)
{
	if (args_has(a, "baseline") && args_has(a, "against"))
		return err_set(e, ERR_USAGE, EINVAL,
			       "'run': --baseline and --against exclude each other");
	if ((args_has(a, "baseline") || args_has(a, "against")) && !scenario_needs_baseline(sc))
		return err_set(e, ERR_USAGE, EINVAL,
			       "'run': scenario '%s' has no limit that needs a baseline", sc->name);
	return 0;
}

static int run_run(struct cli *cli, const struct args *a, struct err *e)
{
	__attribute__((cleanup(session_release))) struct session s = {.cli = cli};
	auto_scenario struct scenario *scenario = NULL;
	auto_rig_cfg struct rig_cfg *rig = NULL;
	auto_waivers struct waivers *waivers = NULL;
	auto_store struct store *store = NULL;
	struct kernel_list kernels = {0};
	struct kernel_list baseline = {0};
	auto_run struct run *stored = NULL;
	struct kernels_ctx ctx;
	struct err late = {0};
	struct runner_cfg cfg = {
		.kernels = &ctx,
		.append = args_text(a, "append"),
		.trials = args_count(a, "trials", 0),
		.waivers_path = args_text(a, "waivers"),
		.faults = args_text(a, "faults"),
		.w = cli->w,
	};
	int shown;
	int r;

	waiter_catch_stop_signals();
	cli_kernels_ctx(cli, &ctx);
	r = check_append(cfg.append, e);
	if (r < 0)
		return r;
	r = rig_cfg_load(args_text(a, "rig"), &rig, e);
	if (r < 0)
		return r;
	r = scenario_load(args_text(a, "scenario"), &scenario, e);
	if (r < 0)
		return r;
	if (cfg.waivers_path) {
		r = waivers_load(cfg.waivers_path, &waivers, e);
		if (r < 0)
			return r;
	}
	cfg.rig = rig;
	cfg.scenario = scenario;
	cfg.waivers = waivers;
	r = check_baseline(a, scenario, e);
	if (r < 0)
		return r;
	if (args_has(a, "boots")) {
		unsigned trials = cfg.trials ? cfg.trials : scenario->trials.valid;
		unsigned boots = args_count(a, "boots", 1);

		cfg.per_boot = (trials + boots - 1) / boots;
	}
	/* the store last: a command line that is wrong leaves nothing behind */
	r = find_kernels(&ctx, args_list(a, "kernel"), rig->arch, &kernels, e);
	if (r >= 0 && args_has(a, "baseline"))
		r = find_kernels(&ctx, args_list(a, "baseline"), rig->arch, &baseline, e);
	if (r >= 0)
		r = cli_store_open(a, STORE_WRITE, &store, e);
	s.store = store;
	if (r >= 0)
		r = get_baseline(&s, a, &cfg, &baseline, &stored, e);
	if (r >= 0)
		r = run_kernels(&s, a, &cfg, &kernels, e);
	kernel_list_release(&kernels);
	kernel_list_release(&baseline);

	/* what was done is shown also if something went wrong then */
	shown = show_end(&s, a, &late);
	if (r >= 0 && shown < 0) {
		*e = late;
		r = shown;
	}
	return r < 0 ? r : verdict_exit_code(heaviest(&s));
}

const struct cmd cmd_run = {
	.name = "run",
	.summary = "Run a scenario on a rig with a kernel and give the verdict",
	.details =
		"Results land in the store trial by trial; each byte of the console is recorded. "
		"The exit status is the verdict's: 0 PASS, 1 FAIL, 125 INCONCLUSIVE or "
		"UNTESTABLE, 130 RIG-FAULT. Of several kernels the worst one counts.",
	.options = options,
	.run = run_run,
};
