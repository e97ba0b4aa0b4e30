/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_cpio.c - the archive as the cpio program sees it. */
#include "base/child.h"
#include "base/fdio.h"
#include "kernels/cpio.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void fill(struct cpio *c)
{
	cpio_add_dir(c, "bin");
	cpio_add_file(c, "bin/a", 0755, "12345", 5);
	cpio_add_file(c, "bin/empty", 0600, NULL, 0);
	cpio_add_symlink(c, "bin/sh", "a");
	cpio_add_char_device(c, "console", 0600, 5, 1);
	cpio_finish(c);
}

static void run_cpio(const struct cpio *c, const char *option, const char *pattern,
		     struct strbuf *ret)
{
	char path[] = "/tmp/test-kernels-cpio-XXXXXX";
	const char *const argv[] = {"cpio", "--quiet", "--numeric-uid-gid", option, pattern, NULL};
	auto_waiter struct waiter *w = waiter_new(NULL);
	auto_fd int fd = mkstemp(path);
	const struct child_cfg cfg = {
		.argv = argv, .stdin_fd = fd, .stdout_fd = -1, .stderr_fd = -1};
	struct err e = {0};
	int r;

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, c->out.data, c->out.len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	r = child_run(w, &cfg, 10 * NSEC_PER_SEC, ret, &e);
	(void)unlink(path);
	if (r < 0)
		fail_msg("%s", e.text);
}

static void test_cpio_lists_every_kind_of_entry(void **state)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct cpio c = CPIO_INIT;

	(void)state;
	fill(&c);
	run_cpio(&c, "-itv", NULL, &out);
	strbuf_release(&c.out);
	assert_non_null(strstr(strbuf_str(&out), "drwxr-xr-x   1 0        0               0"));
	assert_non_null(strstr(strbuf_str(&out), "-rwxr-xr-x   1 0        0               5"));
	assert_non_null(strstr(strbuf_str(&out), "-rw-------   1 0        0               0"));
	assert_non_null(strstr(strbuf_str(&out), "bin/sh -> a"));
	assert_non_null(strstr(strbuf_str(&out), "crw-------   1 0        0          5,   1"));
	assert_null(strstr(strbuf_str(&out), "TRAILER"));
}

static void test_cpio_gives_the_bytes_back(void **state)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct cpio c = CPIO_INIT;

	(void)state;
	fill(&c);
	run_cpio(&c, "-i", "--to-stdout", &out);
	strbuf_release(&c.out);
	assert_string_equal(strbuf_str(&out), "12345");
}

static void test_equal_contents_give_equal_bytes(void **state)
{
	struct cpio a = CPIO_INIT;
	struct cpio b = CPIO_INIT;

	(void)state;
	fill(&a);
	fill(&b);
	assert_int_equal(a.out.len, b.out.len);
	assert_int_equal(a.out.len % 512, 0);
	assert_memory_equal(a.out.data, b.out.data, a.out.len);
	strbuf_release(&a.out);
	strbuf_release(&b.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpio_lists_every_kind_of_entry),
		cmocka_unit_test(test_cpio_gives_the_bytes_back),
		cmocka_unit_test(test_equal_contents_give_equal_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
