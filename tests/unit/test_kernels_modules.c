/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_modules.c - load order, parameters, built-in modules, limits. */
#include "base/fdio.h"
#include "kernels/modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char dir[] = "/tmp/test-kernels-modules-XXXXXX";
static char kernel_name_text[] = "k";
static struct kernel_build build;

static void put(const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	struct err e = {0};

	assert_int_equal(file_write_atomic(path, text, strlen(text), &e), 0);
}

static int set_up(void **state)
{
	auto_free char *modules = NULL;
	struct err e = {0};

	(void)state;
	assert_non_null(mkdtemp(dir));
	modules = xasprintf("%s/modules", dir);
	assert_int_equal(dir_make(modules, &e), 0);
	build.dir = dir;
	build.name = kernel_name_text;
	put("modules/modules.dep",
	    "kernel/usb/usb-storage.ko.xz: kernel/scsi/scsi_mod.ko.xz kernel/scsi/scsi_common.ko.xz "
	    "kernel/usb/usbcore.ko.xz kernel/usb/usb-common.ko.xz\n"
	    "kernel/scsi/scsi_mod.ko.xz: kernel/scsi/scsi_common.ko.xz\n"
	    "kernel/scsi/scsi_common.ko.xz:\n"
	    "kernel/usb/usbcore.ko.xz: kernel/usb/usb-common.ko.xz\n"
	    "kernel/usb/usb-common.ko.xz:\n"
	    "kernel/fs/ext4.ko: kernel/fs/jbd2.ko\n"
	    "kernel/fs/jbd2.ko:\n"
	    "kernel/crc32c_intel.ko:\n"
	    "kernel/crc32c_generic.ko:\n"
	    "kernel/round.ko: kernel/about.ko\n"
	    "kernel/about.ko: kernel/round.ko\n");
	put("modules/modules.softdep",
	    "# comment\nsoftdep ext4 pre: crypto-crc32c nothing post: round\n");
	put("modules/modules.alias", "# Aliases\nalias crypto-crc32c crc32c_intel\n"
				     "alias crypto-crc32c crc32c_generic\nalias usb:v0525 other\n");
	put("modules/modules.builtin", "kernel/drivers/virtio/virtio_pci.ko\n");
	put("config", "CONFIG_USB_UAS=y\n");
	return 0;
}

static int tear_down(void **state)
{
	struct err e = {0};

	(void)state;
	return dir_remove(dir, &e);
}

static char *joined(const struct module_list *l)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < l->n; i++)
		strbuf_addf(&sb, "%s%s%s%s", i ? ", " : "", l->v[i].name,
			    *l->v[i].params ? " " : "", l->v[i].params);
	return strbuf_take(&sb);
}

static void expect_order(const char *const *words, const char *expected)
{
	struct module_list list = {0};
	auto_free char *text = NULL;
	struct err e = {0};

	if (modules_resolve(&build, words, &list, &e) < 0)
		fail_msg("%s", e.text);
	text = joined(&list);
	assert_string_equal(text, expected);
	module_list_release(&list);
}

static void test_dependencies_come_first_and_each_module_once(void **state)
{
	const char *const words[] = {"usbcore", "usb-storage", "scsi_mod", NULL};

	(void)state;
	expect_order(words, "usb_common, usbcore, scsi_common, scsi_mod, usb_storage");
}

static void test_parameters_reach_a_module_that_came_as_a_dependency(void **state)
{
	const char *const words[] = {"usb_storage delay_use=0 quirks=x", "scsi-mod scan=sync",
				     NULL};

	(void)state;
	expect_order(words, "usb_common, usbcore, scsi_common, scsi_mod scan=sync, "
			    "usb_storage delay_use=0 quirks=x");
}

static void test_a_soft_dependency_by_alias_takes_the_portable_module(void **state)
{
	const char *const words[] = {"ext4", NULL};

	(void)state;
	expect_order(words, "crc32c_generic, jbd2, ext4");
}

static void test_a_built_in_module_is_listed_only_for_its_parameters(void **state)
{
	const char *const plain[] = {"virtio-pci", NULL};
	const char *const with[] = {"virtio-pci force_legacy=1", NULL};
	struct module_list list = {0};
	struct err e = {0};

	(void)state;
	expect_order(plain, "");
	assert_int_equal(modules_resolve(&build, with, &list, &e), 0);
	assert_int_equal(list.n, 1);
	assert_null(list.v[0].path);
	assert_string_equal(list.v[0].params, "force_legacy=1");
	module_list_release(&list);
}

