/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig,agent */
/*
 * The link against a scripted agent whose line loses, doubles and garbles frames (own clock, so
 * that minutes of repetition cost nothing), and against the real agent program.
 */
#include "base/child.h"
#include "base/frame.h"
#include "base/parse.h"
#include "base/rng.h"
#include "rig/link.h"
#include "unit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/socket.h>

#define SEED 20200817

/* --- scripted agent ------------------------------------------------------------------------ */

struct line_faults {
	double lost, doubled, garbled, halved, glued;
};

struct peer {
	int fd;
	nsec_t now;
	struct rng rng;
	struct line_faults to_agent, from_agent;
	struct frame_reader reader;
	bool is_mute;           /* answers nothing */
	bool is_dead_when_busy; /* acknowledges and is never heard again */
	unsigned n_lines;       /* of each answer */
	nsec_t work_ns;         /* time that a command takes */
	uint32_t last_seq;
	nsec_t done_ns;
	bool is_working;
	bool is_answered;
	unsigned n_executed, n_requests, n_aborts;
	nsec_t request_ns[64];
	char verb[32];
	const char *err; /* "ENODEV text": what to answer instead of ok */
};

static void put(struct peer *p, const char *bytes, size_t n)
{
	assert_int_equal(write(p->fd, bytes, n), n);
}

static bool happens(struct peer *p, double probability)
{
	return rng_unit(&p->rng) < probability;
}

/* What the line makes of a frame. */
static void put_frame(struct peer *p, uint32_t seq, const char *body)
{
	char frame[FRAME_MAX + 1];
	size_t n = frame_build(seq, body, frame, sizeof(frame));

	assert_true(n > 0);
	if (happens(p, p->from_agent.lost))
		return;
	if (happens(p, p->from_agent.glued))
		put(p, "[  157.401] usb 2-1: USB disconnect, device number 2",
		    rng_below(&p->rng, 50));
	if (happens(p, p->from_agent.halved)) {
		put(p, frame, rng_below(&p->rng, n));
		return;
	}
	if (happens(p, p->from_agent.garbled))
		frame[rng_below(&p->rng, n - 1)] ^= (char)(1 + rng_below(&p->rng, 127));
	put(p, frame, n);
	if (happens(p, p->from_agent.doubled))
		put(p, frame, n);
}

static void answer(struct peer *p)
{
	char body[128];

	for (unsigned i = 0; i < p->n_lines; i++) {
		(void)snprintf(body, sizeof(body), "%s %u line%%20%u", i % 3 == 1 ? "part" : "data",
			       i, i);
		put_frame(p, p->last_seq, body);
	}
	if (p->err)
		(void)snprintf(body, sizeof(body), "err %s", p->err);
	else
		(void)snprintf(body, sizeof(body), "ok lines=%u run=%u text=a%%20b", p->n_lines,
			       p->n_executed);
	put_frame(p, p->last_seq, body);
}

static void on_request(void *self, const struct frame *f)
{
	struct peer *p = self;

	if (happens(p, p->to_agent.lost))
		return;
	if (p->n_requests < ARRAY_SIZE(p->request_ns))
		p->request_ns[p->n_requests] = p->now;
	p->n_requests++;
	if (p->is_mute)
		return;
	if (strcmp(f->verb, "hello") == 0) {
		char body[128];

		(void)snprintf(body, sizeof(body), "ok lines=0 version=1 session=%s", f->words[0]);
		put_frame(p, f->seq, body);
		return;
	}
	if (strcmp(f->verb, "abort") == 0) {
		p->n_aborts++;
		p->is_working = false;
		p->is_answered = true;
		put_frame(p, f->seq, "ok lines=0 aborted=1");
		return;
	}
	if (f->seq == p->last_seq && p->is_answered) {
		answer(p);
		return;
	}
	if (f->seq == p->last_seq || p->is_working) {
		if (p->is_dead_when_busy)
			return;
		put_frame(p, f->seq, f->seq == p->last_seq ? "ack" : "err EBUSY busy");
		return;
	}
	p->last_seq = f->seq;
	p->is_answered = false;
	p->n_executed++;
	(void)snprintf(p->verb, sizeof(p->verb), "%s", f->verb);
	if (p->work_ns) {
		p->is_working = true;
		p->done_ns = p->now + p->work_ns;
		put_frame(p, f->seq, "ack");
		return;
	}
	p->is_answered = true;
	answer(p);
}

