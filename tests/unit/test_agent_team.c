/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* The loads of many processes, on files of this machine: random, walk, dds, sh. */
#include "agent_unit.h"
#include "base/parse.h"
#include "fio.h"
#include "team.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

static int setup(void **state)
{
	*state = unit_tmpdir();
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

static int64_t number_in(const char *text, const char *key)
{
	int64_t v = -1;

	if (!parse_pair_i64(text, key, &v))
		fail_msg("no %s= in '%s'", key, text);
	return v;
}

/* The sum of key= over the data lines, one a job; there must be n_lines. */
static int64_t sum_of(const struct answered *got, const char *key, unsigned n_lines)
{
	int64_t sum = 0;
	unsigned n = 0;

	for (const char *p = strbuf_str(&got->lines); *p; p = strchr(p, '\n') + 1, n++) {
		auto_free char *line = strndup(p, strcspn(p, "\n"));

		sum += number_in(line, key);
	}
	assert_int_equal(n, n_lines);
	return sum;
}

/* --- team ---- */

struct seen {
	int64_t began_ns[8];
	int64_t forked_ns;
};

static void note_begin(void *arg, unsigned index)
{
	((struct seen *)arg)->began_ns[index] = clock_ns(CLOCK_MONOTONIC);
}

static void test_nobody_begins_before_the_gate_opens(void **state)
{
	static struct team team;
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct err e = {0};
	int64_t go_ns;

	(void)state;
	assert_true(seen != MAP_FAILED);
	assert_int_equal(team_start(&team, 8, note_begin, seen, &e), 0);
	sleep_ms(50);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(seen->began_ns[i], 0);
	go_ns = team_go(&team);
	team_wait(&team, INT64_MAX);
	for (size_t i = 0; i < 8; i++) {
		assert_true(seen->began_ns[i] >= go_ns);
		assert_true(team.m[i].has_ended && !team.m[i].is_killed);
	}
	(void)munmap(seen, sizeof(*seen));
}

static void sleep_for_ever(void *arg, unsigned index)
{
	(void)arg;
	if (index)
		for (;;)
			(void)pause();
}

static void test_who_does_not_end_is_killed_and_said_to_be(void **state)
{
	static struct team team;
	struct answered got = {0};
	struct answer a = {.sink = answered_sink, .self = &got};
	struct err e = {0};

	(void)state;
	assert_int_equal(team_start(&team, 3, sleep_for_ever, NULL, &e), 0);
	team_wait(&team, team_go(&team) + 3000000000);
	assert_false(team.m[0].is_killed);
	for (size_t i = 1; i < 3; i++) {
		assert_true(team.m[i].is_killed && team.m[i].has_ended);
		assert_true(WIFSIGNALED(team.m[i].status));
		assert_int_equal(kill(team.m[i].pid, 0), -1);
	}
	team_answer(&team, &a);
	answer_end(&a, 0, &e);
	assert_string_equal(got.ok, "killed=2 stuck=0");
}

static void test_a_team_has_its_limits(void **state)
{
	static struct team team;
	struct err e = {0};

	(void)state;
	assert_int_equal(team_start(&team, 0, note_begin, NULL, &e), -ERANGE);
	assert_int_equal(team_start(&team, TEAM_MAX + 1, note_begin, NULL, &e), -ERANGE);
	assert_contains(e.text, "1 to 512");
}

/* --- random ---- */

static void test_random_reads_count_each_job_and_second(void **state)
{
	const char *root = *state;
	struct answered got = {0};
	char body[512];
	static char text[65537];

	memset(text, 'x', sizeof(text) - 1);
	plant(root, "/disk", text);
	(void)snprintf(body, sizeof(body),
		       "random path=%s/disk op=read jobs=2 seconds=1 block_kib=4 direct=0", root);
	assert_int_equal(run_verb(root, body, &got), 0);
	assert_true(number_in(got.ok, "ios") > 0);
	assert_int_equal(sum_of(&got, "ios", 2), number_in(got.ok, "ios"));
	assert_int_equal(number_in(got.ok, "errors"), 0);
	assert_int_equal(number_in(got.ok, "killed"), 0);
	assert_true(number_in(got.ok, "elapsed_ms") >= 1000);
	assert_true(number_in(got.ok, "worst_s_iops") <= number_in(got.ok, "ios"));
	assert_true(number_in(got.ok, "p50_us") <= number_in(got.ok, "p99_us"));
	assert_true(number_in(got.ok, "p99_us") <= number_in(got.ok, "max_us"));
	assert_true(number_in(got.ok, "cpu_us") > 0);
	strbuf_release(&got.lines);
}

static void test_random_writes_stay_inside_and_leave_the_size(void **state)
{
	const char *root = *state;
	struct answered got = {0};
	auto_free char *after = NULL;
	char body[512];
	static char text[3 * 1024 + 1];

	memset(text, 'x', sizeof(text) - 1);
	plant(root, "/disk", text);
	/* two whole blocks of 1 KiB and a third; seed and job make the byte that is written */
	(void)snprintf(body, sizeof(body),
		       "random path=%s/disk op=write seconds=1 block_kib=1 direct=0 seed=65", root);
	assert_int_equal(run_verb(root, body, &got), 0);
	after = harvest(root, "/disk");
	memset(text, 'A', sizeof(text) - 1);
	assert_string_equal(after, text);
	strbuf_release(&got.lines);
}

static void test_random_refuses_what_it_cannot_do(void **state)
{
	static const struct {
		const char *words, *expected;
	} cases[] = {
		{"path=/nonexistent op=read", "ENOENT random: /nonexistent"},
		{"path=/dev/zero op=erase", "EINVAL random: op 'erase'"},
		{"path=/dev/null op=read direct=0", "hold no block"},
		{"path=/dev/null op=read jobs=513", "ERANGE"},
		{"path=/dev/null op=read seconds=601", "ERANGE"},
		{"path=/dev/null op=read block_kib=1025", "ERANGE"},
		{"path=/dev/zero op=read program=dd", "EINVAL random: program 'dd' is not fio"},
		{"path=/dev/null op=read direct=0 program=fio", "hold no block"},
		{"path=/dev/null", "EINVAL random: takes 2 to 9 words"},
	};
	struct answered got = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *body = xasprintf("random %s", cases[i].words);

		assert_true(run_verb(*state, body, &got) < 0);
		assert_contains(got.err, cases[i].expected);
	}
}

