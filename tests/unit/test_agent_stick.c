/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "agent_unit.h"
#include "base/parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mount.h>

static int setup(void **state)
{
	*state = unit_tmpdir();
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

#define USB  "/sys/devices/pci0000:00/0000:00:03.0/usb2/2-1"
#define SCSI USB "/2-1:1.0/host0/target0:0:0/0:0:0:0"

/* A disk on a USB device, laid out as sysfs does. */
static void plant_stick(const char *root, const char *usb, const char *disk, const char *serial)
{
	auto_free char *scsi = xasprintf("%s/2-1:1.0/host0/target0:0:0/0:0:0:0", usb);
	auto_free char *block = xasprintf("%s/block/%s", scsi, disk);
	auto_free char *text = xasprintf("%s\n", serial);
	const struct {
		const char *name, *text;
	} attrs[] = {{"serial", text}, {"speed", "5000\n"}, {"busnum", "2\n"}, {"devnum", "3\n"}};
	auto_free char *size = xasprintf("%s/size", block);
	auto_free char *device = xasprintf("%s/device", block);
	auto_free char *link = xasprintf("/sys/block/%s", disk);

	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		auto_free char *path = xasprintf("%s/%s", usb, attrs[i].name);

		plant(root, path, attrs[i].text);
	}
	plant(root, size, "2097152\n");
	plant_link(root, device, scsi);
	plant_link(root, link, block);
}

static void test_a_stick_is_found_by_its_usb_serial(void **state)
{
	struct answered got = {0};
	char *root = *state;

	plant(root, "/sys/devices/virtual/block/loop0/size", "0\n");
	plant_link(root, "/sys/block/loop0", "/sys/devices/virtual/block/loop0");
	plant_stick(root, USB, "sda", "STALLRIG-0001");
	plant_stick(root, "/sys/devices/pci0000:00/0000:00:03.0/usb2/2-2", "sdb", "OTHER");

	assert_int_equal(run_verb(root, "stick serial=STALLRIG-0001", &got), 0);
	assert_string_equal(got.ok, "dev=sda usb_path=2-1 speed_mbps=5000 serial=STALLRIG-0001 "
				    "busnum=2 devnum=3 size_bytes=1073741824");
	assert_int_equal(run_verb(root, "stick serial=OTHER", &got), 0);
	assert_contains(got.ok, "dev=sdb usb_path=2-2");
}

static void test_a_stick_that_is_not_there_is_enodev(void **state)
{
	struct answered got = {0};
	char *root = *state;

	assert_int_equal(run_verb(root, "stick serial=X", &got), -ENOENT);
	assert_contains(got.err, "/sys/block");
	plant_stick(root, USB, "sda", "STALLRIG-0001");
	/* a part of the serial is another stick */
	assert_int_equal(run_verb(root, "stick serial=STALLRIG", &got), -ENODEV);
	assert_string_equal(got.err, "ENODEV stick: no disk with USB serial 'STALLRIG'");
	assert_int_equal(run_verb("", "stick serial=no-such-stick", &got), -ENODEV);
}

static void test_two_sticks_with_one_serial_are_not_guessed_about(void **state)
{
	struct answered got = {0};
	char *root = *state;

	plant_stick(root, USB, "sda", "SAME");
	plant_stick(root, "/sys/devices/pci0000:00/0000:00:03.0/usb2/2-2", "sdb", "SAME");
	assert_int_equal(run_verb(root, "stick serial=SAME", &got), -ENOTUNIQ);
	assert_contains(got.err, "USB serial 'SAME' belongs to sd");
}

static void test_a_filesystem_is_mounted_and_unmounted(void **state)
{
	struct answered got = {0};
	char *root = *state;
	auto_free char *dir = xasprintf("%s/mnt", root);
	auto_free char *file = xasprintf("%s/mnt/file", root);
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "mount dev=tmpfs dir=%s fs=tmpfs opts=nosuid,size=1m,noatime,mode=700", dir);
	assert_int_equal(run_verb(root, body, &got), 0);
	plant(root, "/mnt/file", "x");
	(void)snprintf(body, sizeof(body),
		       "mount dev=tmpfs dir=%s fs=tmpfs opts=remount,ro,size=1m", dir);
	assert_int_equal(run_verb(root, body, &got), 0);
	assert_true(open(file, O_WRONLY | O_CLOEXEC) < 0 && errno == EROFS);
	(void)snprintf(body, sizeof(body), "umount dir=%s", dir);
	assert_int_equal(run_verb(root, body, &got), 0);
	assert_true(access(file, F_OK) < 0);
	assert_int_equal(run_verb(root, body, &got), -EINVAL);
	assert_contains(got.err, "EINVAL umount: ");
}

