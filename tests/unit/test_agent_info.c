/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* info, clock, dmesg-level, mark, dmesg, cat and write: on this machine's kernel where they only
   read or mark, on planted files where they change something. */
#include "agent_unit.h"
#include "base/crc32c.h"
#include "base/parse.h"

#include <inttypes.h>
#include <sys/utsname.h>
#include <time.h>

static int setup(void **state)
{
	*state = unit_tmpdir();
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

static void test_info_tells_what_this_kernel_is(void **state)
{
	static const char *const keys[] = {"version",     "machine", "boot_id",
					   "clocksource", "cmdline", "agent"};
	struct answered got = {0};
	struct utsname u;
	char text[512];
	int64_t v;
	(void)state;

	assert_int_equal(run_verb("", "info", &got), 0);
	assert_int_equal(uname(&u), 0);
	assert_true(parse_pair(got.ok, "release", text, sizeof(text)));
	assert_string_equal(text, u.release);
	assert_true(parse_pair_i64(got.ok, "cpus", &v));
	assert_int_equal(v, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(parse_pair_i64(got.ok, "uptime_ms", &v));
	assert_true(v > 0 && v <= clock_ns(CLOCK_BOOTTIME) / 1000000);
	assert_true(parse_pair_i64(got.ok, "mem_total_kib", &v));
	assert_true(v * 1024 <= (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) &&
		    v > 16384);
	assert_true(parse_pair_i64(got.ok, "hz", &v));
	assert_true(v == 100 || v == 250 || v == 300 || v == 1000);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_true(parse_pair(got.ok, keys[i], text, sizeof(text)));
	strbuf_release(&got.lines);
}

static void test_info_leaves_out_what_the_kernel_does_not_have(void **state)
{
	static const char *const absent[] = {
		"preempt", "cpu_intensive_thresh_us", "boot_id", "mem_total_kib", "clocksource",
		"cmdline", "cmdline_truncated"};
	struct answered got = {0};
	char *root = *state;
	char text[512];

	assert_int_equal(run_verb(root, "info", &got), 0);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_false(parse_pair(got.ok, absent[i], text, sizeof(text)));

	plant(root, "/sys/kernel/debug/sched/preempt", "none (voluntary) full \n");
	plant(root, "/sys/module/workqueue/parameters/cpu_intensive_thresh_us", "1000000\n");
	plant(root, "/proc/cmdline", "console=ttyS0 panic=-1\n");
	plant(root, "/proc/meminfo", "MemTotal:        1380084 kB\nMemFree: 1 kB\n");
	assert_int_equal(run_verb(root, "info", &got), 0);
	assert_contains(got.ok, " preempt=voluntary");
	assert_contains(got.ok, " cpu_intensive_thresh_us=1000000");
	assert_contains(got.ok, " cmdline=console=ttyS0%20panic=-1");
	assert_contains(got.ok, " mem_total_kib=1380084");
}

static void test_info_cuts_a_long_command_line_and_says_so(void **state)
{
	struct answered got = {0};
	char *root = *state;
	char text[2049];

	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	plant(root, "/proc/cmdline", text);
	assert_int_equal(run_verb(root, "info", &got), 0);
	assert_contains(got.ok, "cmdline_truncated=1");
}

static void test_clock_gives_both_clocks(void **state)
{
	int64_t before = clock_ns(CLOCK_MONOTONIC), v, boot;
	struct answered got = {0};
	(void)state;

	assert_int_equal(run_verb("", "clock", &got), 0);
	assert_true(parse_pair_i64(got.ok, "clock_ns", &v));
	assert_true(parse_pair_i64(got.ok, "boottime_ns", &boot));
	assert_true(v >= before && v <= clock_ns(CLOCK_MONOTONIC) && boot >= v);
}

static void test_a_mark_stands_in_the_kernel_log_with_its_crc(void **state)
{
	struct answered got = {0};
	char nonce[32], body[64], want[128];
	int64_t t_ns;
	(void)state;

	(void)snprintf(nonce, sizeof(nonce), "unit-%jd", (intmax_t)getpid());
	(void)snprintf(body, sizeof(body), "mark %s", nonce);
	assert_int_equal(run_verb("", body, &got), 0);
	assert_true(parse_pair_i64(got.ok, "clock_ns", &t_ns));
	(void)snprintf(want, sizeof(want), "stallrig-mark %s", nonce);
	(void)snprintf(want, sizeof(want), ";stallrig-mark %s crc=%08x\n", nonce,
		       crc32c(want, strlen(want)));

	(void)snprintf(body, sizeof(body), "dmesg since_us=%" PRId64, t_ns / 1000 - 1000000);
	assert_int_equal(run_verb("", body, &got), 0);
	assert_contains(strbuf_str(&got.lines), want);
	/* KERN_CRIT, so that it passes a console level of 3 */
	assert_int_equal(strstr(strbuf_str(&got.lines), want) > strbuf_str(&got.lines), 1);
	for (const char *p = strbuf_str(&got.lines); *p; p = strchr(p, '\n') + 1)
		if (strncmp(strchr(p, ';'), want, strlen(want)) == 0)
			assert_int_equal(strncmp(p, "2,", 2), 0);
	strbuf_release(&got.lines);
}

static void test_a_nonce_is_a_short_name(void **state)
{
	static const char *const bad[] = {"mark a%20b", "mark %", "mark %0A", "mark -x",
					  "mark 123456789012345678901234567890123"};
	struct answered got = {0};
	char *root = *state;
	auto_free char *text = NULL;

	plant(root, "/dev/kmsg", "");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(run_verb(root, bad[i], &got), -EINVAL);
		assert_contains(got.err, "EINVAL mark: nonce '");
	}
	assert_int_equal(run_verb(root, "mark 12345678901234567890123456789012", &got), 0);
	text = harvest(root, "/dev/kmsg");
	assert_int_equal(
		strncmp(text, "<2>stallrig-mark 12345678901234567890123456789012 crc=", 54), 0);
}

static void test_dmesg_gives_the_records_from_a_time_on(void **state)
{
	struct answered got = {0};
	char body[64];
	(void)state;

	assert_int_equal(run_verb("", "dmesg", &got), 0);
	assert_contains(got.ok, "skipped=0");
	assert_true(got.lines.len > 0);
	(void)snprintf(body, sizeof(body), "dmesg since_us=%" PRId64,
		       clock_ns(CLOCK_MONOTONIC) / 1000 + (int64_t)3600 * 1000000);
	assert_int_equal(run_verb("", body, &got), 0);
	assert_int_equal(got.lines.len, 0);
	assert_int_equal(run_verb("", "dmesg since_us=-1", &got), -EINVAL);
	strbuf_release(&got.lines);
}

static void test_dmesg_names_a_record_that_it_does_not_understand(void **state)
{
	static const struct {
		const char *record, *part;
	} cases[] = {
		{"6,1,2", "record without ';'"},
		{";text\n", "record without a priority"},
		{"x,1,2,-;text\n", "record without a priority"},
		{"6,,2,-;text\n", "record without a sequence"},
		{"6,1;text\n", "record without a time"},
	};
	struct answered got = {0};
	char *root = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* "6,,2" is two words to strtok */
		plant(root, "/dev/kmsg", cases[i].record);
		if (run_verb(root, "dmesg", &got) != -EBADMSG)
			fail_msg("'%s' was taken: %s", cases[i].record, got.ok);
		assert_contains(got.err, "EBADMSG /dev/kmsg: record without");
	}
	plant(root, "/dev/kmsg", "14,7,1234567,-;usb 2-1: new\n SUBSYSTEM=usb\n");
	assert_int_equal(run_verb(root, "dmesg", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "6,7,1234567;usb 2-1: new\n");
	strbuf_release(&got.lines);
}

static void test_the_console_level_is_read_and_set(void **state)
{
	auto_free char *text = NULL;
	struct answered got = {0};
	char *root = *state;

	assert_int_equal(run_verb("", "dmesg-level", &got), 0);
	assert_int_equal(strncmp(got.ok, "console=", 8), 0);
	assert_contains(got.ok, " default=");
	assert_contains(got.ok, " minimum=");

	plant(root, "/proc/sys/kernel/printk", "4\t4\t1\t7\n");
	assert_int_equal(run_verb(root, "dmesg-level", &got), 0);
	assert_string_equal(got.ok, "console=4 default=4 minimum=1");
	/* a plain file keeps only what was written last, a kernel answers with four numbers */
	assert_int_equal(run_verb(root, "dmesg-level 3", &got), -EIO);
	assert_contains(got.err, "no default level in '3");
	text = harvest(root, "/proc/sys/kernel/printk");
	assert_string_equal(text, "3\n");
	assert_int_equal(run_verb(root, "dmesg-level 0", &got), -ERANGE);
	assert_int_equal(run_verb(root, "dmesg-level 16", &got), -ERANGE);
	assert_int_equal(run_verb(root, "dmesg-level x", &got), -EINVAL);
}

static void test_this_kernels_console_level_can_be_changed_and_put_back(void **state)
{
	struct answered got = {0};
	int64_t before, after;
	char body[32];
	(void)state;

	assert_int_equal(run_verb("", "dmesg-level", &got), 0);
	assert_true(parse_pair_i64(got.ok, "console", &before));
	(void)snprintf(body, sizeof(body), "dmesg-level %d", before == 3 ? 4 : 3);
	assert_int_equal(run_verb("", body, &got), 0);
	assert_true(parse_pair_i64(got.ok, "console", &after));
	assert_int_equal(after, before == 3 ? 4 : 3);
	(void)snprintf(body, sizeof(body), "dmesg-level %" PRId64, before);
	assert_int_equal(run_verb("", body, &got), 0);
	assert_true(parse_pair_i64(got.ok, "console", &after));
	assert_int_equal(after, before);
}

static void test_cat_and_write_stay_in_their_folders(void **state)
{
	static const struct {
		const char *body;
		int code;
	} cases[] = {
		{"cat path=/etc/passwd", EACCES},
		{"cat path=/proc/../etc/passwd", EACCES},
		{"cat path=/proc/self/root/etc/passwd", EACCES},
		{"cat path=/proc/nothing-such", ENOENT},
		{"cat path=proc/version", ENOENT},
		{"cat path=/proc", EACCES},
		{"write path=/proc/self/comm text=x", EACCES},
		{"write path=/proc/sys/../self/comm text=x", EACCES},
		{"write path=/tmp text=x", EACCES},
		{"write path=/sys/nothing-such text=x", ENOENT},
	};
	struct answered got = {0};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (run_verb("", cases[i].body, &got) != -cases[i].code)
			fail_msg("%s: '%s' '%s'", cases[i].body, got.ok, got.err);
	assert_int_equal(run_verb("", "cat path=/proc/version", &got), 0);
	assert_contains(strbuf_str(&got.lines), "Linux version ");
	strbuf_release(&got.lines);
}

static void test_cat_reads_64_kib_and_no_more(void **state)
{
	static char text[(64 << 10) + 2];
	struct answered got = {0};
	char *root = *state;

	memset(text, 'a', sizeof(text) - 1);
	text[64 << 10] = '\0';
	plant(root, "/sys/file", text);
	assert_int_equal(run_verb(root, "cat path=/sys/file", &got), 0);
	assert_string_equal(got.ok, "bytes=65536");
	assert_int_equal(got.lines.len, 65537);

	text[64 << 10] = 'a';
	plant(root, "/sys/file", text);
	assert_int_equal(run_verb(root, "cat path=/sys/file", &got), 0);
	assert_string_equal(got.ok, "bytes=65536 truncated=1");
	strbuf_release(&got.lines);
}

static void test_write_writes_the_text_as_it_is(void **state)
{
	auto_free char *text = NULL;
	struct answered got = {0};
	char *root = *state;

	plant(root, "/proc/sys/vm/x", "old and longer");
	assert_int_equal(run_verb(root, "write path=/proc/sys/vm/x text=a%20b", &got), 0);
	text = harvest(root, "/proc/sys/vm/x");
	assert_string_equal(text, "a b");
	assert_int_equal(run_verb(root, "write path=/proc/sys/vm/x text=", &got), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROOTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		cmocka_unit_test(test_info_tells_what_this_kernel_is),
		ROOTED(test_info_leaves_out_what_the_kernel_does_not_have),
		ROOTED(test_info_cuts_a_long_command_line_and_says_so),
		cmocka_unit_test(test_clock_gives_both_clocks),
		cmocka_unit_test(test_a_mark_stands_in_the_kernel_log_with_its_crc),
		ROOTED(test_a_nonce_is_a_short_name),
		cmocka_unit_test(test_dmesg_gives_the_records_from_a_time_on),
		ROOTED(test_dmesg_names_a_record_that_it_does_not_understand),
		ROOTED(test_the_console_level_is_read_and_set),
		cmocka_unit_test(test_this_kernels_console_level_can_be_changed_and_put_back),
		cmocka_unit_test(test_cat_and_write_stay_in_their_folders),
		ROOTED(test_cat_reads_64_kib_and_no_more),
		ROOTED(test_write_writes_the_text_as_it_is),
	};

	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
