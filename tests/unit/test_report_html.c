/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_html.c - runs as one self-contained page. */
/* ctest: report */
#include "report/report.h"
#include "sample_run.h"
#include "unit.h"

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
		n++;
	return n;
}

static struct run *mixed_run(void)
{
	struct run *r = sample_run("debian 6.1 amd64", "virtual-x86", "virtual");
	struct trial *t;

	sample_add_trial(r, 1, 50000);
	sample_add_trial(r, 1, 50001);
	sample_invalidate(sample_add_trial(r, 2, 0), EVIDENCE_CACHE_LOADED, "12 KiB");
	t = sample_add_trial(r, 2, -1);
	t->is_valid = false;
	t->is_crash = true;
	strcpy(t->crash, "oops");
	run_judge(r);
	return r;
}

static void test_each_trial_is_one_mark_by_its_outcome(void **state)
{
	auto_run struct run *r = mixed_run();
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *plot, *legend;

	(void)state;
	report_html(&out, &r, 1, "t");
	plot = strstr(strbuf_str(&out), "<div class=plot>");
	assert_non_null(plot);
	legend = strstr(plot, "<ul class=legend>");
	assert_non_null(legend);
	assert_int_equal(count(plot, "class=under ") - count(legend, "class=under "), 1);
	assert_int_equal(count(plot, "class=over ") - count(legend, "class=over "), 1);
	assert_int_equal(count(plot, "class=void ") - count(legend, "class=void "), 1);
	assert_int_equal(count(plot, "class=crash ") - count(legend, "class=crash "), 1);
}

static double x_of(const char *html, const char *mark)
{
	const char *p = strstr(html, mark);
	const char *x = p ? strstr(p, "x='") : NULL;

	assert_non_null(x);
	return strtod(x + 3, NULL);
}

static void test_the_axis_is_logarithmic_and_the_limit_is_on_it(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *plot;
	double under, over, limit;

	(void)state;
	r->limit_us = 10000;
	sample_add_trial(r, 1, 1000);
	sample_add_trial(r, 1, 100000);
	run_judge(r);

	report_html(&out, &r, 1, "t");
	plot = strstr(strbuf_str(&out), "<div class=plot>");
	under = x_of(plot, "class=under");
	over = x_of(plot, "class=over");
	limit = x_of(plot, "class=lt");
	/* a decade below and a decade above the limit: as far on both sides */
	assert_true(under < limit && limit < over);
	assert_true(over - limit - (limit - under) < 0.1 && over - limit - (limit - under) > -0.1);
}

static void test_the_page_needs_nothing_from_outside_and_runs_no_script(void **state)
{
	auto_run struct run *r = mixed_run();
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	report_html(&out, &r, 1, "t");
	assert_null(strstr(strbuf_str(&out), "<script"));
	assert_null(strstr(strbuf_str(&out), "http:"));
	assert_null(strstr(strbuf_str(&out), "https:"));
	assert_null(strstr(strbuf_str(&out), "url("));
	assert_null(strstr(strbuf_str(&out), "src="));
	assert_null(strstr(strbuf_str(&out), "onload"));
	assert_contains(strbuf_str(&out), "prefers-color-scheme:dark");
	assert_contains(strbuf_str(&out), "name=viewport");
}

static void test_hostile_text_is_escaped_everywhere(void **state)
{
	static const char evil[] = "<img src=x onerror='alert(1)'>\"&";
	auto_run struct run *r = sample_run(evil, evil, evil);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct trial *t = sample_add_trial(r, 1, 1000);

	(void)state;
	free(r->scenario);
	r->scenario = xstrdup(evil);
	free(r->append);
	r->append = xstrdup(evil);
	free(r->kernel_version);
	r->kernel_version = xstrdup(evil);
	sample_add_boot(r, evil);
	strcpy(t->worst_func, evil);
	strcpy(t->evidence[0].detail, evil);
	run_judge(r);

	report_html(&out, &r, 1, evil);
	assert_null(strstr(strbuf_str(&out), "<img"));
	assert_null(strstr(strbuf_str(&out), "'alert"));
	assert_true(count(strbuf_str(&out), "&lt;img") >= 8);
}

static void test_classes_of_rigs_have_their_own_section_and_axis(void **state)
{
	auto_run struct run *a = sample_run("a", "virtual-x86", "virtual");
	auto_run struct run *b = sample_run("b", "kit-1", "board");
	struct run *runs[] = {a, b};
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	sample_add_trial(a, 1, 1000);
	sample_add_trial(b, 1, 1000);
	run_judge(a);
	run_judge(b);

	report_html(&out, runs, 2, "t");
	assert_int_equal(count(strbuf_str(&out), "<h2>"), 2);
	assert_int_equal(count(strbuf_str(&out), "<div class=plot>"), 2);
}

static void test_extreme_and_absent_values_stay_on_the_page(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	sample_add_trial(r, 1, 0);
	sample_add_trial(r, 1, INT64_MAX);
	for (unsigned boot = 2; boot < 40; boot++)
		sample_add_trial(r, boot, 1000);
	run_judge(r);

	report_html(&out, &r, 1, "t");
	for (const char *p = strstr(strbuf_str(&out), "x='"); p; p = strstr(p + 1, "x='")) {
		double x = strtod(p + 3, NULL);

		assert_true(x >= 0 && x <= 100);
	}
}

static void test_no_run_is_said(void **state)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	report_html(&out, NULL, 0, "t");
	assert_contains(strbuf_str(&out), "No run was found.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_trial_is_one_mark_by_its_outcome),
		cmocka_unit_test(test_the_axis_is_logarithmic_and_the_limit_is_on_it),
		cmocka_unit_test(test_the_page_needs_nothing_from_outside_and_runs_no_script),
		cmocka_unit_test(test_hostile_text_is_escaped_everywhere),
		cmocka_unit_test(test_classes_of_rigs_have_their_own_section_and_axis),
		cmocka_unit_test(test_extreme_and_absent_values_stay_on_the_page),
		cmocka_unit_test(test_no_run_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
