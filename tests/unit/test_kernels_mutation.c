/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
#include "kernels/source.h"
#include "kernels_unit.h"

static const char head[] = "Title: a title\n"
			   "Scenario: unplug-read\n"
			   "Expected: FAIL over-limit\n"
			   "Stands-for: a story\n that goes on\n"
			   "\n"
			   "--- a/one.c\n+++ b/one.c\n@@ -1 +1 @@\n-old\n+new\n";

static void put_mutation(const char *name, const char *text)
{
	auto_free char *file = xasprintf("data/fixtures/kernels/mutations/%s.patch", name);

	ku_puts(file, text);
}

static int set_up(void **state)
{
	auto_free char *data = NULL;

	if (ku_set_up(state) < 0)
		return -1;
	data = ku_path("data");
	setenv("STALLRIG_DATA", data, 1);
	put_mutation("one", head);
	return 0;
}

static void test_the_head_of_a_mutation_is_read_with_its_further_lines(void **state)
{
	struct kernel_mutation m = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_mutation_find("one", &m, &e), 0);
	assert_string_equal(m.name, "one");
	assert_string_equal(m.title, "a title");
	assert_string_equal(m.scenario, "unplug-read");
	assert_string_equal(m.expected, "FAIL over-limit");
	assert_string_equal(m.stands_for, "a story that goes on");
	assert_string_equal(m.unmutated, "PASS none-over");
	assert_string_equal(m.source, "debian:linux-source-6.1");
	assert_string_equal(m.configs, "");
	assert_string_equal(m.base, "");
	assert_string_equal(m.append, "");
	kernel_mutation_release(&m);
}

static void test_what_a_mutation_needs_is_read_from_its_head(void **state)
{
	auto_free char *path = ku_path("data/fixtures/kernels/mutations/more.patch");
	struct kernel_mutation m = {0};
	struct err e = {0};

	(void)state;
	put_mutation("more", "Title: t\nStands-for: s\nUnmutated: FAIL over-limit\n"
			     "Source: debian:linux-source-6.12\nConfig: nvme\n bfq\nBase: one\n"
			     "Append: quiet workqueue.x=0\n--- a/one.c\n+++ b/one.c\n");
	assert_int_equal(kernel_mutation_find("more", &m, &e), 0);
	assert_string_equal(m.unmutated, "FAIL over-limit");
	assert_string_equal(m.source, "debian:linux-source-6.12");
	assert_string_equal(m.configs, "nvme bfq");
	assert_string_equal(m.base, "one");
	assert_string_equal(m.append, "quiet workqueue.x=0");
	kernel_mutation_release(&m);
	assert_int_equal(unlink(path), 0);
}

static void test_an_unknown_mutation_is_named_with_those_there_are(void **state)
{
	struct kernel_mutation m = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_mutation_find("two", &m, &e), -ENOENT);
	ku_expect_error(&e, ERR_USAGE, "mutation 'two' is unknown, there are: one");
}

static void test_a_mutation_without_its_story_is_refused(void **state)
{
	struct kernel_mutation_list l = {0};
	struct err e = {0};
	auto_free char *path = ku_path("data/fixtures/kernels/mutations/bare.patch");

	(void)state;
	put_mutation("bare", "Title: t\n--- a/one.c\n+++ b/one.c\n");
	assert_int_equal(kernel_mutations(&l, &e), -EINVAL);
	ku_expect_error(&e, ERR_CONFIG, "bare.patch: no 'Stands-for:' line");
	assert_int_equal(unlink(path), 0);
}

static void put_patch(size_t n_files, const char *name_of_last)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i + 1 < n_files; i++)
		strbuf_addf(&sb, "--- a/f%zu.c\n+++ b/f%zu.c\t2026\n", i, i);
	strbuf_addf(&sb, "--- a/%s\n+++ b/%s\n", name_of_last, name_of_last);
	ku_puts("p.patch", strbuf_str(&sb));
}

static void test_the_files_of_a_patch_are_limited_and_inside_the_tree(void **state)
{
	static const struct {
		size_t n;
		const char *last;
		int r;
		const char *says;
	} cases[] = {
		{1, "drivers/usb/core/hub.c", 0, NULL},
		{MUTATION_FILES_MAX, "last.c", 0, NULL},
		{MUTATION_FILES_MAX + 1, "last.c", -E2BIG, "changes more than 16 files"},
		{1, "/etc/passwd", -EINVAL, "'/etc/passwd' is not in the tree"},
		{1, "../up.c", -EINVAL, "'../up.c' is not in the tree"},
		{1, "a/../../up.c", -EINVAL, "is not in the tree"},
	};
	auto_free char *path = ku_path("p.patch");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *files[MUTATION_FILES_MAX];
		struct err e = {0};
		size_t n = 0;

		put_patch(cases[i].n, cases[i].last);
		assert_int_equal(patch_files(path, files, &n, &e), cases[i].r);
		if (cases[i].r < 0) {
			ku_expect_error(&e, ERR_CONFIG, cases[i].says);
			continue;
		}
		assert_int_equal(n, cases[i].n);
		assert_string_equal(files[n - 1], cases[i].last);
		while (n)
			free(files[--n]);
	}
}

static void test_a_patch_without_files_is_refused(void **state)
{
	char *files[MUTATION_FILES_MAX];
	auto_free char *path = ku_path("p.patch");
	struct err e = {0};
	size_t n = 0;

	(void)state;
	ku_puts("p.patch", "just words\n");
	assert_int_equal(patch_files(path, files, &n, &e), -EINVAL);
	ku_expect_error(&e, ERR_CONFIG, "no '+++ b/FILE' line");
}

static void test_the_mutations_of_the_project_are_complete(void **state)
{
	struct kernel_mutation_list l = {0};
	struct err e = {0};

	(void)state;
	setenv("STALLRIG_DATA", STALLRIG_SOURCE_DIR, 1);
	assert_int_equal(kernel_mutations(&l, &e), 0);
	assert_true(l.n >= 2);
	for (size_t i = 0; i < l.n; i++) {
		char *files[MUTATION_FILES_MAX];
		size_t n = 0;

		/* an expectation is one of a scenario */
		assert_int_equal(*l.v[i].scenario != '\0', *l.v[i].expected != '\0');
		assert_int_equal(patch_files(l.v[i].path, files, &n, &e), 0);
		while (n)
			free(files[--n]);
	}
	kernel_mutation_list_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_head_of_a_mutation_is_read_with_its_further_lines),
		cmocka_unit_test(test_what_a_mutation_needs_is_read_from_its_head),
		cmocka_unit_test(test_an_unknown_mutation_is_named_with_those_there_are),
		cmocka_unit_test(test_a_mutation_without_its_story_is_refused),
		cmocka_unit_test(test_the_files_of_a_patch_are_limited_and_inside_the_tree),
		cmocka_unit_test(test_a_patch_without_files_is_refused),
		cmocka_unit_test(test_the_mutations_of_the_project_are_complete),
	};

	return cmocka_run_group_tests(tests, set_up, ku_tear_down);
}
