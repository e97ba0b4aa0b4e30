/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evidence.c - the rules of evidence. */
#include "trial/evidence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* one period of the probe, one tick at HZ=100 and the time of the printk itself */
#define ATTRIBUTION_SLACK_US 30000
/* of what was written and must not have reached the stick before the cut */
#define DIRTY_FLOOR_PCT 90

static void printf_like(4, 5)
	evidence_set(struct trial *t, enum evidence_id id, bool is_there, const char *fmt, ...)
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

static void check_booted_build(struct trial *t, const struct observation *o)
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
	else if (has_uname)
		evidence_set(t, EVIDENCE_BOOTED_BUILD, false, "asked for '%s %s', '%.60s…' came",
			     o->build.release, o->build.version, o->build.banner);
	else
		evidence_set(t, EVIDENCE_BOOTED_BUILD, false, "asked for '%s %s', runs '%s %s'",
			     o->build.release, o->build.version, o->build.agent_release,
			     o->build.agent_version);
}

static void check_console_audible(struct trial *t, const struct observation *o)
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

/*
 * First event at or after `from` that was printed after the module's reset: the module numbers its
 * lines from 1 again, and lines of the time before may still have been on their way. `to` if there
 * is none.
 */
static size_t since_reset(const struct observation *o, size_t from, size_t to)
{
	size_t first = to;

	for (size_t i = from; i < to; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;

		if (ev->cls == CONSOLE_DELAY && !ev->is_suspect && ev->u.delay.seq == 1)
			first = i;
	}
	return first;
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

/* Early form of probe-on-cpu: nobody watches the CPU on which the unplug will be handled. */
static void check_coverage(struct trial *t, const struct observation *o)
{
	if (scenario_is_load(o->scenario)) {
		if (!state_max(o->scenario, &o->control.state, o->control.cpu))
			evidence_set(t, EVIDENCE_PROBE_ON_CPU, false,
				     "no judged probe watches CPU%d", o->control.cpu);
		return;
	}
	if (!state_max(o->scenario, &o->control.state, o->control.cpu))
		evidence_set(t, EVIDENCE_PROBE_ON_CPU, false,
			     "CPU%d takes the interrupts of '%s', no judged probe watches it",
			     o->control.cpu, o->scenario->prepare.irq.match);
}

bool evidence_control_is_heard(const struct observation *o)
{
	const struct probe_row *row = state_max(o->scenario, &o->control.state, o->control.cpu);
	size_t from = since_reset(o, o->control.log_from, o->control.log_to);

	return row && console_max_us(o, from, o->control.log_to, o->control.cpu) >= row->max_us;
}

static void check_control_positive(struct trial *t, const struct observation *o)
{
	const struct scenario *sc = o->scenario;
	int64_t tolerance_us = (int64_t)sc->controls.stall_tolerance_ms * 1000;
	int64_t actual_us = o->control.actual_us;
	const struct probe_row *row = state_max(o->scenario, &o->control.state, o->control.cpu);
	int64_t probe_us = row ? row->max_us : -1;
	int64_t console_us =
		console_max_us(o, o->control.log_from, o->control.log_to, o->control.cpu);
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

static void check_cache_loaded(struct trial *t, const struct observation *o)
{
	const struct scenario *sc = o->scenario;
	int64_t floor_bytes = o->file_bytes / 100 * sc->load.cache_floor_pct;

	trial_add_number(t, "load_ms", o->load_ms);
	trial_add_number(t, "cached_kib", o->cached_bytes / 1024);
	if (sc->load.neighbour && o->neighbour_bytes < floor_bytes) {
		evidence_set(
			t, EVIDENCE_CACHE_LOADED, false,
			"%" PRId64 " KiB of the second stick's %" PRId64 " KiB cached, floor %u %%",
			o->neighbour_bytes / 1024, o->file_bytes / 1024, sc->load.cache_floor_pct);
		return;
	}
	if (sc->load.dirty_mib) {
		const int64_t dirty_kib = (int64_t)sc->load.dirty_mib * 1024;

		trial_add_number(t, "dirty_kib", o->dirty_kib);
		if (o->dirty_kib < dirty_kib * DIRTY_FLOOR_PCT / 100) {
			evidence_set(t, EVIDENCE_CACHE_LOADED, false,
				     "%" PRId64 " KiB of %" PRId64 " KiB are dirty, floor %d %%",
				     o->dirty_kib, dirty_kib, DIRTY_FLOOR_PCT);
			return;
		}
	}
	evidence_set(t, EVIDENCE_CACHE_LOADED, o->file_bytes > 0 && o->cached_bytes >= floor_bytes,
		     "%" PRId64 " KiB of %" PRId64 " KiB cached, floor %u %%",
		     o->cached_bytes / 1024, o->file_bytes / 1024, sc->load.cache_floor_pct);
}

static void check_cut_applied(struct trial *t, const struct observation *o)
{
	int64_t took_us = (o->cut_applied_ns - o->cut_asked_ns) / NSEC_PER_USEC;

	if (!(o->is_cut_sensed || o->is_cut_blind) || o->cut_applied_ns == 0) {
		evidence_set(t, EVIDENCE_CUT_APPLIED, false,
			     "the switch says off, the stick is still there");
		return;
	}
	trial_add_number(t, "cut_applied_us", took_us);
	if (o->is_cut_soft) {
		trial_add_number(t, "cut_is_soft", 1);
		evidence_set(t, EVIDENCE_CUT_APPLIED, true,
			     "soft unplug: the target closed its port %" PRId64
			     " us after the command, nothing was cut",
			     took_us);
		return;
	}
	evidence_set(t, EVIDENCE_CUT_APPLIED, true, "%s %" PRId64 " us after the command%s",
		     o->is_cut_blind ? "claimed" : "sensed", took_us,
		     o->is_cut_blind ? ", this switch cannot measure it" : "");
}

static void check_cut_seen(struct trial *t, const struct observation *o)
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
	const struct {
		const char *what;
		uint64_t n;
	} damage[] = {
		{"dropped messages", b->dropped_messages - a->dropped_messages},
		{"overruns", b->overruns - a->overruns},
		{"suspect lines", b->suspect_lines - a->suspect_lines},
		{"garbage bytes", b->garbage_bytes - a->garbage_bytes},
		{"lines cut", b->truncated_lines - a->truncated_lines},
		{"broken time stamps", b->broken_stamps - a->broken_stamps},
		{"records missing", b->kmsg_seq_gaps - a->kmsg_seq_gaps},
		{"dumps of no known kind", b->unclassified_dumps - a->unclassified_dumps},
		{"events not kept", o->log->lost},
		{"losses of the port",
		 (uint64_t)(o->console_losses_after - o->console_losses_before)},
	};
	char text[128] = "";

	for (size_t i = 0; i < ARRAY_SIZE(damage); i++) {
		size_t len = strlen(text);

		if (damage[i].n)
			(void)snprintf(text + len, sizeof(text) - len, "%s%" PRIu64 " %s",
				       len ? ", " : "", damage[i].n, damage[i].what);
	}
	if (text[0])
		evidence_set(t, EVIDENCE_CONSOLE_INTACT, false, "%s", text);
	else
		evidence_set(t, EVIDENCE_CONSOLE_INTACT, true,
			     "%" PRIu64 " bytes, none dropped, lost or damaged",
			     b->bytes - a->bytes);
}

static void copy_delays(struct trial *t, const struct observation *o)
{
	for (size_t i = since_reset(o, o->log_armed, o->log_window); i < o->log_window; i++) {
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
	for (size_t i = since_reset(o, o->log_armed, o->log_window); i < o->log_window; i++) {
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

	for (size_t i = since_reset(o, o->log_armed, o->log_window); i < o->log_window; i++)
		n_lines += o->log->rows[i].ev.cls == CONSOLE_DELAY;
	return n_lines >= o->after.seq &&
	       (!max || max->max_us < o->after.threshold_us || console_has_us(o, max->max_us));
}

/* A judged probe that put a delay down to its own printing: it may have been the kernel's. */
static const struct probe_row *row_with_self(const struct observation *o)
{
	for (size_t i = 0; i < o->after.n_rows; i++)
		if (o->after.rows[i].self > 0 &&
		    scenario_counts_probe(o->scenario, o->after.rows[i].probe))
			return &o->after.rows[i];
	return NULL;
}

/* A judged delay over the limit that is as good a measure of the serial line. */
static const struct seen_event *delay_by_printing(const struct observation *o)
{
	int64_t limit_us = (int64_t)o->scenario->limit.max_ms * 1000;

	for (size_t i = since_reset(o, o->log_armed, o->log_window); i < o->log_window; i++) {
		const struct seen_event *row = &o->log->rows[i];

		if (row->is_printing && !row->ev.is_suspect && row->ev.u.delay.us > limit_us &&
		    scenario_counts_probe(o->scenario, row->ev.u.delay.probe))
			return row;
	}
	return NULL;
}

/*
 * Every line that the module had printed when its state was read must be here, once and in order,
 * none of them longer than the module's maximum, and one of them, or one that came after, as long.
 */
static void check_probes_agree(struct trial *t, const struct observation *o)
{
	const struct probe_row *max = state_max(o->scenario, &o->after, -1);
	const struct probe_row *self = row_with_self(o);
	const struct seen_event *printing = delay_by_printing(o);
	int64_t probe_us = max ? max->max_us : -1;
	int64_t expected_seq = 1;

	if (self) {
		evidence_set(t, EVIDENCE_PROBES_AGREE, false,
			     "probe %s of CPU%d put %" PRId64 " delays down to its own printing",
			     self->probe, self->cpu, self->self);
		return;
	}
	if (printing) {
		evidence_set(t, EVIDENCE_PROBES_AGREE, false,
			     "delay of %" PRId64 " us on CPU%d: sending at %" PRId64
			     " baud may have made it, the line was busy for half of it",
			     printing->ev.u.delay.us, printing->ev.u.delay.cpu, o->log->load->baud);
		return;
	}

	for (size_t i = since_reset(o, o->log_armed, o->log_window);
	     i < o->log_window && expected_seq <= o->after.seq; i++) {
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

static int64_t row_worst_us(const struct probe_row *row)
{
	return row->max_us > row->pending_us ? row->max_us : row->pending_us;
}

/*
 * A kernel that lets nothing at all run on a CPU holds up the control probes as well. That is told
 * from a host that is busy by what the host's scheduler says: if the most that it kept the target
 * waiting in any stretch as long had fallen into the one delay, both the control's and the judged
 * one would still be beyond their bounds. Such a trial is over the limit, so this can make none
 * pass.
 */
static bool is_kernels_doing(const struct observation *o, int64_t control_us)
{
	return o->is_host_wait_known &&
	       control_us - o->host_wait_us > (int64_t)o->scenario->controls.noise_max_ms * 1000 &&
	       evidence_worst_us(o) - o->host_wait_us > (int64_t)o->scenario->limit.max_ms * 1000;
}

static void check_controls_quiet(struct trial *t, const struct observation *o)
{
	int64_t max_us = 0;
	const struct probe_row *loudest = NULL;
	char host[112] = "";
	bool is_quiet, is_kernel;

	for (size_t i = 0; i < o->after.n_rows; i++) {
		const struct probe_row *row = &o->after.rows[i];
		int64_t us = row_worst_us(row);

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
	is_quiet = max_us <= (int64_t)o->scenario->controls.noise_max_ms * 1000;
	is_kernel = !is_quiet && is_kernels_doing(o, max_us);
	if (o->is_host_wait_known) {
		trial_add_number(t, "host_wait_us", o->host_wait_us);
		(void)snprintf(host, sizeof(host),
			       "; the host kept the target waiting for %" PRId64 " us at most%s",
			       o->host_wait_us,
			       is_kernel  ? ", so the kernel held the CPU"
			       : is_quiet ? ""
					  : ", which may be why");
	}
	evidence_set(t, EVIDENCE_CONTROLS_QUIET, is_quiet || is_kernel,
		     "worst control %s of CPU%d: %" PRId64 " us, bound %u ms%s", loudest->probe,
		     loudest->cpu, max_us, o->scenario->controls.noise_max_ms, host);
}

/* The judged probe with the longest delay, whether that has ended or not. */
static const struct probe_row *worst_row(const struct observation *o)
{
	const struct probe_row *worst = NULL;

	for (size_t i = 0; i < o->after.n_rows; i++) {
		const struct probe_row *row = &o->after.rows[i];

		if (scenario_counts_probe(o->scenario, row->probe) &&
		    (!worst || row_worst_us(row) > row_worst_us(worst)))
			worst = row;
	}
	return worst;
}

int64_t evidence_worst_us(const struct observation *o)
{
	const struct probe_row *row = worst_row(o);

	return row ? row_worst_us(row) : -1;
}

int64_t evidence_longest_us(const struct observation *o)
{
	int64_t longest_us = 0;

	for (size_t i = 0; i < o->after.n_rows; i++) {
		const struct probe_row *row = &o->after.rows[i];

		if ((scenario_counts_probe(o->scenario, row->probe) ||
		     scenario_watches_probe(o->scenario, row->probe)) &&
		    row_worst_us(row) > longest_us)
			longest_us = row_worst_us(row);
	}
	return longest_us;
}

static void fill_worst(struct trial *t, const struct observation *o)
{
	const struct probe_row *row = worst_row(o);

	if (!row)
		return;
	t->worst_us = row_worst_us(row);
	t->worst_cpu = row->cpu;
	(void)snprintf(t->worst_probe, sizeof(t->worst_probe), "%s", row->probe);
	if (o->worst_func)
		(void)snprintf(t->worst_func, sizeof(t->worst_func), "%s", o->worst_func);
	if (o->cached_bytes > 0)
		trial_add_number(t, "worst_ns_per_page",
				 t->worst_us * 1000 / (o->cached_bytes / 4096 + 1));
}

/* Of a load the window is what lies between the two markers. */
static void check_load_window(struct trial *t, const struct observation *o)
{
	const struct seen_event *mark =
		o->mark_end ? event_log_find_mark(o->log, o->log_armed, o->mark_end) : NULL;

	evidence_set(t, EVIDENCE_WINDOW_COVERED, mark != NULL, "%s",
		     mark ? "the console showed the marker behind the loads"
			  : "the console did not show the marker behind the loads");
	copy_delays(t, o);
	check_probe_running(t, o);
	check_console_intact(t, o);
	check_probes_agree(t, o);
	check_controls_quiet(t, o);
	fill_worst(t, o);
}

static void copy_numbers(struct trial *t, const struct observation *o)
{
	for (size_t i = 0; i < o->n_numbers; i++)
		trial_add_number(t, o->numbers[i].name, o->numbers[i].value);
}

static void check_loads(struct trial *t, const struct observation *o)
{
	bool is_broken = o->machine_broken && *o->machine_broken;

	copy_numbers(t, o);
	evidence_set(t, EVIDENCE_LOADS_DONE, o->loads_done == o->loads_planned,
		     "%u of %u loads ran to their end", o->loads_done, o->loads_planned);
	evidence_set(t, EVIDENCE_MACHINE_SOUND, !is_broken, "%.180s",
		     is_broken ? o->machine_broken : "nothing on the console says otherwise");
}

static void check_window(struct trial *t, const struct observation *o)
{
	if (scenario_is_load(o->scenario)) {
		check_load_window(t, o);
		return;
	}
	copy_numbers(t, o); /* of the profile */
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

static void check_environment(struct trial *t, const struct observation *o)
{
	bool is_same = strcmp(o->environment_before, o->environment_after) == 0;

	evidence_set(t, EVIDENCE_ENVIRONMENT_SAME, is_same, is_same ? "%.180s" : "now %.180s",
		     o->environment_after);
}

static void check_replugged(struct trial *t, const struct observation *o)
{
	trial_add_number(t, "replug_ms", o->replug_ms);
	evidence_set(t, EVIDENCE_REPLUGGED, strcmp(o->replug_path, o->usb_path) == 0,
		     "the stick came back at usb %s after %" PRId64 " ms, expected at %s",
		     o->replug_path, o->replug_ms, o->usb_path);
}

/* In the order of the steps. */
static const struct rule {
	enum observed what;
	void (*check)(struct trial *t, const struct observation *o);
	enum evidence_id demands; /* what must be there for the trial to go on */
} rules[] = {
	{OBSERVED_BUILD, check_booted_build, EVIDENCE_BOOTED_BUILD},
	{OBSERVED_MARK, check_console_audible, EVIDENCE_CONSOLE_AUDIBLE},
	{OBSERVED_COVERAGE, check_coverage, EVIDENCE_PROBE_ON_CPU},
	{OBSERVED_CONTROL, check_control_positive, EVIDENCE_CONTROL_POSITIVE},
	{OBSERVED_CACHE, check_cache_loaded, EVIDENCE_CACHE_LOADED},
	{OBSERVED_CUT, check_cut_applied, EVIDENCE_CUT_APPLIED},
	{OBSERVED_DISCONNECT, check_cut_seen, EVIDENCE_CUT_SEEN},
	{OBSERVED_LOADS, check_loads, EVIDENCE_LOADS_DONE},
	{OBSERVED_WINDOW, check_window, EVIDENCE_WINDOW_COVERED},
	{OBSERVED_REPLUG, check_replugged, EVIDENCE_REPLUGGED},
	{OBSERVED_ENVIRONMENT, check_environment, EVIDENCE_ENVIRONMENT_SAME},
};

bool evidence_reach(struct observation *o, enum observed what)
{
	bool is_there = false;

	o->reached |= what;
	o->log_end = o->log->n;
	if (what == OBSERVED_WINDOW)
		o->log_window = o->log->n;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct trial *t;

		if (rules[i].what != what)
			continue;
		t = trial_new();
		rules[i].check(t, o);
		is_there = t->evidence[rules[i].demands].state != EVIDENCE_MISSING;
		trial_free(t);
	}
	return is_there;
}

static void add_length(struct trial_incident *inc, const struct console_event *ev)
{
	if (console_class_severity(ev->cls) >= CONSOLE_STALL && ev->u.stall.seconds > inc->worst_s)
		inc->worst_s = ev->u.stall.seconds;
}

/* Returns what the event went to; NULL if there was no room. */
static struct trial_incident *copy_incident(struct trial *t, const struct console_event *ev)
{
	const char *cls = console_class_name(ev->cls);
	struct trial_incident *inc;

	for (size_t i = 0; i < t->n_incidents; i++) {
		inc = &t->incidents[i];
		if (strcmp(inc->cls, cls) == 0 &&
		    strncmp(inc->title, ev->title, sizeof(inc->title) - 1) == 0) {
			inc->count++;
			add_length(inc, ev);
			return inc;
		}
	}
	inc = trial_add_incident(t);
	if (!inc)
		return NULL;
	(void)snprintf(inc->cls, sizeof(inc->cls), "%s", cls);
	(void)snprintf(inc->title, sizeof(inc->title), "%s", ev->title);
	inc->count = 1;
	inc->t_first_us = ev->t_kernel_us;
	inc->worst_s = CONSOLE_UNKNOWN;
	add_length(inc, ev);
	inc->offset = ev->offset;
	return inc;
}

static void copy_incidents(struct trial *t, const struct observation *o)
{
	size_t rcu = SIZE_MAX; /* the newest RCU stall: its length comes behind its head */

	for (size_t i = o->log_from; i < o->log_end; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;
		struct trial_incident *inc;

		if (ev->cls <= CONSOLE_BOOT || ev->cls == CONSOLE_USB_NEW)
			continue;
		if (ev->is_detail) {
			if (ev->cls == CONSOLE_RCU_STALL && rcu < t->n_incidents)
				add_length(&t->incidents[rcu], ev);
			continue;
		}
		inc = copy_incident(t, ev);
		if (ev->cls == CONSOLE_RCU_STALL)
			rcu = inc ? (size_t)(inc - t->incidents) : SIZE_MAX;
	}
}

/* Evidence that the other kind of scenario asks for. */
static void leave_out(struct trial *t, const struct scenario *sc)
{
	static const enum evidence_id of_unplug[] = {EVIDENCE_PROBE_ON_CPU, EVIDENCE_CACHE_LOADED,
						     EVIDENCE_CUT_APPLIED,  EVIDENCE_CUT_SEEN,
						     EVIDENCE_ATTRIBUTABLE, EVIDENCE_REPLUGGED};
	static const enum evidence_id of_load[] = {EVIDENCE_LOADS_DONE, EVIDENCE_MACHINE_SOUND};
	const bool is_load = scenario_is_load(sc);
	const enum evidence_id *ids = is_load ? of_unplug : of_load;
	size_t n = is_load ? ARRAY_SIZE(of_unplug) : ARRAY_SIZE(of_load);

	for (size_t i = 0; i < n; i++)
		t->evidence[ids[i]].state = EVIDENCE_NOT_NEEDED;
}

#define LOAD_MARKS  4 /* moments of one dd: a quarter of the file was read, half of it, … */
#define LOAD_MS_MAX (24 * 3600 * 1000) /* no dd of a trial takes a day */

static void copy_load(struct trial *t, const struct observation *o)
{
	const int64_t start_ns = o->load_started_ns - o->cut_asked_ns;
	const char *p = o->load_progress;
	int64_t marked = 0; /* the last quarter that has its moment */

	while (p && *p && o->file_bytes > 0) {
		char *end;
		int64_t ms = strtoll(p, &end, 10);
		bool has_bytes = *end == ':' && end[1] >= '0' && end[1] <= '9';
		int64_t bytes = has_bytes ? strtoll(end + 1, &end, 10) : -1;

		if (ms < 0 || ms > LOAD_MS_MAX || bytes < 0 || bytes > INT64_MAX / LOAD_MARKS ||
		    (*end && *end != ' '))
			return;
		if (!t->n_load)
			trial_add_load_point(t, start_ns, 0);
		trial_add_load_point(t, start_ns + ms * NSEC_PER_MSEC, bytes);
		if (bytes * LOAD_MARKS / o->file_bytes > marked) {
			marked = bytes * LOAD_MARKS / o->file_bytes;
			trial_add_moment(t, start_ns + ms * NSEC_PER_MSEC, "dd",
					 "%" PRId64 " of %" PRId64 " MiB read", bytes >> 20,
					 o->file_bytes >> 20);
		}
		p = *end ? end + 1 : end;
	}
}

static void copy_moments(struct trial *t, const struct observation *o)
{
	nsec_t t0 = o->cut_asked_ns;

	if (t0 == 0)
		return;
	copy_load(t, o);
	trial_add_moment(t, 0, "cut-asked", "command to the switch");
	if (o->cut_applied_ns)
		trial_add_moment(t, o->cut_applied_ns - t0, "cut-applied", "%s",
				 o->is_cut_soft     ? "soft unplug"
				 : o->is_cut_sensed ? "sensed"
						    : "claimed, not sensed");
	for (size_t i = o->log_armed; i < o->log_end; i++) {
		const struct console_event *ev = &o->log->rows[i].ev;
		const struct console_waiver *waiver =
			ev->is_detail ? NULL : event_log_waiver_of(o->log, &o->log->rows[i]);

		trial_add_moment(t, ev->t_host_ns - t0, console_class_name(ev->cls), "%s%s%s%s",
				 waiver ? "(waived: " : "", waiver ? waiver->reason : "",
				 waiver ? ") " : "", ev->text);
	}
	if (o->end_ns)
		trial_add_moment(t, o->end_ns - t0, "window-end", "probe read");
}

static void evidence_conclude(struct trial *t)
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

/* What condemns the kernel up to the end of the trial: a crash, or a reboot that nobody asked for.
 */
static const struct seen_event *find_crash(const struct observation *o)
{
	const struct seen_event *crash = event_log_find_crash(o->log, 0);

	if (crash && (size_t)(crash - o->log->rows) < o->log_end)
		return crash;
	for (size_t i = o->log_from; i < o->log_end; i++) {
		const struct seen_event *row = &o->log->rows[i];

		if (!row->ev.is_suspect &&
		    (row->ev.cls == CONSOLE_REBOOT || row->ev.cls == CONSOLE_BOOT))
			return row;
	}
	return NULL;
}

void evidence_judge(struct trial *t, const struct observation *o)
{
	const struct seen_event *crash = find_crash(o);

	t->worst_us = -1;
	t->worst_cpu = -1;
	leave_out(t, o->scenario);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (o->reached & rules[i].what)
			rules[i].check(t, o);
	if (o->failed_why)
		evidence_set(t, o->failed, false, "%.180s", o->failed_why);
	if (crash) {
		t->is_crash = true;
		(void)snprintf(t->crash, sizeof(t->crash), "%s: %s",
			       console_class_name(crash->ev.cls), crash->ev.title);
	}
	copy_incidents(t, o);
	copy_moments(t, o);
	evidence_conclude(t);
}
