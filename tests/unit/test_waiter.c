/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
#include "base/waiter.h"
#include "unit.h"

#include <signal.h>

/* A clock that jumps to the deadline when nothing is ready. */
struct fake {
	nsec_t now;
	unsigned polls;
};

static nsec_t fake_now(void *self)
{
	return ((struct fake *)self)->now;
}

static int fake_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	struct fake *f = self;
	int r = poll(fds, n, 0);

	f->polls++;
	if (r == 0 && until_ns > f->now)
		f->now = until_ns;
	return r;
}

struct reader {
	int fd;
	char got[64];
	size_t n;
	int error;
	struct waiter *w;
	bool removes_itself;
};

static int on_readable(void *self, short revents, struct err *e)
{
	struct reader *rd = self;
	ssize_t n;

	(void)revents;
	if (rd->error)
		return err_set(e, ERR_RIG, rd->error, "source failed");
	n = read(rd->fd, rd->got + rd->n, 1);
	assert_int_equal(n, 1);
	rd->n++;
	if (rd->removes_itself)
		waiter_remove(rd->w, rd->fd);
	return 0;
}

static void watch(struct waiter *w, int fd, struct reader *rd)
{
	struct waiter_source src = {.fd = fd, .events = POLLIN, .ready = on_readable, .self = rd};
	struct err e = {0};

	assert_int_equal(waiter_add(w, &src, &e), 0);
}

static bool has_two(void *arg)
{
	return ((struct reader *)arg)->n == 2;
}

static struct waiter *fake_waiter(struct fake *f)
{
	const struct waiter_ops ops = {.now = fake_now, .poll = fake_poll, .self = f};

	return waiter_new(&ops);
}

static void test_waits_until_the_predicate_holds(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct reader rd = {.w = w};
	struct err e = {0};
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	rd.fd = p[0];
	watch(w, p[0], &rd);
	assert_int_equal(write(p[1], "abc", 3), 3);
	assert_int_equal(waiter_until(w, 1000, has_two, &rd, &e), 1);
	assert_int_equal(rd.n, 2);
	assert_int_equal(f.now, 0);
	close(p[0]);
	close(p[1]);
}

static void test_the_deadline_ends_a_wait_and_no_later(void **state)
{
	struct fake f = {.now = 5};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct reader rd = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(waiter_until(w, 70, has_two, &rd, &e), 0);
	assert_int_equal(f.now, 70);
	assert_int_equal(waiter_sleep(w, 30, &e), 0);
	assert_int_equal(f.now, 100);
}

static void test_what_is_ready_at_the_deadline_still_counts(void **state)
{
	struct fake f = {.now = 50};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct reader rd = {.w = w, .n = 1};
	struct err e = {0};
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	rd.fd = p[0];
	watch(w, p[0], &rd);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(waiter_until(w, 10, has_two, &rd, &e), 1);
	close(p[0]);
	close(p[1]);
}

static void test_an_error_of_a_source_ends_the_wait(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct reader rd = {.error = EPIPE};
	struct err e = {0};
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	close(p[1]);
	watch(w, p[0], &rd);
	assert_int_equal(waiter_sleep(w, 100, &e), -EPIPE);
	assert_int_equal(e.kind, ERR_RIG);
	close(p[0]);
}

static void test_a_source_may_remove_itself(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct reader rd = {.w = w, .removes_itself = true};
	struct err e = {0};
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	rd.fd = p[0];
	watch(w, p[0], &rd);
	assert_int_equal(write(p[1], "ab", 2), 2);
	assert_int_equal(waiter_until(w, 100, has_two, &rd, &e), 0);
	assert_int_equal(rd.n, 1);
	close(p[0]);
	close(p[1]);
}

static void test_one_source_too_many_is_refused(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct waiter_source src = {.events = POLLIN, .ready = on_readable};
	struct err e = {0};

	(void)state;
	for (int i = 0; i < WAITER_SOURCES_MAX; i++) {
		src.fd = 1000 + i;
		assert_int_equal(waiter_add(w, &src, &e), 0);
	}
	assert_int_equal(waiter_add(w, &src, &e), -ENOSPC);
	waiter_remove(w, 1000);
	assert_int_equal(waiter_add(w, &src, &e), -EEXIST);
	src.fd = 1;
	assert_int_equal(waiter_add(w, &src, &e), 0);
}

static void test_a_stop_signal_ends_every_wait_until_it_is_cleared(void **state)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct err e = {0};

	(void)state;
	waiter_catch_stop_signals();
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(waiter_sleep(w, NSEC_PER_SEC * 60, &e), -EINTR);
	assert_int_equal(e.kind, ERR_STOPPED);
	assert_true(waiter_is_stopped());
	waiter_clear_stop();
	assert_int_equal(waiter_sleep(w, NSEC_PER_MSEC, &e), 0);
}

