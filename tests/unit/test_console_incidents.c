/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_incidents.c - grouping of events. */
#include "base/strbuf.h"
#include "console/incidents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct console_incidents is;

static void add(void *self, const struct console_event *ev)
{
	console_incidents_add(self, ev);
}

static void parse(const char *text)
{
	struct console_parser *p = console_parser_new(add, &is);

	console_incidents_init(&is);
	console_parser_feed(p, text, strlen(text), 0);
	console_parser_finish(p);
	console_parser_free(p);
}

#define LOCKUP(t, pool, s)                                         \
	"[  " t ".000000] BUG: workqueue lockup - pool cpus=" pool \
	" node=0 flags=0x0 nice=0 stuck "                          \
	"for " s "s!\n"

static void test_a_lockup_reported_three_times_is_one_incident(void **state)
{
	(void)state;
	parse(LOCKUP("100", "0", "31") LOCKUP("131", "0", "62") LOCKUP("161", "0", "92"));

	assert_int_equal(is.n, 1);
	assert_int_equal(is.rows[0].count, 3);
	assert_int_equal(is.rows[0].worst_s, 92);
	assert_int_equal(is.rows[0].t_first_us, 100000000);
	assert_int_equal(is.rows[0].t_last_us, 161000000);
	assert_string_equal(is.rows[0].title, "cpus=0 node=0 flags=0x0 nice=0");
	assert_int_equal(console_incidents_worst(&is), CONSOLE_STALL);
}

static void test_another_pool_or_boot_is_another_incident(void **state)
{
	(void)state;
	parse("[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n" LOCKUP("100", "0", "31") LOCKUP(
		"131", "1",
		"62") "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n" LOCKUP("100", "0",
										       "31"));

	assert_int_equal(is.n, 4); /* three lockups and the reboot */
	assert_int_equal(is.rows[3].boot, 2);
}

static void test_a_crash_gets_its_place_from_the_detail(void **state)
{
	(void)state;
	parse("[    5.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n"
	      "[    5.000002] Oops: 0000 [#1] PREEMPT SMP PTI\n"
	      "[    5.000003] RIP: 0010:hub_event+0x2b/0x2c0 [usbcore]\n"
	      "[    5.000007] Kernel panic - not syncing: Fatal exception\n"
	      "[    5.000008] ---[ end Kernel panic - not syncing: Fatal exception ]---\n");

	assert_int_equal(is.n, 2);
	assert_int_equal(is.rows[0].cls, CONSOLE_OOPS);
	assert_string_equal(is.rows[0].place, "hub_event");
	assert_int_equal(is.rows[0].count, 1);
	assert_int_equal(is.rows[1].cls, CONSOLE_PANIC);
	assert_int_equal(console_incidents_worst(&is), CONSOLE_FATAL);
}

static void test_suspect_events_are_kept_apart_and_decide_nothing(void **state)
{
	(void)state;
	parse("[  100.000000] BG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 9s!\n");

	assert_int_equal(is.n, 1);
	assert_int_equal(is.rows[0].count, 0);
	assert_int_equal(is.rows[0].suspects, 1);
	assert_int_equal(console_incidents_worst(&is), CONSOLE_INFO);
}

static void test_dropped_messages_add_up(void **state)
{
	(void)state;
	parse("** 3 printk messages dropped **\n** 4 printk messages dropped **\n");
	assert_int_equal(is.n, 1);
	assert_int_equal(is.rows[0].count, 2);
	assert_int_equal(is.rows[0].total, 7);
}

static void test_beyond_the_limit_events_are_counted_as_overflow(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < CONSOLE_INCIDENTS_MAX + 3; i++)
		strbuf_addf(&sb, "[    5.000000] BUG: number %d\n", i);
	parse(strbuf_str(&sb));
	assert_int_equal(is.n, CONSOLE_INCIDENTS_MAX);
	assert_int_equal(is.overflow, 3);
}

static void test_delays_and_new_devices_are_no_incidents(void **state)
{
	(void)state;
	parse("[    5.000000] DELAY: 6782\n"
	      "[    5.000000] usb 2-1: new SuperSpeed USB device number 3 using xhci_hcd\n");
	assert_int_equal(is.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lockup_reported_three_times_is_one_incident),
		cmocka_unit_test(test_another_pool_or_boot_is_another_incident),
		cmocka_unit_test(test_a_crash_gets_its_place_from_the_detail),
		cmocka_unit_test(test_suspect_events_are_kept_apart_and_decide_nothing),
		cmocka_unit_test(test_dropped_messages_add_up),
		cmocka_unit_test(test_beyond_the_limit_events_are_counted_as_overflow),
		cmocka_unit_test(test_delays_and_new_devices_are_no_incidents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
