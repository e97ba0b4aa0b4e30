/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
/* test_access.c - who may read and who may act. */
#include "base/access.h"
#include "unit.h"

#include <nettle/base64.h>

#include <sys/stat.h>

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

static void test_every_way_to_act_from_elsewhere_is_refused_and_says_why(void **state)
{
	static const char *const hosts[] = {"lab.example.org", NULL};
	struct access a;
	struct {
		const char *what;
		struct access_words words;
		const char *says; /* NULL = allowed */
	} cases[] = {
		{"a form of another site, whose request carries the cookie",
		 {.host = "lab:8087",
		  .origin = "http://evil.example.org",
		  .cookie = "C",
		  .csrf = "F"},
		 "(Origin)"},
		{"a site whose name begins as this one's",
		 {.host = "lab:8087",
		  .origin = "http://lab:8087.evil.org",
		  .cookie = "C",
		  .csrf = "F"},
		 "(Origin)"},
		{"another port of this machine",
		 {.host = "lab:8087", .origin = "http://lab:9000", .cookie = "C", .csrf = "F"},
		 "(Origin)"},
		{"a frame without an origin",
		 {.host = "lab:8087", .origin = "null", .cookie = "C", .csrf = "F"},
		 "(Origin)"},
		{"a browser that was never logged in",
		 {.host = "lab:8087", .origin = "http://lab:8087", .csrf = "F"},
		 "log in"},
		{"a cookie of another token",
		 {.host = "lab:8087", .origin = "http://lab:8087", .cookie = "x", .csrf = "F"},
		 "log in"},
		{"a link, which has no form field",
		 {.host = "lab:8087", .origin = "http://lab:8087", .cookie = "C"},
		 "csrf"},
		{"the cookie's value as form field",
		 {.host = "lab:8087", .origin = "http://lab:8087", .cookie = "C", .csrf = "C"},
		 "csrf"},
		{"a wrong token, with everything else right",
		 {.host = "lab:8087", .origin = "http://lab:8087", .authorization = "Bearer x"},
		 "Authorization"},
		{"the server's own form",
		 {.host = "lab:8087", .origin = "http://lab:8087", .cookie = "C", .csrf = "F"},
		 NULL},
		{"the server's own form behind a proxy that changes the host field",
		 {.host = "localhost",
		  .origin = "https://lab.example.org",
		  .cookie = "C",
		  .csrf = "F"},
		 NULL},
	};

	(void)state;
	access_init(&a, TOKEN, "10.0.0.7", hosts);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct access_words *w = &cases[i].words;

		if (w->cookie && strcmp(w->cookie, "C") == 0)
			w->cookie = a.cookie;
		if (w->csrf)
			w->csrf = strcmp(w->csrf, "C") == 0 ? a.cookie : a.csrf;
		if (access_may_act(&a, w) != (cases[i].says == NULL))
			fail_msg("%s", cases[i].what);
		if (cases[i].says)
			assert_contains(access_refusal(&a, w), cases[i].says);
	}
}

/* base64 of "user:token" */
static char *basic(const char *user, const char *token)
{
	auto_free char *plain = xasprintf("%s:%s", user, token);
	char coded[2048] = "";

	assert_true(BASE64_ENCODE_RAW_LENGTH(strlen(plain)) < sizeof(coded));
	base64_encode_raw(coded, strlen(plain), (const uint8_t *)plain);
	return xasprintf("Basic %s", coded);
}

