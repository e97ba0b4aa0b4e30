/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/* The target-port driver with an agent that answers as a target's kernel would, or does not. */
#include "../../controller/rig/switch_target_port.h"
#include "base/frame.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/socket.h>

/* The other end of the link. */
struct agent {
	struct waiter *w;
	int fd;
	struct frame_reader reader;
	const char *answer; /* body; NULL = none */
	char asked[128];    /* the last request's words */
	unsigned n_asked;
	uint32_t seq;
};

struct plug {
	unsigned n_sets, n_closes;
	bool is_broken;
};

struct fixture {
	struct agent agent;
	struct plug plug;
	int fd;
	struct link *link;
	const struct switch_ops *ops;
	void *self;
	struct err e;
};

static void on_request(void *self, const struct frame *f)
{
	struct agent *a = self;
	char line[FRAME_MAX + 1];
	size_t n;

	/* a repetition is no new request */
	if (f->seq != a->seq)
		a->n_asked++;
	a->seq = f->seq;
	(void)snprintf(a->asked, sizeof(a->asked), "%s %s %s", f->verb,
		       f->n_words > 0 ? f->words[0] : "", f->n_words > 1 ? f->words[1] : "");
	if (!a->answer)
		return;
	n = frame_build(f->seq, a->answer, line, sizeof(line));
	assert_true(n > 0);
	assert_int_equal(write(a->fd, line, n), n);
}

static int on_bytes(void *self, short revents, struct err *e)
{
	struct agent *a = self;
	char buf[1024];
	ssize_t n = read(a->fd, buf, sizeof(buf));

	(void)revents;
	(void)e;
	if (n > 0)
		frame_reader_feed(&a->reader, buf, (size_t)n, on_request, a);
	return 0;
}

static int plug_set(void *self, enum switch_state state, nsec_t deadline_ns,
		    struct switch_change *ret, struct err *e)
{
	struct plug *p = self;

	(void)deadline_ns;
	assert_int_equal(state, SWITCH_ON);
	p->n_sets++;
	if (p->is_broken)
		return err_set(e, ERR_RIG, EIO, "the plug is broken");
	*ret = (struct switch_change){.asked_ns = 1, .applied_ns = 2};
	return 0;
}

static void plug_close(void *self)
{
	((struct plug *)self)->n_closes++;
}

static const struct switch_ops plug_ops = {.driver = "plug", .set = plug_set, .close = plug_close};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct waiter_source source = {.events = POLLIN, .ready = on_bytes, .self = &f->agent};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	f->fd = pair[0];
	f->agent.fd = pair[1];
	f->agent.w = waiter_new(NULL);
	source.fd = pair[1];
	assert_int_equal(waiter_add(f->agent.w, &source, &f->e), 0);
	assert_int_equal(link_open(f->agent.w, f->fd, &f->link, &f->e), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->ops)
		f->ops->close(f->self);
	link_close(f->link);
	waiter_remove(f->agent.w, f->agent.fd);
	waiter_free(f->agent.w);
	close(f->fd);
	close(f->agent.fd);
	free(f);
	return 0;
}

static void open_switch(struct fixture *f, bool has_plug)
{
	switch_target_port_new(f->link, "2-1", has_plug ? &plug_ops : NULL,
			       has_plug ? &f->plug : NULL, f->agent.w, &f->ops, &f->self);
}

static int set(struct fixture *f, enum switch_state to, nsec_t timeout_ns,
	       struct switch_change *ret)
{
	err_clear(&f->e);
	return f->ops->set(f->self, to, waiter_now(f->agent.w) + timeout_ns, ret, &f->e);
}

static void test_the_targets_kernel_is_asked_and_its_answer_counts(void **state)
{
	struct fixture *f = *state;
	struct switch_change c = {0};

	open_switch(f, false);
	assert_true(f->ops->caps & SWITCH_IS_SOFT);
	assert_int_equal(f->ops->get(f->self), SWITCH_ON);

	f->agent.answer = "ok lines=0 method=disable state=off";
	assert_int_equal(set(f, SWITCH_OFF, 10 * NSEC_PER_SEC, &c), 0);
	assert_string_equal(f->agent.asked, "usb-port path=2-1 state=off");
	assert_int_equal(f->ops->get(f->self), SWITCH_OFF);
	assert_true(c.asked_ns && c.applied_ns >= c.asked_ns && !c.is_sensed);

	f->agent.answer = "ok lines=0 method=disable state=on";
	assert_int_equal(set(f, SWITCH_ON, 10 * NSEC_PER_SEC, &c), 0);
	assert_string_equal(f->agent.asked, "usb-port path=2-1 state=on");
	assert_int_equal(f->ops->get(f->self), SWITCH_ON);
}

static void test_a_target_that_does_not_do_it_is_the_rigs_fault(void **state)
{
	static const struct {
		const char *answer;
		int r;
		const char *text;
	} cases[] = {
		{"ok lines=0 method=disable state=on", -EIO, "target port 2-1"},
		{"ok lines=0", -EPROTO, "no state in the answer"},
		{"err ENODEV usb-port:%20no%20such%20port", -ENODEV, "no such port"},
		{NULL, -ETIMEDOUT, ""},
	};
	struct fixture *f = *state;
	struct switch_change c = {0};

	open_switch(f, false);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		f->agent.answer = cases[i].answer;
		assert_int_equal(set(f, SWITCH_OFF,
				     cases[i].answer ? 10 * NSEC_PER_SEC : 50 * NSEC_PER_MSEC, &c),
				 cases[i].r);
		assert_int_equal(f->e.kind, ERR_RIG);
		assert_contains(f->e.text, cases[i].text);
		assert_int_equal(f->ops->get(f->self), SWITCH_UNKNOWN);
	}
}

static void test_an_emulated_stick_is_plugged_in_once_and_then_left_alone(void **state)
{
	struct fixture *f = *state;
	struct switch_change c = {0};

	open_switch(f, true);
	assert_int_equal(f->ops->get(f->self), SWITCH_OFF);
	f->plug.is_broken = true;
	assert_int_equal(set(f, SWITCH_ON, NSEC_PER_SEC, &c), -EIO);
	assert_int_equal(f->ops->get(f->self), SWITCH_OFF);
	f->plug.is_broken = false;
	assert_int_equal(set(f, SWITCH_ON, NSEC_PER_SEC, &c), 0);
	assert_int_equal(f->ops->get(f->self), SWITCH_ON);
	assert_int_equal(f->agent.n_asked, 0);

	f->agent.answer = "ok lines=0 method=disable state=off";
	assert_int_equal(set(f, SWITCH_OFF, 10 * NSEC_PER_SEC, &c), 0);
	f->agent.answer = "ok lines=0 method=disable state=on";
	assert_int_equal(set(f, SWITCH_ON, 10 * NSEC_PER_SEC, &c), 0);
	assert_int_equal(f->plug.n_sets, 2);
	assert_int_equal(f->agent.n_asked, 2);

	f->ops->close(f->self);
	f->ops = NULL;
	assert_int_equal(f->plug.n_closes, 1);
}

#define WITH(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_the_targets_kernel_is_asked_and_its_answer_counts),
		WITH(test_a_target_that_does_not_do_it_is_the_rigs_fault),
		WITH(test_an_emulated_stick_is_plugged_in_once_and_then_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
