/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_parser.c - lines, records, events, boots and integrity. */
#include "base/crc32c.h"
#include "base/rng.h"
#include "console_util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct events es;

/* Appends a DELAY line as the module prints it. */
static void add_delay(struct strbuf *sb, double t, int ms, int seq)
{
	char text[160];

	(void)snprintf(text, sizeof(text),
		       "DELAY: %d cpu=0 probe=queue seq=%d us=%d due_ns=%lld live=0", ms, seq,
		       ms * 1000 + 3, (long long)(t * 1e9) - (long long)ms * 1000000);
	strbuf_addf(sb, "[%12.6f] %s crc=%08x\r\n", t, text, (unsigned)crc32c(text, strlen(text)));
}

static void add_mark(struct strbuf *sb, double t, const char *nonce)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "stallrig-mark %s", nonce);
	strbuf_addf(sb, "[%12.6f] %s crc=%08x\r\n", t, text, (unsigned)crc32c(text, strlen(text)));
}

static void test_the_first_report_gives_a_disconnect_and_a_delay(void **state)
{
	(void)state;
	(void)events_of_text(&es, "[ 1437.517603] DELAY: 10\r\n8388607+1 records in\r\n"
				  "[ 1551.796792] usb 2-1: USB disconnect, device number 2\r\n"
				  "[ 1558.625517] DELAY: 6782\r\n");

	assert_int_equal(es.n, 3);
	assert_int_equal(es.rows[0].ev.cls, CONSOLE_DELAY);
	assert_int_equal(es.rows[0].ev.u.delay.ms, 10);
	assert_int_equal(es.rows[1].ev.cls, CONSOLE_USB_DISCONNECT);
	assert_string_equal(es.rows[1].ev.u.usb.port, "2-1");
	assert_int_equal(es.rows[1].ev.u.usb.devnum, 2);
	assert_int_equal(es.rows[1].ev.t_kernel_us, 1551796792);
	assert_int_equal(es.rows[2].ev.u.delay.ms, 6782);
	assert_true(es.rows[2].ev.u.delay.us == CONSOLE_UNKNOWN);
	assert_false(es.rows[2].ev.is_suspect);
}

static void test_an_extended_delay_gives_all_its_fields(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	add_delay(&sb, 100.5, 445, 1);
	(void)events_of(&es, sb.data, sb.len, 0);

	assert_int_equal(es.n, 1);
	assert_int_equal(es.rows[0].ev.u.delay.ms, 445);
	assert_int_equal(es.rows[0].ev.u.delay.us, 445003);
	assert_int_equal(es.rows[0].ev.u.delay.cpu, 0);
	assert_string_equal(es.rows[0].ev.u.delay.probe, "queue");
	assert_int_equal(es.rows[0].ev.u.delay.seq, 1);
	assert_int_equal(es.rows[0].ev.u.delay.due_ns, 100500000000 - 445000000);
	assert_false(es.rows[0].ev.u.delay.is_live);
	assert_true(es.rows[0].ev.u.delay.has_crc);
	assert_false(es.rows[0].ev.is_suspect);
}