static nsec_t peer_now(void *self)
{
	return ((struct peer *)self)->now;
}

/* The peer acts whenever the link has nothing to do; only then does time go on. */
static int peer_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	struct peer *p = self;

	for (;;) {
		char buf[4096];
		ssize_t got;
		int r = poll(fds, n, 0);

		if (r != 0)
			return r;
		got = p->fd < 0 ? -1 : read(p->fd, buf, sizeof(buf));
		if (got > 0) {
			frame_reader_feed(&p->reader, buf, (size_t)got, on_request, p);
			continue;
		}
		if (p->is_working && !p->is_dead_when_busy && p->done_ns <= until_ns) {
			p->now = p->done_ns;
			p->is_working = false;
			p->is_answered = true;
			answer(p);
			continue;
		}
		if (p->now < until_ns)
			p->now = until_ns;
		return 0;
	}
}

struct bench {
	struct peer peer;
	struct waiter *w;
	struct link *l;
	int fds[2];
	struct strbuf got;
	struct err e;
};

static int setup(void **state)
{
	static struct bench b;
	struct waiter_ops ops = {.now = peer_now, .poll = peer_poll, .self = &b.peer};

	memset(&b, 0, sizeof(b));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b.fds),
			 0);
	b.peer.fd = b.fds[1];
	b.peer.now = 1000 * NSEC_PER_SEC;
	rng_init(&b.peer.rng, SEED);
	b.w = waiter_new(&ops);
	assert_int_equal(link_open(b.w, b.fds[0], &b.l, &b.e), 0);
	*state = &b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	link_close(b->l);
	waiter_free(b->w);
	(void)close(b->fds[0]);
	if (b->peer.fd >= 0)
		(void)close(b->peer.fd);
	strbuf_release(&b->got);
	return 0;
}

static void test_a_call_gives_the_lines_and_then_the_words(void **state)
{
	struct bench *b = *state;

	b->peer.n_lines = 4;
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "cat path=%s", "/x"), 0);

	assert_string_equal(strbuf_str(&b->got),
			    "line 0\nline 1line 2\nline 3\nrun=1 text=a%20b\n");
	assert_string_equal(b->peer.verb, "cat");
	assert_int_equal(link_stats(b->l)->frames_sent, 1);
	assert_int_equal(link_stats(b->l)->frames_received, 5);
	assert_int_equal(link_stats(b->l)->retransmits, 0);

	/* an old content of the buffer does not stay */
	b->peer.n_lines = 0;
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "irq"), 0);
	assert_string_equal(strbuf_str(&b->got), "run=2 text=a%20b\n");
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "irq"), 0);
}

/* --- a link inside a console --------------------------------------------------------------- */

struct console {
	int fd;
	struct link *l;
	unsigned n_refused; /* frames that the line does not take */
	unsigned n_sent;
};

/* The terminal echoes, and a kernel message comes in the middle of whatever is there. */
static bool send_over_console(void *self, const char *frame, size_t n)
{
	static const char printk[] = "[   12.345678] usb 2-1: new SuperSpeed USB device\r\n";
	struct console *c = self;

	if (c->n_refused) {
		c->n_refused--;
		return false;
	}
	c->n_sent++;
	link_feed(c->l, frame, n);
	link_feed(c->l, printk, strlen(printk));
	assert_int_equal(write(c->fd, frame, n), n);
	return true;
}

static int on_console(void *self, short revents, struct err *e)
{
	struct console *c = self;
	char buf[FRAME_MAX];
	ssize_t n = read(c->fd, buf, sizeof(buf));

	(void)revents;
	(void)e;
	if (n > 0)
		link_feed(c->l, buf, (size_t)n);
	return 0;
}

