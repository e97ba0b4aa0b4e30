/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
#include "../../controller/trial/facts.h"
#include "trial/recording.h"
#include "trial/rejudge.h"
#include "unit.h"

#define T0 (1000 * NSEC_PER_SEC)

static struct observation written;
static struct facts facts;

static struct scenario *shipped(void)
{
	struct scenario *sc = NULL;
	struct err e = {0};

	if (scenario_load(STALLRIG_SOURCE_DIR "/hil/scenarios/unplug-read.yaml", &sc, &e) < 0)
		fail_msg("%s", e.text);
	return sc;
}

static void write_trial(const char *dir, unsigned number, const struct observation *o)
{
	struct trial *t = trial_new();
	struct err e = {0};

	t->number = number;
	t->boot = 1;
	t->unplug = number;
	t->console_to = 77;
	if (facts_write_trial(dir, t, o, T0, &e) < 0)
		fail_msg("%s", e.text);
	trial_free(t);
}

static void fill_state(struct probe_state *st, int64_t base)
{
	st->version = 1;
	st->seq = base;
	st->threshold_us = base + 1;
	st->n_rows = 2;
	for (int i = 0; i < 2; i++) {
		st->rows[i].cpu = i - 1;
		st->rows[i].max_us = base + i;
		st->rows[i].pending_us = base * i;
		(void)snprintf(st->rows[i].probe, PROBE_NAME_MAX, "p%d", i);
	}
}

/* One at each ten bytes of the console. */
static const struct event_log *ten_events(struct event_log *log)
{
	const struct console_event ev = {.cls = CONSOLE_BOOT, .text = "", .title = ""};

	event_log_init(log, 0);
	for (int i = 1; i <= 10; i++) {
		log->bytes = 10 * i;
		event_log_add(log, &ev);
	}
	return log;
}

