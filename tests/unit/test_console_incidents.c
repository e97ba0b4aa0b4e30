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

#define JIFFIES_250                                                                      \
	"[    0.004000] clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, " \
	"max_idle_ns: 7645041785100000 ns\n"
#define HEAD "[  100.000000] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
#define LENGTH(n) \
	"[  100.000002] rcu: \t(detected by 2, t=" n " jiffies, g=180145, q=3621 ncpus=4)\n"

/* Of the first incident. */
static void test_an_rcu_stall_has_the_length_that_its_dump_says(void **state)
{
	static const struct {
		const char *text;
		int64_t jiffies;
		int64_t seconds;
	} cases[] = {
		{HEAD, CONSOLE_UNKNOWN, CONSOLE_UNKNOWN},
		{HEAD LENGTH("5252"), 5252, CONSOLE_UNKNOWN},
		{JIFFIES_250 HEAD LENGTH("5252"), 5252, 21},
		{JIFFIES_250 HEAD LENGTH("5252") HEAD LENGTH("21005") HEAD LENGTH("3"), 21005, 84},
		/* a head of another kind between */
		{JIFFIES_250 HEAD LENGTH("5252") LOCKUP("131", "0", "62") LENGTH("5300"), 5300, 21},
		/* another RCU's stall is another incident */
		{HEAD LENGTH("5252") "[  101.000000] INFO: rcu_sched self-detected stall on CPU\n"
				     "[  101.000001] \t(t=9000 jiffies g=1301 q=27)\n",
		 5252, CONSOLE_UNKNOWN},
		{"[  101.000000] INFO: rcu_sched self-detected stall on CPU\n"
		 "[  101.000001] \t(t=9000 jiffies g=1301 q=27)\n",
		 9000, CONSOLE_UNKNOWN},
		{JIFFIES_250 "[  270.262889] INFO: rcu_sched self-detected stall on CPU { 3}  "
			     "(t=6000 jiffies g=4294967200 c=4294967199 q=21)\n",
		 6000, 24},
		{JIFFIES_250 "[  270.262889] INFO: rcu_sched detected stalls on CPUs/tasks: { 1} "
			     "(detected by 0, t=5252 jiffies, g=180145, c=180144, q=3621)\n",
		 5252, 21},
		{"[  601.118171] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: "
		 "{ 1-...D } 26 jiffies s: 517 root: 0x2/.\n",
		 26, CONSOLE_UNKNOWN},
		{"[  601.118171] rcu: rcu_sched kthread starved for 5250 jiffies! g1 f0x0\n", 5250,
		 CONSOLE_UNKNOWN},
		/* a boot whose HZ nobody said */
		{JIFFIES_250
		 "[  100.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n" HEAD LENGTH("5252"),
		 5252, 21},
		{"[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n" JIFFIES_250
		 "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n" HEAD LENGTH("5252"),
		 5252, CONSOLE_UNKNOWN},
		/* a number that lost its end, and one that is no number */
		{"[    0.004000] clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, "
		 "max_idle_ns: 76450417 ns\n" HEAD LENGTH("5252"),
		 5252, CONSOLE_UNKNOWN},
		{JIFFIES_250 HEAD LENGTH("-7"), CONSOLE_UNKNOWN, CONSOLE_UNKNOWN},
		{JIFFIES_250 HEAD LENGTH("x"), CONSOLE_UNKNOWN, CONSOLE_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct console_incident *in = NULL;

		parse(cases[i].text);
		for (size_t k = 0; k < is.n && !in; k++)
			in = is.rows[k].cls == CONSOLE_RCU_STALL ? &is.rows[k] : NULL;
		assert_non_null(in);
		if (in->worst_jiffies != cases[i].jiffies || in->worst_s != cases[i].seconds)
			fail_msg("%s: %lld jiffies, %lld s", cases[i].text,
				 (long long)in->worst_jiffies, (long long)in->worst_s);
	}
}

static void test_each_hz_is_known_by_its_clock_source(void **state)
{
	static const struct {
		const char *max_idle_ns;
		int64_t hz;
	} cases[] = {
		{"19112604462750000", 100}, {"14931722236523437", 128}, {"7645041785100000", 250},
		{"7465861118261718", 256},  {"6370867518981015", 300},  {"1911260446275000", 1000},
		{"1866465279565429", 1024}, {"7645519600211568", 250},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;

		strbuf_addf(&sb,
			    "[    0.004000] clocksource: jiffies: mask: 0xffffffff max_cycles: "
			    "0xffffffff, max_idle_ns: %s ns\n" HEAD
			    "[  100.000002] \t(t=%lld jiffies g=1 q=2)\n",
			    cases[i].max_idle_ns, (long long)cases[i].hz * 17);
		parse(strbuf_str(&sb));
		assert_int_equal(is.n, 1);
		assert_int_equal(is.rows[0].worst_s, 17);
	}
}

/* A length alone is no stall: its head may be in a part of the log that is not there. */
static void test_a_length_without_a_head_is_no_incident(void **state)
{
	(void)state;
	parse(JIFFIES_250 LENGTH("5252"));
	assert_int_equal(is.n, 0);
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
		cmocka_unit_test(test_an_rcu_stall_has_the_length_that_its_dump_says),
		cmocka_unit_test(test_each_hz_is_known_by_its_clock_source),
		cmocka_unit_test(test_a_length_without_a_head_is_no_incident),
		cmocka_unit_test(test_suspect_events_are_kept_apart_and_decide_nothing),
		cmocka_unit_test(test_dropped_messages_add_up),
		cmocka_unit_test(test_beyond_the_limit_events_are_counted_as_overflow),
		cmocka_unit_test(test_delays_and_new_devices_are_no_incidents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
