/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_deb_version.c - order of Debian versions, and which package is which kernel. */
#include "base/child.h"
#include "kernels/deb_version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const ascending[] = {
	"0~~",
	"0~",
	"0",
	"0.1",
	"1.0~rc1",
	"1.0",
	"1.0-1",
	"1.0-1+b1",
	"1.0-2",
	"1.0-10",
	"1.0a",
	"1.0+deb12",
	"6.1.0-57-amd64",
	"6.1.170-3",
	"6.1.192-3",
	"6.1.1920-1",
	"6.12.9-1",
	"6.12.117-1~bpo12+1",
	"6.12.117-1~deb12u1",
	"6.12.117-1",
	"1:0",
	"2:0~",
};

static void test_versions_sort_as_deb_version_7_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ascending); i++)
		for (size_t j = 0; j < ARRAY_SIZE(ascending); j++) {
			int d = deb_version_cmp(ascending[i], ascending[j]);

			if ((i < j && d >= 0) || (i == j && d != 0) || (i > j && d <= 0))
				fail_msg("'%s' against '%s' gives %d", ascending[i], ascending[j],
					 d);
		}
}

static void test_leading_zeros_do_not_count(void **state)
{
	(void)state;
	assert_int_equal(deb_version_cmp("1.02", "1.2"), 0);
	assert_int_equal(deb_version_cmp("0:1", "1"), 0);
	assert_int_equal(deb_version_cmp("1-0", "1"), 0);
}

static void test_the_order_is_the_one_of_dpkg(void **state)
{
	auto_waiter struct waiter *w = waiter_new(NULL);

	(void)state;

	for (size_t i = 1; i < ARRAY_SIZE(ascending); i++) {
		const char *const argv[] = {"dpkg", "--compare-versions", ascending[i - 1],
					    "lt",   ascending[i],         NULL};
		const struct child_cfg cfg = {
			.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
		struct err e = {0};

		if (child_run(w, &cfg, 10 * NSEC_PER_SEC, NULL, &e) < 0)
			fail_msg("'%s' lt '%s': %s", ascending[i - 1], ascending[i], e.text);
	}
}

static void test_a_series_matches_its_stock_kernels_only(void **state)
{
	static const struct {
		const char *package, *spec, *arch;
		bool matches;
	} cases[] = {
		{"linux-image-6.1.0-57-amd64", "6.1", "amd64", true},
		{"linux-image-6.1.0-0.deb11.5-amd64", "6.1", "amd64", true},
		{"linux-image-6.12.117+deb12-amd64", "6.12", "amd64", true},
		{"linux-image-6.12.117+deb12-arm64", "6.12", "arm64", true},
		{"linux-image-6.12.117+deb12-amd64", "6.1", "amd64", false},
		{"linux-image-6.12.117+deb12-arm64", "6.12", "amd64", false},
		{"linux-image-6.12.117+deb12-arm64-16k", "6.12", "arm64", false},
		{"linux-image-6.1.0-57-rt-amd64", "6.1", "amd64", false},
		{"linux-image-6.1.0-57-cloud-amd64", "6.1", "amd64", false},
		{"linux-image-6.1.0-57-amd64-dbg", "6.1", "amd64", false},
		{"linux-image-6.1.0-57-amd64-unsigned", "6.1", "amd64", false},
		{"linux-image-6.12-amd64", "6.12", "amd64", false},
		{"linux-image-6.12-amd64", "6.12-amd64", "amd64", false},
		{"linux-image-amd64", "6.12", "amd64", false},
		{"linux-headers-6.1.0-57-amd64", "6.1", "amd64", false},
		{"linux-image-6.1.0-57-amd64", "6.1.0-57-amd64", "amd64", true},
		{"linux-image-6.1.0-57-amd64", "6.1.0-57", "amd64", true},
		{"linux-image-6.1.0-57-amd64", "6.1.0-5", "amd64", false},
		{"linux-image-6.1.0-57-rt-amd64", "6.1.0-57-rt-amd64", "amd64", false},
		{"linux-image-", "6.1", "amd64", false},
		{"", "6.1", "amd64", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (deb_kernel_matches(cases[i].package, cases[i].spec, cases[i].arch) !=
		    cases[i].matches)
			fail_msg("'%s' for '%s' %s should %smatch", cases[i].package, cases[i].spec,
				 cases[i].arch, cases[i].matches ? "" : "not ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_sort_as_deb_version_7_says),
		cmocka_unit_test(test_leading_zeros_do_not_count),
		cmocka_unit_test(test_the_order_is_the_one_of_dpkg),
		cmocka_unit_test(test_a_series_matches_its_stock_kernels_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
