/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/*
 * test_console_properties.c - damage to a log never makes a failure look like a pass. Each log has
 * one failure between two markers; `may_pass` is what any judge must ask of a bare log at least.
 */
#include "base/crc32c.h"
#include "base/rng.h"
#include "console_util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LIMIT_MS 50
#define CLASSIC  1 /* in failures[] */

struct verdict {
	bool has_failed;
	bool has_suspect;
	bool has_start;
	bool has_end;
	bool is_intact;
};

static void judge_event(void *self, const struct console_event *ev)
{
	struct verdict *v = self;

	if (ev->is_suspect)
		v->has_suspect = true;
	else if (ev->cls == CONSOLE_DELAY)
		v->has_failed |= ev->u.delay.ms > LIMIT_MS;
	else if (ev->cls == CONSOLE_MARK)
		*(strcmp(ev->u.mark.nonce, "start") == 0 ? &v->has_start : &v->has_end) = true;
	else
		v->has_failed |= console_class_severity(ev->cls) >= CONSOLE_STALL;
}

static bool is_intact(const struct console_integrity *in)
{
	return in->dropped_messages + in->overruns + in->suspect_lines + in->delay_seq_gaps +
		       in->garbage_bytes + in->truncated_lines + in->broken_stamps +
		       in->kmsg_seq_gaps + in->unclassified_dumps ==
	       0;
}

static struct verdict judge(const char *bytes, size_t n)
{
	struct verdict v = {0};
	struct console_parser *p = console_parser_new(judge_event, &v);

	console_parser_feed(p, bytes, n, 0);
	console_parser_finish(p);
	v.is_intact = is_intact(console_parser_integrity(p));
	console_parser_free(p);
	return v;
}

static bool may_pass(const char *bytes, size_t n)
{
	struct verdict v = judge(bytes, n);

	return !v.has_failed && !v.has_suspect && v.has_start && v.has_end && v.is_intact;
}

static void add_crc_line(struct strbuf *sb, const char *stamp, const char *text)
{
	strbuf_addf(sb, "[%s] %s crc=%08x\r\n", stamp, text, (unsigned)crc32c(text, strlen(text)));
}

static void add_log(struct strbuf *sb, const char *failure)
{
	strbuf_adds(
		sb,
		"[    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP Debian\r\n"
		"[    3.100000] usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd\r\n");
	add_crc_line(sb, "    4.000000", "stallrig-mark start");
	strbuf_adds(sb, "[    5.000000] usb 2-1: USB disconnect, device number 2\r\n");
	strbuf_adds(sb, failure);
	strbuf_adds(
		sb,
		"[   30.000000] usb 2-1: new SuperSpeed USB device number 3 using xhci_hcd\r\n");
	add_crc_line(sb, "   31.000000", "stallrig-mark end");
}

