/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_scan.c - the quick searches find what a slow one finds. */
#include "../../controller/console/scan.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct scan s;

static bool is_anchor_at(const char *p, size_t i, size_t end)
{
	for (size_t k = 0; k < s.n_anchors; k++) {
		if (end - i >= s.lengths[k] && memcmp(p + i, s.anchors[k], s.lengths[k]) == 0)
			return true;
	}
	return false;
}

static bool has_anchor(const char *p, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		if (is_anchor_at(p, i, end))
			return true;
	}
	return false;
}

static void test_anchors_are_found_wherever_they_stand(void **state)
{
	struct rng r;

	(void)state;
	scan_init(&s);
	scan_add(&s, "abcab", 1);
	scan_add(&s, "bbbbb", 1);
	scan_add(&s, "cabcabc", 1); /* contains a known one: skipped */
	scan_add(&s, "acacacaca", 1);
	assert_int_equal(s.n_anchors, 3);
	rng_init(&r, 11);
	for (int i = 0; i < 100000; i++) {
		char text[64];
		size_t n = 1 + (size_t)rng_below(&r, sizeof(text));
		size_t from;
		size_t got;

		for (size_t k = 0; k < n; k++)
			text[k] = (char)('a' + rng_below(&r, 3));
		text[n - 1] = '\n';
		from = (size_t)rng_below(&r, n);
		got = scan_anchor(&s, text, from, n);
		assert_true(got == n ? !has_anchor(text, from, n) : is_anchor_at(text, got, n));
		assert_true(got >= from);
	}
}

static void test_all_groups_of_a_text_are_found(void **state)
{
	static const char text[] = "xx panic attack xx\n";

	(void)state;
	scan_init(&s);
	scan_add(&s, "panic", 1);
	scan_add(&s, "panic attack", 2); /* contains the first */
	scan_add(&s, "c atta", 4);       /* overlaps */
	scan_add(&s, "panic!", 8);
	scan_add(&s, "other", 16);
	assert_int_equal(scan_groups(&s, text, 0, sizeof(text) - 1), 1 | 2 | 4 | 8);
	assert_int_equal(scan_groups(&s, text, 4, sizeof(text) - 1), 4);
	assert_int_equal(scan_groups(&s, text, 12, sizeof(text) - 1), 0);
}

static void test_an_anchor_at_the_very_end_is_found(void **state)
{
	(void)state;
	scan_init(&s);
	scan_add(&s, "panic", 1);
	for (size_t pad = 0; pad < 7; pad++) {
		char text[16];

		memset(text, '.', sizeof(text));
		memcpy(text + pad, "panic\n", 6);
		assert_int_equal(scan_anchor(&s, text, 0, pad + 6), pad);
		assert_int_equal(scan_anchor(&s, text, 0, 1), 1);
	}
}

/* More anchors than the table has room for without chance hits, at every place of a window. */
static void test_chance_hits_are_told_from_anchors(void **state)
{
	static char anchors[SCAN_ANCHORS_MAX][12];
	static char text[SCAN_WINDOW];
	struct rng r;
	size_t n_found = 0;

	(void)state;
	rng_init(&r, 13);
	scan_init(&s);
	for (size_t i = 0; i < SCAN_ANCHORS_MAX; i++) {
		size_t len = SCAN_ANCHOR_MIN + i % 7;

		for (size_t k = 0; k < len; k++)
			anchors[i][k] = (char)(' ' + rng_below(&r, 95));
		scan_add(&s, anchors[i], (uint8_t)(1u << i % 8));
	}
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + (size_t)rng_below(&r, sizeof(text));
		size_t at = 0;

		for (size_t i = 0; i < n; i++)
			text[i] = (char)rng_below(&r, 256);
		for (size_t k = rng_below(&r, 20); k > 0 && n > 32; k--) {
			const char *a = anchors[rng_below(&r, SCAN_ANCHORS_MAX)];

			memcpy(text + rng_below(&r, n - 16), a, strlen(a));
		}
		text[n - 1] = '\n';
		while (at < n) {
			size_t got = scan_anchor(&s, text, at, n);

			assert_true(got == n ? !has_anchor(text, at, n)
					     : is_anchor_at(text, got, n));
			n_found += got < n;
			at = got + 1;
		}
	}
	assert_true(n_found > 500);
}