/* --- fio ---- */

static void test_fio_answers_in_the_same_words(void **state)
{
	static const char *const ops[] = {"read", "write"};
	const char *root = *state;
	struct answered got = {0};
	static char text[65537];

	memset(text, 'x', sizeof(text) - 1);
	/* a colon separates files in fio's language */
	plant(root, "/disk:0", text);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		auto_free char *body =
			xasprintf("random path=%s/disk:0 op=%s jobs=2 seconds=1 block_kib=4 "
				  "direct=0 program=fio",
				  root, ops[i]);

		if (run_verb(root, body, &got) < 0)
			fail_msg("%s", got.err);
		assert_true(number_in(got.ok, "ios") > 0);
		assert_in_range(number_in(got.ok, "elapsed_ms"), 900, 20000);
		assert_true(number_in(got.ok, "iops") > 0);
		assert_true(number_in(got.ok, "p50_us") <= number_in(got.ok, "p99_us"));
		assert_true(number_in(got.ok, "p99_us") <= number_in(got.ok, "max_us"));
		assert_true(number_in(got.ok, "cpu_us") > 0);
		assert_int_equal(number_in(got.ok, "errors"), 0);
		assert_int_equal(number_in(got.ok, "killed"), 0);
		assert_int_equal(number_in(got.ok, "stuck"), 0);
	}
	strbuf_release(&got.lines);
}

static void test_a_target_without_fio_says_so(void **state)
{
	auto_free char *path = xstrdup(getenv("PATH"));
	auto_free char *body = xasprintf("random path=%s/disk op=read program=fio", (char *)*state);
	struct answered got = {0};
	static char text[8193];
	int r;

	memset(text, 'x', sizeof(text) - 1);
	plant(*state, "/disk", text);
	assert_int_equal(setenv("PATH", *state, 1), 0);
	r = run_verb(*state, body, &got);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(r, -ENOENT);
	assert_contains(got.err, "ENOENT fio");
}

/* What stands in the place of fio says whatever it is told to. */
static void with_a_fio_that(const char *root, const char *does, struct answered *got)
{
	auto_free char *path = xstrdup(getenv("PATH"));
	auto_free char *both = xasprintf("%s:%s", root, path);
	auto_free char *program = xasprintf("%s/fio", root);
	auto_free char *disk = xasprintf("%s/disk", root);
	auto_free char *script = xasprintf("#!/bin/sh\n%s\n", does);
	auto_free char *body = xasprintf("random path=%s/disk op=read program=fio seconds=1", root);

	plant(root, "/disk", "x");
	assert_int_equal(truncate(disk, 8192), 0);
	plant(root, "/fio", script);
	assert_int_equal(chmod(program, 0755), 0);
	assert_int_equal(setenv("PATH", both, 1), 0);
	(void)run_verb(root, body, got);
	assert_int_equal(setenv("PATH", path, 1), 0);
}

