/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
#include "trial/evidence.h"
#include "unit.h"

/*
 * A trial in which everything is as it should be: a stall of 150 ms on CPU0 after the cut. Each
 * test spoils one thing and looks what is missed.
 */
struct fixture {
	struct scenario *sc;
	struct event_log log;
	struct observation *o;
	struct trial *t;
};

static char probe_normal[] = "normal";
static char probe_highpri[] = "highpri";
static char irq_name[] = "xhci";
static char *counted[] = {probe_normal};
static char *watched[] = {probe_highpri};

static void add_event(struct fixture *f, struct console_event ev)
{
	ev.text = "";
	ev.title = "";
	event_log_add(&f->log, &ev);
}

static void add_delay(struct fixture *f, int cpu, const char *probe, int64_t us, int64_t seq,
		      int64_t due_us)
{
	struct console_event ev = {.cls = CONSOLE_DELAY, .t_host_ns = 2200 * NSEC_PER_MSEC};

	ev.u.delay.cpu = cpu;
	ev.u.delay.us = us;
	ev.u.delay.ms = us / 1000;
	ev.u.delay.seq = seq;
	ev.u.delay.due_ns = due_us * 1000;
	(void)snprintf(ev.u.delay.probe, sizeof(ev.u.delay.probe), "%s", probe);
	add_event(f, ev);
}

static void add_mark(struct fixture *f, const char *nonce)
{
	struct console_event ev = {.cls = CONSOLE_MARK};

	(void)snprintf(ev.u.mark.nonce, sizeof(ev.u.mark.nonce), "%s", nonce);
	add_event(f, ev);
}

static void add_row(struct probe_state *st, int cpu, const char *probe, int64_t beats,
		    int64_t max_us)
{
	struct probe_row *row = &st->rows[st->n_rows++];

	row->cpu = cpu;
	row->beats = beats;
	row->max_us = max_us;
	(void)snprintf(row->probe, sizeof(row->probe), "%s", probe);
}

static void fill_state(struct probe_state *st, int64_t beats, int64_t max_us, int64_t seq)
{
	st->period_us = 10000;
	st->threshold_us = 9000;
	st->seq = seq;
	add_row(st, 0, "normal", beats, max_us);
	add_row(st, 1, "normal", beats, 2000);
	add_row(st, 0, "highpri", beats, 8000);
	add_row(st, 1, "highpri", beats, 3000);
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct scenario *sc = xcalloc(1, sizeof(*sc));
	struct observation *o = xcalloc(1, sizeof(*o));
	struct console_event cut = {.cls = CONSOLE_USB_DISCONNECT,
				    .t_kernel_us = 50000000,
				    .t_host_ns = 2010 * NSEC_PER_MSEC};

	sc->prepare.irq.match = irq_name;
	sc->load.cache_floor_pct = 90;
	sc->probe.count = counted;
	sc->probe.count_count = 1;
	sc->probe.watch = watched;
	sc->probe.watch_count = 1;
	sc->controls.stall_ms = 60;
	sc->controls.stall_tolerance_ms = 25;
	sc->controls.noise_max_ms = 45;
	sc->stimulus.seen_timeout_ms = 15000;
	sc->window.min_ms = 1500;
	sc->window.attribution_ms = 1000;
	sc->limit.max_ms = 50;
	f->sc = sc;
	f->o = o;
	f->t = trial_new();

	o->reached = ~0u;
	o->replug_path = "2-1";
	o->scenario = sc;
	o->log = &f->log;
	o->build.release = "6.1.0-57-amd64";
	o->build.version = "#1 SMP Debian 6.1.192-3";
	o->build.banner = "Linux version 6.1.0-57-amd64 (gcc) #1 SMP Debian 6.1.192-3 (2026-11-26)";
	o->build.agent_release = o->build.release;
	o->build.agent_version = o->build.version;
	o->usb_path = "2-1";
	o->console_loglevel = 7;
	o->mark_start = "start-1";
	o->mark_end = "end-1";
	o->control.cpu = 0;
	o->control.actual_us = 60010;
	fill_state(&o->control.state, 5, 57000, 1);
	o->cached_bytes = 512 << 20;
	o->file_bytes = 512 << 20;
	o->cut_asked_ns = 2000 * NSEC_PER_MSEC;
	o->cut_applied_ns = 2009 * NSEC_PER_MSEC;
	o->is_cut_sensed = true;
	o->end_ns = 4000 * NSEC_PER_MSEC;
	fill_state(&o->before, 10, 0, 0);
	fill_state(&o->after, 300, 150000, 1);
	o->irq_before.n_cpus = 2;
	o->irq_after.n_cpus = 2;
	o->irq_before.per_cpu[0] = 100;
	o->irq_after.per_cpu[0] = 104;
	o->environment_before = "hz=250 preempt=voluntary";
	o->environment_after = "hz=250 preempt=voluntary";

	add_mark(f, "start-1");
	add_delay(f, 0, "normal", 57000, 1, 40000000);
	o->control.log_to = f->log.n;
	o->log_armed = f->log.n;
	(void)snprintf(cut.u.usb.port, sizeof(cut.u.usb.port), "2-1");
	add_event(f, cut);
	add_delay(f, 0, "normal", 150000, 1, 50004000);
	add_mark(f, "end-1");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	event_log_release(&f->log);
	trial_free(f->t);
	free(f->o);
	free(f->sc);
	free(f);
	return 0;
}

