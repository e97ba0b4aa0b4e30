/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* The agent's loop in this process, spoken to frame by frame over a socket or a pty. */
#include "agent_unit.h"
#include "base/child.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

struct talk {
	struct agent ag;
	int fd;                /* the controller's end */
	struct child *program; /* the agent is another process; else it is ag, served here */
	char link_name[32];
	struct frame_reader reader;
	struct strbuf heard; /* "<seq> <verb> <word>…\n", words decoded */
	char *dir;
	struct err e;
};

static const char *powered;

static void note_power(const char *how)
{
	powered = how;
}

static void hear(void *self, const struct frame *f)
{
	struct talk *t = self;

	strbuf_addf(&t->heard, "%" PRIu32 " %s", f->seq, f->verb);
	for (size_t i = 0; i < f->n_words; i++)
		strbuf_addf(&t->heard, " %s", f->words[i]);
	strbuf_adds(&t->heard, "\n");
}

static int setup(void **state)
{
	static struct talk t;
	int fds[2];

	memset(&t, 0, sizeof(t));
	powered = NULL;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
	t.fd = fds[0];
	t.dir = unit_tmpdir();
	(void)snprintf(t.link_name, sizeof(t.link_name), "fd:%d", fds[1]);
	assert_int_equal(agent_init(&t.ag, t.link_name, t.dir, note_power, &t.e), 0);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct talk *t = *state;
	int far = t->ag.in_fd;

	agent_release(&t->ag);
	if (far >= 0)
		(void)close(far);
	if (t->fd >= 0)
		(void)close(t->fd);
	strbuf_release(&t->heard);
	unit_rmdir(t->dir);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return 0;
}

static void listen_now(struct talk *t)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(t->fd, buf, sizeof(buf))) > 0)
		frame_reader_feed(&t->reader, buf, (size_t)n, hear, t);
}

static void turn(struct talk *t, int ms)
{
	struct pollfd pfd = {.fd = t->fd, .events = POLLIN};

	if (t->program)
		(void)poll(&pfd, 1, ms);
	else
		assert_int_equal(agent_step(&t->ag, ms, &t->e), 0);
	listen_now(t);
}

static void say(struct talk *t, uint32_t seq, const char *body)
{
	char line[FRAME_MAX + 1];
	size_t n = frame_build(seq, body, line, sizeof(line));

	assert_true(n > 0);
	assert_int_equal(write(t->fd, line, n), n);
}

/* Turns until a line that contains the text was heard; fails after ten seconds. */
static void await(struct talk *t, const char *text)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)10 * 1000000000;

	while (!strstr(strbuf_str(&t->heard), text)) {
		if (clock_ns(CLOCK_MONOTONIC) > until_ns)
			fail_msg("no '%s' in '%s'", text, strbuf_str(&t->heard));
		turn(t, 20);
	}
}

/* Says it and turns until its answer is there. What was heard before is forgotten. */
static void ask(struct talk *t, uint32_t seq, const char *body)
{
	char end_ok[32], end_err[32];
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)10 * 1000000000;

	(void)snprintf(end_ok, sizeof(end_ok), "%" PRIu32 " ok", seq);
	(void)snprintf(end_err, sizeof(end_err), "%" PRIu32 " err", seq);
	strbuf_reset(&t->heard);
	say(t, seq, body);
	while (!strstr(strbuf_str(&t->heard), end_ok) && !strstr(strbuf_str(&t->heard), end_err)) {
		if (clock_ns(CLOCK_MONOTONIC) > until_ns)
			fail_msg("no answer to '%s'", body);
		turn(t, 20);
	}
}

static const char *heard(struct talk *t)
{
	return strbuf_str(&t->heard);
}

static void test_nothing_is_done_before_hello(void **state)
{
	struct talk *t = *state;

	ask(t, 1, "clock");
	assert_string_equal(heard(t), "1 err ENOTCONN clock: no session: say hello first\n");
	ask(t, 2, "ping");
	assert_string_equal(heard(t), "2 ok lines=0\n");
	ask(t, 3, "hello one 1");
	assert_string_equal(heard(t), "3 ok lines=0 version=1 agent=0.1.0 session=one\n");
	ask(t, 4, "clock");
	assert_contains(heard(t), "4 ok lines=0 clock_ns=");
}