static const struct {
	const char *line;
	bool is_suspect;
} delay_lines[] = {
	{"[ 1558.625517] DELAY: 6782\r\n", false},
	{"[ 1558.625517] DELAY: 6782\n", false},
	{"[ 1558.625517] DELAY: 6782\r\r\n", false},
	{"[ 1558.625517] DELAY: -1\r\n", false},
	{"DELAY: 6782\n", false},
	{"[ 1558.625517] \033[1mDELAY: 6782\033[0m\r\n", false},
	{"[ 1558.625517] DELAY: 6782", true}, /* more digits may be lost */
	{"[ 1558.625517] DELAY: 67", true},
	{"[ 1558.625517] DELAY: \r\n", true},
	{"[ 1558.625517] DELAY: 12345678901234567890\r\n", true},
	{"[ 1558.625517] DELAY: 67a82\r\n", true},
	{"[ 1558.625517] DELAY: 6782[ 1558.700000] usb 1-1: reset\r\n", true},
	{"[ 1558.625517] DELAY: 67\xff"
	 "82\r\n",
	 true},
	{"[ 1558.625517] ELAY: 6782\r\n", true},
	{"[ 1558.625517] DLAY: 6782\r\n", true},
	{"[ 1558.625517] DEAY: 6782\r\n", true},
	{"[ 1558.625517] DELY: 6782\r\n", true},
	{"[ 1558.625517] DELA: 6782\r\n", true},
	{"[ 1558.625517] DELAY 6782\r\n", true},
	{"[ 1558.625517] DELAY:6782\r\n", true},
	{"[ 1558.625517] DELLAY: 6782\r\n", true},
	{"[ 1558.625517] DELAAY: 6782\r\n", true},
	{"[ 1558.62551] DELAY: 6782\r\n", true},
	{"login: DELAY: 6782\r\n", true},
	{"[ 1558.625517] DELAY: 6782 cpu=0 probe=queue seq=4 us=6782003 due_ns=1 live=0 "
	 "crc=00000000\r\n",
	 true},
	{"[ 1558.625517] DELAY: 6782 cpu=0 probe=queue seq=4 us=6782003 due_ns=1 live=0\r\n", true},
	{"[ 1558.625517] cpu=0 probe=queue seq=4 us=6782003 due_ns=1 live=0 crc=00000000\r\n",
	 true},
};

static void test_a_delay_that_may_be_incomplete_is_suspect(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(delay_lines); i++) {
		struct console_integrity in = events_of_text(&es, delay_lines[i].line);

		if (es.n != 1 || es.rows[0].ev.cls != CONSOLE_DELAY ||
		    es.rows[0].ev.is_suspect != delay_lines[i].is_suspect)
			fail_msg("'%s': %zu events\n%s", delay_lines[i].line, es.n,
				 strbuf_str(&es.digest));
		assert_int_equal(in.suspect_lines, delay_lines[i].is_suspect);
	}
}

static const char *const innocent_lines[] = {
	"[    1.000000] DISPLAY: 5\r\n",
	"RELAY: 1 on\r\n",
	"[    1.000000] Kernel command line: softlockup_panic=1 panic=-1 nosoftlockup\r\n",
	"[    1.000000] rcu: RCU event tracing is enabled.\r\n",
	"[    0.100000] rcu: \tRCU restricting CPUs from NR_CPUS=8192 to nr_cpu_ids=2.\r\n",
	"[    1.000000] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.\r\n",
	"[    1.000000] watchdog: Delayed init of the lockup detector failed: -19\r\n",
	"# dmesg | grep -E 'BUG:|WARNING:'\r\n",
	"WARNING: the file system is mounted\r\n",
	"BUG: not a kernel line\r\n",
	"[    5.000000] latency_mon: loading out-of-tree module taints kernel.\r\n",
	("[    1.000000] workqueue: work func foo enqueued on deprecated workqueue. Use "
	 "system_{percpu|dfl}_wq instead.\r\n"),
	"[    1.000000] usb 1-1: New USB device found, idVendor=46f4, idProduct=0001\r\n",
	"[    2.000000] stallrig-agent: ready\r\n",
	"@sr 17 echo hello 8f3a12bc\r\n",
	"U-Boot 2023.01 (Jan 09 2023 - 16:07:33 +0000)\r\n", /* before any kernel */
	"\r\n\r\n\n\n",
	"   \r\n",
};

static void test_a_byte_written_into_a_delay_makes_it_suspect(void **state)
{
	(void)state;
	for (int at = 0; at <= 5; at++) {
		for (int c = ' '; c <= '~'; c++) {
			char line[64];

			(void)snprintf(line, sizeof(line), "[ 1558.625517] %.*s%c%s: 6782\r\n", at,
				       "DELAY", c, &"DELAY"[at]);
			(void)events_of_text(&es, line);
			if (at == 0 && c == ' ')
				continue; /* whole */
			if (es.n != 1 || es.rows[0].ev.cls != CONSOLE_DELAY ||
			    !es.rows[0].ev.is_suspect)
				fail_msg("'%s': %s", line, strbuf_str(&es.digest));
		}
	}
}

