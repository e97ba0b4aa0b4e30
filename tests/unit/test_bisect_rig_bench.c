/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: bisect */
#include "bisect/rig_bench.h"
#include "bisect_unit.h"
#include "sample_run.h"

static void test_only_the_wanted_failure_is_an_observation(void **state)
{
	static const struct {
		bool is_valid;
		const char *crash; /* NULL = none */
		int64_t worst_us;
		const char *failure;
		bool is_observed, is_over;
		double delay_ms;
		bool is_untestable;
	} cases[] = {
		{true, NULL, 4000, "over-limit", true, false, 4, false},
		{true, NULL, 50000, "over-limit", true, false, 50, false},
		{true, NULL, 50001, "over-limit", true, true, 50.001, false},
		{false, NULL, 90000, "over-limit", false, false, 0, false},
		{true, NULL, -1, "over-limit", false, false, 0, false},
		{false, "oops: NULL pointer", -1, "over-limit", false, false, 0, true},
		{false, "oops: NULL pointer", -1, "any", true, true, -1, false},
		{false, "oops: NULL pointer", -1, "NULL pointer", true, true, -1, false},
		{false, "panic: out of memory", -1, "NULL pointer", false, false, 0, true},
		{true, NULL, 90000, "NULL pointer", true, false, -1, false},
		{true, NULL, 90000, "any", true, true, 90, false},
	};

	const struct run run = {.limit_us = 50000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trial *t = trial_new();
		struct bisect_observation o;
		char why[200];

		t->is_valid = cases[i].is_valid;
		t->worst_us = cases[i].worst_us;
		t->is_crash = cases[i].crash != NULL;
		if (cases[i].crash)
			(void)snprintf(t->crash, sizeof(t->crash), "%s", cases[i].crash);
		assert_int_equal(bisect_observe(&run, t, cases[i].failure, &o, why, sizeof(why)),
				 cases[i].is_observed);
		assert_int_equal(*why != '\0', cases[i].is_untestable);
		if (cases[i].is_observed) {
			assert_int_equal(o.is_over, cases[i].is_over);
			assert_float_equal(o.delay_ms, cases[i].delay_ms, 1e-9);
		}
		trial_free(t);
	}
}

static void test_a_delay_that_had_not_ended_is_censored(void **state)
{
	struct trial *t = trial_new();
	struct trial_delay *d = trial_add_delay(t);
	const struct run run = {.limit_us = 50000};
	struct bisect_observation o;
	char why[200];

	(void)state;
	t->is_valid = true;
	t->worst_us = 60000000;
	d->us = 60000000;
	d->is_live = true;
	assert_true(bisect_observe(&run, t, "over-limit", &o, why, sizeof(why)));
	assert_true(o.is_censored);
	trial_free(t);
}

static struct trial *add_trial(struct run *r, bool is_valid, int64_t iops, int64_t ppm)
{
	struct trial *t = sample_add_trial(r, 1, 4000);

	t->is_valid = is_valid;
	trial_add_number(t, "rd_2_iops", iops);
	trial_add_number(t, "dd_50_rwsem_ppm", ppm);
	return t;
}

/* A number outside its limit is the failure that is looked for, whatever the delays were. */
static void test_a_number_outside_its_limit_is_an_observation(void **state)
{
	static const struct {
		int64_t iops, ppm;
		bool has_baseline, is_over;
	} cases[] = {
		{800, 0, true, false},      {799, 0, true, true},      {9000, 0, true, false},
		{799, 0, false, false},     {800, 150001, true, true}, {800, 150001, false, true},
		{800, 150000, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *base = sample_run("k", "virtual-x86", "virtual");
		auto_run struct run *run = sample_run("k", "virtual-x86", "virtual");
		struct bisect_observation o;
		struct run_limit *l;
		struct trial *t;
		char why[200];

		/* the median of the valid ones is 1000 */
		(void)add_trial(base, true, 700, 0);
		(void)add_trial(base, true, 1000, 0);
		(void)add_trial(base, false, 10, 0);
		(void)add_trial(base, true, 2000, 0);
		run->limit_us = 50000;
		l = run_add_limit(run, "rd_*_iops");
		l->min_ratio = 0.8;
		l = run_add_limit(run, "*_ppm");
		l->has_max = true;
		l->max = 150000;
		if (cases[i].has_baseline)
			run_set_baseline(run, base);
		t = add_trial(run, true, cases[i].iops, cases[i].ppm);
		assert_true(bisect_observe(run, t, "over-limit", &o, why, sizeof(why)));
		if (o.is_over != cases[i].is_over)
			fail_msg("case %zu", i);
		assert_true(o.delay_ms < 0);
		/* a delay over the limit counts as ever */
		t->worst_us = 50001;
		assert_true(bisect_observe(run, t, "over-limit", &o, why, sizeof(why)));
		assert_true(o.is_over);
	}
}

static void test_a_hotfix_rule_has_three_parts(void **state)
{
	static const char *const bad[] = {"a..b", "a=b", "..b=c", "a..=c", "a..b=", ""};
	char *from = NULL, *to = NULL, *file = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(hotfix_parse("v6.1..v6.2=/tmp/fix.patch", &from, &to, &file, &e), 0);
	assert_string_equal(from, "v6.1");
	assert_string_equal(to, "v6.2");
	assert_string_equal(file, "/tmp/fix.patch");
	free(from);
	free(to);
	free(file);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(hotfix_parse(bad[i], &from, &to, &file, &e), -EINVAL);
		assert_contains(e.text, "FROM..TO=FILE");
	}
}