static void judge(struct fixture *f)
{
	trial_free(f->t);
	f->t = trial_new();
	f->o->log_window = f->log.n;
	f->o->log_end = f->log.n;
	evidence_judge(f->t, f->o);
}

static void assert_missing(struct fixture *f, enum evidence_id id)
{
	judge(f);
	assert_false(f->t->is_valid);
	if (f->t->missing != id)
		fail_msg("missing is %s (%s), expected %s", evidence_name(f->t->missing),
			 f->t->evidence[f->t->missing].detail, evidence_name(id));
}

static void test_a_complete_trial_is_valid_and_has_its_worst_delay(void **state)
{
	struct fixture *f = *state;
	int64_t v;

	judge(f);
	if (!f->t->is_valid)
		fail_msg("%s: %s", evidence_name(f->t->missing),
			 f->t->evidence[f->t->missing].detail);
	assert_int_equal(f->t->worst_us, 150000);
	assert_int_equal(f->t->worst_cpu, 0);
	assert_string_equal(f->t->worst_probe, "normal");
	assert_int_equal(f->t->n_delays, 1);
	assert_true(trial_number(f->t, "cached_kib", &v));
	assert_int_equal(v, 512 * 1024);
}

static void test_another_kernel_than_the_one_asked_for_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->build.agent_release = "6.12.117+deb12-amd64";
	assert_missing(f, EVIDENCE_BOOTED_BUILD);
}

static void test_the_same_release_built_differently_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->build.agent_version = "#2 SMP Debian 6.1.192-3";
	assert_missing(f, EVIDENCE_BOOTED_BUILD);
}

static void test_no_banner_is_no_proof(void **state)
{
	struct fixture *f = *state;

	f->o->build.banner = "";
	assert_missing(f, EVIDENCE_BOOTED_BUILD);
}

static void test_a_log_level_that_hides_delays_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->console_loglevel = 2;
	assert_missing(f, EVIDENCE_CONSOLE_AUDIBLE);
}

static void test_a_marker_that_does_not_come_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->mark_start = "another";
	assert_missing(f, EVIDENCE_CONSOLE_AUDIBLE);
}

static void test_a_control_that_the_probe_did_not_see_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->control.state.rows[0].max_us = 3000;
	assert_missing(f, EVIDENCE_CONTROL_POSITIVE);
}

static void test_a_control_that_the_console_did_not_show_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->log.rows[1].ev.is_suspect = true;
	assert_missing(f, EVIDENCE_CONTROL_POSITIVE);
}

static void test_a_control_that_was_not_injected_in_full_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->control.actual_us = 47000;
	assert_missing(f, EVIDENCE_CONTROL_POSITIVE);
}

static void test_too_little_cache_is_noticed_at_the_floor(void **state)
{
	struct fixture *f = *state;

	f->o->cached_bytes = f->o->file_bytes / 100 * 90 - 1;
	assert_missing(f, EVIDENCE_CACHE_LOADED);
}

