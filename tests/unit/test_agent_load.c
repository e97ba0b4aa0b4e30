/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* The real dd and sha256sum, once of this system and once of busybox, as a target has them. */
#include "agent_unit.h"
#include "base/parse.h"

#include <fcntl.h>
#include <sys/stat.h>

struct bench {
	char *root;
	char *path; /* PATH before */
};

static int setup_system(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	b->root = unit_tmpdir();
	b->path = xstrdup(getenv("PATH"));
	*state = b;
	return 0;
}

static int setup_busybox(void **state)
{
	static const char *const names[] = {"dd", "sha256sum"};
	auto_free char *path = NULL;
	struct bench *b;

	setup_system(state);
	b = *state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *link = xasprintf("%s/%s", b->root, names[i]);

		if (access("/bin/busybox", X_OK) < 0)
			fail_msg("/bin/busybox: install busybox-static");
		assert_int_equal(symlink("/bin/busybox", link), 0);
	}
	path = xasprintf("%s:%s", b->root, b->path);
	assert_int_equal(setenv("PATH", path, 1), 0);
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	(void)setenv("PATH", b->path, 1);
	unit_rmdir(b->root);
	free(b->path);
	free(b);
	return 0;
}

static void test_dd_counts_full_and_partial_records_and_bytes(void **state)
{
	struct bench *b = *state;
	struct answered got = {0};
	auto_free char *copy = NULL;
	char body[512], text[2501];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	plant(b->root, "/in", text);
	(void)snprintf(body, sizeof(body), "dd if=%s/in of=%s/out bs=1000", b->root, b->root);
	assert_int_equal(run_verb(b->root, body, &got), 0);
	assert_int_equal(number(&got, "records_in"), 2);
	assert_int_equal(number(&got, "records_in_partial"), 1);
	assert_int_equal(number(&got, "records_out"), 2);
	assert_int_equal(number(&got, "records_out_partial"), 1);
	assert_int_equal(number(&got, "bytes"), 2500);
	assert_int_equal(number(&got, "exit"), 0);
	assert_true(number(&got, "elapsed_ms") <= number(&got, "wall_ms"));
	copy = harvest(b->root, "/out");
	assert_string_equal(copy, text);

	/* without of= it reads into nothing */
	(void)snprintf(body, sizeof(body), "dd if=%s/in bs=500 skip=1 count=2", b->root);
	assert_int_equal(run_verb(b->root, body, &got), 0);
	assert_int_equal(number(&got, "bytes"), 1000);
}

static void test_dd_says_how_far_it_is_at_most_twice_a_second(void **state)
{
	struct bench *b = *state;
	struct answered got = {0};
	const char *last = NULL;
	int64_t bytes, wall_ms;
	unsigned n = 0;
	char body[256];

	/* one byte a record: a million of them take a while on any machine */
	(void)snprintf(body, sizeof(body), "dd if=/dev/zero bs=1 count=1200000");
	assert_int_equal(run_verb(b->root, body, &got), 0);
	wall_ms = number(&got, "wall_ms");
	for (const char *p = strbuf_str(&got.lines); *p; p = strchr(p, '\n') + 1) {
		last = p;
		n++;
	}
	assert_int_equal(number(&got, "bytes"), 1200000);
	assert_true(n <= wall_ms / 500);
	assert_true(n > 0 || wall_ms < 700);
	if (last) {
		assert_true(parse_pair_i64(last, "bytes", &bytes));
		assert_in_range(bytes, 1, 1200000);
	}
	strbuf_release(&got.lines);
}

