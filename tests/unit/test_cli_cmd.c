/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cli_cmd.c - commands as a user calls them: words, exit status, files. */
/* ctest: cli */
#include "base/fdio.h"
#include "cli/cmd.h"
#include "sample_run.h"
#include "store/store.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>

#define WORDS_MAX 16

/* What one call of the program said. */
struct said {
	int status;
	char *out;
	char *log;
};

static struct said call(const char *const *words)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct said s = {0};
	size_t n_out, n_log;
	struct cli cli = {
		.out = open_memstream(&s.out, &n_out),
		.log = open_memstream(&s.log, &n_log),
		.columns = 80,
		.w = w,
	};
	char *argv[WORDS_MAX] = {NULL};
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = xstrdup(words[argc]);
	s.status = cli_run(&cli, argc, argv);
	fclose(cli.out);
	fclose(cli.log);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return s;
}

static void said_release(struct said *s)
{
	free(s->out);
	free(s->log);
}
#define auto_said __attribute__((cleanup(said_release)))
#define CALL(...) call((const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
	char *dir = unit_tmpdir();

	setenv("STALLRIG_STATE", dir, 1);
	setenv("STALLRIG_CACHE", dir, 1);
	*state = dir;
	return 0;
}

static int teardown(void **state)
{
	unsetenv("STALLRIG_STATE");
	unsetenv("STALLRIG_CACHE");
	unit_rmdir(*state);
	return 0;
}

static void test_a_wrong_command_line_is_129_with_one_clear_line(void **state)
{
	static const struct {
		const char *words[9];
		const char *log;
	} cases[] = {
		{{NULL}, "stallrig: a command is needed, see 'stallrig help'\n"},
		{{"rnu"}, "stallrig: unknown command 'rnu', did you mean 'run'?\n"},
		{{"frobnicate"}, "stallrig: unknown command 'frobnicate', see 'stallrig help'\n"},
		{{"\033[2J"}, "stallrig: unknown command '\\x1b[2J', see 'stallrig help'\n"},
		{{"kernel"},
		 "stallrig: 'kernel' needs one of: fetch, add, build, mutations, list, show, remove\n"},
		{{"kernel", "fech", "x"},
		 "stallrig: 'kernel' has no command 'fech', did you mean 'kernel fetch'?\n"},
		{{"kernel", "zzz"},
		 "stallrig: 'kernel' has no command 'zzz', there are: fetch, add, build, mutations, "
		 "list, show, remove\n"},
		{{"kernel", "fetch"},
		 "stallrig: 'kernel fetch' needs a SPEC, see 'stallrig help kernel fetch'\n"},
		{{"show"}, "stallrig: 'show' needs a TRIAL, see 'stallrig help show'\n"},
		{{"version", "x"}, "stallrig: 'version': unexpected word 'x'\n"},
		{{"completion", "tcsh"},
		 "stallrig: 'completion': SHELL: 'tcsh' is not one of: bash, zsh, fish\n"},
		{{"help", "rnu"}, "stallrig: unknown command 'rnu', did you mean 'run'?\n"},
		{{"help", "run", "x"}, "stallrig: 'help': 'run' has no command 'x'\n"},
		{{"selftest"},
		 "stallrig: 'selftest': what is to be tested? There is --mutations\n"},
		{{"selftest", "--mutations", "--mutation", "nope"},
		 "stallrig: mutation 'nope' is unknown, see 'stallrig kernel mutations'\n"},
		{{"selftest", "--mutations", "--scenario", "unplug-raw"},
		 "stallrig: no mutation belongs to what was asked for, see 'stallrig kernel "
		 "mutations'\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_said struct said s = call(cases[i].words);

		assert_int_equal(s.status, 129);
		assert_string_equal(s.log, cases[i].log);
		assert_string_equal(s.out, "");
	}
}

static void test_unknown_rig_scenario_and_kernel_are_named_and_leave_nothing(void **state)
{
	static const struct {
		const char *words[12];
		const char *part;
	} cases[] = {
		{{"run", "-r", "virtual-x87", "-s", "unplug-read", "-k", "k"}, "'virtual-x87'"},
		{{"run", "-r", "virtual-x86", "-s", "unplug", "-k", "k"}, "'unplug'"},
		{{"run", "-r", "virtual-x86", "-s", "unplug-read", "-k", "nope"}, "'nope'"},
		{{"run", "-r", "virtual-x86", "-s", "unplug-read", "-k", "debian:6.1"},
		 "'stallrig kernel fetch debian:6.1 --arch x86_64' gets it"},
		{{"run", "-r", "virtual-x86", "-s", "unplug-read", "-k", "k", "--append", "a\nb"},
		 "'run': --append: byte 2 is not printable ASCII"},
		{{"rig", "show", "virtual-x87"}, "'virtual-x87'"},
		{{"scenario", "check", "unplug"}, "'unplug'"},
		{{"scenario", "explain", "unplug"}, "'unplug'"},
		{{"selftest", "--mutations", "--rig", "virtual-x87"}, "'virtual-x87'"},
		{{"selftest", "--mutations", "--scenario", "unplug"}, "'unplug'"},
		{{"kernel", "show", "nope"}, "'nope'"},
		{{"judge", "/nowhere/log"}, "/nowhere/log: No such file"},
	};
	auto_free char *db = xasprintf("%s/results.db", (const char *)*state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_said struct said s = call(cases[i].words);

		assert_contains(s.log, cases[i].part);
		assert_int_equal(s.status, 129);
		assert_int_equal(access(db, F_OK), -1);
	}
}

/* Where a line was wrapped does not matter. */
static void fold_blanks(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (!strchr(" \n", *from))
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
}

static void test_a_scenario_is_told_in_the_order_in_which_it_happens(void **state)
{
	static const struct {
		const char *scenario;
		const char *parts[8];
	} cases[] = {
		{"unplug-read",
		 {"1. The target boots", "2. The stick is mounted read-only", "90 %",
		  "3. A stall of 60 ms", "4. The stick is unplugged", "5. For 1500 ms",
		  "above 50 ms", "8 trials in 2 boots"}},
		{"unplug-unmounted",
		 {"mounted read-only", "A stall",
		  "The stick is unmounted. The stick is unplugged"}},
		{"unplug-uncached", {"read-only", "page cache is dropped again", "A stall"}},
		{"unplug-raw", {"not mounted", "holds the device open", "A stall"}},
		{"unplug-reading", {"A stall", "past the page cache", "is unplugged"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_said struct said s = CALL("scenario", "explain", cases[i].scenario);
		const char *at = s.out;

		assert_int_equal(s.status, 0);
		fold_blanks(s.out);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].parts) && cases[i].parts[k]; k++) {
			at = strstr(at, cases[i].parts[k]);
			if (!at)
				fail_msg("%s: no '%s' at its place in: %s", cases[i].scenario,
					 cases[i].parts[k], s.out);
		}
	}
}

