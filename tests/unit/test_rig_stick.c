/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "../../controller/rig/exfat.h"
#include "../../controller/rig/stick.h"
#include "base/child.h"
#include "unit.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>

struct fixture {
	char *dir;
	struct waiter *w;
	struct rig_cfg cfg; /* the texts are constants */
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	f->w = waiter_new(NULL);
	f->cfg.path = xstrdup("r1.yaml");
	f->cfg.stick.filesystem = xstrdup("ext4");
	f->cfg.stick.size_mib = 18;
	f->cfg.stick.file_mib = 4;
	f->cfg.stick.file = xstrdup("data.bin");
	f->cfg.stick.content_sha256 = xstrdup("");
	assert_int_equal(setenv("STALLRIG_CACHE", f->dir, 1), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->cfg.path);
	free(f->cfg.stick.filesystem);
	free(f->cfg.stick.file);
	free(f->cfg.stick.content_sha256);
	waiter_free(f->w);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void set_text(char **to, const char *text)
{
	free(*to);
	*to = xstrdup(text);
}

static void test_the_same_description_gives_the_same_bytes(void **state)
{
	static const char *const kinds[] = {"ext4", "vfat", "exfat"};
	struct fixture *f = *state;
	auto_free char *other = xasprintf("%s/other", f->dir);
	struct stick_image first[3] = {{0}}, second[3] = {{0}};
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		set_text(&f->cfg.stick.filesystem, kinds[i]);
		if (stick_ensure(&f->cfg, f->w, &first[i], &e) < 0)
			fail_msg("%s", e.text);
	}
	/* FAT counts in two seconds: later, in another folder, in another time zone */
	assert_int_equal(usleep(999999), 0);
	assert_int_equal(usleep(999999), 0);
	assert_int_equal(setenv("STALLRIG_CACHE", other, 1), 0);
	assert_int_equal(setenv("TZ", "Asia/Tokyo", 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char a[SHA256_HEX_SIZE], b[SHA256_HEX_SIZE];

		set_text(&f->cfg.stick.filesystem, kinds[i]);
		assert_int_equal(stick_ensure(&f->cfg, f->w, &second[i], &e), 0);
		assert_string_not_equal(first[i].path, second[i].path);
		assert_string_equal(first[i].sha256, second[i].sha256);
		assert_int_equal(sha256_file(first[i].path, a, &e), 0);
		assert_int_equal(sha256_file(second[i].path, b, &e), 0);
		assert_string_equal(a, b);
		stick_image_release(&first[i]);
		stick_image_release(&second[i]);
	}
	assert_int_equal(unsetenv("TZ"), 0);
}

static void test_the_image_has_its_size_and_no_holes_in_the_content(void **state)
{
	struct fixture *f = *state;
	struct stick_image image = {0};
	struct err e = {0};
	struct stat st;

	assert_int_equal(stick_ensure(&f->cfg, f->w, &image, &e), 0);

	assert_int_equal(stat(image.path, &st), 0);
	assert_int_equal(st.st_size, 18 << 20);
	assert_true(st.st_blocks * 512 >= 4 << 20);
	stick_image_release(&image);
}

static void test_a_finished_image_is_used_again_and_a_half_one_is_not(void **state)
{
	struct fixture *f = *state;
	struct stick_image first = {0}, again = {0}, healed = {0};
	struct stat before, after, whole;
	struct err e = {0};

	assert_int_equal(stick_ensure(&f->cfg, f->w, &first, &e), 0);
	assert_int_equal(stat(first.path, &before), 0);
	assert_int_equal(stick_ensure(&f->cfg, f->w, &again, &e), 0);
	assert_int_equal(stat(again.path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);

	assert_int_equal(truncate(first.path, 4096), 0);
	assert_int_equal(stick_ensure(&f->cfg, f->w, &healed, &e), 0);
	assert_int_equal(stat(healed.path, &whole), 0);
	assert_int_equal(whole.st_size, 18 << 20);
	assert_string_equal(first.sha256, healed.sha256);
	stick_image_release(&first);
	stick_image_release(&again);
	stick_image_release(&healed);
}

static void test_another_content_than_the_expected_one_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct stick_image image = {0};
	struct err e = {0};

	set_text(&f->cfg.stick.content_sha256,
		 "0000000000000000000000000000000000000000000000000000000000000000");
	assert_int_equal(stick_ensure(&f->cfg, f->w, &image, &e), -EINVAL);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_contains(e.text, "r1.yaml: content_sha256: '0000");

	/* the error tells the right one */
	set_text(&f->cfg.stick.content_sha256, strstr(e.text, "stick has ") + 10);
	assert_int_equal(stick_ensure(&f->cfg, f->w, &image, &e), 0);
	assert_string_equal(image.sha256, f->cfg.stick.content_sha256);
	stick_image_release(&image);
}

static void test_a_file_that_does_not_fit_leaves_nothing_behind(void **state)
{
	static const char *const kinds[] = {"ext4", "vfat", "exfat"};
	struct fixture *f = *state;

	f->cfg.stick.file_mib = 18;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_free char *dir = NULL;
		auto_free char *tmp = NULL;
		struct stick_image image = {0};
		struct err e = {0};

		set_text(&f->cfg.stick.filesystem, kinds[i]);
		dir = xasprintf("%s/sticks/v1-%s-18m-data.bin-18m", f->dir, kinds[i]);
		tmp = xasprintf("%s.tmp", dir);
		assert_true(stick_ensure(&f->cfg, f->w, &image, &e) < 0);
		assert_null(image.path);
		assert_contains(e.text, "stick image");
		assert_int_equal(access(dir, F_OK), -1);
		assert_int_equal(access(tmp, F_OK), -1);
	}
}

