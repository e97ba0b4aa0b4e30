/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_console_log.c - what a bare console log says, and the verdict that follows. */
/* ctest: report */
#include "base/crc32c.h"
#include "report/console_log.h"
#include "unit.h"

#include <jansson.h>

#define BANNER     "[    0.000000] Linux version 6.1.0 (x) #1 SMP\n"
#define DISCONNECT "[  120.100000] usb 2-1: USB disconnect, device number 3\n"

static const char *const judged_probes[] = {"normal"};

static struct console_log *judged(const char *text, struct console_log_verdict *v)
{
	const struct console_log_cfg cfg = {.limit_us = 50000,
					    .attribution_us = 1000000,
					    .probes = judged_probes,
					    .n_probes = 1};
	struct console_log *log = console_log_new(&cfg);

	console_log_begin_file(log, "log");
	console_log_feed(log, text, strlen(text), 0);
	console_log_end_file(log);
	console_log_judge(log, v);
	return log;
}

static void test_each_kind_of_log_gets_its_verdict(void **state)
{
	static const struct {
		const char *text;
		enum verdict verdict;
		const char *reason;
	} cases[] = {
		{"", VERDICT_INCONCLUSIVE, "evidence.console-audible"},
		{BANNER DISCONNECT "[  126.900000] DELAY: 6782\n", VERDICT_FAIL, "over-limit"},
		{BANNER DISCONNECT "[  120.160000] DELAY: 51\n", VERDICT_FAIL, "over-limit"},
		{BANNER DISCONNECT "[  120.160000] DELAY: 50\n", VERDICT_INCONCLUSIVE,
		 "evidence.cache-loaded"},
		{BANNER DISCONNECT, VERDICT_INCONCLUSIVE, "evidence.probe-running"},
		{BANNER "[  120.160000] DELAY: 50\n", VERDICT_INCONCLUSIVE, "evidence.cut-seen"},
		{BANNER
		 "[   90.000000] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 "
		 "stuck for 72s!\n",
		 VERDICT_FAIL, "workqueue-lockup"},
		{BANNER "[   90.000000] Kernel panic - not syncing: Attempted to kill init!\n",
		 VERDICT_FAIL, "crash"},
		{BANNER DISCONNECT "[  121.000000] DELAY: 20\n** 17 printk messages dropped **\n",
		 VERDICT_INCONCLUSIVE, "evidence.console-intact"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct console_log_verdict v;

		console_log_free(judged(cases[i].text, &v));
		assert_string_equal(v.reason, cases[i].reason);
		assert_int_equal(v.verdict, cases[i].verdict);
	}
}

static void test_only_the_judged_probes_count(void **state)
{
	static const char highpri[] = "[  120.264776] DELAY: 9 cpu=0 probe=highpri seq=1 us=9485 "
				      "due_ns=18249166874 live=0 crc=c9c7804d\n";
	static const char normal[] = "[  120.270223] DELAY: 12 cpu=0 probe=normal seq=2 us=12466 "
				     "due_ns=18249166874 live=1 crc=a49372e1\n";
	const struct console_log_cfg cfg = {
		.limit_us = 5000, .probes = judged_probes, .n_probes = 1};

	(void)state;
	for (int with_normal = 0; with_normal < 2; with_normal++) {
		auto_free char *text = xasprintf("%s%s%s%s", BANNER, DISCONNECT, highpri,
						 with_normal ? normal : "");
		struct console_log *log = console_log_new(&cfg);
		struct console_log_verdict v;

		console_log_begin_file(log, "log");
		console_log_feed(log, text, strlen(text), 0);
		console_log_end_file(log);
		console_log_judge(log, &v);
		assert_string_equal(v.reason, with_normal ? "over-limit" : "evidence.cache-loaded");
		console_log_free(log);
	}
}

static char *mark(const char *nonce)
{
	auto_free char *text = xasprintf("stallrig-mark %s", nonce);

	return xasprintf("[  100.000000] %s crc=%08x\n", text, crc32c(text, strlen(text)));
}

static void test_the_injected_control_of_our_own_recording_does_not_count(void **state)
{
	static const struct {
		const char *delay; /* after the marker, before and after the disconnect */
		const char *after;
		const char *reason;
	} cases[] = {
		{"[  110.000000] DELAY: 61\n", "[  120.130000] DELAY: 9\n",
		 "evidence.cache-loaded"},
		{"[  110.000000] DELAY: 61\n", "[  120.260000] DELAY: 150\n", "over-limit"},
		/* due long after the disconnect */
		{"[  110.000000] DELAY: 61\n", "[  130.000000] DELAY: 150\n",
		 "evidence.cache-loaded"},
		/* due before the end of the window, printed long after it */
		{"[  110.000000] DELAY: 61\n", "[  190.000000] DELAY: 69500\n", "over-limit"},
	};
	auto_free char *m = mark("t1-start");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *text = xasprintf("%s%s%s%s%s", BANNER, m, cases[i].delay,
						 DISCONNECT, cases[i].after);
		struct console_log_verdict v;

		console_log_free(judged(text, &v));
		assert_string_equal(v.reason, cases[i].reason);
	}
}