static void test_what_cannot_be_mounted_is_named(void **state)
{
	struct answered got = {0};
	char *root = *state;
	char body[1024];

	(void)snprintf(body, sizeof(body), "mount dev=nosuch dir=%s/m fs=ext4", root);
	assert_true(run_verb(root, body, &got) < 0);
	assert_contains(got.err, "mount: nosuch on ");
	(void)snprintf(body, sizeof(body), "mount dev=tmpfs dir=%s/m fs=nosuchfs", root);
	assert_int_equal(run_verb(root, body, &got), -ENODEV);
	(void)snprintf(body, sizeof(body), "mount dev=tmpfs dir=%s/m fs=tmpfs opts=%0600d", root,
		       1);
	assert_int_equal(run_verb(root, body, &got), -E2BIG);
	(void)snprintf(body, sizeof(body), "mount dev=tmpfs dir=%s/no/such fs=tmpfs", root);
	assert_int_equal(run_verb(root, body, &got), -ENOENT);
	assert_contains(got.err, "mount: mkdir ");
	assert_int_equal(run_verb(root, "mount dev=a fs=b opts=c", &got), -EINVAL);
	assert_contains(got.err, "'dir=' is missing");
	(void)snprintf(body, sizeof(body), "umount dir=%s flags=gently", root);
	assert_int_equal(run_verb(root, body, &got), -EINVAL);
	assert_contains(got.err, "flags=gently is not lazy or force");
}

static void test_drop_caches_asks_the_kernel_for_all_of_them(void **state)
{
	auto_free char *text = NULL;
	struct answered got = {0};
	char *root = *state;

	plant(root, "/proc/sys/vm/drop_caches", "0\n");
	assert_int_equal(run_verb(root, "drop-caches", &got), 0);
	text = harvest(root, "/proc/sys/vm/drop_caches");
	assert_string_equal(text, "3\n");
}

static void test_cache_counts_the_pages_that_are_in_memory(void **state)
{
	static const size_t sizes[] = {0, 1, 4096, 4097, (72u << 20) + 5};
	struct answered got = {0};
	char *root = *state;
	char body[256];

	plant(root, "/proc/meminfo",
	      "MemTotal: 9 kB\nBuffers:             512 kB\nSwapCached:  7 kB\nCached:   1024 kB\n"
	      "Dirty:          96 kB\n");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		auto_free char *path = xasprintf("%s/file%zu", root, i);
		auto_free char *bytes = xcalloc(1, sizes[i] + 1);
		auto_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		int64_t resident, size;

		assert_int_equal(fd_write_all(fd, bytes, sizes[i]), 0);
		(void)snprintf(body, sizeof(body), "cache path=%s", path);
		assert_int_equal(run_verb(root, body, &got), 0);
		assert_true(parse_pair_i64(got.ok, "resident_bytes", &resident));
		assert_true(parse_pair_i64(got.ok, "size_bytes", &size));
		assert_int_equal(size, sizes[i]);
		assert_int_equal(resident, sizes[i]);
		assert_contains(got.ok, " cached_kib=1024 buffers_kib=512 dirty_kib=96");
	}
}

static void test_cache_sees_that_pages_have_left(void **state)
{
	struct answered got = {0};
	/* not in /tmp: pages of a tmpfs never leave */
	auto_free char *path = xstrdup("/var/tmp/stallrig-test-XXXXXX");
	auto_free char *bytes = xcalloc(1, 8 << 20);
	auto_fd int fd = mkostemp(path, O_CLOEXEC);
	char body[256];
	int64_t resident;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, 8 << 20), 0);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 6 << 20, POSIX_FADV_DONTNEED), 0);
	(void)snprintf(body, sizeof(body), "cache path=%s", path);
	assert_int_equal(run_verb("", body, &got), 0);
	assert_true(parse_pair_i64(got.ok, "resident_bytes", &resident));
	assert_int_equal(unlink(path), 0);
	/* the kernel may keep some pages, but not most of them */
	assert_in_range(resident, 2 << 20, 5 << 20);
}

static void test_cache_refuses_what_has_no_pages(void **state)
{
	struct answered got = {0};
	(void)state;

	assert_int_equal(run_verb("", "cache path=/dev/null", &got), -EINVAL);
	assert_contains(got.err, "/dev/null is no file and no block device");
	assert_int_equal(run_verb("", "cache path=/nonexistent", &got), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROOTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		ROOTED(test_a_stick_is_found_by_its_usb_serial),
		ROOTED(test_a_stick_that_is_not_there_is_enodev),
		ROOTED(test_two_sticks_with_one_serial_are_not_guessed_about),
		ROOTED(test_a_filesystem_is_mounted_and_unmounted),
		ROOTED(test_what_cannot_be_mounted_is_named),
		ROOTED(test_drop_caches_asks_the_kernel_for_all_of_them),
		ROOTED(test_cache_counts_the_pages_that_are_in_memory),
		ROOTED(test_cache_sees_that_pages_have_left),
		cmocka_unit_test(test_cache_refuses_what_has_no_pages),
	};

	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
