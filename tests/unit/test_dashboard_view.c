/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: dashboard */
/* test_dashboard_view.c - changes, the matrix, and names of kernels. */
#include "../../controller/dashboard/view.h"
#include "sample_run.h"
#include "unit.h"

#define DAY_NS (86400 * NSEC_PER_SEC)

/* A run of Debian VERSION ("6.1.192-3") that many days after SAMPLE_WALL_NS. */
static struct run *run_of(struct run_list *l, const char *version, const char *rig, int day,
			  enum verdict v, int64_t worst_us)
{
	struct run *r = sample_run(version, rig, "board");

	free(r->id);
	r->id = xasprintf("%s-%s-%d", version, rig, day);
	free(r->kernel_version);
	r->kernel_version = xasprintf("#1 SMP Debian %s (2026-11-26)", version);
	free(r->kernel_release);
	r->kernel_release = xasprintf("%s-amd64", version);
	r->started_wall_ns = SAMPLE_WALL_NS + day * DAY_NS;
	r->ended_wall_ns = r->started_wall_ns + NSEC_PER_SEC;
	r->result.verdict = v;
	r->result.worst_us = worst_us;
	r->result.valid = 8;
	l->runs = xrealloc(l->runs, l->n + 1, sizeof(struct run *));
	memmove(l->runs + 1, l->runs, l->n * sizeof(struct run *)); /* newest first */
	l->runs[0] = r;
	l->n++;
	return r;
}

static void test_a_kernel_is_named_by_its_package_version_else_by_its_release(void **state)
{
	auto_run struct run *r = sample_run("x", "rig", "board");
	auto_free char *debian = view_kernel_name(r);
	auto_free char *own = NULL;

	(void)state;
	assert_string_equal(debian, "6.1.192-3");
	strcpy(r->kernel_version, "#2 SMP");
	free(r->append);
	r->append = xstrdup("quiet");
	own = view_kernel_name(r);
	assert_string_equal(own, "6.1.0-57-amd64 quiet");
}

