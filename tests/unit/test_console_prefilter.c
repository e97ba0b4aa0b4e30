/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/*
 * test_console_prefilter.c - the parser looks closely only at lines with an anchor. Looking at all
 * of them must give the same events, dumps and counters.
 */
#include "../../controller/console/state.h"
#include "base/rng.h"
#include "console/catalog.h"
#include "console_util.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LOG_MAX (128u << 10)

static struct events quick;
static struct events slow;
static size_t n_filtered_lines;

static int free_digests(void **state)
{
	(void)state;
	strbuf_release(&quick.digest);
	strbuf_release(&slow.digest);
	return 0;
}

static void on_dump(void *self, const struct wqdump *dump, unsigned boot)
{
	struct events *es = self;

	strbuf_addf(&es->digest, "dump b%u %zu %zu %zu %zu\n", boot, dump->n_pwqs, dump->n_pools,
		    dump->n_works, dump->n_traces);
}

static struct console_integrity parse(struct events *es, const struct strbuf *log, bool is_slow)
{
	struct console_parser *p = console_parser_new(events_add, es);
	struct console_integrity in;
	struct console_clock clock;
	struct console_clock_fit fit;

	events_reset(es);
	p->looks_at_all = is_slow;
	console_clock_init(&clock, 0);
	console_parser_on_dump(p, on_dump, es);
	console_parser_use_clock(p, &clock);
	for (size_t at = 0; at < log->len; at += 5000)
		console_parser_feed(p, log->data + at, log->len - at < 5000 ? log->len - at : 5000,
				    (int64_t)at);
	console_parser_finish(p);
	if (console_clock_fit(&clock, &fit))
		strbuf_addf(&es->digest, "clock %" PRIu64 " %" PRId64 " %" PRId64 " %a\n", fit.n,
			    fit.host_ref_ns, fit.error_ns, fit.skew_ppm);
	in = *console_parser_integrity(p);
	console_parser_free(p);
	return in;
}

static void compare(const struct strbuf *log, const char *name)
{
	struct console_integrity a = parse(&quick, log, false);
	struct console_integrity b = parse(&slow, log, true);

	if (strcmp(strbuf_str(&quick.digest), strbuf_str(&slow.digest)) != 0)
		fail_msg("%s: with the prefilter\n%swithout\n%s", name, strbuf_str(&quick.digest),
			 strbuf_str(&slow.digest));
	if (memcmp(&a, &b, sizeof(a)) != 0)
		fail_msg("%s: the integrity counters differ", name);
	n_filtered_lines += a.lines;
}

static bool read_file(const char *name, struct strbuf *ret)
{
	auto_free char *path = xasprintf("%s/fixtures/recordings/%s", STALLRIG_SOURCE_DIR, name);
	auto_file FILE *f = fopen(path, "re");
	char buf[4096];
	size_t n;

	strbuf_reset(ret);
	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(ret, buf, n);
	return f != NULL;
}

static void for_each_recording(void (*fn)(const struct strbuf *log, const char *name))
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	DIR *d = opendir(STALLRIG_SOURCE_DIR "/fixtures/recordings");
	const struct dirent *de;

	assert_non_null(d);
	while ((de = readdir(d))) {
		if (de->d_name[0] == '.')
			continue;
		assert_true(read_file(de->d_name, &log));
		fn(&log, de->d_name);
	}
	closedir(d);
}

static void test_recordings_and_detection_cases_give_the_same(void **state)
{
	(void)state;
	n_filtered_lines = 0;
	for_each_recording(compare);
	assert_true(n_filtered_lines > 3000);
}

/* Bytes lost, doubled and flipped, lines cut and glued, in one log of every kind. */
static void damage(const struct strbuf *log, const char *name)
{
	static const char meaning[] = "\n\r\0\033\xff[]:. 0";
	auto_strbuf struct strbuf dirty = STRBUF_INIT;
	struct rng r;

	rng_init(&r, log->len);
	for (int round = 0; round < (log->len > 20000 ? 6 : 60); round++) {
		uint64_t density = 10 + rng_below(&r, 400);

		strbuf_reset(&dirty);
		for (size_t i = 0; i < log->len && dirty.len < LOG_MAX; i++) {
			if (rng_below(&r, density) > 0) {
				strbuf_add(&dirty, log->data + i, 1);
				continue;
			}
			switch (rng_below(&r, 4)) {
			case 0: /* lost */
				i += (size_t)rng_below(&r, 8);
				break;
			case 1: /* twice */
				strbuf_add(&dirty, log->data + i, 1);
				strbuf_add(&dirty, log->data + i, 1);
				break;
			case 2:
				strbuf_add(&dirty, &meaning[rng_below(&r, sizeof(meaning) - 1)], 1);
				break;
			default: /* the log goes on elsewhere */
				i = (size_t)rng_below(&r, log->len);
				break;
			}
		}
		compare(&dirty, name);
	}
}

static void test_damaged_logs_give_the_same(void **state)
{
	(void)state;
	for_each_recording(damage);
}

/* Without a stamp, with a harmless one, far along in a long line: an anchor counts everywhere. */
static void test_every_example_gives_the_same_wherever_it_stands(void **state)
{
	static const char *const heads[] = {"",
					    "[    1.000000] ",
					    "[    1.000000][  T140] ",
					    "[    1.000000] x [    1.000001] ",
					    "6,1,2000000,-;",
					    "Jan  1 00:00:00 h kernel: "};
	auto_strbuf struct strbuf log = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < console_rule_count(); i++) {
		strbuf_reset(&log);
		for (size_t k = 0; k < ARRAY_SIZE(heads); k++) {
			strbuf_adds(&log, heads[k]);
			for (size_t pad = 0; pad < k * 13; pad++)
				strbuf_adds(&log, ".");
			strbuf_addf(&log, "%s\n%s%s\r\n", console_rule(i)->example, heads[k],
				    console_rule(i)->example);
		}
		compare(&log, console_rule(i)->example);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recordings_and_detection_cases_give_the_same),
		cmocka_unit_test(test_damaged_logs_give_the_same),
		cmocka_unit_test(test_every_example_gives_the_same_wherever_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, free_digests);
}
