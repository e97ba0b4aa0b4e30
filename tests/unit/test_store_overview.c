/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: store,dashboard */
/* test_store_overview.c - the runs of an overview say the same as all runs. */
#include "../../controller/dashboard/view.h"
#include "base/rng.h"
#include "sample_run.h"
#include "store/query.h"
#include "unit.h"

#define SEED  20261130
#define OLDER 3

static const char *const releases[] = {
	"6.1.0-57-amd64", "6.1.0-58-amd64", "6.1.192",  "6.12.1-amd64", "6.12.9-amd64",
	"6.12.9-arm64",   "6.1.7-rt-amd64", "own",      "6.-amd64",     "6.x-amd64",
	".1-amd64",       "6.1.0-57-",      "6.18-rc4", "6.18-4",       "",
};

/* Few rigs, command lines and limits, so that series are long and cross each other. */
static struct run *any_run(struct rng *g, unsigned number)
{
	struct run *r = sample_run("label", "rig-0", rng_below(g, 2) ? "board" : "virtual");
	size_t release = rng_below(g, ARRAY_SIZE(releases));

	free(r->id);
	r->id = xasprintf("r%04u", number);
	r->rig[4] = (char)('0' + rng_below(g, 3));
	free(r->kernel_release);
	r->kernel_release = xstrdup(releases[release]);
	free(r->kernel_version);
	r->kernel_version = xasprintf("#1 Debian %zu.%u-1", release, (unsigned)rng_below(g, 3));
	free(r->append);
	r->append = xstrdup(rng_below(g, 3) ? "" : "threadirqs");
	r->limit_us = rng_below(g, 4) ? 50000 : 20000;
	/* several at the same moment */
	r->started_wall_ns = SAMPLE_WALL_NS + (int64_t)rng_below(g, 200) * NSEC_PER_SEC;
	r->ended_wall_ns = rng_below(g, 12) ? r->started_wall_ns + NSEC_PER_SEC : 0;
	r->result.verdict = (enum verdict)rng_below(g, VERDICT_MAX);
	strcpy(r->result.reason, "test");
	return r;
}

static struct store *store_with(struct rng *g, unsigned n)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/results.db", dir);
	struct store *st = NULL;
	struct err e = {0};

	assert_int_equal(store_open(path, STORE_WRITE, &st, &e), 0);
	for (unsigned i = 0; i < n; i++) {
		auto_run struct run *r = any_run(g, i);

		assert_int_equal(store_run_begin(st, r, &e), 0);
		assert_int_equal(store_run_update(st, r, &e), 0);
	}
	assert_int_equal(dir_remove(dir, &e), 0); /* the open file stays */
	free(dir);
	return st;
}

static void expect_same_changes(const struct run_list *all, const struct run_list *few)
{
	struct change_list a, b;

	view_changes(all, &a);
	view_changes(few, &b);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		size_t k = 0;

		/* those of the same moment are in no order */
		while (k < b.n && strcmp(b.changes[k].now->id, a.changes[i].now->id) != 0)
			k++;
		if (k == b.n)
			fail_msg("the change of run %s is missing", a.changes[i].now->id);
		assert_int_equal(a.changes[i].kind, b.changes[k].kind);
		assert_string_equal(a.changes[i].since->id, b.changes[k].since->id);
		assert_int_equal(!a.changes[i].was, !b.changes[k].was);
		if (a.changes[i].was)
			assert_string_equal(a.changes[i].was->id, b.changes[k].was->id);
	}
	free(a.changes);
	free(b.changes);
}

static void expect_same_matrices(const struct run_list *all, const struct run_list *few)
{
	auto_matrix_list struct matrix_list a = {0};
	auto_matrix_list struct matrix_list b = {0};

	view_matrices(all, &a);
	view_matrices(few, &b);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		const struct matrix *x = &a.matrices[i];
		const struct matrix *y = b.matrices;
		size_t n_rows = x->n_newest + OLDER < x->n_rows ? x->n_newest + OLDER : x->n_rows;

		while (y < b.matrices + b.n && (y->of->limit_us != x->of->limit_us ||
						strcmp(y->of->rig_class, x->of->rig_class) != 0))
			y++;
		assert_true(y < b.matrices + b.n);
		assert_int_equal(x->n_newest, y->n_newest);
		assert_int_equal(x->n_cols, y->n_cols);
		assert_true(y->n_rows >= n_rows);
		for (size_t c = 0; c < n_rows * x->n_cols; c++) {
			const struct run *p = x->cells[c];
			const struct run *q = y->cells[c];

			assert_string_equal(p ? p->id : "none", q ? q->id : "none");
		}
	}
}

