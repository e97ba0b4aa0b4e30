/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
#include "base/child.h"
#include "base/rng.h"
#include "trial/recording.h"
#include "unit.h"

struct heard {
	struct strbuf bytes;
	nsec_t t_last_ns;
	unsigned chunks;
};

static int hear(void *self, const void *bytes, size_t n, nsec_t t_ns, struct err *e)
{
	struct heard *h = self;

	(void)e;
	strbuf_add(&h->bytes, bytes, n);
	assert_true(t_ns >= h->t_last_ns);
	h->t_last_ns = t_ns;
	h->chunks++;
	return 0;
}

static void record(const char *dir)
{
	struct recording *rec = NULL;
	struct err e = {0};

	assert_int_equal(recording_create(dir, 1000 * NSEC_PER_SEC, &rec, &e), 0);
	assert_int_equal(recording_add(rec, "one\r\n", 5, 1001 * NSEC_PER_SEC, &e), 0);
	assert_int_equal(recording_add(rec, "\0\xff two", 6, 1001 * NSEC_PER_SEC + 2500, &e), 0);
	assert_int_equal(recording_add(rec, "", 0, 1002 * NSEC_PER_SEC, &e), 0);
	assert_int_equal(recording_add(rec, "\n", 1, 1003 * NSEC_PER_SEC + 700, &e), 0);
	assert_int_equal(recording_bytes(rec), 12);
	recording_close(rec);
}

static void test_bytes_come_back_exactly_with_their_times(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *sub = xasprintf("%s/r", dir);
	struct heard h = {.bytes = STRBUF_INIT};
	struct err e = {0};

	(void)state;
	record(sub);
	assert_int_equal(recording_play(sub, hear, &h, &e), 0);
	assert_int_equal(h.bytes.len, 12);
	assert_memory_equal(h.bytes.data, "one\r\n\0\xff two\n", 12);
	assert_int_equal(h.chunks, 3);
	assert_int_equal(h.t_last_ns / NSEC_PER_USEC, 3000000);
	strbuf_release(&h.bytes);
	unit_rmdir(dir);
}

static void test_a_recording_is_never_written_over(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *sub = xasprintf("%s/r", dir);
	struct recording *rec = NULL;
	struct err e = {0};

	(void)state;
	record(sub);
	assert_int_equal(recording_create(sub, 0, &rec, &e), -EEXIST);
	assert_int_equal(e.kind, ERR_STORE);
	assert_contains(e.text, "console.raw");
	unit_rmdir(dir);
}

static void test_bytes_without_a_time_are_not_lost(void **state)
{
	char *dir = unit_tmpdir();
	struct heard h = {.bytes = STRBUF_INIT};
	struct err e = {0};

	(void)state;
	unit_write(dir, "console.raw", "abcdef");
	unit_write(dir, "console.timing", "0.500000 3\n0.1");
	assert_int_equal(recording_play(dir, hear, &h, &e), 0);
	assert_string_equal(strbuf_str(&h.bytes), "abcdef");
	strbuf_release(&h.bytes);
	unit_rmdir(dir);
}

static void test_a_broken_timing_file_is_refused_with_its_line(void **state)
{
	static const char *const bad[] = {
		"0.000001 1\nnonsense\n",   "0.000001 1\n0.00001 1\n",  "0.000001 1\n-1.000000 1\n",
		"0.000001 1\n0.000001 x\n", "0.000001 1\n0.000001 9\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *dir = unit_tmpdir();
		struct heard h = {.bytes = STRBUF_INIT};
		struct err e = {0};

		unit_write(dir, "console.raw", "abc");
		unit_write(dir, "console.timing", bad[i]);
		assert_int_equal(recording_play(dir, hear, &h, &e), -EINVAL);
		assert_contains(e.text, "console.timing:2: ");
		strbuf_release(&h.bytes);
		unit_rmdir(dir);
	}
}

static void test_rounding_of_times_does_not_add_up(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *sub = xasprintf("%s/r", dir);
	struct heard h = {.bytes = STRBUF_INIT};
	struct recording *rec = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(recording_create(sub, 0, &rec, &e), 0);
	for (int i = 1; i <= 1000; i++)
		assert_int_equal(recording_add(rec, "x", 1, i * 1999, &e), 0);
	recording_close(rec);
	assert_int_equal(recording_play(sub, hear, &h, &e), 0);
	assert_int_equal(h.t_last_ns / NSEC_PER_USEC, 1999);
	strbuf_release(&h.bytes);
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_come_back_exactly_with_their_times),
		cmocka_unit_test(test_a_recording_is_never_written_over),
		cmocka_unit_test(test_bytes_without_a_time_are_not_lost),
		cmocka_unit_test(test_a_broken_timing_file_is_refused_with_its_line),
		cmocka_unit_test(test_rounding_of_times_does_not_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