static void test_healthy_text_gives_no_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(innocent_lines); i++) {
		struct console_integrity in = events_of_text(&es, innocent_lines[i]);

		if (es.n != 0)
			fail_msg("'%s': %s", innocent_lines[i], strbuf_str(&es.digest));
		assert_int_equal(in.suspect_lines + in.unclassified_dumps + in.broken_stamps, 0);
	}
}

static void test_markers_need_the_right_crc(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	add_mark(&sb, 3.0, "t1-cut-7f3a");
	(void)events_of(&es, sb.data, sb.len, 0);
	assert_int_equal(es.n, 1);
	assert_int_equal(es.rows[0].ev.cls, CONSOLE_MARK);
	assert_string_equal(es.rows[0].ev.u.mark.nonce, "t1-cut-7f3a");
	assert_false(es.rows[0].ev.is_suspect);

	sb.data[sb.len - 3] ^= 1;
	(void)events_of(&es, sb.data, sb.len, 0);
	assert_int_equal(es.n, 1);
	assert_true(es.rows[0].ev.is_suspect);
}

static void test_a_marker_with_a_nonce_of_33_bytes_is_suspect(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	add_mark(&sb, 3.0, "0123456789abcdef0123456789abcdef");
	add_mark(&sb, 3.1, "0123456789abcdef0123456789abcdef0");
	(void)events_of(&es, sb.data, sb.len, 0);

	assert_int_equal(es.n, 2);
	assert_false(es.rows[0].ev.is_suspect);
	assert_true(es.rows[1].ev.is_suspect);
}

static void test_records_glued_on_one_line_are_taken_apart(void **state)
{
	struct console_integrity in;

	(void)state;
	in = events_of_text(&es,
			    "** 1160 printk messages dropped ** [   25.618816]  libcrc32c tunnel4"
			    "[   26.000000] usb 1-1: USB disconnect, device number 3\r\n");

	assert_int_equal(es.n, 2);
	assert_int_equal(es.rows[0].ev.cls, CONSOLE_PRINTK_DROPPED);
	assert_int_equal(es.rows[0].ev.u.lost.count, 1160);
	assert_int_equal(es.rows[1].ev.cls, CONSOLE_USB_DISCONNECT);
	assert_int_equal(es.rows[1].ev.t_kernel_us, 26000000);
	assert_int_equal(es.rows[1].ev.offset, 0);
	assert_int_equal(in.dropped_messages, 1160);
	assert_int_equal(in.records, 2);
	assert_int_equal(in.lines, 1);
}

static void test_a_boot_starts_at_booting_linux_and_its_banner_belongs_to_it(void **state)
{
	(void)state;
	(void)events_of_text(
		&es, "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x411fd070]\r\n"
		     "[    0.000000] Linux version 6.1.0-47-arm64 (a@b) (gcc) #1 SMP Debian\r\n"
		     "[    9.000000] reboot: Restarting system\r\n"
		     "U-Boot 2023.01 (Jan 09 2023 - 16:07:33 +0000)\r\n"
		     "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x411fd070]\r\n"
		     "[    0.000000] Linux version 6.12.117-arm64 (a@b) (gcc) #1 SMP Debian\r\n");

	assert_int_equal(es.n, 5);
	assert_int_equal(es.rows[0].ev.boot, 1);
	assert_string_equal(es.rows[0].ev.u.boot.release, "");
	assert_int_equal(es.rows[1].ev.boot, 1);
	assert_string_equal(es.rows[1].ev.u.boot.release, "6.1.0-47-arm64");
	assert_int_equal(es.rows[2].ev.cls, CONSOLE_REBOOT);
	assert_int_equal(es.rows[3].ev.boot, 2);
	assert_string_equal(es.rows[4].ev.u.boot.release, "6.12.117-arm64");
}