static void test_the_second_sticks_cache_counts_where_it_is_wanted(void **state)
{
	struct fixture *f = *state;

	f->o->neighbour_bytes = f->o->file_bytes / 100 * 90 - 1;
	judge(f);
	assert_int_equal(f->t->evidence[EVIDENCE_CACHE_LOADED].state, EVIDENCE_OK);
	f->sc->load.neighbour = true;
	f->o->neighbour_bytes++;
	judge(f);
	assert_int_equal(f->t->evidence[EVIDENCE_CACHE_LOADED].state, EVIDENCE_OK);
	f->o->neighbour_bytes--;
	assert_missing(f, EVIDENCE_CACHE_LOADED);
	assert_contains(f->t->evidence[EVIDENCE_CACHE_LOADED].detail, "second stick");
}

static void test_pages_that_were_written_before_the_cut_are_noticed(void **state)
{
	struct fixture *f = *state;

	f->sc->load.dirty_mib = 10;
	f->o->dirty_kib = 9216;
	judge(f);
	assert_int_equal(f->t->evidence[EVIDENCE_CACHE_LOADED].state, EVIDENCE_OK);
	f->o->dirty_kib--;
	assert_missing(f, EVIDENCE_CACHE_LOADED);
	assert_contains(f->t->evidence[EVIDENCE_CACHE_LOADED].detail,
			"9215 KiB of 10240 KiB are dirty, floor 90 %");
}

static void test_a_switch_that_lies_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->is_cut_sensed = false;
	assert_missing(f, EVIDENCE_CUT_APPLIED);
}

static void test_a_switch_that_cannot_measure_is_not_said_to_have(void **state)
{
	struct fixture *f = *state;
	const char *detail;

	judge(f);
	detail = f->t->evidence[EVIDENCE_CUT_APPLIED].detail;
	assert_contains(detail, "sensed ");
	f->o->is_cut_sensed = false;
	f->o->is_cut_blind = true;
	judge(f);
	detail = f->t->evidence[EVIDENCE_CUT_APPLIED].detail;
	assert_true(f->t->is_valid);
	assert_contains(detail, "claimed ");
	assert_null(strstr(detail, "sensed"));
	for (size_t i = 0; i < f->t->n_moments; i++)
		if (strcmp(f->t->moments[i].what, "cut-applied") == 0)
			assert_string_equal(f->t->moments[i].detail, "claimed, not sensed");
	/* no answer is no cut */
	f->o->cut_applied_ns = 0;
	assert_missing(f, EVIDENCE_CUT_APPLIED);
}

static void test_a_soft_unplug_is_marked(void **state)
{
	struct fixture *f = *state;
	int64_t value;

	judge(f);
	assert_false(trial_number(f->t, "cut_is_soft", &value));

	f->o->is_cut_soft = true;
	judge(f);
	assert_true(trial_number(f->t, "cut_is_soft", &value));
	assert_int_equal(value, 1);
	assert_contains(f->t->evidence[EVIDENCE_CUT_APPLIED].detail, "soft unplug");
}

static void test_a_disconnect_of_another_port_is_not_ours(void **state)
{
	struct fixture *f = *state;

	f->o->usb_path = "2-2";
	assert_missing(f, EVIDENCE_CUT_SEEN);
}

static void test_a_disconnect_past_its_deadline_does_not_count(void **state)
{
	struct fixture *f = *state;

	f->sc->stimulus.seen_timeout_ms = 9;
	assert_missing(f, EVIDENCE_CUT_SEEN);
}

static void test_a_probe_that_stands_still_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[1].beats = f->o->before.rows[1].beats;
	assert_missing(f, EVIDENCE_PROBE_RUNNING);
}

static void test_a_control_probe_that_stands_still_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[3].beats = f->o->before.rows[3].beats;
	assert_missing(f, EVIDENCE_PROBE_RUNNING);
}

static void test_a_stuck_probe_is_running_and_its_age_is_the_delay(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[0].beats = f->o->before.rows[0].beats;
	f->o->after.rows[0].pending_us = 60000000;
	judge(f);
	assert_true(f->t->is_valid);
	assert_int_equal(f->t->worst_us, 60000000);
}

static void test_no_probe_at_all_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->before.n_rows = 0;
	assert_missing(f, EVIDENCE_PROBE_RUNNING);
}

