/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cli_log_source.c - console logs from files, compressed files, recordings and folders. */
/* ctest: cli */
#include "cli/log_source.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>

#define LOG_TEXT \
	"[  120.100000] usb 2-1: USB disconnect, device number 3\n[  126.900000] DELAY: 6782\n"

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

/* Feeds path and returns what log_source_feed() did; the verdict's reason goes to reason. */
static int feed(const char *path, int stdin_fd, char reason[96], struct err *e)
{
	const struct console_log_cfg cfg = {.limit_us = 50000, .attribution_us = 1000000};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct console_log *log = console_log_new(&cfg);
	struct console_log_verdict v;
	int r;

	r = log_source_feed(log, path, stdin_fd, w, e);
	if (r >= 0) {
		console_log_judge(log, &v);
		(void)snprintf(reason, 96, "%s", v.reason);
	}
	console_log_free(log);
	return r;
}

static void sh(const char *dir, const char *command)
{
	auto_free char *cmd = xasprintf("cd %s && %s", dir, command);

	assert_int_equal(system(cmd), 0);
}

static void test_a_log_is_read_whatever_it_is_packed_in(void **state)
{
	static const char *const commands[] = {
		"mv log x",
		"gzip -c log > x",
		"xz -c log > x",
		"zstd -qc log > x",
		"mkdir x && mv log x/console.log",
		"mkdir -p x/b && mv log x/b/console.raw && echo 1.000000 83 > x/b/console.timing",
		"mkdir -p x/a/b && gzip -c log > x/a/b/log.gz && echo 1 > x/a/script.timing",
	};
	auto_free char *path = xasprintf("%s/x", (const char *)*state);

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char reason[96] = "";
		struct err e = {0};

		sh(*state, "rm -rf x");
		unit_write(*state, "log", LOG_TEXT);
		sh(*state, commands[i]);
		if (feed(path, -1, reason, &e) < 0)
			fail_msg("%s: %s", commands[i], e.text);
		assert_string_equal(reason, "over-limit");
	}
}

static void test_the_standard_input_is_read_to_its_end(void **state)
{
	auto_free char *path = xasprintf("%s/log", (const char *)*state);
	char reason[96] = "";
	struct err e = {0};

	unit_write(*state, "log", LOG_TEXT);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(feed("-", fd, reason, &e), 0);
	assert_string_equal(reason, "over-limit");
}

static void test_what_cannot_be_a_log_is_named(void **state)
{
	static const struct {
		const char *command;
		const char *text;
	} cases[] = {
		{"true", "/x: No such file or directory"},
		{"mkdir x", "/x: there is no file in this folder"},
		{"echo just text > x", "/x: not a console log: no kernel message in 1 lines"},
		{"gzip -c log > x && truncate -s -8 x", "/x: gzip says that it is damaged"},
		{"mkdir -p x/1/2/3 && mv log x/1/2/3/log", "/x/1/2/3: more than 3 folders deep"},
		{"head -c 5000000 /dev/urandom > x", "/x: not a console log: "},
		{"mkdir x && mv log x/console.raw", "console.timing"},
	};
	auto_free char *path = xasprintf("%s/x", (const char *)*state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char reason[96] = "";
		struct err e = {0};

		sh(*state, "rm -rf x");
		unit_write(*state, "log", LOG_TEXT);
		sh(*state, cases[i].command);
		assert_true(feed(path, -1, reason, &e) < 0);
		assert_contains(e.text, cases[i].text);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void test_an_empty_file_is_a_silent_console(void **state)
{
	auto_free char *path = xasprintf("%s/log", (const char *)*state);
	char reason[96] = "";
	struct err e = {0};

	unit_write(*state, "log", "");
	assert_int_equal(feed(path, -1, reason, &e), 0);
	assert_string_equal(reason, "evidence.console-audible");
}

/* ---- follow ---- */

struct growth {
	int fd;
	unsigned calls;
	unsigned events;
};

static void on_event(void *self, const struct console_event *ev)
{
	struct growth *g = self;

	g->events += ev->cls == CONSOLE_DELAY;
}

/* Adds a line each time the reader has come to the end, then asks for the end. */
static void grow(void *self)
{
	static const char line[] = "[  126.900000] DELAY: 67\n";
	struct growth *g = self;

	if (++g->calls <= 3)
		assert_int_equal(fd_write_all(g->fd, line, sizeof(line) - 1), 0);
	else
		raise(SIGTERM);
}

static void test_a_growing_file_is_followed_until_a_signal(void **state)
{
	auto_free char *path = xasprintf("%s/log", (const char *)*state);
	struct growth g = {0};
	const struct console_log_cfg cfg = {
		.limit_us = 50000, .attribution_us = 1000000, .on_event = on_event, .self = &g};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct console_log *log = console_log_new(&cfg);
	struct err e = {0};

	unit_write(*state, "log", LOG_TEXT);
	auto_fd int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	g.fd = fd;
	waiter_catch_stop_signals();
	assert_int_equal(log_source_follow(log, path, -1, w, grow, &g, &e), -EINTR);
	assert_int_equal(e.kind, ERR_STOPPED);
	assert_int_equal(g.events, 4);
	console_log_free(log);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_log_is_read_whatever_it_is_packed_in),
		CASE(test_the_standard_input_is_read_to_its_end),
		CASE(test_what_cannot_be_a_log_is_named),
		CASE(test_an_empty_file_is_a_silent_console),
		CASE(test_a_growing_file_is_followed_until_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