static void test_a_banner_without_notice_is_a_reboot(void **state)
{
	(void)state;
	(void)events_of_text(&es, "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n"
				  "[   20.000000] usb 1-1: USB disconnect, device number 3\r\n"
				  "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n");

	assert_int_equal(events_count(&es, CONSOLE_REBOOT), 1);
	assert_int_equal(events_count(&es, CONSOLE_BOOT), 2);
	assert_int_equal(es.rows[es.n - 1].ev.boot, 2);
}

static void test_a_clock_that_goes_back_twice_is_a_reboot(void **state)
{
	(void)state;
	(void)events_of_text(&es, "[ 2000.000000] one\r\n[    1.000000] two\r\n"
				  "[    1.100000] three\r\n[    1.200000] sched: RT throttling "
				  "activated\r\n");
	assert_int_equal(events_count(&es, CONSOLE_REBOOT), 1);
	assert_int_equal(events_first(&es, CONSOLE_RT_THROTTLED)->boot, 1);

	(void)events_of_text(&es, "[ 2000.000000] one\r\n[    1.000000] two\r\n"
				  "[ 2000.100000] three\r\n[ 1996.200000] four\r\n");
	assert_int_equal(es.n, 0);
}

static void test_records_replayed_after_the_boot_console_are_told_once(void **state)
{
	(void)state;
	(void)events_of_text(&es,
			     "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n"
			     "[    0.500000] WARNING: CPU: 0 PID: 1 at kernel/a.c:1 f+0x1/0x2\r\n"
			     "[    7.000000] printk: console [ttyS0] enabled\r\n"
			     "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n"
			     "[    0.500000] WARNING: CPU: 0 PID: 1 at kernel/a.c:1 f+0x1/0x2\r\n"
			     "[    7.000000] printk: console [ttyS0] enabled\r\n"
			     "[    7.100000] usb 1-1: USB disconnect, device number 3\r\n");

	assert_int_equal(events_count(&es, CONSOLE_BOOT), 1);
	assert_int_equal(events_count(&es, CONSOLE_REBOOT), 0);
	assert_int_equal(events_count(&es, CONSOLE_WARNING), 1);
	assert_int_equal(events_first(&es, CONSOLE_USB_DISCONNECT)->boot, 1);
}

static void test_a_quoted_banner_is_no_boot(void **state)
{
	(void)state;
	(void)events_of_text(&es, "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n"
				  "[   20.000000] text\r\n# cat /proc/version\r\n"
				  "Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n");
	assert_int_equal(es.n, 1);
}

static void test_a_crash_is_one_incident_with_its_place(void **state)
{
	struct console_integrity in;

	(void)state;
	in = events_of_text(
		&es,
		"[    5.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\r\n"
		"[    5.000001] #PF: supervisor read access in kernel mode\r\n"
		"[    5.000002] Oops: 0000 [#1] PREEMPT SMP PTI\r\n"
		"[    5.000003] RIP: 0010:hub_event+0x2b/0x2c0 [usbcore]\r\n"
		"[    5.000004] Call Trace:\r\n"
		"[    5.000005] RIP: 0033:0x7f0000000000\r\n"
		"[    5.000006] ---[ end trace 0000000000000000 ]---\r\n"
		"[    5.000007] Kernel panic - not syncing: Fatal exception");

	assert_int_equal(events_count(&es, CONSOLE_OOPS), 1);
	assert_int_equal(events_count(&es, CONSOLE_PANIC), 1);
	assert_int_equal(es.n, 4);
	assert_true(es.rows[1].ev.is_detail);
	assert_string_equal(es.rows[2].ev.title, "hub_event");
	assert_int_equal(in.unclassified_dumps, 0);
}