static void test_an_interrupt_on_a_cpu_without_probe_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->irq_after.per_cpu[0] = 100;
	f->o->irq_after.per_cpu[1] = 3;
	f->o->before.rows[1].cpu = 7;
	f->o->after.rows[1].cpu = 7;
	assert_missing(f, EVIDENCE_PROBE_ON_CPU);
}

static void test_no_interrupt_at_all_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->irq_after.per_cpu[0] = 100;
	assert_missing(f, EVIDENCE_PROBE_ON_CPU);
}

static void test_a_window_that_ended_early_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->end_ns = 2010 * NSEC_PER_MSEC + 1499 * NSEC_PER_MSEC;
	assert_missing(f, EVIDENCE_WINDOW_COVERED);
}

static void test_a_console_that_died_in_the_window_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->mark_end = "never-came";
	assert_missing(f, EVIDENCE_WINDOW_COVERED);
}

static void test_each_kind_of_console_damage_is_noticed(void **state)
{
	struct fixture *f = *state;
	uint64_t *const counters[] = {
		&f->o->integrity_after.dropped_messages,
		&f->o->integrity_after.overruns,
		&f->o->integrity_after.suspect_lines,
		&f->o->integrity_after.garbage_bytes,
		&f->o->integrity_after.truncated_lines,
		&f->o->integrity_after.broken_stamps,
		&f->o->integrity_after.kmsg_seq_gaps,
		&f->o->integrity_after.unclassified_dumps,
		&f->log.lost,
	};

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		*counters[i] = 1;
		assert_missing(f, EVIDENCE_CONSOLE_INTACT);
		*counters[i] = 0;
	}
}

static void test_a_console_port_that_was_lost_between_the_readings_is_noticed(void **state)
{
	struct fixture *f = *state;

	/* what was lost before the window is another trial's business */
	f->o->console_losses_before = 2;
	f->o->console_losses_after = 3;
	assert_missing(f, EVIDENCE_CONSOLE_INTACT);
	f->o->console_losses_before = 3;
	judge(f);
	assert_true(f->t->is_valid);
}

static void test_a_line_that_the_module_printed_and_the_console_lost_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->after.seq = 2;
	assert_missing(f, EVIDENCE_PROBES_AGREE);
}

static void test_lines_that_came_after_the_state_was_read_are_no_disagreement(void **state)
{
	struct fixture *f = *state;

	add_delay(f, 1, "normal", 30000, 2, 50900000);
	add_delay(f, 1, "highpri", 30000, 3, 50900000);
	judge(f);
	assert_true(f->t->is_valid);
}

static void test_lines_from_before_the_reset_are_not_counted(void **state)
{
	struct fixture *f = *state;
	struct seen_event old = f->log.rows[1];

	/* a late line of the time before, between the reset and the disconnect */
	old.ev.u.delay.seq = 458;
	old.ev.u.delay.us = 700000;
	f->log.rows[f->o->log_armed - 1] = old;
	f->o->log_armed--;
	f->o->control.log_to = 0;
	f->o->reached &= ~(unsigned)OBSERVED_CONTROL;
	judge(f);
	assert_int_equal(f->t->n_delays, 1);
	assert_int_equal(f->t->evidence[EVIDENCE_PROBES_AGREE].state, EVIDENCE_OK);
}

static void test_a_reboot_in_the_trial_is_a_crash(void **state)
{
	struct fixture *f = *state;

	add_event(f, (struct console_event){.cls = CONSOLE_REBOOT});
	judge(f);
	assert_true(f->t->is_crash);
}

