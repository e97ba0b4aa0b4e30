/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
#include "kernels/source.h"
#include "kernels_unit.h"

/*
 * A source tree whose Makefile does in a moment what a kernel's does in minutes, so that what goes
 * wrong in it can be chosen. Real kernels are built by tests/system/build.sh and the bisect test.
 */
static const char makefile[] =
	"O ?= .\n"
	"allnoconfig:\n"
	"\t@mkdir -p $(O)\n"
	"\t@grep -v NEVER $(KCONFIG_ALLCONFIG) >$(O)/.config\n"
	"olddefconfig:\n"
	"\t@grep -q BASE $(O)/.config\n"
	"bzImage:\n"
	"\t@cat edited.c\n"
	"\t@! grep -q error: edited.c\n"
	"\t@! grep -q 'No space' edited.c\n"
	"\t@mkdir -p $(O)/arch/x86/boot $(O)/include/generated\n"
	"\t@cp image$(LOCALVERSION) $(O)/arch/x86/boot/bzImage\n"
	"\t@cp edited.c $(O)/System.map\n"
	"\t@echo made >$(O)/include/generated/made.h\n"
	"modules:\n\t@true\n"
	"modules_install:\n"
	"\t@mkdir -p $(INSTALL_MOD_PATH)/lib/modules/r\n"
	"\t@touch $(INSTALL_MOD_PATH)/lib/modules/r/modules.dep\n"
	"\t@touch $(INSTALL_MOD_PATH)/lib/modules/r/modules.builtin\n"
	"\t@echo x >$(INSTALL_MOD_PATH)/lib/modules/r/modules.builtin.modinfo\n";

#define EDITED "first\nsecond\nthird\n"
#define PATCH(was, is)                                                                            \
	"Title: t\nStands-for: s\n--- a/edited.c\n+++ b/edited.c\n@@ -1,3 +1,3 @@\n first\n-" was \
	"\n+" is "\n third\n"

static int set_up(void **state)
{
	auto_free char *data = NULL;

	if (ku_set_up(state) < 0)
		return -1;
	data = ku_path("data");
	setenv("STALLRIG_DATA", data, 1);
	ku_puts("data/module/Makefile", "all:\n\t@touch latency-mon.ko wq-stall.ko\n");
	ku_puts("data/fixtures/kernels/tiny.config", KU_CONFIG);
	ku_puts("data/fixtures/kernels/tiny-x86_64.config", "CONFIG_ONLY_X86=y\n");
	ku_puts("data/fixtures/kernels/dropped.config", "CONFIG_NEVER=y\n");
	ku_puts("data/fixtures/kernels/mutations/two.patch", PATCH("second", "SECOND"));
	ku_puts("data/fixtures/kernels/mutations/misfit.patch", PATCH("other", "OTHER"));
	ku_puts("data/fixtures/kernels/mutations/breaks.patch",
		PATCH("second", "edited.c:2:1: error: expected"));
	ku_puts("data/fixtures/kernels/mutations/full.patch",
		PATCH("second", "cc1: No space left on device"));
	ku_puts("tree/Makefile", makefile);
	ku_puts("tree/Kconfig", "");
	ku_puts("tree/scripts/kconfig/x", "");
	ku_puts("tree/include/linux/x.h", "");
	ku_puts("tree/edited.c", EDITED);
	return 0;
}

struct built {
	int r;
	struct err e;
	struct kernel_build *k;
};

/* Builds ku_dir/tree under this name. mutation may be NULL. */
static struct built build(const char *name, const char *config, const char *mutation)
{
	auto_free char *tree = ku_path("tree");
	auto_free char *image = xasprintf("tree/image-%s", name);
	auto_free char *release = xasprintf("6.1.0-%s", name);
	const struct kernel_compile_cfg cfg = {
		.source = tree,
		.configs = &config,
		.n_configs = 1,
		.mutations = &mutation,
		.n_mutations = mutation ? 1 : 0,
		.name = name,
		.arch = "x86_64",
		.jobs = 1,
	};
	struct built b = {0};

	ku_put_image(image, release);
	b.r = kernel_compile(&ku_ctx, &cfg, &b.k, &b.e);
	return b;
}

static struct kernel_build *build_ok(const char *name, const char *config, const char *mutation)
{
	struct built b = build(name, config, mutation);

	if (b.r < 0)
		fail_msg("%s", b.e.text);
	return b.k;
}

static char *read_in(const struct kernel_build *k, const char *sub)
{
	auto_free char *path = xasprintf("%s/%s", k->dir, sub);
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	struct err e = {0};

	if (file_read(path, 1u << 20, &sb, &e) < 0)
		fail_msg("%s", e.text);
	return strbuf_take(&sb);
}

static void test_a_build_lands_in_the_store_with_its_identity(void **state)
{
	auto_kernel_build struct kernel_build *k = build_ok("plain", "tiny", NULL);
	auto_free char *tree = ku_path("tree");
	auto_free char *config = read_in(k, "config");
	auto_free char *log = read_in(k, "build.log");
	auto_free char *made = read_in(k, "headers/include/generated/made.h");
	auto_free char *header = read_in(k, "headers/include/linux/x.h");
	auto_free char *probe = read_in(k, "probe/latency-mon.ko");

	(void)state;
	assert_string_equal(k->release, "6.1.0-plain");
	assert_string_equal(k->origin, "build");
	assert_string_equal(k->source, tree);
	assert_string_equal(k->mutations, "");
	assert_non_null(strstr(config, "CONFIG_ONLY_X86=y"));
	assert_non_null(strstr(log, "second"));
	assert_string_equal(made, "made\n");
}

