/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_ident.c - what images and configs say about themselves. */
#include "kernels/ident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define IMAGE_SIZE 4096

/* A bzImage header with its version text at 0x400 and a payload of 64 bytes at (1 + 1) * 512 + 512
 */
static void make_bzimage(uint8_t *b, const char *version, const char *magic, size_t magic_len)
{
	memset(b, 0, IMAGE_SIZE);
	b[0x1f1] = 1;
	b[0x1fe] = 0x55;
	b[0x1ff] = 0xaa;
	memcpy(b + 0x202, "HdrS", 4);
	b[0x206] = 0x0f;
	b[0x207] = 0x02;
	b[0x20f] = 0x02; /* 0x200 + 0x200 */
	b[0x249] = 0x02; /* payload at 512 */
	b[0x24c] = 64;
	memcpy(b + 0x400, version, strlen(version) + 1);
	memcpy(b + 1536, magic, magic_len);
}

static void make_arm64(uint8_t *b, const char *text)
{
	memset(b, 0, IMAGE_SIZE);
	memcpy(b + 0x38, "ARM\x64", 4);
	memcpy(b + 512, text, strlen(text) + 1);
}

static void test_the_version_of_a_bzimage_is_read_from_its_header(void **state)
{
	uint8_t b[IMAGE_SIZE];
	auto_free char *release = NULL;
	auto_free char *version = NULL;
	struct err e = {0};

	(void)state;
	make_bzimage(b,
		     "6.1.0-57-amd64 (a@b.c) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)",
		     "BZh", 3);
	assert_int_equal(image_format(b, sizeof(b)), IMAGE_BZIMAGE);
	assert_int_equal(image_banner(b, sizeof(b), &release, &version, &e), 0);
	assert_string_equal(release, "6.1.0-57-amd64");
	assert_string_equal(version, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)");
}

static void test_the_version_of_an_arm64_image_skips_formats_and_the_placeholder(void **state)
{
	uint8_t b[IMAGE_SIZE];
	auto_free char *release = NULL;
	auto_free char *version = NULL;
	struct err e = {0};

	(void)state;
	make_arm64(b, "Linux version %s (%s) #1 %s");
	strcpy((char *)b + 1024, "Linux version 6.1.0-57-arm64 (a@b) (gcc-12) # SMP Debian 6.1");
	strcpy((char *)b + 2048, "Linux version 6.1.0-57-arm64 (a@b) (gcc-12) #1 SMP Debian 6.1\n");
	assert_int_equal(image_format(b, sizeof(b)), IMAGE_ARM64);
	assert_int_equal(image_banner(b, sizeof(b), &release, &version, &e), 0);
	assert_string_equal(release, "6.1.0-57-arm64");
	assert_string_equal(version, "#1 SMP Debian 6.1");
}

static void test_an_image_without_a_version_is_refused(void **state)
{
	uint8_t b[IMAGE_SIZE];
	char *release = NULL;
	char *version = NULL;
	struct err e = {0};

	(void)state;
	make_arm64(b, "Linux version %s");
	assert_int_equal(image_banner(b, sizeof(b), &release, &version, &e), -EINVAL);
	assert_int_equal(e.kind, ERR_KERNEL);
	/* the mark at the very end of the file */
	make_arm64(b, "");
	memcpy(b + sizeof(b) - 14, "Linux version ", 14);
	assert_int_equal(image_banner(b, sizeof(b), &release, &version, &e), -EINVAL);
	make_bzimage(b, "no number", "BZh", 3);
	assert_int_equal(image_banner(b, sizeof(b), &release, &version, &e), -EINVAL);
	/* a version pointer beyond the end of the file */
	b[0x20e] = 0xff;
	b[0x20f] = 0xff;
	assert_int_equal(image_banner(b, sizeof(b), &release, &version, &e), -EINVAL);
	assert_null(release);
	assert_null(version);
}

static void test_formats_are_told_apart_and_short_files_are_unknown(void **state)
{
	uint8_t b[IMAGE_SIZE] = {0};

	(void)state;
	assert_int_equal(image_format(b, sizeof(b)), IMAGE_UNKNOWN);
	assert_int_equal(image_format(b, 0), IMAGE_UNKNOWN);
	memcpy(b, "\x1f\x8b\x08", 3);
	assert_int_equal(image_format(b, sizeof(b)), IMAGE_GZIP);
	memcpy(b, "MZ\0\0zimg", 8);
	assert_int_equal(image_format(b, sizeof(b)), IMAGE_ZBOOT);
	assert_int_equal(image_format(b, 55), IMAGE_UNKNOWN);
	make_bzimage(b, "", "BZh", 3);
	assert_int_equal(image_format(b, 0x24f), IMAGE_UNKNOWN);
}

