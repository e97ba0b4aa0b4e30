/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
#include "base/child.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>

static int run(struct waiter *w, const char *const *argv, nsec_t timeout_ns, struct strbuf *out,
	       struct err *e)
{
	const struct child_cfg cfg = {.argv = argv, .stdin_fd = -1};

	return child_run(w, &cfg, timeout_ns, out, e);
}

static void test_output_and_success_come_back(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo one; echo two", NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	(void)state;
	assert_int_equal(run(w, argv, 10 * NSEC_PER_SEC, &out, &e), 0);
	assert_string_equal(strbuf_str(&out), "one\ntwo\n");
}

static void test_a_failure_tells_status_and_last_words(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo no such thing >&2; exit 3", NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct err e = {0};

	(void)state;
	assert_int_equal(run(w, argv, 10 * NSEC_PER_SEC, NULL, &e), -ECHILD);
	assert_string_equal(e.text, "sh: exit status 3: no such thing");
}

static void test_an_exit_status_can_be_an_answer(void **state)
{
	static const struct {
		const char *script;
		int want;
		const char *text;
	} cases[] = {
		{"echo yes", 0, ""},
		{"exit 1", 1, "sh: exit status 1: no message"},
		{"echo exit status 1: no >&2; exit 255", 255,
		 "sh: exit status 255: exit status 1: no"},
		{"kill -9 $$", -ECHILD, "sh: killed by signal 9 (Killed): no message"},
	};
	auto_waiter struct waiter *w = waiter_new(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const argv[] = {"sh", "-c", cases[i].script, NULL};
		const struct child_cfg cfg = {.argv = argv, .stdin_fd = -1};
		struct err e = {0};

		assert_int_equal(child_ask(w, &cfg, 10 * NSEC_PER_SEC, NULL, &e), cases[i].want);
		assert_string_equal(e.text, cases[i].text);
	}
}

static void test_what_a_program_leaves_running_is_not_waited_for(void **state)
{
	const char *const argv[] = {"sh", "-c", "sleep 300 & echo $!; echo left it >&2; exit 7",
				    NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};
	pid_t pid;

	(void)state;
	assert_int_equal(run(w, argv, 60 * NSEC_PER_SEC, &out, &e), -ECHILD);
	assert_string_equal(e.text, "sh: exit status 7: left it");
	pid = (pid_t)strtol(strbuf_str(&out), NULL, 10);
	assert_true(pid > 1);
	/* it is alive, with the streams in its hands */
	assert_int_equal(kill(pid, SIGKILL), 0);
}

static void test_a_program_that_is_not_there_is_named(void **state)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct err e = {0};

	(void)state;
	assert_int_equal(run(w, argv, NSEC_PER_SEC, NULL, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_string_equal(e.text, "program 'no-such-program-here' is not installed");
}

static void test_a_program_that_does_not_end_is_ended(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo waiting for the card >&2; exec sleep 600",
				    NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct err e = {0};

	(void)state;
	assert_int_equal(run(w, argv, NSEC_PER_SEC, NULL, &e), -ETIMEDOUT);
	assert_contains(e.text, "sh: not done within 1 s: waiting for the card");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_more_output_than_is_kept_does_not_block(void **state)
{
	const char *const argv[] = {"sh", "-c", "head -c 20000000 /dev/zero; echo end >&2", NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	(void)state;
	assert_int_equal(run(w, argv, 60 * NSEC_PER_SEC, &out, &e), 0);
	assert_int_equal(out.len, CHILD_OUTPUT_MAX);
}

static void test_stop_uses_sigkill_on_what_ignores_sigterm(void **state)
{
	const char *const argv[] = {"sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done",
				    NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct child *c = NULL;
	struct err e = {0};
	int p[2];
	char up[3];
	int status;

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(child_start(&(struct child_cfg){.argv = argv,
							 .stdin_fd = -1,
							 .stdout_fd = p[1],
							 .stderr_fd = -1,
							 .dies_with_parent = true},
				     &c, &e),
			 0);
	close(p[1]);
	assert_int_equal(read(p[0], up, 3), 3);
	assert_false(child_has_ended(c, NULL));
	status = child_stop(c, w, 50 * NSEC_PER_MSEC);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	child_free(c);
	close(p[0]);
}

static void test_a_child_dies_with_its_parent(void **state)
{
	const char *const argv[] = {"sleep", "600", NULL};
	pid_t grandchild = 0;
	pid_t parent;
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0) {
		struct child *c = NULL;

		if (child_start(&(struct child_cfg){.argv = argv,
						    .stdin_fd = -1,
						    .stdout_fd = -1,
						    .stderr_fd = -1,
						    .dies_with_parent = true},
				&c, NULL) < 0)
			_exit(1);
		grandchild = child_pid(c);
		(void)!write(p[1], &grandchild, sizeof(grandchild));
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(p[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(kill(grandchild, 0), 0);
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	/* it is init's child now: wait until it is gone or a zombie */
	for (int i = 0; i < 500; i++) {
		auto_free char *path = xasprintf("/proc/%d/stat", (int)grandchild);
		auto_strbuf struct strbuf stat = STRBUF_INIT;

		if (file_read(path, 4096, &stat, NULL) < 0 || strstr(strbuf_str(&stat), ") Z "))
			goto gone;
		(void)usleep(10000);
	}
	fail_msg("pid %d outlived its parent", (int)grandchild);
gone:
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_and_success_come_back),
		cmocka_unit_test(test_a_failure_tells_status_and_last_words),
		cmocka_unit_test(test_an_exit_status_can_be_an_answer),
		cmocka_unit_test(test_what_a_program_leaves_running_is_not_waited_for),
		cmocka_unit_test(test_a_program_that_is_not_there_is_named),
		cmocka_unit_test(test_a_program_that_does_not_end_is_ended),
		cmocka_unit_test(test_more_output_than_is_kept_does_not_block),
		cmocka_unit_test(test_stop_uses_sigkill_on_what_ignores_sigterm),
		cmocka_unit_test(test_a_child_dies_with_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
