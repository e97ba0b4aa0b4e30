/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_queue.c - jobs for the workers of a lab: put into the queue, looked at, cancelled. */
#include "base/parse.h"
#include "cli/common.h"
#include "lab/worker.h"
#include "report/json.h"
#include "report/json_put.h"
#include "report/text.h"
#include "trial/rejudge.h"

#include <jansson.h>

#include <string.h>

#define PRIORITY_BY_DEFAULT 100
#define ATTEMPTS_BY_DEFAULT 3
#define ENDED_BY_DEFAULT    20

/* ---- submit ---- */

static const struct opt submit_options[] = {
	{.name = "scenario",
	 .letter = 's',
	 .type = OPT_SCENARIO,
	 .arg = "SCENARIO",
	 .help = "name of the scenario"},
	{.name = "kernel",
	 .letter = 'k',
	 .type = OPT_KERNEL,
	 .arg = "KERNEL",
	 .is_list = true,
	 .help = "a build in the kernel store of the rig's host, or a series as in debian:6.1; one "
		 "job for each"},
	{.name = "rig",
	 .letter = 'r',
	 .type = OPT_RIG,
	 .arg = "RIG",
	 .absent = "any that is free",
	 .help = "on this rig only"},
	OPT_ROW_APPEND,
	OPT_ROW_TRIALS,
	OPT_ROW_BOOTS,
	{.name = "baseline",
	 .type = OPT_KERNEL,
	 .arg = "BUILD",
	 .help = "hold the numbers against the newest run of this build on the same rig, where the "
		 "scenario limits shares of a baseline"},
	{.name = "replay",
	 .type = OPT_DIR,
	 .arg = "FOLDER",
	 .is_list = true,
	 .help = "judge this recorded run again instead; needs no rig"},
	{.name = "priority",
	 .letter = 'p',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 0,
	 .max = 1000,
	 .absent = "100",
	 .help = "the highest goes first"},
	{.name = "attempts",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = 100,
	 .absent = "3",
	 .help = "how often it is tried when the rig or the worker fails"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int check_submit(const struct args *a, struct err *e)
{
	bool is_replay = args_has(a, "replay");

	if (is_replay &&
	    (args_has(a, "kernel") || args_has(a, "scenario") || args_has(a, "baseline")))
		return err_set(
			e, ERR_USAGE, EINVAL,
			"'submit': --replay goes with none of --kernel, --scenario, --baseline");
	if (!is_replay && !args_has(a, "scenario"))
		return err_set(e, ERR_USAGE, EINVAL, "'submit' needs --scenario or --replay");
	if (!is_replay && !args_has(a, "kernel"))
		return err_set(e, ERR_USAGE, EINVAL, "'submit' needs --kernel or --replay");
	if (args_has(a, "baseline") && strchr(args_text(a, "baseline"), ':'))
		return err_set(e, ERR_USAGE, EINVAL,
			       "'submit': --baseline: '%s' is a series, not a build",
			       args_text(a, "baseline"));
	for (unsigned i = 0; is_replay && i < args_list(a, "replay")->n; i++)
		if (!rejudge_is_run(args_list(a, "replay")->texts[i]))
			return err_set(e, ERR_USAGE, ENOENT,
				       "'submit': --replay: '%s' is no recorded run (no run.json)",
				       args_list(a, "replay")->texts[i]);
	return 0;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static struct store_job *make_job(const struct args *a, const char *what)
{
	struct store_job *j = xcalloc(1, sizeof(*j));
	char who[256];

	lab_who(who, sizeof(who));
	j->submitted_by = xstrdup(who);
	j->priority = args_count(a, "priority", PRIORITY_BY_DEFAULT);
	j->attempts_max = args_count(a, "attempts", ATTEMPTS_BY_DEFAULT);
	j->rig = copy(args_text(a, "rig"));
	j->append = copy(args_text(a, "append"));
	j->trials = args_count(a, "trials", 0);
	j->boots = args_count(a, "boots", 0);
	if (args_has(a, "replay")) {
		/* a worker has another working folder */
		auto_free char *path = realpath(what, NULL);

		j->kind = xstrdup("replay");
		j->parameters = lab_job_parameter("folder", path ? path : what);
	} else {
		j->kind = xstrdup("run");
		j->scenario = xstrdup(args_text(a, "scenario"));
		j->kernel = xstrdup(what);
		if (args_has(a, "baseline"))
			j->parameters = lab_job_parameter("baseline", args_text(a, "baseline"));
	}
	return j;
}

static int run_submit(struct cli *cli, const struct args *a, struct err *e)
{
	const struct opt_value *list = args_list(a, args_has(a, "replay") ? "replay" : "kernel");
	auto_store struct store *st = NULL;
	struct store_job *jobs[OPT_LIST_MAX] = {NULL};
	int64_t numbers[OPT_LIST_MAX];
	int r;

	r = check_submit(a, e);
	if (r >= 0)
		r = cli_store_open(a, STORE_WRITE, &st, e);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < list->n; i++)
		jobs[i] = make_job(a, list->texts[i]);
	r = store_jobs_submit(st, (const struct store_job *const *)jobs, list->n, numbers, e);
	for (unsigned i = 0; i < list->n; i++) {
		if (r >= 0)
			fprintf(cli->out, "%lld\n", (long long)numbers[i]);
		store_job_free(jobs[i]);
	}
	return r;
}

const struct cmd cmd_submit = {
	.name = "submit",
	.summary = "Put jobs into the queue of a lab",
	.details = "Prints the number of each job. Workers that share the store take them; "
		   "'stallrig queue' shows what becomes of them.",
	.options = submit_options,
	.run = run_submit,
};

/* ---- queue ---- */

static const struct opt queue_options[] = {
	{.name = "all",
	 .letter = 'a',
	 .type = OPT_FLAG,
	 .help = "also the jobs that have ended, the newest first"},
	{.name = "last",
	 .letter = 'l',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = 1000000,
	 .absent = "all that are open, with --all 20",
	 .help = "at most N jobs"},
	{.name = "rig",
	 .letter = 'r',
	 .type = OPT_RIG,
	 .arg = "RIG",
	 .help = "only jobs for this rig"},
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write them as JSON to FILE, \"-\" for the standard output without the table"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

/* {"<key>": [objects]} as text. Takes list over. */
static void add_json(struct strbuf *out, const char *key, json_t *list)
{
	json_t *root = json_object();

	set(root, key, list);
	add_json_line(out, root, JSON_INDENT(1));
}

static const struct {
	const char *title;
	size_t width;
	bool is_right;
} queue_columns[] = {
	{"job", 7, true},        {"", 1, false},        {"state", 10, false}, {"rig", 16, false},
	{"scenario", 18, false}, {"kernel", 24, false}, {"try", 6, false},    {"since", 21, false},
};

static void add_cells(struct strbuf *out, const char *const *cells, const char *rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(queue_columns); i++)
		text_add_padded(out, cells[i], queue_columns[i].width, queue_columns[i].is_right);
	strbuf_addf(out, "%s\n", rest);
}

static void add_job_row(struct strbuf *out, const struct store_job *j)
{
	int64_t since_ns = j->ended_wall_ns                ? j->ended_wall_ns
			   : j->state == STORE_JOB_RUNNING ? j->started_wall_ns
							   : j->submitted_wall_ns;
	auto_free char *number = xasprintf("%lld", (long long)j->job);
	auto_free char *tries = xasprintf("%u/%u", j->attempts, j->attempts_max);
	auto_free char *since = wall_format(since_ns);
	auto_strbuf struct strbuf rest = STRBUF_INIT;
	const char *rig = j->on_rig ? j->on_rig : j->rig;
	const char *cells[] = {number,
			       "",
			       j->is_cancel_wanted && j->state == STORE_JOB_RUNNING
				       ? "cancelling"
				       : store_job_state_name(j->state),
			       rig ? rig : "any",
			       *j->scenario ? j->scenario : j->kind,
			       *j->kernel ? j->kernel : "-",
			       tries,
			       since};
	const char *said = j->verdict ? j->verdict : j->error;

	if (said)
		text_add_visible(&rest, said, strlen(said), 60);
	add_cells(out, cells, strbuf_str(&rest));
}

static void add_queue_table(struct strbuf *out, struct store_job *const *jobs, size_t n)
{
	const char *titles[ARRAY_SIZE(queue_columns)];

	for (size_t i = 0; i < ARRAY_SIZE(queue_columns); i++)
		titles[i] = queue_columns[i].title;
	if (n)
		add_cells(out, titles, "result");
	for (size_t i = 0; i < n; i++)
		add_job_row(out, jobs[i]);
}

static int run_queue(struct cli *cli, const struct args *a, struct err *e)
{
	bool is_all = args_has(a, "all");
	struct store_job_filter filter = {
		.rig = args_text(a, "rig"),
		.only_open = !is_all,
		.last = args_count(a, "last", is_all ? ENDED_BY_DEFAULT : 0),
	};
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_store struct store *st = NULL;
	struct store_job **jobs = NULL;
	size_t n = 0;
	int r;

	r = cli_store_open(a, STORE_READ, &st, e);
	if (r >= 0)
		r = store_jobs(st, &filter, &jobs, &n, e);
	if (r < 0)
		return r;
	if (json) {
		json_t *list = json_array();

		for (size_t i = 0; i < n; i++)
			(void)json_array_append_new(list, report_job_value(jobs[i]));
		add_json(&text, "jobs", list);
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r >= 0 && (!json || strcmp(json, "-") != 0)) {
		add_queue_table(&text, jobs, n);
		if (n == 0)
			fprintf(cli->log, "stallrig: %s: no job %s\n", store_location(st),
				is_all ? "is there" : "waits or runs");
		r = cli_write(cli, "-", &text, e);
	}
	store_jobs_free(jobs, n);
	return r;
}

const struct cmd cmd_queue = {
	.name = "queue",
	.summary = "Show the jobs of a lab: what runs, what waits, what became of it",
	.options = queue_options,
	.run = run_queue,
};

/* ---- cancel ---- */

static const struct opt cancel_options[] = {
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int run_cancel(struct cli *cli, const struct args *a, struct err *e)
{
	auto_store struct store *st = NULL;
	int r;

	r = cli_store_open(a, STORE_WRITE, &st, e);
	for (size_t i = 0; r >= 0 && i < a->n_positional; i++) {
		uint64_t job;

		r = parse_u64("job", a->positional[i], 1, INT64_MAX, &job, e);
		if (r >= 0)
			r = store_job_cancel(st, (int64_t)job, e);
		if (r >= 0)
			fprintf(cli->out, "job %s: %s\n", a->positional[i],
				r ? "its worker ends it" : "cancelled");
	}
	return r < 0 ? r : 0;
}

const struct cmd cmd_cancel = {
	.name = "cancel",
	.summary = "Take jobs out of the queue, or end them",
	.details = "A job that runs is ended by its worker with its next sign of life.",
	.positional = {.name = "JOB", .type = OPT_TEXT, .min = 1, .max = 1000},
	.options = cancel_options,
	.run = run_cancel,
};

/* ---- job run ---- */

static const struct opt job_run_options[] = {
	{.name = "as",
	 .type = OPT_TEXT,
	 .arg = "WORKER",
	 .is_required = true,
	 .help = "the worker that holds the job"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static void job_say(void *self, const char *text)
{
	progress_now(self, text);
}

static int find_held(struct store *st, const char *text, const char *worker, struct store_job **ret,
		     struct err *e)
{
	struct store_job_filter filter = {0};
	struct store_job **jobs = NULL;
	uint64_t job;
	size_t n = 0;
	int r;

	r = parse_u64("job", text, 1, INT64_MAX, &job, e);
	if (r < 0)
		return r;
	filter.job = (int64_t)job;
	r = store_jobs(st, &filter, &jobs, &n, e);
	if (r < 0)
		return r;
	if (n == 0)
		r = err_set(e, ERR_USAGE, ENOENT, "there is no job %s", text);
	else if (jobs[0]->state != STORE_JOB_RUNNING || !jobs[0]->worker ||
		 strcmp(jobs[0]->worker, worker) != 0)
		r = err_set(e, ERR_USAGE, ESTALE, "job %s is not held by worker '%s'", text,
			    worker);
	else
		*ret = take(jobs[0]);
	if (n)
		store_job_free(jobs[0]);
	free(jobs);
	return r;
}

static int run_job_run(struct cli *cli, const struct args *a, struct err *e)
{
	const struct lab_hooks hooks = {.say = job_say, .self = cli};
	auto_store_job struct store_job *j = NULL;
	auto_store struct store *st = NULL;
	enum store_job_state state = STORE_JOB_DONE;
	int r;

	waiter_catch_stop_signals();
	r = cli_store_open(a, STORE_WRITE, &st, e);
	if (r >= 0)
		r = find_held(st, a->positional[0], args_text(a, "as"), &j, e);
	if (r >= 0)
		r = lab_job_run(st, args_text(a, "as"), j, cli->w, &hooks, &state, e);
	return r;
}

const struct cmd cmd_job_run = {
	.name = "job run",
	.summary = "Do a job that a worker holds; workers start this",
	.details = "The exit status says whether the job was ended in the queue, not its verdict.",
	.positional = {.name = "JOB", .type = OPT_TEXT, .min = 1, .max = 1},
	.options = job_run_options,
	.run = run_job_run,
};
