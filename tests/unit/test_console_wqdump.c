/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_wqdump.c - dumps of several kernel generations, whole, in pieces and too large. */
#include "base/rng.h"
#include "console/wqdump.h"
#include "console_util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct dumps {
	size_t n;
	unsigned boot;
	struct wqdump last;
};

static struct dumps dumps;
static struct events es;

static void on_dump(void *self, const struct wqdump *dump, unsigned boot)
{
	struct dumps *ds = self;

	ds->n++;
	ds->boot = boot;
	ds->last = *dump;
}

static void parse(const char *text, size_t piece)
{
	struct console_parser *p = console_parser_new(events_add, &es);
	size_t n = strlen(text);

	events_reset(&es);
	dumps.n = 0;
	console_parser_on_dump(p, on_dump, &dumps);
	for (size_t at = 0; at < n; at += piece)
		console_parser_feed(p, text + at, n - at < piece ? n - at : piece, 0);
	console_parser_finish(p);
	console_parser_free(p);
}

static const char dump_5_10[] =
	"[ 1000.000000] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 72s!\n"
	"[ 1000.000010] Showing busy workqueues and worker pools:\n"
	"[ 1000.000020] workqueue events: flags=0x0\n"
	"[ 1000.000030]   pwq 0: cpus=0 node=0 flags=0x0 nice=0 active=4/256 refcnt=5\n"
	"[ 1000.000040]     in-flight: 3760137:psi_avgs_work\n"
	"[ 1000.000050]     pending: psi_avgs_work, psi_avgs_work, vmstat_shepherd\n"
	"[ 1000.000060] workqueue kblockd: flags=0x18\n"
	"[ 1000.000070]   pwq 1: cpus=0 node=0 flags=0x0 nice=-20 active=1/256 refcnt=2 MAYDAY\n"
	"[ 1000.000080]     in-flight: 77(RESCUER):blk_mq_run_work_fn\n"
	"[ 1000.000090]     delayed: blk_mq_requeue_work, BAR(412)\n"
	"[ 1000.000100] pool 0: cpus=0 node=0 flags=0x0 nice=0 hung=72s workers=3 manager: 5 idle: 19 "
	"7\n";

static void test_a_dump_of_5_10_is_read_in_whole(void **state)
{
	const struct wqdump *d = &dumps.last;

	(void)state;
	parse(dump_5_10, sizeof(dump_5_10));

	assert_int_equal(dumps.n, 1);
	assert_int_equal(d->n_pwqs, 2);
	assert_string_equal(d->pwqs[0].wq, "events");
	assert_string_equal(d->pwqs[0].attrs.cpus, "0");
	assert_int_equal(d->pwqs[0].active, 4);
	assert_int_equal(d->pwqs[0].max_active, 256);
	assert_int_equal(d->pwqs[0].refcnt, 5);
	assert_int_equal(d->pwqs[0].in_flight, 1);
	assert_int_equal(d->pwqs[0].pending, 3);
	assert_int_equal(d->pwqs[1].wq_flags, 0x18);
	assert_int_equal(d->pwqs[1].attrs.nice, -20);
	assert_true(d->pwqs[1].is_mayday);
	assert_int_equal(d->pwqs[1].inactive, 2);
	assert_int_equal(d->n_works, 7);
	assert_int_equal(d->works[0].pid, 3760137);
	assert_true(d->works[4].is_rescuer);
	assert_string_equal(d->works[6].func, "BAR");
	assert_int_equal(d->works[6].pid, 412);
	assert_int_equal(d->n_pools, 1);
	assert_int_equal(d->pools[0].hung_s, 72);
	assert_int_equal(d->pools[0].workers, 3);
	assert_int_equal(d->pools[0].manager, 5);
	assert_int_equal(d->pools[0].idle, 2);
	assert_string_equal(wqdump_culprit(d, 0)->func, "psi_avgs_work");
	assert_false(d->is_truncated);
}

