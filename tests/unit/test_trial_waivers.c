/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_trial_waivers.c - files of waived incidents. */
/* ctest: trial */
#include "trial/waivers.h"
#include "unit.h"

#define GOOD                                                     \
	"waivers:\n"                                             \
	"  - class: warning\n"                                   \
	"    match: 'drivers/usb/core/urb.c:* usb_submit_urb'\n" \
	"    release: 6.1.*\n"                                   \
	"    reason: harmless on this board\n"                   \
	"  - class: rcu-stall\n"                                 \
	"    match: '*'\n"                                       \
	"    reason: the guest is slow\n"

static void test_a_file_becomes_waivers(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/w.yaml", dir);
	auto_waivers struct waivers *w = NULL;
	const struct console_waiver *list;
	struct err e = {0};
	size_t n;

	(void)state;
	unit_write(dir, "w.yaml", GOOD);
	if (waivers_load(path, &w, &e) < 0)
		fail_msg("%s", e.text);
	list = waivers_list(w, &n);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].cls, CONSOLE_WARNING);
	assert_string_equal(list[0].pattern, "drivers/usb/core/urb.c:* usb_submit_urb");
	assert_string_equal(list[0].release, "6.1.*");
	assert_string_equal(list[0].reason, "harmless on this board");
	assert_int_equal(list[1].cls, CONSOLE_RCU_STALL);
	assert_null(list[1].release);
	unit_rmdir(dir);
}

static void test_a_mistake_is_named_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"waivers:\n  - class: warnung\n    match: x\n    reason: y\n",
		 "w.yaml:2:12: waivers[0].class: 'warnung': no class of incidents"},
		{"waivers:\n  - class: usb-disconnect\n    match: x\n    reason: y\n",
		 "'usb-disconnect': condemns no kernel"},
		{"waivers:\n  - class: printk-dropped\n    match: x\n    reason: y\n",
		 "'printk-dropped': condemns no kernel"},
		{"waivers:\n  - class: oops\n    match: x\n", "reason"},
		{"waivers:\n  - class: oops\n    match: x\n    reason: ''\n", "reason"},
		{"waivers:\n  - class: oops\n    match: ''\n    reason: y\n", "match"},
		{"waivers:\n  - class: oops\n    match: x\n    reason: y\n    reasn: z\n", "reasn"},
		{"waiver: []\n", "waiver"},
		{"", "w.yaml"},
	};
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/w.yaml", dir);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct waivers *w = NULL;
		struct err e = {0};

		unit_write(dir, "w.yaml", cases[i].text);
		assert_true(waivers_load(path, &w, &e) < 0);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].says);
		assert_null(w);
	}
	unit_rmdir(dir);
}

static void test_the_list_has_a_limit(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/w.yaml", dir);

	(void)state;
	for (unsigned n = WAIVERS_MAX; n <= WAIVERS_MAX + 1; n++) {
		auto_strbuf struct strbuf text = STRBUF_INIT;
		auto_waivers struct waivers *w = NULL;
		struct err e = {0};

		strbuf_adds(&text, "waivers:\n");
		for (unsigned i = 0; i < n; i++)
			strbuf_adds(&text, "  - {class: bug, match: x, reason: y}\n");
		unit_write(dir, "w.yaml", strbuf_str(&text));
		assert_int_equal(waivers_load(path, &w, &e) == 0, n == WAIVERS_MAX);
	}
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_becomes_waivers),
		cmocka_unit_test(test_a_mistake_is_named_with_its_place),
		cmocka_unit_test(test_the_list_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
