/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: bisect */
#include "bisect/words.h"
#include "bisect_unit.h"

static void go_on(struct bisect *b, struct fake_bench *f)
{
	struct err e = {0};

	f->bench.self = f;
	if (bisect_go_on(b, &f->bench, NULL, &e) < 0)
		fail_msg("%s", e.text);
}

/* The state of a bisect without what depends on the time of day. */
static char *json_of(const struct bisect *b)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	assert_int_equal(bisect_json(b, &out, &e), 0);
	return strbuf_take(&out);
}

static void test_a_commit_that_fails_every_second_time_is_named_and_confirmed(void **state)
{
	static const char *const guilty[] = {"c30", "c5"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(guilty); i++) {
		auto_free char *name = xasprintf("named-%zu", i);
		auto_free char *sha = bu_sha(guilty[i]);
		auto_bisect struct bisect *b = bu_start(name, "c40");
		auto_free char *json = NULL;
		auto_free char *wanted = xasprintf("\"culprit\":\"%s\"", sha);
		auto_strbuf struct strbuf text = STRBUF_INIT;
		auto_fake struct fake_bench f = bu_bench(sha);
		struct bisect_confirmation c;

		go_on(b, &f);
		json = json_of(b);
		assert_contains(json, wanted);
		bisect_confirmation_of(b, &c);
		assert_true(c.is_complete && c.is_confirmed);
		assert_int_equal(c.sides[0].trials, 10);
		assert_int_equal(c.n_sides, strcmp(guilty[i], "c5") == 0 ? 3 : 2);
		/* interleaved, culprit first */
		assert_int_equal(f.order[0], 'C');
		assert_int_equal(f.order[1], 'P');
		bisect_result_text(bu_w, b, &text);
		assert_contains(strbuf_str(&text), "First bad commit, with a probability of ");
		assert_contains(strbuf_str(&text), "confirmed");
		assert_contains(strbuf_str(&text), "stallrig bisect start --repo");
	}
}

