/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_export.c - each format read back by a reader that others wrote. */
/* ctest: report,console */
#include "base/fdio.h"
#include "report/export.h"
#include "sample_run.h"
#include "unit.h"

#include <jansson.h>

#include <string.h>

/* Quotes, a separator, a directive's mark, markup, an escape sequence, a line end, a broken UTF-8.
 */
#define HOSTILE "debian, \"6.1\" # <b>&\\ \033[31m\r\n\xff amd64"

static struct run *runs[5];

/* One run of each verdict; the first has the hostile label, an invalid trial and a crash. */
static int make_runs(void **state)
{
	static const char *const images[] = {"a", "a", "b", "c", "d"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct run *r =
			sample_run(i ? "debian 6.12 amd64" : HOSTILE, "virtual-x86", "virtual");

		free(r->id);
		r->id = xasprintf("20261130-11175%zu-a3f2", i);
		free(r->kernel_image_sha256);
		r->kernel_image_sha256 = xstrdup(images[i]);
		r->started_wall_ns += (int64_t)i * NSEC_PER_SEC;
		runs[i] = r;
	}
	for (unsigned i = 0; i < 8; i++)
		sample_add_trial(runs[0], 1 + i / 4, 150000 + 1001 * i);
	sample_invalidate(sample_add_trial(runs[0], 2, 0), EVIDENCE_CACHE_LOADED, "none");
	for (unsigned i = 0; i < 8; i++)
		sample_add_trial(runs[1], 1 + i / 4, 9000);
	sample_add_trial(runs[2], 1, 9000);
	runs[3]->untestable = xstrdup("kernel.no-boot: no banner within 60 s");
	runs[4]->rig_fault = xstrdup("rig.qemu-ended: exit status 1");
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		run_judge(runs[i]);
	return 0;
}

static int free_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		run_free(runs[i]);
	return 0;
}

/* What the other reader found, a line a finding. */
static void read_back(const char *format, size_t n, struct strbuf *ret)
{
	static const struct export_options options = {.origin = "lab_1"};
	const struct export_format *f = export_find(format);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	char path[] = "/tmp/stallrig-test-export-XXXXXX";
	auto_free char *command = NULL;
	struct err e = {0};
	char line[4096];
	FILE *reader;
	int fd;

	assert_non_null(f);
	assert_int_equal(f->write(&out, runs, n, &options, &e), 0);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, out.data, out.len), 0);
	close(fd);
	command = xasprintf("/usr/bin/python3 %s/tests/contract/read_export.py %s %s",
			    STALLRIG_SOURCE_DIR, format, path);
	reader = popen(command, "r"); /* NOLINT: the command is the test's own */
	assert_non_null(reader);
	while (fgets(line, sizeof(line), reader))
		strbuf_adds(ret, line);
	if (pclose(reader) != 0)
		fail_msg("%s is not read: %s", format, strbuf_str(&out));
	unlink(path);
}

static void test_csv_has_a_record_a_trial(void **state)
{
	auto_strbuf struct strbuf found = STRBUF_INIT;

	(void)state;
	read_back("csv", 5, &found);
	assert_contains(found.data, "debian, \"6.1\" # <b>&\\ \033[31m");
	assert_contains(found.data, "FAIL|20261130-111750-a3f2.1|150.000\n");
	assert_contains(found.data, "FAIL|20261130-111750-a3f2.9|\n");
	assert_contains(found.data, "debian 6.12 amd64|UNTESTABLE||\n");
}