static void test_a_dump_whose_first_line_is_lost_is_counted(void **state)
{
	struct console_integrity in;

	(void)state;
	in = events_of_text(&es, "[    5.000000] CPU: 0 PID: 1 Comm: x\r\n"
				 "[    5.000000] Call Trace:\r\n[    5.000000]  f+0x1/0x2\r\n");
	assert_int_equal(in.unclassified_dumps, 1);

	in = events_of_text(&es, "[    5.000000] sysrq: Show State\r\n"
				 "[    5.000000] Call Trace:\r\n[    5.000000]  f+0x1/0x2\r\n");
	assert_int_equal(in.unclassified_dumps, 0);
}

static void test_an_unfinished_panic_is_told_when_the_line_idles_and_only_once(void **state)
{
	static const char first[] = "[    5.000000] Kernel panic - not syncing: Fatal exc";
	static const char rest[] = "eption\r\n";
	struct console_parser *p = console_parser_new(events_add, &es);

	(void)state;
	events_reset(&es);
	console_parser_feed(p, first, sizeof(first) - 1, 1);
	assert_int_equal(es.n, 0);
	console_parser_idle(p);
	console_parser_idle(p);
	assert_int_equal(es.n, 1);
	console_parser_feed(p, rest, sizeof(rest) - 1, 2);
	console_parser_finish(p);
	assert_int_equal(es.n, 1);
	assert_int_equal(console_parser_integrity(p)->lines, 1);
	console_parser_free(p);
}

static void test_an_unfinished_delay_waits_for_its_line_end(void **state)
{
	struct console_parser *p = console_parser_new(events_add, &es);

	(void)state;
	events_reset(&es);
	console_parser_feed(p, "DELAY: 67", 9, 1);
	console_parser_idle(p);
	assert_int_equal(es.n, 0);
	console_parser_feed(p, "82\r", 3, 2);
	console_parser_idle(p);
	assert_int_equal(es.n, 0);
	console_parser_feed(p, "\n", 1, 3);
	assert_int_equal(es.n, 1);
	assert_int_equal(es.rows[0].ev.u.delay.ms, 6782);
	assert_int_equal(es.rows[0].ev.t_host_ns, 3);
	assert_int_equal(es.rows[0].ev.offset, 0);
	assert_int_equal(es.rows[0].ev.end, 13);
	console_parser_free(p);
}

static void test_a_line_of_the_limit_is_whole_and_a_longer_one_is_cut(void **state)
{
	struct console_integrity in;
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	strbuf_adds(&sb, "[    5.000000] ");
	while (sb.len < CONSOLE_LINE_MAX)
		strbuf_adds(&sb, "x");
	strbuf_adds(&sb, "\r\n");
	in = events_of(&es, sb.data, sb.len, 0);
	assert_int_equal(in.truncated_lines, 0);
	assert_int_equal(in.lines, 1);

	strbuf_reset(&sb);
	while (sb.len < 3 * CONSOLE_LINE_MAX)
		strbuf_adds(&sb, "x");
	strbuf_adds(&sb, "\nDELAY: 7\n");
	in = events_of(&es, sb.data, sb.len, 0);
	assert_int_equal(in.truncated_lines, 2);
	assert_int_equal(in.lines, 4);
	assert_int_equal(es.n, 1);
	assert_int_equal(es.rows[0].ev.offset, 3 * CONSOLE_LINE_MAX + 1);
}

static void test_integrity_counts_what_the_log_says_about_itself(void **state)
{
	static const char text[] = "** 3 printk messages dropped **\r\n"
				   "[    1.000000] ttyS ttyS0: 2 input overrun(s)\r\n"
				   "[    1.000000] blk_update_request: 19 callbacks suppressed\r\n"
				   "\0\xff\xfe text\r\n";
	struct console_integrity in;

	(void)state;
	in = events_of(&es, text, sizeof(text) - 1, 0);
	assert_int_equal(in.bytes, sizeof(text) - 1);
	assert_int_equal(in.dropped_messages, 3);
	assert_int_equal(in.overruns, 2);
	assert_int_equal(in.suppressed, 19);
	assert_int_equal(in.garbage_bytes, 3);
	assert_int_equal(es.n, 2);
}

