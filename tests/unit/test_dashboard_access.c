/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: dashboard */
/* test_dashboard_access.c - who may read and who may act. */
#include "../../controller/dashboard/access.h"
#include "unit.h"

#define TOKEN "0123456789abcdef"

static void test_only_names_of_the_server_itself_are_its_host(void **state)
{
	static const char *const extra[] = {"lab.example.org", NULL};
	static const struct {
		const char *host;
		bool is_own;
	} cases[] = {
		{"localhost:8087", true},
		{"127.0.0.1:8087", true},
		{"[::1]:8087", true},
		{"LOCALHOST", true},
		{"lab.example.org", true},
		{"10.0.0.7:8087", true},
		{"evil.example.org", false},
		{"", false},
		{NULL, false},
		{"localhost.evil.org", false},
		{"[::1", true},
	};
	struct access a;

	(void)state;
	access_init(&a, NULL, "10.0.0.7", extra);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(access_is_own_host(&a, cases[i].host), cases[i].is_own);
}

static void test_reading_needs_the_token_or_the_cookie_once_a_token_is_set(void **state)
{
	struct access open, a;

	(void)state;
	access_init(&open, NULL, "127.0.0.1", NULL);
	access_init(&a, TOKEN, "10.0.0.7", NULL);
	assert_true(access_may_read(&open, &(struct access_words){0}));
	assert_false(access_may_read(&a, &(struct access_words){0}));
	assert_false(access_may_read(&a, &(struct access_words){.authorization = "Bearer x"}));
	assert_false(access_may_read(&a, &(struct access_words){.authorization = TOKEN}));
	assert_false(access_may_read(&a, &(struct access_words){.cookie = ""}));
	assert_false(access_may_read(&a, &(struct access_words){.cookie = TOKEN}));
	assert_true(access_may_read(&a, &(struct access_words){.authorization = "Bearer " TOKEN}));
	assert_true(access_may_read(&a, &(struct access_words){.cookie = a.cookie}));
}

static void test_acting_needs_a_sign_that_it_was_meant(void **state)
{
	struct access_words form = {.host = "lab:8087", .origin = "http://lab:8087"};
	struct access open, a;

	(void)state;
	access_init(&open, NULL, "127.0.0.1", NULL);
	access_init(&a, TOKEN, "10.0.0.7", NULL);
	/* without a token nobody may act, not even from here */
	assert_false(access_may_act(&open, &form));
	assert_true(access_may_act(&a, &(struct access_words){.authorization = "Bearer " TOKEN}));

	form.cookie = a.cookie;
	assert_false(access_may_act(&a, &form)); /* no form field: another page sent it */
	form.csrf = "wrong";
	assert_false(access_may_act(&a, &form));
	form.csrf = a.csrf;
	assert_true(access_may_act(&a, &form));
	form.origin = "http://evil.example.org";
	assert_false(access_may_act(&a, &form));
	form.origin = NULL;
	assert_false(access_may_act(&a, &form));
}

static void test_cookie_and_form_field_do_not_give_the_token_away(void **state)
{
	struct access a, b;

	(void)state;
	access_init(&a, TOKEN, "10.0.0.7", NULL);
	access_init(&b, TOKEN "x", "10.0.0.7", NULL);
	assert_null(strstr(a.cookie, TOKEN));
	assert_string_not_equal(a.cookie, a.csrf);
	assert_string_not_equal(a.cookie, b.cookie);
	assert_true(access_is_token(&a, TOKEN));
	assert_false(access_is_token(&a, TOKEN "x"));
	assert_false(access_is_token(&a, ""));
	assert_false(access_is_token(&a, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_names_of_the_server_itself_are_its_host),
		cmocka_unit_test(test_reading_needs_the_token_or_the_cookie_once_a_token_is_set),
		cmocka_unit_test(test_acting_needs_a_sign_that_it_was_meant),
		cmocka_unit_test(test_cookie_and_form_field_do_not_give_the_token_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