static void test_a_bad_hello_changes_nothing(void **state)
{
	static const struct {
		const char *body, *answer;
	} cases[] = {
		{"hello", "2 err EINVAL hello: takes a session name and a version\n"},
		{"hello a 1 b", "2 err EINVAL hello: takes a session name and a version\n"},
		{"hello a%20b 1", "2 err EINVAL hello: takes a session name and a version\n"},
		{"hello a x", "2 err EINVAL hello: takes a session name and a version\n"},
		{"hello a 2", "2 err EPROTONOSUPPORT hello: this agent speaks version 1, not 2\n"},
	};
	struct talk *t = *state;
	char body[128];

	ask(t, 1, "hello good 1");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ask(t, 2, cases[i].body);
		assert_string_equal(heard(t), cases[i].answer);
		assert_string_equal(t->ag.session, "good");
	}
	(void)snprintf(body, sizeof(body), "hello %063d 1", 7);
	ask(t, 3, body);
	assert_contains(heard(t), "3 ok");
	(void)snprintf(body, sizeof(body), "hello %064d 1", 7);
	ask(t, 4, body);
	assert_contains(heard(t), "4 err EINVAL");
}

static void test_unknown_verbs_and_words_are_named(void **state)
{
	static const struct {
		const char *body, *answer;
	} cases[] = {
		{"fly", "err ENOSYS unknown verb 'fly'"},
		{"mark", "err EINVAL mark: takes 1 to 1 words, not 0"},
		{"clock now", "err EINVAL clock: takes 0 to 0 words, not 1"},
		{"poweroff now", "err EINVAL poweroff: takes no words"},
		{"dd fi=x", "err EINVAL dd: 'fi=x' is none of: if of bs"},
		{"dd if=a if=b", "err EINVAL dd: 'if=' stands twice"},
		{"dd if=/dev/zero bg=2", "err ERANGE dd: bg: 2 is outside 0..1"},
		{"dd bs=1", "err EINVAL dd: 'if=' is missing"},
		{"stick serial=", "err EINVAL stick: 'serial=' is missing"},
	};
	struct talk *t = *state;

	ask(t, 1, "hello s 1");
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ask(t, 10 + i, cases[i].body);
		assert_contains(heard(t), cases[i].answer);
	}
	assert_null(powered);
}

static void test_a_repeated_request_gets_the_same_answer_and_is_not_run_again(void **state)
{
	auto_free char *first = NULL;
	auto_free char *content = NULL;
	struct talk *t = *state;
	char body[256];

	(void)snprintf(body, sizeof(body),
		       "dd if=/dev/zero of=%s/count bs=1 count=1 oflag=append conv=notrunc",
		       t->dir);
	ask(t, 1, "hello s 1");
	ask(t, 5, body);
	assert_contains(heard(t), "5 ack\n5 ok lines=0 records_in=1");
	first = xstrdup(strstr(heard(t), "5 ok"));
	for (int i = 0; i < 5; i++) {
		ask(t, 5, body);
		assert_string_equal(heard(t), first);
	}
	content = harvest(t->dir, "/count");
	assert_int_equal(strlen(content), 0);
	assert_int_equal(t->ag.reply.state, REPLY_DONE);

	/* five repetitions, one byte */
	(void)snprintf(body, sizeof(body), "cache path=%s/count", t->dir);
	ask(t, 6, body);
	assert_contains(heard(t), "size_bytes=1");
}

static void test_an_older_request_is_not_run_again(void **state)
{
	struct talk *t = *state;

	plant(t->dir, "/proc/sys/x", "");
	ask(t, 1, "hello s 1");
	ask(t, 5, "write path=/proc/sys/x text=five");
	ask(t, 6, "clock");
	strbuf_reset(&t->heard);
	plant(t->dir, "/proc/sys/x", "untouched");
	say(t, 5, "write path=/proc/sys/x text=five");
	ask(t, 7, "cat path=/proc/sys/x");
	assert_contains(heard(t), "7 data 0 untouched\n");
	assert_null(strstr(heard(t), "5 ok"));
	assert_null(strstr(heard(t), "5 ack"));
	/* the numbers may wrap around */
	ask(t, 0x80000006u, "clock");
	ask(t, 0xffffffffu, "clock");
	ask(t, 1, "clock");
	assert_contains(heard(t), "1 ok");
}

