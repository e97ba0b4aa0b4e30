/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_news.c - what is news, and telling it to a real program. */
/* ctest: lab */
#include "lab/news.h"
#include "sample_run.h"
#include "unit.h"

#include <jansson.h>

#include <sys/stat.h>

static struct run *run_of(enum verdict v, int64_t worst_us)
{
	struct run *r = sample_run("debian", "virtual-x86", "virtual");

	r->result.verdict = v;
	r->result.worst_us = worst_us;
	return r;
}

static void test_only_a_change_is_news(void **state)
{
	static const struct {
		enum verdict was, now; /* VERDICT_MAX = there is none */
		enum compare_change change;
		bool is_news;
		enum news_kind kind;
	} cases[] = {
		{VERDICT_MAX, VERDICT_PASS, COMPARE_UNCLEAR, false, 0},
		{VERDICT_MAX, VERDICT_FAIL, COMPARE_UNCLEAR, true, NEWS_NEW_FAIL},
		{VERDICT_PASS, VERDICT_FAIL, COMPARE_REGRESSION, true, NEWS_NEW_FAIL},
		{VERDICT_FAIL, VERDICT_FAIL, COMPARE_NO_CHANGE, false, 0},
		{VERDICT_FAIL, VERDICT_FAIL, COMPARE_REGRESSION, true, NEWS_REGRESSION},
		{VERDICT_FAIL, VERDICT_PASS, COMPARE_IMPROVEMENT, true, NEWS_FIXED},
		{VERDICT_PASS, VERDICT_PASS, COMPARE_REGRESSION, true, NEWS_REGRESSION},
		{VERDICT_PASS, VERDICT_PASS, COMPARE_IMPROVEMENT, false, 0},
		{VERDICT_PASS, VERDICT_RIG_FAULT, COMPARE_UNCLEAR, false, 0},
		{VERDICT_FAIL, VERDICT_INCONCLUSIVE, COMPARE_UNCLEAR, false, 0},
		{VERDICT_RIG_FAULT, VERDICT_PASS, COMPARE_UNCLEAR, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool has_previous = cases[i].was != VERDICT_MAX;
		auto_run struct run *previous = has_previous ? run_of(cases[i].was, 1) : NULL;
		auto_run struct run *now = run_of(cases[i].now, 2);
		struct compare_result change = {.change = cases[i].change};
		enum news_kind kind = 0;

		assert_int_equal(news_of_run(previous, now, has_previous ? &change : NULL, &kind),
				 cases[i].is_news);
		assert_int_equal(kind, cases[i].kind);
	}
}

/* A program that the lab wrote: what it does, and what it left in its folder. */
static int tell(const char *dir, const char *script, struct err *e)
{
	auto_run struct run *previous = run_of(VERDICT_PASS, 4000),
			    *r = run_of(VERDICT_FAIL, 812000);
	auto_free char *program = xasprintf("%s/tell", dir);
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct news n = {
		.kind = NEWS_NEW_FAIL,
		.plan = "nightly",
		.night = 7,
		.run = r,
		.previous = previous,
		.text = "worst 812 ms, was 4 ms",
	};

	unit_write(dir, "tell", script);
	assert_int_equal(chmod(program, 0755), 0);
	return news_tell(w, program, &n, e);
}

static void test_a_program_reads_the_news_on_its_standard_input(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *script = xasprintf("#!/bin/sh\ncat >%s/heard\n", dir);
	auto_free char *heard = xasprintf("%s/heard", dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *what, *rig, *verdict, *sentence;
	double worst, was;
	struct err e = {0};
	json_t *root;
	int night;

	(void)state;
	if (tell(dir, script, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(file_read(heard, 65536, &text, &e), 0);
	root = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_int_equal(json_unpack(root, "{s:s,s:i,s:s,s:s,s:F,s:F,s:s}", "what", &what, "night",
				     &night, "rig", &rig, "verdict", &verdict, "worst_ms", &worst,
				     "was_worst_ms", &was, "text", &sentence),
			 0);
	assert_string_equal(what, "new-fail");
	assert_int_equal(night, 7);
	assert_string_equal(rig, "virtual-x86");
	assert_string_equal(verdict, "FAIL");
	assert_true(worst > 811.9 && worst < 812.1 && was > 3.9 && was < 4.1);
	assert_string_equal(sentence, "worst 812 ms, was 4 ms");
	json_decref(root);
	unit_rmdir(dir);
}

static void test_news_say_since_when_and_in_words(void **state)
{
	static char run[] = "20261128-111754-a3f2", kernel[] = "debian-6.1.0-58-amd64";
	auto_run struct run *r = run_of(VERDICT_FAIL, 812000);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf words = STRBUF_INIT;
	struct news_since since = {.run_id = run,
				   .kernel = kernel,
				   .started_wall_ns = SAMPLE_WALL_NS - 2 * 86400 * NSEC_PER_SEC,
				   .before_us = 4000,
				   .after_us = 812345};
	const struct news_since never = {0};
	struct news n = {.kind = NEWS_NEW_FAIL, .plan = "p", .run = r, .since = &since};
	const char *at, *first, *build;
	double before, level;
	json_t *root;

	(void)state;
	news_json(&text, &n);
	root = json_loads(strbuf_str(&text), JSON_REJECT_DUPLICATES, NULL);
	assert_int_equal(json_unpack(root, "{s:s,s:s,s:s,s:F,s:F}", "since", &at, "since_run",
				     &first, "since_kernel", &build, "before_ms", &before,
				     "level_ms", &level),
			 0);
	assert_string_equal(at, "2026-11-28T11:17:54Z");
	assert_string_equal(first, run);
	assert_string_equal(build, kernel);
	assert_true(before > 3.9 && before < 4.1 && level > 812.3 && level < 812.4);
	json_decref(root);
	news_since_words(&since, SAMPLE_WALL_NS, &words);
	assert_string_equal(strbuf_str(&words), "at 812.3 ms since the night of 11-27 "
						"(debian-6.1.0-58-amd64), 4.0 ms before");

	n.since = &never;
	strbuf_reset(&text);
	news_json(&text, &n);
	assert_null(strstr(strbuf_str(&text), "since"));
}

static void test_a_program_that_fails_is_named(void **state)
{
	char *dir = unit_tmpdir();
	struct err e = {0};

	(void)state;
	assert_true(tell(dir, "#!/bin/sh\necho no mail today >&2\nexit 3\n", &e) < 0);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_contains(e.text, "/tell'");
	assert_contains(e.text, "no mail today");
	err_clear(&e);
	assert_true(tell(dir, "#!/no/such/interpreter\n", &e) < 0);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_contains(e.text, "/tell'");
	unit_rmdir(dir);
}

static void test_news_without_a_run_have_the_rig(void **state)
{
	struct news n = {.kind = NEWS_QUARANTINE, .plan = "p", .night = 1, .rig = "rcar-m3-1"};
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	news_json(&out, &n);
	assert_string_equal(out.data, "{\"what\":\"quarantine\",\"plan\":\"p\",\"night\":1,"
				      "\"rig\":\"rcar-m3-1\"}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_change_is_news),
		cmocka_unit_test(test_a_program_reads_the_news_on_its_standard_input),
		cmocka_unit_test(test_news_say_since_when_and_in_words),
		cmocka_unit_test(test_a_program_that_fails_is_named),
		cmocka_unit_test(test_news_without_a_run_have_the_rig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
