/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_show.c - everything about one trial. */
#include "base/fdio.h"
#include "cli/common.h"
#include "report/report.h"
#include "store/recordings.h"

static const struct opt options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "as JSON"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

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
