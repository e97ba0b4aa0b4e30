/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_strip.c - real object files lose their debug information and nothing else. */
#include "kernels/strip.h"
#include "kernels_unit.h"

#define SOURCE \
	"struct s {int a; long b;} s1; int a_function(struct s *s) {return s->a + (int)s->b;}\n"
#define MAX (1u << 20)

/* Compiles the source as a module is: an object file that is to be linked. */
static void compile(const char *compiler, const char *option, struct strbuf *ret)
{
	const char *const argv[] = {compiler, option, "-c", "-o", "a.o", "a.c", NULL};
	auto_free char *path = ku_path("a.o");
	struct err e = {0};

	ku_puts("a.c", SOURCE);
	free(ku_run(argv));
	strbuf_reset(ret);
	assert_int_equal(file_read(path, MAX, ret, &e), 0);
}

static void strip_it(const char *arch, struct strbuf *file)
{
	struct err e = {0};

	assert_int_equal(strip_debug(&ku_ctx, arch, "a.o", file, &e), 0);
}

static bool has(const struct strbuf *file, const char *text)
{
	return memmem(file->data, file->len, text, strlen(text)) != NULL;
}

static void expect_stripped(const char *compiler, const char *arch)
{
	auto_strbuf struct strbuf file = STRBUF_INIT;
	size_t before;

	compile(compiler, "-g", &file);
	before = file.len;
	assert_true(has(&file, ".debug_info"));
	strip_it(arch, &file);
	assert_true(file.len < before);
	assert_false(has(&file, ".debug_"));
	assert_true(has(&file, "a_function"));
	print_message("%s: %zu bytes, stripped %zu\n", arch, before, file.len);
}

static void test_debug_information_goes_and_symbols_stay(void **state)
{
	static const char foreign[] = "aarch64-linux-gnu-gcc";
	auto_free char *cross = kernels_find_program(foreign);
	const char *host = kernels_host_arch();

	(void)state;
	expect_stripped("cc", host);
	if (cross && strcmp(host, "arm64") != 0)
		expect_stripped(foreign, "arm64");
}

static void expect_unchanged(const struct strbuf *file)
{
	auto_strbuf struct strbuf copy = STRBUF_INIT;

	strbuf_add(&copy, file->data, file->len);
	strip_it(kernels_host_arch(), &copy);
	assert_int_equal(copy.len, file->len);
	assert_memory_equal(copy.data, file->data, file->len);
}

static void test_what_is_signed_or_has_none_stays_as_it_is(void **state)
{
	auto_strbuf struct strbuf file = STRBUF_INIT;

	(void)state;
	compile("cc", "-g0", &file);
	expect_unchanged(&file);
	compile("cc", "-g", &file);
	strbuf_adds(&file, "signature~Module signature appended~\n");
	expect_unchanged(&file);
	strbuf_reset(&file);
	strbuf_adds(&file, "no module at all: .debug_info");
	expect_unchanged(&file);
	strbuf_reset(&file);
	strbuf_adds(&file, "~");
	expect_unchanged(&file);
}

static void test_a_file_that_is_cut_short_is_left_to_others(void **state)
{
	auto_strbuf struct strbuf whole = STRBUF_INIT;

	(void)state;
	compile("cc", "-g", &whole);
	/* the section headers stand at the end: with any of them missing it is no file for strip */
	for (size_t n = 1; n < whole.len; n += n < 128 ? 1 : 61) {
		auto_strbuf struct strbuf file = STRBUF_INIT;

		strbuf_add(&file, whole.data, n);
		strip_it(kernels_host_arch(), &file);
		assert_int_equal(file.len, n);
	}
}

static void test_without_strip_it_stays_as_it_is(void **state)
{
	auto_free char *path = xstrdup(getenv("PATH"));
	auto_strbuf struct strbuf file = STRBUF_INIT;

	(void)state;
	compile("cc", "-g", &file);
	setenv("PATH", "/nowhere", 1);
	expect_unchanged(&file);
	setenv("PATH", path, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debug_information_goes_and_symbols_stay),
		cmocka_unit_test(test_what_is_signed_or_has_none_stays_as_it_is),
		cmocka_unit_test(test_a_file_that_is_cut_short_is_left_to_others),
		cmocka_unit_test(test_without_strip_it_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, ku_set_up, ku_tear_down);
}