/* ---- with git and a build command, without a rig ---- */

static struct bisect_setup setup_of(const char *build, char **hotfixes, size_t n)
{
	struct bisect_setup s;

	bisect_setup_default(&s);
	s.repo = bu_repo;
	s.rig = (char *)(uintptr_t)STALLRIG_SOURCE_DIR "/fixtures/rigs/virtual-x86.yaml";
	s.scenario = (char *)(uintptr_t)STALLRIG_SOURCE_DIR "/hil/scenarios/unplug-read.yaml";
	s.arch = (char *)(uintptr_t) "x86_64";
	s.failure = (char *)(uintptr_t) "over-limit";
	s.build = (char *)(uintptr_t)build;
	s.hotfixes = hotfixes;
	s.n_hotfixes = n;
	return s;
}

/* Builds the commit; returns why it is untestable. */
static char *build_without(const struct bisect_setup *s, const char *rev, const char *revert,
			   int wanted, struct err *e)
{
	auto_free char *dir = xasprintf("%s/bench", bu_dir);
	const struct rig_bench_cfg cfg = {.setup = s, .dir = dir, .w = bu_w};
	auto_rig_bench struct rig_bench *rb = NULL;
	auto_free char *sha = bu_sha(rev);
	char why[300] = "";
	int r;

	if (rig_bench_open(&cfg, &rb, e) < 0)
		fail_msg("%s", e->text);
	r = rig_bench_of(rb)->build(rig_bench_of(rb)->self, sha, revert, "k", why, sizeof(why), e);
	if (r != wanted)
		fail_msg("%s: %d: %s", rev, r, e->text);
	return xstrdup(why);
}

static char *build(const struct bisect_setup *s, const char *rev, int wanted, struct err *e)
{
	return build_without(s, rev, NULL, wanted, e);
}

static int set_up(void **state)
{
	auto_free char *cache = NULL;

	if (bu_set_up(state) < 0)
		return -1;
	bu_make_repo(8);
	cache = xasprintf("%s/cache", bu_dir);
	setenv("STALLRIG_CACHE", cache, 1);
	free(bu_sh("cd repo; echo fixed >>Makefile; git diff >../fix.patch; git checkout -q .;"
		   "sed 's/^ 0$/ something else/' ../fix.patch >../no-fit.patch"));
	return 0;
}

static void test_a_hotfix_is_in_the_tree_of_the_commits_of_its_rule_alone(void **state)
{
	static const struct {
		const char *rev;
		bool is_fixed;
	} cases[] = {
		{"c2", false}, {"c3", true},  {"c4", true}, {"c5", true},  {"c6", false},
		{"c8", false}, {"c0", false}, {"c5", true}, {"c1", false},
	};
	auto_free char *rule = xasprintf("c3..c6=%s/fix.patch", bu_dir);
	char *rules[] = {rule};
	struct bisect_setup s =
		setup_of("test $(git rev-parse HEAD) = $STALLRIG_COMMIT || exit 200;"
			 "grep -q fixed Makefile && exit 125; echo not fixed; exit 1",
			 rules, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};
		auto_free char *why = build(&s, cases[i].rev, 0, &e);

		assert_contains(why, cases[i].is_fixed ? "skips it (125)"
						       : "the build command failed: not fixed");
	}
}

static void test_a_hotfix_that_does_not_fit_makes_the_commit_untestable(void **state)
{
	auto_free char *rule = xasprintf("c3..c6=%s/no-fit.patch", bu_dir);
	char *rules[] = {rule};
	struct bisect_setup s = setup_of("exit 125", rules, 1);
	struct err e = {0};
	auto_free char *why = build(&s, "c4", 0, &e);
	auto_free char *outside = build(&s, "c7", 0, &e);

	(void)state;
	assert_contains(why, "does not fit");
	assert_contains(why, "no-fit.patch");
	assert_contains(outside, "skips it (125)");
}