static void test_missing_numbers_of_delay_lines_are_counted(void **state)
{
	struct console_integrity in;
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	strbuf_adds(&sb, "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n");
	add_delay(&sb, 10, 20, 2); /* 1 is missing */
	add_delay(&sb, 11, 20, 3);
	add_delay(&sb, 11, 20, 3); /* twice the same */
	add_delay(&sb, 12, 20, 6); /* 4, 5 */
	add_delay(&sb, 13, 20, 1); /* loaded again */
	in = events_of(&es, sb.data, sb.len, 0);
	assert_int_equal(in.delay_seq_gaps, 3);
}

static void test_kmsg_records_are_read_and_their_gaps_counted(void **state)
{
	struct console_integrity in;

	(void)state;
	in = events_of_text(&es, "6,100,40311382141,-,caller=C0;usb 2-1: USB disconnect, device "
				 "number 2\n SUBSYSTEM=usb\n DEVICE=c189:129\n"
				 "2,103,40311382150,-;DELAY: 12\n");
	assert_int_equal(es.n, 2);
	assert_int_equal(es.rows[0].ev.t_kernel_us, 40311382141);
	assert_int_equal(in.kmsg_seq_gaps, 2);
}

static const char *const envelopes[] = {
	"[ 1558.625517] %s",
	"<6>[ 1558.625517] %s",
	"<6>[ 1558.625517][   T38] %s",
	"[ 1558.625517][    C0] %s",
	"[ 1558.625517] [      C6] %s",
	"[ 1558.625517]  [5:    kworker/5:3:   78] %s",
	"[Wed Jun  5 03:14:35 2013] %s",
	"[  +0.000021] %s",
	"[<    0.000021>] %s",
	"[Jun 5 03:14] %s",
	"[Jun15 03:14] %s",
	"6,16632,40311382141,-,caller=C0;%s",
	"6.4.0,6,16632,40311382141,-;%s",
	"<6>%s",
	"Apr 26 17:17:12 host kernel: [160403.252871] %s",
	"2019-04-24T11:34:00.514575+02:00 host kernel: [  752.907614] %s",
	"Thu Sep  1 19:21:30 2022 kern.err kernel: [  270.262889] %s",
	"Apr 26 17:17:12 host kernel: %s",
	"!WARNING | kernel: %s",
	"user text without line end[  288.557819][T21583] %s",
	"\033[0m[  288.557819] %s",
	"\033[74G[   50.662658] %s",
	"[1604563.532000] %s",
	"[ 0.000012] %s", /* blanks folded by a web page */
};

static void test_every_envelope_is_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(envelopes); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;
		const char *field = strstr(envelopes[i], "%s");

		strbuf_add(&sb, envelopes[i], (size_t)(field - envelopes[i]));
		strbuf_adds(&sb, "BUG: a bug that only a stamped line may have\r\n");
		(void)events_of(&es, sb.data, sb.len, 0);
		if (es.n != 1 || es.rows[0].ev.cls != CONSOLE_BUG || es.rows[0].ev.is_suspect)
			fail_msg("'%s': %zu events\n%s", envelopes[i], es.n,
				 strbuf_str(&es.digest));
		assert_string_equal(es.rows[0].ev.title, "a bug that only a stamped line may have");
	}
}

static void test_a_parser_that_was_reset_is_as_new(void **state)
{
	static const char text[] = "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n"
				   "[    9.000000] DELAY: 67";
	struct console_parser *p = console_parser_new(events_add, &es);

	(void)state;
	for (int i = 0; i < 2; i++) {
		events_reset(&es);
		console_parser_feed(p, text, sizeof(text) - 1, 0);
		assert_int_equal(es.n, 1);
		assert_int_equal(es.rows[0].ev.boot, 1);
		assert_int_equal(es.rows[0].ev.offset, 0);
		assert_int_equal(console_parser_integrity(p)->lines, 1);
		console_parser_reset(p);
		assert_true(console_parser_last_kernel_us(p) == CONSOLE_UNKNOWN);
	}
	console_parser_free(p);
}