static void expect_error(const char *word, int code, const char *text)
{
	const char *const words[] = {word, NULL};
	struct module_list list = {0};
	struct err e = {0};

	assert_int_equal(modules_resolve(&build, words, &list, &e), -code);
	if (!strstr(e.text, text))
		fail_msg("'%s' does not say '%s'", e.text, text);
	assert_null(list.v);
}

static void test_a_missing_module_is_named(void **state)
{
	(void)state;
	expect_error("uas x=1", ENOENT,
		     "kernel 'k' has no module 'uas' (neither as a file nor built in)");
	expect_error("", EINVAL, "does not start with the name of a module");
	expect_error("usb", ENOENT, "'usb'");
}

static void test_a_circle_ends_in_an_error(void **state)
{
	(void)state;
	expect_error("round", ELOOP, "in a circle");
}

static void test_without_modules_builtin_the_config_tells(void **state)
{
	const char *const words[] = {"uas", NULL};
	auto_free char *path = xasprintf("%s/modules/modules.builtin", dir);

	(void)state;
	assert_int_equal(unlink(path), 0);
	expect_order(words, "");
	expect_error("sd_mod", ENOENT, "'sd_mod'");
	put("modules/modules.builtin", "kernel/drivers/virtio/virtio_pci.ko\n");
}

static void test_the_number_of_modules_is_limited(void **state)
{
	auto_strbuf struct strbuf dep = STRBUF_INIT;
	const char *words[MODULES_MAX + 2] = {NULL};
	char names[MODULES_MAX + 1][16];
	struct module_list list = {0};
	auto_free char *modules = NULL;
	struct kernel_build big = build;
	auto_free char *sub = xasprintf("%s/big", dir);
	struct err e = {0};

	(void)state;
	modules = xasprintf("%s/modules", sub);
	assert_int_equal(dir_make(modules, &e), 0);
	big.dir = sub;
	for (size_t i = 0; i <= MODULES_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "m%zu", i);
		strbuf_addf(&dep, "kernel/m%zu.ko:\n", i);
		words[i] = names[i];
	}
	put("big/modules/modules.dep", strbuf_str(&dep));
	assert_int_equal(modules_resolve(&big, words, &list, &e), -E2BIG);
	words[MODULES_MAX] = NULL;
	assert_int_equal(modules_resolve(&big, words, &list, &e), 0);
	assert_int_equal(list.n, MODULES_MAX);
	module_list_release(&list);
}

static void test_a_compressed_module_is_read_unpacked(void **state)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	const struct kernels_ctx ctx = {.w = w};
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	auto_free char *path = xasprintf("%s/a.ko", dir);
	auto_free char *packed = xasprintf("%s.xz", path);
	const char *const argv[] = {"xz", path, NULL};
	struct module m = {.path = packed};
	struct err e = {0};

	(void)state;
	put("a.ko", "module bytes");
	assert_int_equal(kernels_run(&ctx, argv, NULL, NULL, 10 * NSEC_PER_SEC, NULL, &e), 0);
	assert_int_equal(module_read(&ctx, "x86_64", &m, &bytes, &e), 0);
	assert_string_equal(strbuf_str(&bytes), "module bytes");
	put("a.ko.xz", "not xz");
	assert_true(module_read(&ctx, "x86_64", &m, &bytes, &e) < 0);
	assert_int_equal(e.kind, ERR_KERNEL);
	assert_non_null(strstr(e.text, packed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dependencies_come_first_and_each_module_once),
		cmocka_unit_test(test_parameters_reach_a_module_that_came_as_a_dependency),
		cmocka_unit_test(test_a_soft_dependency_by_alias_takes_the_portable_module),
		cmocka_unit_test(test_a_built_in_module_is_listed_only_for_its_parameters),
		cmocka_unit_test(test_a_missing_module_is_named),
		cmocka_unit_test(test_a_circle_ends_in_an_error),
		cmocka_unit_test(test_without_modules_builtin_the_config_tells),
		cmocka_unit_test(test_the_number_of_modules_is_limited),
		cmocka_unit_test(test_a_compressed_module_is_read_unpacked),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
