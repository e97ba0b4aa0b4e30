/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: lab */
#include "lab/matrix.h"
#include "unit.h"

static struct kernel_mutation mutation(const char *name)
{
	return (struct kernel_mutation){
		.name = (char *)(uintptr_t)name,
		.path = (char *)(uintptr_t) "m.patch",
		.scenario = (char *)(uintptr_t) "unplug-read",
		.expected = (char *)(uintptr_t) "FAIL over-limit",
		.unmutated = (char *)(uintptr_t) "PASS none-over",
		.base = (char *)(uintptr_t) "",
		.append = (char *)(uintptr_t) "",
	};
}

static void add_ok(struct matrix *m, const struct kernel_mutation *mut, const char *mutated)
{
	struct err e = {0};

	if (matrix_add(m, mut, "debian:s", "plain", mutated, &e) < 0)
		fail_msg("%s", e.text);
}

static void note(struct matrix_cell *c, enum verdict v, const char *reason, int64_t worst_us)
{
	struct run run = {
		.started_wall_ns = 1000 * NSEC_PER_SEC,
		.ended_wall_ns = 1002 * NSEC_PER_SEC,
		.result = {.verdict = v, .worst_us = worst_us, .valid = 3},
	};

	(void)snprintf(run.result.reason, sizeof(run.result.reason), "%s", reason);
	matrix_note(c, &run);
}

static void test_mutations_share_the_kernel_without_them(void **state)
{
	struct kernel_mutation one = mutation("one");
	struct kernel_mutation two = mutation("two");
	struct matrix m = {0};

	(void)state;
	add_ok(&m, &one, "k-one");
	two.base = (char *)(uintptr_t) "";
	add_ok(&m, &two, "k-two");
	assert_int_equal(m.n, 3);
	assert_string_equal(m.cells[0].kernel, "plain");
	assert_string_equal(m.cells[0].mutations, "");
	assert_int_equal(m.cells[0].expected, VERDICT_PASS);
	assert_string_equal(m.cells[0].reason, "none-over");
	assert_string_equal(m.cells[2].kernel, "k-two");
	assert_string_equal(m.cells[2].mutations, "two");
	for (size_t i = 0; i < m.n; i++)
		assert_int_equal(m.cells[i].plain, 0);
	assert_int_equal(m.cells[2].expected, VERDICT_FAIL);
	matrix_release(&m);
}

static void test_what_both_kernels_have_is_named_for_both(void **state)
{
	struct kernel_mutation one = mutation("one");
	struct matrix m = {0};

	(void)state;
	one.base = (char *)(uintptr_t) "both";
	add_ok(&m, &one, "k-one");
	assert_string_equal(m.cells[0].mutations, "both");
	assert_string_equal(m.cells[1].mutations, "both one");
	matrix_release(&m);
}

static void test_expectations_must_be_clear_and_agree(void **state)
{
	static const struct {
		const char *expected, *unmutated, *scenario, *says;
	} cases[] = {
		{"FAIL", "PASS none-over", "s",
		 "Expected: 'FAIL' is not PASS or FAIL and a reason"},
		{"", "PASS none-over", "s", "Expected: ''"},
		{"RIG-FAULT x", "PASS none-over", "s", "Expected: 'RIG-FAULT x'"},
		{"FAIL over-limit", "INCONCLUSIVE x", "s", "Unmutated: 'INCONCLUSIVE x'"},
		{"FAIL over-limit", "PASS none-over", "", "no 'Scenario:' line"},
		{"FAIL over-limit", "FAIL over-limit", "unplug-read",
		 "another mutation says 'PASS none-over' of the same kernel"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_mutation first = mutation("first");
		struct kernel_mutation bad = mutation("bad");
		struct matrix m = {0};
		struct err e = {0};

		add_ok(&m, &first, "k-first");
		bad.expected = (char *)(uintptr_t)cases[i].expected;
		bad.unmutated = (char *)(uintptr_t)cases[i].unmutated;
		bad.scenario = (char *)(uintptr_t)cases[i].scenario;
		assert_int_equal(matrix_add(&m, &bad, "debian:s", "plain", "k-bad", &e), -EINVAL);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].says);
		matrix_release(&m);
	}
}

static void test_a_verdict_counts_only_with_its_own_reason(void **state)
{
	static const struct {
		bool is_mutated;
		enum verdict v;
		const char *reason;
		enum matrix_outcome outcome;
	} cases[] = {
		{true, VERDICT_FAIL, "over-limit", MATRIX_AS_EXPECTED},
		{true, VERDICT_FAIL, "crash", MATRIX_OTHER_REASON},
		{true, VERDICT_PASS, "none-over", MATRIX_FALSE_PASS},
		{true, VERDICT_INCONCLUSIVE, "straddles-limit", MATRIX_UNDECIDED},
		{true, VERDICT_UNTESTABLE, "kernel.no-boot", MATRIX_UNDECIDED},
		{true, VERDICT_RIG_FAULT, "rig.qemu-ended", MATRIX_UNDECIDED},
		{false, VERDICT_PASS, "none-over", MATRIX_AS_EXPECTED},
		{false, VERDICT_FAIL, "over-limit", MATRIX_FALSE_FAIL},
		{false, VERDICT_FAIL, "crash", MATRIX_FALSE_FAIL},
	};
	struct kernel_mutation one = mutation("one");
	struct matrix m = {0};

	(void)state;
	add_ok(&m, &one, "k-one");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			matrix_classify(&m.cells[cases[i].is_mutated], cases[i].v, cases[i].reason),
			cases[i].outcome);
	matrix_release(&m);
}