static void test_a_password_is_a_token_too_but_not_from_a_browser(void **state)
{
	static const char *const wrong[] = {"Basic",           "Basic ",        "Basic !!!!",
					    "Basic YW5u",      "Basic " TOKEN,  "Basic YW5uOg==",
					    "Basic YW5uOmEA=", "Digest " TOKEN, "Basic YW5uOmF="};
	auto_free char *right = basic("ann", TOKEN);
	auto_free char *nameless = basic("", TOKEN);
	auto_free char *other = basic("ann", TOKEN "x");
	auto_free char *swapped = basic(TOKEN, "ann");
	struct access_words w = {.host = "lab:8087", .authorization = right};
	struct access open;
	struct access a;
	char user[4];
	char long_user[1100];

	(void)state;
	access_init(&open, NULL, "127.0.0.1", NULL);
	access_init(&a, TOKEN, "10.0.0.7", NULL);
	assert_true(access_may_read(&a, &w));
	assert_true(access_may_act(&a, &w));
	assert_true(access_user(&a, &w, user, sizeof(user)));
	assert_string_equal(user, "ann");
	assert_true(access_user(&a, &w, user, 3));
	assert_string_equal(user, "an");
	assert_false(access_may_act(&open, &w));
	w.origin = "http://lab:8087";
	assert_false(access_may_act(&a, &w));
	assert_false(access_may_read(&a, &w));
	w.origin = NULL;
	w.fetch_site = "cross-site";
	assert_false(access_may_act(&a, &w));
	w.fetch_site = NULL;
	w.authorization = nameless;
	assert_true(access_may_act(&a, &w));
	w.authorization = other;
	assert_false(access_may_act(&a, &w));
	w.authorization = swapped;
	assert_false(access_may_act(&a, &w));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		w.authorization = wrong[i];
		assert_false(access_may_act(&a, &w));
		assert_false(access_may_read(&a, &w));
	}
	/* up to 1024 characters and not one more */
	for (size_t n = 700; n < sizeof(long_user); n++) {
		auto_free char *shown = NULL;

		memset(long_user, 'u', n);
		long_user[n] = '\0';
		shown = basic(long_user, TOKEN);
		w.authorization = shown;
		assert_int_equal(access_may_act(&a, &w), strlen(shown) - strlen("Basic ") <= 1024);
	}
}

static void test_a_token_that_is_nearly_right_is_wrong(void **state)
{
	struct access a;
	char token[] = TOKEN;

	(void)state;
	access_init(&a, TOKEN, "10.0.0.7", NULL);
	for (size_t i = 0; i < strlen(TOKEN); i++) {
		token[i] ^= 1;
		assert_false(access_is_token(&a, token));
		token[i] ^= 1;
	}
	assert_true(access_is_token(&a, token));
	assert_false(access_is_token(&a, TOKEN TOKEN));
	token[strlen(TOKEN) - 1] = '\0';
	assert_false(access_is_token(&a, token));
}

static void test_a_token_file_must_be_its_owners_alone_and_hold_a_token(void **state)
{
	static const struct {
		const char *text;
		mode_t mode;
		int code;
		const char *says;
	} cases[] = {
		{TOKEN "\n", 0600, 0, NULL},
		{TOKEN "\r\nsecond line\n", 0400, 0, NULL},
		{TOKEN "\n", 0640, -EACCES, "chmod 600"},
		{TOKEN "\n", 0604, -EACCES, "chmod 600"},
		{"short\n", 0600, -EINVAL, "has 5 characters"},
		{"", 0600, -EINVAL, "has 0 characters"},
		{"0123456789 abcdef\n", 0600, -EINVAL, "at 11"},
	};
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/token", dir);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *token = NULL;
		struct err e = {0};

		assert_int_equal(file_write_atomic(path, cases[i].text, strlen(cases[i].text), &e),
				 0);
		assert_int_equal(chmod(path, cases[i].mode), 0);
		assert_int_equal(access_read_token(path, &token, &e), cases[i].code);
		if (cases[i].says) {
			assert_int_equal(e.kind, ERR_USAGE);
			assert_contains(e.text, path);
			assert_contains(e.text, cases[i].says);
		} else {
			assert_string_equal(token, TOKEN);
		}
	}
	unit_rmdir(dir);
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
		cmocka_unit_test(test_every_way_to_act_from_elsewhere_is_refused_and_says_why),
		cmocka_unit_test(test_a_password_is_a_token_too_but_not_from_a_browser),
		cmocka_unit_test(test_a_token_that_is_nearly_right_is_wrong),
		cmocka_unit_test(test_a_token_file_must_be_its_owners_alone_and_hold_a_token),
		cmocka_unit_test(test_cookie_and_form_field_do_not_give_the_token_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