static void test_a_fio_that_says_no_result_is_quoted(void **state)
{
	struct answered got = {0};

	with_a_fio_that(*state, "echo 'fio: no such engine'; exit 1", &got);
	assert_contains(got.err, "EIO fio: exit 1: fio: no such engine");
	with_a_fio_that(*state, "kill -9 $$", &got);
	assert_contains(got.err, "EIO fio: exit 137: it said nothing");
	/* longer than any line that it has room for */
	with_a_fio_that(*state, "head -c 100000 /dev/zero | tr '\\0' 3; echo", &got);
	assert_contains(got.err, "EIO fio: exit 0: 333");
}

static void test_lines_of_fio_are_read_or_refused(void **state)
{
	/* of a run with two jobs of a second, the parts in between left out */
	const struct fio_load l = {.jobs = 2, .block_kib = 4};
	static const char zeros[] = "0;0;0;0;0;0;0.0;0.0;0;0;0.0;0.0;50.000000%=0;99.000000%=0;";
	auto_strbuf struct strbuf line = STRBUF_INIT;
	auto_strbuf struct strbuf bad = STRBUF_INIT;
	struct fio_report rep = {0};

	(void)state;
	strbuf_adds(&line, "3;fio-3.33;random;0;5;");
	strbuf_adds(&line, "111372;110817;27704;1005;0;0;0.0;0.0;0;9159;71.609912;370.508569;");
	strbuf_adds(&line, "50.000000%=1;99.000000%=1712;");
	for (unsigned i = 0; i < 18; i++)
		strbuf_adds(&line, "0%=0;");
	strbuf_adds(&line, "0;9160;71.6;370.5;1;2;100.0%;3.0;4.0;");
	strbuf_adds(&line, zeros);
	for (unsigned i = 0; i < 18; i++)
		strbuf_adds(&line, "0%=0;");
	strbuf_adds(&line, "0;0;0.0;0.0;0;0;0.0%;0.0;0.0;");
	strbuf_adds(&line, "0.597907%;14.748381%;11441;0;21");
	assert_true(fio_report_parse(strbuf_str(&line), &l, &rep));
	assert_int_equal(rep.ios, 27843);
	assert_int_equal(rep.iops, 27704);
	assert_int_equal(rep.elapsed_ms, 1005);
	assert_int_equal(rep.p50_us, 1);
	assert_int_equal(rep.p99_us, 1712);
	assert_int_equal(rep.max_us, 9160);
	assert_int_equal(rep.first_errno, 5);
	/* 15.346288 % of two jobs' 1.005 s */
	assert_in_range(rep.cpu_us, 308460, 308461);

	/* cut off anywhere before the CPU time, and of another version */
	for (size_t n = 0; n + 12 < line.len; n++) {
		strbuf_reset(&bad);
		strbuf_addf(&bad, "%.*s", (int)n, strbuf_str(&line));
		if (strstr(strbuf_str(&bad), "%;14.748381%"))
			break;
		assert_false(fio_report_parse(strbuf_str(&bad), &l, &rep));
	}
	line.data[0] = '5';
	assert_false(fio_report_parse(strbuf_str(&line), &l, &rep));
}

/* --- walk ---- */

static void test_walk_sees_each_entry_once_however_many_walk(void **state)
{
	const char *root = *state;
	struct answered got = {0};

	for (unsigned d = 0; d < 5; d++)
		for (unsigned f = 0; f < 7; f++) {
			auto_free char *path = xasprintf("/tree/d%u/sub/f%u", d, f);

			plant(root, path, "x");
		}
	for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
		auto_free char *body = xasprintf("walk dir=%s/tree jobs=%u", root, jobs);

		assert_int_equal(run_verb(root, body, &got), 0);
		assert_int_equal(number_in(got.ok, "entries"), 5 * (1 + 1 + 7));
		assert_int_equal(sum_of(&got, "entries", jobs), 5 * (1 + 1 + 7));
		assert_int_equal(number_in(got.ok, "errors"), 0);
	}
	strbuf_release(&got.lines);
}

static void test_walk_wants_a_folder(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "walk dir=/nonexistent", &got), -ENOENT);
	assert_int_equal(run_verb(*state, "walk dir=/dev/null", &got), -ENOTDIR);
}

/* --- dds ---- */

static void test_dds_run_again_and_again_until_the_time_is_over(void **state)
{
	struct answered got = {0};

	assert_int_equal(
		run_verb(*state, "dds if=/dev/zero bs=4096 count=10 jobs=3 seconds=1", &got), 0);
	assert_true(number_in(got.ok, "runs") >= 3);
	assert_int_equal(sum_of(&got, "records", 3), number_in(got.ok, "records"));
	/* all but those that were cut did all their records */
	assert_true(number_in(got.ok, "records") >=
		    10 * (number_in(got.ok, "runs") - number_in(got.ok, "cut")));
	assert_int_equal(number_in(got.ok, "failed"), 0);
	assert_int_equal(number_in(got.ok, "killed"), 0);
	strbuf_release(&got.lines);
}

