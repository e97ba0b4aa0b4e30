/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/* QMP against a peer that answers each command with the next planned text. Ids count from 1. */
#include "../../controller/rig/qmp.h"
#include "jump_clock.h"
#include "unit.h"

#include <sys/socket.h>

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"

struct fixture {
	nsec_t now;
	struct waiter *w;
	int ours, theirs;
	struct qmp *q;
	const char *plan[4]; /* an answer for each command to come; NULL = silence */
	size_t n_plan, n_answered;
	char heard[4096]; /* commands since heard() was asked */
	size_t n_heard;
};

static void say(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->theirs, text, strlen(text)), strlen(text));
}

static void plan(struct fixture *f, const char *text)
{
	assert_true(f->n_plan < ARRAY_SIZE(f->plan));
	f->plan[f->n_plan++] = text;
}

static void hang_up(struct fixture *f)
{
	waiter_remove(f->w, f->theirs);
	close(f->theirs);
	f->theirs = -1;
}

#define HANG_UP "hang up"

/* The peer has heard something. */
static int on_command(void *self, short revents, struct err *e)
{
	struct fixture *f = self;
	const char *answer;
	char byte;

	(void)revents;
	(void)e;
	while (recv(f->theirs, &byte, 1, MSG_DONTWAIT) == 1) {
		assert_true(f->n_heard + 1 < sizeof(f->heard));
		f->heard[f->n_heard++] = byte;
		if (byte != '\n' || f->n_answered == f->n_plan)
			continue;
		answer = f->plan[f->n_answered++];
		if (answer && strcmp(answer, HANG_UP) == 0) {
			hang_up(f);
			return 0;
		}
		if (answer)
			say(f, answer);
	}
	return 0;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	const struct waiter_ops ops = {
		.now = jump_clock_now, .poll = jump_clock_poll, .self = &f->now};
	int size = 1 << 20;
	int p[2];

	f->now = NSEC_PER_SEC;
	f->w = waiter_new(&ops);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p), 0);
	assert_int_equal(setsockopt(p[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	f->ours = p[0];
	f->theirs = p[1];
	const struct waiter_source peer = {
		.fd = f->theirs, .events = POLLIN, .ready = on_command, .self = f};
	assert_int_equal(waiter_add(f->w, &peer, NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	qmp_close(f->q);
	waiter_free(f->w);
	close(f->ours);
	if (f->theirs >= 0)
		close(f->theirs);
	free(f);
	return 0;
}

/* What the client wrote since the last call. */
static const char *heard(struct fixture *f)
{
	f->heard[f->n_heard] = '\0';
	f->n_heard = 0;
	return f->heard;
}

static void open_qmp(struct fixture *f)
{
	struct err e = {0};

	say(f, GREETING);
	plan(f, "{\"return\": {}, \"id\": 1}\r\n");
	if (qmp_open(f->w, f->ours, f->now + NSEC_PER_SEC, &f->q, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(heard(f), "{\"execute\":\"qmp_capabilities\",\"id\":1}\n");
	f->n_plan = f->n_answered = 0;
}

static int execute(struct fixture *f, const char *command, json_t **ret, struct err *e)
{
	*e = (struct err){0};
	return qmp_execute(f->q, f->now + NSEC_PER_SEC, command, NULL, ret, e);
}

static void test_a_command_gets_its_own_reply(void **state)
{
	struct fixture *f = *state;
	json_t *value = NULL;
	struct err e;

	open_qmp(f);
	plan(f, "{\"return\": {\"old\": 1}, \"id\": 1}\n{\"return\": {\"status\": \"ok\"}, "
		"\"id\": 2}\n");
	assert_int_equal(qmp_execute(f->q, NSEC_FOREVER, "query-status", json_pack("{s:i}", "x", 5),
				     &value, &e),
			 0);

	assert_string_equal(json_string_value(json_object_get(value, "status")), "ok");
	assert_string_equal(heard(f),
			    "{\"execute\":\"query-status\",\"id\":2,\"arguments\":{\"x\":5}}\n");
	json_decref(value);
}

static void test_an_event_before_the_reply_is_kept_with_its_time(void **state)
{
	struct fixture *f = *state;
	const struct qmp_event *ev;
	uint64_t since;
	struct err e;

	open_qmp(f);
	since = qmp_next_seq(f->q);
	f->now += 5;
	plan(f, "{\"event\": \"DEVICE_DELETED\", \"data\": {\"path\": \"/x\"}}\n"
		"{\"event\": \"DEVICE_DELETED\", \"data\": {\"device\": \"stick0\"}}\n"
		"{\"return\": {}, \"id\": 2}\n");
	assert_int_equal(execute(f, "device_del", NULL, &e), 0);

	ev = qmp_find_event(f->q, since, "DEVICE_DELETED", "stick0");
	assert_non_null(ev);
	assert_int_equal(ev->seq, since + 1);
	assert_int_equal(ev->t_ns, f->now);
	assert_int_equal(qmp_find_event(f->q, since, "DEVICE_DELETED", NULL)->seq, since);
	assert_null(qmp_find_event(f->q, since, "DEVICE_DELETED", "stick1"));
	assert_null(qmp_find_event(f->q, since + 2, "DEVICE_DELETED", NULL));
	assert_null(qmp_find_event(f->q, since, "SHUTDOWN", NULL));
}

static void test_a_refusal_carries_the_words_of_qemu(void **state)
{
	static const struct {
		const char *reply;
		int code;
		const char *want;
	} cases[] = {
		{"{\"error\": {\"class\": \"DeviceNotFound\", \"desc\": \"Device 'x' not found\"}, "
		 "\"id\": 2}\n",
		 ENODEV, "QMP c: Device 'x' not found"},
		{"{\"error\": {\"class\": \"GenericError\", \"desc\": \"Duplicate device ID "
		 "'x'\"}, \"id\": 3}\n",
		 EEXIST, "QMP c: Duplicate device ID 'x'"},
		{"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no\"}, \"id\": 4}\n", EIO,
		 "QMP c: no"},
		{"{\"error\": {}, \"id\": 5}\n", EIO, "QMP c: error without text"},
	};
	struct fixture *f = *state;

	open_qmp(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e;

		f->n_plan = f->n_answered = 0;
		plan(f, cases[i].reply);
		assert_int_equal(execute(f, "c", NULL, &e), -cases[i].code);
		assert_int_equal(e.kind, ERR_RIG);
		assert_string_equal(e.text, cases[i].want);
	}
}

static void test_a_silent_peer_is_given_up_on(void **state)
{
	struct fixture *f = *state;
	json_t *value = NULL;
	struct err e;

	open_qmp(f);
	plan(f, NULL);
	assert_int_equal(execute(f, "a", NULL, &e), -ETIMEDOUT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "QMP a: QEMU does not answer");
	assert_int_equal(f->now, 2 * NSEC_PER_SEC);

	/* its late reply is not taken for the next one's */
	plan(f, "{\"return\": \"late\", \"id\": 2}\n{\"return\": \"right\", \"id\": 3}\n");
	assert_int_equal(execute(f, "b", &value, &e), 0);
	assert_string_equal(json_string_value(value), "right");
	json_decref(value);
}

static void test_a_peer_that_does_not_greet_is_no_qemu(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	assert_int_equal(qmp_open(f->w, f->ours, f->now + NSEC_PER_SEC, &f->q, &e), -ETIMEDOUT);
	assert_null(f->q);
	assert_contains(e.text, "does not greet");

	say(f, "HTTP/1.1 400 Bad Request\r\n");
	assert_int_equal(qmp_open(f->w, f->ours, f->now + NSEC_PER_SEC, &f->q, &e), -EPIPE);
	assert_contains(e.text, "no JSON object");
}

static void test_a_hang_up_ends_the_command_that_waits(void **state)
{
	struct fixture *f = *state;
	const char *why = NULL;
	struct err e;

	open_qmp(f);
	say(f, "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true}}\n");
	plan(f, HANG_UP);
	assert_int_equal(execute(f, "query-status", NULL, &e), -EPIPE);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "QEMU closed its control socket");
	assert_false(qmp_is_connected(f->q, &why));
	assert_contains(why, "closed");
	/* what it said before is not lost, and nothing spins */
	assert_non_null(qmp_find_event(f->q, 0, "SHUTDOWN", NULL));
	assert_int_equal(waiter_sleep(f->w, 1, &e), 0);
	assert_int_equal(execute(f, "again", NULL, &e), -EPIPE);
}

static void test_draining_finds_the_last_event_of_a_peer_that_ended(void **state)
{
	struct fixture *f = *state;

	open_qmp(f);
	say(f, "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true}}\n");
	hang_up(f);
	qmp_drain(f->q);
	assert_non_null(qmp_find_event(f->q, 0, "SHUTDOWN", NULL));
	assert_false(qmp_is_connected(f->q, NULL));
}

static void test_messages_may_come_in_any_pieces(void **state)
{
	static const char text[] = "\r\n{\"event\": \"A\"}\r\n{\"event\": \"B\"}\n\n{\"ev";
	struct fixture *f = *state;
	struct err e;

	open_qmp(f);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		assert_int_equal(write(f->theirs, &text[i], 1), 1);
		assert_int_equal(waiter_until(f->w, f->now, NULL, NULL, &e), 0);
	}
	assert_non_null(qmp_find_event(f->q, 0, "A", NULL));
	assert_non_null(qmp_find_event(f->q, 0, "B", NULL));
	plan(f, "ent\": \"C\"}\n{\"return\": {}, \"id\": 2}\r\n");
	assert_int_equal(execute(f, "c", NULL, &e), 0);
	assert_non_null(qmp_find_event(f->q, 2, "C", NULL));
}

static void test_what_is_no_object_ends_the_connection(void **state)
{
	static const char *const lines[] = {"[1]\n", "nonsense\n", "{\"a\": }\n",
					    "{\"id\": 2, \"id\": 2}\n", "\xff\xfe\n"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct fixture *f;
		struct err e;

		if (i) {
			(void)teardown(state);
			(void)setup(state);
		}
		f = *state;
		open_qmp(f);
		plan(f, lines[i]);
		assert_int_equal(execute(f, "c", NULL, &e), -EPIPE);
		assert_contains(e.text, "no JSON object");
	}
}

/* An event whose line is n bytes long without its end. */
static void say_long(struct fixture *f, size_t n)
{
	static const char head[] = "{\"event\": \"";
	static const char tail[] = "\"}\n";
	char *text = xcalloc(n + 2, 1);
	struct err e;

	memset(text, 'x', n);
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + n + 1 - (sizeof(tail) - 1), tail, sizeof(tail));
	for (size_t at = 0; at < n + 1;) {
		ssize_t w = write(f->theirs, text + at, n + 1 - at);

		if (w > 0)
			at += (size_t)w;
		/* the clock moves on only when everything was read */
		assert_int_equal(waiter_sleep(f->w, 1, &e), 0);
	}
	free(text);
}

static void test_the_limit_of_a_message_is_exact(void **state)
{
	struct fixture *f = *state;
	const char *why = NULL;

	open_qmp(f);
	say_long(f, QMP_LINE_MAX);
	assert_true(qmp_is_connected(f->q, NULL));
	assert_int_equal(qmp_next_seq(f->q), 1);

	say_long(f, QMP_LINE_MAX + 1);
	assert_false(qmp_is_connected(f->q, &why));
	assert_contains(why, "too long");
	assert_int_equal(qmp_next_seq(f->q), 1);
}

static void test_only_the_newest_events_are_kept(void **state)
{
	struct fixture *f = *state;
	struct err e;

	open_qmp(f);
	for (int i = 0; i < QMP_EVENTS_MAX; i++)
		say(f, "{\"event\": \"E\"}\n");
	plan(f, "{\"return\": {}, \"id\": 2}\n");
	assert_int_equal(execute(f, "c", NULL, &e), 0);
	assert_int_equal(qmp_forgotten_events(f->q), 0);
	assert_int_equal(qmp_find_event(f->q, 0, "E", NULL)->seq, 0);

	plan(f, "{\"event\": \"LAST\"}\n{\"return\": {}, \"id\": 3}\n");
	assert_int_equal(execute(f, "c", NULL, &e), 0);
	assert_int_equal(qmp_forgotten_events(f->q), 1);
	assert_int_equal(qmp_find_event(f->q, 0, "E", NULL)->seq, 1);
	assert_int_equal(qmp_find_event(f->q, 0, "LAST", NULL)->seq, QMP_EVENTS_MAX);
}

static void test_closing_takes_null(void **state)
{
	(void)state;
	qmp_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_command_gets_its_own_reply),
		TEST(test_an_event_before_the_reply_is_kept_with_its_time),
		TEST(test_a_refusal_carries_the_words_of_qemu),
		TEST(test_a_silent_peer_is_given_up_on),
		TEST(test_a_peer_that_does_not_greet_is_no_qemu),
		TEST(test_a_hang_up_ends_the_command_that_waits),
		TEST(test_draining_finds_the_last_event_of_a_peer_that_ended),
		TEST(test_messages_may_come_in_any_pieces),
		TEST(test_what_is_no_object_ends_the_connection),
		TEST(test_the_limit_of_a_message_is_exact),
		TEST(test_only_the_newest_events_are_kept),
		cmocka_unit_test(test_closing_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