static bool is_odd_slow(const char *p, size_t i)
{
	unsigned char c = (unsigned char)p[i];

	if (c == '\r')
		return p[i + 1] != '\n';
	return c != '\n' && c != '\t' && (c < 0x20 || c > 0x7e);
}

static struct scan_marks marks;

/* What this processor cannot do is as the portable way. */
static scan_marks_fn by(enum scan_marks_how how)
{
	scan_marks_fn fn = scan_marks_by(how);

	return fn ? fn : scan_marks_by(SCAN_MARKS_PORTABLE);
}

static void test_each_odd_byte_is_found_at_each_place(void **state)
{
	(void)state;
	for (size_t len = 2; len < 140; len++) {
		for (size_t at = 0; at + 1 < len; at++) {
			for (unsigned c = 0; c < 256; c++) {
				char text[144];
				size_t odd;

				memset(text, 'x', sizeof(text));
				text[len - 1] = '\n';
				text[at] = (char)c;
				odd = is_odd_slow(text, at) ? at : len;
				for (enum scan_marks_how how = 0; how < SCAN_MARKS_HOW_MAX; how++) {
					assert_int_equal(by(how)(text, len, &marks), odd);
					assert_int_equal(marks.n_ends, (odd == len) + (c == '\n'));
				}
			}
		}
	}
}

static void test_a_cr_at_the_very_end_is_odd_because_nobody_knows_what_follows(void **state)
{
	char text[SCAN_WINDOW];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t n = 1; n <= sizeof(text); n += 63) {
		for (enum scan_marks_how how = 0; how < SCAN_MARKS_HOW_MAX; how++) {
			text[n - 1] = '\r';
			assert_int_equal(by(how)(text, n, &marks), n - 1);
			text[n - 1] = 'x';
			assert_int_equal(by(how)(text, n, &marks), n);
		}
	}
}

static void check_marks(const char *text, size_t odd)
{
	size_t n_ends = 0;
	size_t n_stamps = 0;

	for (size_t i = 0; i < odd; i++) {
		if (text[i] == '\n')
			assert_int_equal(marks.ends[n_ends++], i);
		else if (text[i] == ']' && i >= 7 && text[i - 7] == '.')
			assert_int_equal(marks.stamps[n_stamps++], i);
	}
	assert_int_equal(marks.n_ends, n_ends);
	assert_int_equal(marks.n_stamps, n_stamps);
	assert_int_equal(marks.ends[n_ends], SCAN_WINDOW);
	assert_int_equal(marks.stamps[n_stamps], SCAN_WINDOW);
}

static void test_line_ends_and_stamps_are_marked_up_to_a_full_window(void **state)
{
	char text[SCAN_WINDOW];
	struct rng r;

	(void)state;
	rng_init(&r, 12);
	for (int round = 0; round < 600; round++) {
		size_t n = round < 2 ? sizeof(text) : 1 + (size_t)rng_below(&r, sizeof(text));
		uint64_t density = 1 + rng_below(&r, round % 3 ? 4 : 200);
		bool has_odd = rng_below(&r, 2);
		size_t odd = n;

		for (size_t i = 0; i < n; i++) {
			text[i] = rng_below(&r, density) ? 'x' : "\n].\t"[rng_below(&r, 4)];
			if (i >= 7 && rng_below(&r, 9) == 0)
				text[i] = text[i - 7] == '.' ? ']' : text[i];
		}
		if (round < 2)
			memset(text, round ? '\n' : ']', n);
		if (has_odd) {
			odd = (size_t)rng_below(&r, n);
			text[odd] = '\x7f';
		}
		for (enum scan_marks_how how = 0; how < SCAN_MARKS_HOW_MAX; how++) {
			assert_int_equal(by(how)(text, n, &marks), odd);
			check_marks(text, odd);
		}
	}
	for (enum scan_marks_how how = 0; how < SCAN_MARKS_HOW_MAX; how++) {
		assert_int_equal(by(how)(text, 0, &marks), 0);
		check_marks(text, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anchors_are_found_wherever_they_stand),
		cmocka_unit_test(test_all_groups_of_a_text_are_found),
		cmocka_unit_test(test_an_anchor_at_the_very_end_is_found),
		cmocka_unit_test(test_chance_hits_are_told_from_anchors),
		cmocka_unit_test(test_each_odd_byte_is_found_at_each_place),
		cmocka_unit_test(
			test_a_cr_at_the_very_end_is_odd_because_nobody_knows_what_follows),
		cmocka_unit_test(test_line_ends_and_stamps_are_marked_up_to_a_full_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
