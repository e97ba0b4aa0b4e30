/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/rng.h"
#include "unit.h"

#include <sys/stat.h>

static void test_a_file_is_read_up_to_its_limit(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/f", dir);
	struct err e = {0};

	(void)state;
	unit_write(dir, "f", "12345");
	assert_int_equal(file_read(path, 5, &sb, &e), 0);
	assert_string_equal(strbuf_str(&sb), "12345");
	strbuf_reset(&sb);
	assert_int_equal(file_read(path, 4, &sb, &e), -EFBIG);
	assert_contains(e.text, "/f: larger than 4 bytes");
	assert_int_equal(file_read("/nonexistent/x", 4, &sb, &e), -ENOENT);
	assert_contains(e.text, "/nonexistent/x: No such file");
	unit_rmdir(dir);
}

static void test_a_failed_atomic_write_leaves_the_old_file(void **state)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/f", dir);
	auto_free char *tmp = xasprintf("%s/f.tmp", dir);
	struct err e = {0};

	(void)state;
	unit_write(dir, "f", "old");
	/* the temporary name is taken by a folder: the write cannot begin */
	assert_int_equal(mkdir(tmp, 0755), 0);
	assert_true(file_write_atomic(path, "new", 3, &e) < 0);
	assert_int_equal(file_read(path, 100, &sb, &e), 0);
	assert_string_equal(strbuf_str(&sb), "old");
	unit_rmdir(dir);
}

static void test_folders_are_made_with_their_parents_and_removed_with_their_children(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *deep = xasprintf("%s/a/b/c", dir);
	auto_free char *top = xasprintf("%s/a", dir);
	struct err e = {0};

	(void)state;
	assert_int_equal(dir_make(deep, &e), 0);
	assert_int_equal(dir_make(deep, &e), 0);
	unit_write(deep, "f", "x");
	assert_int_equal(dir_remove(top, &e), 0);
	assert_int_equal(access(top, F_OK), -1);
	assert_int_equal(dir_remove(top, &e), 0);
	unit_rmdir(dir);
}

static void test_hashes_are_the_published_ones(void **state)
{
	char hex[SHA256_HEX_SIZE];

	(void)state;
	sha256_bytes("abc", 3, hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
	assert_int_equal(crc32c("", 0), 0);
}

static void test_the_same_seed_gives_the_same_numbers(void **state)
{
	struct rng a;
	struct rng b;

	(void)state;
	rng_init(&a, 42);
	rng_init(&b, 42);
	for (int i = 0; i < 1000; i++) {
		double u = rng_unit(&a);

		assert_true(u >= 0 && u < 1);
		(void)rng_unit(&b);
		assert_true(rng_below(&a, 7) < 7);
		(void)rng_u64(&b);
	}
	assert_true(rng_u64(&a) == rng_u64(&b));
}

static void test_own_variable_wins_over_xdg_and_home(void **state)
{
	(void)state;
	assert_int_equal(setenv("HOME", "/h", 1), 0);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	assert_int_equal(unsetenv("STALLRIG_CACHE"), 0);
	auto_free char *home = path_cache("k");
	assert_string_equal(home, "/h/.cache/stallrig/k");
	assert_int_equal(setenv("XDG_CACHE_HOME", "/x", 1), 0);
	auto_free char *xdg = path_cache("k");
	assert_string_equal(xdg, "/x/stallrig/k");
	assert_int_equal(setenv("STALLRIG_CACHE", "/own", 1), 0);
	auto_free char *own = path_cache("");
	assert_string_equal(own, "/own");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_is_read_up_to_its_limit),
		cmocka_unit_test(test_a_failed_atomic_write_leaves_the_old_file),
		cmocka_unit_test(
			test_folders_are_made_with_their_parents_and_removed_with_their_children),
		cmocka_unit_test(test_hashes_are_the_published_ones),
		cmocka_unit_test(test_the_same_seed_gives_the_same_numbers),
		cmocka_unit_test(test_own_variable_wins_over_xdg_and_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