static void test_a_bisect_stopped_after_each_boot_ends_like_one_that_was_not(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_bisect struct bisect *whole = bu_start("whole", "c40");
	auto_bisect struct bisect *cut = bu_start("cut", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	auto_fake struct fake_bench g = bu_bench(sha);
	auto_free char *json_whole = NULL;
	auto_free char *json_cut = NULL;
	unsigned n_stops = 0;

	(void)state;
	go_on(whole, &f);
	g.bench.self = &g;
	for (;;) {
		auto_free char *before = NULL;
		auto_free char *after = NULL;
		struct err e = {0};

		g.stop_after = g.boots + 1;
		if (bisect_go_on(cut, &g.bench, NULL, &e) >= 0)
			break;
		assert_int_equal(e.kind, ERR_STOPPED);
		before = json_of(cut);
		bisect_close(take(cut));
		cut = bu_open("cut");
		after = json_of(cut);
		assert_string_equal(before, after);
		assert_true(++n_stops < 500);
	}
	assert_true(n_stops > 5);
	assert_int_equal(f.boots, g.boots);
	json_whole = json_of(whole);
	json_cut = json_of(cut);
	/* what a build took is measured and may differ; what was seen may not */
	assert_non_null(strstr(json_cut, "\"culprit\""));
	assert_int_equal(strcmp(strstr(json_whole, "\"tests\""), strstr(json_cut, "\"tests\"")), 0);
}

static void test_a_guilty_commit_that_does_not_build_is_in_the_answer(void **state)
{
	auto_free char *c19 = bu_sha("c19");
	auto_free char *c20 = bu_sha("c20");
	auto_bisect struct bisect *b = bu_start("skips", "c40");
	auto_fake struct fake_bench f = bu_bench(c19);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free uint32_t *answer = NULL;
	bool has_c19 = false;
	double p;
	size_t n;

	(void)state;
	f.unbuildable[0] = c19;
	f.unbuildable[1] = c20;
	go_on(b, &f);
	n = bisect_core_answer(bisect_core_of(b), &answer, &p);
	assert_in_range(n, 2, 3);
	for (size_t i = 0; i < n; i++)
		has_c19 |= strcmp(history_sha(bisect_history_of(b), answer[i]), c19) == 0;
	assert_true(has_c19);
	bisect_result_text(bu_w, b, &text);
	assert_contains(strbuf_str(&text), "could not be tested:");
	assert_contains(strbuf_str(&text), "does not build");
}

static void test_ends_that_do_not_differ_are_refused(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_bisect struct bisect *b = bu_start("same", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	auto_strbuf struct strbuf text = STRBUF_INIT;

	(void)state;
	f.fail_bad = 0;
	go_on(b, &f);
	bisect_result_text(bu_w, b, &text);
	assert_contains(strbuf_str(&text), "There is nothing to bisect");
}

static void test_a_full_disk_stops_it_and_nothing_is_lost(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_bisect struct bisect *b = bu_start("full", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	struct err e = {0};
	size_t before;

	(void)state;
	f.bench.self = &f;
	f.stop_after = 3;
	assert_int_equal(bisect_go_on(b, &f.bench, NULL, &e), -EINTR);
	before = journal_n(bisect_journal_of(b));
	f.stop_after = 0;
	f.n_built = 0;
	f.full_disk_builds = 1;
	err_clear(&e);
	assert_int_equal(bisect_go_on(b, &f.bench, NULL, &e), -ENOSPC);
	assert_contains(e.text, "building");
	assert_int_equal(journal_n(bisect_journal_of(b)), before);
	go_on(b, &f);
	assert_true(bisect_is_over(b));
}

static void test_boots_without_a_valid_trial_stop_it_and_name_the_evidence(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_bisect struct bisect *b = bu_start("empty", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	struct err e = {0};

	(void)state;
	f.bench.self = &f;
	f.empty_boots = 3;
	assert_int_equal(bisect_go_on(b, &f.bench, NULL, &e), -EIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "controls-quiet");
	/* two in a row are borne */
	f.empty_boots = 2;
	go_on(b, &f);
	assert_true(bisect_is_over(b));
}

static void test_an_end_that_cannot_be_tested_stops_it(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_free char *end = bu_sha("c40");
	auto_bisect struct bisect *b = bu_start("end", "c40");
	auto_fake struct fake_bench f = bu_bench(sha);
	struct err e = {0};

	(void)state;
	f.bench.self = &f;
	f.unbuildable[0] = end;
	assert_int_equal(bisect_go_on(b, &f.bench, NULL, &e), -EIO);
	assert_contains(e.text, "the bad end");
	assert_contains(e.text, "does not build");
	assert_false(bisect_core_is_untestable(bisect_core_of(b), 40));
}

static void test_what_is_told_counts_and_is_in_the_log_for_git(void **state)
{
	auto_free char *c10 = bu_sha("c10");
	auto_free char *c11 = bu_sha("c11");
	auto_free char *c12 = bu_sha("c12");
	auto_bisect struct bisect *b = bu_start("told", "c40");
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_free char *good = xasprintf("git bisect good %s\n", c10);
	auto_free char *skip = xasprintf("git bisect skip %s\n", c11);
	auto_free char *bad = xasprintf("git bisect bad %s\n", c12);
	struct err e = {0};
	uint32_t skipped = 0;

	(void)state;
	assert_int_equal(bisect_tell(b, c10, "good", 0.99, &e), 0);
	assert_int_equal(bisect_tell(b, c11, "skip", 0.99, &e), 0);
	assert_int_equal(bisect_tell(b, c12, "bad", 0.99, &e), 0);
	bisect_git_log(b, &log);
	assert_contains(strbuf_str(&log), good);
	assert_contains(strbuf_str(&log), skip);
	assert_contains(strbuf_str(&log), bad);
	assert_int_equal(history_find(bisect_history_of(b), c11, &skipped, &e), 0);
	assert_string_equal(bisect_reason_of(b, skipped), "skipped by hand");
	assert_int_equal(bisect_tell(b, c12, "ugly", 0.99, &e), -EINVAL);
	assert_contains(e.text, "'ugly' is not good, bad or skip");
	assert_int_equal(bisect_tell(b, "ffffffff", "bad", 0.99, &e), -ENOENT);
}

static void test_the_bad_end_without_the_culprit_is_tested_if_it_is_asked_for(void **state)
{
	static const struct {
		const char *guilty;
		bool has_conflict, has_second_one;
		const char *wanted, *in_json;
	} cases[] = {
		{"c30", false, false, "Reverting it helps.", "\"cured\":true"},
		{"c30", false, true, "Reverting it does NOT help", "\"cured\":false"},
		{"c30", true, false, "not tested, a conflict", "\"impossible\":\"a conflict\""},
		{"c5", false, false, "not tested, the culprit is a merge", "is a merge"},
		{"c40", false, false, "not tested, the culprit is the bad end", "is the bad end"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *name = xasprintf("revert-%zu", i);
		auto_free char *sha = bu_sha(cases[i].guilty);
		auto_bisect struct bisect *b = bu_start_reverting(name, "c40");
		auto_fake struct fake_bench f = bu_bench(sha);
		auto_strbuf struct strbuf text = STRBUF_INIT;
		auto_free char *json = NULL;
		struct bisect_revert v;
		struct err e = {0};

		f.has_conflict = cases[i].has_conflict;
		f.has_second_one = cases[i].has_second_one;
		/* stopped in the middle of it, it goes on there */
		f.bench.self = &f;
		while (bisect_revert_of(b, &v), !v.is_wanted) {
			f.stop_after = f.boots + 1;
			if (bisect_go_on(b, &f.bench, NULL, &e) >= 0)
				break;
			assert_int_equal(e.kind, ERR_STOPPED);
			err_clear(&e);
			bisect_close(take(b));
			b = bu_open(name);
		}
		f.stop_after = 0;
		go_on(b, &f);
		assert_true(bisect_is_over(b));
		bisect_revert_of(b, &v);
		assert_true(v.is_wanted && v.is_complete);
		assert_int_equal(v.trials, v.impossible ? 0 : 10);
		if (strcmp(cases[i].guilty, "c30") == 0)
			assert_string_equal(f.reverted, sha);
		bisect_result_text(bu_w, b, &text);
		assert_contains(strbuf_str(&text), cases[i].wanted);
		json = json_of(b);
		assert_contains(json, cases[i].in_json);
	}
}

static void test_a_second_bisect_of_the_same_name_is_refused(void **state)
{
	auto_free char *dir = xasprintf("%s/twice", bu_dir);
	auto_bisect struct bisect *b = bu_start("twice", "c40");
	struct bisect *other = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(bisect_start(bu_w, dir, bisect_setup_of(b), "c0", "c40", &other, &e),
			 -EEXIST);
	assert_contains(e.text, "there is a bisect in");
	assert_int_equal(bisect_open(dir, true, &other, &e), -EBUSY);
}

static void test_the_plan_says_how_much_there_is_to_do(void **state)
{
	auto_bisect struct bisect *b = bu_start("plan", "c40");
	auto_strbuf struct strbuf text = STRBUF_INIT;

	(void)state;
	bisect_plan_text(b, &text);
	assert_contains(strbuf_str(&text), "commits      41\n");
	assert_contains(strbuf_str(&text), "builds");
	assert_contains(strbuf_str(&text), " h, if a cold build takes 900 s");
}

static void test_what_commits_between_builds_cost_is_noted_with_the_build(void **state)
{
	auto_free char *sha = bu_sha("c22");
	auto_fake struct fake_bench f = bu_bench(sha);

	(void)state;
	for (unsigned has_cost = 0; has_cost < 2; has_cost++) {
		auto_free char *name = xasprintf("between-%u", has_cost);
		struct bisect_setup s = bu_setup();
		auto_bisect struct bisect *b = NULL;
		unsigned n = 0;

		s.cost.build_per_commit_s = has_cost ? 0.5 : 0;
		b = bu_start_as(name, "c40", s);
		f.n_built = 0;
		go_on(b, &f);
		for (size_t i = 0; i < journal_n(bisect_journal_of(b)); i++) {
			const json_t *o = journal_at(bisect_journal_of(b), i);
			json_int_t between =
				json_integer_value(json_object_get(o, "commits_between"));

			n += between > 0;
			/* 41 candidates: one for each of c1 … c40, and the one on the side */
			assert_true(between <= 41);
		}
		assert_true(has_cost ? n > 3 : n == 0);
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
		cmocka_unit_test(test_a_commit_that_fails_every_second_time_is_named_and_confirmed),
		cmocka_unit_test(test_a_bisect_stopped_after_each_boot_ends_like_one_that_was_not),
		cmocka_unit_test(test_a_guilty_commit_that_does_not_build_is_in_the_answer),
		cmocka_unit_test(test_ends_that_do_not_differ_are_refused),
		cmocka_unit_test(test_a_full_disk_stops_it_and_nothing_is_lost),
		cmocka_unit_test(test_boots_without_a_valid_trial_stop_it_and_name_the_evidence),
		cmocka_unit_test(test_an_end_that_cannot_be_tested_stops_it),
		cmocka_unit_test(test_what_is_told_counts_and_is_in_the_log_for_git),
		cmocka_unit_test(test_the_bad_end_without_the_culprit_is_tested_if_it_is_asked_for),
		cmocka_unit_test(test_a_second_bisect_of_the_same_name_is_refused),
		cmocka_unit_test(test_what_commits_between_builds_cost_is_noted_with_the_build),
		cmocka_unit_test(test_the_plan_says_how_much_there_is_to_do),
	};

	return cmocka_run_group_tests(tests, set_up, bu_tear_down);
}
