/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "agent_unit.h"
#include "base/base64.h"

#define DIR "/sys/fs/pstore/"

static int setup(void **state)
{
	*state = unit_tmpdir();
	plant(*state, DIR "dmesg-erst-1", "Panic#1 Part1\nline\n");
	plant(*state, "/sys/module/pstore/parameters/backend", "erst\n");
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

/* What the lines of an answer stand for. */
static void decode(const struct answered *got, struct strbuf *ret)
{
	auto_free char *lines = xstrdup(strbuf_str(&got->lines));
	char *rest = lines;

	strbuf_reset(ret);
	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
		assert_true(strbuf_add_from_base64(ret, line));
}

static void test_records_are_listed_with_their_backend(void **state)
{
	struct answered got = {0};

	plant_link(*state, DIR "dmesg-link", "/etc/passwd");
	plant(*state, DIR ".hidden", "x");
	plant(*state, DIR "with blank", "x");
	assert_int_equal(run_verb(*state, "pstore", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "name=dmesg-erst-1 bytes=19\n");
	assert_string_equal(got.ok, "records=1 backend=erst");

	plant(*state, "/sys/module/pstore/parameters/backend", "(null)\n");
	assert_int_equal(run_verb(*state, "pstore", &got), 0);
	assert_string_equal(got.ok, "records=1");
	strbuf_release(&got.lines);
}

static void test_a_kernel_without_pstore_says_so(void **state)
{
	auto_free char *dir = xasprintf("%s/sys/fs", (char *)*state);
	struct answered got = {0};
	struct err e = {0};

	assert_int_equal(dir_remove(dir, &e), 0);
	assert_int_equal(run_verb(*state, "pstore", &got), -ENOENT);
	assert_string_equal(got.err, "ENOENT /sys/fs/pstore: No such file or directory");
}

static void test_each_byte_of_a_record_comes_over(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 3, 899, 900, 901, 902, 1800, 65535, 65536};
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct answered got = {0};
	static char content[65536];

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)(i * 7 + i / 256);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		plant_bytes(*state, DIR "console-ramoops-0", content, sizes[i]);
		assert_int_equal(run_verb(*state, "pstore-read name=console-ramoops-0", &got), 0);
		decode(&got, &bytes);
		assert_int_equal(bytes.len, sizes[i]);
		assert_memory_equal(strbuf_str(&bytes), content, sizes[i]);
		assert_int_equal(number(&got, "bytes"), sizes[i]);
		assert_int_equal(number(&got, "sent"), sizes[i]);
	}
	strbuf_release(&got.lines);
}

static void test_a_long_record_is_cut(void **state)
{
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	auto_free char *content = xcalloc(65537, 1);
	struct answered got = {0};

	plant_bytes(*state, DIR "dmesg-ramoops-0", content, 65537);
	assert_int_equal(run_verb(*state, "pstore-read name=dmesg-ramoops-0", &got), 0);
	decode(&got, &bytes);
	assert_int_equal(bytes.len, 65536);
	assert_int_equal(number(&got, "bytes"), 65537);
	assert_int_equal(number(&got, "sent"), 65536);
	strbuf_release(&got.lines);
}

static void test_a_record_is_removed_and_nothing_else(void **state)
{
	static const char *const bad[] = {"name=../../../etc/x", "name=", "name=.x", "name=a/b"};
	struct answered got = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_free char *reads = xasprintf("pstore-read %s", bad[i]);
		auto_free char *removes = xasprintf("pstore-remove %s", bad[i]);

		assert_int_equal(run_verb(*state, reads, &got), -EINVAL);
		assert_int_equal(run_verb(*state, removes, &got), -EINVAL);
	}
	assert_int_equal(run_verb(*state, "pstore-remove name=dmesg-erst-1", &got), 0);
	assert_int_equal(run_verb(*state, "pstore-remove name=dmesg-erst-1", &got), -ENOENT);
	assert_int_equal(run_verb(*state, "pstore-read name=dmesg-erst-1", &got), -ENOENT);
	assert_int_equal(run_verb(*state, "pstore", &got), 0);
	assert_string_equal(got.ok, "records=0 backend=erst");
	strbuf_release(&got.lines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_records_are_listed_with_their_backend),
		TEST(test_a_kernel_without_pstore_says_so),
		TEST(test_each_byte_of_a_record_comes_over),
		TEST(test_a_long_record_is_cut),
		TEST(test_a_record_is_removed_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
