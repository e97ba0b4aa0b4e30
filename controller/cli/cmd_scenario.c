/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_scenario.c - scenarios: which there are, whether one is right, what it does. */
#include "cli/common.h"
#include "report/text.h"
#include "rig/names.h"
#include "trial/scenario.h"

#include <string.h>

static const struct opt list_options[] = {
	OPT_ROW_NAMES,
	OPT_ROW_END,
};

static int run_list(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_name_list struct name_list names = {0};
	struct err first = {0};
	int r;

	r = names_list(&names_of_scenarios, &names, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		auto_scenario struct scenario *sc = NULL;
		struct err broken = {0};

		if (args_has(a, "names")) {
			strbuf_addf(&text, "%s\n", names.names[i]);
			continue;
		}
		if (scenario_load(names.names[i], &sc, &broken) < 0) {
			if (!first.code)
				first = broken;
			continue;
		}
		text_add_padded(&text, sc->name, 24, false);
		text_add_visible(&text, text_or_empty(sc->title), strlen(text_or_empty(sc->title)),
				 0);
		strbuf_adds(&text, "\n");
	}
	r = cli_write(cli, "-", &text, e);
	if (r >= 0 && first.code) { /* the others are listed all the same */
		*e = first;
		return -first.code;
	}
	return r;
}

const struct cmd cmd_scenario_list = {
	.name = "scenario list",
	.summary = "List the scenarios",
	.options = list_options,
	.run = run_list,
};

static int run_check(struct cli *cli, const struct args *a, struct err *e)
{
	for (size_t i = 0; i < a->n_positional; i++) {
		auto_scenario struct scenario *sc = NULL;
		int r;

		r = scenario_load(a->positional[i], &sc, e);
		if (r < 0)
			return r;
		fprintf(cli->out, "%s: ok, scenario %s\n", sc->path, sc->name);
	}
	return 0;
}

const struct cmd cmd_scenario_check = {
	.name = "scenario check",
	.summary = "Check scenario files; an error names file, line and column",
	.details = "A FILE without a slash is the name of a scenario.",
	.positional = {.name = "FILE", .type = OPT_SCENARIO, .min = 1, .max = 64},
	.run = run_check,
};

static void add_list(struct strbuf *out, char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", names[i]);
}

static void explain(struct strbuf *out, const struct scenario *sc)
{
	auto_strbuf struct strbuf needs = STRBUF_INIT;
	auto_strbuf struct strbuf count = STRBUF_INIT;
	auto_strbuf struct strbuf watch = STRBUF_INIT;

	add_list(&needs, sc->needs.kernel_modules, sc->needs.kernel_modules_count);
	add_list(&count, sc->probe.count, sc->probe.count_count);
	add_list(&watch, sc->probe.watch, sc->probe.watch_count);

	fact_add(out, "scenario", "%s: %s", sc->name, text_or_empty(sc->title));
	fact_add(out, "file", "%s", sc->path);
	fact_add(out, "sha256", "%s", sc->sha256);
	fact_add(out, "needs", "kernel modules %s", needs.len ? strbuf_str(&needs) : "none");
	fact_add(out, "prepare", "console log level %u; interrupt '%s' on CPU%u; mount %s",
		 sc->prepare.console_loglevel, sc->prepare.irq.match, sc->prepare.irq.cpu,
		 sc->prepare.mount);
	fact_add(out, "load",
		 "%s in blocks of %u KiB within %u s, until %u %% of the file is cached%s",
		 sc->load.kind, sc->load.block_kib, sc->load.timeout_s, sc->load.cache_floor_pct,
		 sc->load.drop_cache ? "; then the cache is dropped again" : "");
	fact_add(out, "probe", "%s on CPUs %s, every %u us, from %u us on", strbuf_str(&count),
		 sc->probe.cpus, sc->probe.period_us, sc->probe.threshold_us);
	fact_add(out, "positive control",
		 "a stall of %u ms is injected before each trial and must be seen within %u ms of "
		 "its length",
		 sc->controls.stall_ms, sc->controls.stall_tolerance_ms);
	fact_add(out, "negative control", "%s must stay below %u ms",
		 watch.len ? strbuf_str(&watch) : "nothing", sc->controls.noise_max_ms);
	fact_add(out, "stimulus", "%s, done within %u ms, seen by the kernel within %u ms",
		 sc->stimulus.kind, sc->stimulus.apply_timeout_ms, sc->stimulus.seen_timeout_ms);
	fact_add(out, "window", "%u ms of listening, up to %u ms while a stall goes on",
		 sc->window.min_ms, sc->window.max_ms);
	fact_add(
		out, "limit",
		"no delay of a trial over %u ms, in more than %u %% of trials, at %u %% confidence",
		sc->limit.max_ms, sc->limit.tolerated_over_pct, sc->limit.confidence_pct);
	fact_add(out, "trials", "%u valid ones, %u in a boot, at most %u invalid ones",
		 sc->trials.valid, sc->trials.per_boot, sc->trials.max_invalid);
}

static int run_explain(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_scenario struct scenario *sc = NULL;
	int r;

	r = scenario_load(a->positional[0], &sc, e);
	if (r < 0)
		return r;
	explain(&text, sc);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_scenario_explain = {
	.name = "scenario explain",
	.summary = "Say in words what a scenario does and what it demands",
	.positional = {.name = "SCENARIO", .type = OPT_SCENARIO, .min = 1, .max = 1},
	.run = run_explain,
};
