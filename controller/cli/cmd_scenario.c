/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_scenario.c - scenarios: which there are, whether one is right, what it does. */
#include "cli/common.h"
#include "cli/help.h"
#include "report/text.h"
#include "rig/names.h"
#include "trial/scenario.h"

#include <inttypes.h>
#include <stdarg.h>
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
	.details = "A FILE without a slash that does not end in .yaml is the name of a scenario.",
	.positional = {.name = "FILE", .type = OPT_SCENARIO, .min = 1, .max = 64},
	.run = run_check,
};

static void add_list(struct strbuf *out, char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", names[i]);
}

/* What is read, and what happens around it. */
static void explain_load(struct strbuf *out, const struct scenario *sc)
{
	bool is_mounted = strcmp(sc->prepare.mount, "none") != 0;

	if (is_mounted)
		strbuf_addf(out,
			    "The stick is mounted %s and its file is read by dd in blocks of %u "
			    "KiB, within %u s.",
			    strcmp(sc->prepare.mount, "ro") == 0 ? "read-only" : "for writing",
			    sc->load.block_kib, sc->load.timeout_s);
	else
		strbuf_addf(out,
			    "The stick is not mounted; its device is read by dd in blocks of %u "
			    "KiB, within %u s.",
			    sc->load.block_kib, sc->load.timeout_s);
	if (sc->prepare.hold)
		strbuf_adds(out, " A process holds the device open from before that until after "
				 "the cut, so that its page cache stays.");
	if (sc->load.neighbour)
		strbuf_adds(out, " The rig's second stick is mounted read-only and read, too.");
	if (sc->load.dirty_mib)
		strbuf_addf(
			out,
			" Then %u MiB are written to another file and stay in the page cache. "
			"Unless 90 %% of that is still unwritten just before the cut, the trial "
			"is invalid.",
			sc->load.dirty_mib);
	if (sc->load.drop_cache)
		strbuf_adds(out, " Then the page cache is dropped again.");
	if (sc->load.cache_floor_pct)
		strbuf_addf(out,
			    " Unless %u %% of what was read is in the page cache just before the "
			    "cut, the trial is invalid.",
			    sc->load.cache_floor_pct);
}

static void add_step(struct strbuf *out, unsigned *number, const char *fmt, ...) printf_like(3, 4);

/* "  3. " and the sentence, wrapped. */
static void add_step(struct strbuf *out, unsigned *number, const char *fmt, ...)
{
	auto_free char *text = NULL;
	auto_free char *head = xasprintf("%3u. ", ++*number);
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort(); /* out of memory */
	va_end(ap);
	strbuf_adds(out, head);
	help_add_wrapped(out, text, strlen(head), strlen(head));
}

static void add_profile(struct strbuf *out, unsigned *number, const struct scenario *sc,
			const char *when)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	if (!sc->profile.hz)
		return;
	strbuf_addf(&text, "A profile of all CPUs is taken %s, at %u Hz%s%s.", when, sc->profile.hz,
		    sc->profile.event ? " by " : "", text_or_empty(sc->profile.event));
	for (unsigned i = 0; i < sc->profile.sets_count; i++) {
		const struct scenario_symbols *s = &sc->profile.sets[i];

		strbuf_addf(&text, " %s_ppm is the share of ", s->name);
		add_list(&text, s->functions, s->functions_count);
		if (s->releases_count) {
			strbuf_adds(&text, " in kernels ");
			add_list(&text, s->releases, s->releases_count);
		}
		strbuf_adds(&text, ".");
	}
	add_step(out, number, "%s", strbuf_str(&text));
}

static void explain_cut(struct strbuf *out, const struct scenario *sc)
{
	if (sc->stimulus.unmount_first)
		strbuf_adds(out, "The stick is unmounted. ");
	if (sc->load.keep_reading)
		strbuf_adds(out, "dd begins to read the device past the page cache and is still at "
				 "it when: ");
	strbuf_addf(out,
		    "The stick is unplugged, which the switch must have done within %u ms; the "
		    "kernel must report the disconnect within %u ms.",
		    sc->stimulus.apply_timeout_ms, sc->stimulus.seen_timeout_ms);
}

