/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_waiver.c - which incidents a list covers. */
#include "console/waiver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *pattern;
	const char *text;
	bool is_match;
} globs[] = {
	{"", "", true},       {"", "a", false},       {"*", "", true},           {"*", "abc", true},
	{"a*c", "abc", true}, {"a*c", "abcd", false}, {"a*c", "ac", true},       {"?", "", false},
	{"a?c", "abc", true}, {"*b*", "abc", true},   {"*abab", "ababab", true}, {"a", "A", false},
	{"a**b", "ab", true}, {"[a]", "a", false},    {"\\*", "\\x", true},
};

static void test_globs_match_whole_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(globs); i++) {
		if (console_waiver_glob(globs[i].pattern, globs[i].text) != globs[i].is_match)
			fail_msg("'%s' on '%s'", globs[i].pattern, globs[i].text);
	}
}

static void test_a_nasty_glob_ends_soon(void **state)
{
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_false(console_waiver_glob("*a*a*a*a*a*a*a*a*b", text));
}

static const struct console_waiver list[] = {
	{CONSOLE_WARNING, "drivers/usb/core/urb.c:* usb_submit_urb", NULL, "known on this stick"},
	{CONSOLE_WARNING, "*tainted*", "6.1.*", "only there"},
};

static struct console_incident incident(enum console_class cls, const char *title, const char *text)
{
	struct console_incident in = {.cls = cls};

	(void)snprintf(in.title, sizeof(in.title), "%s", title);
	(void)snprintf(in.text, sizeof(in.text), "%s", text);
	return in;
}

static void test_a_waiver_covers_its_class_by_title_or_text(void **state)
{
	struct console_incident a =
		incident(CONSOLE_WARNING, "drivers/usb/core/urb.c:5 usb_submit_urb", "WARNING: …");
	struct console_incident b = incident(CONSOLE_BUG, a.title, a.text);
	struct console_incident c = incident(CONSOLE_WARNING, "x", "WARNING: not tainted by");

	(void)state;
	assert_ptr_equal(console_waiver_find(list, 2, &a, NULL), &list[0]);
	assert_null(console_waiver_find(list, 2, &b, NULL));
	assert_ptr_equal(console_waiver_find(list, 2, &c, "6.1.170"), &list[1]);
	assert_null(console_waiver_find(list, 2, &c, "6.12.1"));
	assert_null(console_waiver_find(list, 2, &c, NULL));
	assert_null(console_waiver_find(NULL, 0, &a, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_globs_match_whole_texts),
		cmocka_unit_test(test_a_nasty_glob_ends_soon),
		cmocka_unit_test(test_a_waiver_covers_its_class_by_title_or_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
