/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_selftest.c - does each scenario find the failure that it is made for? */
#include "cli/common.h"
#include "cli/run_session.h"
#include "lab/matrix.h"
#include "report/json_put.h"
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

#define COLUMNS 9

static const struct opt options[] = {
	{.name = "mutations",
	 .type = OPT_FLAG,
	 .help = "with kernels that have a failure built in, see 'kernel mutations'; there is no "
		 "other self-test yet"},
	{.name = "mutation",
	 .letter = 'm',
	 .type = OPT_TEXT,
	 .arg = "MUTATION",
	 .is_list = true,
	 .absent = "all that belong to a scenario",
	 .help = "only this mutation"},
	{.name = "scenario",
	 .letter = 's',
	 .type = OPT_SCENARIO,
	 .arg = "SCENARIO",
	 .is_list = true,
	 .absent = "all that a mutation belongs to",
	 .help = "only the mutations of this scenario"},
	{.name = "rig",
	 .letter = 'r',
	 .type = OPT_RIG,
	 .arg = "RIG",
	 .absent = "virtual-x86",
	 .help = "name of the rig, or its YAML file"},
	{.name = "runs",
	 .letter = 'N',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = 1000,
	 .absent = "1",
	 .help = "runs of each kernel; the kernels take turns"},
	{.name = "trials",
	 .letter = 'n',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = 10000,
	 .absent = "the scenario's",
	 .help = "valid trials of a run"},
	{.name = "continue",
	 .type = OPT_FLAG,
	 .help = "count the runs that the store has of the same kernels on a rig of this name, with "
		 "the same scenario file and number of trials, and make only those that lack"},
	{.name = "source",
	 .type = OPT_TEXT,
	 .arg = "SOURCE",
	 .absent = "what the mutation is made for",
	 .help = "another source of the kernels, as in debian:linux-source-6.1"},
	OPT_ROW_JOBS,
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write the matrix as JSON to FILE, \"-\" for the standard output without the "
		 "table"},
	{.name = "markdown",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write the matrix as a table in Markdown to FILE, \"-\" as for --json"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

struct selftest {
	struct cli *cli;
	const struct args *a;
	const struct kernels_ctx *ctx;
	const struct rig_cfg *rig;
	struct store *store;
	struct kernel_mutation_list mutations;
	bool *is_chosen; /* by the row of mutations */
	struct matrix matrix;
	struct run **baselines; /* by the matrix's cells; NULL = none was measured */
};

static void selftest_release(struct selftest *t)
{
	kernel_mutation_list_release(&t->mutations);
	for (size_t i = 0; t->baselines && i < t->matrix.n; i++)
		run_free(t->baselines[i]);
	free(t->baselines);
	matrix_release(&t->matrix);
	free(t->is_chosen);
}

/* ---- what is to be done ---- */

static bool is_in(const struct opt_value *list, const char *word)
{
	for (unsigned i = 0; i < list->n; i++)
		if (strcmp(list->texts[i], word) == 0)
			return true;
	return false;
}

static int check_names(const struct selftest *t, struct err *e)
{
	const struct opt_value *names = args_list(t->a, "mutation");
	const struct opt_value *scenarios = args_list(t->a, "scenario");
	int r = 0;

	for (unsigned i = 0; i < names->n && r >= 0; i++) {
		bool is_known = false;

		for (size_t k = 0; k < t->mutations.n; k++)
			is_known |= strcmp(t->mutations.v[k].name, names->texts[i]) == 0;
		if (!is_known)
			return err_set(e, ERR_USAGE, ENOENT,
				       "mutation '%s' is unknown, see 'stallrig kernel mutations'",
				       names->texts[i]);
	}
	for (unsigned i = 0; i < scenarios->n && r >= 0; i++) {
		auto_scenario struct scenario *sc = NULL;

		r = scenario_load(scenarios->texts[i], &sc, e);
	}
	return r;
}

static int choose(struct selftest *t, struct err *e)
{
	const struct opt_value *names = args_list(t->a, "mutation");
	const struct opt_value *scenarios = args_list(t->a, "scenario");
	size_t n = 0;
	int r;

	r = check_names(t, e);
	if (r < 0)
		return r;
	t->is_chosen = xcalloc(t->mutations.n + 1, sizeof(*t->is_chosen));
	for (size_t i = 0; i < t->mutations.n; i++) {
		const struct kernel_mutation *m = &t->mutations.v[i];

		t->is_chosen[i] = names->n ? is_in(names, m->name) : *m->scenario != '\0';
		if (scenarios->n && !is_in(scenarios, m->scenario))
			t->is_chosen[i] = false;
		n += t->is_chosen[i];
	}
	if (n == 0)
		return err_set(e, ERR_USAGE, ENOENT,
			       "no mutation belongs to what was asked for, see 'stallrig kernel "
			       "mutations'");
	return 0;
}

static struct kernel_mutant_cfg mutant_cfg(const struct selftest *t, size_t i, bool is_mutated)
{
	return (struct kernel_mutant_cfg){
		.mutation = &t->mutations.v[i],
		.is_mutated = is_mutated,
		.source = args_text(t->a, "source"),
		.arch = t->rig->arch,
		.jobs = args_count(t->a, "jobs", 0),
	};
}

/* A kernel that does not build is left out of the store; its cell then says so. */
static int make_kernel(struct selftest *t, const struct kernel_mutant_cfg *cfg, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	nsec_t from_ns = waiter_now(t->cli->w);
	auto_free char *text = NULL;
	int r;

	r = kernel_mutant_ensure(t->ctx, cfg, &k, e);
	if (r < 0 && e->kind == ERR_KERNEL) {
		progress_stays(t->cli, e->text);
		err_clear(e);
		return 0;
	}
	if (r < 0)
		return r;
	text = xasprintf("kernel %s is there after %lld s", k->name,
			 (long long)((waiter_now(t->cli->w) - from_ns) / NSEC_PER_SEC));
	progress_stays(t->cli, text);
	return 0;
}

static int plan(struct selftest *t, struct err *e)
{
	for (size_t i = 0; i < t->mutations.n; i++) {
		const struct kernel_mutation *m = &t->mutations.v[i];
		struct kernel_mutant_cfg cfg = mutant_cfg(t, i, false);
		auto_scenario struct scenario *sc = NULL;
		auto_free char *plain = NULL;
		auto_free char *mutated = NULL;
		int r;

		if (!t->is_chosen[i])
			continue;
		r = kernel_mutant_name(t->ctx, &cfg, &plain, e);
		cfg.is_mutated = true;
		if (r >= 0)
			r = kernel_mutant_name(t->ctx, &cfg, &mutated, e);
		if (r >= 0)
			r = matrix_add(&t->matrix, m, cfg.source ? cfg.source : m->source, plain,
				       mutated, e);
		if (r >= 0 && (r = scenario_load(m->scenario, &sc, e)) < 0)
			(void)err_wrap(e, "mutation '%s'", m->name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_kernels(struct selftest *t, struct err *e)
{
	for (size_t i = 0; i < t->mutations.n; i++) {
		for (int is_mutated = 0; is_mutated <= 1 && t->is_chosen[i]; is_mutated++) {
			const struct kernel_mutant_cfg cfg = mutant_cfg(t, i, is_mutated);
			int r = make_kernel(t, &cfg, e);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- the runs ---- */

static void say_outcome(struct selftest *t, const struct matrix_cell *c, const struct run *run,
			unsigned round)
{
	enum matrix_outcome o = matrix_classify(c, run->result.verdict, run->result.reason);
	auto_free char *text =
		xasprintf("run %u of %s with %s: %s %s, %s", round, c->scenario, c->kernel,
			  verdict_name(run->result.verdict), run->result.reason,
			  o == MATRIX_AS_EXPECTED ? "as expected" : matrix_outcome_name(o));

	progress_stays(t->cli, text);
}

/* trials: 0 = the scenario's. -ENOENT if the kernel did not build. */
static int run_kernel(struct selftest *t, const struct matrix_cell *c, const struct scenario *sc,
		      unsigned trials, const struct run *baseline, struct run **ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	struct runner_cfg cfg = {
		.rig = t->rig,
		.scenario = sc,
		.kernels = t->ctx,
		.append = *c->append ? c->append : NULL,
		.baseline = baseline,
		.trials = trials,
		.w = t->cli->w,
	};
	int r;

	r = kernel_find(t->ctx, c->kernel, t->rig->arch, &k, e);
	if (r < 0)
		return r;
	cfg.kernel = k;
	return run_session(t->cli, t->store, &cfg, true, ret, e);
}

/*
 * What the numbers of a cell are held against, if its scenario demands a share of something: a run
 * of the kernel without the mutation, measured once and not counted.
 */
static int get_baseline(struct selftest *t, const struct matrix_cell *c, const struct scenario *sc,
			const struct run **ret, struct err *e)
{
	struct run **run = &t->baselines[c->plain];
	auto_free char *text = NULL;
	int r;

	*ret = NULL;
	if (!scenario_needs_baseline(sc))
		return 0;
	if (!*run) {
		text = xasprintf("baseline of %s: %s", c->scenario,
				 t->matrix.cells[c->plain].kernel);
		progress_stays(t->cli, text);
		r = run_kernel(t, &t->matrix.cells[c->plain], sc,
			       args_count(t->a, "trials", scenario_baseline_trials(sc)), NULL, run,
			       e);
		if (r < 0)
			return r;
	}
	*ret = *run;
	return 0;
}

/* A run that had nothing to be held against, as each that was a baseline. */
static bool is_without_baseline(const struct run *run)
{
	return strcmp(run->result.reason, "no-baseline") == 0;
}

/* The run that the others are held against is the first with all its trials, read with all its
   numbers. runs: the newest first. */
static int take_baseline(struct selftest *t, size_t cell, const struct matrix_origin *origin,
			 struct run *const *runs, size_t n, struct err *e)
{
	for (size_t i = n; i-- > 0;) {
		const struct run *run = runs[i];

		if (matrix_is_run_of(&t->matrix.cells[cell], origin, run) &&
		    is_without_baseline(run) && run->result.valid >= run->planned_valid)
			return store_find_run(t->store, run->id, &t->baselines[cell], e);
	}
	return 0;
}

/* What the store has of a cell. */
static int count_earlier(struct selftest *t, size_t cell, struct err *e)
{
	struct matrix_cell *c = &t->matrix.cells[cell];
	const struct store_filter filter = {
		.kernel = c->kernel, .rig = t->rig->name, .scenario = c->scenario};
	auto_scenario struct scenario *sc = NULL;
	auto_kernel_build struct kernel_build *k = NULL;
	struct matrix_origin origin = {.rig = t->rig->name};
	struct run **runs = NULL;
	size_t n = 0;
	int r;

	r = kernel_find(t->ctx, c->kernel, t->rig->arch, &k, e);
	if (r == -ENOENT) {
		err_clear(e);
		return 0; /* it did not build */
	}
	if (r >= 0)
		r = scenario_load(c->scenario, &sc, e);
	if (r >= 0)
		r = store_runs(t->store, &filter, false, &runs, &n, e);
	if (r < 0)
		return r;
	origin.scenario_sha256 = sc->sha256;
	origin.image_sha256 = k->image_sha256;
	if (scenario_needs_baseline(sc) && c->plain == cell) {
		origin.trials = args_count(t->a, "trials", scenario_baseline_trials(sc));
		r = take_baseline(t, cell, &origin, runs, n, e);
	}
	origin.trials = args_count(t->a, "trials", sc->trials.valid);
	for (size_t i = n; i-- > 0 && r >= 0;)
		if (matrix_is_run_of(c, &origin, runs[i]) && !is_without_baseline(runs[i]))
			matrix_note(c, runs[i]);
	for (size_t i = 0; i < n; i++)
		run_free(runs[i]);
	free(runs);
	return r;
}

static int run_cell(struct selftest *t, struct matrix_cell *c, unsigned round, struct err *e)
{
	auto_scenario struct scenario *sc = NULL;
	const struct run *baseline = NULL;
	auto_run struct run *run = NULL;
	int r;

	r = scenario_load(c->scenario, &sc, e);
	if (r >= 0)
		r = get_baseline(t, c, sc, &baseline, e);
	if (r >= 0)
		r = run_kernel(t, c, sc, args_count(t->a, "trials", 0), baseline, &run, e);
	if (r == -ENOENT && !run) {
		err_clear(e);
		matrix_note_unbuilt(c);
		return 0;
	}
	if (r < 0)
		return r;
	matrix_note(c, run);
	say_outcome(t, c, run, round);
	return 0;
}

/* The kernels take turns, so that what changes on the host in the meantime meets all of them. */
static int run_rounds(struct selftest *t, struct err *e)
{
	unsigned n = args_count(t->a, "runs", 1);

	t->baselines = xcalloc(t->matrix.n + 1, sizeof(struct run *));
	for (size_t i = 0; i < t->matrix.n && args_has(t->a, "continue"); i++) {
		int r = count_earlier(t, i, e);

		if (r < 0)
			return r;
	}
	for (unsigned round = 1; round <= n; round++)
		for (size_t i = 0; i < t->matrix.n; i++) {
			int r;

			if (matrix_cell_runs(&t->matrix.cells[i]) >= round)
				continue;
			r = run_cell(t, &t->matrix.cells[i], round, e);

			if (r < 0)
				return r;
		}
	return 0;
}

/* ---- what comes out ---- */

static const char *const heads[COLUMNS] = {
	"scenario",   "kernel",           "expected",
	"runs",       "as expected",      "false PASS",
	"false FAIL", "other, undecided", "worst delay of a run"};

static void fill_row(const struct matrix_cell *c, char *ret[COLUMNS])
{
	auto_strbuf struct strbuf worst = STRBUF_INIT;
	auto_strbuf struct strbuf unexpected = STRBUF_INIT;
	const char *source = strncmp(c->source, "debian:", 7) == 0 ? c->source + 7 : c->source;
	unsigned runs = matrix_cell_runs(c);

	text_add_ms(&worst, c->least_worst_us);
	if (c->worst_us != c->least_worst_us) {
		strbuf_adds(&worst, " to ");
		text_add_ms(&worst, c->worst_us);
	}
	ret[0] = xstrdup(c->scenario);
	ret[1] = xasprintf("%s%s%s%s%s", source, *c->mutations ? " + " : "", c->mutations,
			   *c->append ? ", " : "", c->append);
	ret[2] = xasprintf("%s %s", verdict_name(c->expected), c->reason);
	ret[3] = xasprintf("%u (%u trials, %lld s each)", runs, c->n_trials,
			   runs ? (long long)(c->wall_ns / NSEC_PER_SEC / runs) : 0);
	ret[4] = xasprintf("%u", c->n[MATRIX_AS_EXPECTED]);
	ret[5] = xasprintf("%u", c->n[MATRIX_FALSE_PASS]);
	ret[6] = xasprintf("%u", c->n[MATRIX_FALSE_FAIL]);
	matrix_add_unexpected(c, &unexpected);
	ret[7] = xasprintf("%u%s%s", c->n[MATRIX_OTHER_REASON] + c->n[MATRIX_UNDECIDED],
			   unexpected.len ? ": " : "", strbuf_str(&unexpected));
	ret[8] = strbuf_take(&worst);
}

static void add_row(struct strbuf *out, char *const *cells, const size_t *widths, bool is_markdown)
{
	if (is_markdown)
		strbuf_adds(out, "| ");
	for (size_t i = 0; i < COLUMNS; i++) {
		bool is_last = i + 1 == COLUMNS;

		text_add_padded(out, cells[i], is_last && !is_markdown ? 0 : widths[i], false);
		strbuf_adds(out, is_last       ? (is_markdown ? " |\n" : "\n")
				 : is_markdown ? " | "
					       : "  ");
	}
}

static void add_table(struct strbuf *out, const struct matrix *m, bool is_markdown)
{
	char *(*rows)[COLUMNS] = xcalloc(m->n + 1, sizeof(*rows));
	size_t widths[COLUMNS] = {0};

	for (size_t i = 0; i < COLUMNS; i++)
		rows[0][i] = xstrdup(heads[i]);
	for (size_t i = 0; i < m->n; i++)
		fill_row(&m->cells[i], rows[i + 1]);
	for (size_t i = 0; i <= m->n; i++)
		for (size_t k = 0; k < COLUMNS; k++)
			if (text_width(rows[i][k]) > widths[k])
				widths[k] = text_width(rows[i][k]);
	for (size_t i = 0; i <= m->n; i++) {
		add_row(out, rows[i], widths, is_markdown);
		for (size_t k = 0; k < COLUMNS && is_markdown && i == 0; k++)
			strbuf_adds(out, k + 1 == COLUMNS ? "|---|\n" : "|---");
		for (size_t k = 0; k < COLUMNS; k++)
			free(rows[i][k]);
	}
	free(rows);
}

static json_t *cell_value(const struct matrix_cell *c)
{
	json_t *obj = json_object();
	json_t *seen = json_object();

	set_text(obj, "scenario", c->scenario);
	set_text(obj, "kernel", c->kernel);
	set_text(obj, "source", c->source);
	set_text(obj, "mutations", c->mutations);
	set_text(obj, "append", c->append);
	set_text(obj, "expected_verdict", verdict_name(c->expected));
	set_text(obj, "expected_reason", c->reason);
	set_count(obj, "runs", matrix_cell_runs(c));
	for (int i = 0; i < MATRIX_OUTCOME_MAX; i++)
		set_count(obj, matrix_outcome_name((enum matrix_outcome)i), c->n[i]);
	for (size_t i = 0; i < c->n_seen; i++)
		set_count(seen, c->seen[i].what, c->seen[i].n);
	set(obj, "seen", seen);
	set_count(obj, "valid_trials", c->n_trials);
	if (c->worst_us >= 0) {
		set(obj, "worst_us", json_integer(c->worst_us));
		set(obj, "least_worst_us", json_integer(c->least_worst_us));
	}
	set(obj, "wall_ms", json_integer(c->wall_ns / NSEC_PER_MSEC));
	return obj;
}

static int write_json(const struct selftest *t, const char *path, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	json_t *cells = json_array();
	json_t *root = json_object();

	set_text(root, "verdict", verdict_name(matrix_verdict(&t->matrix)));
	set_text(root, "rig", t->rig->name);
	set_text(root, "arch", t->rig->arch);
	for (size_t i = 0; i < t->matrix.n; i++)
		append(cells, cell_value(&t->matrix.cells[i]));
	set(root, "cells", cells);
	add_json_line(&text, root, JSON_INDENT(2));
	return cli_write(t->cli, path, &text, e);
}

static int show(const struct selftest *t, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *json = args_text(t->a, "json");
	const char *markdown = args_text(t->a, "markdown");
	int r = 0;

	progress_clear(t->cli);
	if (t->matrix.n == 0)
		return 0;
	if (json)
		r = write_json(t, json, e);
	if (r >= 0 && markdown) {
		add_table(&text, &t->matrix, true);
		r = cli_write(t->cli, markdown, &text, e);
		strbuf_reset(&text);
	}
	if (r < 0 || (json && strcmp(json, "-") == 0) || (markdown && strcmp(markdown, "-") == 0))
		return r;
	add_table(&text, &t->matrix, false);
	strbuf_addf(&text, "\n%s\n", verdict_name(matrix_verdict(&t->matrix)));
	return cli_write(t->cli, "-", &text, e);
}

static int test_mutations(struct selftest *t, struct err *e)
{
	struct err late = {0};
	int shown;
	int r;

	r = kernel_mutations(&t->mutations, e);
	if (r >= 0)
		r = choose(t, e);
	if (r >= 0)
		r = plan(t, e);
	if (r >= 0)
		r = make_kernels(t, e);
	if (r >= 0)
		r = cli_store_open(t->a, STORE_WRITE, &t->store, e);
	if (r < 0)
		return r;
	r = run_rounds(t, e);
	/* what was done is shown also if something went wrong then */
	shown = show(t, &late);
	if (r >= 0 && shown < 0) {
		*e = late;
		r = shown;
	}
	return r < 0 ? r : verdict_exit_code(matrix_verdict(&t->matrix));
}

static int run_selftest(struct cli *cli, const struct args *a, struct err *e)
{
	auto_rig_cfg struct rig_cfg *rig = NULL;
	const char *rig_name = args_text(a, "rig");
	struct kernels_ctx ctx;
	struct selftest t = {.cli = cli, .a = a, .ctx = &ctx};
	int r;

	if (!args_has(a, "mutations"))
		return err_set(e, ERR_USAGE, EINVAL,
			       "'selftest': what is to be tested? There is --mutations");
	waiter_catch_stop_signals();
	cli_kernels_ctx(cli, &ctx);
	r = rig_cfg_load(rig_name ? rig_name : "virtual-x86", &rig, e);
	if (r < 0)
		return r;
	t.rig = rig;
	r = test_mutations(&t, e);
	store_close(t.store);
	selftest_release(&t);
	return r;
}

const struct cmd cmd_selftest = {
	.name = "selftest",
	.summary = "Show that each scenario finds the failure that it is made for",
	.details =
		"With --mutations, kernels are built that have a failure mechanism put in by a "
		"small edit, and the same ones without it; each runs the scenario that the "
		"mutation belongs to. Prints the detection matrix. The exit status is 0 if every "
		"run gave the verdict and the reason that was expected, 1 if one gave a false PASS, "
		"a false FAIL or another reason, and 125 if one decided nothing. Kernels are built "
		"once and kept in the kernel store. Where a scenario limits a share of a baseline, "
		"that is one more run of the kernel without the mutation.",
	.options = options,
	.run = run_selftest,
};