static const char *const failures[] = {
	"DELAY", /* made with its CRC */
	"[    5.700000] DELAY: 6782\r\n",
	"[   12.000000] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 72s!\r\n",
	"[   12.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [kworker/0:1:14]\r\n",
	"[   12.000000] NMI watchdog: Watchdog detected hard LOCKUP on cpu 1\r\n",
	"[   12.000000] rcu: INFO: rcu_preempt self-detected stall on CPU\r\n",
	"[   12.000000] INFO: rcu_sched self-detected stall on CPU { 3}  (t=6000 jiffies g=4294967200 "
	"c=4294967199 q=21)\r\n",
	"[   12.000000] INFO: rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 0, t=5252 "
	"jiffies, g=180145, c=180144, q=3621)\r\n",
	"[   12.000000] INFO: task kworker/1:0:19 blocked for more than 120 seconds.\r\n",
	"[   12.000000] ------------[ cut here ]------------\r\n"
	"[   12.000001] WARNING: CPU: 1 PID: 3 at drivers/usb/core/urb.c:505 usb_submit_urb+0x5/0x9\r\n"
	"[   12.000002] Call Trace:\r\n"
	"[   12.000003] ---[ end trace 0000000000000000 ]---\r\n",
	"[   12.000000] ------------[ cut here ]------------\r\n"
	"[   12.000001] WARNING: drivers/usb/core/urb.c:505 at usb_submit_urb+0x5/0x9, CPU#1: dd/3\r\n"
	"[   12.000002] Call Trace:\r\n"
	"[   12.000003] ---[ end trace 0000000000000000 ]---\r\n",
	"[   12.000000] BUG: scheduling while atomic: kworker/0:1/14/0x00000002\r\n"
	"[   12.000001] Call Trace:\r\n",
	"[   12.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\r\n"
	"[   12.000001] Oops: 0002 [#1] PREEMPT SMP PTI\r\n"
	"[   12.000002] RIP: 0010:usb_disconnect+0x2b/0x2c0\r\n",
	"[   12.000000] Unable to handle kernel NULL pointer dereference at virtual address "
	"0000000000000028\r\n",
	"[   12.000000] Kernel panic - not syncing: Fatal exception\r\n",
	"[   12.000000] BUG: KASAN: slab-use-after-free in hub_event+0x1a2/0x2c0\r\n"
	"[   12.000001] Call Trace:\r\n",
	"[   12.000000] WARNING: possible circular locking dependency detected\r\n"
	"[   12.000001] Call Trace:\r\n",
};

static void make_log(struct strbuf *sb, size_t i)
{
	auto_strbuf struct strbuf failure = STRBUF_INIT;

	strbuf_reset(sb);
	if (i > 0) {
		add_log(sb, failures[i]);
		return;
	}
	add_crc_line(&failure, "    5.700000",
		     "DELAY: 645 cpu=0 probe=queue seq=1 us=645120 due_ns=5054880000 live=0");
	add_log(sb, strbuf_str(&failure));
}

static void make_healthy_log(struct strbuf *sb)
{
	strbuf_reset(sb);
	add_log(sb, "[    5.100000] sd 2:0:0:0: [sda] Synchronizing SCSI cache\r\n"
		    "[    5.200000] EXT4-fs (sda1): unmounting filesystem.\r\n");
}

static void test_the_predicate_tells_the_logs_apart(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	make_healthy_log(&sb);
	assert_true(may_pass(sb.data, sb.len));
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		struct verdict v;

		make_log(&sb, i);
		v = judge(sb.data, sb.len);
		if (!v.has_failed || v.has_suspect || !v.is_intact)
			fail_msg("log %zu: failed %d, suspect %d, intact %d", i, v.has_failed,
				 v.has_suspect, v.is_intact);
	}
}

static void test_no_single_lost_byte_makes_a_pass(void **state)
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_strbuf struct strbuf damaged = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		make_log(&log, i);
		for (size_t at = 0; at < log.len; at++) {
			strbuf_reset(&damaged);
			strbuf_add(&damaged, log.data, at);
			strbuf_add(&damaged, log.data + at + 1, log.len - at - 1);
			if (may_pass(damaged.data, damaged.len))
				fail_msg("log %zu without byte %zu:\n%s", i, at, damaged.data);
		}
	}
}

static void test_no_single_doubled_byte_makes_a_pass(void **state)
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_strbuf struct strbuf damaged = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		make_log(&log, i);
		for (size_t at = 0; at < log.len; at++) {
			strbuf_reset(&damaged);
			strbuf_add(&damaged, log.data, at + 1);
			strbuf_add(&damaged, log.data + at, log.len - at);
			if (may_pass(damaged.data, damaged.len))
				fail_msg("log %zu with byte %zu twice:\n%s", i, at, damaged.data);
		}
	}
}

/* Loses a run of up to 8 bytes: every line that matters survives that in part. */
static void test_no_short_hole_makes_a_pass(void **state)
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_strbuf struct strbuf damaged = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		make_log(&log, i);
		for (size_t at = 0; at < log.len; at++) {
			for (size_t hole = 2; hole <= 8 && at + hole <= log.len; hole += 2) {
				/* without a CRC a number that lost its first digits is just smaller
				 */
				if (i == CLASSIC)
					continue;
				strbuf_reset(&damaged);
				strbuf_add(&damaged, log.data, at);
				strbuf_add(&damaged, log.data + at + hole, log.len - at - hole);
				if (may_pass(damaged.data, damaged.len))
					fail_msg("log %zu without bytes %zu+%zu:\n%s", i, at, hole,
						 damaged.data);
			}
		}
	}
}

