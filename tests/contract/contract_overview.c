/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contract_overview.c - what the store keeps ready for an overview says the same as all runs,
 * whatever was written in whatever order. The argument names the database, as of contract_store.
 */
#include "../../controller/dashboard/view.h"
#include "contract_util.h"
#include "sample_run.h"
#include "store/copy.h"
#include "store/query.h"

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

/* Begins runs and goes on with earlier ones: they end, are taken up again, are judged anew. */
static void write_history(struct fixture *f, struct store *st, struct rng *g, unsigned from,
			  unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		auto_run struct run *r = any_run(g, i);
		auto_run struct run *old = any_run(g, (unsigned)rng_below(g, i + 1));

		/* most begin without an end */
		if (rng_below(g, 3)) {
			int64_t ended_wall_ns = r->ended_wall_ns;

			r->ended_wall_ns = 0;
			assert_ok(f, store_run_begin(st, r, &f->e));
			r->ended_wall_ns = ended_wall_ns;
			assert_ok(f, store_run_update(st, r, &f->e));
		} else {
			assert_ok(f, store_run_begin(st, r, &f->e));
		}
		if (rng_below(g, 2))
			assert_ok(f, store_run_update(st, old, &f->e));
	}
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

static void expect_trends(struct fixture *f, struct store *st, const struct run_list *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct run *of = all->runs[i];
		const struct store_trend_filter filter = {
			.rig = of->rig, .rig_class = of->rig_class, .scenario = of->scenario};
		struct store_trend t = {0};
		size_t at = 0;

		assert_ok(f, store_trend(st, &filter, &t, &f->e));
		for (size_t k = all->n; k-- > 0;) {
			const struct run *r = all->runs[k];
			const struct store_point *p = &t.points[at];

			if (strcmp(r->rig, of->rig) != 0 ||
			    strcmp(r->rig_class, of->rig_class) != 0)
				continue;
			assert_true(at++ < t.n);
			assert_string_equal(p->run_id, r->id);
			assert_int_equal(p->verdict, r->result.verdict);
			assert_int_equal(p->limit_us, r->limit_us);
			assert_string_equal(t.builds[p->build].version, r->kernel_version);
			assert_string_equal(t.builds[p->build].append, r->append);
			if (strcmp(r->id, of->id) == 0)
				for (size_t o = 0, q = all->n; o < at && q-- > 0;) {
					const struct run *other = all->runs[q];

					if (strcmp(other->rig, of->rig) != 0 ||
					    strcmp(other->rig_class, of->rig_class) != 0)
						continue;
					assert_int_equal(t.points[o++].series == p->series,
							 view_is_same_series(other, r));
				}
		}
		assert_int_equal(at, t.n);
		store_trend_release(&t);
	}
}

static void expect_all_of_it(struct fixture *f, struct store *st, const char *what)
{
	const struct store_overview_filter filter = {.older = OLDER};
	auto_run_list struct run_list all = {0};
	auto_run_list struct run_list few = {0};

	assert_ok(f, store_runs(st, NULL, false, &all.runs, &all.n, &f->e));
	assert_ok(f, store_overview(st, &filter, &few.runs, &few.n, &f->e));
	assert_true(few.n <= all.n);
	expect_same_changes(&all, &few);
	expect_same_matrices(&all, &few);
	expect_newest_of_rigs(&all, &few);
	print_message("%s: %zu of %zu runs\n", what, few.n, all.n);
}

static void test_an_overview_says_of_any_history_what_all_its_runs_say(void **state)
{
	struct fixture *f = *state;

	print_message("seed %d\n", SEED);
	for (unsigned round = 0; round < 4; round++) {
		auto_store struct store *st = NULL;
		struct rng g;

		wipe(f);
		rng_init(&g, SEED + round);
		st = open_store(f, STORE_WRITE);
		expect_all_of_it(f, st, "empty");
		for (unsigned n = 0; n < 240; n += 40) {
			write_history(f, st, &g, n, 40);
			expect_all_of_it(f, st, "written");
		}
	}
}

static void test_a_copy_has_the_same_overview_and_goes_on(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = xasprintf("%s/copy.db", f->dir);
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_store struct store *copy = NULL;
	int64_t rows = 0;
	struct rng g;

	rng_init(&g, SEED);
	write_history(f, st, &g, 0, 80);
	assert_ok(f, store_open(path, STORE_WRITE, &copy, &f->e));
	assert_ok(f, store_copy(st, copy, NULL, &rows, &f->e));
	expect_all_of_it(f, copy, "copied");
	write_history(f, copy, &g, 80, 80);
	expect_all_of_it(f, copy, "copied and written");
}