static void test_a_link_inside_a_console_takes_no_echo_for_an_answer(void **state)
{
	struct bench *b = *state;
	struct console c = {.fd = b->fds[0]};
	const struct link_io io = {.send = send_over_console, .self = &c};
	const struct waiter_source src = {
		.fd = b->fds[0], .events = POLLIN, .ready = on_console, .self = &c};

	link_close(take(b->l));
	c.l = link_new_over(b->w, &io);
	assert_int_equal(waiter_add(b->w, &src, &b->e), 0);
	b->peer.n_lines = 4;
	assert_int_equal(link_call(c.l, NSEC_PER_SEC, &b->got, &b->e, "cat path=/x"), 0);
	assert_string_equal(strbuf_str(&b->got),
			    "line 0\nline 1line 2\nline 3\nrun=1 text=a%20b\n");
	assert_int_equal(link_stats(c.l)->frames_received, 5);

	/* a line that is busy: the frame is sent later */
	c.n_refused = 2;
	c.n_sent = 0;
	assert_int_equal(link_call(c.l, 5 * NSEC_PER_SEC, &b->got, &b->e, "irq"), 0);
	assert_int_equal(c.n_sent, 1);

	/* only the echo comes back: no answer, and none that was begun */
	b->peer.is_mute = true;
	assert_int_equal(link_call(c.l, 5 * NSEC_PER_SEC, NULL, &b->e, "info"), -ETIMEDOUT);
	assert_contains(b->e.text, "no answer within");
	waiter_remove(b->w, b->fds[0]);
	link_close(c.l);
}

static void test_an_error_of_the_agent_keeps_its_errno_and_text(void **state)
{
	static const struct {
		const char *answer, *text;
		int code;
	} cases[] = {
		{"ENODEV no%20stick", "agent: stick: no stick", ENODEV},
		{"ENOSYS unknown%20verb%20'x'", "agent: stick: unknown verb 'x'", ENOSYS},
		{"EWHATEVER odd", "agent: stick: odd", EIO},
		{"EBUSY", "agent: stick: EBUSY", EBUSY},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		b->peer.err = cases[i].answer;
		assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "stick serial=1"),
				 -cases[i].code);
		assert_int_equal(b->e.kind, ERR_TARGET);
		assert_string_equal(b->e.text, cases[i].text);
	}
}

static void test_a_request_is_repeated_with_growing_gaps(void **state)
{
	static const nsec_t gaps_ms[] = {250, 500, 1000, 2000, 2000, 2000};
	struct bench *b = *state;

	b->peer.is_mute = true;
	assert_int_equal(link_call(b->l, 9 * NSEC_PER_SEC, NULL, &b->e, "info"), -ETIMEDOUT);

	assert_string_equal(b->e.text, "agent: info: no answer within 9000 ms");
	assert_int_equal(b->e.kind, ERR_TARGET);
	assert_int_equal(b->peer.n_requests, ARRAY_SIZE(gaps_ms) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(gaps_ms); i++)
		assert_int_equal(b->peer.request_ns[i + 1] - b->peer.request_ns[i],
				 gaps_ms[i] * NSEC_PER_MSEC);
	assert_int_equal(link_stats(b->l)->retransmits, ARRAY_SIZE(gaps_ms));
}

static void test_an_acknowledged_request_is_only_asked_after_every_two_seconds(void **state)
{
	struct bench *b = *state;

	b->peer.work_ns = 9 * NSEC_PER_SEC;
	assert_int_equal(link_call(b->l, 20 * NSEC_PER_SEC, NULL, &b->e, "dd if=/dev/sda"), 0);

	assert_int_equal(b->peer.n_executed, 1);
	assert_int_equal(b->peer.n_requests, 5);
	assert_int_equal(b->peer.request_ns[1] - b->peer.request_ns[0], 2 * NSEC_PER_SEC);
}

static void test_a_command_may_take_much_longer_than_the_silence_limit(void **state)
{
	struct bench *b = *state;

	b->peer.work_ns = 20 * LINK_SILENCE_NS;
	assert_int_equal(link_call(b->l, 30 * LINK_SILENCE_NS, NULL, &b->e, "dd if=/dev/sda"), 0);
	assert_int_equal(b->peer.n_executed, 1);
}

static void test_an_agent_that_dies_at_work_is_noticed_long_before_the_timeout(void **state)
{
	struct bench *b = *state;
	nsec_t start = b->peer.now;

	b->peer.work_ns = NSEC_PER_SEC;
	b->peer.is_dead_when_busy = true;
	assert_int_equal(link_call(b->l, 3600 * NSEC_PER_SEC, NULL, &b->e, "dd if=/dev/sda"),
			 -ETIMEDOUT);

	assert_contains(b->e.text, "agent: dd: silent for 3");
	assert_true(b->peer.now - start < LINK_SILENCE_NS + 3 * NSEC_PER_SEC);
}

