/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_switch.c - a rig's switch by hand. */
#include "base/parse.h"
#include "cli/common.h"
#include "rig/bench.h"
#include "rig/names.h"

#include <jansson.h>

#include <string.h>

#define CHANGE_NS     (30 * NSEC_PER_SEC)
#define LOCK_WAIT_NS  (60 * NSEC_PER_SEC)
#define OFF_FOR_MAX_S 3600

#define OPT_ROW_JSON_FLAG                                                   \
	{                                                                   \
		.name = "json", .type = OPT_FLAG, .help = "one JSON object" \
	}
#define OPT_ROW_NO_WAIT                                                               \
	{                                                                             \
		.name = "no-wait", .type = OPT_FLAG,                                  \
		.help = "give up at once if the rig is held, else a minute is waited" \
	}

static const struct opt status_options[] = {
	OPT_ROW_JSON_FLAG,
	OPT_ROW_NO_WAIT,
	OPT_ROW_END,
};

#define OPT_ROW_HOLD                                                                             \
	{                                                                                        \
		.name = "hold", .type = OPT_FLAG,                                                \
		.help = "stay and hold the switch until SIGINT or SIGTERM, then leave the safe " \
			"state"                                                                  \
	}

static const struct opt set_options[] = {
	OPT_ROW_JSON_FLAG,
	OPT_ROW_HOLD,
	OPT_ROW_NO_WAIT,
	OPT_ROW_END,
};

static const struct opt cycle_options[] = {
	OPT_ROW_JSON_FLAG,
	OPT_ROW_HOLD,
	OPT_ROW_NO_WAIT,
	{.name = "off-for",
	 .type = OPT_TEXT,
	 .arg = "DURATION",
	 .help = "stay off for this long, as 5s or 10m, an hour at most; the rig's minimum off time "
		 "is kept anyhow"},
	OPT_ROW_END,
};

#define PLACE                                                             \
	{                                                                 \
		.name = "RIG[/PORT]", .type = OPT_RIG, .min = 1, .max = 1 \
	}

/* "bench1", "bench1/stick0", "lab/bench1.yaml", "lab/bench1.yaml/stick0". */
static int load_place(const char *text, struct rig_cfg **ret, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	auto_free char *rig = xstrdup(text);
	char *slash = strrchr(rig, '/');
	const char *dot = strrchr(text, '.');
	const char *port = NULL;
	int r;

	/* a path to a file has no port behind it */
	if (slash && !(dot && strcmp(dot, ".yaml") == 0)) {
		*slash = '\0';
		port = slash + 1;
	}
	r = rig_cfg_load(rig, &cfg, e);
	if (r < 0)
		return r;
	if (port && strcmp(port, cfg->stick_switch.name) != 0)
		return err_set(e, ERR_USAGE, ENOENT, "rig '%s' has no port '%s', only '%s'",
			       cfg->name, port, cfg->stick_switch.name);
	*ret = take(cfg);
	return 0;
}

static int open_place(struct cli *cli, const struct args *a, struct rig_cfg **ret_cfg,
		      struct bench **ret, struct err *e)
{
	int r;

	waiter_catch_stop_signals();
	r = load_place(a->positional[0], ret_cfg, e);
	if (r < 0)
		return r;
	return bench_open(*ret_cfg, cli->w, args_has(a, "no-wait") ? 0 : LOCK_WAIT_NS, ret, e);
}

/* change NULL: nothing was asked for; its applied_ns 0: it was so already. */
static int show(struct cli *cli, const struct args *a, const struct rig_cfg *cfg,
		struct stick_switch *sw, const struct switch_change *change, struct err *e)
{
	const unsigned caps = switch_driver(sw)->caps;
	const enum switch_state state = switch_get(sw);
	const enum switch_state sensed = switch_sense(sw);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const bool has_changed = change && change->applied_ns;
	const double ms = has_changed ? (double)(change->applied_ns - change->asked_ns) /
						(double)NSEC_PER_MSEC
				      : 0;

	if (args_has(a, "json")) {
		json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "rig", cfg->name, "port",
				      switch_name(sw), "driver", switch_driver(sw)->driver, "state",
				      switch_state_name(state));
		char *dumped;

		if (caps & SWITCH_CAN_SENSE)
			(void)json_object_set_new(o, "sensed",
						  json_string(switch_state_name(sensed)));
		(void)json_object_set_new(o, "cuts_data", json_boolean(caps & SWITCH_CUTS_DATA));
		if (change) {
			(void)json_object_set_new(o, "changed", json_boolean(has_changed));
			if (has_changed)
				(void)json_object_set_new(o, "change_ms", json_real(ms));
		}
		dumped = json_dumps(o, JSON_REAL_PRECISION(6));
		strbuf_addf(&text, "%s\n", dumped);
		free(dumped);
		json_decref(o);
		return cli_write(cli, "-", &text, e);
	}
	strbuf_addf(&text, "%s/%s: %s", cfg->name, switch_name(sw), switch_state_name(state));
	if (caps & SWITCH_CAN_SENSE)
		strbuf_addf(&text, ", VBUS %s", switch_state_name(sensed));
	if (has_changed)
		strbuf_addf(&text, ", changed in %.1f ms", ms);
	else if (change)
		strbuf_adds(&text, ", as it was");
	strbuf_adds(&text, "\n");
	return cli_write(cli, "-", &text, e);
}

/* Until a signal; the guardian may have had a reason to let go before. */
static int hold(struct cli *cli, const struct rig_cfg *cfg, struct stick_switch *sw,
		enum switch_state state, struct err *e)
{
	struct switch_limits limits;

