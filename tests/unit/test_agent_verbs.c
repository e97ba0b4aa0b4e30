/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "agent_unit.h"

static int check(const char *verb, const char *body, struct err *e)
{
	char line[FRAME_MAX + 1];
	struct frame f;
	size_t n = frame_build(1, body, line, sizeof(line));

	assert_true(n > 0 && frame_parse(line, n, &f));
	return verb_check(verb_find(verb), &f, e);
}

static void test_verbs_are_found_by_their_whole_name(void **state)
{
	static const char *const names[] = {
		"cache",   "cat",           "clock",       "dd",
		"dmesg",   "dmesg-level",   "drop-caches", "info",
		"irq",     "load-module",   "mark",        "mount",
		"pin-irq", "probe-control", "probe-read",  "probe-samples",
		"sha256",  "stall",         "stick",       "umount",
		"unload",  "usb-port",      "write"};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_non_null(verb_find(names[i]));
		assert_string_equal(verb_find(names[i])->name, names[i]);
	}
	assert_null(verb_find(""));
	assert_null(verb_find("dmesg-"));
	assert_null(verb_find("ddd"));
}

static void test_only_listed_keys_pass_and_each_once(void **state)
{
	static const struct {
		const char *verb, *body, *part; /* NULL = passes */
	} cases[] = {
		{"mount", "mount dev=a dir=b fs=c", NULL},
		{"mount", "mount dev=a dir=b fs=c opts=", NULL},
		{"mount", "mount dev=a dir=b", "takes 3 to 4 words, not 2"},
		{"mount", "mount dev=a dir=b f=c", "'f=c' is none of: dev dir fs opts"},
		{"mount", "mount dev=a dir=b fss=c", "'fss=c' is none of"},
		{"mount", "mount dev=a dir=b =c", "'=c' is none of"},
		{"mount", "mount dev=a dir=b dir", "'dir' is none of"},
		{"mount", "mount dev=a dev=b fs=c", "'dev=' stands twice"},
		{"load-module", "load-module /x.ko a b=c", NULL},
		{"load-module", "load-module", "takes 1 to 64 words, not 0"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};
		int r = check(cases[i].verb, cases[i].body, &e);

		assert_int_equal(r, cases[i].part ? -EINVAL : 0);
		if (cases[i].part)
			assert_contains(e.text, cases[i].part);
	}
}

static void test_a_path_is_limited(void **state)
{
	char path[SYSFILE_PATH_MAX + 1], full[SYSFILE_PATH_MAX];
	struct err e = {0};
	(void)state;

	memset(path, 'a', sizeof(path));
	path[SYSFILE_PATH_MAX] = '\0';
	assert_int_equal(sysfile_path("", path, full, &e), -ENAMETOOLONG);
	path[SYSFILE_PATH_MAX - 1] = '\0';
	assert_int_equal(sysfile_path("", path, full, &e), 0);
	assert_int_equal(sysfile_path("/", path, full, &e), -ENAMETOOLONG);
}

static void test_a_file_is_read_up_to_the_buffer(void **state)
{
	char *root = unit_tmpdir();
	struct err e = {0};
	bool is_cut;
	char buf[6];
	(void)state;

	plant(root, "/f", "12345");
	assert_int_equal(sysfile_read(root, "/f", buf, sizeof(buf), &is_cut, &e), 5);
	assert_false(is_cut);
	assert_string_equal(buf, "12345");
	plant(root, "/f", "123456");
	assert_int_equal(sysfile_read(root, "/f", buf, sizeof(buf), &is_cut, &e), 5);
	assert_true(is_cut);
	plant(root, "/f", "1 \n\t");
	assert_true(sysfile_word(root, "/f", buf, sizeof(buf)));
	assert_string_equal(buf, "1");
	assert_false(sysfile_word(root, "/g", buf, sizeof(buf)));
	assert_int_equal(sysfile_read(root, "/g", buf, sizeof(buf), NULL, &e), -ENOENT);
	assert_string_equal(e.text, "/g: No such file or directory");
	unit_rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs_are_found_by_their_whole_name),
		cmocka_unit_test(test_only_listed_keys_pass_and_each_once),
		cmocka_unit_test(test_a_path_is_limited),
		cmocka_unit_test(test_a_file_is_read_up_to_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