/* Pieces of both in turn, as two users of one UART or a lost lock make them. */
static void interleave(struct rng *r, const struct strbuf *a, const struct strbuf *b, size_t piece,
		       struct strbuf *ret)
{
	size_t at_a = 0;
	size_t at_b = 0;

	strbuf_reset(ret);
	while (at_a < a->len || at_b < b->len) {
		const struct strbuf *from = rng_below(r, 2) ? a : b;
		size_t *at = from == a ? &at_a : &at_b;
		size_t n = 1 + (size_t)rng_below(r, piece);

		if (n > from->len - *at)
			n = from->len - *at;
		strbuf_add(ret, from->data + *at, n);
		*at += n;
	}
}

/* Each line of a is cut at most once, by some bytes of b. */
static void cut_lines(struct rng *r, const struct strbuf *a, const struct strbuf *b,
		      struct strbuf *ret)
{
	size_t at_b = 0;
	size_t line = 0;

	strbuf_reset(ret);
	while (line < a->len) {
		const char *lf = memchr(a->data + line, '\n', a->len - line);
		size_t len = lf ? (size_t)(lf - a->data) + 1 - line : a->len - line;
		size_t cut = (size_t)rng_below(r, len + 1);
		size_t n = (size_t)rng_below(r, 200);

		if (n > b->len - at_b)
			n = b->len - at_b;
		strbuf_add(ret, a->data + line, cut);
		strbuf_add(ret, b->data + at_b, n);
		strbuf_add(ret, a->data + line + cut, len - cut);
		at_b += n;
		line += len;
	}
	strbuf_add(ret, b->data + at_b, b->len - at_b);
}

static void make_shell_text(struct strbuf *sb)
{
	strbuf_reset(sb);
	for (int k = 0; k < 12; k++)
		strbuf_adds(sb,
			    "root@target:~# ls -l /mnt\r\ntotal 4194304\r\n-rw-r--r-- 1 root root "
			    "4294967296 big\r\n");
}

static void test_no_second_writer_makes_a_pass(void **state)
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_strbuf struct strbuf other = STRBUF_INIT;
	auto_strbuf struct strbuf mixed = STRBUF_INIT;
	auto_strbuf struct strbuf shell = STRBUF_INIT;
	struct rng r;

	(void)state;
	rng_init(&r, 4);
	make_healthy_log(&other);
	make_shell_text(&shell);
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		/* a DELAY line without CRC and number is not safe from other writers: nobody can
		   tell that "DE" and "AY: 6782" belong together. That is why the probe has both. */
		if (i == CLASSIC)
			continue;
		make_log(&log, i);
		for (size_t k = 0; k < 600; k++) {
			const struct strbuf *second = k & 1 ? &other : &shell;

			if (k % 3 == 0)
				interleave(&r, &log, second, 1 + k % 4, &mixed);
			else
				cut_lines(&r, &log, second, &mixed);
			if (may_pass(mixed.data, mixed.len))
				fail_msg("log %zu mixed, round %zu:\n%s", i, k, mixed.data);
		}
	}
}

enum damage { DAMAGE_LOST, DAMAGE_DOUBLED, DAMAGE_SHELL, DAMAGE_OTHER_LOG, DAMAGE_MAX };