static void test_csv_marks_texts_that_a_spreadsheet_would_work_out(void **state)
{
	static const struct {
		const char *text, *cell;
	} cases[] = {
		{"=1+2", ",'=1+2,"},
		{"+1", ",'+1,"},
		{"-1", ",'-1,"},
		{"@SUM(A1)", ",'@SUM(A1),"},
		{"\t=1", ",'\t=1,"},
		{"\r=1", ",\"'\r=1\","},
		{"=HYPERLINK(\"http://x\",\"y\")", ",\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\","},
		{"a=1", ",a=1,"},
		{"'=1", ",'=1,"},
		{"", ",,"},
	};
	static const struct export_options options = {.origin = "lab_1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *r = sample_run("label", "rig", "board");
		auto_strbuf struct strbuf out = STRBUF_INIT;
		auto_free char *append = xasprintf(",label%srig,", cases[i].cell);
		auto_free char *crash = xasprintf("%s812.000,", cases[i].cell);
		auto_free char *func = xasprintf(",0,normal%.*s\r\n",
						 (int)strlen(cases[i].cell) - 1, cases[i].cell);
		struct trial *t = sample_add_trial(r, 1, 812000);
		struct err e = {0};

		free(r->append);
		r->append = xstrdup(cases[i].text);
		strcpy(t->worst_func, cases[i].text);
		t->is_crash = true;
		strcpy(t->crash, cases[i].text);

		assert_int_equal(export_find("csv")->write(&out, &r, 1, &options, &e), 0);

		assert_contains(strbuf_str(&out), append);
		assert_contains(strbuf_str(&out), crash);
		assert_contains(strbuf_str(&out), func);
	}
}

static void test_junit_maps_each_verdict(void **state)
{
	auto_strbuf struct strbuf found = STRBUF_INIT;

	(void)state;
	read_back("junit", 5, &found);
	assert_contains(found.data, "debian, \"6.1\" # <b>&\\ \\x1b[31m");
	assert_contains(found.data, "|Failure|1|1|0\n");
	assert_contains(found.data, "debian 6.12 amd64|Passed|1|0|0\n"
				    "unplug-read on virtual-x86: debian 6.12 amd64|Error|1|0|1\n"
				    "unplug-read on virtual-x86: debian 6.12 amd64|Error|1|0|1\n"
				    "unplug-read on virtual-x86: debian 6.12 amd64|Error|1|0|1\n");
}

static void test_ktap_maps_each_verdict(void **state)
{
	auto_strbuf struct strbuf found = STRBUF_INIT;

	(void)state;
	read_back("ktap", 5, &found);
	assert_contains(found.data, "plan|5\n");
	assert_contains(found.data, "virtual-x86 debian, \"6.1\" _ <b>&\\ \\x1b[31m");
	assert_contains(found.data, "|not ok|\n");
	assert_contains(found.data, "debian 6.12 amd64|ok|\n");
	assert_contains(found.data, "nested|18\n");
}

static void test_lava_has_a_signal_a_run(void **state)
{
	auto_strbuf struct strbuf found = STRBUF_INIT;

	(void)state;
	read_back("lava", 5, &found);
	assert_string_equal(
		found.data,
		"TESTCASE|unplug-read_virtual-x86_debian-6.1.0-57-amd64|fail|157.007\n"
		"TESTCASE|unplug-read_virtual-x86_debian-6.1.0-57-amd64|pass|9.000\n"
		"TESTCASE|unplug-read_virtual-x86_debian-6.1.0-57-amd64|unknown|9.000\n"
		"TESTCASE|unplug-read_virtual-x86_debian-6.1.0-57-amd64|skip|None\n"
		"TESTCASE|unplug-read_virtual-x86_debian-6.1.0-57-amd64|unknown|None\n");
}

static void test_kcidb_keeps_its_schema_and_its_ids(void **state)
{
	auto_strbuf struct strbuf found = STRBUF_INIT, once = STRBUF_INIT, again = STRBUF_INIT;
	static const struct export_options good = {.origin = "lab_1"};
	struct err e = {0};

	(void)state;
	read_back("kcidb", 5, &found);
	assert_string_equal(found.data, "stallrig.unplug-read.worst_delay|FAIL|0.157007\n"
					"stallrig.unplug-read.worst_delay|PASS|0.009\n"
					"stallrig.unplug-read.worst_delay|DONE|0.009\n"
					"stallrig.unplug-read.worst_delay|ERROR|None\n"
					"stallrig.unplug-read.worst_delay|MISS|None\n");
	assert_int_equal(export_kcidb(&once, runs, 5, &good, &e), 0);
	assert_int_equal(export_kcidb(&again, runs, 5, &good, &e), 0);
	assert_string_equal(once.data, again.data);
}

