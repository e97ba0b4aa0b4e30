/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
#include "../../controller/console/remains.h"
#include "base/rng.h"
#include "console/catalog.h"

#include <inttypes.h>
#include <limits.h>
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

/* The whole table of distances, and the least one to a beginning of the text. */
static unsigned least_distance(const char *head, size_t head_len, const char *text, size_t len)
{
	unsigned rows[64][128];
	unsigned least = UINT_MAX;

	for (size_t i = 0; i <= head_len; i++) {
		for (size_t j = 0; j <= len; j++) {
			unsigned d = (unsigned)(i + j);

			if (i > 0 && j > 0) {
				d = rows[i - 1][j - 1] + (head[i - 1] != text[j - 1]);
				d = rows[i - 1][j] + 1 < d ? rows[i - 1][j] + 1 : d;
				d = rows[i][j - 1] + 1 < d ? rows[i][j - 1] + 1 : d;
			}
			rows[i][j] = d;
			if (i == head_len && d < least)
				least = d;
		}
	}
	return least;
}

static void test_nearness_is_that_of_the_whole_table(void **state)
{
	uint64_t seed = 21;
	size_t n_near = 0;
	size_t n = 0;
	struct rng r;

	(void)state;
	rng_init(&r, seed);
	for (size_t i = 0; remains_head(i); i++) {
		const struct remains_head *head = remains_head(i);

		assert_true(head->len > 0 && head->len <= strlen(head->text));
		for (int round = 0; round < 2000; round++) {
			char text[100] = {0};
			size_t len = strlen(head->text);
			uint64_t edits = rng_below(&r, 2 * head->limit + 3);
			bool is_near;

			memcpy(text, head->text, len);
			while (len < 60)
				text[len++] = " :-abBU\xff"[rng_below(&r, 8)];
			while (edits-- > 0) {
				size_t at = (size_t)rng_below(&r, head->len);
				uint64_t kind = rng_below(&r, 3);

				if (kind == 0)
					memmove(text + at, text + at + 1, len-- - at);
				else if (kind == 1)
					memmove(text + at + 1, text + at, len++ - at);
				if (kind > 0)
					text[at] = (char)rng_below(&r, 256);
			}
			if (rng_below(&r, 4) == 0)
				len = (size_t)rng_below(&r, len);
			is_near = least_distance(head->text, head->len, text, len) <= head->limit;
			if (remains_are_near(head, text, len) != is_near)
				fail_msg("seed %" PRIu64 ": '%s', '%.*s'", seed, head->text,
					 (int)len, text);
			n_near += is_near;
			n++;
		}
	}
	assert_true(n_near > n / 10 && n_near < n - n / 10);
}

/* Any text, any length (run under ASan). */
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
		cmocka_unit_test(test_nearness_is_that_of_the_whole_table),
		cmocka_unit_test(test_every_length_is_safe),
	};

	remains_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