/* The failure's own lines lose, double, or are cut in by a second writer at, k places. */
static void damage_failure(struct rng *r, const struct strbuf *log, enum damage how, size_t k,
			   const struct strbuf *second, struct strbuf *ret)
{
	static const char before[] = "disconnect, device number 2\r\n";
	static const char after[] = "[   30.000000]";
	const char *begin = memmem(log->data, log->len, before, sizeof(before) - 1);
	const char *end = memmem(log->data, log->len, after, sizeof(after) - 1);
	size_t from = (size_t)(begin - log->data) + sizeof(before) - 1;
	size_t to = (size_t)(end - log->data) - 2;
	bool is_hit[1024] = {false};

	assert_true(begin && end && to < sizeof(is_hit));
	for (size_t i = 0; i < k; i++)
		is_hit[from + (size_t)rng_below(r, to - from)] = true;
	strbuf_reset(ret);
	for (size_t i = 0; i < log->len; i++) {
		if (i < sizeof(is_hit) && is_hit[i]) {
			size_t n = 1 + (size_t)rng_below(r, 80);

			if (how == DAMAGE_LOST)
				continue;
			if (how == DAMAGE_DOUBLED)
				strbuf_add(ret, log->data + i, 1);
			else
				strbuf_add(ret, second->data + rng_below(r, second->len - n), n);
		}
		strbuf_add(ret, log->data + i, 1);
	}
}

/*
 * Nothing can know a line of which enough is lost. How often several damages of the one line that
 * matters hide it is measured; docs/console.md has the table.
 */
static void test_several_damages_in_one_line_rarely_hide_it(void **state)
{
	/* most of 1000 that may pass, for 1, 2, 3, 4 and 8 places */
	static const struct {
		size_t k;
		unsigned most[DAMAGE_MAX];
	} rows[] = {{1, {0, 0, 0, 0}},
		    {2, {0, 0, 1, 1}},
		    {3, {1, 1, 4, 4}},
		    {4, {2, 2, 10, 5}},
		    {8, {40, 40, 80, 20}}};
	enum { ROUNDS = 200 };
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_strbuf struct strbuf damaged = STRBUF_INIT;
	auto_strbuf struct strbuf shell = STRBUF_INIT;
	auto_strbuf struct strbuf other = STRBUF_INIT;
	struct rng r;

	(void)state;
	rng_init(&r, 5);
	make_shell_text(&shell);
	make_healthy_log(&other);
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		for (enum damage how = DAMAGE_LOST; how < DAMAGE_MAX; how++) {
			const struct strbuf *second = how == DAMAGE_SHELL ? &shell : &other;
			unsigned n = 0;
			unsigned n_passed = 0;

			for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
				/* the whole line of the probe may go: its next number tells */
				if (i == CLASSIC || i == 0)
					continue;
				make_log(&log, i);
				for (unsigned round = 0; round < ROUNDS; round++, n++) {
					damage_failure(&r, &log, how, rows[row].k, second,
						       &damaged);
					n_passed += may_pass(damaged.data, damaged.len);
				}
			}
			printf("%zu places, damage %d: %u of %u pass\n", rows[row].k, (int)how,
			       n_passed, n);
			assert_true(n_passed * 1000 <= rows[row].most[how] * n);
		}
	}
}

static void test_no_lost_delay_line_makes_a_pass(void **state)
{
	auto_strbuf struct strbuf all = STRBUF_INIT;
	auto_strbuf struct strbuf log = STRBUF_INIT;

	(void)state;
	/* three lines of which the second is over the limit and gets lost; the third tells */
	add_crc_line(&all, "    5.500000",
		     "DELAY: 12 cpu=0 probe=queue seq=1 us=12120 due_ns=5054880000 live=0");
	add_crc_line(&all, "    5.900000",
		     "DELAY: 13 cpu=0 probe=queue seq=3 us=13120 due_ns=5054880000 live=0");
	add_log(&log, strbuf_str(&all));
	assert_false(may_pass(log.data, log.len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_predicate_tells_the_logs_apart),
		cmocka_unit_test(test_no_single_lost_byte_makes_a_pass),
		cmocka_unit_test(test_no_single_doubled_byte_makes_a_pass),
		cmocka_unit_test(test_no_short_hole_makes_a_pass),
		cmocka_unit_test(test_no_second_writer_makes_a_pass),
		cmocka_unit_test(test_several_damages_in_one_line_rarely_hide_it),
		cmocka_unit_test(test_no_lost_delay_line_makes_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
