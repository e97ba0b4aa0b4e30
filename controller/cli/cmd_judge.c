/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_judge.c - judges a console log from anywhere. */
#include "cli/common.h"
#include "cli/log_source.h"
#include "report/report.h"
#include "trial/rejudge.h"
#include "trial/scenario.h"
#include "trial/waivers.h"

#define DEFAULT_LIMIT_MS       50
#define DEFAULT_ATTRIBUTION_MS 1000

static const struct opt options[] = {
	{.name = "scenario",
	 .letter = 's',
	 .type = OPT_SCENARIO,
	 .arg = "SCENARIO",
	 .help = "take limit, probes and attribution window from this scenario"},
	{.name = "limit-ms",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = 600000,
	 .absent = "the scenario's, else 50",
	 .help = "a longer delay is over the limit"},
	{.name = "waivers",
	 .letter = 'w',
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "incidents that do not count, each with a reason (YAML)"},
	{.name = "baud",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 300,
	 .max = 4000000,
	 .absent = "not looked at",
	 .help = "rate of the serial line: show how busy it was during each delay; a delay over the "
		 "limit that sending alone may have made condemns nobody"},
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write the result as JSON to FILE, \"-\" for the standard output without the text; "
		 "with --follow an object a line"},
	{.name = "follow",
	 .letter = 'f',
	 .type = OPT_FLAG,
	 .help = "go on reading as the one FILE grows and print events as they come"},
	{.name = "run",
	 .type = OPT_TEXT,
	 .arg = "RUN",
	 .help = "judge this run again instead of a FILE; what another host of the lab recorded is "
		 "fetched first, if it was kept"},
	OPT_ROW_STORE,
	{.name = "quiet", .letter = 'q', .type = OPT_FLAG, .help = "only the exit status"},
	OPT_ROW_END,
};

struct follow {
	struct cli *cli;
	bool is_json;
	bool is_quiet;
};

static void on_event(void *self, const struct console_event *ev)
{
	struct follow *f = self;
	auto_strbuf struct strbuf line = STRBUF_INIT;

	if (f->is_quiet)
		return;
	if (f->is_json)
		console_event_json(&line, ev);
	else
		console_event_text(&line, ev);
	fputs(strbuf_str(&line), f->cli->out);
}

static void after_each(void *self)
{
	struct follow *f = self;

	(void)fflush(f->cli->out);
}

/* sc may be NULL: then what suits most logs. */
static void make_cfg(const struct args *a, const struct scenario *sc, struct console_log_cfg *ret)
{
	static const char *const default_probes[] = {"normal"};
	uint32_t limit_ms = sc ? sc->limit.max_ms : DEFAULT_LIMIT_MS;

	ret->limit_us = (int64_t)args_count(a, "limit-ms", limit_ms) * 1000;
	ret->attribution_us =
		(int64_t)(sc ? sc->window.attribution_ms : DEFAULT_ATTRIBUTION_MS) * 1000;
	ret->probes = sc ? (const char *const *)sc->probe.count : default_probes;
	ret->baud = (int64_t)args_count(a, "baud", 0);
	ret->n_probes = sc ? sc->probe.count_count : ARRAY_SIZE(default_probes);
}

static int show(struct cli *cli, const struct args *a, const struct console_log *log, struct err *e)
{
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r = 0;

	if (json) {
		console_log_json(&text, log);
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r < 0 || args_has(a, "quiet") || (json && json[0] == '-' && !json[1]))
		return r;
	console_log_text(&text, log, cli->is_out_tty);
	return cli_write(cli, "-", &text, e);
}

static int feed(struct cli *cli, const struct args *a, struct console_log *log,
		struct follow *follow, struct err *e)
{
	const char *const stdin_only[] = {"-"};
	const char *const *paths = a->n_positional ? a->positional : stdin_only;
	size_t n = a->n_positional ? a->n_positional : 1;

	if (args_has(a, "follow")) {
		if (n > 1)
			return err_set(e, ERR_USAGE, EINVAL,
				       "'judge': --follow takes one FILE, not %zu", n);
		waiter_catch_stop_signals();
		return log_source_follow(log, paths[0], STDIN_FILENO, cli->w, after_each, follow,
					 e);
	}
	for (size_t i = 0; i < n; i++) {
		int r = log_source_feed(log, paths[i], STDIN_FILENO, cli->w, e);

		if (r < 0)
			return r;
	}
	return 0;
}

DEFINE_AUTO(console_log, struct console_log *, console_log_free)

