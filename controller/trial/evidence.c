/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evidence.c - the rules of evidence. */
#include "trial/evidence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* one period of the probe, one tick at HZ=100 and the time of the printk itself */
#define ATTRIBUTION_SLACK_US 30000

void evidence_set(struct trial *t, enum evidence_id id, bool is_there, const char *fmt, ...)
{
	struct evidence *ev = &t->evidence[id];
	va_list ap;

	ev->state = is_there ? EVIDENCE_OK : EVIDENCE_MISSING;
	va_start(ap, fmt);
	(void)vsnprintf(ev->detail, sizeof(ev->detail), fmt, ap);
	va_end(ap);
}

static bool is_in(char *const *list, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

bool scenario_counts_probe(const struct scenario *sc, const char *probe)
{
	return is_in(sc->probe.count, sc->probe.count_count, probe);
}

bool scenario_watches_probe(const struct scenario *sc, const char *probe)
{
	return is_in(sc->probe.watch, sc->probe.watch_count, probe);
}

void evidence_check_booted_build(struct trial *t, const struct observation *o)
{
	bool has_banner = strstr(o->build.banner, o->build.release) != NULL &&
			  strstr(o->build.banner, o->build.version) != NULL;
	bool has_uname = strcmp(o->build.agent_release, o->build.release) == 0 &&
			 strcmp(o->build.agent_version, o->build.version) == 0;

	if (has_banner && has_uname)
		evidence_set(t, EVIDENCE_BOOTED_BUILD, true, "%s %s", o->build.release,
			     o->build.version);
	else if (!o->build.banner[0])
		evidence_set(t, EVIDENCE_BOOTED_BUILD, false, "no banner on the console");
	else
		evidence_set(t, EVIDENCE_BOOTED_BUILD, false, "asked for '%s %s', runs '%s %s'",
			     o->build.release, o->build.version, o->build.agent_release,
			     o->build.agent_version);
}

void evidence_check_console_audible(struct trial *t, const struct observation *o)
{
	const struct seen_event *mark;

	/* KERN_CRIT is 2 and a message shows if its number is below the console level */
	if (o->console_loglevel <= 2) {
		evidence_set(t, EVIDENCE_CONSOLE_AUDIBLE, false,
			     "console log level %" PRId64 " hides KERN_CRIT (2)",
			     o->console_loglevel);
		return;
	}
	mark = event_log_find_mark(o->log, o->log_from, o->mark_start);
	evidence_set(t, EVIDENCE_CONSOLE_AUDIBLE, mark != NULL,
		     mark ? "marker %s seen at log level %" PRId64
			  : "marker %s not seen at log level %" PRId64,
		     o->mark_start, o->console_loglevel);
}

/* The longest finished DELAY line of one CPU's counted probes from `from` up to `to`; -1 = none. */
static int64_t console_max_us(const struct observation *o, size_t from, size_t to, int cpu)
{
	int64_t max_us = -1;

	for (size_t i = from; i < to; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;

		if (ev->cls != CONSOLE_DELAY || ev->is_suspect || ev->u.delay.is_live)
			continue;
		if (cpu >= 0 && ev->u.delay.cpu != cpu)
			continue;
		if (!scenario_counts_probe(o->scenario, ev->u.delay.probe))
			continue;
		if (ev->u.delay.us > max_us)
			max_us = ev->u.delay.us;
	}
	return max_us;
}

/* The longest counted delay in a state, of one CPU or (cpu -1) of all. NULL = no such probe. */
static const struct probe_row *state_max(const struct scenario *sc, const struct probe_state *st,
					 int cpu)
{
	const struct probe_row *max = NULL;

	for (size_t i = 0; i < st->n_rows; i++) {
		const struct probe_row *row = &st->rows[i];

		if ((cpu >= 0 && row->cpu != cpu) || !scenario_counts_probe(sc, row->probe))
			continue;
		if (!max || row->max_us > max->max_us)
			max = row;
	}
	return max;
}

void evidence_check_probe_coverage(struct trial *t, const struct probe_state *st,
				   const struct scenario *sc, int cpu)
{
	if (!state_max(sc, st, cpu))
		evidence_set(t, EVIDENCE_PROBE_ON_CPU, false,
			     "CPU%d takes the interrupts of '%s', no judged probe watches it", cpu,
			     sc->prepare.irq.match);
}

void evidence_check_control_positive(struct trial *t, const struct observation *o)
{
	const struct scenario *sc = o->scenario;
	int64_t tolerance_us = (int64_t)sc->controls.stall_tolerance_ms * 1000;
	int64_t actual_us = o->control.actual_us;
	const struct probe_row *row = state_max(o->scenario, &o->control.state, o->control.cpu);
	int64_t probe_us = row ? row->max_us : -1;
	int64_t console_us = console_max_us(o, o->control.log_from, o->log->n, o->control.cpu);
	bool is_seen = probe_us >= 0 && llabs(probe_us - actual_us) <= tolerance_us;
	bool is_heard = console_us >= 0 && llabs(console_us - actual_us) <= tolerance_us;
	/* the target's clocks need not agree to the per cent, least of all emulated ones */
	bool is_injected = actual_us * 5 >= (int64_t)sc->controls.stall_ms * 1000 * 4;

	trial_add_number(t, "control_actual_us", actual_us);
	trial_add_number(t, "control_probe_us", probe_us);
	trial_add_number(t, "control_console_us", console_us);
	evidence_set(t, EVIDENCE_CONTROL_POSITIVE, is_injected && is_seen && is_heard,
		     "stall of %" PRId64 " us on CPU%d: probe %" PRId64 " us, console %" PRId64
		     " us (tolerance %" PRId64 " us)",
		     actual_us, o->control.cpu, probe_us, console_us, tolerance_us);
}

void evidence_check_cache_loaded(struct trial *t, const struct observation *o)
{
	int64_t floor_bytes = o->file_bytes / 100 * o->scenario->load.cache_floor_pct;

	trial_add_number(t, "cached_kib", o->cached_bytes / 1024);
	evidence_set(t, EVIDENCE_CACHE_LOADED, o->file_bytes > 0 && o->cached_bytes >= floor_bytes,
		     "%" PRId64 " KiB of %" PRId64 " KiB cached, floor %u %%",
		     o->cached_bytes / 1024, o->file_bytes / 1024,
		     o->scenario->load.cache_floor_pct);
}

void evidence_check_cut_applied(struct trial *t, const struct observation *o)
{
	int64_t took_us = (o->cut_applied_ns - o->cut_asked_ns) / NSEC_PER_USEC;

	if (!o->is_cut_sensed || o->cut_applied_ns == 0) {
		evidence_set(t, EVIDENCE_CUT_APPLIED, false,
			     "the switch says off, the stick is still there");
		return;
	}
	trial_add_number(t, "cut_applied_us", took_us);
	evidence_set(t, EVIDENCE_CUT_APPLIED, true, "sensed %" PRId64 " us after the command",
		     took_us);
}

void evidence_check_cut_seen(struct trial *t, const struct observation *o)
{
	const struct seen_event *ev = event_log_find_disconnect(o->log, o->log_armed, o->usb_path);
	int64_t took_us;

	if (!ev) {
		evidence_set(t, EVIDENCE_CUT_SEEN, false,
			     "no 'usb %s: USB disconnect' within %u ms", o->usb_path,
			     o->scenario->stimulus.seen_timeout_ms);
		return;
	}
	took_us = (ev->ev.t_host_ns - o->cut_asked_ns) / NSEC_PER_USEC;
	trial_add_number(t, "cut_seen_us", took_us);
	evidence_set(
		t, EVIDENCE_CUT_SEEN,
		took_us >= 0 && took_us <= (int64_t)o->scenario->stimulus.seen_timeout_ms * 1000,
		"usb %s: USB disconnect %" PRId64 " us after the command", o->usb_path, took_us);
}

static void check_probe_running(struct trial *t, const struct observation *o)
{
	unsigned n_probes = 0;

	for (size_t i = 0; i < o->before.n_rows; i++) {
		const struct probe_row *a = &o->before.rows[i];
		const struct probe_row *b = probe_state_find(&o->after, a->cpu, a->probe);

		if (!scenario_counts_probe(o->scenario, a->probe) &&
		    !scenario_watches_probe(o->scenario, a->probe))
			continue;
		n_probes++;
		if (!b) {
			evidence_set(t, EVIDENCE_PROBE_RUNNING, false, "probe %s of CPU%d is gone",
				     a->probe, a->cpu);
			return;
		}
		/* work that is stuck does not beat, but its age says that the probe lives */
		if (b->beats <= a->beats && b->pending_us == 0) {
			evidence_set(t, EVIDENCE_PROBE_RUNNING, false,
				     "probe %s of CPU%d stands still at beat %" PRId64, a->probe,
				     a->cpu, a->beats);
			return;
		}
	}
	if (!state_max(o->scenario, &o->before, -1)) {
		evidence_set(t, EVIDENCE_PROBE_RUNNING, false, "no probe that counts is there");
		return;
	}
	evidence_set(t, EVIDENCE_PROBE_RUNNING, true, "%u probes advanced", n_probes);
}

static void check_probe_on_cpu(struct trial *t, const struct observation *o)
{
	size_t n = o->irq_after.n_cpus;
	bool is_seen = false;

	for (size_t cpu = 0; cpu < n; cpu++) {
		int64_t delta = o->irq_after.per_cpu[cpu] - o->irq_before.per_cpu[cpu];

		if (delta <= 0)
			continue;
		if (!state_max(o->scenario, &o->after, (int)cpu)) {
			evidence_set(t, EVIDENCE_PROBE_ON_CPU, false,
				     "CPU%zu took %" PRId64 " interrupts of '%s', no probe there",
				     cpu, delta, o->scenario->prepare.irq.match);
			return;
		}
		if (!is_seen)
			evidence_set(t, EVIDENCE_PROBE_ON_CPU, true,
				     "CPU%zu took %" PRId64 " interrupts of '%s', probe there", cpu,
				     delta, o->scenario->prepare.irq.match);
		is_seen = true;
	}
	if (!is_seen)
		evidence_set(t, EVIDENCE_PROBE_ON_CPU, false,
			     "no interrupt of '%s' was counted around the cut",
			     o->scenario->prepare.irq.match);
}

static void check_window_covered(struct trial *t, const struct observation *o)
{
	const struct seen_event *cut = event_log_find_disconnect(o->log, o->log_armed, o->usb_path);
	const struct seen_event *mark = NULL;
	int64_t listened_ms;

	if (!cut) {
		evidence_set(t, EVIDENCE_WINDOW_COVERED, false, "the window never began");
		return;
	}
	if (o->mark_end)
		mark = event_log_find_mark(o->log, o->log_armed, o->mark_end);
	listened_ms = (o->end_ns - cut->ev.t_host_ns) / NSEC_PER_MSEC;
	trial_add_number(t, "window_ms", listened_ms);
	if (!mark)
		evidence_set(t, EVIDENCE_WINDOW_COVERED, false,
			     "the console did not show the marker at the end of the window");
	else
		evidence_set(t, EVIDENCE_WINDOW_COVERED,
			     listened_ms >= (int64_t)o->scenario->window.min_ms,
			     "listened %" PRId64 " ms after the disconnect, asked %u ms",
			     listened_ms, o->scenario->window.min_ms);
}

static void check_console_intact(struct trial *t, const struct observation *o)
{
	const struct console_integrity *a = &o->integrity_before;
	const struct console_integrity *b = &o->integrity_after;
	uint64_t dropped = b->dropped_messages - a->dropped_messages;
	uint64_t overruns = b->overruns - a->overruns;
	uint64_t suspect = b->suspect_lines - a->suspect_lines;
	uint64_t garbage = b->garbage_bytes - a->garbage_bytes;
	uint64_t cut = b->truncated_lines - a->truncated_lines;

	evidence_set(t, EVIDENCE_CONSOLE_INTACT,
		     dropped + overruns + suspect + garbage + cut + o->log->lost == 0,
		     "%" PRIu64 " dropped, %" PRIu64 " overruns, %" PRIu64
		     " suspect lines, %" PRIu64 " garbage bytes, %" PRIu64 " lines cut",
		     dropped, overruns, suspect, garbage, cut);
}

static void copy_delays(struct trial *t, const struct observation *o)
{
	for (size_t i = o->log_armed; i < o->log->n; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;
		struct trial_delay *d;

		if (ev->cls != CONSOLE_DELAY)
			continue;
		d = trial_add_delay(t);
		if (!d)
			return;
		d->us = ev->u.delay.us;
		d->cpu = ev->u.delay.cpu;
		(void)snprintf(d->probe, sizeof(d->probe), "%s", ev->u.delay.probe);
		d->due_us = ev->u.delay.due_ns == CONSOLE_UNKNOWN ? CONSOLE_UNKNOWN
								  : ev->u.delay.due_ns / 1000;
		d->t_host_ns = ev->t_host_ns;
		d->offset = ev->offset;
		d->is_live = ev->u.delay.is_live;
		d->is_suspect = ev->is_suspect;
	}
}

/* A finished line of a counted probe with just this length. */
static bool console_has_us(const struct observation *o, int64_t us)
{
	for (size_t i = o->log_armed; i < o->log->n; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;

		if (ev->cls == CONSOLE_DELAY && !ev->is_suspect && !ev->u.delay.is_live &&
		    ev->u.delay.us == us && scenario_counts_probe(o->scenario, ev->u.delay.probe))
			return true;
	}
	return false;
}

bool evidence_console_is_complete(const struct observation *o)
{
	const struct probe_row *max = state_max(o->scenario, &o->after, -1);
	int64_t n_lines = 0;

	for (size_t i = o->log_armed; i < o->log->n; i++)
		n_lines += o->log->rows[i].ev.cls == CONSOLE_DELAY;
	return n_lines >= o->after.seq &&
	       (!max || max->max_us < o->after.threshold_us || console_has_us(o, max->max_us));
}

/*
 * Every line that the module had printed when its state was read must be here, once and in order,
 * none of them longer than the module's maximum, and one of them, or one that came after, as long.
 */
static void check_probes_agree(struct trial *t, const struct observation *o)
{
	const struct probe_row *max = state_max(o->scenario, &o->after, -1);
	int64_t probe_us = max ? max->max_us : -1;
	int64_t expected_seq = 1;

	for (size_t i = o->log_armed; i < o->log->n && expected_seq <= o->after.seq; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;

		if (ev->cls != CONSOLE_DELAY || ev->is_suspect)
			continue;
		if (ev->u.delay.seq != expected_seq) {
			evidence_set(t, EVIDENCE_PROBES_AGREE, false,
				     "DELAY line %" PRId64 " came, %" PRId64 " was due",
				     ev->u.delay.seq, expected_seq);
			return;
		}
		if (!ev->u.delay.is_live && ev->u.delay.us > probe_us &&
		    scenario_counts_probe(o->scenario, ev->u.delay.probe)) {
			evidence_set(t, EVIDENCE_PROBES_AGREE, false,
				     "the console shows %" PRId64
				     " us, the module's longest is %" PRId64 " us",
				     ev->u.delay.us, probe_us);
			return;
		}
		expected_seq++;
	}
	if (expected_seq <= o->after.seq) {
		evidence_set(t, EVIDENCE_PROBES_AGREE, false,
			     "the module printed %" PRId64 " lines, the console shows %" PRId64,
			     o->after.seq, expected_seq - 1);
		return;
	}
	/* below the threshold nothing is printed */
	if (probe_us >= o->after.threshold_us && !console_has_us(o, probe_us)) {
		evidence_set(t, EVIDENCE_PROBES_AGREE, false,
			     "the module's longest delay, %" PRId64 " us, is not on the console",
			     probe_us);
		return;
	}
	evidence_set(t, EVIDENCE_PROBES_AGREE, true,
		     "%" PRId64 " lines in both, longest %" PRId64 " us", o->after.seq, probe_us);
}

/*
 * A delay over the limit must have been due between the disconnect and attribution_ms later; the
 * hub's work starts a little before it prints, hence the slack.
 */
static void check_attributable(struct trial *t, const struct observation *o)
{
	const struct seen_event *cut = event_log_find_disconnect(o->log, o->log_armed, o->usb_path);
	int64_t limit_us = (int64_t)o->scenario->limit.max_ms * 1000;
	int64_t from_us;
	int64_t to_us;

	if (!cut || cut->ev.t_kernel_us == CONSOLE_UNKNOWN) {
		evidence_set(t, EVIDENCE_ATTRIBUTABLE, false, "the disconnect has no time stamp");
		return;
	}
	from_us = cut->ev.t_kernel_us - ATTRIBUTION_SLACK_US - o->after.period_us;
	to_us = cut->ev.t_kernel_us + (int64_t)o->scenario->window.attribution_ms * 1000;
	for (size_t i = 0; i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];

		if (d->is_suspect || d->us <= limit_us ||
		    !scenario_counts_probe(o->scenario, d->probe))
			continue;
		if (d->due_us < from_us || d->due_us > to_us) {
			evidence_set(t, EVIDENCE_ATTRIBUTABLE, false,
				     "delay of %" PRId64 " us on CPU%d was due %" PRId64
				     " us after the disconnect",
				     d->us, d->cpu, d->due_us - cut->ev.t_kernel_us);
			return;
		}
	}
	evidence_set(t, EVIDENCE_ATTRIBUTABLE, true,
		     "every delay over the limit was due within %u ms of the disconnect",
		     o->scenario->window.attribution_ms);
}

