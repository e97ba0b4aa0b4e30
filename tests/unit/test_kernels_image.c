/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_image.c - what is in an initramfs, when it is made again, and what it refuses. */
#include "kernels_unit.h"

static struct kernel_build *build;
static char *busybox; /* a static program of this machine's arch, so it serves as agent too */

static int set_up(void **state)
{
	if (ku_set_up(state) < 0)
		return -1;
	busybox = kernels_find_program("busybox");
	if (!busybox)
		return -1;
	build = ku_add("6.9.9", "mine");
	/* the kernel of ku_add() is an x86 one */
	free(build->arch);
	build->arch = xstrdup(kernels_host_arch());
	ku_puts("store/mine/modules/modules.dep", "kernel/b.ko: kernel/a-1.ko\nkernel/a-1.ko:\n");
	ku_puts("store/mine/modules/kernel/b.ko", "bytes of b");
	ku_puts("store/mine/modules/kernel/a-1.ko", "bytes of a");
	return 0;
}

static int tear_down(void **state)
{
	free(busybox);
	kernel_build_free(build);
	return ku_tear_down(state);
}

static const char *const modules[] = {"b x=1 y=2", "usb-storage delay_use=0", NULL};

static struct target_image_cfg default_cfg(void)
{
	return (struct target_image_cfg){
		.kernel = build, .modules = modules, .agent = busybox, .link = "virtio:test"};
}

static char *ensure(const struct target_image_cfg *cfg)
{
	char *path = NULL;
	struct err e = {0};

	if (target_image_ensure(&ku_ctx, cfg, &path, &e) < 0)
		fail_msg("%s", e.text);
	return path;
}

static char *content_of(const char *image, const char *file)
{
	const char *const argv[] = {
		"sh", "-c", "cpio -i --quiet --to-stdout \"$2\" <\"$1\"", "sh", image, file, NULL};

	return ku_run(argv);
}

static void test_the_image_holds_what_the_target_needs(void **state)
{
	static const char *const entries[] = {"init\n",   "agent\n",        "bin/busybox\n",
					      "bin/sh\n", "bin/insmod\n",   "dev/console\n",
					      "proc\n",   "modules/b.ko\n", "modules/a_1.ko\n"};
	struct target_image_cfg cfg = default_cfg();
	auto_free char *path = ensure(&cfg);
	const char *const argv[] = {"sh", "-c", "cpio -it --quiet <\"$1\"", "sh", path, NULL};
	auto_free char *list = ku_run(argv);
	auto_free char *order = content_of(path, "modules/order");
	auto_free char *link = content_of(path, "etc/stallrig-link");
	auto_free char *b = content_of(path, "modules/b.ko");
	auto_free char *init = content_of(path, "init");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strstr(list, entries[i]))
			fail_msg("no %s in %s", entries[i], list);
	assert_string_equal(order, "a_1.ko a_1 \nb.ko b x=1 y=2\n- usb_storage delay_use=0\n");
	assert_string_equal(link, "virtio:test\n");
	assert_string_equal(b, "bytes of b");
	assert_int_equal(strncmp(init, "#!/bin/sh\n", 10), 0);
}

static void test_every_program_that_init_runs_is_in_the_image(void **state)
{
	struct target_image_cfg cfg = default_cfg();
	auto_free char *path = ensure(&cfg);
	auto_free char *init = content_of(path, "init");
	const char *const argv[] = {"sh", "-c", "cpio -it --quiet <\"$1\"", "sh", path, NULL};
	auto_free char *list = ku_run(argv);
	static const char *const programs[] = {"mount", "mkdir", "insmod", "ln", "sleep"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		auto_free char *entry = xasprintf("bin/%s\n", programs[i]);

		assert_non_null(strstr(init, programs[i]));
		assert_non_null(strstr(list, entry));
	}
}

static void test_equal_contents_are_one_image_and_a_change_is_another(void **state)
{
	struct target_image_cfg cfg = default_cfg();
	auto_free char *a = ensure(&cfg);
	auto_free char *b = ensure(&cfg);
	auto_free char *c = NULL;

	(void)state;
	assert_string_equal(a, b);
	ku_puts("store/mine/probe/latency-mon.ko", "probe bytes");
	c = ensure(&cfg);
	assert_string_not_equal(a, c);
	free(take(b));
	b = content_of(c, "probe/latency-mon.ko");
	assert_string_equal(b, "probe bytes");
}

