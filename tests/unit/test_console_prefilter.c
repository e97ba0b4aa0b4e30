/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/*
 * test_console_prefilter.c - the parser looks closely only at lines with an anchor, and takes most
 * lines out of the caller's buffer. Looking at all of them, byte by byte, must give the same
 * events, dumps and counters.
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

/* cut_seed chooses how the log is cut up; 0: always the same pieces. */
static struct console_integrity parse(struct events *es, const struct strbuf *log, bool is_slow,
				      uint64_t cut_seed)
{
	static const size_t sizes[] = {1, 2, 15, 64, 700, 5000, 8192, 20000};
	struct rng r;
	size_t n;
	struct console_parser *p = console_parser_new(events_add, es);
	struct console_integrity in;
	struct console_clock clock;
	struct console_clock_fit fit;

	events_reset(es);
	p->groups_always = is_slow ? GROUP_ALL : 0;
	console_clock_init(&clock, 0);
	console_parser_on_dump(p, on_dump, es);
	console_parser_use_clock(p, &clock);
	rng_init(&r, cut_seed);
	for (size_t at = 0; at < log->len; at += n) {
		n = cut_seed ? 1 + (size_t)rng_below(&r, sizes[rng_below(&r, ARRAY_SIZE(sizes))])
			     : 5000;
		if (n > log->len - at)
			n = log->len - at;
		console_parser_feed(p, log->data + at, n, (int64_t)at);
	}
	console_parser_finish(p);
	if (console_clock_fit(&clock, &fit))
		strbuf_addf(&es->digest, "clock %" PRIu64 " %" PRId64 " %" PRId64 " %a\n", fit.n,
			    fit.host_ref_ns, fit.error_ns, fit.skew_ppm);
	in = *console_parser_integrity(p);
	console_parser_free(p);
	return in;
}

static void compare_cut(const struct strbuf *log, const char *name, uint64_t cut_seed)
{
	struct console_integrity a = parse(&quick, log, false, cut_seed);
	struct console_integrity b = parse(&slow, log, true, cut_seed);

	if (strcmp(strbuf_str(&quick.digest), strbuf_str(&slow.digest)) != 0)
		fail_msg("%s: with the prefilter\n%swithout\n%s", name, strbuf_str(&quick.digest),
			 strbuf_str(&slow.digest));
	if (memcmp(&a, &b, sizeof(a)) != 0)
		fail_msg("%s: the integrity counters differ", name);
	n_filtered_lines += a.lines;
}

static void compare(const struct strbuf *log, const char *name)
{
	compare_cut(log, name, 0);
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

#define RECORDINGS_MAX 32
#define MIXTURES       400

static struct strbuf recordings[RECORDINGS_MAX];
static size_t n_recordings;

static void keep(const struct strbuf *log, const char *name)
{
	(void)name;
	assert_true(n_recordings < RECORDINGS_MAX);
	recordings[n_recordings] = (struct strbuf)STRBUF_INIT;
	strbuf_add(&recordings[n_recordings++], log->data, log->len);
}

/* Bytes of one recording from a random place, with damages at most places or at none. */
static void add_damaged_part(struct rng *r, struct strbuf *ret)
{
	const struct strbuf *from = &recordings[rng_below(r, n_recordings)];
	size_t at = (size_t)rng_below(r, from->len);
	size_t n = 1 + (size_t)rng_below(r, 1u << rng_below(r, 14));
	uint64_t density = 1u << (3 + rng_below(r, 12));

	for (; n > 0 && at < from->len; n--, at++) {
		char c = from->data[at];

		if (rng_below(r, density) > 0) {
			strbuf_add(ret, &c, 1);
			continue;
		}
		switch (rng_below(r, 6)) {
		case 0: /* lost */
			break;
		case 1: /* twice */
			strbuf_add(ret, &c, 1);
			strbuf_add(ret, &c, 1);
			break;
		case 2: /* changed in one bit */
			c = (char)((unsigned char)c ^ 1u << rng_below(r, 8));
			strbuf_add(ret, &c, 1);
			break;
		case 3: /* the line is split */
			strbuf_adds(ret, rng_below(r, 2) ? "\n" : "\r\n");
			strbuf_add(ret, &c, 1);
			break;
		case 4: /* glued: the rest of the line, or the line end, is missing */
			while (at + 1 < from->len && from->data[at] != '\n')
				at++;
			break;
		default: /* longer than a line may be, or than a window is */
			for (uint64_t k = rng_below(r, 10000); k > 0; k--)
				strbuf_add(ret, &c, 1);
			break;
		}
	}
}

static void test_damaged_mixtures_give_the_same_however_they_are_cut(void **state)
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	uint64_t seed = 41;
	struct rng r;

	(void)state;
	rng_init(&r, seed);
	n_recordings = 0;
	for_each_recording(keep);
	for (int i = 0; i < MIXTURES; i++) {
		auto_free char *name = xasprintf("seed %" PRIu64 ", mixture %d", seed, i);
		struct console_integrity whole;
		struct console_integrity cut;

		strbuf_reset(&log);
		for (uint64_t parts = 1 + rng_below(&r, 20); parts > 0 && log.len < LOG_MAX;
		     parts--)
			add_damaged_part(&r, &log);
		compare_cut(&log, name, 1 + rng_u64(&r) / 2);
		whole = events_of(&quick, log.data, log.len, 0);
		cut = events_of(&slow, log.data, log.len, 1 + (size_t)rng_below(&r, 9000));
		if (strcmp(strbuf_str(&quick.digest), strbuf_str(&slow.digest)) != 0 ||
		    memcmp(&whole, &cut, sizeof(whole)) != 0)
			fail_msg("%s: whole\n%scut\n%s", name, strbuf_str(&quick.digest),
				 strbuf_str(&slow.digest));
	}
	for (size_t i = 0; i < n_recordings; i++)
		strbuf_release(&recordings[i]);
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
		cmocka_unit_test(test_damaged_mixtures_give_the_same_however_they_are_cut),
		cmocka_unit_test(test_every_example_gives_the_same_wherever_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, free_digests);
}