static void test_a_call_without_an_answer_is_aborted_before_the_next_one(void **state)
{
	struct bench *b = *state;

	b->peer.work_ns = 60 * NSEC_PER_SEC;
	assert_int_equal(link_call(b->l, 5 * NSEC_PER_SEC, NULL, &b->e, "dd if=/dev/sda"),
			 -ETIMEDOUT);
	assert_string_equal(b->e.text, "agent: dd: no complete answer within 5000 ms");
	assert_int_equal(b->peer.n_aborts, 0);

	b->peer.work_ns = 0;
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "info"), 0);
	assert_int_equal(b->peer.n_aborts, 1);
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "info"), 0);
	assert_int_equal(b->peer.n_aborts, 1);
}

static void test_a_closed_link_is_an_error_at_once(void **state)
{
	struct bench *b = *state;

	(void)close(b->peer.fd);
	b->peer.fd = -1;
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "info"), -EPIPE);
	assert_string_equal(b->e.text, "agent: info: the link is gone");
	assert_int_equal(b->e.kind, ERR_TARGET);
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "info"), -EPIPE);
	assert_int_equal(link_hello(b->l, b->peer.now + NSEC_PER_SEC, &b->e), -EPIPE);
	/* and no error for a wait that is about something else */
	assert_int_equal(waiter_sleep(b->w, NSEC_PER_SEC, &b->e), 0);
}

static void test_hello_is_repeated_until_the_agent_is_there_or_the_deadline(void **state)
{
	struct bench *b = *state;

	b->peer.is_mute = true;
	assert_int_equal(link_hello(b->l, b->peer.now + 100 * NSEC_PER_SEC, &b->e), -ETIMEDOUT);
	assert_string_equal(b->e.text, "agent: hello: no answer within 100000 ms");
	assert_true(b->peer.n_requests > 45);

	b->peer.is_mute = false;
	assert_int_equal(link_hello(b->l, b->peer.now + 100 * NSEC_PER_SEC, &b->e), 0);
}

static void test_a_request_that_makes_no_frame_is_refused(void **state)
{
	char text[FRAME_MAX];
	struct bench *b = *state;

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "%s%s", text, text), -EMSGSIZE);
	assert_int_equal(b->e.kind, ERR_INTERNAL);
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "%s", text), -EMSGSIZE);
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "write text=two  blanks"),
			 -EMSGSIZE);
	assert_contains(b->e.text, "two  blanks");
	assert_int_equal(b->peer.n_requests, 0);
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, NULL, &b->e, "info"), 0);
}

static void test_an_answer_may_have_lines_max_lines_and_no_more(void **state)
{
	struct bench *b = *state;
	char body[64];

	/* the socket does not hold them all at once: the peer's writes must not fail */
	int size = 4 << 20;

	assert_int_equal(setsockopt(b->peer.fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)),
			 0);
	b->peer.n_lines = FRAME_LINES_MAX;
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "dmesg"), 0);
	(void)snprintf(body, sizeof(body), "line %d\nrun=1 text=a%%20b\n", FRAME_LINES_MAX - 1);
	assert_contains(strbuf_str(&b->got), body);

	b->peer.n_lines = FRAME_LINES_MAX + 1;
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "dmesg"), -EMSGSIZE);
	assert_contains(b->e.text, "agent: dmesg: the answer breaks the limits");
}

/* Faults of every kind at once: each call is executed exactly once and its answer is whole. */
static void torture(struct bench *b, const struct line_faults *faults, unsigned n_calls)
{
	b->peer.to_agent = *faults;
	b->peer.from_agent = *faults;
	for (unsigned i = 1; i <= n_calls; i++) {
		char want[64];

		b->peer.n_lines = (unsigned)rng_below(&b->peer.rng, 12);
		b->peer.work_ns = i % 3 ? 0 : (nsec_t)rng_below(&b->peer.rng, 5 * NSEC_PER_SEC);
		if (link_call(b->l, 600 * NSEC_PER_SEC, &b->got, &b->e, "irq match=%u", i) != 0)
			fail_msg("call %u: %s", i, b->e.text);

		assert_int_equal(b->peer.n_executed, i);
		(void)snprintf(want, sizeof(want), "run=%u text=a%%20b\n", i);
		assert_contains(strbuf_str(&b->got), want);
		for (unsigned k = 0; k < b->peer.n_lines; k++) {
			(void)snprintf(want, sizeof(want), "line %u", k);
			assert_contains(strbuf_str(&b->got), want);
		}
	}
}