static void test_an_incident_has_its_largest_length(void **state)
{
	static const struct console_event events[] = {
		{.cls = CONSOLE_RCU_STALL, .u.stall = {CONSOLE_UNKNOWN, CONSOLE_UNKNOWN, -1}},
		{.cls = CONSOLE_RCU_STALL, .u.stall = {21, 5250, -1}, .is_detail = true},
		{.cls = CONSOLE_WORKQUEUE_LOCKUP, .u.stall = {31, CONSOLE_UNKNOWN, -1}},
		{.cls = CONSOLE_WORKQUEUE_LOCKUP, .u.stall = {62, CONSOLE_UNKNOWN, -1}},
		{.cls = CONSOLE_WORKQUEUE_LOCKUP, .u.stall = {40, CONSOLE_UNKNOWN, -1}},
		{.cls = CONSOLE_RCU_STALL, .u.stall = {84, 21000, -1}, .is_detail = true},
	};
	struct fixture *f = *state;
	size_t before;

	judge(f);
	before = f->t->n_incidents;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		add_event(f, events[i]);
	judge(f);
	assert_int_equal(f->t->n_incidents, before + 2);
	assert_int_equal(f->t->incidents[before].count, 1);
	assert_int_equal(f->t->incidents[before].worst_s, 84);
	assert_int_equal(f->t->incidents[before + 1].count, 3);
	assert_int_equal(f->t->incidents[before + 1].worst_s, 62);
}

static void test_a_delay_that_the_module_blames_on_itself_is_not_passed_over(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[1].self = 1;
	assert_missing(f, EVIDENCE_PROBES_AGREE);
}

static void test_a_line_longer_than_the_modules_maximum_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[0].max_us = 149999;
	assert_missing(f, EVIDENCE_PROBES_AGREE);
}

static void test_a_number_that_the_console_changed_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->log.rows[3].ev.u.delay.us = 15000;
	assert_missing(f, EVIDENCE_PROBES_AGREE);
}

static void test_a_delay_from_before_the_cut_is_not_the_unplugs(void **state)
{
	struct fixture *f = *state;

	f->log.rows[3].ev.u.delay.due_ns = (50000000LL - 41000) * 1000;
	assert_missing(f, EVIDENCE_ATTRIBUTABLE);
}

static void test_a_delay_long_after_the_cut_is_not_the_unplugs(void **state)
{
	struct fixture *f = *state;

	f->log.rows[3].ev.u.delay.due_ns = (50000000LL + 1000001) * 1000;
	assert_missing(f, EVIDENCE_ATTRIBUTABLE);
}

static void test_noise_on_the_control_probe_invalidates(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[3].max_us = 45001;
	assert_missing(f, EVIDENCE_CONTROLS_QUIET);
}

/* Control and judged probe 145 and 150 ms late, bounds 45 and 50: 100 ms is what the host must have
   kept the target waiting to be able to explain it. */
static void test_late_controls_count_if_the_host_cannot_have_done_it(void **state)
{
	static const struct {
		bool is_known;
		int64_t host_us, control_us, judged_us;
		bool is_valid;
		const char *says;
	} cases[] = {
		{true, 99999, 145000, 150000, true, "99999 us at most, so the kernel held the CPU"},
		{true, 0, 145000, 150000, true, "0 us at most, so the kernel held the CPU"},
		{true, 100000, 145000, 150000, false, "100000 us at most, which may be why"},
		{true, 100000, 145000, 900000, false, "which may be why"},
		{true, 100000, 900000, 150000, false, "which may be why"},
		/* late for the kernel, but nothing that is judged: no PASS comes out of that */
		{true, 0, 145000, 50000, false, "which may be why"},
		{true, 0, 145000, 9000, false, "which may be why"},
		/* a board, a kernel without schedstat, a recording of before */
		{false, 0, 145000, 150000, false, "bound 45 ms"},
		{true, 500000, 45000, 150000, true, "waiting for 500000 us at most"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct evidence *ev;

		trial_free(f->t);
		f->t = trial_new();
		f->o->is_host_wait_known = cases[i].is_known;
		f->o->host_wait_us = cases[i].host_us;
		f->o->after.rows[0].max_us = cases[i].judged_us;
		f->o->after.rows[3].max_us = cases[i].control_us;
		evidence_judge(f->t, f->o);
		ev = &f->t->evidence[EVIDENCE_CONTROLS_QUIET];
		assert_int_equal(ev->state, cases[i].is_valid ? EVIDENCE_OK : EVIDENCE_MISSING);
		assert_contains(ev->detail, cases[i].says);
	}
}

static void test_the_longest_delay_is_of_all_probes_that_matter(void **state)
{
	struct fixture *f = *state;

	f->o->after.rows[0].max_us = 7000;
	f->o->after.rows[3].max_us = 145000;
	assert_int_equal(evidence_longest_us(f->o), 145000);
	f->o->after.rows[0].pending_us = 150000; /* not ended yet */
	assert_int_equal(evidence_longest_us(f->o), 150000);
	f->o->after.n_rows = 0;
	assert_int_equal(evidence_longest_us(f->o), 0);
}

static void test_a_changed_environment_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->environment_after = "hz=250 preempt=full";
	assert_missing(f, EVIDENCE_ENVIRONMENT_SAME);
}