static void test_while_a_command_runs_only_hello_ping_and_abort_are_served(void **state)
{
	struct talk *t = *state;

	ask(t, 1, "hello s 1");
	say(t, 2, "dd if=/dev/zero");
	await(t, "2 ack\n");
	ask(t, 3, "clock");
	assert_contains(heard(t), "3 err EBUSY clock: another command is running\n");
	ask(t, 4, "ping");
	assert_contains(heard(t), "4 ok");
	strbuf_reset(&t->heard);
	say(t, 2, "dd if=/dev/zero");
	await(t, "2 ack\n");
	ask(t, 5, "abort 99");
	assert_contains(heard(t), "5 ok lines=0 aborted=0");
	ask(t, 6, "abort x");
	assert_contains(heard(t), "6 err EINVAL");
	ask(t, 7, "abort 2");
	assert_contains(heard(t), "7 ok lines=0 aborted=2");
	assert_contains(heard(t), "2 err ECANCELED aborted\n");
	/* what was refused stays refused, what is new is served */
	ask(t, 3, "clock");
	assert_contains(heard(t), "3 err EBUSY");
	ask(t, 8, "clock");
	assert_contains(heard(t), "8 ok");
	ask(t, 9, "abort");
	assert_contains(heard(t), "9 ok lines=0 aborted=0");
}

static bool is_running(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static void test_a_new_session_ends_what_the_old_one_left_and_the_same_does_not(void **state)
{
	struct talk *t = *state;
	pid_t command, load;

	ask(t, 1, "hello one 1");
	ask(t, 2, "dd if=/dev/zero bg=1");
	say(t, 3, "dd if=/dev/zero");
	await(t, "3 ack\n");
	command = t->ag.command.pid;
	load = t->ag.load.job.pid;
	assert_true(command > 0 && load > 0);
	ask(t, 4, "hello one 1");
	assert_true(is_running(command) && is_running(load));
	ask(t, 5, "hello two 1");
	for (int i = 0; i < 200 && (is_running(command) || is_running(load)); i++)
		turn(t, 20);
	assert_false(is_running(command));
	assert_false(is_running(load));

	/* numbers begin anew */
	ask(t, 1, "load");
	assert_contains(heard(t), "1 ok lines=0 state=none\n");
}

static void test_a_load_runs_beside_commands_until_it_ends_or_is_killed(void **state)
{
	struct talk *t = *state;

	ask(t, 1, "hello s 1");
	ask(t, 2, "dd if=/dev/zero bs=64k count=2 bg=1");
	assert_string_equal(heard(t), "2 ok lines=0\n");
	for (uint32_t seq = 3; !strstr(heard(t), "state=ended"); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 1000);
		(void)poll(NULL, 0, 10);
	}
	assert_contains(heard(t), "state=ended records_in=2 records_in_partial=0");
	assert_contains(heard(t), "bytes=131072");

	ask(t, 2000, "dd if=/nonexistent/file bg=1");
	for (uint32_t seq = 2001; !strstr(heard(t), "state=failed"); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 3000);
		(void)poll(NULL, 0, 10);
	}
	assert_contains(heard(t), "state=failed error=EIO message=dd: exit 1: dd: ");

	ask(t, 4000, "dd if=/dev/zero bg=1");
	ask(t, 4001, "dd if=/dev/zero bg=1");
	assert_contains(heard(t), "4001 err EBUSY dd: a load is running already");
	for (uint32_t seq = 4002; !strstr(heard(t), "state=running bytes="); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 5000);
		(void)poll(NULL, 0, 10);
	}
	ask(t, 6000, "kill-load");
	assert_contains(heard(t), "6000 ok lines=0 killed=1");
	ask(t, 6001, "kill-load");
	assert_contains(heard(t), "killed=0");
	ask(t, 6002, "load");
	assert_contains(heard(t), "state=killed");
}