static void test_no_fault_of_the_line_loses_or_repeats_a_command(void **state)
{
	static const struct line_faults faults[] = {
		{.lost = 0.3},
		{.doubled = 0.5},
		{.garbled = 0.3},
		{.halved = 0.3},
		{.glued = 0.7},
		{.lost = 0.1, .doubled = 0.2, .garbled = 0.1, .halved = 0.1, .glued = 0.3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct bench *b;

		teardown(state);
		setup(state);
		b = *state;
		rng_init(&b->peer.rng, SEED + i);
		torture(b, &faults[i], 200);
		if (faults[i].garbled > 0)
			assert_true(link_stats(b->l)->bad_frames > 0);
		if (faults[i].glued >= 0.7)
			assert_int_equal(link_stats(b->l)->bad_frames, 0);
		if (faults[i].lost > 0 || faults[i].halved > 0)
			assert_true(link_stats(b->l)->retransmits > 0);
	}
}

static void test_answers_to_an_earlier_request_are_not_taken_for_this_one(void **state)
{
	struct bench *b = *state;
	char frame[FRAME_MAX + 1];
	size_t n;

	assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "info"), 0);
	n = frame_build(b->peer.last_seq, "ok lines=0 stale=1", frame, sizeof(frame));
	put(&b->peer, frame, n);
	n = frame_build(b->peer.last_seq, "err EIO stale", frame, sizeof(frame));
	put(&b->peer, frame, n);
	assert_int_equal(link_call(b->l, NSEC_PER_SEC, &b->got, &b->e, "info"), 0);
	assert_string_equal(strbuf_str(&b->got), "run=2 text=a%20b\n");
}

/* --- the real agent ------------------------------------------------------------------------ */

/* Hands bytes from one socket to the other and spoils some of them. */
struct wire {
	int from, to;
	struct rng *rng;
	const struct line_faults *faults;
	struct strbuf line;
};

static void pass_line(struct wire *wire)
{
	char *line = wire->line.data;
	size_t n = wire->line.len;

	if (rng_unit(wire->rng) < wire->faults->lost)
		return;
	if (rng_unit(wire->rng) < wire->faults->glued)
		assert_int_equal(write(wire->to, "[   12.5] usb", 13), 13);
	if (rng_unit(wire->rng) < wire->faults->halved)
		n = rng_below(wire->rng, n);
	if (n && rng_unit(wire->rng) < wire->faults->garbled)
		line[rng_below(wire->rng, n)] ^= (char)(1 + rng_below(wire->rng, 127));
	assert_int_equal(write(wire->to, line, n), n);
	if (rng_unit(wire->rng) < wire->faults->doubled)
		assert_int_equal(write(wire->to, line, n), n);
}

static int wire_ready(void *self, short revents, struct err *e)
{
	struct wire *wire = self;
	char buf[4096];
	ssize_t n = read(wire->from, buf, sizeof(buf));

	(void)revents;
	(void)e;
	for (ssize_t i = 0; i < n; i++) {
		strbuf_add(&wire->line, buf + i, 1);
		if (buf[i] == '\n') {
			pass_line(wire);
			strbuf_reset(&wire->line);
		}
	}
	return 0;
}

struct real {
	struct waiter *w;
	struct link *l;
	struct child *agent;
	int near[2], far[2]; /* link - wire, wire - agent */
	struct wire up, down;
	struct rng rng;
	struct line_faults faults;
	struct strbuf got;
	char *dir;
	struct err e;
};

