/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_json.c - runs and trials as JSON. */
/* ctest: report */
#include "report/report.h"
#include "sample_run.h"
#include "unit.h"

#include <jansson.h>

static json_t *parse(const struct strbuf *out)
{
	json_error_t where;
	json_t *root = json_loadb(out->data, out->len, JSON_REJECT_DUPLICATES, &where);

	if (!root)
		fail_msg("not JSON at %d:%d: %s", where.line, where.column, where.text);
	return root;
}

static void assert_no_null(json_t *v)
{
	const char *key;
	json_t *child;
	size_t i;

	assert_false(json_is_null(v));
	if (json_is_object(v)) {
		json_object_foreach(v, key, child) assert_no_null(child);
	}
	json_array_foreach(v, i, child) assert_no_null(child);
}

static void test_runs_have_the_keys_that_scripts_rely_on(void **state)
{
	auto_run struct run *r = sample_run("debian 6.1 amd64", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *kernel, *rig, *scenario, *verdict, *reason, *strength, *id;
	double limit, worst, p50, trial_worst;
	int over, valid, is_valid;
	json_t *root;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		sample_add_trial(r, 1 + i / 4, 150000 + 1001 * i);
	sample_add_boot(r, "/recordings/x/boot-1");
	run_judge(r);

	report_json(&out, &r, 1);
	root = parse(&out);
	assert_no_null(root);
	assert_int_equal(
		json_unpack(root,
			    "{s:[{s:s,s:s,s:s,s:s,s:s,s:s,s:F,s:F,s:F,s:i,s:i,s:[{s:s,s:b,s:F}]}]}",
			    "runs", "kernel", &kernel, "rig", &rig, "scenario", &scenario,
			    "verdict", &verdict, "reason", &reason, "strength", &strength,
			    "limit_ms", &limit, "worst_ms", &worst, "p50_ms", &p50, "over", &over,
			    "valid", &valid, "trials", "id", &id, "valid", &is_valid, "worst_ms",
			    &trial_worst),
		0);
	assert_string_equal(kernel, "debian-6.1.0-57-amd64");
	assert_string_equal(rig, "virtual-x86");
	assert_string_equal(scenario, "unplug-read");
	assert_string_equal(verdict, "FAIL");
	assert_string_equal(reason, "over-limit");
	assert_string_equal(id, "20261130-111754-a3f2.1");
	assert_true(limit == 50.0);
	assert_true(worst == 157.007);
	assert_true(trial_worst == 150.0);
	assert_int_equal(over, 8);
	assert_int_equal(valid, 8);
	assert_true(is_valid);
	assert_true(out.data[out.len - 1] == '\n');
	json_decref(root);
}

static void test_what_is_unknown_is_absent(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *missing;
	json_t *root, *run, *trial;

	(void)state;
	r->ended_wall_ns = 0;
	sample_invalidate(sample_add_trial(r, 1, 0), EVIDENCE_CUT_SEEN, "none");
	run_judge(r);

	report_json(&out, &r, 1);
	root = parse(&out);
	run = json_array_get(json_object_get(root, "runs"), 0);
	trial = json_array_get(json_object_get(run, "trials"), 0);
	assert_no_null(root);
	assert_null(json_object_get(run, "worst_ms"));
	assert_null(json_object_get(run, "p50_ms"));
	assert_null(json_object_get(run, "ended"));
	assert_null(json_object_get(run, "append"));
	assert_null(json_object_get(trial, "worst_ms"));
	assert_null(json_object_get(trial, "crash"));
	assert_int_equal(json_unpack(trial, "{s:s}", "missing_evidence", &missing), 0);
	assert_string_equal(missing, "cut-seen");
	json_decref(root);
}

static void test_hostile_bytes_stay_inside_their_strings(void **state)
{
	auto_run struct run *r = sample_run("\"},{\xff\033\n", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 1000);
	const char *label, *crash;
	json_t *root;

	(void)state;
	t->is_valid = false;
	t->is_crash = true;
	strcpy(t->crash, "oops \xc3");
	run_judge(r);

	report_json(&out, &r, 1);
	root = parse(&out);
	assert_int_equal(json_unpack(root, "{s:[{s:s,s:[{s:s}]}]}", "runs", "kernel_label", &label,
				     "trials", "crash", &crash),
			 0);
	assert_string_equal(label, "\"},{\xef\xbf\xbd\033\n");
	assert_string_equal(crash, "oops \xef\xbf\xbd");
	json_decref(root);
}

static void test_no_run_is_an_empty_list(void **state)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	report_json(&out, NULL, 0);
	assert_string_equal(strbuf_str(&out), "{\"runs\":[]}\n");
}