/* Asks for the sampler's state until it is as wanted; false if it is "failed". */
static bool await_profile(struct talk *t, uint32_t seq, const char *wanted)
{
	for (uint32_t end = seq + 2000; seq < end; seq++) {
		ask(t, seq, "profile-state");
		if (strstr(heard(t), wanted))
			return true;
		if (strstr(heard(t), "state=failed"))
			return false;
		(void)poll(NULL, 0, 10);
	}
	fail_msg("no '%s': %s", wanted, heard(t));
	return false;
}

static void test_the_sampler_runs_beside_a_load_until_it_is_stopped(void **state)
{
	struct talk *t = *state;
	pid_t pid;

	/* the functions are those of the real kernel */
	t->ag.root = "";
	ask(t, 1, "hello s 1");
	ask(t, 2, "profile hz=99");
	assert_contains(heard(t), "2 err EINVAL profile: only with bg=1");
	ask(t, 3, "profile-state");
	assert_contains(heard(t), "3 ok lines=0 state=none\n");
	ask(t, 4, "profile-stop");
	assert_contains(heard(t), "stopping=0");
	ask(t, 5, "dd if=/dev/zero bg=1");
	ask(t, 6, "profile hz=99 bg=1");
	assert_contains(heard(t), "6 ok lines=0\n");
	if (!await_profile(t, 100, "state=running sampling=1 event=")) {
		print_message("not possible here: %s\n", heard(t));
		skip();
	}
	ask(t, 3000, "profile bg=1");
	assert_contains(heard(t), "err EBUSY profile: a profile is running already");
	ask(t, 3001, "load");
	assert_contains(heard(t), "state=running");
	ask(t, 3002, "profile-stop");
	assert_contains(heard(t), "stopping=1");
	assert_true(await_profile(t, 4000, "state=ended event="));
	assert_contains(heard(t), " lost=");
	ask(t, 7000, "profile-read");
	assert_contains(heard(t), "data 0 h1,c");

	/* another session finds none */
	ask(t, 7001, "profile hz=99 bg=1");
	assert_true(await_profile(t, 7100, "state=running sampling=1 event="));
	pid = t->ag.profile.job.pid;
	ask(t, 9500, "hello two 1");
	for (int i = 0; i < 200 && is_running(pid); i++)
		turn(t, 20);
	assert_false(is_running(pid));
	ask(t, 1, "profile-state");
	assert_contains(heard(t), "1 ok lines=0 state=none\n");
}

static void test_what_a_load_says_is_kept_as_far_as_there_is_room(void **state)
{
	static const char begin[] =
		"sh command=seq%201%2020000;echo%20'free%20words%20of=a%20%25%20program' bg=1";
	struct talk *t = *state;
	size_t n;

	ask(t, 1, "hello s 1");
	ask(t, 2, "load-lines");
	assert_contains(heard(t), "2 ok lines=0\n");
	ask(t, 3, "sh command=echo%20one;echo%20'two%20%25%20words' bg=1");
	for (uint32_t seq = 4; !strstr(heard(t), "state=ended elapsed_ms="); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 1000);
		(void)poll(NULL, 0, 10);
	}
	ask(t, 2000, "load-lines");
	assert_contains(heard(t), "2000 data 0 one\n2000 data 1 two % words\n");
	assert_contains(heard(t), "2000 ok lines=2\n");

	/* 20000 lines pass the limit of the answer (400 lines) and a program may say anything */
	ask(t, 3000, begin);
	for (uint32_t seq = 3001; !strstr(heard(t), "state=ended elapsed_ms="); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 4000);
		(void)poll(NULL, 0, 10);
	}
	n = t->ag.load_lines_len;
	assert_true(n > 1000 && n < sizeof(t->ag.load_lines));
	assert_int_equal(t->ag.load_lines[n], '\0');
	assert_int_equal(t->ag.load_lines[n - 1], '\n');
}