static void test_a_matrix_passes_only_if_all_of_it_was_seen(void **state)
{
	struct kernel_mutation one = mutation("one");
	struct matrix m = {0};

	(void)state;
	assert_int_equal(matrix_verdict(&m), VERDICT_INCONCLUSIVE);
	add_ok(&m, &one, "k-one");
	note(&m.cells[0], VERDICT_PASS, "none-over", 5000);
	assert_int_equal(matrix_verdict(&m), VERDICT_INCONCLUSIVE);
	note(&m.cells[1], VERDICT_FAIL, "over-limit", 300000);
	assert_int_equal(matrix_verdict(&m), VERDICT_PASS);
	note(&m.cells[0], VERDICT_RIG_FAULT, "rig.x", -1);
	assert_int_equal(matrix_verdict(&m), VERDICT_INCONCLUSIVE);
	note(&m.cells[0], VERDICT_FAIL, "over-limit", 60000);
	assert_int_equal(matrix_verdict(&m), VERDICT_FAIL);

	assert_int_equal(matrix_cell_runs(&m.cells[0]), 3);
	assert_int_equal(m.cells[0].n[MATRIX_FALSE_FAIL], 1);
	assert_int_equal(m.cells[0].n_trials, 9);
	assert_int_equal(m.cells[0].worst_us, 60000);
	assert_int_equal(m.cells[0].least_worst_us, 5000);
	assert_int_equal(m.cells[0].wall_ns, 6 * NSEC_PER_SEC);
	matrix_release(&m);
}

static void test_what_was_not_expected_is_counted_by_its_words(void **state)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct kernel_mutation one = mutation("one");
	struct matrix m = {0};

	(void)state;
	add_ok(&m, &one, "k-one");
	note(&m.cells[0], VERDICT_PASS, "none-over", 5000);
	matrix_add_unexpected(&m.cells[0], &text);
	assert_string_equal(strbuf_str(&text), "");
	note(&m.cells[0], VERDICT_INCONCLUSIVE, "straddles-limit", 60000);
	matrix_note_unbuilt(&m.cells[0]);
	note(&m.cells[0], VERDICT_INCONCLUSIVE, "straddles-limit", 60000);
	note(&m.cells[0], VERDICT_PASS, "none-over", 5000);
	matrix_add_unexpected(&m.cells[0], &text);
	assert_string_equal(strbuf_str(&text),
			    "INCONCLUSIVE straddles-limit (2), UNTESTABLE kernel.no-build (1)");
	assert_int_equal(m.cells[0].n_seen, 3);
	assert_string_equal(m.cells[0].seen[0].what, "PASS none-over");
	assert_int_equal(m.cells[0].seen[0].n, 2);
	assert_int_equal(m.cells[0].n[MATRIX_UNDECIDED], 3);
	assert_int_equal(matrix_cell_runs(&m.cells[0]), 5);
	matrix_release(&m);
}

/* A run of anything else, or one that was killed, is not counted for a cell. */
static void test_only_a_whole_run_of_the_same_things_is_one_of_a_cell(void **state)
{
	const struct matrix_origin origin = {
		.rig = "r", .scenario_sha256 = "s1", .image_sha256 = "i1", .trials = 2};
	char other[] = "other", empty[] = "", rig[] = "r", s1[] = "s1", i1[] = "i1";
	char plain[] = "plain", scenario[] = "unplug-read";
	const struct run same = {
		.rig = rig,
		.kernel = plain,
		.scenario = scenario,
		.append = empty,
		.scenario_sha256 = s1,
		.kernel_image_sha256 = i1,
		.planned_valid = 2,
		.ended_wall_ns = 1,
	};
	struct kernel_mutation one = mutation("one");
	struct matrix m = {0};
	struct run run = same;
	char **const texts[] = {&run.rig,    &run.kernel,          &run.scenario,
				&run.append, &run.scenario_sha256, &run.kernel_image_sha256};

	(void)state;
	add_ok(&m, &one, "k-one");
	assert_true(matrix_is_run_of(&m.cells[0], &origin, &run));
	assert_false(matrix_is_run_of(&m.cells[1], &origin, &run));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = other;
		assert_false(matrix_is_run_of(&m.cells[0], &origin, &run));
		run = same;
	}
	run.planned_valid = 3;
	assert_false(matrix_is_run_of(&m.cells[0], &origin, &run));
	run = same;
	run.ended_wall_ns = 0;
	assert_false(matrix_is_run_of(&m.cells[0], &origin, &run));
	matrix_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutations_share_the_kernel_without_them),
		cmocka_unit_test(test_what_both_kernels_have_is_named_for_both),
		cmocka_unit_test(test_expectations_must_be_clear_and_agree),
		cmocka_unit_test(test_a_verdict_counts_only_with_its_own_reason),
		cmocka_unit_test(test_a_matrix_passes_only_if_all_of_it_was_seen),
		cmocka_unit_test(test_what_was_not_expected_is_counted_by_its_words),
		cmocka_unit_test(test_only_a_whole_run_of_the_same_things_is_one_of_a_cell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
