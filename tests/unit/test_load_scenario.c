/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
/* Scenarios whose trials are loads: their files, what they measure, and the verdict over it. */
#include "../../controller/trial/facts.h"
#include "../../controller/trial/machine_watch.h"
#include "sample_run.h"
#include "trial/evidence.h"
#include "trial/rejudge.h"
#include "unit.h"

static void auto_cleanup_trial(struct trial **t)
{
	trial_free(*t);
}
#define auto_trial AUTO(trial)

static const char text[] =
	"name: floor\n"
	"title: t\n"
	"kind: load\n"
	"needs:\n"
	"  kernel_modules: [nvme]\n"
	"  programs: [dmsetup]\n"
	"  disks: [{name: fast, driver: nvme, size_mib: 64}]\n"
	"prepare:\n"
	"  console_loglevel: 7\n"
	"  setup: [\"echo hello\"]\n"
	"loads:\n"
	"  - {name: rd, kind: random-read, path: /dev/nvme0n1, jobs: [1, 8], seconds: 3}\n"
	"  - {name: say, kind: sh, command: echo 5, is_value: true, seconds: 9}\n"
	"hiccup: {disk: fast, load: rd, write_iops: 1, after_ms: 500, for_ms: 2000}\n"
	"profile:\n"
	"  hz: 199\n"
	"  sets:\n"
	"    - {name: lock, functions: [osq_*, rwsem_spin], releases: [\"5.*\"]}\n"
	"    - {name: lock, functions: [osq_lock], releases: [\"6.*\"]}\n"
	"probe: {cpus: all, count: [normal], watch: [], period_us: 10000, threshold_us: 90000}\n"
	"controls: {stall_ms: 200, stall_tolerance_ms: 50, noise_max_ms: 60000}\n"
	"invalid_if: [\"nobody cared\"]\n"
	"limit: {max_ms: 1000, tolerated_over_pct: 1, confidence_pct: 95}\n"
	"limits:\n"
	"  - {name: \"rd_*_iops\", min_baseline_pct: 80}\n"
	"  - {name: say, max: 9}\n"
	"trials: {valid: 3, per_boot: 1, max_invalid: 2}\n";

/* The text with one part replaced, loaded. */
static int load_text(const char *from, const char *to, struct scenario **ret, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/s.yaml", dir);
	const char *at = strstr(text, from);
	int r;

	assert_non_null(at);
	strbuf_add(&out, text, (size_t)(at - text));
	strbuf_adds(&out, to);
	strbuf_adds(&out, at + strlen(from));
	unit_write(dir, "s.yaml", strbuf_str(&out));
	r = scenario_load(path, ret, e);
	unit_rmdir(dir);
	return r;
}

