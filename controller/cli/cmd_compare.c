/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_compare.c - one run held against another. */
#include "cli/common.h"
#include "report/compare_text.h"
#include "trial/run_compare.h"

#include <string.h>

static const struct opt options[] = {
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write the comparison as JSON to FILE, \"-\" for the standard output without "
		 "the text"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int load_run(struct store *st, const char *id, struct run **ret, struct err *e)
{
	int r = store_find_run(st, id, ret, e);

	if (r < 0)
		return r;
	if (!*ret)
		return err_set(e, ERR_USAGE, ENOENT, "%s: there is no run '%s'", store_location(st),
			       id);
	return 0;
}

static int run_compare_command(struct cli *cli, const struct args *a, struct err *e)
{
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf differences = STRBUF_INIT, text = STRBUF_INIT;
	auto_run struct run *base = NULL, *new_run = NULL;
	auto_store struct store *st = NULL;
	struct compare_result result;
	int r;

	r = cli_store_open(a, STORE_READ, &st, e);
	if (r >= 0)
		r = load_run(st, a->positional[0], &base, e);
	if (r >= 0)
		r = load_run(st, a->positional[1], &new_run, e);
	if (r < 0)
		return r;

	if (run_differences(base, new_run, &differences))
		return err_set(e, ERR_USAGE, EINVAL, "runs '%s' and '%s' cannot be compared: %s",
			       base->id, new_run->id, strbuf_str(&differences));
	r = run_compare(base, new_run, &compare_defaults, &result);
	if (r == -ENODATA)
		return err_set(e, ERR_USAGE, ENODATA, "run '%s' has no valid trial",
			       base->result.valid ? new_run->id : base->id);
	if (r < 0)
		return err_errno(e, ERR_STORE, -r, "runs '%s' and '%s'", base->id, new_run->id);

	if (json) {
		compare_json(&text, base, new_run, &result, compare_defaults.confidence);
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
		if (r < 0 || strcmp(json, "-") == 0)
			return r;
	}
	compare_text(&text, base, new_run, &result, compare_defaults.confidence);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_compare = {
	.name = "compare",
	.summary = "Compare a run with an earlier one: worse, better, or no change",
	.details = "Ranks of the worst delays of the valid trials decide; boots count once where "
		   "the trials of a boot resemble each other. Runs under different conditions "
		   "(rig class, scenario, HZ, preemption, threshold, stick) are refused.",
	.positional = {.name = "RUN", .type = OPT_TEXT, .min = 2, .max = 2},
	.options = options,
	.run = run_compare_command,
};