static void test_json_has_the_keys_that_scripts_rely_on(void **state)
{
	struct console_log_verdict v;
	struct console_log *log = judged(BANNER DISCONNECT "[  126.900000] DELAY: 6782\n", &v);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *verdict, *reason, *banner, *cls, *title;
	int offset, suspect, count, dropped, lines, overruns;
	double ms, t;
	json_t *root;

	(void)state;
	console_log_json(&out, log);
	root = json_loads(strbuf_str(&out), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_int_equal(
		json_unpack(
			root,
			"{s:s,s:s,s:[{s:s,s:i}],s:[{s:F,s:F,s:b}],s:[{s:s,s:s,s:i}],s:{s:i,s:i,s:i}}",
			"verdict", &verdict, "reason", &reason, "boots", "banner", &banner,
			"start_offset", &offset, "delays", "ms", &ms, "t_kernel_s", &t, "suspect",
			&suspect, "incidents", "class", &cls, "title", &title, "count", &count,
			"integrity", "dropped_messages", &dropped, "suspect_lines", &lines,
			"overruns", &overruns),
		0);
	assert_string_equal(verdict, "FAIL");
	assert_string_equal(cls, "usb-disconnect");
	assert_true(ms == 6782.0 && t == 126.9);
	assert_int_equal(offset, 0);
	json_decref(root);
	console_log_free(log);
}

static void test_more_delays_than_are_kept_are_counted(void **state)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct console_log_verdict v;
	struct console_log *log;

	(void)state;
	strbuf_adds(&text, BANNER DISCONNECT);
	for (int i = 0; i < CONSOLE_LOG_DELAYS_MAX + 1; i++)
		strbuf_addf(&text, "[  121.%06d] DELAY: %d\n", i,
			    i == CONSOLE_LOG_DELAYS_MAX ? 900 : 20);

	log = judged(strbuf_str(&text), &v);
	console_log_json(&out, log);
	/* the last one is not kept and still decides */
	assert_int_equal(v.verdict, VERDICT_FAIL);
	assert_contains(strbuf_str(&out), "\"delays_dropped\":1,");
	assert_contains(v.strength, "worst 900 ms");
	console_log_free(log);
}

static void test_several_files_are_several_consoles(void **state)
{
	const struct console_log_cfg cfg = {.limit_us = 50000,
					    .attribution_us = 1000000,
					    .probes = judged_probes,
					    .n_probes = 1};
	struct console_log *log = console_log_new(&cfg);
	static const char *const files[] = {BANNER "[    1.000000] DELAY: 7", BANNER DISCONNECT};
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		console_log_begin_file(log, i == 0 ? "a.log" : "b.log");
		console_log_feed(log, files[i], strlen(files[i]), 0);
		console_log_end_file(log);
	}
	console_log_text(&out, log, false);
	assert_contains(strbuf_str(&out), " 2 boots, 1 disconnects");
	assert_contains(strbuf_str(&out), "boot 1  in b.log\n");
	assert_contains(strbuf_str(&out), "Delays (1)");
	assert_contains(strbuf_str(&out), "at [1.000000]  in a.log");
	strbuf_reset(&out);
	console_log_json(&out, log);
	assert_contains(strbuf_str(&out), "\"counts\":false,\"boot\":1,\"file\":\"a.log\"}");
	console_log_free(log);
}

/* Without a banner both files are at boot 0, and still two consoles. */
static void test_the_same_incident_in_two_files_is_two(void **state)
{
	static const char hog[] =
		"[   12.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [dd:1]\n";
	const struct console_log_cfg cfg = {.limit_us = 50000};
	struct console_log *log = console_log_new(&cfg);
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 2; i++) {
		console_log_begin_file(log, i == 0 ? "a.log" : "b.log");
		console_log_feed(log, hog, sizeof(hog) - 1, 0);
		console_log_end_file(log);
	}
	console_log_text(&out, log, false);
	assert_contains(strbuf_str(&out), "  in a.log\n");
	assert_contains(strbuf_str(&out), "  in b.log\n");
	assert_null(strstr(strbuf_str(&out), "2 times"));
	console_log_free(log);
}