static void test_a_trial_has_evidence_timeline_and_console(void **state)
{
	char *dir = unit_tmpdir();
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 183212);
	struct trial_delay *d = trial_add_delay(t);
	const char *text, *name, *ev_state;
	double t_ms, t_boot_ms, ms;
	json_int_t bytes;
	json_t *root, *line;

	(void)state;
	sample_add_boot(r, dir);
	unit_write(dir, "console.raw", "usb 2-1: USB disconnect, device number 2\nDELAY: 183\n");
	unit_write(dir, "console.timing", "1.000000 41\n0.200000 11\n");
	t->console_to = 52;
	trial_add_number(t, "cut_seen_us", 4000);
	trial_add_moment(t, 0, "cut-asked", "stick0");
	trial_add_load_point(t, -2500000000, 536870912);
	d->us = 183212;
	d->cpu = -1;
	d->due_us = CONSOLE_UNKNOWN;
	run_judge(r);

	report_trial_json(&out, r, t);
	root = parse(&out);
	assert_no_null(root);
	assert_int_equal(json_array_size(json_object_get(root, "evidence")), EVIDENCE_MAX);
	assert_int_equal(json_unpack(root, "{s:[{s:s,s:s}],s:[{s:F}],s:[{s:F,s:s}]}", "evidence",
				     "name", &name, "state", &ev_state, "delays", "ms", &ms,
				     "timeline", "t_ms", &t_ms, "what", &text),
			 0);
	assert_string_equal(name, "booted-build");
	assert_string_equal(ev_state, "ok");
	assert_true(ms == 183.212);
	assert_int_equal(
		json_unpack(root, "{s:[{s:F,s:I}]}", "load", "t_ms", &t_ms, "bytes", &bytes), 0);
	assert_true(t_ms == -2500.0);
	assert_int_equal(bytes, 536870912);
	assert_null(json_object_get(json_array_get(json_object_get(root, "delays"), 0), "cpu"));
	assert_null(json_object_get(json_array_get(json_object_get(root, "delays"), 0),
				    "due_kernel_s"));
	line = json_array_get(json_object_get(root, "console"), 1);
	assert_int_equal(json_unpack(line, "{s:F,s:F,s:s}", "t_ms", &t_ms, "t_boot_ms", &t_boot_ms,
				     "text", &text),
			 0);
	assert_true(t_ms == 204.0);
	assert_true(t_boot_ms == 1200.0);
	assert_string_equal(text, "DELAY: 183");
	json_decref(root);
	unit_rmdir(dir);
}

static void test_a_recording_that_is_gone_is_said_in_the_trial(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 1000);
	json_t *root;

	(void)state;
	sample_add_boot(r, "/nowhere/boot-1");
	run_judge(r);

	report_trial_json(&out, r, t);
	root = parse(&out);
	assert_null(json_object_get(root, "console"));
	assert_contains(json_string_value(json_object_get(root, "console_error")),
			"/nowhere/boot-1/console.raw");
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_have_the_keys_that_scripts_rely_on),
		cmocka_unit_test(test_what_is_unknown_is_absent),
		cmocka_unit_test(test_hostile_bytes_stay_inside_their_strings),
		cmocka_unit_test(test_no_run_is_an_empty_list),
		cmocka_unit_test(test_a_trial_has_evidence_timeline_and_console),
		cmocka_unit_test(test_a_recording_that_is_gone_is_said_in_the_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
