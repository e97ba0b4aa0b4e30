/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
#include "base/err.h"
#include "unit.h"

static void test_error_keeps_kind_code_and_text(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_set(&e, ERR_RIG, ENODEV, "stick %d", 3), -ENODEV);
	assert_int_equal(e.kind, ERR_RIG);
	assert_int_equal(e.code, ENODEV);
	assert_string_equal(e.text, "stick 3");
}

static void test_wrap_puts_context_in_front_and_keeps_the_kind(void **state)
{
	struct err e = {0};

	(void)state;
	(void)err_errno(&e, ERR_CONFIG, ENOENT, "file '%s'", "a.yaml");
	assert_int_equal(err_wrap(&e, "rig '%s'", "r1"), -ENOENT);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_string_equal(e.text, "rig 'r1': file 'a.yaml': No such file or directory");
}

static void test_texts_at_the_limit_are_cut_and_stay_terminated(void **state)
{
	char big[2 * ERR_TEXT_MAX];
	struct err e = {0};

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	(void)err_set(&e, ERR_RIG, EIO, "%s", big);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	(void)err_wrap(&e, "%s", big);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	(void)err_errno(&e, ERR_RIG, EIO, "%s", big);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
}

static void test_null_error_is_allowed_everywhere(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_RIG, EIO, "x"), -EIO);
	assert_int_equal(err_errno(NULL, ERR_RIG, EIO, "x"), -EIO);
	assert_true(err_wrap(NULL, "x") < 0);
	assert_true(err_rekind(NULL, ERR_RIG) < 0);
	err_clear(NULL);
}

static void test_every_kind_has_a_name(void **state)
{
	(void)state;
	for (int k = 0; k < ERR_KIND_MAX; k++)
		assert_string_not_equal(err_kind_name((enum err_kind)k), "unknown");
	assert_string_equal(err_kind_name(ERR_KIND_MAX), "unknown");
}

static void test_a_reason_stays_until_the_next_error(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_set(&e, ERR_RIG, ELOOP, "again"), -ELOOP);
	assert_null(e.reason);
	assert_int_equal(err_reason(&e, "loader-loop"), -ELOOP);
	assert_int_equal(err_wrap(&e, "boot"), -ELOOP);
	assert_int_equal(err_rekind(&e, ERR_KERNEL), -ELOOP);
	assert_string_equal(e.reason, "loader-loop");
	(void)err_errno(&e, ERR_RIG, EIO, "other");
	assert_null(e.reason);
	(void)err_reason(&e, "x");
	err_clear(&e);
	assert_null(e.reason);
	assert_int_equal(err_reason(NULL, "x"), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_keeps_kind_code_and_text),
		cmocka_unit_test(test_wrap_puts_context_in_front_and_keeps_the_kind),
		cmocka_unit_test(test_texts_at_the_limit_are_cut_and_stay_terminated),
		cmocka_unit_test(test_null_error_is_allowed_everywhere),
		cmocka_unit_test(test_every_kind_has_a_name),
		cmocka_unit_test(test_a_reason_stays_until_the_next_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