/* What it says is no part of what it copies, also while it copies. */
static void test_how_far_dd_is_has_its_messages_not_in_it(void **state)
{
	static const char script[] =
		"#!/bin/sh\n"
		"echo 'a message of some bytes' >&2\n"
		"sleep 0.8\n"
		"printf '0+0 records in\\n0+0 records out\\n0 bytes copied, 0.8 s\\n' >&2\n"
		"sleep 0.8\n";
	struct bench *b = *state;
	auto_free char *path = xasprintf("%s/bin:%s", b->root, b->path);
	auto_free char *dd = xasprintf("%s/bin/dd", b->root);
	struct answered got = {0};
	unsigned n = 0;

	plant(b->root, "/bin/dd", script);
	assert_int_equal(chmod(dd, 0755), 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(run_verb(b->root, "dd if=/dev/zero", &got), 0);
	assert_true(number(&got, "wall_ms") >= 1600);
	for (const char *p = strbuf_str(&got.lines); *p; p = strchr(p, '\n') + 1, n++) {
		int64_t bytes;

		assert_true(parse_pair_i64(p, "bytes", &bytes));
		assert_int_equal(bytes, 0);
	}
	assert_true(n >= 1);
	strbuf_release(&got.lines);
}

static void test_dd_that_fails_gives_its_own_words(void **state)
{
	struct bench *b = *state;
	struct answered got = {0};

	assert_int_equal(run_verb(b->root, "dd if=/nonexistent/file", &got), -EIO);
	assert_contains(got.err, "EIO dd: exit 1: dd: ");
	assert_contains(got.err, "/nonexistent/file");
	assert_contains(got.err, "No such file or directory");
	assert_int_equal(run_verb(b->root, "dd if=/dev/zero bs=frog", &got), -EIO);
	assert_contains(got.err, "frog");
}

static void test_dd_with_a_full_disk_answers_what_was_written(void **state)
{
	struct bench *b = *state;
	struct answered got = {0};
	int r;

	r = run_verb(b->root, "dd if=/dev/zero of=/dev/full bs=512 count=4", &got);
	/* GNU still prints its records, busybox does not */
	if (r == 0) {
		assert_int_equal(number(&got, "exit"), 1);
		assert_int_equal(number(&got, "records_out"), 0);
		assert_int_equal(number(&got, "bytes"), 0);
		assert_contains(got.ok, "No%20space%20left");
	} else {
		assert_int_equal(r, -EIO);
		assert_contains(got.err, "No space left on device");
	}
}

static void test_sha256_gives_the_hash_of_a_file(void **state)
{
	struct bench *b = *state;
	char want[SHA256_HEX_SIZE], body[256], text[512];
	struct answered got = {0};
	struct err e = {0};

	plant(b->root, "/file", "some content\n");
	sha256_bytes("some content\n", 13, want);
	(void)snprintf(body, sizeof(body), "sha256 path=%s/file", b->root);
	assert_int_equal(run_verb(b->root, body, &got), 0);
	(void)snprintf(text, sizeof(text), "sha256=%s bytes=13", want);
	assert_string_equal(got.ok, text);

	plant(b->root, "/odd\\name", "some content\n");
	(void)snprintf(body, sizeof(body), "sha256 path=%s/odd\\name", b->root);
	assert_int_equal(run_verb(b->root, body, &got), 0);
	assert_string_equal(got.ok, text);

	assert_int_equal(run_verb(b->root, "sha256 path=/nonexistent", &got), -ENOENT);
	assert_int_equal(run_verb(b->root, "sha256 path=-c", &got), -EINVAL);
	assert_int_equal(run_verb(b->root, "sha256 path=/proc", &got), -EIO);
	(void)e;
}

static void test_a_program_that_is_missing_is_named(void **state)
{
	struct bench *b = *state;
	struct answered got = {0};

	assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
	assert_int_equal(run_verb(b->root, "dd if=/dev/zero count=1", &got), -ENOENT);
	assert_string_equal(got.err, "ENOENT dd: No such file or directory");
	assert_int_equal(run_verb(b->root, "sha256 path=/proc/version", &got), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define BOTH(test)                                                     \
	cmocka_unit_test_setup_teardown(test, setup_system, teardown), \
		cmocka_unit_test_setup_teardown(test, setup_busybox, teardown)
		BOTH(test_dd_counts_full_and_partial_records_and_bytes),
		BOTH(test_dd_says_how_far_it_is_at_most_twice_a_second),
		cmocka_unit_test_setup_teardown(test_how_far_dd_is_has_its_messages_not_in_it,
						setup_system, teardown),
		BOTH(test_dd_that_fails_gives_its_own_words),
		BOTH(test_dd_with_a_full_disk_answers_what_was_written),
		BOTH(test_sha256_gives_the_hash_of_a_file),
		BOTH(test_a_program_that_is_missing_is_named),
	};

	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
