/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "../../controller/rig/port.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/socket.h>

struct fixture {
	struct waiter *w;
	struct port *port;
	int ours, theirs;
	struct strbuf got;
	nsec_t last_ns;
};

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct fixture *f = self;

	strbuf_add(&f->got, bytes, n);
	assert_true(t_host_ns >= f->last_ns);
	f->last_ns = t_host_ns;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct err e = {0};
	int p[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	f->ours = p[0];
	f->theirs = p[1];
	assert_int_equal(fcntl(f->ours, F_SETFL, O_NONBLOCK), 0);
	f->w = waiter_new(NULL);
	f->last_ns = waiter_now(f->w);
	assert_int_equal(port_open(f->w, f->ours, on_bytes, f, &f->port, &e), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	port_close(f->port);
	waiter_free(f->w);
	close(f->ours);
	if (f->theirs >= 0)
		close(f->theirs);
	strbuf_release(&f->got);
	free(f);
	return 0;
}

static bool has_five(void *arg)
{
	return ((struct fixture *)arg)->got.len >= 5;
}

static bool is_hung_up(void *arg)
{
	return !port_is_connected(((struct fixture *)arg)->port, NULL);
}

static void test_every_byte_arrives_as_it_was_sent(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	assert_int_equal(write(f->theirs, "a\0\r\xff\n", 5), 5);
	assert_int_equal(waiter_until(f->w, NSEC_FOREVER, has_five, f, &e), 1);

	assert_int_equal(f->got.len, 5);
	assert_memory_equal(f->got.data, "a\0\r\xff\n", 5);
	assert_int_equal(port_bytes(f->port), 5);
}

static void test_a_hang_up_is_reported_after_the_last_byte(void **state)
{
	struct fixture *f = *state;
	const char *why = NULL;
	struct err e = {0};

	assert_true(port_is_connected(f->port, &why));
	assert_null(why);
	assert_int_equal(write(f->theirs, "bye!\n", 5), 5);
	close(f->theirs);
	f->theirs = -1;
	assert_int_equal(waiter_until(f->w, NSEC_FOREVER, is_hung_up, f, &e), 1);

	assert_int_equal(f->got.len, 5);
	assert_false(port_is_connected(f->port, &why));
	assert_contains(why, "closed by the other side");
	/* the waiter has nothing left to spin on */
	assert_int_equal(waiter_sleep(f->w, NSEC_PER_MSEC, &e), 0);
}

static void test_draining_takes_all_that_is_there_without_waiting(void **state)
{
	struct fixture *f = *state;
	char block[1000];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 60; i++)
		assert_int_equal(write(f->theirs, block, sizeof(block)), sizeof(block));
	port_drain(f->port);
	assert_int_equal(f->got.len, 60000);
	assert_true(port_is_connected(f->port, NULL));

	/* nothing there: returns at once */
	port_drain(f->port);
	assert_int_equal(port_bytes(f->port), 60000);
}

static void test_closing_takes_null(void **state)
{
	(void)state;
	port_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_byte_arrives_as_it_was_sent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_hang_up_is_reported_after_the_last_byte,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_draining_takes_all_that_is_there_without_waiting, setup, teardown),
		cmocka_unit_test(test_closing_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