/* What is done in a trial, in that order. */
static void explain_trial(struct strbuf *out, const struct scenario *sc)
{
	auto_strbuf struct strbuf count = STRBUF_INIT;
	auto_strbuf struct strbuf watch = STRBUF_INIT;
	auto_strbuf struct strbuf load = STRBUF_INIT;
	auto_strbuf struct strbuf cut = STRBUF_INIT;
	unsigned n = 0;

	add_list(&count, sc->probe.count, sc->probe.count_count);
	add_list(&watch, sc->probe.watch, sc->probe.watch_count);
	explain_load(&load, sc);
	explain_cut(&cut, sc);
	add_step(out, &n,
		 "The target boots the kernel. The console shows messages up to level %u, the "
		 "interrupt '%s' is pinned to CPU%u, and probes are due every %u us on %s: %s%s%s.",
		 sc->prepare.console_loglevel, sc->prepare.irq.match, sc->prepare.irq.cpu,
		 sc->probe.period_us,
		 strcmp(sc->probe.cpus, "all") == 0 ? "all CPUs" : sc->probe.cpus,
		 strbuf_str(&count), watch.len ? ", and to watch " : "", strbuf_str(&watch));
	add_step(out, &n, "%s", strbuf_str(&load));
	add_step(out, &n,
		 "A stall of %u ms is injected on CPU%u. The trial is invalid unless probe and "
		 "console show it within %u ms of its length.",
		 sc->controls.stall_ms, sc->prepare.irq.cpu, sc->controls.stall_tolerance_ms);
	add_step(out, &n, "%s", strbuf_str(&cut));
	add_step(out, &n,
		 "For %u ms it is listened; while a stall goes on, up to %u ms. Delays from %u us "
		 "on are printed. A delay counts if it was due at most %u ms after the disconnect.",
		 sc->window.min_ms, sc->window.max_ms, sc->probe.threshold_us,
		 sc->window.attribution_ms);
	add_profile(out, &n, sc, "from the cut to the end of that time");
	if (watch.len)
		add_step(out, &n,
			 "If a watched probe (%s) was late by more than %u ms the machine was too "
			 "busy to tell, and the trial is invalid.",
			 strbuf_str(&watch), sc->controls.noise_max_ms);
	add_step(out, &n,
		 "The stick is plugged in again. The next trial begins at 2, or with a new "
		 "boot after %u trials.",
		 sc->trials.per_boot);
}

static void explain_verdict(struct strbuf *out, const struct scenario *sc)
{
	auto_free char *text = xasprintf(
		"The measure of a trial is the longest delay of the probes that count. A trial is "
		"over the limit above %u ms. PASS: %u valid trials and none over the limit. FAIL: "
		"more than %u %% of trials are over the limit, with %u %% confidence, or the kernel "
		"crashed. INCONCLUSIVE: some trials were over the limit but too few to be sure, or "
		"more than %u trials were invalid.",
		sc->limit.max_ms, sc->trials.valid, sc->limit.tolerated_over_pct,
		sc->limit.confidence_pct, sc->trials.max_invalid);

	help_add_wrapped(out, text, 0, 0);
}

/* What it takes at least: what is waited for in any case. Booting and reading come on top. */
static void explain_time(struct strbuf *out, const struct scenario *sc)
{
	unsigned boots = (sc->trials.valid + sc->trials.per_boot - 1) / sc->trials.per_boot;
	const bool is_load = scenario_is_load(sc);
	uint64_t once_ms = sc->window.min_ms;
	auto_free char *text = NULL;

	for (unsigned i = 0; i < sc->loads_count; i++)
		if (strcmp(sc->loads[i].kind, "walk") != 0 && strcmp(sc->loads[i].kind, "sh") != 0)
			once_ms += (uint64_t)sc->loads[i].seconds * 1000 * sc->loads[i].jobs_count;
	text = xasprintf(
		"%u trials in %u boot%s; at least %.1f s of %s in all, and the time of the "
		"boots%s.",
		sc->trials.valid, boots, boots == 1 ? "" : "s",
		(double)once_ms * sc->trials.valid / 1000, is_load ? "loads" : "listening",
		is_load ? "" : " and reads");

	help_add_wrapped(out, text, 0, 0);
}

