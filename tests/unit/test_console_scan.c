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

static bool is_odd_slow(const char *p, size_t i)
{
	unsigned char c = (unsigned char)p[i];

	if (c == '\r')
		return p[i + 1] != '\n';
	return c != '\n' && c != '\t' && (c < 0x20 || c > 0x7e);
}

static void test_each_odd_byte_is_found_at_each_place(void **state)
{
	(void)state;
	for (size_t len = 2; len < 90; len++) {
		for (size_t at = 0; at + 1 < len; at++) {
			for (unsigned c = 0; c < 256; c++) {
				char text[96];

				memset(text, 'x', sizeof(text));
				text[len - 1] = '\n';
				text[at] = (char)c;
				assert_int_equal(scan_odd(text, 0, len),
						 is_odd_slow(text, at) ? at : len);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anchors_are_found_wherever_they_stand),
		cmocka_unit_test(test_all_groups_of_a_text_are_found),
		cmocka_unit_test(test_an_anchor_at_the_very_end_is_found),
		cmocka_unit_test(test_each_odd_byte_is_found_at_each_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