/* There is no image of it: what stands for its hash in the store is none. */
static void test_kcidb_says_of_what_does_not_build_that_it_does_not(void **state)
{
	static const struct export_options good = {.origin = "lab_1"};
	struct run *r = sample_run("main-0123456789ab", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};
	json_t *root;
	json_t *build;

	(void)state;
	r->untestable = xstrdup("no-build: hub.c:1: error");
	run_judge(r);
	assert_int_equal(export_kcidb(&out, &r, 1, &good, &e), 0);
	root = json_loads(strbuf_str(&out), 0, NULL);
	build = json_array_get(json_object_get(root, "builds"), 0);
	assert_string_equal(json_string_value(json_object_get(build, "status")), "FAIL");
	assert_null(json_object_get(json_object_get(build, "misc"), "kernel_image_sha256"));
	json_decref(root);
	run_free(r);
}

static void test_kcidb_needs_an_origin(void **state)
{
	static const char *const origins[] = {NULL, "", "Lab", "lab-1", "lab:1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
		struct export_options options = {.origin = origins[i]};
		auto_strbuf struct strbuf out = STRBUF_INIT;
		struct err e = {0};

		assert_int_equal(export_kcidb(&out, runs, 5, &options, &e), -EINVAL);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, "--origin");
		assert_int_equal(out.len, 0);
	}
}

static void test_openmetrics_shows_the_newest_run_of_each_rig(void **state)
{
	auto_strbuf struct strbuf found = STRBUF_INIT;

	(void)state;
	read_back("openmetrics", 2, &found);
	assert_contains(
		found.data,
		"stallrig_worst_delay_seconds|rig=virtual-x86,scenario=unplug-read|0.009\n");
	assert_contains(found.data, "stallrig_verdict|rig=virtual-x86,scenario=unplug-read,"
				    "verdict=PASS|1\n");
	assert_null(strstr(found.data, "0.157"));
	/* the newest has no valid trial: no delay is claimed */
	strbuf_reset(&found);
	read_back("openmetrics", 5, &found);
	assert_null(strstr(found.data, "stallrig_worst_delay_seconds"));
	assert_contains(found.data, "verdict=RIG-FAULT|1\n");
}

static void test_every_format_reads_when_there_is_no_run(void **state)
{
	(void)state;
	for (const struct export_format *f = export_formats; f->name; f++) {
		auto_strbuf struct strbuf found = STRBUF_INIT;

		read_back(f->name, 0, &found);
	}
	assert_null(export_find("no-such"));
}

static void test_the_names_are_those_of_the_formats(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; export_formats[i].name; i++)
		assert_string_equal(export_names[i], export_formats[i].name);
	assert_null(export_names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv_has_a_record_a_trial),
		cmocka_unit_test(test_csv_marks_texts_that_a_spreadsheet_would_work_out),
		cmocka_unit_test(test_junit_maps_each_verdict),
		cmocka_unit_test(test_ktap_maps_each_verdict),
		cmocka_unit_test(test_lava_has_a_signal_a_run),
		cmocka_unit_test(test_kcidb_keeps_its_schema_and_its_ids),
		cmocka_unit_test(test_kcidb_says_of_what_does_not_build_that_it_does_not),
		cmocka_unit_test(test_kcidb_needs_an_origin),
		cmocka_unit_test(test_openmetrics_shows_the_newest_run_of_each_rig),
		cmocka_unit_test(test_every_format_reads_when_there_is_no_run),
		cmocka_unit_test(test_the_names_are_those_of_the_formats),
	};

	return cmocka_run_group_tests(tests, make_runs, free_runs);
}