static void test_the_collapsed_form_of_6_12_counts_as_the_long_one(void **state)
{
	const struct wqdump *d = &dumps.last;

	(void)state;
	parse("[   10.000000][    C0] Showing busy workqueues and worker pools:\n"
	      "[   10.000001][    C0] workqueue events: flags=0x100\n"
	      "[   10.000002][    C0]   pwq 2: cpus=0 node=0 flags=0x0 nice=0 active=17 refcnt=18\n"
	      "[   10.000003][    C0]     in-flight: 11:hub_event [usbcore] ,57:wb_workfn\n"
	      "[   10.000004][    C0]     pending: 15*psi_avgs_work, 2*free_work [foo]\n"
	      "[   10.000005][    C0] workqueue events_bh: flags=0x1\n"
	      "[   10.000006][    C0]   pwq 0: cpus=0 node=0 flags=0x1 bh active=1 refcnt=2\n"
	      "[   10.000007][    C0] pool 2: cpus=0 node=0 flags=0x2 nice=0 hung=0s workers=2 idle: 9 "
	      "bh\n",
	      7);

	assert_int_equal(d->n_pwqs, 2);
	assert_int_equal(d->pwqs[0].max_active, -1);
	assert_int_equal(d->pwqs[0].in_flight, 2);
	assert_int_equal(d->pwqs[0].pending, 17);
	assert_string_equal(d->works[0].func, "hub_event [usbcore]");
	assert_int_equal(d->works[1].pid, 57);
	assert_int_equal(d->works[2].count, 15);
	assert_string_equal(d->works[3].func, "free_work [foo]");
	assert_true(d->pwqs[1].attrs.is_bh);
	assert_int_equal(d->pools[0].idle, 2);
}

static void test_the_times_and_stacks_of_7_0_are_kept(void **state)
{
	const struct wqdump *d = &dumps.last;

	(void)state;
	parse("[   99.000000] Showing busy workqueues and worker pools:\n"
	      "[   99.000001] workqueue events: flags=0x100\n"
	      "[   99.000002]   pwq 6: cpus=1 node=0 flags=0x0 nice=0 active=2 refcnt=3\n"
	      "[   99.000003]     in-flight: 30:vmstat_update for 1s ,31:stall_work [wq_stall] for 41s\n"
	      "[   99.000004] pool 6: cpus=1 node=0 flags=0x0 nice=0 hung=41s workers=3 idle: 12\n"
	      "[   99.000005] Showing backtraces of busy workers in stalled worker pools:\n"
	      "[   99.000006] pool 6:\n"
	      "[   99.000007] task:kworker/1:1     state:R  running task     stack:0     pid:31    "
	      "tgid:31    ppid:2      flags:0x00004000\n"
	      "[   99.000008] Workqueue: events stall_work [wq_stall]\n"
	      "[   99.000009] Call Trace:\n"
	      "[   99.000010]  <TASK>\n"
	      "[   99.000011]  ? __schedule+0x1/0x2\n"
	      "[   99.000012]  stall_work+0x18/0x40 [wq_stall]\n"
	      "[   99.000013]  process_one_work+0x1a2/0x360\n"
	      "[   99.000014]  </TASK>\n",
	      4096);

	assert_int_equal(d->works[1].seconds, 41);
	assert_string_equal(wqdump_culprit(d, 6)->func, "stall_work [wq_stall]");
	assert_int_equal(d->n_pools, 1);
	assert_int_equal(d->n_traces, 1);
	assert_int_equal(d->traces[0].pool, 6);
	assert_string_equal(d->traces[0].comm, "kworker/1:1");
	assert_int_equal(d->traces[0].pid, 31);
	assert_int_equal(d->traces[0].n_frames, 2);
	assert_string_equal(d->traces[0].frames[0], "stall_work");
}

static void test_pieces_printed_apart_are_put_together(void **state)
{
	const struct wqdump *d = &dumps.last;

	(void)state;
	parse("[   10.000000] Showing busy workqueues and worker pools:\n"
	      "[   10.000001] workqueue usb_hub_wq: flags=0x4\n"
	      "[   10.000002]   pwq 2:\n"
	      "[   10.000003] usb 1-1: USB disconnect, device number 4\n"
	      "[   10.000004]  cpus=0 node=0 flags=0x0 nice=0\n"
	      "[   10.000005]  active=1/256 refcnt=2\n"
	      "[   10.000006]     in-flight:\n"
	      "[   10.000007]  11:hub_event\n"
	      "[   10.000008] pool 2: cpus=0 node=0\n"
	      "[   10.000009]  flags=0x0 nice=0 hung=3s workers=2 idle: 9\n",
	      3);

	assert_int_equal(es.n, 1);
	assert_int_equal(d->pwqs[0].active, 1);
	assert_string_equal(d->pwqs[0].attrs.cpus, "0");
	assert_int_equal(d->pwqs[0].in_flight, 1);
	assert_int_equal(d->works[0].pid, 11);
	assert_int_equal(d->pools[0].hung_s, 3);
}

