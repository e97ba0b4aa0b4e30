/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/*
 * test_console_recordings.c - what is found in each of fixtures/recordings, in one piece and byte
 * by byte. boot-sysrq-* were recorded from Debian kernels under QEMU, the others are made up.
 */
#include "console/wqdump.h"
#include "console_util.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct events es;
static size_t n_dumps;

static const struct {
	const char *file;
	const char *events; /* "class*count" in order of the classes; suspects as "class?count" */
	size_t dumps;
} expected[] = {
	{"boot-sysrq-6.1.log", "boot*1 reboot*1 clock-unstable*1", 1},
	{"boot-sysrq-6.12.log", "boot*1 soft-lockup*1 rcu-stall*3 reboot*1 clock-unstable*2", 1},
	{"crash-arm64-cut-by-firmware.log", "boot*2 oops*1 panic*1 reboot*1", 0},
	{"crash-x86.log", "oops*1 panic*1", 0},
	{"dirty.log",
	 "delay*1 delay?3 warning*1 usb-disconnect*1 usb-enumeration*1 printk-dropped*1 "
	 "input-overrun*1",
	 0},
	{"hung-task.log", "hung-task*2", 0},
	{"iops-collapse.log", "", 0},
	{"rcu-stall.log", "rcu-stall*2", 0},
	{"syslog-and-kmsg.log",
	 "workqueue-lockup*1 workqueue-hog*1 rcu-stall*1 bug*1 usb-disconnect*2 usb-new*1 reboot*1",
	 0},
	{"unplug-delay-classic.log", "delay*3 usb-disconnect*1", 0},
	{"unplug-delay-extended.log", "delay*1 mark*2 boot*1 usb-disconnect*1 usb-new*1 io-error*1",
	 0},
	{"unplug-under-read-3.x.log", "usb-disconnect*1 io-error*3", 0},
	{"usb-errors.log", "usb-new*1 usb-enumeration*7 usb-over-current*1", 0},
	{"workqueue-lockup-5.10.log", "workqueue-lockup*1", 1},
	{"workqueue-lockup-6.12.log", "workqueue-lockup*1", 1},
};

static void on_dump(void *self, const struct wqdump *dump, unsigned boot)
{
	(void)self;
	(void)dump;
	(void)boot;
	n_dumps++;
}

struct tally {
	unsigned sure[CONSOLE_CLASS_MAX];
	unsigned suspect[CONSOLE_CLASS_MAX];
};

static void count(void *self, const struct console_event *ev)
{
	struct tally *t = self;

	if (ev->is_suspect)
		t->suspect[ev->cls]++;
	else if (!ev->is_detail)
		t->sure[ev->cls]++;
	events_add(&es, ev);
}

static void parse(const struct strbuf *sb, size_t piece, struct strbuf *ret)
{
	struct tally t = {0};
	struct console_parser *p = console_parser_new(count, &t);

	events_reset(&es);
	n_dumps = 0;
	console_parser_on_dump(p, on_dump, NULL);
	for (size_t at = 0; at < sb->len; at += piece)
		console_parser_feed(p, sb->data + at, sb->len - at < piece ? sb->len - at : piece,
				    0);
	console_parser_finish(p);
	console_parser_free(p);
	strbuf_reset(ret);
	for (int cls = 0; cls < CONSOLE_CLASS_MAX; cls++) {
		const char *name = console_class_name((enum console_class)cls);

		if (t.sure[cls] > 0)
			strbuf_addf(ret, "%s%s*%u", ret->len ? " " : "", name, t.sure[cls]);
		if (t.suspect[cls] > 0)
			strbuf_addf(ret, "%s%s?%u", ret->len ? " " : "", name, t.suspect[cls]);
	}
}

static void test_every_recording_gives_its_events_however_it_is_cut(void **state)
{
	static const size_t pieces[] = {1, 4093, 1 << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		auto_strbuf struct strbuf sb = STRBUF_INIT;
		auto_free char *path = xasprintf("%s/fixtures/recordings/%s", STALLRIG_SOURCE_DIR,
						 expected[i].file);
		auto_file FILE *f = fopen(path, "re");
		char buf[4096];
		size_t n;

		if (!f)
			fail_msg("%s: %s", path, strerror(errno));
		while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
			strbuf_add(&sb, buf, n);
		for (size_t k = 0; k < ARRAY_SIZE(pieces); k++) {
			auto_strbuf struct strbuf got = STRBUF_INIT;

			parse(&sb, pieces[k], &got);
			if (strcmp(strbuf_str(&got), expected[i].events) != 0 ||
			    n_dumps != expected[i].dumps)
				fail_msg("%s in pieces of %zu: '%s', %zu dumps\n%s",
					 expected[i].file, pieces[k], strbuf_str(&got), n_dumps,
					 strbuf_str(&es.digest));
		}
	}
}

static void test_no_recording_is_left_out(void **state)
{
	DIR *d = opendir(STALLRIG_SOURCE_DIR "/fixtures/recordings");
	const struct dirent *de;

	(void)state;
	assert_non_null(d);
	while ((de = readdir(d))) {
		bool is_known = !strstr(de->d_name, ".log");

		for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
			is_known |= strcmp(de->d_name, expected[i].file) == 0;
		if (!is_known)
			fail_msg("fixtures/recordings/%s: nobody says what is in it", de->d_name);
	}
	closedir(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_recording_gives_its_events_however_it_is_cut),
		cmocka_unit_test(test_no_recording_is_left_out),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	strbuf_release(&es.digest);
	return r;
}