static void test_the_payload_names_its_program(void **state)
{
	static const struct {
		const char *magic;
		size_t n;
		const char *program;
		size_t len;
	} cases[] = {
		{"\x1f\x8b\x08", 3, "gzip", 64},     {"\xfd\x37\x7a\x58\x5a\0", 6, "xz", 60},
		{"\x28\xb5\x2f\xfd", 4, "zstd", 60}, {"\x02\x21\x4c\x18", 4, "lz4", 60},
		{"\x5d\0\0", 3, "lzma", 60},         {"BZh", 3, "bzip2", 60},
	};
	uint8_t b[IMAGE_SIZE];
	struct image_payload p;
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_bzimage(b, "6.1 #1", cases[i].magic, cases[i].n);
		assert_int_equal(image_payload(b, sizeof(b), &p, &e), 0);
		assert_string_equal(p.program, cases[i].program);
		assert_int_equal(p.offset, 1536);
		assert_int_equal(p.len, cases[i].len);
	}
	make_bzimage(b, "6.1 #1", "what", 4);
	assert_int_equal(image_payload(b, sizeof(b), &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "unknown compression"));
}

static void test_a_payload_beyond_the_end_is_cut_short(void **state)
{
	uint8_t b[IMAGE_SIZE];
	struct image_payload p;
	struct err e = {0};

	(void)state;
	make_bzimage(b, "6.1 #1", "BZh", 3);
	assert_int_equal(image_payload(b, 1536 + 64, &p, &e), 0);
	assert_int_equal(image_payload(b, 1536 + 63, &p, &e), -EINVAL);
	assert_string_equal(e.text,
			    "cut short: its payload is 64 bytes at 1536, the file has 1599");
	memset(b + 0x248, 0xff, 8);
	assert_int_equal(image_payload(b, sizeof(b), &p, &e), -EINVAL);
}

static void test_config_values_are_found_as_whole_words(void **state)
{
	static const char config[] = "CONFIG_HZ_250=y\n# CONFIG_HZ_1000 is not set\nCONFIG_HZ=250\n"
				     "CONFIG_USB_STORAGE=m";
	auto_free char *hz = config_value(config, "HZ");
	auto_free char *last = config_value(config, "USB_STORAGE");

	(void)state;
	assert_string_equal(hz, "250");
	assert_string_equal(last, "m");
	assert_null(config_value(config, "HZ_1000"));
	assert_null(config_value(config, "USB"));
	assert_null(config_value("", "HZ"));
	assert_int_equal(config_hz(config), 250);
	assert_int_equal(config_hz("CONFIG_HZ=0\n"), 0);
	assert_int_equal(config_hz("CONFIG_HZ=abc\n"), 0);
	assert_int_equal(config_hz("X=1\n"), 0);
}

static void test_the_default_preemption_is_what_the_kernel_boots_with(void **state)
{
	static const struct {
		const char *config, *says;
	} cases[] = {
		{"CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
		 "voluntary"},
		{"CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n", "full"},
		{"CONFIG_PREEMPT=y\nCONFIG_PREEMPT_VOLUNTARY_BEHAVIOUR=y\n", "voluntary"},
		{"CONFIG_PREEMPT=y\nCONFIG_PREEMPT_NONE_BEHAVIOUR=y\n", "none"},
		{"CONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT=y\n", "rt"},
		{"CONFIG_PREEMPT_LAZY=y\n", "lazy"},
		{"CONFIG_PREEMPT_NONE=y\n", "none"},
		{"# CONFIG_PREEMPT is not set\n", "none"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(config_preempt(cases[i].config), cases[i].says);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_version_of_a_bzimage_is_read_from_its_header),
		cmocka_unit_test(
			test_the_version_of_an_arm64_image_skips_formats_and_the_placeholder),
		cmocka_unit_test(test_an_image_without_a_version_is_refused),
		cmocka_unit_test(test_formats_are_told_apart_and_short_files_are_unknown),
		cmocka_unit_test(test_the_payload_names_its_program),
		cmocka_unit_test(test_a_payload_beyond_the_end_is_cut_short),
		cmocka_unit_test(test_config_values_are_found_as_whole_words),
		cmocka_unit_test(test_the_default_preemption_is_what_the_kernel_boots_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