static void test_a_file_is_held_open_until_the_load_is_killed(void **state)
{
	struct talk *t = *state;
	pid_t pid;

	ask(t, 1, "hello s 1");
	ask(t, 2, "hold path=/dev/zero bg=0");
	await(t, "2 err EINVAL hold: only with bg=1, it does not end\n");
	ask(t, 3, "hold path=/nonexistent/device bg=1");
	for (uint32_t seq = 4; !strstr(heard(t), "state=failed"); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 1000);
		(void)poll(NULL, 0, 10);
	}
	assert_contains(heard(t), "error=ENOENT message=hold: /nonexistent/device");

	ask(t, 2000, "hold path=/dev/zero bg=1");
	for (uint32_t seq = 2001; !strstr(heard(t), "state=running held=1"); seq++) {
		ask(t, seq, "load");
		assert_true(seq < 3000);
		(void)poll(NULL, 0, 10);
	}
	pid = t->ag.load.job.pid;
	assert_true(is_running(pid));
	ask(t, 4000, "kill-load");
	assert_contains(heard(t), "4000 ok lines=0 killed=1");
	for (int i = 0; i < 200 && is_running(pid); i++)
		turn(t, 20);
	assert_false(is_running(pid));
}

static void test_a_worker_that_dies_is_an_error_and_not_a_silence(void **state)
{
	struct talk *t = *state;

	ask(t, 1, "hello s 1");
	say(t, 2, "dd if=/dev/zero");
	await(t, "2 ack\n");
	(void)kill(t->ag.command.pid, SIGKILL);
	await(t, "2 err ECHILD the worker was killed by signal 9\n");
	ask(t, 3, "clock");
	assert_contains(heard(t), "3 ok");
}

static void test_an_answer_beyond_the_limit_is_cut_and_says_so(void **state)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct talk *t = *state;
	unsigned n = 0;

	ask(t, 1, "hello s 1");
	/* lines: one more than an answer may have */
	for (int i = 0; i <= FRAME_LINES_MAX; i++)
		strbuf_adds(&text, "x\n");
	plant(t->dir, "/proc/many", strbuf_str(&text));
	ask(t, 2, "cat path=/proc/many");
	assert_contains(heard(t), "2 data 4095 x\n2 ok lines=4096 truncated=1 bytes=8194\n");

	/* one less is whole */
	strbuf_reset(&text);
	for (int i = 0; i < FRAME_LINES_MAX; i++)
		strbuf_adds(&text, "x\n");
	plant(t->dir, "/proc/many", strbuf_str(&text));
	ask(t, 3, "cat path=/proc/many");
	assert_contains(heard(t), "3 data 4095 x\n3 ok lines=4096 bytes=8192\n");
	for (const char *p = heard(t); (p = strstr(p, " data ")); p++)
		n++;
	assert_int_equal(n, FRAME_LINES_MAX);
	assert_true(t->ag.reply.len < FRAME_REPLY_MAX);
}

static void test_bytes_beyond_the_reply_buffer_are_cut_and_say_so(void **state)
{
	static char text[FRAME_REPLY_MAX];
	struct talk *t = *state;

	ask(t, 1, "hello s 1");
	/* a file of blanks, each of which takes three bytes on the line */
	memset(text, '\t', 256 << 10);
	text[256 << 10] = '\0';
	plant(t->dir, "/sys/kernel/debug/latency_mon/events", text);
	ask(t, 2, "probe-read section=events");
	assert_contains(heard(t), "2 ok lines=");
	assert_contains(heard(t), " truncated=1");
	assert_true(t->ag.reply.len <= FRAME_REPLY_MAX);
	assert_true(t->ag.reply.len > FRAME_REPLY_MAX - 3 * FRAME_MAX);
}

static void test_a_slow_reader_gets_the_whole_answer_although_it_asks_again(void **state)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct talk *t = *state;
	int size = 4096;
	char buf[512];
	ssize_t n;

	assert_int_equal(setsockopt(t->ag.out_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	ask(t, 1, "hello s 1");
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&text, "line %d of many that do not fit into the socket\n", i);
	plant(t->dir, "/proc/many", strbuf_str(&text));
	strbuf_reset(&t->heard);
	say(t, 2, "cat path=/proc/many");
	for (int i = 0; i < 5000 && !strstr(heard(t), "2 ok"); i++) {
		assert_int_equal(agent_step(&t->ag, 5, &t->e), 0);
		if (i % 100 == 50)
			say(t, 2, "cat path=/proc/many");
		n = read(t->fd, buf, sizeof(buf));
		if (n > 0)
			frame_reader_feed(&t->reader, buf, (size_t)n, hear, t);
	}
	assert_contains(heard(t), "2 data 999 line 999 of many");
	assert_contains(heard(t), "2 ok lines=1000");
	assert_true(t->ag.out_len <= AGENT_OUT_MAX);
}

