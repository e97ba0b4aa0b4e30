/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/* Sticks are files here: what a disk must be is checked with the disks that this machine has. */
#include "rig/stick_device.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

struct fixture {
	char *dir, *stick;
	struct rig_cfg cfg;
	struct waiter *w;
	struct err e;
};

static char *text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	setenv("STALLRIG_STATE", f->dir, 1);
	f->stick = xasprintf("%s/stick", f->dir);
	f->w = waiter_new(NULL);
	f->cfg = (struct rig_cfg){
		.path = text("r1.yaml"),
		.name = text("r1"),
		.stick = {.serial = text("S1"),
			  .filesystem = text("ext4"),
			  .size_mib = 16,
			  .file_mib = 2,
			  .file = text("data.bin"),
			  .content_sha256 = text("")},
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	waiter_free(f->w);
	free(f->stick);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

/* Nothing temporary may stay. */
static void assert_tidy(const struct fixture *f)
{
	auto_free char *left = xasprintf("%s/sticks/%ld", f->dir, (long)getpid());

	assert_true(access(left, F_OK) < 0);
}

static void test_what_was_prepared_is_verified(void **state)
{
	static const char *const filesystems[] = {"ext4", "vfat", "exfat"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(filesystems); i++) {
		char made[SHA256_HEX_SIZE], seen[SHA256_HEX_SIZE];
		struct stat st;

		(void)unlink(f->stick);
		f->cfg.stick.filesystem = text(filesystems[i]);
		f->cfg.stick.content_sha256 = text("");
		if (stick_device_prepare(&f->cfg, f->w, f->stick, made, &f->e) < 0)
			fail_msg("%s: %s", filesystems[i], f->e.text);
		assert_int_equal(stat(f->stick, &st), 0);
		assert_int_equal(st.st_size, 16 << 20);
		/* with the expected content as it follows from the size, and as it was told */
		assert_int_equal(stick_device_verify(&f->cfg, f->w, f->stick, seen, &f->e), 0);
		assert_string_equal(made, seen);
		f->cfg.stick.content_sha256 = made;
		assert_int_equal(stick_device_verify(&f->cfg, f->w, f->stick, seen, &f->e), 0);
		assert_tidy(f);
	}
}

static void test_another_content_is_the_rigs_fault(void **state)
{
	struct fixture *f = *state;
	char sha256[SHA256_HEX_SIZE] = "untouched";
	char blank[4096] = {0};
	int fd;

	assert_int_equal(stick_device_prepare(&f->cfg, f->w, f->stick, sha256, &f->e), 0);
	f->cfg.stick.content_sha256 =
		text("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	assert_int_equal(stick_device_verify(&f->cfg, f->w, f->stick, sha256, &f->e), -EBADMSG);
	assert_int_equal(f->e.kind, ERR_RIG);
	assert_contains(f->e.text, "'data.bin' has SHA-256");
	assert_contains(f->e.text, "expected 0123456789abcdef");

	/* no such file, no file system */
	err_clear(&f->e);
	f->cfg.stick.file = text("other.bin");
	assert_true(stick_device_verify(&f->cfg, f->w, f->stick, sha256, &f->e) < 0);
	assert_int_equal(f->e.kind, ERR_RIG);
	assert_contains(f->e.text, "reading 'other.bin' from the stick");
	err_clear(&f->e);
	f->cfg.stick.file = text("data.bin");
	fd = open(f->stick, O_WRONLY | O_CLOEXEC);
	for (unsigned i = 0; i < 2048; i++)
		assert_int_equal(write(fd, blank, sizeof(blank)), sizeof(blank));
	close(fd);
	assert_true(stick_device_verify(&f->cfg, f->w, f->stick, sha256, &f->e) < 0);
	assert_int_equal(f->e.kind, ERR_RIG);
	assert_tidy(f);
}

static void test_what_is_not_meant_is_not_touched(void **state)
{
	struct fixture *f = *state;
	char sha256[SHA256_HEX_SIZE];
	auto_free char *missing = xasprintf("%s/no/such/stick", f->dir);

	unit_write(f->dir, "stick", "too small");
	assert_int_equal(stick_device_prepare(&f->cfg, f->w, f->stick, sha256, &f->e), -ENOSPC);
	assert_int_equal(f->e.kind, ERR_USAGE);
	assert_contains(f->e.text, "has 0 MiB, rig 'r1' wants a stick of 16 MiB");

	err_clear(&f->e);
	assert_int_equal(stick_device_prepare(&f->cfg, f->w, "/dev/null", sha256, &f->e), -ENOTBLK);
	err_clear(&f->e);
	assert_int_equal(stick_device_prepare(&f->cfg, f->w, f->dir, sha256, &f->e), -ENOTBLK);
	err_clear(&f->e);
	assert_int_equal(stick_device_prepare(&f->cfg, f->w, "/dev/no-such-disk", sha256, &f->e),
			 -ENOENT);
	err_clear(&f->e);
	assert_int_equal(stick_device_verify(&f->cfg, f->w, missing, sha256, &f->e), -ENOENT);
	assert_tidy(f);
}

#define WITH(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_what_was_prepared_is_verified),
		WITH(test_another_content_is_the_rigs_fault),
		WITH(test_what_is_not_meant_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