static void test_a_dd_that_does_not_end_is_cut_and_what_it_did_counts(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "dds if=/dev/zero bs=4096 jobs=2 seconds=1", &got), 0);
	assert_int_equal(number_in(got.ok, "runs"), 2);
	assert_int_equal(number_in(got.ok, "cut"), 2);
	assert_int_equal(number_in(got.ok, "silent"), 0);
	assert_true(number_in(got.ok, "records") > 100);
	assert_true(number_in(got.ok, "iops") > 0);
	strbuf_release(&got.lines);
}

static void test_dds_that_run_once_do_so(void **state)
{
	struct answered got = {0};

	assert_int_equal(
		run_verb(*state, "dds if=/dev/zero bs=512 count=9 jobs=4 once=1 seconds=60", &got),
		0);
	assert_int_equal(number_in(got.ok, "runs"), 4);
	assert_int_equal(number_in(got.ok, "records"), 36);
	assert_int_equal(number_in(got.ok, "cut"), 0);
	strbuf_release(&got.lines);
}

/* As many as a scenario can ask for: none is missing, each has its line. */
static void test_the_most_jobs_that_there_can_be_all_run(void **state)
{
	const char *root = *state;
	struct answered got = {0};
	auto_free char *body = NULL;
	static char text[65537];

	assert_int_equal(
		run_verb(root, "dds if=/dev/zero bs=512 count=2 jobs=512 once=1 seconds=60", &got),
		0);
	assert_int_equal(number_in(got.ok, "runs"), TEAM_MAX);
	assert_int_equal(sum_of(&got, "records", TEAM_MAX), 2 * TEAM_MAX);
	assert_int_equal(number_in(got.ok, "failed"), 0);
	assert_int_equal(number_in(got.ok, "killed"), 0);

	memset(text, 'x', sizeof(text) - 1);
	plant(root, "/disk", text);
	body = xasprintf("random path=%s/disk op=read jobs=512 seconds=1 direct=0", root);
	assert_int_equal(run_verb(root, body, &got), 0);
	assert_int_equal(sum_of(&got, "ios", TEAM_MAX), number_in(got.ok, "ios"));
	assert_int_equal(number_in(got.ok, "errors"), 0);
	assert_int_equal(number_in(got.ok, "stuck"), 0);
	strbuf_release(&got.lines);
}

static void test_dds_that_fail_are_counted_and_quoted(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "dds if=/nonexistent/file jobs=2 seconds=5", &got), 0);
	assert_int_equal(number_in(got.ok, "failed"), 2);
	assert_contains(got.ok, "nonexistent");
	assert_true(number_in(got.ok, "elapsed_ms") < 4000);
	strbuf_release(&got.lines);
}

/* --- sh ---- */

static void test_sh_answers_what_the_command_says(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "sh command=echo%20one;echo%20two%20>%262", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "one\ntwo\n");
	assert_true(number_in(got.ok, "elapsed_ms") >= 0);
	strbuf_release(&got.lines);
}

static void test_sh_that_fails_names_command_status_and_last_line(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "sh command=echo%20so%20it%20is;exit%203", &got), -EIO);
	assert_contains(got.err, "sh: 'echo so it is;exit 3': exit 3: so it is");
	strbuf_release(&got.lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_begins_before_the_gate_opens),
		cmocka_unit_test(test_who_does_not_end_is_killed_and_said_to_be),
		cmocka_unit_test(test_a_team_has_its_limits),
		cmocka_unit_test_setup_teardown(test_random_reads_count_each_job_and_second, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_random_writes_stay_inside_and_leave_the_size,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_refuses_what_it_cannot_do, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_fio_answers_in_the_same_words, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_target_without_fio_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_fio_that_says_no_result_is_quoted, setup,
						teardown),
		cmocka_unit_test(test_lines_of_fio_are_read_or_refused),
		cmocka_unit_test_setup_teardown(test_walk_sees_each_entry_once_however_many_walk,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_walk_wants_a_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dds_run_again_and_again_until_the_time_is_over,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_dd_that_does_not_end_is_cut_and_what_it_did_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dds_that_run_once_do_so, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_most_jobs_that_there_can_be_all_run, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_dds_that_fail_are_counted_and_quoted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_sh_answers_what_the_command_says, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_sh_that_fails_names_command_status_and_last_line, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