static void test_evidence_that_was_never_reached_is_missing(void **state)
{
	struct fixture *f = *state;

	f->o->reached &= ~(unsigned)OBSERVED_REPLUG;
	assert_missing(f, EVIDENCE_REPLUGGED);
}

static void test_a_crash_is_neither_valid_nor_invalid(void **state)
{
	struct fixture *f = *state;

	add_event(f, (struct console_event){.cls = CONSOLE_PANIC});
	judge(f);
	assert_true(f->t->is_crash);
	assert_false(f->t->is_valid);
}

static void test_a_stick_that_came_back_elsewhere_is_noticed(void **state)
{
	struct fixture *f = *state;

	f->o->replug_path = "2-2";
	assert_missing(f, EVIDENCE_REPLUGGED);
}

static void test_an_error_of_a_step_is_its_missing_evidence(void **state)
{
	struct fixture *f = *state;

	f->o->failed = EVIDENCE_CUT_APPLIED;
	f->o->failed_why = "agent: no reply";
	assert_missing(f, EVIDENCE_CUT_APPLIED);
	assert_string_equal(f->t->evidence[EVIDENCE_CUT_APPLIED].detail, "agent: no reply");
}

#define WITH(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

static const struct trial_moment *find_moment(const struct trial *t, const char *what, size_t nth)
{
	for (size_t i = 0; i < t->n_moments; i++)
		if (strcmp(t->moments[i].what, what) == 0 && nth-- == 0)
			return &t->moments[i];
	return NULL;
}

static void test_the_progress_of_dd_is_on_the_timeline(void **state)
{
	/* more than once in a quarter, two quarters at once, and its end */
	static const char progress[] =
		"100:10000000 500:140000000 600:150000000 900:500000000 1000:536870912";
	static const struct {
		int64_t t_ms;
		const char *detail;
	} wanted[] = {{-1400, "133 of 512 MiB read"},
		      {-1000, "476 of 512 MiB read"},
		      {-900, "512 of 512 MiB read"}};
	static const char *const broken[] = {"x",    "5",
					     "5:",   "5:-1",
					     "5:6x", "5:9223372036854775807",
					     "-1:5", "9223372036854775807:5"};
	struct fixture *f = *state;

	f->o->load_started_ns = 100 * NSEC_PER_MSEC;
	f->o->load_progress = progress;
	judge(f);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct trial_moment *m = find_moment(f->t, "dd", i);

		assert_non_null(m);
		assert_int_equal(m->t_ns, wanted[i].t_ms * NSEC_PER_MSEC);
		assert_string_equal(m->detail, wanted[i].detail);
	}
	assert_null(find_moment(f->t, "dd", ARRAY_SIZE(wanted)));
	/* its start and all that was said */
	assert_int_equal(f->t->n_load, 6);
	assert_true(f->t->load[0].t_ns == -1900 * NSEC_PER_MSEC && f->t->load[0].bytes == 0);
	assert_true(f->t->load[2].t_ns == -1400 * NSEC_PER_MSEC &&
		    f->t->load[2].bytes == 140000000);

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		f->o->load_progress = broken[i];
		judge(f);
		assert_null(find_moment(f->t, "dd", 0));
		assert_int_equal(f->t->n_load, 0);
	}
	f->o->load_progress = progress;
	f->o->file_bytes = 0;
	judge(f);
	assert_null(find_moment(f->t, "dd", 0));
}