static void add_load(struct strbuf *out, unsigned *number, const struct scenario_load *l)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "Load %s: ", l->name);
	if (strcmp(l->kind, "sh") == 0)
		strbuf_addf(&text, "the command '%s', at most %u s%s.", l->command, l->seconds,
			    l->is_value ? "; the last line that it prints is the measure" : "");
	else if (strcmp(l->kind, "walk") == 0)
		strbuf_addf(&text, "all below %s is looked at, at most %u s", l->path, l->seconds);
	else if (strcmp(l->kind, "dd") == 0)
		strbuf_addf(&text,
			    "dd from %s to %s in blocks of %u KiB%s%s, again and again for %u s",
			    l->path, l->to ? l->to : "/dev/null", l->block_kib,
			    l->iflag || l->oflag ? ", flags " : "",
			    l->iflag ? l->iflag : text_or_empty(l->oflag), l->seconds);
	else
		strbuf_addf(&text, "random %s of %u KiB %s %s past the page cache for %u s%s%s",
			    strcmp(l->kind, "random-read") == 0 ? "reads" : "writes", l->block_kib,
			    strcmp(l->kind, "random-read") == 0 ? "from" : "to", l->path,
			    l->seconds, l->program ? ", made by " : "", text_or_empty(l->program));
	if (strcmp(l->kind, "sh") != 0) {
		strbuf_adds(&text, ", by ");
		for (unsigned i = 0; i < l->jobs_count; i++)
			strbuf_addf(&text, "%s%u",
				    i == 0                   ? ""
				    : i + 1 == l->jobs_count ? " and "
							     : ", ",
				    l->jobs[i]);
		strbuf_addf(&text, " job%s.", l->jobs_count == 1 && l->jobs[0] == 1 ? "" : "s");
	}
	if (l->before)
		strbuf_addf(&text, " Before that, each time: '%s'.", l->before);
	add_step(out, number, "%s", strbuf_str(&text));
}

/* What is done in a trial of loads, in that order. */
static void explain_loads(struct strbuf *out, const struct scenario *sc)
{
	auto_strbuf struct strbuf count = STRBUF_INIT;
	auto_strbuf struct strbuf watch = STRBUF_INIT;
	unsigned n = 0;

	add_list(&count, sc->probe.count, sc->probe.count_count);
	add_list(&watch, sc->probe.watch, sc->probe.watch_count);
	add_step(out, &n,
		 "The target boots the kernel. The console shows messages up to level %u, and "
		 "probes are due every %u us on %s: %s%s%s.",
		 sc->prepare.console_loglevel, sc->probe.period_us,
		 strcmp(sc->probe.cpus, "all") == 0 ? "all CPUs" : sc->probe.cpus,
		 strbuf_str(&count), watch.len ? ", and to watch " : "", strbuf_str(&watch));
	add_step(out, &n,
		 "A stall of %u ms is injected on CPU0. The trial is invalid unless probe and "
		 "console show it within %u ms of its length.",
		 sc->controls.stall_ms, sc->controls.stall_tolerance_ms);
	for (unsigned i = 0; i < sc->prepare.setup_count; i++)
		add_step(out, &n, "Once a boot: '%s'", sc->prepare.setup[i]);
	for (unsigned i = 0; i < sc->loads_count; i++)
		add_load(out, &n, &sc->loads[i]);
	add_profile(out, &n, sc, "of each load");
	if (sc->hiccup.disk)
		add_step(out, &n,
			 "%u ms into load %s the disk '%s' completes no more than %u writes a "
			 "second, for %u ms.",
			 sc->hiccup.after_ms, sc->hiccup.load, sc->hiccup.disk,
			 sc->hiccup.write_iops, sc->hiccup.for_ms);
	if (watch.len)
		add_step(out, &n,
			 "If a watched probe (%s) was late by more than %u ms the machine was too "
			 "busy to tell, and the trial is invalid.",
			 strbuf_str(&watch), sc->controls.noise_max_ms);
	for (unsigned i = 0; i < sc->invalid_if_count; i++)
		add_step(out, &n, "If the console says '%s' the trial is invalid.",
			 sc->invalid_if[i]);
}