static void test_a_wrong_scenario_file_is_named_with_line_and_column(void **state)
{
	auto_free char *path = xasprintf("%s/bad.yaml", (const char *)*state);

	unit_write(*state, "bad.yaml", "name: x\nnonsense: 1\n");
	auto_said struct said s = CALL("scenario", "check", path);

	assert_int_equal(s.status, 129);
	assert_contains(s.log, "bad.yaml:2:1");
	assert_contains(s.log, "nonsense");
}

static void test_help_and_version_are_found_in_every_spelling(void **state)
{
	static const struct {
		const char *words[4];
		const char *part;
	} cases[] = {
		{{"help"}, "Commands:\n"},
		{{"--help"}, "Commands:\n"},
		{{"-h"}, "Commands:\n"},
		{{"help", "kernel", "fetch"}, "Usage: stallrig kernel fetch [options] SPEC\n"},
		{{"kernel", "fetch", "-h"}, "Usage: stallrig kernel fetch [options] SPEC\n"},
		{{"run", "--help"}, "Usage: stallrig run --rig=RIG"},
		{{"version"}, "stallrig 0."},
		{{"--version"}, "stallrig 0."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_said struct said s = call(cases[i].words);

		assert_int_equal(s.status, 0);
		assert_contains(s.out, cases[i].part);
		assert_string_equal(s.log, "");
	}
}

static void test_every_error_has_one_of_two_statuses(void **state)
{
	static const struct {
		enum err_kind kind;
		int code;
		int status;
	} cases[] = {
		{ERR_USAGE, EINVAL, 129},
		{ERR_CONFIG, EINVAL, 129},
		{ERR_RIG, ENOENT, 129},
		{ERR_KERNEL, EINVAL, 129},
		{ERR_INTERNAL, ENOSPC, 129},
		{ERR_STORE, ENOENT, 129},
		{ERR_STORE, EIO, 130},
		{ERR_INTERNAL, EIO, 130},
		{ERR_STOPPED, EINTR, 130},
		{ERR_TARGET, EPROTO, 130},
		{ERR_NONE, 0, 130},
		/* a program, chip or line that is not there, held or not permitted */
		{ERR_RIG, EACCES, 129},
		{ERR_RIG, EBUSY, 129},
		{ERR_RIG, ENOTUNIQ, 129},
		{ERR_RIG, ENOTSUP, 129},
		{ERR_RIG, ENOEXEC, 129},
		{ERR_RIG, EINVAL, 129},
		/* a stick with another content, a switch that does not click, a board that is gone,
		   VBUS that does not follow, an over-current */
		{ERR_RIG, EBADMSG, 130},
		{ERR_RIG, EIO, 130},
		{ERR_RIG, ENODEV, 130},
		{ERR_RIG, ETIMEDOUT, 130},
		{ERR_RIG, EOVERFLOW, 130},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct err e = {.kind = cases[i].kind, .code = cases[i].code};

		assert_int_equal(cli_exit_of_error(&e), cases[i].status);
	}
}

/* A store with two runs: the older one passes, the newer one fails. */
static void fill_store(const char *dir)
{
	static const char *const ids[] = {"20261130-111754-a3f2", "20261130-121754-b4e1"};
	static const int64_t worst_us[] = {4900, 183212};
	auto_store struct store *st = NULL;
	struct err e = {0};

	if (store_open(NULL, STORE_WRITE, &st, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		auto_run struct run *r =
			sample_run(i ? "bad kernel" : "good kernel", "virtual-x86", "virtual");

		free(r->id);
		r->id = xstrdup(ids[i]);
		r->started_wall_ns += (int64_t)i * 3600 * NSEC_PER_SEC;
		sample_add_boot(r, dir);
		for (unsigned k = 0; k < 8; k++)
			sample_add_trial(r, 1, worst_us[i]);
		run_judge(r);
		if (store_run_begin(st, r, &e) < 0 || store_boot_add(st, r, &r->boots[0], &e) < 0)
			fail_msg("%s", e.text);
		for (size_t k = 0; k < r->n_trials; k++)
			if (store_trial_add(st, r, r->trials[k], &e) < 0)
				fail_msg("%s", e.text);
		if (store_run_update(st, r, &e) < 0)
			fail_msg("%s", e.text);
	}
}

static void test_report_shows_the_store_oldest_first(void **state)
{
	fill_store(*state);
	auto_said struct said all = CALL("report");
	auto_said struct said last = CALL("report", "--last");
	auto_said struct said by_kernel = CALL("report", "-k", "good");
	auto_said struct said json = CALL("report", "--json", "-");

	assert_int_equal(all.status, 0);
	assert_true(strstr(all.out, "good kernel") < strstr(all.out, "bad kernel"));
	assert_contains(last.out, "bad kernel");
	assert_null(strstr(last.out, "good kernel"));
	assert_contains(by_kernel.out, "good kernel");
	assert_null(strstr(by_kernel.out, "bad kernel"));
	assert_ptr_equal(strstr(json.out, "{\"runs\":[{\"id\":\"20261130-111754-a3f2\","),
			 json.out);
	assert_contains(json.out, "\"id\":\"20261130-121754-b4e1.8\"");
}

static void test_report_writes_files_and_still_shows_the_table(void **state)
{
	auto_free char *html = xasprintf("%s/r.html", (const char *)*state);
	auto_free char *json = xasprintf("%s/r.json", (const char *)*state);

	fill_store(*state);
	auto_said struct said s = CALL("report", "--html", html, "--json", json);

	assert_int_equal(s.status, 0);
	assert_contains(s.out, "kernel build");
	assert_int_equal(access(html, F_OK), 0);
	assert_int_equal(access(json, F_OK), 0);
}

static void test_a_result_replaces_only_an_earlier_result(void **state)
{
	static const char line[] = "[  126.900000] DELAY: 6782\n";
	auto_free char *log = xasprintf("%s/log", (const char *)*state);
	auto_free char *json = xasprintf("%s/r.json", (const char *)*state);
	auto_strbuf struct strbuf after = STRBUF_INIT;
	struct err e = {0};

	unit_write(*state, "log", line);
	auto_said struct said refused = CALL("judge", log, "--json", log);

	assert_int_equal(refused.status, 129);
	assert_contains(refused.log, "log: is not an earlier result");
	assert_int_equal(file_read(log, 4096, &after, &e), 0);
	assert_string_equal(strbuf_str(&after), line);
	unit_write(*state, "r.json", "[{\"rig\":\"bench1\"}]\n"); /* a result of another command */
	for (int i = 0; i < 2; i++) {
		auto_said struct said s = CALL("judge", log, "--limit-ms=50", "--json", json);

		assert_int_equal(s.status, 1);
	}
}

static void test_a_file_that_cannot_be_written_is_named(void **state)
{
	fill_store(*state);
	auto_said struct said s = CALL("report", "--html", "/nowhere/r.html");

	assert_true(s.status == 129 || s.status == 130);
	assert_contains(s.log, "/nowhere/r.html");
}

static void test_show_tells_one_trial_by_a_unique_prefix(void **state)
{
	fill_store(*state);
	auto_said struct said s = CALL("show", "20261130-12.3");
	auto_said struct said json = CALL("show", "--json", "20261130-121754-b4e1.3");
	auto_said struct said unclear = CALL("show", "20261130.3");
	auto_said struct said none = CALL("show", "20261130-12.9");

	assert_int_equal(s.status, 0);
	assert_contains(s.out, "trial 20261130-121754-b4e1.3: valid, over the limit\n");
	assert_contains(json.out, "\"evidence\":[");
	assert_int_equal(unclear.status, 129);
	assert_int_equal(none.status, 129);
}

static void test_a_store_that_is_missing_is_named(void **state)
{
	auto_said struct said s = CALL("report");
	auto_said struct said run = CALL("report", "--store", "/nowhere/x.db");

	(void)state;
	assert_int_equal(s.status, 129);
	assert_contains(s.log, "results.db");
	assert_int_equal(run.status, 129);
	assert_contains(run.log, "/nowhere/x.db");
}

static void test_a_run_that_is_not_there_is_an_error_and_no_match_is_none(void **state)
{
	fill_store(*state);
	auto_said struct said run = CALL("report", "--run", "20200101-000000-0000");
	auto_said struct said filter = CALL("report", "--rig", "other");

	assert_int_equal(run.status, 129);
	assert_contains(run.log, "there is no run '20200101-000000-0000'");
	assert_int_equal(filter.status, 0);
	assert_contains(filter.log, "no run matches");
}

static void test_a_full_output_is_an_error_and_a_closed_one_is_not(void **state)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	char word[] = "help";
	char *argv[] = {word, NULL};
	char *log = NULL;
	size_t n_log;
	struct cli cli = {.log = open_memstream(&log, &n_log), .w = w};

	(void)state;
	cli.out = fopen("/dev/full", "w");
	assert_non_null(cli.out);
	assert_int_equal(cli_run(&cli, 1, argv), 129);
	(void)fflush(cli.log);
	assert_contains(log, "cannot write to the standard output: No space left on device");
	fclose(cli.out);

	/* of a pipe that nobody reads neither the whole help text nor one line is an error */
	char version[] = "version";
	char *const words[] = {word, version};

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		int fds[2];
		long n_said = ftell(cli.log);

		argv[0] = words[i];
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		(void)close(fds[0]);
		cli.out = fdopen(fds[1], "w");
		cli.out_error = 0; /* each run of the program has its own */
		assert_non_null(cli.out);
		assert_int_equal(cli_run(&cli, 1, argv), 0);
		assert_int_equal(ftell(cli.log), n_said);
		fclose(cli.out);
	}
	fclose(cli.log);
	free(log);
}