/* What the file system's own checker says; true if it is content. */
static bool is_sound(struct fixture *f, const char *image)
{
	const char *const env[] = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", NULL};
	const char *const argv[] = {"fsck.exfat", "-n", image, NULL};
	const struct child_cfg cfg = {.argv = argv,
				      .env = env,
				      .stdin_fd = -1,
				      .stdout_fd = -1,
				      .stderr_fd = -1,
				      .dies_with_parent = true};
	struct err e = {0};

	return child_run(f->w, &cfg, 60 * NSEC_PER_SEC, NULL, &e) == 0;
}

static void test_exfat_is_sound_for_its_checker(void **state)
{
	static const char *const names[] = {"a", "data.bin", "fifteen_bytes.x",
					    "a_name_of_more_than_fifteen_bytes.bin"};
	struct fixture *f = *state;

	set_text(&f->cfg.stick.filesystem, "exfat");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *dir = xasprintf("%s/%zu", f->dir, i);
		auto_free char *image = xasprintf("%s/stick.img", dir);
		char sha256[SHA256_HEX_SIZE];
		struct err e = {0};

		set_text(&f->cfg.stick.file, names[i]);
		assert_int_equal(dir_make(dir, &e), 0);
		assert_int_equal(stick_make_blank(image, 18, &e), 0);
		if (stick_fill(dir, &f->cfg, f->w, sha256, &e) < 0)
			fail_msg("%s", e.text);
		assert_true(is_sound(f, image));
		/* a volume that has it does not get it twice, whatever its case */
		assert_int_equal(exfat_put(image, i ? names[i] : "A", image, &e), -EEXIST);
		assert_true(is_sound(f, image));
	}
}

static void poke(const char *image, off_t at, uint32_t word)
{
	int fd = open(image, O_WRONLY | O_CLOEXEC);

	word = htole32(word);
	assert_int_equal(pwrite(fd, &word, sizeof(word), at), sizeof(word));
	close(fd);
}

static uint32_t peek(const char *image, off_t at)
{
	int fd = open(image, O_RDONLY | O_CLOEXEC);
	uint32_t word;

	assert_int_equal(pread(fd, &word, sizeof(word), at), sizeof(word));
	close(fd);
	return le32toh(word);
}

