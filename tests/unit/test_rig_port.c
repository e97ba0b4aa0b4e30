/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "../../controller/rig/port.h"
#include "unit.h"

#include <fcntl.h>
#include <netinet/in.h>
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
	assert_int_equal(port_open_fd(f->w, f->ours, on_bytes, f, &f->port, &e), 0);
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
	assert_int_equal(port_stats(f->port)->bytes, 5);
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
	assert_int_equal(port_stats(f->port)->bytes, 60000);
}

static void test_paced_bytes_leave_one_by_one(void **state)
{
	enum { N = 20, PACE_US = 2000 };
	struct fixture *f = *state;
	nsec_t begin_ns = waiter_now(f->w);
	struct err e = {0};
	char got[N + 1];
	nsec_t took_ns;

	port_set_pacing(f->port, PACE_US);
	assert_int_equal(port_write(f->port, "abcdefghijklmnopqrst", N, &e), 0);
	assert_false(port_is_sent(f->port));
	while (!port_is_sent(f->port))
		assert_int_equal(waiter_sleep(f->w, NSEC_PER_MSEC, &e), 0);
	took_ns = waiter_now(f->w) - begin_ns;

	assert_true(took_ns >= (N - 1) * PACE_US * NSEC_PER_USEC);
	assert_int_equal(read(f->theirs, got, sizeof(got)), N);
	assert_memory_equal(got, "abcdefghijklmnopqrst", N);
	assert_int_equal(port_stats(f->port)->sent, N);
}

static void test_what_waits_to_be_sent_has_a_limit(void **state)
{
	static char block[PORT_OUT_MAX];
	struct fixture *f = *state;
	struct err e = {0};

	memset(block, 'x', sizeof(block));
	/* a very slow line: nothing leaves but the first byte */
	port_set_pacing(f->port, 100000);
	assert_int_equal(port_write(f->port, "a", 1, &e), 0);
	assert_int_equal(port_write(f->port, block, sizeof(block), &e), 0);
	assert_int_equal(port_write(f->port, "b", 1, &e), -ENOBUFS);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "1 more do not fit into 65536");
	port_forget_out(f->port);
	assert_int_equal(port_write(f->port, "b", 1, &e), 0);
}

static void test_a_port_that_hung_up_takes_nothing(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	close(f->theirs);
	f->theirs = -1;
	assert_int_equal(waiter_until(f->w, NSEC_FOREVER, is_hung_up, f, &e), 1);
	assert_int_equal(port_write(f->port, "x", 1, &e), -EPIPE);
	assert_contains(e.text, "closed by the other side");
	assert_int_equal(port_stats(f->port)->losses, 1);
}

static void on_tap(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	strbuf_add(self, bytes, n);
}

static void test_listeners_get_every_byte_until_they_leave(void **state)
{
	struct fixture *f = *state;
	struct strbuf taps[PORT_TAPS_MAX] = {{0}};
	struct err e = {0};

	for (size_t i = 0; i < PORT_TAPS_MAX; i++)
		assert_int_equal(port_tap(f->port, on_tap, &taps[i], &e), 0);
	assert_int_equal(port_tap(f->port, on_tap, f, &e), -ENOSPC);
	assert_int_equal(write(f->theirs, "12345", 5), 5);
	assert_int_equal(waiter_until(f->w, NSEC_FOREVER, has_five, f, &e), 1);
	port_untap(f->port, on_tap, &taps[1]);
	port_untap(f->port, on_tap, &taps[1]);
	assert_int_equal(write(f->theirs, "6", 1), 1);
	port_drain(f->port);

	assert_string_equal(strbuf_str(&f->got), "123456");
	for (size_t i = 0; i < PORT_TAPS_MAX; i++)
		assert_string_equal(strbuf_str(&taps[i]), i == 1 ? "12345" : "123456");
	for (size_t i = 0; i < PORT_TAPS_MAX; i++)
		strbuf_release(&taps[i]);
}

/* --- over TCP, as a terminal server ------------------------------------------------------- */

static int serve(uint16_t *ret_port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	assert_true(fd >= 0);
	sin.sin_port = htons(*ret_port);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	*ret_port = ntohs(sin.sin_port);
	return fd;
}