static void test_a_flood_of_requests_does_not_overrun_the_agent(void **state)
{
	struct talk *t = *state;
	unsigned n = 0;

	ask(t, 1, "hello s 1");
	for (uint32_t i = 0; i < 20000; i++) {
		char line[FRAME_MAX + 1];
		size_t len = frame_build(100 + i, "ping", line, sizeof(line));

		if (write(t->fd, line, len) != (ssize_t)len)
			break;
		n++;
		if (i % 50 == 0)
			assert_int_equal(agent_step(&t->ag, 0, &t->e), 0);
	}
	assert_true(n > 500);
	/* part of a line may be in the socket: end it */
	for (int i = 0; i < 2000; i++)
		turn(t, 0);
	(void)write(t->fd, "\n", 1);
	ask(t, 99999, "clock");
	assert_contains(heard(t), "99999 ok");
}

static void test_garbage_on_the_line_does_not_disturb(void **state)
{
	struct talk *t = *state;
	char junk[1024];

	memset(junk, 'x', sizeof(junk));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(write(t->fd, junk, sizeof(junk)), sizeof(junk));
		turn(t, 0);
	}
	ask(t, 1, "hello s 1");
	assert_contains(heard(t), "1 ok");
	assert_int_equal(write(t->fd, "@sr 2 clock 00000000\n@sr 2 clo", 30), 30);
	ask(t, 3, "clock");
	assert_contains(heard(t), "3 ok");
	assert_null(strstr(heard(t), "2 ok"));
	assert_null(strstr(heard(t), "2 err"));
}

static void test_power_goes_off_only_after_the_answer_has_left(void **state)
{
	static const char *const verbs[] = {"poweroff", "reboot"};
	struct talk *t = *state;

	ask(t, 1, "hello s 1");
	for (uint32_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		powered = NULL;
		ask(t, 2 + i, verbs[i]);
		assert_contains(heard(t), "ok lines=0\n");
		turn(t, 20);
		assert_non_null(powered);
		assert_string_equal(powered, verbs[i]);
	}
}

static void test_a_fixed_link_that_ends_ends_the_agent(void **state)
{
	struct talk *t = *state;

	(void)close(t->fd);
	t->fd = -1;
	assert_int_equal(agent_run(&t->ag, &t->e), 0);
	assert_true(t->ag.is_over);
}

static void test_a_link_name_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *name, *part;
	} cases[] = {
		{"", "link '' is not stdio, fd:N or /a/path"},
		{"ttyS0", "link 'ttyS0' is not stdio"},
		{"fd:", "link fd: '' is not a decimal number"},
		{"fd:-1", "'-1' is not a decimal number"},
		{"fd:999", "link fd:999: Bad file descriptor"},
		{"fd:99999999999", "outside 0..2147483647"},
	};
	static struct agent ag;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};

		assert_true(agent_init(&ag, cases[i].name, "", note_power, &e) < 0);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, cases[i].part);
	}
}

/* --- a link by path ------------------------------------------------------------------------ */

/* A pty whose slave is what the link's path leads to, until it is pointed elsewhere. */
static int open_pty(const char *path)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	char name[64];

	assert_true(fd >= 0);
	assert_int_equal(grantpt(fd), 0);
	assert_int_equal(unlockpt(fd), 0);
	assert_int_equal(ptsname_r(fd, name, sizeof(name)), 0);
	(void)unlink(path);
	assert_int_equal(symlink(name, path), 0);
	return fd;
}

/* Says hello until the agent has found the port. */
static void greet(struct talk *t, const char *body)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)10 * 1000000000;

	strbuf_reset(&t->heard);
	while (!strstr(heard(t), "1 ok")) {
		if (clock_ns(CLOCK_MONOTONIC) > until_ns)
			fail_msg("no answer to '%s'", body);
		say(t, 1, body);
		turn(t, 100);
	}
}