/* With faults, the wire stands between the link and the agent; without, it passes all. */
static void real_open(struct real *r, const char *program, const char *root)
{
	char link_arg[16];
	const char *argv[] = {program, "-l", link_arg, root ? "-r" : NULL, root, NULL};
	struct child_cfg cfg = {.argv = argv,
				.stdin_fd = -1,
				.stdout_fd = -1,
				.stderr_fd = STDERR_FILENO,
				.dies_with_parent = true};
	struct waiter_source src = {.events = POLLIN, .ready = wire_ready};
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct err e = {0};

	memset(r, 0, sizeof(*r));
	rng_init(&r->rng, SEED);
	r->dir = unit_tmpdir();
	assert_int_equal(socketpair(AF_UNIX, type, 0, r->near), 0);
	assert_int_equal(socketpair(AF_UNIX, type, 0, r->far), 0);
	assert_int_equal(fcntl(r->far[1], F_SETFD, 0), 0);
	(void)snprintf(link_arg, sizeof(link_arg), "fd:%d", r->far[1]);
	r->w = waiter_new(NULL);
	if (child_start(&cfg, &r->agent, &e) != 0)
		fail_msg("%s", e.text);
	(void)close(r->far[1]);
	r->down = (struct wire){r->near[1], r->far[0], &r->rng, &r->faults, STRBUF_INIT};
	r->up = (struct wire){r->far[0], r->near[1], &r->rng, &r->faults, STRBUF_INIT};
	src.fd = r->near[1];
	src.self = &r->down;
	assert_int_equal(waiter_add(r->w, &src, &e), 0);
	src.fd = r->far[0];
	src.self = &r->up;
	assert_int_equal(waiter_add(r->w, &src, &e), 0);
	assert_int_equal(link_open(r->w, r->near[0], &r->l, &e), 0);
}

static void real_close(struct real *r)
{
	link_close(r->l);
	child_free(r->agent);
	waiter_free(r->w);
	(void)close(r->near[0]);
	(void)close(r->near[1]);
	(void)close(r->far[0]);
	strbuf_release(&r->up.line);
	strbuf_release(&r->down.line);
	strbuf_release(&r->got);
	unit_rmdir(r->dir);
}

static void must_call(struct real *r, const char *body)
{
	if (link_call(r->l, 60 * NSEC_PER_SEC, &r->got, &r->e, "%s", body) != 0)
		fail_msg("%s: %s", body, r->e.text);
}

static void must_hello(struct real *r)
{
	if (link_hello(r->l, waiter_now(r->w) + 20 * NSEC_PER_SEC, &r->e) != 0)
		fail_msg("%s", r->e.text);
}

static const char *const programs[] = {STALLRIG_AGENT, STALLRIG_AGENT_TEST};

static void test_the_real_agent_answers_over_a_clean_line(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct real r;
		int64_t cpus;

		real_open(&r, programs[i], NULL);
		assert_int_equal(link_call(r.l, NSEC_PER_SEC, NULL, &r.e, "clock"), -ENOTCONN);
		must_hello(&r);
		must_call(&r, "info");
		assert_true(parse_pair_i64(strbuf_str(&r.got), "cpus", &cpus));
		assert_int_equal(cpus, sysconf(_SC_NPROCESSORS_ONLN));
		must_call(&r, "cat path=/proc/interrupts");
		assert_contains(strbuf_str(&r.got), "CPU0");
		assert_int_equal(link_call(r.l, NSEC_PER_SEC, NULL, &r.e, "frobnicate"), -ENOSYS);
		assert_string_equal(r.e.text, "agent: frobnicate: unknown verb 'frobnicate'");
		assert_int_equal(link_stats(r.l)->retransmits, 0);
		real_close(&r);
	}
}

/* Each dd appends one byte: the file's size is the number of executions. */
static void test_the_real_agent_executes_once_over_a_bad_line(void **state)
{
	const unsigned n_calls = 15;
	struct real r;
	(void)state;

	real_open(&r, STALLRIG_AGENT_TEST, NULL);
	r.faults = (struct line_faults){
		.lost = 0.04, .doubled = 0.2, .garbled = 0.04, .halved = 0.04, .glued = 0.2};
	must_hello(&r);
	for (unsigned i = 1; i <= n_calls; i++) {
		auto_free char *body = xasprintf(
			"dd if=/dev/zero of=%s/count bs=1 count=1 oflag=append conv=notrunc",
			r.dir);
		auto_free char *path = xasprintf("%s/count", r.dir);
		auto_strbuf struct strbuf text = STRBUF_INIT;
		int64_t bytes;

		must_call(&r, body);
		assert_true(parse_pair_i64(strbuf_str(&r.got), "bytes", &bytes));
		assert_int_equal(bytes, 1);
		assert_int_equal(file_read(path, 1000, &text, &r.e), 0);
		assert_int_equal(text.len, i);
	}
	assert_true(link_stats(r.l)->retransmits > 0);
	real_close(&r);
}