static void test_hotfix_rules_are_checked_before_anything_is_built(void **state)
{
	const struct {
		char *rule;
		const char *wanted;
	} cases[] = {
		{xasprintf("nowhere..c6=%s/fix.patch", bu_dir), "nowhere"},
		{xasprintf("c3..c6=%s/missing.patch", bu_dir), "missing.patch"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *rules[] = {cases[i].rule};
		struct bisect_setup s = setup_of("exit 125", rules, 1);
		auto_free char *dir = xasprintf("%s/bench", bu_dir);
		const struct rig_bench_cfg cfg = {.setup = &s, .dir = dir, .w = bu_w};
		struct rig_bench *rb = NULL;
		struct err e = {0};

		assert_true(rig_bench_open(&cfg, &rb, &e) < 0);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, "hotfix");
		assert_contains(e.text, cases[i].wanted);
		free(cases[i].rule);
	}
}

static void test_a_commit_is_reverted_in_the_tree_or_why_not_is_said(void **state)
{
	struct bisect_setup s =
		setup_of("test -e Documentation/a && echo a is there; exit 1", NULL, 0);
	auto_free char *c1 = bu_sha("c1"); /* made Documentation/a */
	auto_free char *c2 = bu_sha("c2"); /* others wrote beside its line */
	struct err e = {0};
	auto_free char *as_it_is = build(&s, "c8", 0, &e);
	auto_free char *without = build_without(&s, "c8", c1, 0, &e);
	auto_free char *conflict = build_without(&s, "c8", c2, 0, &e);
	auto_free char *again = build(&s, "c8", 0, &e);

	(void)state;
	assert_contains(as_it_is, "a is there");
	assert_null(strstr(without, "a is there"));
	assert_contains(conflict, "cannot be reverted there");
	assert_contains(again, "a is there");
}

/* Each shipped scenario is taken, or it is said what it needs. */
static void test_a_scenario_that_needs_a_baseline_says_how_to_get_one(void **state)
{
	static const struct {
		const char *scenario, *against, *wanted; /* NULL = it is taken */
	} cases[] = {
		{"unplug-read", NULL, NULL},
		{"workqueue-lockup", NULL, NULL},
		{"lock-contention-path-loss", NULL, NULL},
		{"lock-contention", NULL, "name a run of a good kernel on this rig with --against"},
		{"iops-floor", NULL, "scenario 'iops-floor' limits shares of a baseline"},
		{"iops-floor", "20260101-000000-abcd", "there is no store"},
		{"unplug-read", "20260101-000000-abcd", "has no limit that needs a baseline"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *scenario = xasprintf("%s/hil/scenarios/%s.yaml",
						     STALLRIG_SOURCE_DIR, cases[i].scenario);
		auto_free char *dir = xasprintf("%s/bench", bu_dir);
		struct bisect_setup s = setup_of("true", NULL, 0);
		const struct rig_bench_cfg cfg = {.setup = &s, .dir = dir, .w = bu_w};
		auto_rig_bench struct rig_bench *rb = NULL;
		struct err e = {0};
		int r;

		s.scenario = scenario;
		s.against = (char *)(uintptr_t)cases[i].against;
		r = rig_bench_open(&cfg, &rb, &e);
		if (!cases[i].wanted) {
			if (r < 0)
				fail_msg("%s: %s", cases[i].scenario, e.text);
			continue;
		}
		assert_true(r < 0);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, cases[i].wanted);
	}
}

static struct store *open_store(void)
{
	auto_free char *path = xasprintf("%s/results.db", bu_dir);
	struct store *st = NULL;
	struct err e = {0};

	if (store_open(path, STORE_WRITE, &st, &e) < 0)
		fail_msg("%s", e.text);
	return st;
}

static void test_the_baseline_comes_from_the_store(void **state)
{
	auto_free char *dir = xasprintf("%s/bench", bu_dir);
	auto_run struct run *run = sample_run("k", "virtual-x86", "virtual");
	struct bisect_setup s = setup_of("true", NULL, 0);
	struct rig_bench_cfg cfg = {.setup = &s, .dir = dir, .w = bu_w};
	auto_rig_bench struct rig_bench *rb = NULL;
	struct err e = {0};

	(void)state;
	s.scenario = (char *)(uintptr_t)STALLRIG_SOURCE_DIR "/hil/scenarios/iops-floor.yaml";
	s.against = run->id;
	cfg.store = open_store();
	assert_int_equal(rig_bench_open(&cfg, &rb, &e), -ENOENT);
	assert_contains(e.text, "there is no run");
	assert_int_equal(store_run_begin(cfg.store, run, &e), 0);
	assert_int_equal(rig_bench_open(&cfg, &rb, &e), -ENODATA);
	assert_contains(e.text, "has no valid trial");
	assert_int_equal(store_boot_add(cfg.store, run, sample_add_boot(run, "rec"), &e), 0);
	(void)add_trial(run, true, 1000, 0);
	assert_int_equal(store_trial_add(cfg.store, run, run->trials[0], &e), 0);
	if (rig_bench_open(&cfg, &rb, &e) < 0)
		fail_msg("%s", e.text);
	store_close(cfg.store);
}