static void test_a_path_is_waited_for_and_opened_again_after_it_was_lost(void **state)
{
	auto_child struct child *program = NULL;
	auto_free char *path = NULL;
	static struct talk t;
	(void)state;

	memset(&t, 0, sizeof(t));
	t.dir = unit_tmpdir();
	path = xasprintf("%s/port", t.dir);

	const char *argv[] = {STALLRIG_AGENT_TEST, "-l", path, "-r", t.dir, NULL};
	const struct child_cfg cfg = {.argv = argv,
				      .stdin_fd = -1,
				      .stdout_fd = -1,
				      .stderr_fd = -1,
				      .dies_with_parent = true};

	if (child_start(&cfg, &program, &t.e) < 0)
		fail_msg("%s", t.e.text);
	t.program = program;
	(void)poll(NULL, 0, 250);
	assert_false(child_has_ended(program, NULL));

	t.fd = open_pty(path);
	greet(&t, "hello one 1");
	ask(&t, 2, "dd if=/dev/zero bg=1");
	(void)close(t.fd);
	(void)poll(NULL, 0, 250);
	assert_false(child_has_ended(program, NULL));

	/* the same session goes on over the new port: the load was not ended */
	frame_reader_reset(&t.reader);
	t.fd = open_pty(path);
	greet(&t, "hello one 1");
	ask(&t, 3, "load");
	assert_contains(heard(&t), "3 ok lines=0 state=running");

	(void)close(t.fd);
	strbuf_release(&t.heard);
	unit_rmdir(t.dir);
}

static void test_an_idle_agent_does_not_spin_on_a_port_without_a_host(void **state)
{
	static struct talk t;
	auto_free char *path = NULL;
	unsigned n = 0;
	int64_t until_ns;
	(void)state;

	memset(&t, 0, sizeof(t));
	t.dir = unit_tmpdir();
	path = xasprintf("%s/port", t.dir);
	assert_int_equal(agent_init(&t.ag, path, t.dir, note_power, &t.e), 0);
	t.fd = open_pty(path);
	for (int i = 0; i < 100 && t.ag.in_fd < 0; i++)
		assert_int_equal(agent_step(&t.ag, 50, &t.e), 0);
	(void)close(t.fd);
	until_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)1500 * 1000000;
	while (clock_ns(CLOCK_MONOTONIC) < until_ns) {
		assert_int_equal(agent_step(&t.ag, -1, &t.e), 0);
		n++;
	}
	assert_true(n < 100);
	agent_release(&t.ag);
	unit_rmdir(t.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TALK(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		TALK(test_nothing_is_done_before_hello),
		TALK(test_a_bad_hello_changes_nothing),
		TALK(test_unknown_verbs_and_words_are_named),
		TALK(test_a_repeated_request_gets_the_same_answer_and_is_not_run_again),
		TALK(test_an_older_request_is_not_run_again),
		TALK(test_while_a_command_runs_only_hello_ping_and_abort_are_served),
		TALK(test_a_new_session_ends_what_the_old_one_left_and_the_same_does_not),
		TALK(test_a_load_runs_beside_commands_until_it_ends_or_is_killed),
		TALK(test_the_sampler_runs_beside_a_load_until_it_is_stopped),
		TALK(test_what_a_load_says_is_kept_as_far_as_there_is_room),
		TALK(test_a_file_is_held_open_until_the_load_is_killed),
		TALK(test_a_worker_that_dies_is_an_error_and_not_a_silence),
		TALK(test_an_answer_beyond_the_limit_is_cut_and_says_so),
		TALK(test_bytes_beyond_the_reply_buffer_are_cut_and_say_so),
		TALK(test_a_slow_reader_gets_the_whole_answer_although_it_asks_again),
		TALK(test_a_flood_of_requests_does_not_overrun_the_agent),
		TALK(test_garbage_on_the_line_does_not_disturb),
		TALK(test_power_goes_off_only_after_the_answer_has_left),
		TALK(test_a_fixed_link_that_ends_ends_the_agent),
		cmocka_unit_test(test_a_link_name_that_makes_no_sense_is_refused),
		cmocka_unit_test(test_a_path_is_waited_for_and_opened_again_after_it_was_lost),
		cmocka_unit_test(test_an_idle_agent_does_not_spin_on_a_port_without_a_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