static void explain_limits(struct strbuf *out, const struct scenario *sc)
{
	for (unsigned i = 0; i < sc->limits_count; i++) {
		const struct scenario_limit *l = &sc->limits[i];
		auto_strbuf struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, "%s:", l->name);
		if (l->min)
			strbuf_addf(&text, " at least %" PRId64 " in each trial;", *l->min);
		if (l->max)
			strbuf_addf(&text, " at most %" PRId64 " in each trial;", *l->max);
		if (l->min_baseline_pct)
			strbuf_addf(&text, " at least %u %% of the baseline's;",
				    l->min_baseline_pct);
		if (l->max_baseline_pct)
			strbuf_addf(&text, " at most %u %% of the baseline's;",
				    l->max_baseline_pct);
		text.data[text.len - 1] = '.';
		help_add_wrapped(out, strbuf_str(&text), 0, 0);
	}
	if (scenario_needs_baseline(sc)) {
		auto_free char *text = xasprintf(
			"Shares of a baseline are judged by the ratio's interval at %u %% "
			"confidence: FAIL if all of it is outside, PASS only if none of it is. The "
			"baseline is measured in %u valid trials; a run ends before its last trial "
			"if it is outside at 99.9 %% confidence after two boots.",
			sc->limit.confidence_pct, scenario_baseline_trials(sc));

		help_add_wrapped(out, text, 0, 0);
	}
}

static void explain(struct strbuf *out, const struct scenario *sc)
{
	auto_strbuf struct strbuf needs = STRBUF_INIT;

	add_list(&needs, sc->needs.kernel_modules, sc->needs.kernel_modules_count);
	fact_add(out, "scenario", "%s: %s", sc->name, text_or_empty(sc->title));
	fact_add(out, "file", "%s", sc->path);
	fact_add(out, "sha256", "%s", sc->sha256);
	fact_add(out, "needs", "kernel modules %s", needs.len ? strbuf_str(&needs) : "none");
	if (sc->needs.programs_count) {
		strbuf_reset(&needs);
		add_list(&needs, sc->needs.programs, sc->needs.programs_count);
		fact_add(out, "", "programs %s", strbuf_str(&needs));
	}
	for (unsigned i = 0; i < sc->needs.disks_count; i++)
		fact_add(out, "", "a disk '%s' of %u MiB, %s", sc->needs.disks[i].name,
			 sc->needs.disks[i].size_mib, sc->needs.disks[i].driver);
	strbuf_adds(out, "\nWhat is done\n");
	if (scenario_is_load(sc))
		explain_loads(out, sc);
	else
		explain_trial(out, sc);
	strbuf_adds(out, "\nWhat is judged\n");
	explain_verdict(out, sc);
	explain_limits(out, sc);
	strbuf_adds(out, "\nHow long it takes\n");
	explain_time(out, sc);
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
	.summary = "Say in words what a scenario does, in order, and what is judged",
	.details =
		"Nothing is run. A SCENARIO without a slash that does not end in .yaml is the name of a "
		"scenario.",
	.positional = {.name = "SCENARIO", .type = OPT_SCENARIO, .min = 1, .max = 1},
	.run = run_explain,
};