static void test_a_build_command_can_end_the_bisect(void **state)
{
	struct bisect_setup s = setup_of("exit 130", NULL, 0);
	struct err e = {0};
	auto_free char *why = build(&s, "c4", -ECANCELED, &e);

	(void)state;
	assert_string_equal(why, "");
	assert_contains(e.text, "status 130");
}

static void test_a_build_that_leaves_no_kernel_is_an_error_that_says_so(void **state)
{
	struct bisect_setup s = setup_of("true", NULL, 0);
	auto_free char *dir = xasprintf("%s/bench", bu_dir);
	const struct rig_bench_cfg cfg = {.setup = &s, .dir = dir, .w = bu_w};
	auto_rig_bench struct rig_bench *rb = NULL;
	auto_free char *sha = bu_sha("c4");
	char why[300] = "";
	struct err e = {0};

	(void)state;
	assert_int_equal(rig_bench_open(&cfg, &rb, &e), 0);
	assert_true(rig_bench_of(rb)->build(rig_bench_of(rb)->self, sha, NULL, "k", why,
					    sizeof(why), &e) < 0);
	assert_contains(e.text, "the build command left no kernel");
}

static int refuse_rig(void *self, const char *rig, struct err *e)
{
	return err_set(e, ERR_USAGE, EBUSY, "%s: %s holds it", rig, (const char *)self);
}

static void test_a_rig_that_somebody_holds_boots_nothing(void **state)
{
	struct bisect_setup s = setup_of("true", NULL, 0);
	auto_free char *dir = xasprintf("%s/bench", bu_dir);
	char ann[] = "ann";
	const struct rig_bench_cfg cfg = {
		.setup = &s, .dir = dir, .w = bu_w, .await_rig = refuse_rig, .self = ann};
	auto_rig_bench struct rig_bench *rb = NULL;
	struct bisect_boot boot = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(rig_bench_open(&cfg, &rb, &e), 0);
	assert_int_equal(rig_bench_of(rb)->boot(rig_bench_of(rb)->self, "k", 1, &boot, &e), -EBUSY);
	assert_string_equal(e.text, "virtual-x86: ann holds it");
	assert_int_equal(boot.n, 0);
}

static void test_the_worktree_is_gone_with_gits_note_of_it(void **state)
{
	struct err e = {0};
	auto_free char *before = NULL;
	auto_free char *after = NULL;

	(void)state;
	before = bu_sh("git -C repo worktree list | wc -l; ls cache/worktrees | wc -l");
	assert_string_equal(before, "2\n2");
	assert_int_equal(rig_bench_remove_worktree(bu_w, bu_repo, &e), 0);
	/* once more is fine */
	assert_int_equal(rig_bench_remove_worktree(bu_w, bu_repo, &e), 0);
	after = bu_sh("git -C repo worktree list | wc -l; ls cache/worktrees | wc -l");
	assert_string_equal(after, "1\n0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_wanted_failure_is_an_observation),
		cmocka_unit_test(test_a_delay_that_had_not_ended_is_censored),
		cmocka_unit_test(test_a_number_outside_its_limit_is_an_observation),
		cmocka_unit_test(test_a_hotfix_rule_has_three_parts),
		cmocka_unit_test(test_a_hotfix_is_in_the_tree_of_the_commits_of_its_rule_alone),
		cmocka_unit_test(test_a_hotfix_that_does_not_fit_makes_the_commit_untestable),
		cmocka_unit_test(test_hotfix_rules_are_checked_before_anything_is_built),
		cmocka_unit_test(test_a_commit_is_reverted_in_the_tree_or_why_not_is_said),
		cmocka_unit_test(test_a_scenario_that_needs_a_baseline_says_how_to_get_one),
		cmocka_unit_test(test_the_baseline_comes_from_the_store),
		cmocka_unit_test(test_a_build_command_can_end_the_bisect),
		cmocka_unit_test(test_a_build_that_leaves_no_kernel_is_an_error_that_says_so),
		cmocka_unit_test(test_a_rig_that_somebody_holds_boots_nothing),
		cmocka_unit_test(test_the_worktree_is_gone_with_gits_note_of_it),
	};

	return cmocka_run_group_tests(tests, set_up, bu_tear_down);
}