static void test_a_waived_incident_condemns_nobody_but_is_shown(void **state)
{
	static const char text[] =
		"[    0.000000] Linux version 6.1.5-x (x) #1 SMP\n"
		"[   12.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [dd:1]\n"
		"[   13.000000] rcu: INFO: rcu_sched self-detected stall on CPU\n";
	static const struct {
		const char *release;
		bool is_rcu_waived;
		const char *reason;
	} cases[] = {
		{"6.1.*", false, "rcu-stall"},
		{"6.2.*", false, "crash"},
		{NULL, true, "evidence.probe-running"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct console_waiver waivers[] = {
			{CONSOLE_SOFT_LOCKUP, "dd*", cases[i].release, "slow guest"},
			{CONSOLE_RCU_STALL, "*", NULL, "slow guest too"},
		};
		const struct console_log_cfg cfg = {.limit_us = 50000,
						    .waivers = waivers,
						    .n_waivers = cases[i].is_rcu_waived ? 2 : 1};
		struct console_log *log = console_log_new(&cfg);
		auto_strbuf struct strbuf out = STRBUF_INIT;
		struct console_log_verdict v;

		console_log_begin_file(log, "log");
		console_log_feed(log, text, sizeof(text) - 1, 0);
		console_log_end_file(log);
		console_log_judge(log, &v);
		assert_string_equal(v.reason, cases[i].reason);
		console_log_text(&out, log, false);
		assert_contains(strbuf_str(&out), "soft-lockup");
		if (i != 1) {
			assert_contains(strbuf_str(&out), "    waived: slow guest\n");
			strbuf_reset(&out);
			console_log_json(&out, log);
			assert_contains(strbuf_str(&out), "\"waived\":\"slow guest\"");
		}
		console_log_free(log);
	}
}

/* 100 bytes at 115200 baud take 8.7 ms. */
static void test_a_delay_while_the_line_was_sending_is_flagged(void **state)
{
	static const struct {
		int lines;
		int64_t baud;
		const char *reason;
	} cases[] = {
		{80, 115200, "evidence.probes-agree"}, /* 0.7 s of sending */
		{80, 4000000, "over-limit"},           /* 20 ms */
		{80, 0, "over-limit"},
		{5, 115200, "over-limit"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct console_log_cfg cfg = {
			.limit_us = 50000, .attribution_us = 1000000, .baud = cases[i].baud};
		struct console_log *log = console_log_new(&cfg);
		auto_strbuf struct strbuf text = STRBUF_INIT;
		auto_strbuf struct strbuf out = STRBUF_INIT;
		struct console_log_verdict v;

		strbuf_adds(&text, BANNER DISCONNECT);
		for (int k = 0; k < cases[i].lines; k++)
			strbuf_addf(&text, "[  120.100000] %085d\n", 0);
		strbuf_adds(&text, "[  120.800000] DELAY: 600\n");
		console_log_begin_file(log, "log");
		console_log_feed(log, strbuf_str(&text), text.len, 0);
		console_log_end_file(log);
		console_log_judge(log, &v);
		assert_string_equal(v.reason, cases[i].reason);
		console_log_text(&out, log, false);
		assert_int_equal(strstr(strbuf_str(&out), " % busy") != NULL, cases[i].baud > 0);
		assert_int_equal(strstr(strbuf_str(&out), "printing may have made it") != NULL,
				 i == 0);
		strbuf_reset(&out);
		console_log_json(&out, log);
		assert_int_equal(strstr(strbuf_str(&out), "\"printing_explains\":true") != NULL,
				 i == 0);
		assert_int_equal(strstr(strbuf_str(&out), "\"console_load_pct\":") != NULL,
				 cases[i].baud > 0);
		console_log_free(log);
	}
}

static void test_text_shows_hostile_bytes_harmlessly(void **state)
{
	struct console_log_verdict v;
	struct console_log *log =
		judged(BANNER "[   90.000000] Kernel panic - not syncing: \033[2Jx\n", &v);
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	console_log_text(&out, log, false);
	assert_null(strchr(strbuf_str(&out), '\033'));
	console_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_of_log_gets_its_verdict),
		cmocka_unit_test(test_only_the_judged_probes_count),
		cmocka_unit_test(test_the_injected_control_of_our_own_recording_does_not_count),
		cmocka_unit_test(test_json_has_the_keys_that_scripts_rely_on),
		cmocka_unit_test(test_more_delays_than_are_kept_are_counted),
		cmocka_unit_test(test_several_files_are_several_consoles),
		cmocka_unit_test(test_the_same_incident_in_two_files_is_two),
		cmocka_unit_test(test_a_waived_incident_condemns_nobody_but_is_shown),
		cmocka_unit_test(test_a_delay_while_the_line_was_sending_is_flagged),
		cmocka_unit_test(test_text_shows_hostile_bytes_harmlessly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