	switch_cfg_limits(&cfg->stick_switch, &limits);
	(void)fflush(cli->out);
	while (waiter_sleep(cli->w, NSEC_PER_SEC, e) == 0) {
		if (switch_get(sw) == state)
			continue;
		/* if the guardian let go, it says why */
		if (switch_set(sw, limits.safe, waiter_now(cli->w) + CHANGE_NS, NULL, e) < 0)
			return -e->code;
		return err_set(e, ERR_RIG, EIO,
			       "switch '%s' is not %s any more: an over-current, or it was "
			       "switched by somebody else",
			       switch_name(sw), switch_state_name(state));
	}
	if (e->kind != ERR_STOPPED)
		return -e->code;
	waiter_clear_stop();
	err_clear(e);
	return 0;
}

static int run_set(struct cli *cli, const struct args *a, enum switch_state state, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	auto_bench struct bench *bench = NULL;
	struct switch_change change = {0};
	struct stick_switch *sw;
	int r;

	r = open_place(cli, a, &cfg, &bench, e);
	if (r < 0)
		return r;
	sw = bench_switch(bench);
	r = switch_set(sw, state, waiter_now(cli->w) + CHANGE_NS, &change, e);
	if (r >= 0)
		r = show(cli, a, cfg, sw, &change, e);
	if (r < 0)
		return err_wrap(e, "rig '%s'", cfg->name);
	if (args_has(a, "hold"))
		return hold(cli, cfg, sw, state, e);
	switch_keep(sw);
	return 0;
}

static int run_on(struct cli *cli, const struct args *a, struct err *e)
{
	return run_set(cli, a, SWITCH_ON, e);
}

static int run_off(struct cli *cli, const struct args *a, struct err *e)
{
	return run_set(cli, a, SWITCH_OFF, e);
}

static int run_cycle(struct cli *cli, const struct args *a, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	auto_bench struct bench *bench = NULL;
	struct switch_change change = {0};
	struct stick_switch *sw;
	uint32_t off_s = 0;
	int r = 0;

	if (args_has(a, "off-for"))
		r = parse_duration_s("--off-for", args_text(a, "off-for"), 0, OFF_FOR_MAX_S, &off_s,
				     e);
	if (r >= 0)
		r = open_place(cli, a, &cfg, &bench, e);
	if (r < 0)
		return r;
	sw = bench_switch(bench);
	r = switch_set(sw, SWITCH_OFF, waiter_now(cli->w) + CHANGE_NS, NULL, e);
	if (r >= 0)
		r = waiter_sleep(cli->w, off_s * NSEC_PER_SEC, e);
	if (r >= 0)
		r = switch_set(sw, SWITCH_ON, waiter_now(cli->w) + CHANGE_NS, &change, e);
	if (r >= 0)
		r = show(cli, a, cfg, sw, &change, e);
	if (r < 0)
		return err_wrap(e, "rig '%s'", cfg->name);
	if (args_has(a, "hold"))
		return hold(cli, cfg, sw, SWITCH_ON, e);
	switch_keep(sw);
	return 0;
}

static int run_status(struct cli *cli, const struct args *a, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	auto_bench struct bench *bench = NULL;
	int r;

	r = open_place(cli, a, &cfg, &bench, e);
	if (r < 0)
		return r;
	switch_keep(bench_switch(bench));
	return show(cli, a, cfg, bench_switch(bench), NULL, e);
}

static int run_safe(struct cli *cli, const struct args *a, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	auto_bench struct bench *bench = NULL;
	struct switch_change change = {0};
	struct switch_limits limits;
	struct stick_switch *sw;
	int r;

	r = open_place(cli, a, &cfg, &bench, e);
	if (r < 0)
		return r;
	sw = bench_switch(bench);
	switch_cfg_limits(&cfg->stick_switch, &limits);
	r = switch_set(sw, limits.safe, waiter_now(cli->w) + CHANGE_NS, &change, e);
	if (r >= 0)
		r = show(cli, a, cfg, sw, &change, e);
	if (r < 0)
		return err_wrap(e, "rig '%s'", cfg->name);
	return 0;
}

#define DETAILS                                                                                  \
	"Keeps the rig's limits (minimum off time, settle time) and its lock. Asking for what "  \
	"is so already changes nothing. A GPIO controller may let a line fall back when nobody " \
	"holds it any more: --hold keeps it."

const struct cmd cmd_switch_on = {
	.name = "switch on",
	.summary = "Connect a rig's stick",
	.details = DETAILS,
	.positional = PLACE,
	.options = set_options,
	.run = run_on,
};

const struct cmd cmd_switch_off = {
	.name = "switch off",
	.summary = "Cut a rig's stick",
	.details = DETAILS,
	.positional = PLACE,
	.options = set_options,
	.run = run_off,
};

const struct cmd cmd_switch_cycle = {
	.name = "switch cycle",
	.summary = "Cut a rig's stick and connect it again",
	.details = DETAILS,
	.positional = PLACE,
	.options = cycle_options,
	.run = run_cycle,
};

const struct cmd cmd_switch_status = {
	.name = "switch status",
	.summary = "Show what a rig's switch says and measures",
	.positional = PLACE,
	.options = status_options,
	.run = run_status,
};

const struct cmd cmd_switch_safe = {
	.name = "switch safe",
	.summary = "Put a rig's switch into its safe state",
	.details = "The safe state is `safe_state` of the rig's description, \"off\" if there is "
		   "none.",
	.positional = PLACE,
	.options = status_options,
	.run = run_safe,
};
