/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/*
 * test_kernels_probe.c - when the probe modules are built, and what is said when they cannot be.
 * The headers are a Makefile of three lines here; the real ones are used by the system tests.
 */
#include "kernels_unit.h"

static struct kernel_build *build;

/* Compiles both modules, and counts how often it was asked to. */
#define HEADERS_MAKEFILE                                                                 \
	"modules: $(M)/latency-mon.ko $(M)/wq-stall.ko ; echo >>../../../../../builds\n" \
	"$(M)/%.ko: $(M)/%.c ; cc -Werror -c -o $@ $<\n"

static int set_up(void **state)
{
	auto_free char *data = NULL;
	auto_free char *link = NULL;

	if (ku_set_up(state) < 0)
		return -1;
	data = ku_path("data");
	setenv("STALLRIG_DATA", data, 1);
	ku_puts("data/module/Makefile", "all: ; $(MAKE) -C $(KDIR) M=$(CURDIR) modules\n");
	ku_puts("data/module/latency-mon.c", "#include \"x.h\"\nint a = X;\n");
	ku_puts("data/module/wq-stall.c", "int b;\n");
	ku_puts("data/module/x.h", "#define X 1\n");
	build = ku_add("6.9.9", "mine");
	ku_puts("store/mine/devel/usr/src/h/Makefile", HEADERS_MAKEFILE);
	link = ku_path("store/mine/headers");
	return symlink("devel/usr/src/h", link);
}

static int tear_down(void **state)
{
	kernel_build_free(build);
	return ku_tear_down(state);
}

static off_t builds(void)
{
	auto_free char *path = ku_path("store/builds");
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_size;
}

static void ensure(void)
{
	struct err e = {0};

	if (kernel_probe_ensure(&ku_ctx, build, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(ku_count(build->dir, ".tmp-"), 0);
}

static void test_they_are_built_once_and_again_when_a_source_changes(void **state)
{
	auto_free char *probe = xasprintf("%s/probe", build->dir);
	auto_free char *ko = xasprintf("%s/latency-mon.ko", probe);
	auto_free char *dirt = ku_path("data/module/latency-mon.mod.c");

	(void)state;
	ensure();
	assert_int_equal(builds(), 1);
	assert_int_equal(ku_count(probe, ""), 3);
	ensure();
	assert_int_equal(builds(), 1);
	ku_puts("data/module/latency-mon.mod.c", "left by a build in place\n");
	ensure();
	assert_int_equal(builds(), 1);
	ku_puts("data/module/x.h", "#define X 2\n");
	ensure();
	assert_int_equal(builds(), 2);
	assert_int_equal(unlink(ko), 0);
	ensure();
	assert_int_equal(builds(), 3);
	assert_int_equal(unlink(dirt), 0);
}

static void test_the_first_error_of_the_compiler_is_told_and_the_old_modules_stay(void **state)
{
	auto_free char *ko = xasprintf("%s/probe/latency-mon.ko", build->dir);
	struct err e = {0};

	(void)state;
	ensure();
	ku_puts("data/module/x.h", "#define X nonsense\n");
	assert_int_equal(kernel_probe_ensure(&ku_ctx, build, &e), -ECHILD);
	ku_expect_error(&e, ERR_KERNEL,
			"do not build for kernel 'mine': x.h:1:11: error: "
			"'nonsense' undeclared");
	assert_int_equal(access(ko, F_OK), 0);
	assert_int_equal(ku_count(build->dir, ".tmp-"), 0);
	ku_puts("data/module/x.h", "#define X 1\n");
}

static void expect_missing(const char *programs, const char *text)
{
	auto_free char *old = xstrdup(getenv("PATH"));
	auto_free char *bin = ku_path("bin");
	auto_free char *program = programs ? xasprintf("%s/%s", bin, programs) : NULL;
	struct err e = {0};
	int r;

	assert_int_equal(dir_remove(bin, &e), 0);
	assert_int_equal(dir_make(bin, &e), 0);
	if (program)
		assert_int_equal(symlink("/bin/true", program), 0);
	ku_puts("data/module/x.h", "#define X 3\n");
	setenv("PATH", bin, 1);
	r = kernel_probe_ensure(&ku_ctx, build, &e);
	setenv("PATH", old, 1);
	ku_puts("data/module/x.h", "#define X 1\n");
	assert_int_equal(r, -ENOENT);
	ku_expect_error(&e, ERR_RIG, text);
}

static void test_a_missing_tool_is_named(void **state)
{
	char *host_arch = build->arch;
	char arm64[] = "arm64";
	char x86_64[] = "x86_64";
	bool is_arm64 = strcmp(kernels_host_arch(), "arm64") == 0;

	(void)state;
	expect_missing(NULL, "program 'make' is not installed");
	ku_puts("store/mine/devel/usr/src/h/.kernelvariables",
		"CC = $(if $(CCACHE),x) $(CROSS_COMPILE)gcc-99\n");
	build->arch = is_arm64 ? arm64 : x86_64;
	expect_missing("make", "program 'gcc-99' is not installed");
	build->arch = is_arm64 ? x86_64 : arm64;
	expect_missing("make", is_arm64 ? "program 'x86_64-linux-gnu-gcc-99' is not installed"
					: "program 'aarch64-linux-gnu-gcc-99' is not installed");
	build->arch = host_arch;
}

static void test_a_build_without_headers_says_so(void **state)
{
	auto_kernel_build struct kernel_build *k = ku_add("6.9.9", "plain");
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_probe_ensure(&ku_ctx, k, &e), -ENOENT);
	ku_expect_error(&e, ERR_KERNEL, "kernel 'plain' has no headers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_they_are_built_once_and_again_when_a_source_changes),
		cmocka_unit_test(
			test_the_first_error_of_the_compiler_is_told_and_the_old_modules_stay),
		cmocka_unit_test(test_a_missing_tool_is_named),
		cmocka_unit_test(test_a_build_without_headers_says_so),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