static void test_judge_has_the_verdicts_status(void **state)
{
	static const struct {
		const char *log;
		const char *option;
		int status;
		const char *part;
	} cases[] = {
		{"[  126.900000] DELAY: 6782\n", "--limit-ms=50", 1, "FAIL  over-limit"},
		{"[  126.900000] DELAY: 6782\n", "--limit-ms=9000", 125, "INCONCLUSIVE"},
		{"[  126.900000] DELAY: 6782\n", "--scenario=unplug-read", 1, "FAIL  over-limit"},
		{"[  126.900000] DELAY: 6782\n", "--quiet", 1, ""},
		{"", "--limit-ms=50", 125, "the log is empty"},
	};
	auto_free char *path = xasprintf("%s/log", (const char *)*state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unit_write(*state, "log", cases[i].log);
		auto_said struct said s = CALL("judge", path, cases[i].option);

		assert_int_equal(s.status, cases[i].status);
		assert_contains(s.out, cases[i].part);
	}
	unit_write(*state, "log", "# Overhead  Command\n 42.17%  kworker\n");
	auto_said struct said s = CALL("judge", path);

	assert_int_equal(s.status, 129);
	assert_contains(s.log, "not a console log");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_wrong_command_line_is_129_with_one_clear_line),
		CASE(test_unknown_rig_scenario_and_kernel_are_named_and_leave_nothing),
		CASE(test_a_scenario_is_told_in_the_order_in_which_it_happens),
		CASE(test_a_wrong_scenario_file_is_named_with_line_and_column),
		CASE(test_help_and_version_are_found_in_every_spelling),
		CASE(test_every_error_has_one_of_two_statuses),
		CASE(test_report_shows_the_store_oldest_first),
		CASE(test_report_writes_files_and_still_shows_the_table),
		CASE(test_a_result_replaces_only_an_earlier_result),
		CASE(test_a_file_that_cannot_be_written_is_named),
		CASE(test_show_tells_one_trial_by_a_unique_prefix),
		CASE(test_a_store_that_is_missing_is_named),
		CASE(test_a_run_that_is_not_there_is_an_error_and_no_match_is_none),
		CASE(test_a_full_output_is_an_error_and_a_closed_one_is_not),
		CASE(test_judge_has_the_verdicts_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