static bool is_back(void *arg)
{
	struct port *p = arg;

	return port_is_connected(p, NULL);
}

static bool is_lost(void *arg)
{
	return !is_back(arg);
}

static void test_a_terminal_server_that_goes_away_is_found_again(void **state)
{
	struct fixture *f = *state;
	uint16_t number = 0;
	int listener = serve(&number);
	auto_free char *address = xasprintf("127.0.0.1:%u", number);
	const struct port_cfg cfg = {.driver = "socket", .address = address};
	struct port *p = NULL;
	struct err e = {0};
	const char *why = NULL;
	char got[8];
	int peer;

	if (port_open(f->w, &cfg, on_bytes, f, &p, &e) < 0)
		fail_msg("%s", e.text);
	peer = accept(listener, NULL, NULL);
	assert_true(peer >= 0);
	assert_int_equal(write(peer, "12345", 5), 5);
	assert_int_equal(waiter_until(f->w, NSEC_FOREVER, has_five, f, &e), 1);

	/* the server goes down: nobody listens for a while */
	close(peer);
	close(listener);
	assert_int_equal(waiter_until(f->w, NSEC_FOREVER, is_lost, p, &e), 1);
	assert_int_equal(waiter_sleep(f->w, 500 * NSEC_PER_MSEC, &e), 0);
	assert_false(port_is_connected(p, &why));
	assert_contains(why, "refused");
	assert_int_equal(port_write(p, "x", 1, &e), -EPIPE);

	listener = serve(&number);
	assert_int_equal(waiter_until(f->w, waiter_now(f->w) + 10 * NSEC_PER_SEC, is_back, p, &e),
			 1);
	peer = accept(listener, NULL, NULL);
	assert_int_equal(write(peer, "67", 2), 2);
	assert_int_equal(port_write(p, "up", 2, &e), 0);
	assert_int_equal(read(peer, got, sizeof(got)), 2);
	while (f->got.len < 7)
		assert_int_equal(waiter_sleep(f->w, NSEC_PER_MSEC, &e), 0);
	assert_string_equal(strbuf_str(&f->got), "1234567");
	assert_int_equal(port_stats(p)->losses, 1);
	assert_int_equal(port_break(p, &e), -ENOTSUP);
	port_close(p);
	close(peer);
	close(listener);
}

static void test_a_port_that_cannot_be_opened_is_named(void **state)
{
	static const struct {
		const char *driver, *address;
		int code;
		const char *want;
	} cases[] = {
		{"socket", "nonsense", -EINVAL,
		 "console socket 'nonsense': not HOST:PORT and no path"},
		{"socket", "127.0.0.1:", -EINVAL, "not HOST:PORT"},
		{"socket", "127.0.0.1:http", -ENXIO, "console socket '127.0.0.1:http': "},
		{"socket", "/no/such.sock", -ENOENT, "console socket '/no/such.sock': connect: "},
		{"serial", "/dev/no-such-tty", -ENODEV,
		 "console serial '/dev/no-such-tty': no such"},
		{"serial", "/dev/null", -EINVAL, "/dev/null: not a serial port"},
		{"serial", "usb:NOBODY", -ENODEV, "no adapter with the USB serial number 'NOBODY'"},
		{"carrier-pigeon", "x", -EINVAL, "console driver 'carrier-pigeon' is not known"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct port_cfg cfg = {
			.driver = cases[i].driver, .address = cases[i].address, .baud = 115200};
		struct port *p = NULL;
		struct err e = {0};

		assert_int_equal(port_open(f->w, &cfg, on_bytes, f, &p, &e), cases[i].code);
		assert_null(p);
		assert_contains(e.text, cases[i].want);
	}
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
		cmocka_unit_test_setup_teardown(test_paced_bytes_leave_one_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_waits_to_be_sent_has_a_limit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_port_that_hung_up_takes_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_listeners_get_every_byte_until_they_leave,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_terminal_server_that_goes_away_is_found_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_port_that_cannot_be_opened_is_named, setup,
						teardown),
		cmocka_unit_test(test_closing_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
