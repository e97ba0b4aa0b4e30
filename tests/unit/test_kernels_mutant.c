/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/*
 * test_kernels_mutant.c - what a kernel with or without a mutation is known by. The builds
 * themselves are made by tests/system/mutations.sh.
 */
#include "kernels/source.h"
#include "kernels_unit.h"

#define PATCH "--- a/one.c\n+++ b/one.c\n@@ -1 +1 @@\n-old\n+new\n"

static void put_mutation(const char *name, const char *head)
{
	auto_free char *file = xasprintf("data/fixtures/kernels/mutations/%s.patch", name);
	auto_free char *text = xasprintf("Title: t\nStands-for: s\n%s" PATCH, head);

	ku_puts(file, text);
}

/* A registry in a folder that has one package of source. */
static void put_registry(void)
{
	auto_free char *conf = ku_path("apt.conf");
	auto_free char *text = xasprintf("Dir::Etc::SourceList \"%s/sources.list\";\n"
					 "Dir::Etc::SourceParts \"/dev/null\";\n",
					 ku_dir);
	auto_free char *sources = xasprintf("deb [trusted=yes] copy:%s/repo ./\n", ku_dir);

	ku_puts("apt.conf", text);
	ku_puts("sources.list", sources);
	ku_puts("repo/Packages",
		"Package: linux-source-6.1\nVersion: 6.1.9-1\nArchitecture: all\nMaintainer: n\n"
		"Description: t\nFilename: ./s.deb\nSize: 1\nSHA256: "
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n\n");
	setenv("APT_CONFIG", conf, 1);
}

static int set_up(void **state)
{
	auto_free char *data = NULL;

	if (ku_set_up(state) < 0)
		return -1;
	data = ku_path("data");
	setenv("STALLRIG_DATA", data, 1);
	ku_puts("data/fixtures/kernels/virtual.config", "CONFIG_A=y\n");
	ku_puts("data/fixtures/kernels/more.config", "CONFIG_B=y\n");
	put_mutation("one", "");
	put_mutation("two", "");
	put_mutation("other-config", "Config: more\n");
	put_mutation("on-one", "Base: one\n");
	put_registry();
	return 0;
}

static int name_of(const char *mutation, bool is_mutated, const char *source, char **ret,
		   struct err *e)
{
	struct kernel_mutation m = {0};
	struct kernel_mutant_cfg cfg = {
		.mutation = &m, .is_mutated = is_mutated, .source = source, .arch = "x86_64"};
	int r;

	r = kernel_mutation_find(mutation, &m, e);
	if (r >= 0)
		r = kernel_mutant_name(&ku_ctx, &cfg, ret, e);
	kernel_mutation_release(&m);
	return r;
}

static char *name_ok(const char *mutation, bool is_mutated)
{
	struct err e = {0};
	char *name = NULL;

	if (name_of(mutation, is_mutated, NULL, &name, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(strlen(name) <= KERNEL_COMPILE_NAME_MAX);
	return name;
}

static void test_kernels_that_are_held_against_are_shared_if_they_are_equal(void **state)
{
	auto_free char *one = name_ok("one", false);
	auto_free char *two = name_ok("two", false);
	auto_free char *other = name_ok("other-config", false);
	auto_free char *on_one = name_ok("on-one", false);
	auto_free char *mutated = name_ok("one", true);

	(void)state;
	assert_string_equal(one, two);
	assert_string_not_equal(one, other);
	assert_int_equal(strncmp(one, "selftest-plain-", 15), 0);
	/* the base of one mutation is the mutated kernel of another */
	assert_string_equal(on_one, mutated);
	assert_int_equal(strncmp(mutated, "selftest-one-", 13), 0);
}

static void test_whatever_goes_into_a_kernel_makes_it_another_one(void **state)
{
	auto_free char *before = name_ok("one", true);
	auto_free char *retold = NULL;
	auto_free char *edited = NULL;
	auto_free char *options = NULL;

	(void)state;
	/* the story about it does not go in */
	put_mutation("one", "Expected: FAIL over-limit\n");
	retold = name_ok("one", true);
	assert_string_equal(before, retold);
	ku_puts("data/fixtures/kernels/mutations/one.patch",
		"Title: t\nStands-for: s\n" PATCH "@@ -9 +9 @@\n-old\n+new\n");
	edited = name_ok("one", true);
	assert_string_not_equal(before, edited);
	put_mutation("one", "");
	ku_puts("data/fixtures/kernels/virtual.config", "CONFIG_A=n\n");
	options = name_ok("one", true);
	assert_string_not_equal(before, options);
	ku_puts("data/fixtures/kernels/virtual.config", "CONFIG_A=y\n");
}

static void test_a_long_name_is_cut_and_stays_its_own(void **state)
{
	auto_free char *a = NULL;
	auto_free char *b = NULL;

	(void)state;
	put_mutation("a-name-that-is-longer-than-any-release-can-hold-a", "");
	put_mutation("a-name-that-is-longer-than-any-release-can-hold-b", "");
	a = name_ok("a-name-that-is-longer-than-any-release-can-hold-a", true);
	b = name_ok("a-name-that-is-longer-than-any-release-can-hold-b", true);
	assert_int_equal(strlen(a), KERNEL_COMPILE_NAME_MAX);
	assert_string_not_equal(a, b);
}

static void test_what_cannot_be_known_is_refused(void **state)
{
	auto_strbuf struct strbuf most = STRBUF_INIT;
	auto_free char *name = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(name_of("one", true, "/tmp", &name, &e), -EINVAL);
	ku_expect_error(&e, ERR_USAGE, "source '/tmp': only debian:PACKAGE");
	assert_int_equal(name_of("one", true, "debian:linux-image-6.1", &name, &e), -EINVAL);
	ku_expect_error(&e, ERR_USAGE, "'linux-image-6.1' is not a package of kernel source");
	assert_int_equal(name_of("one", true, "debian:linux-source-5.4", &name, &e), -ENOENT);

	put_mutation("lost", "Config: nowhere\n");
	assert_true(name_of("lost", false, NULL, &name, &e) < 0);
	ku_expect_error(&e, ERR_USAGE, "config 'nowhere'");

	strbuf_adds(&most, "Config:");
	for (int i = 0; i < KERNEL_WORDS_MAX; i++)
		strbuf_adds(&most, " more");
	strbuf_adds(&most, "\n");
	put_mutation("most", strbuf_str(&most));
	free(name_ok("most", true));
	most.data[most.len - 1] = ' ';
	strbuf_adds(&most, "more\n");
	put_mutation("most", strbuf_str(&most));
	assert_int_equal(name_of("most", true, NULL, &name, &e), -E2BIG);
	ku_expect_error(&e, ERR_CONFIG, "more than 16 words after 'Config:'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_that_are_held_against_are_shared_if_they_are_equal),
		cmocka_unit_test(test_whatever_goes_into_a_kernel_makes_it_another_one),
		cmocka_unit_test(test_a_long_name_is_cut_and_stays_its_own),
		cmocka_unit_test(test_what_cannot_be_known_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, ku_tear_down);
}
