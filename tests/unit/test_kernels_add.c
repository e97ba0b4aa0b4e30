/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_add.c - a user's own kernel: packages, folders, images, and what is wrong with them.
 */
#include "kernels_unit.h"

static int empty_store(void **state)
{
	auto_free char *src = ku_path("u");
	struct err e = {0};

	(void)state;
	ku_said[0] = '\0';
	return dir_remove(ku_store, &e) < 0 || dir_remove(src, &e) < 0;
}

static struct kernel_build *add(struct kernel_add_cfg cfg, const char *path)
{
	struct kernel_build *k = NULL;
	struct err e = {0};

	cfg.paths = &path;
	cfg.n_paths = 1;
	if (kernel_add(&ku_ctx, &cfg, &k, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(ku_count(ku_store, ".tmp-"), 0);
	return k;
}

static void expect_failure(struct kernel_add_cfg cfg, const char *sub, const char *text)
{
	auto_free char *full = ku_path(sub);
	const char *path = full;
	struct kernel_build *k = NULL;
	struct err e = {0};

	cfg.paths = &path;
	cfg.n_paths = 1;
	assert_true(kernel_add(&ku_ctx, &cfg, &k, &e) < 0);
	assert_null(k);
	ku_expect_error(&e, e.kind == ERR_KERNEL ? ERR_KERNEL : ERR_USAGE, text);
	if (access(ku_store, F_OK) == 0)
		assert_int_equal(ku_count(ku_store, ".tmp-"), 0);
}

static void test_packages_give_a_build_with_headers(void **state)
{
	auto_free char *image = ku_path("u/i.deb");
	auto_free char *headers = ku_path("u/h.deb");
	const char *const paths[] = {image, headers};
	const struct kernel_add_cfg cfg = {.paths = paths, .n_paths = 2};
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *makefile = NULL;
	struct err e = {0};

	(void)state;
	ku_put_kernel("u/i", "6.9.9");
	ku_puts("u/h/usr/src/linux-headers-6.9.9/Makefile", "all:\n");
	ku_make_deb("u/i", "u/i.deb", "linux-image-6.9.9", "6.9.9-1", "amd64", "");
	ku_make_deb("u/h", "u/h.deb", "linux-headers-6.9.9", "6.9.9-1", "amd64", "");
	if (kernel_add(&ku_ctx, &cfg, &k, &e) < 0)
		fail_msg("%s", e.text);
	makefile = xasprintf("%s/headers/Makefile", k->dir);
	assert_string_equal(k->name, "6.9.9");
	assert_string_equal(k->package_version, "6.9.9-1");
	assert_int_equal(access(makefile, F_OK), 0);
}

static void test_a_package_cut_short_is_named(void **state)
{
	auto_free char *deb = ku_path("u/i.deb");
	const struct kernel_add_cfg cfg = {.paths = (const char *[]){deb}, .n_paths = 1};
	struct kernel_build *k = NULL;
	struct err e = {0};
	struct stat st;

	(void)state;
	ku_put_kernel("u/i", "6.9.9");
	ku_make_deb("u/i", "u/i.deb", "linux-image-6.9.9", "6.9.9-1", "amd64", "");
	assert_int_equal(stat(deb, &st), 0);
	assert_int_equal(truncate(deb, st.st_size / 2), 0);
	assert_true(kernel_add(&ku_ctx, &cfg, &k, &e) < 0);
	ku_expect_error(&e, ERR_CONFIG, "i.deb: cut short:");
	assert_int_equal(ku_count(ku_store, ""), 1); /* .lock */
}

static void test_the_users_files_stay_where_they_are(void **state)
{
	auto_free char *dir = ku_path("u");
	auto_free char *image = ku_path("u/boot/vmlinuz-6.9.9");
	auto_free char *modules = ku_path("u/lib/modules/6.9.9/modules.builtin");
	auto_kernel_build struct kernel_build *k = NULL;

	(void)state;
	ku_put_kernel("u", "6.9.9");
	k = add((struct kernel_add_cfg){0}, dir);
	assert_int_equal(access(image, F_OK), 0);
	assert_int_equal(access(modules, F_OK), 0);
	assert_string_equal(k->release, "6.9.9");
}

static void test_an_image_finds_what_lies_beside_it(void **state)
{
	auto_free char *image = ku_path("u/boot/vmlinuz-6.9.9");
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *builtin = NULL;

	(void)state;
	ku_put_kernel("u", "6.9.9");
	k = add((struct kernel_add_cfg){.name = "mine"}, image);
	builtin = xasprintf("%s/modules/modules.builtin", k->dir);
	assert_string_equal(k->name, "mine");
	assert_int_equal(access(builtin, F_OK), 0);
	assert_int_equal(k->cpu_intensive_thresh_us, 10000);
}

static void test_a_gzipped_arm64_image_is_stored_unpacked(void **state)
{
	auto_free char *dir = ku_path("u");
	auto_free char *raw = ku_path("u/Image");
	const char *const argv[] = {"gzip", raw, NULL};
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *image = NULL;
	char b[4096] = {0};
	char sha256[SHA256_HEX_SIZE];
	struct stat st;

	(void)state;
	memcpy(b + 0x38, "ARM\x64", 4);
	strcpy(b + 512, "Linux version 6.9.9 (a@b) #7 SMP test");
	strcpy(b + 1024, "workqueue.cpu_intensive_thresh_us");
	sha256_bytes(b, sizeof(b), sha256);
	ku_put("u/Image", b, sizeof(b));
	free(ku_run(argv));
	ku_puts("u/.config", "CONFIG_HZ=100\nCONFIG_PREEMPT=y\n");
	k = add((struct kernel_add_cfg){0}, dir);
	image = xasprintf("%s/image", k->dir);
	assert_string_equal(k->arch, "arm64");
	assert_string_equal(k->version, "#7 SMP test");
	assert_string_equal(k->preempt, "full");
	assert_string_equal(k->image_sha256, sha256);
	assert_int_equal(k->hz, 100);
	assert_int_equal(k->cpu_intensive_thresh_us, 10000);
	assert_int_equal(stat(image, &st), 0);
	assert_int_equal(st.st_size, sizeof(b));
}

static void test_the_config_inside_the_image_is_found(void **state)
{
	auto_free char *dir = ku_path("u");
	auto_free char *config = ku_path("u/c");
	auto_free char *packed = ku_path("u/c.gz");
	const char *const argv[] = {"gzip", config, NULL};
	auto_kernel_build struct kernel_build *k = NULL;
	auto_strbuf struct strbuf gz = STRBUF_INIT;
	struct err e = {0};
	char b[4096] = {0};

	(void)state;
	ku_puts("u/c", "CONFIG_HZ=1000\n");
	free(ku_run(argv));
	assert_int_equal(file_read(packed, 1024, &gz, &e), 0);
	memcpy(b + 0x38, "ARM\x64", 4);
	strcpy(b + 512, "Linux version 6.9.9 (a@b) #7 SMP test");
	memcpy(b + 1024, "IKCFG_ST", 8);
	memcpy(b + 1032, gz.data, gz.len);
	memcpy(b + 1032 + gz.len, "IKCFG_ED", 8);
	ku_put("u/Image", b, sizeof(b));
	k = add((struct kernel_add_cfg){0}, dir);
	assert_int_equal(k->hz, 1000);
	/* the image has no such parameter */
	assert_int_equal(k->cpu_intensive_thresh_us, -1);
}

static void test_module_files_are_indexed(void **state)
{
	auto_free char *dir = ku_path("u");
	auto_free char *dep = ku_path("u/lib/modules/6.9.9/modules.dep");
	auto_free char *source = ku_path("u/a.c");
	auto_free char *object = ku_path("u/lib/modules/6.9.9/kernel/a.ko");
	const char *const argv[] = {"cc", "-c", "-o", object, source, NULL};
	auto_kernel_build struct kernel_build *k = NULL;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *made = NULL;
	struct err e = {0};

	(void)state;
	ku_put_kernel("u", "6.9.9");
	assert_int_equal(unlink(dep), 0);
	ku_puts("u/lib/modules/6.9.9/modules.order", "kernel/a.ko\n");
	ku_puts("u/lib/modules/6.9.9/kernel/x", "");
	ku_puts("u/a.c", "int a;\n");
	free(ku_run(argv));
	k = add((struct kernel_add_cfg){0}, dir);
	made = xasprintf("%s/modules/modules.dep", k->dir);
	assert_int_equal(file_read(made, 4096, &text, &e), 0);
	assert_string_equal(strbuf_str(&text), "kernel/a.ko:\n");
}

static void test_what_is_wrong_is_named(void **state)
{
	auto_free char *nowhere = ku_path("nowhere");

	(void)state;
	expect_failure((struct kernel_add_cfg){0}, "nowhere", "nowhere': no such file or folder");
	ku_puts("u/x", "text");
	expect_failure((struct kernel_add_cfg){0}, "u", "no kernel image in it");
	ku_puts("u/config", KU_CONFIG);
	expect_failure((struct kernel_add_cfg){0}, "u/x", "neither a bzImage nor an arm64 Image");
	ku_puts("u/empty", "");
	expect_failure((struct kernel_add_cfg){0}, "u/empty", "empty");
	ku_put_kernel("u", "6.9.9");
	expect_failure((struct kernel_add_cfg){.name = "a/b"}, "u", "'a/b' cannot be the name");
	expect_failure((struct kernel_add_cfg){.name = ""}, "u", "'' cannot be the name");
	expect_failure((struct kernel_add_cfg){.config = nowhere}, "u", "config '");
	expect_failure((struct kernel_add_cfg){.modules_dir = nowhere}, "u", "modules '");
	expect_failure((struct kernel_add_cfg){.modules_dir = "/etc"}, "u",
		       "modules '/etc': neither lib/modules/RELEASE nor modules.* in it");
	expect_failure((struct kernel_add_cfg){.headers_dir = nowhere}, "u", "headers '");
	ku_puts("u/config", "CONFIG_X=y\n");
	expect_failure((struct kernel_add_cfg){0}, "u", "its config has no CONFIG_HZ");
}

static void test_modules_of_another_kernel_are_refused(void **state)
{
	(void)state;
	ku_put_kernel("u", "6.9.9");
	ku_put_image("u/boot/vmlinuz-6.9.9", "6.9.8");
	expect_failure((struct kernel_add_cfg){0}, "u",
		       "the modules are for 6.9.9, the image is 6.9.8");
	ku_put_kernel("u", "6.9.8");
	expect_failure((struct kernel_add_cfg){0}, "u", "there are 2 files named vmlinuz-");
}

static void test_a_taken_name_is_refused_and_the_build_kept(void **state)
{
	auto_kernel_build struct kernel_build *k = ku_add("6.9.9", "mine");
	auto_free char *json = xasprintf("%s/kernel.json", k->dir);

	(void)state;
	ku_put_kernel("u", "6.9.9");
	expect_failure((struct kernel_add_cfg){.name = "mine"}, "u",
		       "'mine' is in the store already");
	assert_int_equal(access(json, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_packages_give_a_build_with_headers, empty_store),
		cmocka_unit_test_setup(test_a_package_cut_short_is_named, empty_store),
		cmocka_unit_test_setup(test_the_users_files_stay_where_they_are, empty_store),
		cmocka_unit_test_setup(test_an_image_finds_what_lies_beside_it, empty_store),
		cmocka_unit_test_setup(test_a_gzipped_arm64_image_is_stored_unpacked, empty_store),
		cmocka_unit_test_setup(test_the_config_inside_the_image_is_found, empty_store),
		cmocka_unit_test_setup(test_module_files_are_indexed, empty_store),
		cmocka_unit_test_setup(test_what_is_wrong_is_named, empty_store),
		cmocka_unit_test_setup(test_modules_of_another_kernel_are_refused, empty_store),
		cmocka_unit_test_setup(test_a_taken_name_is_refused_and_the_build_kept,
				       empty_store),
	};

	return cmocka_run_group_tests(tests, ku_set_up, ku_tear_down);
}
