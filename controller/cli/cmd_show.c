/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_show.c - everything about one trial. */
#include "base/fdio.h"
#include "cli/common.h"
#include "report/profile_text.h"
#include "report/report.h"
#include "report/text.h"
#include "store/recordings.h"

static const struct opt options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "as JSON"},
	{.name = "flame",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write a flame graph of the trial's profile as SVG to FILE, \"-\" for the standard "
		 "output; nothing else is shown then"},
	{.name = "folded",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write its call chains with their samples to FILE, as flame graph tools read them; "
		 "as --flame"},
	{.name = "window",
	 .type = OPT_TEXT,
	 .arg = "NAME",
	 .absent = "the first",
	 .help = "which part of the profile: a load with its jobs (dd_50), or \"cut\""},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

/* The files that were asked for. */
static int write_profile(struct cli *cli, const struct args *a, const struct run *run,
			 const struct trial *trial, struct err *e)
{
	auto_profile struct profile *p = NULL;
	const char *name = args_text(a, "window");
	const struct profile_window *windows;
	const struct profile_window *w = NULL;
	auto_strbuf struct strbuf names = STRBUF_INIT;
	size_t n;
	int r;

	r = profile_of_trial(run, trial, &p, e);
	if (r < 0)
		return r;
	if (!p)
		return err_set(e, ERR_USAGE, ENOENT, "trial %s.%u has no profile", run->id,
			       trial->number);
	n = profile_windows(p, &windows);
	w = name ? profile_window(p, name) : n ? windows : NULL;
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", windows[i].name);
	if (!w)
		return err_set(e, ERR_USAGE, ENOENT, "--window '%s' is none of: %s",
			       text_or_empty(name), strbuf_str(&names));
	if (args_has(a, "flame")) {
		auto_strbuf struct strbuf svg = STRBUF_INIT;

		flame_svg(&svg, p, w);
		r = cli_write(cli, args_text(a, "flame"), &svg, e);
	}
	if (r >= 0 && args_has(a, "folded")) {
		auto_strbuf struct strbuf folded = STRBUF_INIT;

		profile_folded(p, w, &folded);
		r = cli_write(cli, args_text(a, "folded"), &folded, e);
	}
	return r;
}

static int run_show(struct cli *cli, const struct args *a, struct err *e)
{
	auto_store struct store *st = NULL;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *cache = NULL;
	auto_run struct run *run = NULL;
	const struct trial *trial;
	int r;

	r = cli_store_open(a, STORE_READ, &st, e);
	if (r < 0)
		return r;
	r = store_find_trial(st, a->positional[0], &run, &trial, e);
	if (r < 0)
		return r;
	cache = path_cache("recordings");
	r = store_recording_locate(st, path_shared_recordings(), cache, run, e);
	if (r < 0)
		return r;
	if (args_has(a, "flame") || args_has(a, "folded"))
		return write_profile(cli, a, run, trial, e);
	if (args_has(a, "window"))
		return err_set(e, ERR_USAGE, EINVAL, "--window needs --flame or --folded");
	if (args_has(a, "json"))
		report_trial_json(&text, run, trial);
	else
		report_trial(&text, run, trial, cli->is_out_tty);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_show = {
	.name = "show",
	.summary = "Show a trial: timeline, evidence, numbers, and the console around the cut",
	.details = "TRIAL is RUN.NUMBER, where the beginning of the run's id is enough if no other "
		   "run begins so. A recording that another host of the lab made is fetched "
		   "first, if it was kept.",
	.positional = {.name = "TRIAL", .type = OPT_TEXT, .min = 1, .max = 1},
	.options = options,
	.run = run_show,
};
