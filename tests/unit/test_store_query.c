/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: store */
/* test_store_query.c - incidents by their words; no bisects in a store without them. */
#include "sample_run.h"
#include "store/query.h"
#include "unit.h"

static void add_incident(struct trial *t, const char *cls, const char *title)
{
	struct trial_incident *inc = trial_add_incident(t);

	(void)snprintf(inc->cls, sizeof(inc->cls), "%s", cls);
	(void)snprintf(inc->title, sizeof(inc->title), "%s", title);
	inc->count = 2;
	inc->t_first_us = CONSOLE_UNKNOWN;
	inc->worst_s = CONSOLE_UNKNOWN;
}

static int set_up(void **state)
{
	auto_run struct run *r = sample_run("debian 6.1", "virtual-x86", "virtual");
	auto_free char *path = NULL;
	char *dir = unit_tmpdir();
	struct store *st = NULL;
	struct err e = {0};

	(void)sample_add_boot(r, "/nowhere");
	add_incident(sample_add_trial(r, 1, 4000), "usb-disconnect", "2-1");
	add_incident(r->trials[0], "workqueue-lockup", "hub_event on cpu 0");
	add_incident(sample_add_trial(r, 1, 4000), "hung-task", "kworker/0:1");
	path = xasprintf("%s/results.db", dir);
	assert_int_equal(store_open(path, STORE_WRITE, &st, &e), 0);
	assert_int_equal(store_run_begin(st, r, &e), 0);
	assert_int_equal(store_boot_add(st, r, &r->boots[0], &e), 0);
	for (size_t i = 0; i < r->n_trials; i++)
		assert_int_equal(store_trial_add(st, r, r->trials[i], &e), 0);
	store_close(st);
	assert_int_equal(store_open(path, STORE_READ, &st, &e), 0);
	assert_int_equal(dir_remove(dir, &e), 0); /* the open file stays */
	free(dir);
	*state = st;
	return 0;
}

static int tear_down(void **state)
{
	store_close(*state);
	return 0;
}

static void test_incidents_are_found_by_words_and_the_newest_come_first(void **state)
{
	static const struct {
		const char *words;
		unsigned last;
		size_t n;
		const char *first;
	} cases[] = {
		{NULL, 10, 2, "hung-task"},
		{"", 10, 2, "hung-task"},
		{"hub_event", 10, 1, "workqueue-lockup"},
		{"LOCKUP hub", 10, 1, "workqueue-lockup"},
		{"disconnect", 10, 1, "usb-disconnect"},
		{"kwork", 10, 1, "hung-task"},
		{"lockup hung", 10, 0, NULL},
		{"\"'; DROP", 10, 0, NULL},
		{NULL, 1, 1, "hung-task"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_incident *rows = NULL;
		struct err e = {0};
		size_t n = 99;

		assert_int_equal(
			store_incidents(*state, cases[i].words, cases[i].last, &rows, &n, &e), 0);
		if (n != cases[i].n)
			fail_msg("'%s': %zu", cases[i].words ? cases[i].words : "", n);
		if (n) {
			assert_string_equal(rows[0].cls, cases[i].first);
			assert_int_equal(rows[0].count, 2);
			assert_string_equal(rows[0].rig, "virtual-x86");
			assert_string_equal(rows[0].run_id, "20261130-111754-a3f2");
		}
		store_incidents_free(rows, n);
	}
}

static void test_a_store_without_bisects_has_none(void **state)
{
	struct store_bisect *rows = NULL;
	struct err e = {0};
	size_t n = 99;

	assert_int_equal(store_bisects(*state, NULL, &rows, &n, &e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(store_bisects(*state, "none", &rows, &n, &e), 0);
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_incidents_are_found_by_words_and_the_newest_come_first, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_store_without_bisects_has_none, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