static void check_controls_quiet(struct trial *t, const struct observation *o)
{
	int64_t max_us = 0;
	const struct probe_row *loudest = NULL;

	for (size_t i = 0; i < o->after.n_rows; i++) {
		const struct probe_row *row = &o->after.rows[i];
		int64_t us = row->max_us > row->pending_us ? row->max_us : row->pending_us;

		if (!scenario_watches_probe(o->scenario, row->probe))
			continue;
		if (!loudest || us > max_us) {
			max_us = us;
			loudest = row;
		}
	}
	if (!loudest) {
		evidence_set(t, EVIDENCE_CONTROLS_QUIET, o->scenario->probe.watch_count == 0,
			     "no control probe is there");
		return;
	}
	trial_add_number(t, "watch_max_us", max_us);
	evidence_set(t, EVIDENCE_CONTROLS_QUIET,
		     max_us <= (int64_t)o->scenario->controls.noise_max_ms * 1000,
		     "worst control %s of CPU%d: %" PRId64 " us, bound %u ms", loudest->probe,
		     loudest->cpu, max_us, o->scenario->controls.noise_max_ms);
}

/* The longest counted delay, whether it has ended or not. */
static void fill_worst(struct trial *t, const struct observation *o)
{
	for (size_t i = 0; i < o->after.n_rows; i++) {
		const struct probe_row *row = &o->after.rows[i];
		int64_t us = row->max_us > row->pending_us ? row->max_us : row->pending_us;

		if (!scenario_counts_probe(o->scenario, row->probe) || us <= t->worst_us)
			continue;
		t->worst_us = us;
		t->worst_cpu = row->cpu;
		(void)snprintf(t->worst_probe, sizeof(t->worst_probe), "%s", row->probe);
	}
	if (o->cached_bytes > 0 && t->worst_us > 0)
		trial_add_number(t, "worst_ns_per_page",
				 t->worst_us * 1000 / (o->cached_bytes / 4096 + 1));
}

void evidence_check_window(struct trial *t, const struct observation *o)
{
	copy_delays(t, o);
	check_probe_running(t, o);
	check_probe_on_cpu(t, o);
	check_window_covered(t, o);
	check_console_intact(t, o);
	check_probes_agree(t, o);
	check_attributable(t, o);
	check_controls_quiet(t, o);
	fill_worst(t, o);
}

void evidence_check_environment(struct trial *t, const struct observation *o)
{
	bool is_same = strcmp(o->environment_before, o->environment_after) == 0;

	evidence_set(t, EVIDENCE_ENVIRONMENT_SAME, is_same, is_same ? "%.180s" : "now %.180s",
		     o->environment_after);
}

void evidence_conclude(struct trial *t)
{
	t->is_valid = false;
	if (t->is_crash)
		return;
	for (int id = 0; id < EVIDENCE_MAX; id++) {
		if (t->evidence[id].state == EVIDENCE_MISSING) {
			t->missing = (enum evidence_id)id;
			return;
		}
	}
	for (int id = 0; id < EVIDENCE_MAX; id++) {
		if (t->evidence[id].state == EVIDENCE_NOT_REACHED) {
			t->missing = (enum evidence_id)id;
			return;
		}
	}
	t->is_valid = true;
}
