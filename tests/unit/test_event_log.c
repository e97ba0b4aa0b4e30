/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
#include "base/crc32c.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "trial/event_log.h"
#include "unit.h"

static void on_event(void *self, const struct console_event *ev)
{
	event_log_add(self, ev);
}

static void feed(struct event_log *log, const char *text)
{
	struct console_parser *p = console_parser_new(on_event, log);

	console_parser_use_load(p, log->load);
	console_parser_feed(p, text, strlen(text), 0);
	console_parser_finish(p);
	console_parser_free(p);
}

/* `n` lines of 80 characters from 5.0 s on, and a delay of 400 ms that was due then. */
static void make_burst(struct strbuf *sb, unsigned n)
{
	static const char delay[] =
		"DELAY: 400 cpu=0 probe=normal seq=1 us=400000 due_ns=5000000000 live=0";

	strbuf_adds(sb, "[    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP Debian\r\n");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(sb, "[    5.%06u] %-63s\r\n", i * 100, "blk_update_request");
	strbuf_addf(sb, "[    5.410000] %s crc=%08x\r\n", delay,
		    (unsigned)crc32c(delay, strlen(delay)));
}

static void test_a_delay_under_a_burst_of_text_may_be_printing(void **state)
{
	/* at 11520 bytes a second 200 ms of the 400 ms are 2304 bytes, or 28 lines */
	static const struct {
		int64_t baud;
		unsigned lines;
		bool is_printing;
	} cases[] = {{115200, 40, true}, {115200, 10, false}, {0, 40, false}, {4000000, 40, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf text = STRBUF_INIT;
		const struct seen_event *row;
		struct event_log log;

		event_log_init(&log, cases[i].baud);
		make_burst(&text, cases[i].lines);
		feed(&log, strbuf_str(&text));
		row = event_log_find(&log, 0, CONSOLE_DELAY);
		assert_non_null(row);
		if (row->is_printing != cases[i].is_printing)
			fail_msg("%u lines at %lld baud", cases[i].lines, (long long)cases[i].baud);
		event_log_release(&log);
	}
}

static void test_a_waived_incident_is_no_crash_and_neither_are_its_details(void **state)
{
	static const char oops[] =
		"[    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP Debian\r\n"
		"[   12.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\r\n"
		"[   12.000001] Oops: 0002 [#1] PREEMPT SMP PTI\r\n"
		"[   12.000002] RIP: 0010:usb_disconnect+0x2b/0x2c0\r\n";
	static const char bug[] =
		"[   13.000000] BUG: scheduling while atomic: kworker/0:1/14/0x00000002\r\n";
	const struct console_waiver waiver = {
		.cls = CONSOLE_OOPS, .pattern = "*NULL pointer*", .reason = "known"};
	auto_free char *both = xasprintf("%s%s", oops, bug);
	const struct seen_event *row;
	struct event_log log;

	(void)state;
	event_log_init(&log, 0);
	feed(&log, oops);
	assert_non_null(event_log_find_crash(&log, 0));
	log.waivers = &waiver;
	log.n_waivers = 1;
	assert_null(event_log_find_crash(&log, 0));
	event_log_release(&log);

	event_log_init(&log, 0);
	log.waivers = &waiver;
	log.n_waivers = 1;
	feed(&log, both);
	row = event_log_find_crash(&log, 0);
	assert_non_null(row);
	assert_int_equal(row->ev.cls, CONSOLE_BUG);
	event_log_release(&log);
}

static void test_a_damaged_message_cannot_be_waived(void **state)
{
	const struct console_waiver waiver = {
		.cls = CONSOLE_SOFT_LOCKUP, .pattern = "*", .reason = "known"};
	struct event_log log;

	(void)state;
	event_log_init(&log, 0);
	log.waivers = &waiver;
	log.n_waivers = 1;
	feed(&log, "[   12.000000] BUG: soft lockup - CPU#0 stuck for 22s! [dd:3]\r\n");
	assert_null(event_log_find_crash(&log, 0));
	feed(&log, "[   12.000000] BUG: sft lockup - CPU#0 stuck for 22s! [dd:3]\r\n");
	assert_non_null(event_log_find_crash(&log, 0));
	event_log_release(&log);
}

#define SEED 20

/* A trial's indexes are taken between chunks; a later parser may tell more events or fewer. */
static void test_a_place_is_found_again_by_another_parser(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, SEED);
	print_message("seed %d\n", SEED);
	for (unsigned round = 0; round < 200; round++) {
		const struct console_event ev = {.cls = CONSOLE_MARK, .text = "", .title = ""};
		unsigned chunks = 1 + (unsigned)rng_below(&rng, 30);
		struct event_log old, new;
		size_t old_at[31] = {0}, new_at[31] = {0};

		event_log_init(&old, 0);
		event_log_init(&new, 0);
		for (unsigned i = 1; i <= chunks; i++) {
			unsigned n_old = (unsigned)rng_below(&rng, 4);
			/* each tells at least one event of each chunk in which the other does */
			unsigned n_new = n_old ? 1 + (unsigned)rng_below(&rng, 4) : 0;

			old.bytes += 1 + (int64_t)rng_below(&rng, 100);
			new.bytes = old.bytes;
			for (unsigned k = 0; k < n_old; k++)
				event_log_add(&old, &ev);
			for (unsigned k = 0; k < n_new; k++)
				event_log_add(&new, &ev);
			old_at[i] = old.n;
			new_at[i] = new.n;
		}
		old.bytes = new.bytes = EVENT_LOG_ENDED;
		event_log_add(&old, &ev);
		event_log_add(&new, &ev);
		for (unsigned i = 0; i <= chunks; i++) {
			int64_t place = event_log_place(&old, old_at[i]);

			assert_int_equal(event_log_index(&old, place), old_at[i]);
			assert_int_equal(event_log_index(&new, place), new_at[i]);
		}
		assert_int_equal(event_log_place(&old, old.n + 5), EVENT_LOG_ENDED);
		assert_int_equal(event_log_index(&new, EVENT_LOG_ENDED), new.n);
		event_log_release(&old);
		event_log_release(&new);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_delay_under_a_burst_of_text_may_be_printing),
		cmocka_unit_test(test_a_waived_incident_is_no_crash_and_neither_are_its_details),
		cmocka_unit_test(test_a_damaged_message_cannot_be_waived),
		cmocka_unit_test(test_a_place_is_found_again_by_another_parser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
