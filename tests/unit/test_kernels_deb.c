/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_deb.c - .deb files whole and cut short, and the registry's descriptions. */
#include "kernels/deb.h"
#include "kernels_unit.h"

static void test_a_whole_package_is_unpacked(void **state)
{
	auto_free char *deb = ku_path("a.deb");
	auto_free char *to = ku_path("unpacked");
	auto_free char *file = ku_path("unpacked/usr/hello");
	auto_free char *version = NULL;
	auto_free char *none = NULL;
	struct err e = {0};

	(void)state;
	ku_puts("pkg/usr/hello", "hello");
	ku_make_deb("pkg", "a.deb", "a", "1:2-3", "all", "");
	assert_int_equal(deb_check(deb, &e), 0);
	assert_int_equal(dir_make(to, &e), 0);
	assert_int_equal(deb_unpack(&ku_ctx, deb, to, &e), 0);
	assert_int_equal(access(file, R_OK), 0);
	assert_int_equal(deb_field(&ku_ctx, deb, "Version", &version, &e), 0);
	assert_string_equal(version, "1:2-3");
	assert_int_equal(deb_field(&ku_ctx, deb, "Nothing", &none, &e), 0);
	assert_string_equal(none, "");
}

static void test_a_package_cut_short_anywhere_is_refused(void **state)
{
	auto_free char *deb = ku_path("a.deb");
	auto_free char *cut = ku_path("cut.deb");
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct err e = {0};

	(void)state;
	assert_int_equal(file_read(deb, 1u << 20, &bytes, &e), 0);
	/* the last byte may be the padding of the last member */
	for (size_t n = 0; n < bytes.len - 1; n++) {
		ku_put("cut.deb", bytes.data, n);
		assert_int_equal(deb_check(cut, &e), -EINVAL);
		ku_expect_error(&e, ERR_CONFIG, cut);
	}
	ku_put("cut.deb", bytes.data, 200);
	assert_int_equal(deb_unpack(&ku_ctx, cut, ku_dir, &e), -EINVAL);
	ku_expect_error(&e, ERR_CONFIG, "bytes expected, got 200");
	assert_int_equal(deb_check("/nowhere.deb", &e), -ENOENT);
}

static void test_a_package_with_a_broken_header_is_refused(void **state)
{
	auto_free char *deb = ku_path("a.deb");
	auto_free char *bad = ku_path("bad.deb");
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct err e = {0};

	(void)state;
	assert_int_equal(file_read(deb, 1u << 20, &bytes, &e), 0);
	bytes.data[8 + 48] = '-';
	ku_put("bad.deb", bytes.data, bytes.len);
	assert_int_equal(deb_check(bad, &e), -EINVAL);
	ku_expect_error(&e, ERR_CONFIG, "broken archive header at byte 8");
	ku_puts("bad.deb", "PK something else");
	assert_int_equal(deb_check(bad, &e), -EINVAL);
	ku_expect_error(&e, ERR_CONFIG, "not a .deb file");
}

struct seen {
	unsigned n;
	char text[512];
};

static void see(void *self, const struct deb_pkg *p)
{
	struct seen *s = self;
	size_t len = strlen(s->text);

	s->n++;
	(void)snprintf(s->text + len, sizeof(s->text) - len, "%s %s %s %llu [%s];", p->name,
		       p->version, p->arch, (unsigned long long)p->size_bytes, p->depends);
}

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_stanzas_need_all_that_a_download_needs(void **state)
{
	static const char text[] =
		"Package: a\nVersion: 1\nArchitecture: all\nSize: 10\nSHA256: " SHA
		"\nDescription: x\n more: y\n\n"
		"Package: installed\nVersion: 2\nArchitecture: all\n\n"
		"Package: odd\nVersion: 2\nArchitecture: all\nSize: x\nSHA256: " SHA "\n\n\n"
		"Package: b\nVersion: 1:2\nArchitecture: amd64\nSize: 7\nDepends: c, "
		"d (>= 1)\nSHA256: " SHA;
	struct seen s = {0};

	(void)state;
	assert_int_equal(deb_each_stanza(text, see, &s), 2);
	assert_string_equal(s.text, "a 1 all 10 [];b 1:2 amd64 7 [c, d (>= 1)];");
	assert_int_equal(deb_each_stanza("", see, &s), 0);
}

static void test_dependencies_are_taken_by_prefix(void **state)
{
	static const char depends[] =
		"linux-headers-6.1.0-57-common (= 6.1.192-3), linux-kbuild-6.1:any (>= 6.1.192-3), "
		"linux-image-a | linux-headers-x, gcc-12";
	static const struct {
		const char *prefix, *names;
	} cases[] = {
		{"linux-headers-", "linux-headers-6.1.0-57-common,"},
		{"linux-kbuild-", "linux-kbuild-6.1,"},
		{"gcc", "gcc-12,"},
		{"libc", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf names = STRBUF_INIT;
		const char *pos = depends;
		char *name;

		while ((name = deb_next_dependency(&pos, cases[i].prefix))) {
			strbuf_addf(&names, "%s,", name);
			free(name);
		}
		assert_string_equal(strbuf_str(&names), cases[i].names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_package_is_unpacked),
		cmocka_unit_test(test_a_package_cut_short_anywhere_is_refused),
		cmocka_unit_test(test_a_package_with_a_broken_header_is_refused),
		cmocka_unit_test(test_stanzas_need_all_that_a_download_needs),
		cmocka_unit_test(test_dependencies_are_taken_by_prefix),
	};

	return cmocka_run_group_tests(tests, ku_set_up, ku_tear_down);
}