/* A real stick's file may lie in pieces, and its structures may be broken. */
static void test_exfat_follows_a_chain_and_refuses_a_broken_one(void **state)
{
	struct fixture *f = *state;
	auto_free char *image = xasprintf("%s/stick.img", f->dir);
	auto_free char *copy = xasprintf("%s/copy", f->dir);
	char made[SHA256_HEX_SIZE], seen[SHA256_HEX_SIZE];
	off_t fat, root, entry;
	uint32_t cluster, cluster_bytes, clusters;
	struct err e = {0};

	set_text(&f->cfg.stick.filesystem, "exfat");
	assert_int_equal(stick_make_blank(image, 18, &e), 0);
	assert_int_equal(stick_fill(f->dir, &f->cfg, f->w, made, &e), 0);
	fat = (off_t)peek(image, 80) << 9;
	cluster_bytes = 512u << (peek(image, 108) >> 8 & 0xff);
	root = ((off_t)peek(image, 88) << 9) + (off_t)(peek(image, 96) - 2) * cluster_bytes;
	for (entry = root; (peek(image, entry) & 0xff) != 0xc0; entry += 32)
		assert_true(entry < root + 4096);
	cluster = peek(image, entry + 20);
	clusters = (4u << 20) / cluster_bytes;
	/* the same as a chain in the FAT */
	poke(image, entry, peek(image, entry) & ~0x0200u);
	for (uint32_t i = 0; i < clusters; i++)
		poke(image, fat + 4 * (off_t)(cluster + i),
		     i + 1 < clusters ? cluster + i + 1 : 0xffffffff);
	assert_int_equal(exfat_get(image, "DATA.bin", copy, &e), 0);
	assert_int_equal(sha256_file(copy, seen, &e), 0);
	assert_string_equal(seen, made);

	assert_int_equal(exfat_get(image, "other", copy, &e), -ENOENT);
	poke(image, fat + 4 * (off_t)(cluster + 1), 0xffffffff);
	assert_int_equal(exfat_get(image, "data.bin", copy, &e), -EINVAL);
	assert_contains(e.text, "'data.bin' ends");
	poke(image, fat + 4 * (off_t)(cluster + 1), 0x00ffffff);
	assert_int_equal(exfat_get(image, "data.bin", copy, &e), -EINVAL);
	assert_contains(e.text, "a chain leads to cluster 16777215");
	/* the root folder bites its tail */
	poke(image, fat + 4 * (off_t)peek(image, 96), peek(image, 96));
	assert_int_equal(exfat_get(image, "data.bin", copy, &e), -EINVAL);
	assert_contains(e.text, "root folder is larger than 1048576 bytes");
	poke(image, 96, 1);
	assert_int_equal(exfat_get(image, "data.bin", copy, &e), -EINVAL);
	assert_contains(e.text, "root folder is at cluster 1");
	poke(image, 4, 0);
	assert_int_equal(exfat_put(image, "x", copy, &e), -EINVAL);
	assert_contains(e.text, "holds no exFAT");
}

static void test_a_missing_program_is_named_with_its_package(void **state)
{
	struct fixture *f = *state;
	struct stick_image image = {0};
	auto_free char *path = xstrdup(getenv("PATH"));
	struct err e = {0};

	/* mcopy lies in /usr/bin, which only PATH leads to */
	set_text(&f->cfg.stick.filesystem, "vfat");
	assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
	assert_int_equal(stick_ensure(&f->cfg, f->w, &image, &e), -ENOENT);
	assert_int_equal(setenv("PATH", path, 1), 0);

	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "mtools");
	assert_contains(e.text, "program 'mcopy' is not installed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_same_description_gives_the_same_bytes,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_the_image_has_its_size_and_no_holes_in_the_content, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_finished_image_is_used_again_and_a_half_one_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_another_content_than_the_expected_one_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_that_does_not_fit_leaves_nothing_behind,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_exfat_is_sound_for_its_checker, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_exfat_follows_a_chain_and_refuses_a_broken_one,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_missing_program_is_named_with_its_package,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
