/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: bisect */
#include "bisect/rows.h"
#include "bisect/words.h"
#include "bisect_unit.h"

#include <math.h>

struct seen {
	unsigned n, n_stopped;
	char id[160];
	size_t n_tests;
	int fails_at; /* the call that fails, 0 = none */
};

static int on_changed(void *self, const struct bisect *b, bool is_stopped, struct err *e)
{
	struct seen *s = self;
	struct store_bisect *row = bisect_rows(b, is_stopped);

	s->n++;
	s->n_stopped += is_stopped;
	if (s->n > 1)
		assert_string_equal(row->id, s->id);
	(void)snprintf(s->id, sizeof(s->id), "%s", row->id);
	/* tests are only added */
	assert_true(row->n_tests >= s->n_tests);
	s->n_tests = row->n_tests;
	store_bisects_free(row, 1);
	if (s->fails_at && (int)s->n == s->fails_at)
		return err_set(e, ERR_STORE, EIO, "the store is away");
	return 0;
}

static void test_rows_follow_the_bisect_to_its_confirmed_end(void **state)
{
	auto_free char *sha = bu_sha("c30");
	auto_free char *c27 = bu_sha("c27");
	auto_bisect struct bisect *b = bu_start("rows", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	struct seen seen = {0};
	const struct bisect_watch watch = {.changed = on_changed, .self = &seen};
	struct store_bisect *row = bisect_rows(b, false);
	unsigned trials = 0;
	struct err e = {0};

	(void)state;
	assert_string_equal(row->state, "measuring-ends");
	assert_null(row->culprit);
	assert_int_equal(row->n_tests, 0);
	assert_int_equal(row->n_commits, 41);
	assert_true(row->eta_s > 0);
	assert_int_equal(row->ended_wall_ns, 0);
	assert_string_equal(row->scenario, "scenario");
	assert_memory_equal(row->id, "rows-2", 6);
	assert_int_equal(strlen(row->id), strlen("rows-20261130-111754"));
	assert_contains(row->config, "\"failure\":\"over-limit\"");
	store_bisects_free(row, 1);

	assert_int_equal(bisect_tell(b, c27, "good", 0.9, &e), 0);
	f.bench.self = &f;
	assert_int_equal(bisect_go_on(b, &f.bench, &watch, &e), 0);
	assert_int_equal(seen.n, f.boots + 1);
	assert_int_equal(seen.n_stopped, 0);

	row = bisect_rows(b, false);
	assert_string_equal(row->state, "done");
	assert_string_equal(row->culprit, sha);
	assert_true(row->probability >= 0.99);
	assert_int_equal(row->ended_wall_ns, row->updated_wall_ns);
	assert_int_equal(row->eta_s, -1);
	/* one each boot, and what was told */
	assert_int_equal(row->n_tests, f.boots + 1);
	assert_string_equal(row->tests[0].commit, c27);
	assert_int_equal(row->tests[0].trials, 0);
	assert_int_equal(row->tests[0].worst_us, -1);
	for (size_t i = 0; i < row->n_tests; i++) {
		const struct store_bisect_test *t = &row->tests[i];

		trials += t->trials;
		assert_true(t->over <= t->trials);
		if (t->over)
			assert_in_range(t->worst_us, 240000, 361000);
		if (strcmp(t->commit, sha) == 0) {
			assert_string_equal(t->verdict, "FAIL");
			assert_string_equal(t->subject, "change 30 in main.c");
			assert_memory_equal(t->run_id, "run-", 4);
		}
	}
	{
		struct bisect_used used;

		bisect_core_used(bisect_core_of(b), &used);
		assert_int_equal(trials, used.trials);
	}
	assert_contains(row->candidates, sha);
	assert_contains(row->candidates, "\"subject\":\"change 30 in main.c\"");
	assert_true(row->entropy_bits >= 0 && row->entropy_bits < 0.2);
	store_bisects_free(row, 1);
}

static void test_commits_that_cannot_be_tested_have_a_row(void **state)
{
	auto_free char *c19 = bu_sha("c19");
	auto_free char *c20 = bu_sha("c20");
	auto_bisect struct bisect *b = bu_start("row-skips", "c40");
	auto_fake struct fake_bench f = bu_bench(c19);
	struct store_bisect *row;
	unsigned found = 0;
	struct err e = {0};

	(void)state;
	f.unbuildable[0] = c19;
	f.unbuildable[1] = c20;
	f.bench.self = &f;
	assert_int_equal(bisect_go_on(b, &f.bench, NULL, &e), 0);
	row = bisect_rows(b, false);
	/* a set is no culprit */
	assert_null(row->culprit);
	for (size_t i = 0; i < row->n_tests; i++)
		if (strcmp(row->tests[i].verdict, "UNTESTABLE") == 0) {
			assert_int_equal(row->tests[i].trials, 0);
			assert_null(row->tests[i].run_id);
			found++;
		}
	assert_in_range(found, 1, 2);
	store_bisects_free(row, 1);
}

static void test_a_stop_and_a_store_that_is_away_are_told_and_lose_nothing(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_bisect struct bisect *b = bu_start("row-stop", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	struct seen seen = {.fails_at = 4};
	const struct bisect_watch watch = {.changed = on_changed, .self = &seen};
	struct store_bisect *row;
	struct err e = {0};
	size_t before;

	(void)state;
	f.bench.self = &f;
	assert_int_equal(bisect_go_on(b, &f.bench, &watch, &e), -EIO);
	assert_int_equal(e.kind, ERR_STORE);
	assert_int_equal(f.boots, 3);
	assert_int_equal(seen.n_stopped, 1);
	before = journal_n(bisect_journal_of(b));
	row = bisect_rows(b, true);
	assert_string_equal(row->state, "stopped");
	store_bisects_free(row, 1);

	seen.fails_at = 0;
	err_clear(&e);
	f.stop_after = 5;
	assert_int_equal(bisect_go_on(b, &f.bench, &watch, &e), -EINTR);
	assert_int_equal(seen.n_stopped, 2);
	assert_true(journal_n(bisect_journal_of(b)) > before);
}

static void test_text_that_is_not_utf8_becomes_one_that_is(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"plain", "plain"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"gr\xfc\xdf", "gr??"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *text = words_utf8(cases[i].text);

		assert_string_equal(text, cases[i].wanted);
	}
}

static int set_up(void **state)
{
	if (bu_set_up(state) < 0)
		return -1;
	bu_make_repo(40);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_follow_the_bisect_to_its_confirmed_end),
		cmocka_unit_test(test_commits_that_cannot_be_tested_have_a_row),
		cmocka_unit_test(test_a_stop_and_a_store_that_is_away_are_told_and_lose_nothing),
		cmocka_unit_test(test_text_that_is_not_utf8_becomes_one_that_is),
	};

	return cmocka_run_group_tests(tests, set_up, bu_tear_down);
}
