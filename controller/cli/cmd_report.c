/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_report.c - verdicts out of the store. */
#include "cli/common.h"
#include "dashboard/dashboard.h"
#include "report/export.h"
#include "report/report.h"
#include "report/send.h"
#include "report/text.h"

#include <string.h>
#include <sys/stat.h>

#define SEND_TRIES      5
#define SEND_PAUSE_NS   (2 * NSEC_PER_SEC)
#define SEND_TIMEOUT_NS (60 * NSEC_PER_SEC)
#define RUNS_BY_DEFAULT 20

static const struct opt options[] = {
	{.name = "last",
	 .letter = 'l',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .is_arg_optional = true,
	 .min = 1,
	 .max = 100000,
	 .absent = "1, without any choice of runs 20",
	 .help = "only the newest N runs"},
	{.name = "kernel",
	 .letter = 'k',
	 .type = OPT_KERNEL,
	 .arg = "TEXT",
	 .help = "only runs whose kernel's name or label contains TEXT"},
	{.name = "rig",
	 .letter = 'r',
	 .type = OPT_RIG,
	 .arg = "RIG",
	 .help = "only runs on this rig"},
	{.name = "scenario",
	 .letter = 's',
	 .type = OPT_SCENARIO,
	 .arg = "SCENARIO",
	 .help = "only runs of this scenario"},
	{.name = "run", .type = OPT_TEXT, .arg = "ID", .help = "only this run"},
	OPT_ROW_JSON_FILE,
	{.name = "html",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write a page to FILE, \"-\" for the standard output without the table; a folder, "
		 "or a name with a slash at its end, gets the runs of the overview and the "
		 "newest 500 as the pages of 'stallrig serve'"},
	{.name = "format",
	 .letter = 'f',
	 .type = OPT_CHOICE,
	 .arg = "FORMAT",
	 .choices = export_names,
	 .help = "write the runs in a format that other programs read"},
	{.name = "output",
	 .letter = 'o',
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .absent = "the standard output, without the table",
	 .help = "where --format writes to; the file appears whole or not at all"},
	{.name = "origin",
	 .type = OPT_TEXT,
	 .arg = "NAME",
	 .help = "who submits, for --format=kcidb: a-z, 0-9 and _"},
	{.name = "send",
	 .type = OPT_TEXT,
	 .arg = "URL",
	 .help = "post what --format=kcidb says to URL, as https://db.kernelci.org/submit, with the "
		 "token in $STALLRIG_KCIDB_TOKEN; tried up to 5 times, and sending twice adds nothing"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static void on_send_failed(void *self, const char *text)
{
	auto_free char *line = xasprintf("%s; it is tried again", text);

	progress_stays(self, line);
}

/* The service answers before it has looked at the report: the id that it gives is shown. */
static int send_report(struct cli *cli, const char *url, const struct strbuf *text, struct err *e)
{
	const char *token = getenv("STALLRIG_KCIDB_TOKEN");
	auto_strbuf struct strbuf answer = STRBUF_INIT, line = STRBUF_INIT;
	const struct send_cfg cfg = {
		.url = url,
		.token = token && *token ? token : NULL,
		.tries = SEND_TRIES,
		.pause_ns = SEND_PAUSE_NS,
		.timeout_ns = SEND_TIMEOUT_NS,
		.w = cli->w,
		.failed = on_send_failed,
		.self = cli,
	};
	int r;

	waiter_catch_stop_signals();
	r = send_json(&cfg, text, &answer, e);
	if (r < 0)
		return r;
	text_add_visible(&line, strbuf_str(&answer), answer.len, 200);
	fprintf(cli->log, "stallrig: %s: sent: %s\n", url, strbuf_str(&line));
	return 0;
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* --html DIR: an existing folder, or a name that says so. */
static bool is_folder(const char *path)
{
	struct stat st;
	size_t n = strlen(path);

	return (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static int write_runs(struct cli *cli, const struct args *a, struct run *const *runs, size_t n,
		      struct err *e)
{
	const char *json = args_text(a, "json");
	const char *html = args_text(a, "html");
	const char *format = args_text(a, "format");
	const char *send = args_text(a, "send");
	const char *output = args_has(a, "output") ? args_text(a, "output")
			     : format && !send     ? "-"
						   : NULL;
	struct export_options export = {.origin = args_text(a, "origin")};
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r = 0;

	if (json) {
		report_json(&text, runs, n);
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r >= 0 && html && !is_folder(html)) {
		report_html(&text, runs, n, "stallrig: worst delays");
		r = cli_write(cli, html, &text, e);
		strbuf_reset(&text);
	}
	if (r >= 0 && format) {
		r = export_find(format)->write(&text, runs, n, &export, e);
		/* what is sent is written only where that is asked for */
		if (r >= 0 && send && n)
			r = send_report(cli, send, &text, e);
		if (r >= 0 && (!send || args_has(a, "output")))
			r = cli_write(cli, output, &text, e);
		strbuf_reset(&text);
	}
	if (r < 0 || is_stdout(json) || is_stdout(html) || is_stdout(output))
		return r;
	if (n)
		report_table(&text, runs, n, cli->is_out_tty);
	return cli_write(cli, "-", &text, e);
}

/* The store gives the newest first; a table grows downwards. */
static void reverse(struct run **runs, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct run *r = runs[i];

		runs[i] = runs[n - 1 - i];
		runs[n - 1 - i] = r;
	}
}

static int run_report(struct cli *cli, const struct args *a, struct err *e)
{
	bool has_filter = args_has(a, "kernel") || args_has(a, "rig") || args_has(a, "scenario") ||
			  args_has(a, "run");
	struct store_filter filter = {
		.run_id = args_text(a, "run"),
		.kernel = args_text(a, "kernel"),
		.rig = args_text(a, "rig"),
		.scenario = args_text(a, "scenario"),
		.last = args_has(a, "last") ? args_count(a, "last", 1)
			: has_filter        ? 0
					    : RUNS_BY_DEFAULT,
	};
	bool with_trials = args_has(a, "json") || args_has(a, "html") || args_has(a, "format");
	auto_store struct store *st = NULL;
	struct run **runs = NULL;
	size_t n = 0;
	int r;

	if (args_has(a, "output") && !args_has(a, "format"))
		return err_set(e, ERR_USAGE, EINVAL,
			       "--output says where --format writes to: give "
			       "--format as well");
	if (args_has(a, "send") &&
	    (!args_has(a, "format") || strcmp(args_text(a, "format"), "kcidb") != 0))
		return err_set(e, ERR_USAGE, EINVAL, "--send goes with --format=kcidb only");
	r = cli_store_open(a, STORE_READ, &st, e);
	if (r < 0)
		return r;
	r = store_runs(st, &filter, with_trials, &runs, &n, e);
	if (r < 0)
		return r;
	if (n == 0 && filter.run_id)
		r = err_set(e, ERR_USAGE, ENOENT, "%s: there is no run '%s'", store_location(st),
			    filter.run_id);
	else if (n == 0)
		fprintf(cli->log, "stallrig: %s: no run matches\n", store_location(st));
	reverse(runs, n);
	if (r >= 0)
		r = write_runs(cli, a, runs, n, e);
	if (r >= 0 && args_has(a, "html") && is_folder(args_text(a, "html")))
		r = dashboard_write_site(st, args_text(a, "html"), e);
	for (size_t i = 0; i < n; i++)
		run_free(runs[i]);
	free(runs);
	return r;
}

const struct cmd cmd_report = {
	.name = "report",
	.summary = "Show the verdicts of runs, as table, page, or for other programs",
	.details = "The exit status says whether the report was made, not what the verdicts are.",
	.options = options,
	.run = run_report,
};