/* What version 2 did not have goes away, and the migration makes it again. */
static void test_a_store_of_version_2_gets_the_overview_of_its_runs(void **state)
{
	static const char *const steps[] = {
		"DROP TABLE cells",
		"DROP INDEX runs_series",
		"DROP INDEX runs_verdict",
		"ALTER TABLE runs DROP COLUMN series",
		"DROP TABLE series",
		/* the next migration replaces it */
		"DROP TABLE histograms",
		"CREATE TABLE histograms (trial BIGINT)",
		"DROP INDEX incidents_title",
		"ALTER TABLE trials DROP COLUMN load_points",
		"CREATE INDEX incidents_title ON incidents (incident_title)",
	};
	struct fixture *f = *state;

	for (unsigned round = 0; round < 3; round++) {
		struct store *st;
		struct rng g;

		wipe(f);
		rng_init(&g, SEED + round);
		st = open_store(f, STORE_WRITE);
		write_history(f, st, &g, 0, 150);
		store_close(st);
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
			tamper(f, steps[i]);
		set_version(f, 2);
		expect_open_fails(f, f->path, STORE_READ, EPROTO, "version 2 is older than");

		st = open_store(f, STORE_WRITE);
		expect_all_of_it(f, st, "migrated");
		write_history(f, st, &g, 150, 50);
		expect_all_of_it(f, st, "migrated and written");
		store_close(st);
	}
}

static void test_a_trend_has_every_run_and_knows_its_series(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run_list struct run_list all = {0};
	struct store_trend t = {0};
	struct rng g;

	rng_init(&g, SEED);
	for (unsigned i = 0; i < 60; i++) {
		auto_run struct run *r = any_run(&g, i);

		/* each at a moment of its own: their order is that of their ids */
		r->started_wall_ns = SAMPLE_WALL_NS + i;
		assert_ok(f, store_run_begin(st, r, &f->e));
		assert_ok(f, store_run_update(st, r, &f->e));
	}
	assert_ok(f, store_runs(st, NULL, false, &all.runs, &all.n, &f->e));
	expect_trends(f, st, &all);

	assert_ok(f, store_trend(st,
				 &(struct store_trend_filter){.rig = "rig-0",
							      .rig_class = "board",
							      .scenario = "unplug-read",
							      .kernel = "no such",
							      .since_wall_ns = 0},
				 &t, &f->e));
	assert_int_equal(t.n, 0);
	assert_ok(f, store_trend(st,
				 &(struct store_trend_filter){.rig = "rig-0",
							      .rig_class = "board",
							      .scenario = "unplug-read",
							      .kernel = "debian",
							      .since_wall_ns = SAMPLE_WALL_NS + 30},
				 &t, &f->e));
	assert_true(t.n > 0 && t.n < 30);
	for (size_t i = 0; i < t.n; i++)
		assert_true(t.points[i].started_wall_ns >= SAMPLE_WALL_NS + 30);
	store_trend_release(&t);
}

static void test_an_overview_is_of_the_runs_that_its_filter_lets_through(void **state)
{
	static const struct {
		struct store_overview_filter filter;
		size_t n;
	} cases[] = {
		{{0}, 4},
		{{.since_wall_ns = SAMPLE_WALL_NS + 2}, 2},
		{{.rig = "b"}, 2},
		{{.rig = "b", .rig_class = "board"}, 1},
		{{.rig_class = "virtual"}, 1},
		{{.scenario = "none"}, 0},
		{{.scenario = "unplug-read"}, 4},
		{{.kernel = "lab"}, 4},
		{{.kernel = "%"}, 0},
	};
	static const char *const rigs[][2] = {
		{"a", "board"}, {"b", "board"}, {"c", "board"}, {"b", "virtual"}};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);

	for (size_t i = 0; i < ARRAY_SIZE(rigs); i++) {
		auto_run struct run *r = sample_run("label", rigs[i][0], rigs[i][1]);

		free(r->id);
		r->id = xasprintf("r%zu", i);
		r->started_wall_ns += (int64_t)i;
		assert_ok(f, store_run_begin(st, r, &f->e));
		assert_ok(f, store_run_update(st, r, &f->e));
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run_list struct run_list few = {0};

		assert_ok(f, store_overview(st, &cases[i].filter, &few.runs, &few.n, &f->e));
		if (few.n != cases[i].n)
			fail_msg("case %zu: %zu runs", i, few.n);
	}
}

static void test_the_newest_run_of_a_rig_is_there_for_each_scenario(void **state)
{
	static const char *const scenarios[] = {"unplug-read", "unplug-raw", "unplug-read"};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	const struct store_overview_filter filter = {0};
	auto_run_list struct run_list few = {0};

	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		auto_run struct run *r = sample_run("label", "a", "board");

		free(r->id);
		r->id = xasprintf("r%zu", i);
		free(r->scenario);
		r->scenario = xstrdup(scenarios[i]);
		r->started_wall_ns += (int64_t)i;
		r->ended_wall_ns = 0;
		assert_ok(f, store_run_begin(st, r, &f->e));
	}
	assert_ok(f, store_overview(st, &filter, &few.runs, &few.n, &f->e));
	assert_int_equal(few.n, 2);
	assert_string_equal(few.runs[0]->id, "r2");
	assert_string_equal(few.runs[1]->id, "r1");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_an_overview_says_of_any_history_what_all_its_runs_say),
		STORE_TEST(test_a_copy_has_the_same_overview_and_goes_on),
		STORE_TEST(test_a_store_of_version_2_gets_the_overview_of_its_runs),
		STORE_TEST(test_a_trend_has_every_run_and_knows_its_series),
		STORE_TEST(test_the_newest_run_of_a_rig_is_there_for_each_scenario),
		STORE_TEST(test_an_overview_is_of_the_runs_that_its_filter_lets_through),
	};

	if (!contract_args(argc, argv))
		return 2;
	return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