static void expect_newest_of_rigs(const struct run_list *all, const struct run_list *few)
{
	for (char rig = '0'; rig < '3'; rig++)
		for (int only_ended = 0; only_ended < 2; only_ended++) {
			const struct run_list *const lists[] = {all, few};
			const char *ids[2] = {"none", "none"};

			for (size_t l = 0; l < 2; l++)
				for (size_t i = lists[l]->n; i-- > 0;)
					if (lists[l]->runs[i]->rig[4] == rig &&
					    (!only_ended || lists[l]->runs[i]->ended_wall_ns))
						ids[l] = lists[l]->runs[i]->id;
			assert_string_equal(ids[0], ids[1]);
		}
}

static void test_an_overview_says_of_any_runs_what_all_of_them_say(void **state)
{
	(void)state;
	print_message("seed %d\n", SEED);
	for (unsigned round = 0; round < 8; round++) {
		const struct store_overview_filter f = {.last = 10000, .older = OLDER};
		auto_run_list struct run_list all = {0};
		auto_run_list struct run_list few = {0};
		auto_store struct store *st = NULL;
		struct err e = {0};
		struct rng g;

		rng_init(&g, SEED + round);
		st = store_with(&g, 40 * round);
		assert_int_equal(store_runs(st, NULL, false, &all.runs, &all.n, &e), 0);
		if (store_overview(st, &f, &few.runs, &few.n, &e) < 0)
			fail_msg("%s", e.text);
		assert_true(few.n <= all.n);
		expect_same_changes(&all, &few);
		expect_same_matrices(&all, &few);
		expect_newest_of_rigs(&all, &few);
		if (round == 7)
			print_message("%zu of %zu runs\n", few.n, all.n);
	}
}

static void
test_an_overview_looks_only_at_the_newest_runs_that_its_filter_lets_through(void **state)
{
	static const struct {
		struct store_overview_filter filter;
		size_t n;
	} cases[] = {
		{{.last = 10}, 4},
		{{.last = 2}, 2},
		{{.last = 10, .since_wall_ns = SAMPLE_WALL_NS + 2}, 2},
		{{.last = 10, .rig = "b"}, 2},
		{{.last = 10, .rig = "b", .rig_class = "board"}, 1},
		{{.last = 10, .rig_class = "virtual"}, 1},
		{{.last = 10, .scenario = "none"}, 0},
		{{.last = 10, .scenario = "unplug-read"}, 4},
		{{.last = 10, .kernel = "lab"}, 4},
		{{.last = 10, .kernel = "%"}, 0},
		{{.last = 1, .rig_class = "board"}, 1},
	};
	static const char *const rigs[][2] = {
		{"a", "board"}, {"b", "board"}, {"c", "board"}, {"b", "virtual"}};
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/results.db", dir);
	auto_store struct store *st = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(store_open(path, STORE_WRITE, &st, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rigs); i++) {
		auto_run struct run *r = sample_run("label", rigs[i][0], rigs[i][1]);

		free(r->id);
		r->id = xasprintf("r%zu", i);
		r->started_wall_ns += (int64_t)i;
		assert_int_equal(store_run_begin(st, r, &e), 0);
		assert_int_equal(store_run_update(st, r, &e), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run_list struct run_list few = {0};

		if (store_overview(st, &cases[i].filter, &few.runs, &few.n, &e) < 0)
			fail_msg("case %zu: %s", i, e.text);
		if (few.n != cases[i].n)
			fail_msg("case %zu: %zu runs", i, few.n);
	}
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_overview_says_of_any_runs_what_all_of_them_say),
		cmocka_unit_test(
			test_an_overview_looks_only_at_the_newest_runs_that_its_filter_lets_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