static void test_a_damaged_image_is_made_again(void **state)
{
	struct target_image_cfg cfg = default_cfg();
	auto_free char *a = ensure(&cfg);
	auto_free char *b = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(truncate(a, 100), 0);
	b = ensure(&cfg);
	assert_string_equal(a, b);
	assert_int_equal(stat(a, &st), 0);
	assert_true(st.st_size > 100000);
}

static void test_the_newest_20_images_are_kept(void **state)
{
	auto_free char *images = ku_path("cache/images");
	auto_free char *oldest = NULL;
	auto_free char *newest = NULL;

	(void)state;
	for (int i = 0; i < 22; i++) {
		struct target_image_cfg cfg = default_cfg();
		auto_free char *link = xasprintf("virtio:port%d", i);

		cfg.link = link;
		free(newest);
		newest = ensure(&cfg);
		if (i == 0)
			oldest = xstrdup(newest);
	}
	assert_int_equal(ku_count(images, "mine-"), 20);
	assert_int_equal(access(oldest, F_OK), -1);
	assert_int_equal(access(newest, F_OK), 0);
}

static void expect_failure(const struct target_image_cfg *cfg, enum err_kind kind, const char *text)
{
	char *path = NULL;
	struct err e = {0};

	assert_true(target_image_ensure(&ku_ctx, cfg, &path, &e) < 0);
	assert_null(path);
	ku_expect_error(&e, kind, text);
}

static void test_what_cannot_work_on_the_target_is_refused(void **state)
{
	static const char *const unknown[] = {"uas", NULL};
	auto_free char *nowhere = ku_path("nowhere");
	auto_free char *text = ku_path("data-text");
	auto_free char *foreign = ku_path("foreign");
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct target_image_cfg cfg = default_cfg();
	struct err e = {0};

	(void)state;
	cfg.modules = unknown;
	expect_failure(&cfg, ERR_KERNEL, "kernel 'mine' has no module 'uas'");
	cfg = default_cfg();
	cfg.agent = nowhere;
	expect_failure(&cfg, ERR_RIG, nowhere);
	ku_puts("data-text", "#!/bin/sh\n");
	cfg.agent = text;
	expect_failure(&cfg, ERR_RIG, "not a 64-bit program");
	cfg.agent = "/bin/true";
	expect_failure(&cfg, ERR_RIG, "/bin/true: needs shared libraries");
	assert_int_equal(file_read(busybox, 32u << 20, &bytes, &e), 0);
	bytes.data[18] = 8; /* e_machine: MIPS */
	ku_put("foreign", bytes.data, bytes.len);
	cfg.agent = foreign;
	expect_failure(&cfg, ERR_RIG, "foreign: not a program for ");
}

static void test_a_machine_without_busybox_is_told_its_package(void **state)
{
	auto_free char *old = xstrdup(getenv("PATH"));
	struct target_image_cfg cfg = default_cfg();
	char *path = NULL;
	struct err e = {0};
	int r;

	(void)state;
	setenv("PATH", "/nowhere", 1);
	r = target_image_ensure(&ku_ctx, &cfg, &path, &e);
	setenv("PATH", old, 1);
	assert_int_equal(r, -ENOENT);
	ku_expect_error(&e, ERR_RIG, "program 'busybox' is not installed (package busybox-static)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_image_holds_what_the_target_needs),
		cmocka_unit_test(test_every_program_that_init_runs_is_in_the_image),
		cmocka_unit_test(test_equal_contents_are_one_image_and_a_change_is_another),
		cmocka_unit_test(test_a_damaged_image_is_made_again),
		cmocka_unit_test(test_the_newest_20_images_are_kept),
		cmocka_unit_test(test_what_cannot_work_on_the_target_is_refused),
		cmocka_unit_test(test_a_machine_without_busybox_is_told_its_package),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