static void test_a_dump_of_4_18_has_no_refcnt_and_an_unbound_pool_no_node(void **state)
{
	const struct wqdump *d = &dumps.last;

	(void)state;
	parse("[  752.907614] Showing busy workqueues and worker pools:\n"
	      "[  752.914000] workqueue writeback: flags=0x4e\n"
	      "[  752.914132]   pwq 8: cpus=0-3 flags=0x4 nice=0 active=3/256\n"
	      "[  752.914135]     in-flight: 11518:wb_workfn, 1705:wb_workfn\n",
	      4096);

	assert_int_equal(d->pwqs[0].refcnt, -1);
	assert_int_equal(d->pwqs[0].attrs.node, -1);
	assert_string_equal(d->pwqs[0].attrs.cpus, "0-3");
	assert_int_equal(d->pwqs[0].in_flight, 2);
}

static void test_two_dumps_are_two_even_without_a_gap(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	strbuf_adds(&sb, dump_5_10);
	strbuf_adds(&sb, dump_5_10);
	parse(strbuf_str(&sb), sb.len);
	assert_int_equal(dumps.n, 2);
	assert_int_equal(dumps.last.n_pwqs, 2);
}

static void test_a_dump_that_is_too_large_is_cut_and_says_so(void **state)
{
	static struct wqdump d;
	char line[256];

	(void)state;
	wqdump_init(&d);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(line, sizeof(line), "  pwq %d: cpus=0 active=1/1 refcnt=1", i);
		assert_true(wqdump_line(&d, line, strlen(line)));
		for (int k = 0; k < 5; k++)
			assert_true(wqdump_line(&d, "    pending: a, b", 17));
		(void)snprintf(line, sizeof(line), "pool %d: cpus=0 hung=0s workers=1", i);
		assert_true(wqdump_line(&d, line, strlen(line)));
	}
	assert_int_equal(d.n_pwqs, WQDUMP_PWQS_MAX);
	assert_int_equal(d.n_pools, WQDUMP_POOLS_MAX);
	assert_int_equal(d.n_works, WQDUMP_WORKS_MAX);
	assert_true(d.is_truncated);
}

static void test_random_bytes_in_dump_lines_do_no_harm(void **state)
{
	static struct wqdump d;
	static const char letters[] = "pwq ool:in-flight,pending* 0123456789()[]BARcpus=hungs";
	struct rng r;

	(void)state;
	rng_init(&r, 7);
	for (int i = 0; i < 20000; i++) {
		char line[128];
		size_t len = (size_t)rng_below(&r, sizeof(line));

		if (i % 50 == 0)
			wqdump_init(&d);
		for (size_t k = 0; k < len; k++)
			line[k] = letters[rng_below(&r, sizeof(letters) - 1)];
		if (len > 8 && rng_below(&r, 2))
			memcpy(line, "  pwq 1:", 8);
		(void)wqdump_line(&d, line, len);
		assert_true(d.n_works <= WQDUMP_WORKS_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_dump_of_5_10_is_read_in_whole),
		cmocka_unit_test(test_the_collapsed_form_of_6_12_counts_as_the_long_one),
		cmocka_unit_test(test_the_times_and_stacks_of_7_0_are_kept),
		cmocka_unit_test(test_pieces_printed_apart_are_put_together),
		cmocka_unit_test(test_a_dump_of_4_18_has_no_refcnt_and_an_unbound_pool_no_node),
		cmocka_unit_test(test_two_dumps_are_two_even_without_a_gap),
		cmocka_unit_test(test_a_dump_that_is_too_large_is_cut_and_says_so),
		cmocka_unit_test(test_random_bytes_in_dump_lines_do_no_harm),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	strbuf_release(&es.digest);
	return r;
}
