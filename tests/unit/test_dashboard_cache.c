/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: dashboard */
/* test_dashboard_cache.c - which answers are given again, and for how long. */
#include "../../controller/dashboard/cache.h"
#include "unit.h"

#define SECOND NSEC_PER_SEC

static struct request ask(const char *path, const char *key, const char *value)
{
	struct request rq = {.method = "GET", .path = path};

	if (key) {
		rq.args[0].key = key;
		rq.args[0].value = value;
		rq.n_args = 1;
	}
	return rq;
}

static void put_settled(struct cache *c, struct request rq, int64_t state, int64_t now_ns,
			int64_t settled_ns, int64_t fresh_ns, const char *body, size_t n)
{
	struct reply rp = REPLY_INIT;

	rp.type = "text/plain";
	rp.fresh_ns = fresh_ns;
	rp.settled_ns = settled_ns;
	strbuf_add(&rp.body, body, n);
	cache_put(c, &rq, state, now_ns, &rp);
	reply_release(&rp);
}

static void put(struct cache *c, struct request rq, int64_t state, int64_t now_ns, int64_t fresh_ns,
		const char *body, size_t n)
{
	put_settled(c, rq, state, now_ns, 0, fresh_ns, body, n);
}

/* The kept body, NULL if there is none. Caller frees. */
static char *get(struct cache *c, struct request rq, int64_t state, int64_t now_ns)
{
	struct reply rp = REPLY_INIT;
	char *body = NULL;

	if (cache_get(c, &rq, state, now_ns, &rp)) {
		assert_non_null(rp.etag);
		assert_string_equal(rp.type, "text/plain");
		body = xstrdup(strbuf_str(&rp.body));
	}
	reply_release(&rp);
	return body;
}

static void test_an_answer_is_given_again_until_store_or_clock_make_it_old(void **state)
{
	static const struct {
		const char *path, *key, *value;
		int64_t state, now_ns;
		bool is_kept;
	} cases[] = {
		{"/a", NULL, NULL, 7, 100 * SECOND, true},
		{"/a", NULL, NULL, 7, 109 * SECOND, true},
		{"/a", NULL, NULL, 7, 110 * SECOND, false},
		{"/a", NULL, NULL, 7, 99 * SECOND, false}, /* the clock was put back */
		{"/a", NULL, NULL, 8, 101 * SECOND, false},
		{"/b", NULL, NULL, 7, 101 * SECOND, false},
		{"/a", "rig", "x", 7, 101 * SECOND, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cache *c = cache_new();
		auto_free char *body = NULL;

		put(c, ask("/a", NULL, NULL), 7, 100 * SECOND, 10 * SECOND, "whole", 5);
		body = get(c, ask(cases[i].path, cases[i].key, cases[i].value), cases[i].state,
			   cases[i].now_ns);
		assert_int_equal(body != NULL, cases[i].is_kept);
		if (body)
			assert_string_equal(body, "whole");
		cache_free(c);
	}
}

static void test_an_answer_that_settles_outlives_changes_of_the_store_for_a_while(void **state)
{
	static const struct {
		int64_t state, now_ns;
		bool is_kept;
	} cases[] = {
		{7, 100 * SECOND, true},      {8, 100 * SECOND, true}, {9, 101 * SECOND - 1, true},
		{8, 101 * SECOND, false},     {7, 101 * SECOND, true}, {7, 110 * SECOND, false},
		{8, 100 * SECOND - 1, false}, /* the clock was put back */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cache *c = cache_new();
		auto_free char *body = NULL;

		put_settled(c, ask("/a", NULL, NULL), 7, 100 * SECOND, SECOND, 10 * SECOND, "whole",
			    5);
		body = get(c, ask("/a", NULL, NULL), cases[i].state, cases[i].now_ns);
		assert_int_equal(body != NULL, cases[i].is_kept);
		cache_free(c);
	}
}

static void test_no_two_questions_are_taken_for_one(void **state)
{
	struct cache *c = cache_new();
	auto_free char *one = NULL;
	auto_free char *other = NULL;

	(void)state;
	put(c, ask("/a", "k", "v\n1 k\nw"), 1, 0, SECOND, "hostile", 7);
	one = get(c, ask("/a", "k", "v"), 1, 0);
	other = get(c, ask("/a", "k\nv", ""), 1, 0);
	assert_null(one);
	assert_null(other);
	cache_free(c);
}

static void test_what_does_not_say_how_long_it_is_right_is_not_kept(void **state)
{
	struct cache *c = cache_new();
	auto_free char *body = NULL;

	(void)state;
	put(c, ask("/a", NULL, NULL), 1, 0, 0, "x", 1);
	body = get(c, ask("/a", NULL, NULL), 1, 0);
	assert_null(body);
	cache_free(c);
}

static void test_the_one_used_longest_ago_makes_room(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	for (size_t i = 0; i <= CACHE_ANSWERS_MAX; i++) {
		auto_free char *path = xasprintf("/%zu", i);
		auto_free char *first = NULL;

		put(c, ask(path, NULL, NULL), 1, 0, SECOND, "x", 1);
		first = get(c, ask("/0", NULL, NULL), 1, 0);
		assert_non_null(first); /* always used again */
	}
	{
		auto_free char *second = get(c, ask("/1", NULL, NULL), 1, 0);
		auto_free char *third = get(c, ask("/2", NULL, NULL), 1, 0);

		assert_null(second);
		assert_non_null(third);
	}
	cache_free(c);
}

static void test_the_bytes_of_all_answers_have_a_limit(void **state)
{
	struct cache *c = cache_new();
	size_t n = CACHE_BYTES_MAX / 2;
	auto_free char *half = xcalloc(n + 1, 1);
	auto_free char *whole = xcalloc(CACHE_BYTES_MAX + 1, 1);

	(void)state;
	memset(half, 'h', n);
	memset(whole, 'w', CACHE_BYTES_MAX + 1);
	put(c, ask("/1", NULL, NULL), 1, 0, SECOND, half, n);
	put(c, ask("/2", NULL, NULL), 1, 0, SECOND, half, n);
	{
		auto_free char *first = get(c, ask("/1", NULL, NULL), 1, 0);

		assert_non_null(first);
	}
	put(c, ask("/3", NULL, NULL), 1, 0, SECOND, "x", 1);
	put(c, ask("/4", NULL, NULL), 1, 0, SECOND, whole, CACHE_BYTES_MAX + 1);
	{
		auto_free char *first = get(c, ask("/1", NULL, NULL), 1, 0);
		auto_free char *second = get(c, ask("/2", NULL, NULL), 1, 0);
		auto_free char *third = get(c, ask("/3", NULL, NULL), 1, 0);
		auto_free char *fourth = get(c, ask("/4", NULL, NULL), 1, 0);

		assert_non_null(first);
		assert_null(second);
		assert_non_null(third);
		assert_null(fourth); /* larger than all may be together */
	}
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_is_given_again_until_store_or_clock_make_it_old),
		cmocka_unit_test(
			test_an_answer_that_settles_outlives_changes_of_the_store_for_a_while),
		cmocka_unit_test(test_no_two_questions_are_taken_for_one),
		cmocka_unit_test(test_what_does_not_say_how_long_it_is_right_is_not_kept),
		cmocka_unit_test(test_the_one_used_longest_ago_makes_room),
		cmocka_unit_test(test_the_bytes_of_all_answers_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
