/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_check.c - the health of a rig. */
#include "cli/common.h"
#include "lab/check.h"
#include "report/json_put.h"
#include "report/text.h"

static const struct opt options[] = {
	{.name = "kernel",
	 .letter = 'k',
	 .type = OPT_KERNEL,
	 .arg = "KERNEL",
	 .absent = "the rig's golden_kernel",
	 .help = "a build that is known to pass on this rig, or a series as in debian:6.12"},
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write the result as JSON to FILE, \"-\" for the standard output without the "
		 "table"},
	OPT_ROW_STORE,
	OPT_ROW_FAULTS,
	OPT_ROW_NO_WAIT_HOUR,
	OPT_ROW_END,
};

static void on_say(void *self, const char *text)
{
	progress_now(self, text);
}

static void add_table(struct strbuf *out, const char *rig, const struct check_result *res,
		      const struct run *run)
{
	static const char *const words[VERDICT_MAX] = {
		[VERDICT_PASS] = "healthy",
		[VERDICT_RIG_FAULT] = "not healthy, in quarantine",
		[VERDICT_INCONCLUSIVE] = "not certain, nothing changed",
	};

	strbuf_addf(out, "%s: %s\n", rig, text_or_empty(words[res->verdict]));
	for (enum check_part part = 0; part < CHECK_PART_MAX; part++) {
		strbuf_adds(out, "  ");
		text_add_padded(out, check_part_name(part), 15, false);
		text_add_padded(out, check_state_name(res->parts[part].state), 9, false);
		text_add_visible(out, res->parts[part].detail, strlen(res->parts[part].detail), 0);
		strbuf_adds(out, "\n");
	}
	if (run)
		fact_add(out, "run", "%s", run->id);
}

static void add_json(struct strbuf *out, const char *rig, const struct check_result *res,
		     const struct run *run)
{
	json_t *root = json_object(), *parts = json_array();

	set_text(root, "rig", rig);
	set_text(root, "verdict", verdict_name(res->verdict));
	set_text(root, "text", res->text);
	if (run) {
		set_text(root, "run", run->id);
		set_text(root, "kernel", run->kernel);
	}
	for (enum check_part part = 0; part < CHECK_PART_MAX; part++) {
		json_t *obj = json_object();

		set_text(obj, "name", check_part_name(part));
		set_text(obj, "state", check_state_name(res->parts[part].state));
		set_text(obj, "detail", res->parts[part].detail);
		append(parts, obj);
	}
	set(root, "checks", parts);
	add_json_line(out, root, JSON_INDENT(1));
}

static int run_check(struct cli *cli, const struct args *a, struct err *e)
{
	const struct lab_hooks hooks = {.say = on_say, .self = cli};
	const char *rig = a->positional[0];
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_rig_cfg struct rig_cfg *rig_cfg = NULL;
	auto_store struct store *st = NULL;
	auto_run struct run *run = NULL;
	struct check_result res;
	struct check_cfg cfg = {
		.rig = rig,
		.kernel = args_text(a, "kernel"),
		.faults = args_text(a, "faults"),
		.lock_wait_ns = args_has(a, "no-wait") ? 0 : CLI_RIG_WAIT_NS,
		.w = cli->w,
		.hooks = &hooks,
	};
	int r;

	waiter_catch_stop_signals();
	/* a word that is wrong leaves no store behind */
	r = rig_cfg_load(rig, &rig_cfg, e);
	if (r >= 0)
		r = cli_store_open(a, STORE_WRITE, &st, e);
	if (r >= 0)
		r = cli_rig_await(cli, st, rig, !args_has(a, "no-wait"), e);
	cfg.store = st;
	if (r >= 0)
		r = lab_check_rig(&cfg, &res, &run, e);
	if (r < 0)
		return r;

	progress_clear(cli);
	if (json) {
		add_json(&text, rig, &res, run);
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r >= 0 && (!json || strcmp(json, "-") != 0)) {
		add_table(&text, rig, &res, run);
		r = cli_write(cli, "-", &text, e);
	}
	return r < 0 ? r : verdict_exit_code(res.verdict);
}

const struct cmd cmd_check = {
	.name = "check",
	.summary = "Check the health of a rig: switch, stick, console, probe, golden kernel",
	.details = "One unplug under a kernel that is known to pass. A rig that fails is put into "
		   "quarantine: workers and plans pass it over; one that passes is taken out of "
		   "it. The exit status is 0 if all is well, 130 if the rig failed, 125 if it "
		   "cannot be said (as on a host with too much to do), which changes nothing.",
	.positional = {.name = "RIG", .type = OPT_RIG, .min = 1, .max = 1},
	.options = options,
	.run = run_check,
};