static void test_a_long_answer_of_the_real_agent_is_whole_after_losses(void **state)
{
	static const char *const kinds[] = {"", "and a tail of 100% odd bytes\t\xe2\x82\xac "};
	auto_strbuf struct strbuf want = STRBUF_INIT;
	auto_free char *sub = NULL;
	struct real r;
	char *root = unit_tmpdir();
	(void)state;

	sub = xasprintf("%s/proc", root);
	assert_int_equal(dir_make(sub, NULL), 0);
	for (unsigned i = 0; i < 400; i++)
		strbuf_addf(&want, "%u: %s%*u\n", i, kinds[i % 2], (int)(i % 120), i);
	/* one line that needs several frames */
	for (unsigned i = 0; i < 900; i++)
		strbuf_addf(&want, "<%u %%>", i);
	strbuf_adds(&want, "\n");
	unit_write(sub, "file", strbuf_str(&want));
	real_open(&r, STALLRIG_AGENT_TEST, root);
	must_hello(&r);
	r.faults = (struct line_faults){.lost = 0.05, .doubled = 0.05, .garbled = 0.05};

	must_call(&r, "cat path=/proc/file");

	strbuf_addf(&want, "bytes=%zu\n", want.len);
	assert_string_equal(strbuf_str(&r.got), strbuf_str(&want));
	assert_true(link_stats(r.l)->bad_frames > 0);
	real_close(&r);
	unit_rmdir(root);
}

static void test_the_real_agent_is_free_again_after_a_call_that_timed_out(void **state)
{
	struct real r;
	(void)state;

	real_open(&r, STALLRIG_AGENT_TEST, NULL);
	must_hello(&r);
	assert_int_equal(link_call(r.l, NSEC_PER_SEC, NULL, &r.e, "dd if=/dev/zero"), -ETIMEDOUT);
	must_call(&r, "clock");
	must_call(&r, "dd if=/dev/zero bs=4k count=3");
	assert_contains(strbuf_str(&r.got), "records_in=3 records_in_partial=0");
	real_close(&r);
}

static void test_a_killed_agent_is_a_link_that_is_gone(void **state)
{
	struct real r;
	(void)state;

	real_open(&r, STALLRIG_AGENT_TEST, NULL);
	must_hello(&r);
	/* no wire: the sockets end with the agent */
	child_kill(r.agent, SIGKILL);
	waiter_remove(r.w, r.near[1]);
	waiter_remove(r.w, r.far[0]);
	(void)shutdown(r.near[1], SHUT_RDWR);
	assert_int_equal(link_call(r.l, 20 * NSEC_PER_SEC, NULL, &r.e, "info"), -EPIPE);
	real_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define SCRIPTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		SCRIPTED(test_a_call_gives_the_lines_and_then_the_words),
		SCRIPTED(test_a_link_inside_a_console_takes_no_echo_for_an_answer),
		SCRIPTED(test_an_error_of_the_agent_keeps_its_errno_and_text),
		SCRIPTED(test_a_request_is_repeated_with_growing_gaps),
		SCRIPTED(test_an_acknowledged_request_is_only_asked_after_every_two_seconds),
		SCRIPTED(test_a_command_may_take_much_longer_than_the_silence_limit),
		SCRIPTED(test_an_agent_that_dies_at_work_is_noticed_long_before_the_timeout),
		SCRIPTED(test_a_call_without_an_answer_is_aborted_before_the_next_one),
		SCRIPTED(test_a_closed_link_is_an_error_at_once),
		SCRIPTED(test_hello_is_repeated_until_the_agent_is_there_or_the_deadline),
		SCRIPTED(test_a_request_that_makes_no_frame_is_refused),
		SCRIPTED(test_an_answer_may_have_lines_max_lines_and_no_more),
		SCRIPTED(test_no_fault_of_the_line_loses_or_repeats_a_command),
		SCRIPTED(test_answers_to_an_earlier_request_are_not_taken_for_this_one),
		cmocka_unit_test(test_the_real_agent_answers_over_a_clean_line),
		cmocka_unit_test(test_the_real_agent_executes_once_over_a_bad_line),
		cmocka_unit_test(test_a_long_answer_of_the_real_agent_is_whole_after_losses),
		cmocka_unit_test(test_the_real_agent_is_free_again_after_a_call_that_timed_out),
		cmocka_unit_test(test_a_killed_agent_is_a_link_that_is_gone),
	};

	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