static void test_a_load_scenario_comes_with_its_defaults(void **state)
{
	auto_scenario struct scenario *sc = NULL;
	struct err e = {0};

	(void)state;
	if (load_text("name: floor", "name: floor", &sc, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(scenario_is_load(sc));
	assert_true(scenario_needs_baseline(sc));
	assert_int_equal(sc->loads_count, 2);
	assert_int_equal(sc->loads[0].jobs_count, 2);
	assert_int_equal(sc->loads[0].jobs[1], 8);
	assert_int_equal(sc->loads[0].block_kib, 4);
	assert_int_equal(sc->loads[0].seed, 1);
	assert_int_equal(sc->loads[1].jobs_count, 1);
	assert_int_equal(sc->loads[1].jobs[0], 1);
	assert_true(sc->loads[1].is_value);
	assert_int_equal(sc->limits[0].min_baseline_pct, 80);
	assert_null(sc->limits[0].max);
	assert_int_equal(*sc->limits[1].max, 9);
	assert_string_equal(sc->needs.disks[0].driver, "nvme");
	assert_int_equal(sc->hiccup.for_ms, 2000);
	assert_int_equal(sc->profile.hz, 199);
	assert_null(sc->profile.event);
	assert_int_equal(sc->profile.sets_count, 2);
	assert_string_equal(sc->profile.sets[0].functions[1], "rwsem_spin");
	assert_string_equal(sc->profile.sets[1].releases[0], "6.*");
}

static void test_a_shipped_scenario_that_unplugs_has_no_loads(void **state)
{
	auto_scenario struct scenario *sc = NULL;
	struct err e = {0};

	(void)state;
	if (scenario_load("unplug-read", &sc, &e) < 0)
		fail_msg("%s", e.text);
	assert_false(scenario_is_load(sc));
	assert_string_equal(sc->kind, "unplug");
	assert_false(scenario_needs_baseline(sc));
}

static void test_mistakes_are_named_with_their_place(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{"kind: load", "kind: pull", "not one of: unplug, load"},
		{"kind: load", "kind: unplug", "needs this key"},
		{"seconds: 3}", "seconds: 0}", "loads[0].seconds"},
		{"hz: 199", "hz: 0", "profile.hz: '0': outside 1..4999"},
		{"hz: 199", "hz: 5000", "outside 1..4999"},
		{"hz: 199", "hz: 199\n  event: misses", "not one of: cycles, cpu-clock"},
		{"name: lock, functions: [osq_lock], releases: [\"6.*\"]",
		 "name: lock, functions: [osq_lock]", "profile.sets[1].name"},
		{"name: lock, functions: [osq_lock]", "name: a_name_too_long, functions: [f]",
		 "at most 14"},
		{"functions: [osq_lock]", "functions: []", "functions"},
		{"functions: [osq_lock]", "functions: [\"*\"]", "stands for every function"},
		{"functions: [osq_lock]", "functions: [\"a,b\"]", "profile.sets[1].functions[0]"},
		{"seconds: 3}", "seconds: 601}", "outside 1..600"},
		{"jobs: [1, 8]", "jobs: [1, 0]", "loads[0].jobs[1]"},
		{"jobs: [1, 8]", "jobs: [513]", "outside 1..512"},
		{"jobs: [1, 8]", "jobs: []", "jobs"},
		{"kind: random-read", "kind: random", "not one of: random-read"},
		{"path: /dev/nvme0n1", "block_kib: 4", "needs this key"},
		{"jobs: [1, 8]", "iflag: direct", "has no such key"},
		{"jobs: [1, 8]", "program: dd", "loads[0].program: 'dd': must be 'fio'"},
		{"command: echo 5", "command: echo 5, program: fio", "has no such key"},
		{"jobs: [1, 8]", "block_kib: 1025", "outside 1..1024"},
		{"name: say", "name: rd", "stands twice"},
		{"name: say", "name: Say", "small letters"},
		{"name: rd,", "name: a_name_of_more_than_24_byt,", "at most 24"},
		{"driver: nvme", "driver: floppy", "not one of: nvme, virtio-blk"},
		{"size_mib: 64", "size_mib: 0", "needs.disks[0].size_mib"},
		{"name: fast, driver", "name: a/b, driver", "needs.disks[0].name"},
		{"programs: [dmsetup]", "programs: [/sbin/dmsetup]", "needs.programs[0]"},
		{"disk: fast", "disk: slow", "not one of needs.disks"},
		{"load: rd", "load: wr", "not one of loads"},
		{"for_ms: 2000", "for_ms: 2501", "ends after load 'rd'"},
		{"write_iops: 1", "write_iops: 0", "hiccup.write_iops"},
		{"min_baseline_pct: 80", "min_baseline_pct: 101", "outside 1..100"},
		{", min_baseline_pct: 80", "", "needs one of: min, max"},
		{", max_invalid: 2", ", max_invalid: 2, baseline: 0",
		 "trials.baseline: '0': outside 1..10000"},
		{", max_invalid: 2", ", max_invalid: 2, baseline: 10001", "outside 1..10000"},
		{"max: 9", "max: 9, min: 10", "max is less than min"},
		{"loads:\n", "load: {kind: dd}\nloads:\n", "load"},
		{"console_loglevel: 7", "console_loglevel: 7\n  mount: ro", "no such key"},
		{"threshold_us: 90000", "threshold_us: 2000000", "above the limit"},
		{"threshold_us: 90000", "threshold_us: 200000",
		 "not below controls.stall_ms (200 ms)"},
		{"seconds: 3}", "secs: 3}",
		 "s.yaml:12:69: loads[0].secs: unknown key; there are name, kind, path,"},
		{"min_baseline_pct: 80", "min_pct: 80",
		 "unknown key; there are name, min, max, min_"},
		{"period_us: 10000", "period_ms: 10", "there are cpus, count, watch, period_us,"},
		{"trials:", "trails:",
		 "trails: unknown key; there are name, title, needs, prepare,"},
		{"seconds: 3}", "seconds: 3s}",
		 "s.yaml:12:78: loads[0].seconds: '3s': not a whole"},
		{"seconds: 3}", "seconds: 3.5}", "loads[0].seconds: '3.5': not a whole number"},
		{"max: 9", "max: 9k", "limits[1].max: '9k': not a whole number"},
		{"jobs: [1, 8]", "jobs: [1, 8x]", "loads[0].jobs[1]: '8x': not a whole number"},
		{"max_ms: 1000", "max_ms: 1000ms", "limit.max_ms: '1000ms': not a whole number"},
		{"rd_*_iops", "rd_*_iop",
		 "limits[0].name: 'rd_*_iop': no load gives such a number"},
		{"rd_*_iops", "rd_4_iops", "no load gives"},
		{"name: say, max", "name: say_ms, max", "no load gives"},
		{"rd_*_iops", "rd_8_lck_ppm", "no load gives"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scenario *sc = NULL;
		struct err e = {0};

		if (load_text(cases[i].from, cases[i].to, &sc, &e) >= 0)
			fail_msg("'%s' was accepted", cases[i].to);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, "/s.yaml:");
		assert_contains(e.text, cases[i].says);
	}
}

/* --- what the console says about the machine ---- */

static void test_a_text_is_found_however_the_bytes_are_cut(void **state)
{
	static char nobody[] = "nobody cared";
	static char *const texts[] = {nobody};
	static const char console[] = "[    1.0] hello\r\n[    2.0] irq 11: nobody cared (try)\r\n";

	(void)state;
	for (size_t step = 1; step < sizeof(console); step++) {
		struct machine_watch m;

		machine_watch_init(&m, texts, 1);
		for (size_t at = 0; at < sizeof(console) - 1; at += step) {
			size_t left = sizeof(console) - 1 - at;

			machine_watch_feed(&m, console + at, left < step ? left : step);
		}
		assert_string_equal(m.found, "[    2.0] irq 11: nobody cared (try)");
	}
}

static void test_what_is_not_said_is_not_found(void **state)
{
	static char nobody[] = "nobody cared";
	static char *const texts[] = {nobody};
	struct machine_watch m;
	char line[MACHINE_WATCH_LINE_MAX + 64];

	(void)state;
	machine_watch_init(&m, texts, 1);
	machine_watch_feed(&m, "nobody\n cared\n", 14);
	assert_string_equal(m.found, "");
	/* behind the limit of a line nothing is looked at, and the next line is a new one */
	memset(line, 'x', sizeof(line));
	machine_watch_feed(&m, line, sizeof(line));
	machine_watch_feed(&m, "nobody cared\n", 13);
	assert_string_equal(m.found, "");
	machine_watch_feed(&m, "nobody cared\x01\n", 14);
	assert_string_equal(m.found, "nobody cared?");
}

/* --- verdicts ---- */

static struct run *run_of(const char *id, const int64_t *iops, size_t n)
{
	struct run *r = sample_run("k", "virtual-x86", "virtual");
	struct run_limit *l;

	util_free(r->id);
	r->id = xstrdup(id);
	r->planned_valid = (unsigned)n;
	for (size_t i = 0; i < n; i++) {
		struct trial *t = sample_add_trial(r, (unsigned)i + 1, 1000);

		trial_add_number(t, "rd_2_iops", iops[i]);
		trial_add_number(t, "say", 5);
	}
	l = run_add_limit(r, "rd_*_iops");
	l->min_ratio = 0.8;
	l = run_add_limit(r, "say");
	l->has_max = true;
	l->max = 9;
	return r;
}

static void test_the_verdict_is_that_of_the_ratio_to_the_baseline(void **state)
{
	static const int64_t base[] = {7455, 7070, 7458, 7300};
	static const struct {
		int64_t iops[4];
		enum verdict verdict;
		const char *reason, *says;
	} cases[] = {
		/* what was measured of the historic failure, and of two good runs */
		{{180, 159, 133, 150}, VERDICT_FAIL, "outside-baseline", "rd_2_iops x 0.02"},
		{{7400, 7200, 7350, 7100}, VERDICT_PASS, "none-over", "1 number not worse"},
		/* twice as fast is not worse */
		{{14000, 15000, 14500, 16000}, VERDICT_PASS, "none-over", "1 number"},
		/* clearly slower, but not more than the limit allows */
		{{6500, 6400, 6450, 6500}, VERDICT_PASS, "none-over", "1 number"},
		{{5900, 5700, 6000, 5800}, VERDICT_INCONCLUSIVE, "straddles-baseline", "limit 0.8"},
		{{7400, 274, 7350, 7100}, VERDICT_INCONCLUSIVE, "straddles-baseline", "rd_2"},
		{{0, 0, 0, 0}, VERDICT_FAIL, "outside-baseline", "rd_2_iops"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *b = run_of("base", base, 4);
		auto_run struct run *r = run_of("new", cases[i].iops, 4);

		run_set_baseline(r, b);
		run_judge(r);
		if (r->result.verdict != cases[i].verdict)
			fail_msg("case %zu: %s %s: %s", i, verdict_name(r->result.verdict),
				 r->result.reason, r->result.strength);
		assert_string_equal(r->result.reason, cases[i].reason);
		assert_contains(r->result.strength, cases[i].says);
	}
}

/* what a run may end with before its last trial: the verdict of all of them would be the same */
static void test_a_run_ends_early_only_if_it_surely_fails(void **state)
{
	static const int64_t base[] = {7455, 7070, 7458, 7300, 7400, 7350, 7250, 7500,
				       7455, 7070, 7458, 7300, 7400, 7350, 7250, 7500};
	static const struct {
		int64_t iops[6];
		size_t n, per_boot;
		bool is_sure;
	} cases[] = {
		{{180, 159, 133, 150}, 4, 2, true},
		{{180, 159, 133, 150}, 4, 1, true},
		/* one boot may be slow as a whole */
		{{180, 159, 133, 150}, 4, 4, false},
		/* 1 of 969 orders is as bad, which is more than 1 of 1000; that of four are 1 of
		   4845 */
		{{180, 159, 133}, 3, 1, false},
		{{180, 159}, 2, 1, false},
		{{180, 159, 133, 7400}, 4, 2, false},
		{{7400, 7200, 7350, 7100, 7400, 7300}, 6, 2, false},
		/* a verdict's confidence would do, but not that of many looks */
		{{5700, 5900, 5800, 5600, 5850, 6200}, 6, 2, false},
		/* faster is no reason to end */
		{{14000, 15000, 14500, 16000}, 4, 2, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *b = run_of("base", base, ARRAY_SIZE(base));
		auto_run struct run *r = run_of("new", cases[i].iops, cases[i].n);

		for (size_t k = 0; k < r->n_trials; k++)
			r->trials[k]->boot = (unsigned)(k / cases[i].per_boot) + 1;
		assert_false(run_is_surely_outside(r)); /* no baseline */
		run_set_baseline(r, b);
		if (run_is_surely_outside(r) != cases[i].is_sure)
			fail_msg("case %zu", i);
		r->planned_valid = 16;
		run_judge(r);
		assert_true(!cases[i].is_sure || r->result.verdict == VERDICT_FAIL);

		/* neither of trials that do not count, nor under other conditions */
		r->trials[0]->is_valid = false;
		if (cases[i].n == 4)
			assert_false(run_is_surely_outside(r));
		r->trials[0]->is_valid = true;
		util_free(b->arch);
		b->arch = xstrdup("arm64");
		run_set_baseline(r, b);
		assert_false(run_is_surely_outside(r));
	}
}

static void test_without_a_baseline_nothing_passes_that_needs_one(void **state)
{
	static const int64_t iops[] = {7455, 7070, 7458, 7300};
	auto_run struct run *b = run_of("base", iops, 4);
	auto_run struct run *r = run_of("new", iops, 4);

	(void)state;
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_INCONCLUSIVE);
	assert_string_equal(r->result.reason, "no-baseline");

	for (size_t i = 0; i < b->n_trials; i++)
		b->trials[i]->is_valid = false;
	run_set_baseline(r, b);
	run_judge(r);
	assert_string_equal(r->result.reason, "no-baseline");
	assert_contains(r->result.strength, "run base has no valid trial");

	/* other conditions are no baseline either */
	b->trials[0]->is_valid = true;
	util_free(b->arch);
	b->arch = xstrdup("arm64");
	run_set_baseline(r, b);
	run_judge(r);
	assert_string_equal(r->result.reason, "no-baseline");
	assert_contains(r->result.strength, "architecture");
}

static void test_a_number_on_one_side_only_decides_nothing(void **state)
{
	static const int64_t iops[] = {7455, 7070, 7458, 7300};
	auto_run struct run *b = run_of("base", iops, 4);
	auto_run struct run *r = run_of("new", iops, 4);

	(void)state;
	for (size_t i = 0; i < b->n_trials; i++)
		trial_add_number(b->trials[i], "rd_8_iops", 9000);
	run_set_baseline(r, b);
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_INCONCLUSIVE);
	assert_contains(r->result.strength, "rd_8_iops was measured on one side only");
}

static void test_a_number_outside_its_own_limit_is_over(void **state)
{
	static const int64_t iops[] = {7455, 7070, 7458, 7300};
	auto_run struct run *b = run_of("base", iops, 4);
	auto_run struct run *r = run_of("new", iops, 4);

	(void)state;
	run_set_baseline(r, b);
	for (size_t i = 0; i < r->n_trials; i++)
		trial_add_number(r->trials[i], "say", 10);
	run_judge(r);
	assert_int_equal(r->result.verdict, VERDICT_FAIL);
	assert_string_equal(r->result.reason, "over-limit");
	assert_int_equal(r->result.over, 4);
	assert_contains(r->result.strength, "over a limit");
}

/* --- evidence and recording ---- */

static void test_a_load_that_did_not_end_or_a_broken_machine_is_missing_evidence(void **state)
{
	auto_scenario struct scenario *sc = NULL;
	struct event_log log = {0};
	static struct observation o;
	struct trial_number number = {.name = "rd_1_iops", .value = 77};
	struct err e = {0};
	int64_t v = 0;

	(void)state;
	if (load_text("name: floor", "name: floor", &sc, &e) < 0)
		fail_msg("%s", e.text);
	o = (struct observation){.scenario = sc,
				 .log = &log,
				 .numbers = &number,
				 .n_numbers = 1,
				 .loads_done = 3,
				 .loads_planned = 3};
	o.reached = OBSERVED_LOADS;
	for (int i = 0; i < 3; i++) {
		auto_trial struct trial *t = trial_new();

		o.loads_done = i == 1 ? 2 : 3;
		o.machine_broken = i == 2 ? "irq 11: nobody cared" : "";
		evidence_judge(t, &o);
		assert_int_equal(t->evidence[EVIDENCE_LOADS_DONE].state,
				 i == 1 ? EVIDENCE_MISSING : EVIDENCE_OK);
		assert_int_equal(t->evidence[EVIDENCE_MACHINE_SOUND].state,
				 i == 2 ? EVIDENCE_MISSING : EVIDENCE_OK);
		assert_int_equal(t->evidence[EVIDENCE_CUT_SEEN].state, EVIDENCE_NOT_NEEDED);
		assert_true(trial_number(t, "rd_1_iops", &v));
		assert_int_equal(v, 77);
	}
}

static void test_the_recording_keeps_numbers_and_baseline(void **state)
{
	static const int64_t iops[] = {7455, 7070, 7458, 7300};
	auto_run struct run *b = run_of("base", iops, 4);
	auto_run struct run *r = run_of("new", iops, 4);
	auto_scenario struct scenario *sc = NULL;
	auto_run struct run *again = NULL;
	const struct facts_setup setup = {.usb_path = "2-1"};
	struct facts_head head = {0};
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/trial-1.json", dir);
	struct trial_number number = {.name = "rd_1_iops", .value = 77};
	static struct observation o;
	static struct facts f;
	struct event_log log;
	struct err e = {0};

	(void)state;
	if (load_text("name: floor", "name: floor", &sc, &e) < 0)
		fail_msg("%s", e.text);
	util_free(sc->path);
	sc->path = xstrdup(STALLRIG_SOURCE_DIR "/hil/scenarios/unplug-read.yaml");
	run_set_baseline(r, b);
	if (facts_write_run(dir, r, sc, &setup, &e) < 0 ||
	    facts_read_run(dir, &again, &head, &e) < 0)
		fail_msg("%s", e.text);
	facts_head_release(&head);
	assert_non_null(again->baseline);
	assert_string_equal(again->baseline->id, "base");
	assert_int_equal(again->baseline->n_trials, 4);
	assert_int_equal(again->baseline->trials[3]->boot, 4);
	assert_int_equal(again->baseline->trials[1]->numbers[0].value, 7070);

	memset(&o, 0, sizeof(o));
	event_log_init(&log, 0);
	o.log = &log;
	o.loads_done = 2;
	o.loads_planned = 3;
	o.numbers = &number;
	o.n_numbers = 1;
	o.machine_broken = "irq 11: nobody cared";
	if (facts_write_trial(dir, b->trials[0], &o, 0, &e) < 0 ||
	    facts_read_trial(path, &f, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(f.obs.loads_done, 2);
	assert_int_equal(f.obs.loads_planned, 3);
	assert_int_equal(f.obs.n_numbers, 1);
	assert_string_equal(f.obs.numbers[0].name, "rd_1_iops");
	assert_int_equal(f.obs.numbers[0].value, 77);
	assert_string_equal(f.obs.machine_broken, "irq 11: nobody cared");
	facts_release(&f);
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_load_scenario_comes_with_its_defaults),
		cmocka_unit_test(test_a_shipped_scenario_that_unplugs_has_no_loads),
		cmocka_unit_test(test_mistakes_are_named_with_their_place),
		cmocka_unit_test(test_a_text_is_found_however_the_bytes_are_cut),
		cmocka_unit_test(test_what_is_not_said_is_not_found),
		cmocka_unit_test(test_the_verdict_is_that_of_the_ratio_to_the_baseline),
		cmocka_unit_test(test_a_run_ends_early_only_if_it_surely_fails),
		cmocka_unit_test(test_without_a_baseline_nothing_passes_that_needs_one),
		cmocka_unit_test(test_a_number_on_one_side_only_decides_nothing),
		cmocka_unit_test(test_a_number_outside_its_own_limit_is_over),
		cmocka_unit_test(
			test_a_load_that_did_not_end_or_a_broken_machine_is_missing_evidence),
		cmocka_unit_test(test_the_recording_keeps_numbers_and_baseline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