static void test_a_delay_that_printing_may_have_made_is_no_sample(void **state)
{
	struct fixture *f = *state;
	struct console_load *load = xcalloc(1, sizeof(*load));

	console_load_init(load, 115200);
	f->log.load = load; /* released with the log */
	judge(f);
	assert_true(f->t->is_valid);

	/* 80 ms of sending from 10 ms after the due time on: over half of the 150 ms */
	console_load_add(load, 50014000000, 922);
	f->log.n = 0;
	add_mark(f, "start-1");
	add_delay(f, 0, "normal", 57000, 1, 40000000);
	add_event(f, (struct console_event){.cls = CONSOLE_USB_DISCONNECT,
					    .t_kernel_us = 50000000,
					    .t_host_ns = 2010 * NSEC_PER_MSEC,
					    .u.usb.port = "2-1"});
	add_delay(f, 0, "normal", 150000, 1, 50004000);
	add_mark(f, "end-1");
	assert_missing(f, EVIDENCE_PROBES_AGREE);
	assert_contains(f->t->evidence[EVIDENCE_PROBES_AGREE].detail,
			"delay of 150000 us on CPU0: sending at 115200 baud may have made it");

	/* below the limit nobody is condemned, so nobody needs an excuse */
	f->sc->limit.max_ms = 200;
	judge(f);
	assert_true(f->t->is_valid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_a_complete_trial_is_valid_and_has_its_worst_delay),
		WITH(test_another_kernel_than_the_one_asked_for_is_noticed),
		WITH(test_the_same_release_built_differently_is_noticed),
		WITH(test_no_banner_is_no_proof),
		WITH(test_a_log_level_that_hides_delays_is_noticed),
		WITH(test_a_marker_that_does_not_come_is_noticed),
		WITH(test_a_control_that_the_probe_did_not_see_is_noticed),
		WITH(test_a_control_that_the_console_did_not_show_is_noticed),
		WITH(test_a_control_that_was_not_injected_in_full_is_noticed),
		WITH(test_too_little_cache_is_noticed_at_the_floor),
		WITH(test_the_second_sticks_cache_counts_where_it_is_wanted),
		WITH(test_pages_that_were_written_before_the_cut_are_noticed),
		WITH(test_a_switch_that_lies_is_noticed),
		WITH(test_a_switch_that_cannot_measure_is_not_said_to_have),
		WITH(test_a_soft_unplug_is_marked),
		WITH(test_a_disconnect_of_another_port_is_not_ours),
		WITH(test_a_disconnect_past_its_deadline_does_not_count),
		WITH(test_a_probe_that_stands_still_is_noticed),
		WITH(test_a_control_probe_that_stands_still_is_noticed),
		WITH(test_a_stuck_probe_is_running_and_its_age_is_the_delay),
		WITH(test_no_probe_at_all_is_noticed),
		WITH(test_an_interrupt_on_a_cpu_without_probe_is_noticed),
		WITH(test_no_interrupt_at_all_is_noticed),
		WITH(test_a_window_that_ended_early_is_noticed),
		WITH(test_a_console_that_died_in_the_window_is_noticed),
		WITH(test_each_kind_of_console_damage_is_noticed),
		WITH(test_a_console_port_that_was_lost_between_the_readings_is_noticed),
		WITH(test_a_line_that_the_module_printed_and_the_console_lost_is_noticed),
		WITH(test_lines_that_came_after_the_state_was_read_are_no_disagreement),
		WITH(test_lines_from_before_the_reset_are_not_counted),
		WITH(test_a_reboot_in_the_trial_is_a_crash),
		WITH(test_an_incident_has_its_largest_length),
		WITH(test_a_delay_that_the_module_blames_on_itself_is_not_passed_over),
		WITH(test_a_line_longer_than_the_modules_maximum_is_noticed),
		WITH(test_a_number_that_the_console_changed_is_noticed),
		WITH(test_a_delay_from_before_the_cut_is_not_the_unplugs),
		WITH(test_a_delay_long_after_the_cut_is_not_the_unplugs),
		WITH(test_noise_on_the_control_probe_invalidates),
		WITH(test_late_controls_count_if_the_host_cannot_have_done_it),
		WITH(test_the_longest_delay_is_of_all_probes_that_matter),
		WITH(test_a_changed_environment_is_noticed),
		WITH(test_evidence_that_was_never_reached_is_missing),
		WITH(test_a_stick_that_came_back_elsewhere_is_noticed),
		WITH(test_an_error_of_a_step_is_its_missing_evidence),
		WITH(test_a_crash_is_neither_valid_nor_invalid),
		WITH(test_the_progress_of_dd_is_on_the_timeline),
		WITH(test_a_delay_that_printing_may_have_made_is_no_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
