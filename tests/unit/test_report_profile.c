/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: report */
/* Flame graphs and tables of profiles, with names that were made to do harm. */
#include "report/profile_text.h"
#include "report/report.h"
#include "sample_run.h"
#include "unit.h"

#include <ctype.h>
#include <inttypes.h>

static struct profile *parse(const char *text)
{
	struct profile *p = NULL;
	struct err e = {0};

	if (profile_parse(text, strlen(text), "p.txt", &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *p = strstr(text, what); p; p = strstr(p + 1, what))
		n++;
	return n;
}

/* Each tag is closed by its own name, and nothing is outside of what a flame graph is made of. */
static void check_svg(const char *svg)
{
	static const char *const allowed[] = {"svg", "rect", "text", "g", "title"};
	char open[16][16];
	size_t depth = 0;

	for (const char *p = strchr(svg, '<'); p; p = strchr(p + 1, '<')) {
		bool is_end = p[1] == '/';
		const char *name = p + 1 + is_end;
		size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz");
		const char *gt = strchr(p, '>');
		bool is_known = false;

		assert_non_null(gt);
		if (strncmp(p, "<!--", 4) == 0)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
			is_known |= strlen(allowed[i]) == n && memcmp(allowed[i], name, n) == 0;
		if (!is_known)
			fail_msg("a tag that is not of here: %.60s", p);
		if (is_end) {
			assert_true(depth > 0);
			depth--;
			assert_int_equal(strlen(open[depth]), n);
			assert_memory_equal(open[depth], name, n);
		} else if (gt[-1] != '/') {
			assert_true(depth < 16);
			(void)snprintf(open[depth++], sizeof(open[0]), "%.*s", (int)n, name);
		}
	}
	assert_int_equal(depth, 0);
}

static void test_a_box_is_as_wide_as_its_share_and_stands_on_its_caller(void **state)
{
	auto_profile struct profile *p =
		parse("h1,cpu-clock,199,2,0\nk0,0.2\nk1,1.2\ns1,0,0\ns2,0,0\ns3,0,0\ns4,0,1\n"
		      "a0,1,inner,0,\na1,2,other,0,\na2,3,entry,0,\nw0,1000000,dd_50\n");
	auto_strbuf struct strbuf svg = STRBUF_INIT;

	(void)state;
	flame_svg(&svg, p, profile_window(p, "dd_50"));
	check_svg(strbuf_str(&svg));
	assert_contains(strbuf_str(&svg), "dd_50: 4 samples of 2 CPUs in 1.0 s, 199 Hz, cpu-clock");
	assert_contains(strbuf_str(&svg), "<title>entry: 4 samples, 100.00 %</title>"
					  "<rect x=\"0.00\" y=\"47\" width=\"1200.00\"");
	assert_contains(strbuf_str(&svg), "<title>inner: 3 samples, 75.00 %</title>"
					  "<rect x=\"0.00\" y=\"30\" width=\"900.00\"");
	assert_contains(strbuf_str(&svg), "<title>other: 1 samples, 25.00 %</title>"
					  "<rect x=\"900.00\" y=\"30\" width=\"300.00\"");
	assert_contains(strbuf_str(&svg), "<!-- 3 boxes, 0 left out -->");
}

static void test_names_cannot_leave_their_place(void **state)
{
	static const char hostile[] =
		"h1,cpu-clock,199,1,0\nk0,0\ns1,0,0\n"
		"a0,1,</title><script>alert('1')</script>\"&\xff\033[31m,0,<b>&\nw0,9,<i>\n";
	auto_profile struct profile *p = parse(hostile);
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	struct trial *t = sample_add_trial(r, 1, 1000);
	char *dir = unit_tmpdir();
	auto_free char *boot = xasprintf("%s/boot-1", dir);
	auto_strbuf struct strbuf svg = STRBUF_INIT;
	auto_strbuf struct strbuf html = STRBUF_INIT;
	auto_strbuf struct strbuf shown = STRBUF_INIT;

	(void)state;
	flame_svg(&svg, p, profile_window(p, "<i>"));
	check_svg(strbuf_str(&svg));
	sample_add_boot(r, boot);
	unit_write(dir, "trial-1-profile.txt", hostile);
	profile_text_add_html(&html, r, t);
	assert_null(strstr(strbuf_str(&html), "<script"));
	assert_null(strstr(strbuf_str(&html), "<b>"));
	assert_null(strstr(strbuf_str(&html), "<i>"));
	assert_contains(strbuf_str(&html), "&lt;script&gt;");
	profile_text_add(&shown, r, t);
	for (size_t i = 0; i < shown.len; i++)
		assert_true(shown.data[i] == '\n' || !iscntrl((unsigned char)shown.data[i]));
	unit_rmdir(dir);
}

static void test_a_table_has_shares_with_intervals_and_what_was_lost(void **state)
{
	auto_run struct run *r = sample_run("k", "virtual-x86", "virtual");
	struct trial *t = sample_add_trial(r, 1, 1000);
	char *dir = unit_tmpdir();
	auto_free char *boot = xasprintf("%s/boot-1", dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	sample_add_boot(r, boot);
	profile_text_add(&out, r, t);
	assert_int_equal(out.len, 0);
	strbuf_adds(&text, "h1,cycles,199,4,0\n");
	for (int i = 0; i < 14; i++)
		strbuf_addf(&text, "k%d,%d\na%d,1,f_%02d,0,\n", i, i, i, i);
	for (int i = 0; i < 100; i++)
		strbuf_addf(&text, "s1,0,%d\n", i < 86 ? 0 : i - 86);
	strbuf_adds(&text, "w0,2000000,dd_1\ne5,1,2,0,0\n");
	unit_write(dir, "trial-1-profile.txt", strbuf_str(&text));
	profile_text_add(&out, r, t);
	assert_contains(strbuf_str(&out), "4 CPUs at 199 Hz by cycles; 6 more were lost; the "
					  "kernel held the event back 2 times");
	assert_contains(strbuf_str(&out), "dd_1: 100 samples in 2.0 s\n");
	/* Clopper-Pearson of 87 in 100 */
	assert_contains(strbuf_str(&out), "      87  87.00 % (78.80 to 92.89)  f_00\n");
	assert_contains(strbuf_str(&out), "  … 2 functions more\n");
	strbuf_reset(&out);
	report_trial_json(&out, r, t);
	assert_contains(strbuf_str(&out), "\"event\":\"cycles\"");
	assert_contains(strbuf_str(&out), "\"lost\":6");
	assert_contains(strbuf_str(&out), "\"name\":\"dd_1\"");
	assert_contains(strbuf_str(&out), "\"f_13\"");
	unit_write(dir, "trial-1-profile.txt", "broken\n");
	strbuf_reset(&out);
	report_trial_json(&out, r, t);
	assert_contains(strbuf_str(&out), "\"profile_error\"");
	strbuf_reset(&out);
	profile_text_add(&out, r, t);
	assert_contains(strbuf_str(&out), "cannot be shown: ");
	unit_rmdir(dir);
}

static void test_boxes_have_a_limit_and_tiny_ones_are_left_out(void **state)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf svg = STRBUF_INIT;
	auto_profile struct profile *p = NULL;

	(void)state;
	/* one chain that is 999 of 1000, one that is 1 of 1000, one that is less */
	strbuf_adds(&text, "h1,cpu-clock,199,1,0\nk0,0\nk1,1\nk2,2\n"
			   "a0,1,big,0,\na1,2,small,0,\na2,3,tiny,0,\n");
	for (int i = 0; i < 1997; i++)
		strbuf_adds(&text, "s1,0,0\n");
	strbuf_adds(&text, "s1,0,1\ns1,0,1\ns1,0,2\nw0,9,x\n");
	p = parse(strbuf_str(&text));
	flame_svg(&svg, p, profile_window(p, "x"));
	check_svg(strbuf_str(&svg));
	assert_contains(strbuf_str(&svg), "<title>small: 2 samples");
	assert_null(strstr(strbuf_str(&svg), "tiny"));
	assert_contains(strbuf_str(&svg), "<!-- 2 boxes, 1 left out -->");
	profile_free(take(p));

	/* 64 chains of 127 functions, each wide enough: 8128 boxes */
	strbuf_reset(&text);
	strbuf_reset(&svg);
	strbuf_adds(&text, "h1,cpu-clock,199,1,0\n");
	for (int i = 0; i < 64; i++) {
		strbuf_addf(&text, "k%d,%d", i, i);
		for (int d = 1; d < PROFILE_DEPTH_MAX; d++)
			strbuf_addf(&text, ".%d", i);
		strbuf_addf(&text, "\na%d,1,f%d,0,\ns1,0,%d\n", i, i, i);
	}
	strbuf_adds(&text, "w0,9,x\n");
	p = parse(strbuf_str(&text));
	flame_svg(&svg, p, profile_window(p, "x"));
	check_svg(strbuf_str(&svg));
	assert_int_equal(count(strbuf_str(&svg), "<g>"), FLAME_BOXES_MAX);
	assert_contains(strbuf_str(&svg), "<!-- 5000 boxes, 3128 left out -->");
}

static void test_an_empty_window_is_a_picture_without_boxes(void **state)
{
	auto_profile struct profile *p = parse("h1,cpu-clock,199,1,0\nw0,9,x\n");
	auto_strbuf struct strbuf svg = STRBUF_INIT;

	(void)state;
	flame_svg(&svg, p, profile_window(p, "x"));
	check_svg(strbuf_str(&svg));
	assert_contains(strbuf_str(&svg), "x: 0 samples");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_box_is_as_wide_as_its_share_and_stands_on_its_caller),
		cmocka_unit_test(test_names_cannot_leave_their_place),
		cmocka_unit_test(test_a_table_has_shares_with_intervals_and_what_was_lost),
		cmocka_unit_test(test_boxes_have_a_limit_and_tiny_ones_are_left_out),
		cmocka_unit_test(test_an_empty_window_is_a_picture_without_boxes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