static void test_a_mutation_is_in_one_build_and_not_in_the_next(void **state)
{
	auto_kernel_build struct kernel_build *with = build_ok("with", "tiny", "two");
	auto_kernel_build struct kernel_build *without = build_ok("without", "tiny", NULL);
	auto_free char *log_with = read_in(with, "build.log");
	auto_free char *log_without = read_in(without, "build.log");
	const char *const argv[] = {"cat", "tree/edited.c", NULL};
	auto_free char *users = ku_run(argv);

	(void)state;
	assert_string_equal(with->mutations, "two");
	assert_non_null(strstr(log_with, "SECOND"));
	assert_null(strstr(log_without, "SECOND"));
	assert_non_null(strstr(log_without, "second"));
	assert_string_equal(users, EDITED);
}

static void test_what_the_compiler_says_first_is_in_the_error(void **state)
{
	struct built b = build("bad", "tiny", "breaks");
	auto_free char *build_dir = xasprintf("%s/bad", ku_store);
	auto_free char *tmp_dir = xasprintf("%s/.compile-bad", ku_store);

	(void)state;
	assert_int_equal(b.r, -ECHILD);
	ku_expect_error(&b.e, ERR_KERNEL, "\n  edited.c:2:1: error: expected");
	ku_expect_error(&b.e, ERR_KERNEL, ".build.log");
	/* neither half a build nor a temporary folder stays */
	assert_int_equal(access(build_dir, F_OK), -1);
	assert_int_equal(access(tmp_dir, F_OK), -1);
}

static void test_a_full_disk_is_not_the_kernels_fault(void **state)
{
	struct built b = build("full", "tiny", "full");

	(void)state;
	assert_int_equal(b.r, -ENOSPC);
	ku_expect_error(&b.e, ERR_INTERNAL, "no space left on the disk");
}

static void test_wrong_words_are_refused_before_anything_is_built(void **state)
{
	static const char longest[] = "a234567890123456789012345678901234567890";
	static const char too_long[] = "a2345678901234567890123456789012345678901";
	static const struct {
		const char *name, *config, *mutation, *says;
		enum err_kind kind;
	} cases[] = {
		{"a", "nothing", NULL, "config 'nothing': neither a file nor a fragment",
		 ERR_USAGE},
		{"a", "./nothing", NULL, "config './nothing'", ERR_USAGE},
		{"a", "tiny", "none", "mutation 'none' is unknown", ERR_USAGE},
		{"a", "tiny", "misfit", "mutation 'misfit' does not fit", ERR_USAGE},
		{"a/b", "tiny", NULL, "'a/b' cannot be the name", ERR_USAGE},
		{too_long, "tiny", NULL, "at most 40", ERR_USAGE},
		{"a", "dropped", NULL, "does not take 1 option for x86_64: CONFIG_NEVER=y",
		 ERR_USAGE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *config = cases[i].config;
		const char *mutation = cases[i].mutation;
		auto_free char *tree = ku_path("tree");
		const struct kernel_compile_cfg cfg = {
			.source = tree,
			.configs = &config,
			.n_configs = 1,
			.mutations = &mutation,
			.n_mutations = mutation ? 1 : 0,
			.name = cases[i].name,
			.arch = "x86_64",
		};
		struct kernel_build *k = NULL;
		struct err e = {0};

		assert_true(kernel_compile(&ku_ctx, &cfg, &k, &e) < 0);
		ku_expect_error(&e, cases[i].kind, cases[i].says);
	}
	assert_int_equal(strlen(longest), KERNEL_COMPILE_NAME_MAX);
	kernel_build_free(build_ok(longest, "tiny", NULL));
}

static void test_a_name_that_is_taken_is_refused(void **state)
{
	struct built b;

	(void)state;
	kernel_build_free(build_ok("taken", "tiny", NULL));
	b = build("taken", "tiny", NULL);
	assert_int_equal(b.r, -EEXIST);
	ku_expect_error(&b.e, ERR_USAGE, "kernel 'taken' is in the store already");
}

static void test_a_complete_config_is_the_base_and_may_lose_options(void **state)
{
	auto_free char *path = ku_path("user.config");
	auto_kernel_build struct kernel_build *k = NULL;

	(void)state;
	ku_puts("user.config", "#\n# Automatically generated file; DO NOT EDIT.\n#\n"
			       "CONFIG_BASE=y\nCONFIG_NEVER=y\n" KU_CONFIG);
	k = build_ok("complete", path, NULL);
	assert_string_equal(k->release, "6.1.0-complete");
}

static void test_a_folder_that_is_no_kernel_source_is_refused(void **state)
{
	static const char *const config = "tiny";
	auto_free char *dir = ku_path("data");
	const struct kernel_compile_cfg cfg = {
		.source = dir, .configs = &config, .n_configs = 1, .name = "n", .arch = "x86_64"};
	struct kernel_build *k = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_compile(&ku_ctx, &cfg, &k, &e), -ENOENT);
	ku_expect_error(&e, ERR_USAGE, "not a kernel source tree, it has no Makefile");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_build_lands_in_the_store_with_its_identity),
		cmocka_unit_test(test_a_mutation_is_in_one_build_and_not_in_the_next),
		cmocka_unit_test(test_what_the_compiler_says_first_is_in_the_error),
		cmocka_unit_test(test_a_full_disk_is_not_the_kernels_fault),
		cmocka_unit_test(test_wrong_words_are_refused_before_anything_is_built),
		cmocka_unit_test(test_a_name_that_is_taken_is_refused),
		cmocka_unit_test(test_a_complete_config_is_the_base_and_may_lose_options),
		cmocka_unit_test(test_a_folder_that_is_no_kernel_source_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, ku_tear_down);
}