static void test_an_observation_comes_back_as_it_was(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/trial-3.json", dir);
	const struct observation *o = &facts.obs;
	struct event_log log;
	struct err e = {0};

	(void)state;
	memset(&written, 0, sizeof(written));
	written.log = ten_events(&log);
	written.reached = OBSERVED_BUILD | OBSERVED_WINDOW;
	written.log_from = 3;
	written.log_end = 9;
	written.log_window = 8;
	written.failed = EVIDENCE_CUT_SEEN;
	written.failed_why = "a reason with \"quotes\" and \\";
	written.mark_start = "start-1";
	written.control.cpu = 5;
	written.control.actual_us = 60000;
	written.cut_asked_ns = T0 + 5;
	written.is_cut_sensed = true;
	written.is_cut_blind = true;
	written.integrity_after.bytes = 4711;
	written.is_host_wait_known = true;
	written.host_wait_us = 4711;
	written.console_losses_before = 1;
	written.console_losses_after = 2;
	fill_state(&written.after, 100);
	written.irq_after.n_cpus = 2;
	written.irq_after.per_cpu[1] = 42;
	written.samples = "normal;8,9,3\nnormal;8,9,4\nok\n";
	write_trial(dir, 3, &written);

	if (facts_read_trial(path, &facts, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(facts.trial->number, 3);
	assert_int_equal(facts.trial->console_to, 77);
	assert_int_equal(o->reached, written.reached);
	/* bytes of the console, until the events are there again */
	assert_int_equal(o->log_from, 30);
	assert_int_equal(o->log_end, 90);
	assert_int_equal(facts_find_events(&facts, &log, 100, &e), 0);
	assert_int_equal(o->log_from, 3);
	assert_int_equal(o->log_end, 9);
	assert_int_equal(o->log_window, 8);
	assert_int_equal(o->log_armed, 0);
	assert_int_equal(o->failed, EVIDENCE_CUT_SEEN);
	assert_string_equal(o->failed_why, written.failed_why);
	assert_string_equal(o->mark_start, "start-1");
	assert_null(o->mark_end);
	assert_int_equal(o->control.cpu, 5);
	assert_int_equal(o->control.actual_us, 60000);
	/* host times are relative to the recording; what did not happen stays 0 */
	assert_int_equal(o->cut_asked_ns, 5);
	assert_int_equal(o->cut_applied_ns, 0);
	assert_true(o->is_cut_sensed);
	assert_true(o->is_cut_blind);
	assert_int_equal(facts.integrity_after_at, 4711);
	assert_true(o->is_host_wait_known);
	assert_int_equal(o->host_wait_us, 4711);
	assert_int_equal(o->console_losses_before, 1);
	assert_int_equal(o->console_losses_after, 2);
	assert_memory_equal(&o->after, &written.after, sizeof(o->after));
	assert_memory_equal(&o->irq_after, &written.irq_after, sizeof(o->irq_after));
	assert_string_equal(o->samples, written.samples);
	assert_int_equal(facts.trial->n_histograms, 1);
	assert_int_equal(trial_histogram_samples(&facts.trial->histograms[0]), 7);
	facts_release(&facts);
	event_log_release(&log);
	unit_rmdir(dir);
}

static void test_samples_that_cannot_be_are_an_error_that_names_the_file(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/trial-1.json", dir);
	struct event_log log;
	struct err e = {0};

	(void)state;
	memset(&written, 0, sizeof(written));
	written.log = ten_events(&log);
	written.samples = "normal;9,8,3\n";
	write_trial(dir, 1, &written);
	event_log_release(&log);
	assert_true(facts_read_trial(path, &facts, &e) < 0);
	assert_int_equal(e.kind, ERR_STORE);
	assert_contains(e.text, path);
	assert_contains(e.text, "'9,8,3'");
	unit_rmdir(dir);
}

#define BANNER "[    0.000000] Linux version 6.1.0 (x) #1 SMP y\r\n"

static struct event_log run_log; /* of the newest run */

/* One chunk, and one event told with it. */
static void add_to_recording(struct recording *rec, const char *text, struct event_log *log)
{
	const struct console_event ev = {.cls = CONSOLE_BOOT, .text = "", .title = ""};
	struct err e = {0};

	if (recording_add(rec, text, strlen(text), T0 + 1000, &e) < 0)
		fail_msg("%s", e.text);
	log->bytes += (int64_t)strlen(text);
	event_log_add(log, &ev);
}

/*
 * A run of one trial that was lost to an error, after the banner; what its console said then, and
 * its waivers.
 */
static char *make_run_of(const char *after_banner, const char *waivers)
{
	char *dir = unit_tmpdir();
	auto_free char *waivers_path = NULL;
	struct trial *t = trial_new();
	auto_free char *boot = xasprintf("%s/boot-1", dir);
	char id[] = "20260101-000000-0000";
	char empty[] = "";
	char kernel[] = "k";
	struct run r = {
		.id = id,
		.rig = kernel,
		.rig_class = kernel,
		.arch = kernel,
		.kernel = kernel,
		.kernel_label = kernel,
		.kernel_release = kernel,
		.kernel_version = kernel,
		.kernel_config_sha256 = empty,
		.kernel_image_sha256 = empty,
		.append = empty,
		.scenario = kernel,
		.scenario_sha256 = empty,
		.limit_us = 50000,
		.planned_valid = 8,
		.tolerated_over = 0.01,
		.confidence = 0.95,
	};
	auto_scenario struct scenario *sc = shipped();
	struct facts_setup setup = {.usb_path = "2-1", .console_baud = 115200};
	struct recording *rec = NULL;
	struct err e = {0};

	if (waivers) {
		unit_write(dir, "known.yaml", waivers);
		waivers_path = xasprintf("%s/known.yaml", dir);
		setup.waivers_path = waivers_path;
	}
	t->number = 1;
	r.trials = &t;
	r.n_trials = 1;
	if (facts_write_run(dir, &r, sc, &setup, &e) < 0)
		fail_msg("%s", e.text);
	trial_free(t);
	assert_int_equal(recording_create(boot, T0, &rec, &e), 0);
	event_log_release(&run_log);
	event_log_init(&run_log, 0);
	add_to_recording(rec, BANNER, &run_log);
	if (*after_banner)
		add_to_recording(rec, after_banner, &run_log);
	recording_close(rec);
	memset(&written, 0, sizeof(written));
	written.failed = EVIDENCE_CACHE_LOADED;
	written.failed_why = "agent: no reply";
	written.log = &run_log;
	written.log_from = 1;
	written.log_end = run_log.n;
	write_trial(dir, 1, &written);
	return dir;
}

static char *make_run(void)
{
	return make_run_of("", NULL);
}

static void test_a_recorded_run_is_judged_again(void **state)
{
	auto_run struct run *run = NULL;
	char *dir = make_run();
	struct err e = {0};

	(void)state;
	assert_true(rejudge_is_run(dir));
	if (rejudge_run(dir, &run, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(run->id, "20260101-000000-0000");
	assert_int_equal(run->n_trials, 1);
	assert_int_equal(run->trials[0]->missing, EVIDENCE_CACHE_LOADED);
	assert_int_equal(run->result.verdict, VERDICT_INCONCLUSIVE);
	assert_string_equal(run->result.reason, "evidence.cache-loaded");
	unit_rmdir(dir);
}

static void test_a_trial_that_saw_more_than_was_recorded_is_refused(void **state)
{
	struct run *run = NULL;
	char *dir = make_run();
	struct event_log log;
	struct err e = {0};

	(void)state;
	written.log = ten_events(&log);
	written.log_end = 10;
	write_trial(dir, 1, &written);
	event_log_release(&log);
	assert_int_equal(rejudge_run(dir, &run, &e), -EINVAL);
	assert_int_equal(e.kind, ERR_STORE);
	assert_contains(e.text, "boot-1: trial 1 saw 100 bytes of the console (log_end_at), the "
				"recording has 49");
	assert_null(run);
	unit_rmdir(dir);
}

static void test_a_trial_missing_between_others_is_an_error(void **state)
{
	struct run *run = NULL;
	char *dir = make_run();
	auto_free char *second = xasprintf("%s/trial-2.json", dir);
	struct err e = {0};

	(void)state;
	write_trial(dir, 2, &written);
	write_trial(dir, 3, &written);
	assert_int_equal(rejudge_run(dir, &run, &e), 0);
	assert_int_equal(run->n_trials, 3);
	run_free(run);
	run = NULL;
	assert_int_equal(unlink(second), 0);
	assert_true(rejudge_run(dir, &run, &e) < 0);
	assert_contains(e.text, "trial-2.json");
	assert_null(run);
	unit_rmdir(dir);
}

static void test_a_run_without_its_last_trial_is_an_error(void **state)
{
	struct run *run = NULL;
	char *dir = make_run();
	auto_free char *last = xasprintf("%s/trial-1.json", dir);
	struct err e = {0};

	(void)state;
	assert_int_equal(unlink(last), 0);
	assert_true(rejudge_run(dir, &run, &e) < 0);
	assert_int_equal(e.kind, ERR_STORE);
	assert_contains(e.text, "trial-1.json is missing, the run has 1 trials");
	assert_null(run);
	unit_rmdir(dir);
}

#define WARNING_LOG                                                            \
	"[   12.000000] ------------[ cut here ]------------\r\n"              \
	"[   12.000001] WARNING: CPU: 1 PID: 3 at drivers/usb/core/urb.c:505 " \
	"usb_submit_urb+0x5/0x9\r\n"                                           \
	"[   12.000002] Call Trace:\r\n"                                       \
	"[   12.000003] ---[ end trace 0000000000000000 ]---\r\n"

static void test_waivers_are_part_of_the_recording(void **state)
{
	static const struct {
		const char *waivers;
		bool is_crash;
	} cases[] = {
		{NULL, true},
		{"waivers:\n- {class: warning, match: \"drivers/usb/core/urb.c:* *\", reason: r}\n",
		 false},
		{"waivers:\n- {class: warning, match: \"drivers/block/*\", reason: r}\n", true},
		{"waivers:\n- {class: bug, match: \"*\", reason: r}\n", true},
		{"waivers:\n- {class: warning, match: \"*\", release: \"k*\", reason: r}\n", false},
		{"waivers:\n- {class: warning, match: \"*\", release: \"6.*\", reason: r}\n", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *run = NULL;
		char *dir = make_run_of(WARNING_LOG, cases[i].waivers);
		auto_free char *copy = xasprintf("%s/waivers.yaml", dir);
		auto_free char *given = xasprintf("%s/known.yaml", dir);
		struct err e = {0};

		/* the copy counts, whatever became of the file that was given */
		if (cases[i].waivers)
			assert_int_equal(unlink(given), 0);
		if (rejudge_run(dir, &run, &e) < 0)
			fail_msg("%s", e.text);
		if (run->trials[0]->is_crash != cases[i].is_crash)
			fail_msg("case %zu: crash %d '%s'", i, run->trials[0]->is_crash,
				 run->trials[0]->crash);
		assert_int_equal(run->result.verdict,
				 cases[i].is_crash ? VERDICT_FAIL : VERDICT_INCONCLUSIVE);
		/* it is shown all the same */
		assert_int_equal(run->trials[0]->n_incidents, 1);
		if (cases[i].waivers) {
			struct run *without = NULL;

			assert_int_equal(unlink(copy), 0);
			assert_true(rejudge_run(dir, &without, &e) < 0);
			assert_contains(e.text, "waivers.yaml");
			assert_null(without);
		}
		unit_rmdir(dir);
	}
}

static void test_broken_files_are_named(void **state)
{
	static const struct {
		const char *file, *text, *says;
	} cases[] = {
		{"run.json", "{\"id\": 3}", "run.json: 'id' is missing or of a wrong type"},
		{"run.json", "{\"id\": \"x\", ", "run.json:1:"},
		{"trial-1.json", "[]", "trial-1.json: 'number' is missing"},
		{"scenario.yaml", "name: x\n", "scenario.yaml:"},
		{"boot-1/console.timing", "x\n", "console.timing:1: not a timing line"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run *run = NULL;
		char *dir = make_run();
		struct err e = {0};

		unit_write(dir, cases[i].file, cases[i].text);
		assert_true(rejudge_run(dir, &run, &e) < 0);
		assert_contains(e.text, cases[i].says);
		unit_rmdir(dir);
	}
}

/*
 * Recordings stay readable: this one was made before the controller counted losses of its port, and
 * has indexes of events where there are places in the console now.
 */
static void test_a_recording_of_an_earlier_version_is_judged(void **state)
{
	auto_run struct run *run = NULL;
	struct err e = {0};

	(void)state;
	if (rejudge_run(STALLRIG_SOURCE_DIR "/fixtures/runs/cut-short", &run, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(run->n_trials, 8);
}

static int forget_run_log(void **state)
{
	(void)state;
	event_log_release(&run_log);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_recording_of_an_earlier_version_is_judged),
		cmocka_unit_test(test_an_observation_comes_back_as_it_was),
		cmocka_unit_test(test_samples_that_cannot_be_are_an_error_that_names_the_file),
		cmocka_unit_test(test_a_recorded_run_is_judged_again),
		cmocka_unit_test(test_a_trial_that_saw_more_than_was_recorded_is_refused),
		cmocka_unit_test(test_a_trial_missing_between_others_is_an_error),
		cmocka_unit_test(test_a_run_without_its_last_trial_is_an_error),
		cmocka_unit_test(test_waivers_are_part_of_the_recording),
		cmocka_unit_test(test_broken_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, forget_run_log);
}
