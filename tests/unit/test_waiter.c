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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
