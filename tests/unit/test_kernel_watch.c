/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_kernel_watch.c - what counts as the kernel's words, wherever the console's bytes are cut. */
/* ctest: rig */
#include "../../controller/rig/kernel_watch.h"
#include "unit.h"

#include <sys/socket.h>
#include <unistd.h>

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)self;
	(void)bytes;
	(void)n;
	(void)t_host_ns;
}

/* The boot loader's last line comes in two parts, and whoever speaks to it has seen the first. */
static void test_the_loaders_last_line_is_not_the_kernels(void **state)
{
	static const char line[] = "Starting kernel ...\r\n\r\n";
	const struct kernel_build build = {.release = (char[]){"1"}, .version = (char[]){"2"}};

	(void)state;
	for (size_t cut = 0; cut < sizeof(line); cut++) {
		struct kernel_watch wt = {.begins_with = "Starting kernel", .loader = "U-Boot "};
		auto_waiter struct waiter *w = waiter_new(NULL);
		struct port *port = NULL;
		struct err e = {0};
		int fds[2];

		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
		assert_int_equal(port_open_fd(w, fds[0], on_console, NULL, &port, &e), 0);
		assert_int_equal(kernel_watch_begin(&wt, w, port, &e), 0);
		assert_int_equal(write(fds[1], line, cut), cut);
		assert_int_equal(waiter_sleep(w, NSEC_PER_MSEC, &e), 0);
		kernel_watch_started(&wt);
		assert_int_equal(write(fds[1], line + cut, sizeof(line) - 1 - cut),
				 sizeof(line) - 1 - cut);
		assert_int_equal(kernel_watch_await(&wt, &build, NULL, NULL,
						    waiter_now(w) + 10 * NSEC_PER_MSEC, &e),
				 -ETIMEDOUT);
		assert_contains(e.text, "the kernel hangs: not a word in ");
		kernel_watch_end(&wt);
		port_close(port);
		(void)close(fds[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_loaders_last_line_is_not_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