static void test_the_real_clock_waits_at_least_as_long_as_asked(void **state)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	nsec_t before = waiter_now(w);
	struct err e = {0};

	(void)state;
	assert_int_equal(waiter_sleep(w, 3 * NSEC_PER_MSEC, &e), 0);
	assert_true(waiter_now(w) - before >= 3 * NSEC_PER_MSEC);
}

static void test_wall_time_is_written_as_rfc_3339(void **state)
{
	auto_free char *text = wall_format(1796037474 * NSEC_PER_SEC);

	(void)state;
	assert_string_equal(text, "2026-11-30T11:17:54Z");
}

struct alarm {
	struct waiter *w;
	struct waiter_timer timer;
	unsigned n, again;
	nsec_t fired_ns;
	struct waiter_timer *cancels;
};

static void on_alarm(void *self)
{
	struct alarm *a = self;

	a->n++;
	a->fired_ns = waiter_now(a->w);
	if (a->cancels)
		waiter_timer_cancel(a->w, a->cancels);
	if (a->n <= a->again) {
		a->timer.at_ns = a->fired_ns + 10;
		assert_int_equal(waiter_timer_set(a->w, &a->timer, NULL), 0);
	}
}

static struct alarm alarm_at(struct waiter *w, nsec_t at_ns)
{
	return (struct alarm){.w = w, .timer = {.at_ns = at_ns, .fire = on_alarm}};
}

static void set(struct alarm *a)
{
	struct err e = {0};

	a->timer.self = a;
	assert_int_equal(waiter_timer_set(a->w, &a->timer, &e), 0);
}

static void test_a_timer_fires_once_at_its_time_whatever_is_waited_for(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct alarm a = alarm_at(w, 70);
	struct err e = {0};

	(void)state;
	set(&a);
	set(&a); /* twice is once */
	assert_int_equal(waiter_until(w, 69, NULL, NULL, &e), 0);
	assert_int_equal(a.n, 0);
	assert_int_equal(waiter_until(w, 500, NULL, NULL, &e), 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.fired_ns, 70);
}

static void test_a_timer_may_set_itself_again_and_cancel_another(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct alarm never = alarm_at(w, 50);
	struct alarm a = alarm_at(w, 50);
	struct err e = {0};

	(void)state;
	a.again = 3;
	a.cancels = &never.timer;
	set(&a);
	set(&never);
	assert_int_equal(waiter_until(w, 1000, NULL, NULL, &e), 0);
	assert_int_equal(a.n, 4);
	assert_int_equal(a.fired_ns, 80);
	assert_int_equal(never.n, 0);
	waiter_timer_cancel(w, &a.timer); /* not set: ignored */
}

static void test_there_is_a_limit_to_timers(void **state)
{
	struct fake f = {0};
	auto_waiter struct waiter *w = fake_waiter(&f);
	struct alarm a[WAITER_TIMERS_MAX + 1];
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < WAITER_TIMERS_MAX; i++) {
		a[i] = alarm_at(w, 10);
		set(&a[i]);
	}
	a[WAITER_TIMERS_MAX] = alarm_at(w, 10);
	assert_int_equal(waiter_timer_set(w, &a[WAITER_TIMERS_MAX].timer, &e), -ENOSPC);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_int_equal(waiter_until(w, 20, NULL, NULL, &e), 0);
	for (size_t i = 0; i < WAITER_TIMERS_MAX; i++)
		assert_int_equal(a[i].n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_timer_fires_once_at_its_time_whatever_is_waited_for),
		cmocka_unit_test(test_a_timer_may_set_itself_again_and_cancel_another),
		cmocka_unit_test(test_there_is_a_limit_to_timers),
		cmocka_unit_test(test_waits_until_the_predicate_holds),
		cmocka_unit_test(test_the_deadline_ends_a_wait_and_no_later),
		cmocka_unit_test(test_what_is_ready_at_the_deadline_still_counts),
		cmocka_unit_test(test_an_error_of_a_source_ends_the_wait),
		cmocka_unit_test(test_a_source_may_remove_itself),
		cmocka_unit_test(test_one_source_too_many_is_refused),
		cmocka_unit_test(test_the_real_clock_waits_at_least_as_long_as_asked),
		cmocka_unit_test(test_wall_time_is_written_as_rfc_3339),
		cmocka_unit_test(test_a_stop_signal_ends_every_wait_until_it_is_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
