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

static void test_mistakes_are_named_with_file_line_and_column(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{HEAD, "kernels"},
		{HEAD "kernels: []\n", "kernels"},
		{HEAD "kernels: [{append: quiet}]\n", "p.yaml:4:11: kernels[0]: give exactly one"},
		{HEAD "kernels: [{build: a, debian: b}]\n", "not 2"},
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
		cmocka_unit_test(test_mistakes_are_named_with_file_line_and_column),
		cmocka_unit_test(test_an_unknown_name_lists_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
