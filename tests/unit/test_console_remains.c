/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
#include "../../controller/console/remains.h"
#include "console/catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool is_grave(const char *text)
{
	return remains_are_grave(text, strlen(text));
}

static void test_damaged_beginnings_are_grave(void **state)
{
	static const char *const texts[] = {
		"BUG: soft lockup - CPU#0 stuck for 22s!",
		"UG: sft lockp - CPU#0 stuck",
		"G: soft lockup - CPU#0",
		"BBUG: soft lockup - CPU#0",
		"BUG: ",
		"INFO: trot@target:~# ls",
		"IFO: tsk kworker/1:0:19 blked",
		"NFO: task dd:3",
		"rcu: IFO: rcu_preempt",
		"Kernl paic - not syncing",
		"Krnel pnic - nt syncin: x",
		"watchdog: BG: soft locup - CPU#1",
		"Unable to hndle krnel paging request",
		"WARNING: CP: 1 PID: 3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(remains_may_begin(texts[i], strlen(texts[i])));
		if (!is_grave(texts[i]))
			fail_msg("'%s'", texts[i]);
	}
}

static void test_healthy_beginnings_are_not(void **state)
{
	static const char *const texts[] = {
		"",
		"B",
		"IN",
		"BERT: Boot Error Record Table support is disabled.",
		"BIOS-provided physical RAM map:",
		"BTRFS info (device sda1): first mount",
		"INFO: NMI handler (perf_event_nmi_handler) took too long to run: 5.2 msecs",
		"INFO: lockdep is turned off.",
		"Initmem setup node 0",
		"Kernel command line: console=ttyS0 panic=-1",
		"Kernel/User page tables isolation: enabled",
		"Key type dns_resolver registered",
		"NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
		"watchdog: Delayed init of the lockup detector failed: -19",
		"rcu: Hierarchical RCU implementation.",
		"rcu: \tRCU restricting CPUs from NR_CPUS=8192 to nr_cpu_ids=2.",
		"Unpacking initramfs...",
		"Internal clock: 24 MHz",
		"generic-usb 0003:046D:C016.0001: input",
		"kernel profiling enabled",
		"Warning: unable to open an initial console.",
		"IPI shorthand broadcast: enabled",
		"input: AT Translated Set 2 keyboard",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_grave(texts[i]))
			fail_msg("'%s'", texts[i]);
}

/* Each piece must be one of a grave message; an invented one would cost time and find nothing. */
static void test_each_piece_is_of_a_grave_message(void **state)
{
	(void)state;
	for (size_t i = 0; remains_pieces[i]; i++) {
		bool is_there = false;

		for (size_t k = 0; k < console_rule_count() && !is_there; k++) {
			const struct console_rule *rule = console_rule(k);

			is_there = console_class_severity(rule->cls) >= CONSOLE_STALL &&
				   strstr(rule->example, remains_pieces[i]);
		}
		if (!is_there)
			fail_msg("'%s'", remains_pieces[i]);
		assert_true(remains_have_piece(remains_pieces[i], strlen(remains_pieces[i])));
	}
	assert_false(remains_have_piece("usb 2-1: USB disconnect, device number 2", 40));
}

/* Any text, any length: the band of the comparison stays inside its arrays (run under ASan). */
static void test_every_length_is_safe(void **state)
{
	char text[128];

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		memset(text, 'N', sizeof(text));
		memcpy(text, "NMI watchdog: Watchdog dtected had LOCKUP on cpu 1",
		       len < 50 ? len : 50);
		(void)remains_are_grave(text, len);
		memset(text, 'B', len);
		(void)remains_are_grave(text, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged_beginnings_are_grave),
		cmocka_unit_test(test_healthy_beginnings_are_not),
		cmocka_unit_test(test_each_piece_is_of_a_grave_message),
		cmocka_unit_test(test_every_length_is_safe),
	};

	remains_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