static void test_a_night_begins_at_noon_and_names_the_year_only_if_it_is_another(void **state)
{
	static const struct {
		int64_t offset_ns; /* from 2026-11-30T11:17:54Z */
		const char *night;
	} cases[] = {
		{0, "11-29"},
		{3600 * NSEC_PER_SEC, "11-30"},
		{-400 * DAY_NS, "2025-10-25"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char night[11];

		wall_night(SAMPLE_WALL_NS + cases[i].offset_ns, SAMPLE_WALL_NS, night);
		assert_string_equal(night, cases[i].night);
	}
}

static void test_a_fail_after_a_pass_is_worse_since_the_first_fail_of_the_row(void **state)
{
	auto_run_list struct run_list l = {0};
	struct change_list c;
	const struct run *pass, *first, *newest;

	(void)state;
	run_of(&l, "6.1.190-1", "a", 0, VERDICT_FAIL, 700000);
	pass = run_of(&l, "6.1.191-1", "a", 1, VERDICT_PASS, 4000);
	first = run_of(&l, "6.1.192-1", "a", 2, VERDICT_FAIL, 800000);
	run_of(&l, "6.1.192-2", "a", 3, VERDICT_RIG_FAULT, -1);
	newest = run_of(&l, "6.1.192-3", "a", 4, VERDICT_FAIL, 812000);
	run_of(&l, "6.1.192-4", "a", 5, VERDICT_INCONCLUSIVE, 9000);

	view_changes(&l, &c);

	assert_int_equal(c.n, 1);
	assert_int_equal(c.changes[0].kind, CHANGE_WORSE);
	assert_ptr_equal(c.changes[0].now, newest);
	assert_ptr_equal(c.changes[0].since, first);
	assert_ptr_equal(c.changes[0].was, pass);
	free(c.changes);
}

static void test_series_are_kept_apart_by_rig_release_flavour_command_line_and_limit(void **state)
{
	auto_run_list struct run_list l = {0};
	struct change_list c;
	struct run *other;

	(void)state;
	run_of(&l, "6.1.1-1", "a", 0, VERDICT_PASS, 4000);
	run_of(&l, "6.1.2-1", "b", 1, VERDICT_FAIL, 90000);
	run_of(&l, "6.12.1-1", "a", 2, VERDICT_FAIL, 90000);
	other = run_of(&l, "6.1.3-1", "a", 3, VERDICT_FAIL, 90000);
	free(other->append);
	other->append = xstrdup("threadirqs");
	other = run_of(&l, "6.1.4-1", "a", 4, VERDICT_FAIL, 90000);
	other->limit_us = 20000;
	other = run_of(&l, "6.1.5-1", "a", 5, VERDICT_FAIL, 90000);
	free(other->kernel_release);
	other->kernel_release = xstrdup("6.1.5-1-rt-amd64x");

	view_changes(&l, &c);

	/* five that fail as long as is known, the one that passes is no news */
	assert_int_equal(c.n, 5);
	for (size_t i = 0; i < c.n; i++) {
		assert_int_equal(c.changes[i].kind, CHANGE_BAD);
		assert_null(c.changes[i].was);
	}
	free(c.changes);
}

static void test_the_newest_regression_comes_first_and_improvements_come_after(void **state)
{
	auto_run_list struct run_list l = {0};
	struct change_list c;

	(void)state;
	run_of(&l, "6.1.1-1", "a", 0, VERDICT_PASS, 4000);
	run_of(&l, "6.1.1-1", "b", 0, VERDICT_PASS, 4000);
	run_of(&l, "6.1.1-1", "c", 0, VERDICT_FAIL, 400000);
	run_of(&l, "6.1.2-1", "a", 1, VERDICT_FAIL, 90000);
	run_of(&l, "6.1.2-1", "b", 2, VERDICT_FAIL, 90000);
	run_of(&l, "6.1.2-1", "c", 3, VERDICT_PASS, 9000);

	view_changes(&l, &c);

	assert_int_equal(c.n, 3);
	assert_string_equal(c.changes[0].now->rig, "b");
	assert_string_equal(c.changes[1].now->rig, "a");
	assert_int_equal(c.changes[2].kind, CHANGE_BETTER);
	free(c.changes);
}

static void test_the_matrix_shows_the_newest_ended_run_of_each_kernel_on_each_rig(void **state)
{
	auto_run_list struct run_list l = {0};
	auto_matrix_list struct matrix_list m = {0};
	const struct run *newest;
	struct run *going;

	(void)state;
	run_of(&l, "6.1.1-1", "b", 0, VERDICT_PASS, 4000);
	run_of(&l, "6.12.1-1", "a", 1, VERDICT_PASS, 4000);
	run_of(&l, "6.1.2-1", "b", 2, VERDICT_PASS, 4000);
	newest = run_of(&l, "6.1.2-1", "b", 3, VERDICT_FAIL, 90000);
	going = run_of(&l, "6.1.2-1", "b", 4, VERDICT_PASS, 4000);
	going->ended_wall_ns = 0;

	view_matrices(&l, &m);

	assert_int_equal(m.n, 1);
	assert_int_equal(m.matrices[0].n_cols, 2);
	assert_string_equal(m.matrices[0].cols[0], "a");
	/* the newest build of 6.1 and of 6.12, then the older one of 6.1 */
	assert_int_equal(m.matrices[0].n_rows, 3);
	assert_int_equal(m.matrices[0].n_newest, 2);
	assert_ptr_equal(m.matrices[0].rows[0], newest);
	assert_ptr_equal(m.matrices[0].cells[1], newest);
	assert_null(m.matrices[0].cells[0]);
	assert_non_null(m.matrices[0].cells[2]);
	assert_string_equal(m.matrices[0].rows[2]->id, "6.1.1-1-b-0");
}

static void test_virtual_and_board_numbers_never_share_a_matrix(void **state)
{
	auto_run_list struct run_list l = {0};
	auto_matrix_list struct matrix_list m = {0};
	struct run *r;

	(void)state;
	run_of(&l, "6.1.1-1", "a", 0, VERDICT_PASS, 4000);
	r = run_of(&l, "6.1.1-1", "v", 1, VERDICT_PASS, 4000);
	free(r->rig_class);
	r->rig_class = xstrdup("virtual");

	view_matrices(&l, &m);

	assert_int_equal(m.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_kernel_is_named_by_its_package_version_else_by_its_release),
		cmocka_unit_test(
			test_a_night_begins_at_noon_and_names_the_year_only_if_it_is_another),
		cmocka_unit_test(test_a_fail_after_a_pass_is_worse_since_the_first_fail_of_the_row),
		cmocka_unit_test(
			test_series_are_kept_apart_by_rig_release_flavour_command_line_and_limit),
		cmocka_unit_test(
			test_the_newest_regression_comes_first_and_improvements_come_after),
		cmocka_unit_test(
			test_the_matrix_shows_the_newest_ended_run_of_each_kernel_on_each_rig),
		cmocka_unit_test(test_virtual_and_board_numbers_never_share_a_matrix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