static int run_judge_logs(struct cli *cli, const struct args *a, struct err *e)
{
	const char *json = args_text(a, "json");
	auto_scenario struct scenario *scenario = NULL; /* log uses both: freed after it */
	auto_waivers struct waivers *waivers = NULL;
	AUTO(console_log) struct console_log *log = NULL;
	struct console_log_cfg cfg = {0};
	struct follow follow = {
		.cli = cli,
		.is_json = json && json[0] == '-' && !json[1],
		.is_quiet = args_has(a, "quiet"),
	};
	struct console_log_verdict v;
	struct err late = {0};
	int shown = 0;
	int r;

	if (args_has(a, "scenario")) {
		r = scenario_load(args_text(a, "scenario"), &scenario, e);
		if (r < 0)
			return r;
	}
	if (args_has(a, "waivers")) {
		r = waivers_load(args_text(a, "waivers"), &waivers, e);
		if (r < 0)
			return r;
		cfg.waivers = waivers_list(waivers, &cfg.n_waivers);
	}
	make_cfg(a, scenario, &cfg);
	if (args_has(a, "follow")) {
		cfg.on_event = on_event;
		cfg.self = &follow;
	}
	log = console_log_new(&cfg);
	r = feed(cli, a, log, &follow, e);
	/* a stop ends --follow: what was read until then is judged and shown */
	if (r >= 0 || e->kind == ERR_STOPPED)
		shown = show(cli, a, log, &late);
	if (r < 0)
		return r;
	if (shown < 0) {
		*e = late;
		return shown;
	}
	console_log_judge(log, &v);
	return verdict_exit_code(v.verdict);
}

/* A run's own folder has all that its verdict came from. */
static int run_rejudge(struct cli *cli, const struct args *a, const char *dir, struct err *e)
{
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_run struct run *run = NULL;
	int r;

	r = rejudge_run(dir, &run, e);
	if (r < 0)
		return r;
	if (json) {
		report_json(&text, &run, 1);
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r >= 0 && !args_has(a, "quiet") && !(json && json[0] == '-' && !json[1])) {
		report_table(&text, &run, 1, cli->is_out_tty);
		r = cli_write(cli, "-", &text, e);
	}
	return r < 0 ? r : verdict_exit_code(run->result.verdict);
}

/* A run's verdict is what it was judged by. */
static int check_whole_run(const struct args *a, const char *which, struct err *e)
{
	static const char *const log_options[] = {"scenario", "limit-ms", "waivers", "baud",
						  "follow"};

	for (size_t i = 0; i < ARRAY_SIZE(log_options); i++)
		if (args_has(a, log_options[i]))
			return err_set(e, ERR_USAGE, EINVAL,
				       "'judge': --%s is for logs; %s is a whole run, judged as it "
				       "was",
				       log_options[i], which);
	return 0;
}

static int run_judge_of_store(struct cli *cli, const struct args *a, struct err *e)
{
	auto_store struct store *st = NULL;
	auto_free char *dir = NULL;
	int r;

	if (a->n_positional)
		return err_set(e, ERR_USAGE, EINVAL,
			       "'judge': --run goes without FILE, not with '%s'", a->positional[0]);
	r = check_whole_run(a, args_text(a, "run"), e);
	if (r >= 0)
		r = cli_store_open(a, STORE_READ, &st, e);
	if (r >= 0)
		r = cli_run_folder(st, args_text(a, "run"), &dir, e);
	return r < 0 ? r : run_rejudge(cli, a, dir, e);
}

static int run_judge_any(struct cli *cli, const struct args *a, struct err *e)
{
	int r;

	if (args_has(a, "run"))
		return run_judge_of_store(cli, a, e);
	if (a->n_positional == 1 && rejudge_is_run(a->positional[0])) {
		r = check_whole_run(a, a->positional[0], e);
		return r < 0 ? r : run_rejudge(cli, a, a->positional[0], e);
	}
	return run_judge_logs(cli, a, e);
}

const struct cmd cmd_judge = {
	.name = "judge",
	.summary = "Judge console logs: incidents, delays, integrity, verdict",
	.details =
		"FILE is a console log of any kind: plain or compressed by gzip, xz or zstd, a "
		"recording, or a folder of these; \"-\" or nothing is the standard input. The folder "
		"of a whole run (run says where its recordings are) is judged again from its bytes "
		"and observations, with the scenario as it was, to the verdict that the run had; its "
		"JSON is that of report. A log alone can condemn a kernel but never acquit it: the verdict is FAIL or "
		"INCONCLUSIVE, with the first evidence that the log does not have. In a log with "
		"stallrig's own markers only delays that are due after a disconnect count, because "
		"the others are the injected control. Of several files each incident and delay names "
		"its own. A waiver file holds a list \"waivers\" of mappings with \"class\", \"match\" "
		"(with * and ?, against the whole title or first message), \"reason\" and, if only "
		"some kernels are meant, \"release\".",
	.positional = {.name = "FILE", .type = OPT_PATH, .min = 0, .max = 4096},
	.options = options,
	.run = run_judge_any,
};
