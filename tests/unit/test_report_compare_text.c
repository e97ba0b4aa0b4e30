/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_compare_text.c - a comparison in words and as JSON. */
/* ctest: report */
#include "report/compare_text.h"
#include "sample_run.h"
#include "trial/run_compare.h"
#include "unit.h"

#include <jansson.h>

static void compare(unsigned n_new, struct run **ret_base, struct run **ret_new,
		    struct compare_result *ret)
{
	*ret_base = sample_run("debian 6.12", "virtual-x86", "virtual");
	*ret_new = sample_run("debian \033[31m6.1", "virtual-x86", "virtual");
	for (unsigned i = 0; i < 8; i++)
		sample_add_trial(*ret_base, 1 + i / 4, 9000 + i * 5 % 8);
	for (unsigned i = 0; i < n_new; i++)
		sample_add_trial(*ret_new, 1 + i / 4, 150000 + i * 5 % 8);
	run_judge(*ret_base);
	run_judge(*ret_new);
	assert_int_equal(run_compare(*ret_base, *ret_new, &compare_defaults, ret), 0);
}

static void test_the_conclusion_comes_first_and_text_is_safe(void **state)
{
	auto_run struct run *base = NULL, *new_run = NULL;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct compare_result r;

	(void)state;
	compare(8, &base, &new_run, &r);
	compare_text(&out, base, new_run, &r, 0.95);
	assert_int_equal(strncmp(out.data, "regression: p50 150 ms, was 9.0 ms (x 16.7", 41), 0);
	assert_contains(out.data, "base  debian 6.12 on virtual-x86");
	assert_contains(out.data, "new   debian \\x1b[31m6.1 on virtual-x86");
	assert_contains(out.data, ": FAIL, worst 150 ms\n");
}

static void test_json_leaves_out_what_is_not_known(void **state)
{
	static const unsigned counts[] = {8, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		auto_run struct run *base = NULL, *new_run = NULL;
		auto_strbuf struct strbuf out = STRBUF_INIT;
		struct compare_result r;
		const char *change;
		json_t *root;

		compare(counts[i], &base, &new_run, &r);
		compare_json(&out, base, new_run, &r, 0.95);
		root = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(root);
		assert_int_equal(json_unpack(root, "{s:s}", "change", &change), 0);
		assert_string_equal(change, counts[i] == 8 ? "regression" : "unclear");
		assert_true(json_is_real(json_object_get(root, "ratio")));
		assert_int_equal(!!json_object_get(root, "ratio_high"), counts[i] == 8);
		assert_int_equal(!!json_object_get(root, "shift_high_ms"), counts[i] == 8);
		json_decref(root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_conclusion_comes_first_and_text_is_safe),
		cmocka_unit_test(test_json_leaves_out_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