static void test_any_split_gives_the_same_events(void **state)
{
	static const char *const parts[] = {
		"[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\r\n",
		"[    1.000000] usb 1-1: USB disconnect, device number 3\r\n",
		"[    2.000000] DELAY: 67\r\r\n",
		"progress 10%\rprogress 20%\r[    3.000000] DELAY: 82\n",
		"\033[1m[    3.500000] WARNING: CPU: 0 PID: 1 at kernel/a.c:1 f+0x1/0x2\033[0m\r\n",
		"** 3 printk messages dropped ** [    4.000000] BUG: foo[    4.000001] Oops: 1 [#1]\n",
		"\0\xff[    5.000000] Kernel panic - not syncing: x\r\n",
		"\n\r\n\r\r\r",
		"[    6.000000] stallrig-mark abc crc=00000000\n",
	};
	struct console_integrity whole_in;
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	auto_strbuf struct strbuf whole = STRBUF_INIT;

	(void)state;
	for (int k = 0; k < 40; k++) {
		const char *part = parts[(size_t)k % ARRAY_SIZE(parts)];

		strbuf_add(&sb, part, part[0] == '\0' ? 49 : strlen(part));
		if (k == 20) {
			for (int j = 0; j < 700; j++)
				strbuf_adds(&sb, "longline ");
		}
	}
	whole_in = events_of(&es, sb.data, sb.len, 0);
	strbuf_add(&whole, es.digest.data, es.digest.len);
	assert_true(es.n > 20);
	for (size_t piece = 1; piece < 200; piece++) {
		struct console_integrity in = events_of(&es, sb.data, sb.len, piece);

		assert_string_equal(strbuf_str(&es.digest), strbuf_str(&whole));
		assert_memory_equal(&in, &whole_in, sizeof(in));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_byte_written_into_a_delay_makes_it_suspect),
		cmocka_unit_test(test_the_first_report_gives_a_disconnect_and_a_delay),
		cmocka_unit_test(test_an_extended_delay_gives_all_its_fields),
		cmocka_unit_test(test_a_delay_that_may_be_incomplete_is_suspect),
		cmocka_unit_test(test_healthy_text_gives_no_event),
		cmocka_unit_test(test_markers_need_the_right_crc),
		cmocka_unit_test(test_a_marker_with_a_nonce_of_33_bytes_is_suspect),
		cmocka_unit_test(test_records_glued_on_one_line_are_taken_apart),
		cmocka_unit_test(test_a_boot_starts_at_booting_linux_and_its_banner_belongs_to_it),
		cmocka_unit_test(test_a_banner_without_notice_is_a_reboot),
		cmocka_unit_test(test_a_clock_that_goes_back_twice_is_a_reboot),
		cmocka_unit_test(test_records_replayed_after_the_boot_console_are_told_once),
		cmocka_unit_test(test_a_quoted_banner_is_no_boot),
		cmocka_unit_test(test_a_crash_is_one_incident_with_its_place),
		cmocka_unit_test(test_a_dump_whose_first_line_is_lost_is_counted),
		cmocka_unit_test(
			test_an_unfinished_panic_is_told_when_the_line_idles_and_only_once),
		cmocka_unit_test(test_an_unfinished_delay_waits_for_its_line_end),
		cmocka_unit_test(test_a_line_of_the_limit_is_whole_and_a_longer_one_is_cut),
		cmocka_unit_test(test_integrity_counts_what_the_log_says_about_itself),
		cmocka_unit_test(test_missing_numbers_of_delay_lines_are_counted),
		cmocka_unit_test(test_kmsg_records_are_read_and_their_gaps_counted),
		cmocka_unit_test(test_every_envelope_is_understood),
		cmocka_unit_test(test_a_parser_that_was_reset_is_as_new),
		cmocka_unit_test(test_any_split_gives_the_same_events),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	strbuf_release(&es.digest);
	return r;
}
