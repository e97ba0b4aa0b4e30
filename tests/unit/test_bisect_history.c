/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: bisect */
#include "bisect_unit.h"

static struct history load(const char *const *paths, size_t n)
{
	struct history h = {0};
	struct err e = {0};

	if (history_load(bu_w, bu_repo, "c0", "c20", paths, n, bu_dir, &h, &e) < 0)
		fail_msg("%s", e.text);
	return h;
}

static uint32_t index_of(const struct history *h, const char *tag)
{
	auto_free char *sha = bu_sha(tag);
	uint32_t i = 0;
	struct err e = {0};

	if (history_find(h, sha, &i, &e) < 0)
		fail_msg("%s", e.text);
	return i;
}

static void test_parents_come_before_children_and_the_bad_end_is_last(void **state)
{
	struct history h = load(NULL, 0);
	auto_free char *bad = bu_sha("c20");

	(void)state;
	assert_int_equal(h.n, 21);
	assert_string_equal(h.v[h.n - 1].sha, bad);
	for (size_t i = 0; i < h.n; i++)
		for (unsigned k = 0; k < h.v[i].n_parents; k++)
			assert_true(h.v[i].parents[k] < i);
	assert_int_equal(h.v[index_of(&h, "c5")].n_parents, 2);
	assert_int_equal(h.v[0].n_parents, 0);
	assert_int_equal(h.v[0].n_parent_shas, 1);
	history_release(&h);
}

static void test_weights_follow_the_files_and_are_never_0(void **state)
{
	static const char *const paths[] = {"Documentation/"};
	struct history h = load(NULL, 0);
	struct history p = load(paths, 1);

	(void)state;
	assert_float_equal(h.v[index_of(&h, "c8")].weight, 4, 0);    /* drivers/usb */
	assert_float_equal(h.v[index_of(&h, "c9")].weight, 0.02, 0); /* Documentation */
	assert_float_equal(h.v[index_of(&h, "c10")].weight, 1, 0);   /* main.c */
	assert_float_equal(h.v[index_of(&h, "c5")].weight, 0.2, 0);  /* a merge */
	assert_float_equal(p.v[index_of(&p, "c9")].weight, 20, 0);   /* asked for */
	assert_float_equal(p.v[index_of(&p, "c8")].weight, 1, 0);
	history_release(&h);
	history_release(&p);
}

static void test_a_history_is_the_same_after_it_was_on_the_disk(void **state)
{
	auto_free char *path = xasprintf("%s/history", bu_dir);
	struct history h = load(NULL, 0);
	struct history k = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(history_save(&h, path, &e), 0);
	assert_int_equal(history_read(path, &k, &e), 0);
	assert_int_equal(h.n, k.n);
	assert_string_equal(h.good, k.good);
	assert_string_equal(h.bad, k.bad);
	for (size_t i = 0; i < h.n; i++) {
		assert_string_equal(h.v[i].sha, k.v[i].sha);
		assert_string_equal(h.v[i].subject, k.v[i].subject);
		assert_int_equal(h.v[i].n_parents, k.v[i].n_parents);
		assert_float_equal(h.v[i].weight, k.v[i].weight, 0);
	}
	history_release(&h);
	history_release(&k);
}

static void test_ends_that_do_not_fit_are_refused_with_where_they_part(void **state)
{
	static const struct {
		const char *good, *bad, *says;
	} cases[] = {
		{"c3", "c3", "the same commit"},
		{"c4", "c2", "is not an ancestor of bad"},
		{"side", "c4", "they part at"},
		{"nothing", "c4", "'nothing' is no commit"},
		{"--help", "c4", "'--help' is no commit"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct history h = {0};
		struct err e = {0};

		assert_true(history_load(bu_w, bu_repo, cases[i].good, cases[i].bad, NULL, 0,
					 bu_dir, &h, &e) < 0);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, cases[i].says);
	}
}

static void test_a_commit_is_found_by_its_beginning_if_that_is_unique(void **state)
{
	struct history h = load(NULL, 0);
	auto_free char *begin = xasprintf("%.10s", h.v[3].sha);
	struct err e = {0};
	uint32_t i = 0;

	(void)state;
	assert_int_equal(history_find(&h, begin, &i, &e), 0);
	assert_int_equal(i, 3);
	assert_int_equal(history_find(&h, h.good, &i, &e), 0);
	assert_true(i == BISECT_GOOD_END);
	assert_int_equal(history_find(&h, "abc", &i, &e), -EINVAL);
	assert_int_equal(history_find(&h, "zzzz", &i, &e), -ENOENT);
	history_release(&h);
}

static int set_up(void **state)
{
	if (bu_set_up(state) < 0)
		return -1;
	bu_make_repo(20);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parents_come_before_children_and_the_bad_end_is_last),
		cmocka_unit_test(test_weights_follow_the_files_and_are_never_0),
		cmocka_unit_test(test_a_history_is_the_same_after_it_was_on_the_disk),
		cmocka_unit_test(test_ends_that_do_not_fit_are_refused_with_where_they_part),
		cmocka_unit_test(test_a_commit_is_found_by_its_beginning_if_that_is_unique),
	};

	return cmocka_run_group_tests(tests, set_up, bu_tear_down);
}
