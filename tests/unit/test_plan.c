/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_plan.c - plans of nightly runs and the mistakes in them. */
/* ctest: lab */
#include "lab/plan.h"
#include "unit.h"

#define HEAD                           \
	"name: p\n"                    \
	"rigs: [a, 'class:virtual']\n" \
	"scenarios: [s]\n"
#define GOOD HEAD "kernels: [{debian: 'debian:6.1'}, {build: x, append: quiet}, {folder: /srv/k}]\n"

static int load(const char *text, struct plan **ret, struct err *e)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/p.yaml", dir);
	int r;

	unit_write(dir, "p.yaml", text);
	r = plan_load(path, ret, e);
	unit_rmdir(dir);
	return r;
}

static void test_every_shipped_plan_loads(void **state)
{
	auto_plan struct plan *p = NULL;
	struct err e = {0};

	(void)state;
	if (plan_load("nightly", &p, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(p->name, "nightly");
	assert_true(p->kernels_count > 0);
}

static void test_what_is_left_out_has_a_default(void **state)
{
	auto_plan struct plan *p = NULL;
	struct err e = {0};

	(void)state;
	if (load(GOOD, &p, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(p->rigs_count, 2);
	assert_int_equal(p->kernels_count, 3);
	assert_string_equal(plan_kernel_text(&p->kernels[0]), "debian:6.1");
	assert_string_equal(plan_kernel_text(&p->kernels[1]), "x");
	assert_string_equal(p->kernels[1].append, "quiet");
	assert_string_equal(plan_kernel_text(&p->kernels[2]), "/srv/k");
	assert_string_equal(p->kernels[2].append, "");
	assert_string_equal(p->baseline, "previous");
	assert_string_equal(p->notify, "");
	assert_int_equal(p->retries, 1);
	assert_int_equal(p->budget_minutes, 0);
	assert_int_equal(p->trials, 0);
	assert_false(p->new_only);
	assert_int_equal(strlen(p->sha256), 64);
}

static void test_a_branch_has_a_config_and_a_name_without_its_secrets(void **state)
{
	auto_plan struct plan *p = NULL;
	struct err e = {0};

	(void)state;
	if (load(HEAD
		 "kernels: [{git: 'https://ann:secret@h/linux.git', branch: for-next},\n"
		 "  {git: /srv/linux, branch: main, configs: [virtual, nvme], command: make}]\n",
		 &p, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(plan_kernel_text(&p->kernels[0]), "for-next of https://h/linux.git");
	assert_int_equal(p->kernels[0].configs_count, 1);
	assert_string_equal(p->kernels[0].configs[0], "virtual");
	assert_null(p->kernels[0].command);
	assert_int_equal(p->kernels[1].configs_count, 2);
	assert_string_equal(p->kernels[1].command, "make");
}

static void test_a_kernel_has_its_own_priority_or_the_plans(void **state)
{
	auto_plan struct plan *p = NULL, *plain = NULL;
	struct err e = {0};

	(void)state;
	if (load(HEAD "priority: 7\nkernels: [{build: a}, {build: b, priority: 0}]\n", &p, &e) <
		    0 ||
	    load(GOOD, &plain, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(p->kernels[0].priority, 7);
	assert_int_equal(p->kernels[1].priority, 0);
	assert_int_equal(plain->kernels[0].priority, 100);
}

/* The same kernel is in a watched folder every night; a series is another one when it has news. */
static void test_what_is_dropped_is_run_once_unless_the_plan_says_otherwise(void **state)
{
	static const struct {
		const char *more;
		bool of_series, of_folder;
	} cases[] = {
		{"", false, true},
		{"new_only: true\n", true, true},
		{"new_only: false\n", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *text = xasprintf("%s%s", GOOD, cases[i].more);
		auto_plan struct plan *p = NULL;
		struct err e = {0};

		if (load(text, &p, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(p->kernels[0].new_only, cases[i].of_series);
		assert_int_equal(p->kernels[2].new_only, cases[i].of_folder);
		assert_int_equal(p->settle_s, 30);
	}
}

static void test_mistakes_are_named_with_file_line_and_column(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{HEAD, "kernels"},
		{HEAD "kernels: []\n", "kernels"},
		{HEAD "kernels: [{append: quiet}]\n", "p.yaml:4:11: kernels[0]: give exactly one"},
		{HEAD "kernels: [{build: a, debian: b}]\n", "not 2"},
		{HEAD "kernels: [{build: a, git: b, branch: c}]\n", "not 2"},
		{HEAD "kernels: [{git: b}]\n", "p.yaml:4:11: kernels[0]: git needs a branch"},
		{HEAD "kernels: [{build: b, branch: c}]\n",
		 "p.yaml:4:30: kernels[0].branch: 'c': goes only with git"},
		{HEAD "kernels: [{build: b, command: c}]\n", "goes only with git"},
		{HEAD "kernels: [{build: b, configs: [c]}]\n", "goes only with git"},
		{HEAD "kernels: [{git: '--upload-pack=x', branch: c}]\n", "'-' at their beginning"},
		{HEAD "kernels: [{git: b, branch: 'c|d'}]\n", "neither blanks nor '|'"},
		{HEAD "kernels: [{git: b, branch: c, configs: []}]\n", "configs"},
		{GOOD "priority: 1001\n", "outside 0..1000"},
		{HEAD "kernels: [{build: b, priority: 1001}]\n",
		 "kernels[0].priority: '1001': outside 0..1000"},
		{GOOD "settle_seconds: 3601\n", "outside 0..3600"},
		{HEAD "kernels: [{build: a, append: \"x\\ty\"}]\n", "kernels[0].append"},
		{HEAD "kernels: [{built: a}]\n", "built"},
		{GOOD "trials: 0\n", "p.yaml:5:9: trials: '0': outside 1..10000"},
		{GOOD "trials: 10001\n", "outside 1..10000"},
		{GOOD "budget_minutes: 0\n", "budget_minutes"},
		{GOOD "retries: 101\n", "outside 0..100"},
		{GOOD "new_only: perhaps\n", "p.yaml:5:11: new_only: 'perhaps'"},
		{GOOD "new_only: 1\n", "new_only"},
		{GOOD "nights: 3\n", "nights"},
		{"name: ../p\nrigs: [a]\nscenarios: [s]\nkernels: [{build: x}]\n",
		 "p.yaml:1:7: name"},
		{"name: p\nrigs: [a, b, a]\nscenarios: [s]\nkernels: [{build: x}]\n",
		 "p.yaml:2:14: rigs[2]: 'a': is in the list twice"},
		{"name: p\nrigs: [a]\nscenarios: [s, s]\nkernels: [{build: x}]\n", "scenarios[1]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan *p = NULL;
		struct err e = {0};

		if (load(cases[i].text, &p, &e) >= 0)
			fail_msg("accepted: %s", cases[i].text);
		assert_null(p);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].says);
		assert_contains(e.text, "p.yaml");
	}
}

static void test_an_unknown_name_lists_what_there_is(void **state)
{
	struct plan *p = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(plan_load("nighty", &p, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.text, "there is no plan 'nighty'");
	assert_contains(e.text, "nightly");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shipped_plan_loads),
		cmocka_unit_test(test_what_is_left_out_has_a_default),
		cmocka_unit_test(test_a_branch_has_a_config_and_a_name_without_its_secrets),
		cmocka_unit_test(test_a_kernel_has_its_own_priority_or_the_plans),
		cmocka_unit_test(test_what_is_dropped_is_run_once_unless_the_plan_says_otherwise),
		cmocka_unit_test(test_mistakes_are_named_with_file_line_and_column),
		cmocka_unit_test(test_an_unknown_name_lists_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
