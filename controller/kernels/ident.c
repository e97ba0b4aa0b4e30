/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ident.c - what a kernel image and its .config say about themselves. */
#include "kernels/ident.h"

#include "base/parse.h"

#include <string.h>

static uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t get_le16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/* Offsets of the x86 setup header. */
#define X86_SETUP_SECTS    0x1f1
#define X86_BOOT_FLAG      0x1fe
#define X86_MAGIC          0x202
#define X86_PROTOCOL       0x206
#define X86_KERNEL_VERSION 0x20e
#define X86_PAYLOAD_OFFSET 0x248
#define X86_PAYLOAD_LENGTH 0x24c
#define X86_HEADER_END     0x250

#define ARM64_MAGIC      0x38
#define ARM64_HEADER_END 0x40

/* Offsets of struct linux_efi_zboot_header. */
#define ZBOOT_MAGIC       4
#define ZBOOT_OFFSET      8
#define ZBOOT_SIZE        12
#define ZBOOT_COMPRESSION 24
#define ZBOOT_HEADER_END  56

enum image_format image_format(const uint8_t *bytes, size_t n)
{
	if (n >= X86_HEADER_END && memcmp(bytes + X86_MAGIC, "HdrS", 4) == 0 &&
	    get_le16(bytes + X86_BOOT_FLAG) == 0xaa55)
		return IMAGE_BZIMAGE;
	if (n >= ZBOOT_HEADER_END && memcmp(bytes, "MZ", 2) == 0 &&
	    memcmp(bytes + ZBOOT_MAGIC, "zimg", 4) == 0)
		return IMAGE_ZBOOT;
	if (n >= ARM64_HEADER_END && memcmp(bytes + ARM64_MAGIC, "ARM\x64", 4) == 0)
		return IMAGE_ARM64;
	if (n >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0)
		return IMAGE_GZIP;
	return IMAGE_UNKNOWN;
}

#define BANNER_MAX 512

/* The text at s, at most max bytes up to a NUL or line end. */
static char *text_at(const uint8_t *s, size_t max)
{
	size_t len = 0;

	while (len < max && len < BANNER_MAX && s[len] != '\0' && s[len] != '\n')
		len++;
	return xasprintf("%.*s", (int)len, (const char *)s);
}

/* "RELEASE (who@where) ... #1 SMP ..." -> its two ends */
static int split_banner(const char *text, char **ret_release, char **ret_version, struct err *e)
{
	const char *space = strchr(text, ' ');
	const char *version = strstr(text, " #");

	if (!space || space == text || !version || version[2] < '0' || version[2] > '9')
		return err_set(e, ERR_KERNEL, EINVAL, "cannot tell the release from '%.80s'", text);
	*ret_release = xasprintf("%.*s", (int)(space - text), text);
	*ret_version = xstrdup(version + 1);
	return 0;
}

static int no_banner(struct err *e)
{
	return err_set(e, ERR_KERNEL, EINVAL, "no kernel version found inside");
}

int image_banner(const uint8_t *bytes, size_t n, char **ret_release, char **ret_version,
		 struct err *e)
{
	static const char mark[] = "Linux version ";
	const uint8_t *p = bytes;
	auto_free char *text = NULL;
	size_t at;

	if (image_format(bytes, n) == IMAGE_BZIMAGE) {
		/* the pointer does not count the first sector */
		at = get_le16(bytes + X86_KERNEL_VERSION) + 0x200u;
		if (at == 0x200 || at >= n)
			return no_banner(e);
		text = text_at(bytes + at, n - at);
		return split_banner(text, ret_release, ret_version, e);
	}
	/*
	 * The same words also stand in format strings ("%s") and, since 6.1, in a placeholder that
	 * lacks the number of the build ("# SMP").
	 */
	while ((p = memmem(p, n - (size_t)(p - bytes), mark, sizeof(mark) - 1))) {
		struct err why = {0};

		p += sizeof(mark) - 1;
		at = (size_t)(p - bytes);
		free(take(text));
		text = text_at(p, n - at);
		if (*text >= '0' && *text <= '9' &&
		    split_banner(text, ret_release, ret_version, &why) >= 0)
			return 0;
	}
	return no_banner(e);
}

struct magic {
	const char *bytes;
	size_t n;
	const char *program;
	const char *suffix;
};

static const struct magic magics[] = {
	{"\x1f\x8b\x08", 3, "gzip", ".gz"},
	{"\xfd"
	 "7zXZ\0",
	 6, "xz", ".xz"},
	{"\x28\xb5\x2f\xfd", 4, "zstd", ".zst"},
	{"\x02\x21\x4c\x18", 4, "lz4", ".lz4"},
	{"\x5d\0\0", 3, "lzma", ".lzma"},
	{"BZh", 3, "bzip2", ".bz2"},
};

int image_payload(const uint8_t *bytes, size_t n, struct image_payload *ret, struct err *e)
{
	struct image_payload p = {0};

	switch (image_format(bytes, n)) {
	case IMAGE_BZIMAGE: {
		size_t sectors = bytes[X86_SETUP_SECTS] ? bytes[X86_SETUP_SECTS] : 4;

		/* the fields came with boot protocol 2.08 */
		if (get_le16(bytes + X86_PROTOCOL) < 0x208)
			return err_set(e, ERR_KERNEL, EINVAL, "boot protocol older than 2.08");
		p.offset = (sectors + 1) * 512 + get_le32(bytes + X86_PAYLOAD_OFFSET);
		p.len = get_le32(bytes + X86_PAYLOAD_LENGTH);
		break;
	}
	case IMAGE_ZBOOT:
		p.offset = get_le32(bytes + ZBOOT_OFFSET);
		p.len = get_le32(bytes + ZBOOT_SIZE);
		break;
	case IMAGE_UNKNOWN:
	case IMAGE_ARM64:
	case IMAGE_GZIP:
		return err_set(e, ERR_KERNEL, EINVAL, "not a self-extracting kernel image");
	}
	if (p.offset > n || p.len > n - p.offset || p.len < 16)
		return err_set(e, ERR_KERNEL, EINVAL,
			       "cut short: its payload is %zu bytes at %zu, the file has %zu",
			       p.len, p.offset, n);
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		if (memcmp(bytes + p.offset, magics[i].bytes, magics[i].n) != 0)
			continue;
		p.program = magics[i].program;
		p.suffix = magics[i].suffix;
		/* but for gzip, the build appends the unpacked size in 4 bytes */
		if (i != 0)
			p.len -= 4;
		*ret = p;
		return 0;
	}
	return err_set(e, ERR_KERNEL, EINVAL, "unknown compression of its payload");
}

char *config_value(const char *config, const char *name)
{
	auto_free char *key = xasprintf("CONFIG_%s=", name);
	size_t len = strlen(key);

	for (const char *line = config; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, len) == 0)
			return xasprintf("%.*s", (int)strcspn(line + len, "\n"), line + len);
	}
	return NULL;
}

static bool config_is_set(const char *config, const char *name)
{
	auto_free char *v = config_value(config, name);

	return v && strcmp(v, "y") == 0;
}

const char *config_preempt(const char *config)
{
	/*
	 * In order: kernels 5.12 to 5.17 with PREEMPT_DYNAMIC had PREEMPT=y beside the _BEHAVIOUR
	 * that they boot with.
	 */
	static const struct {
		const char *name, *says;
	} models[] = {
		{"PREEMPT_RT", "rt"},
		{"PREEMPT_VOLUNTARY_BEHAVIOUR", "voluntary"},
		{"PREEMPT_NONE_BEHAVIOUR", "none"},
		{"PREEMPT", "full"},
		{"PREEMPT_LAZY", "lazy"},
		{"PREEMPT_VOLUNTARY", "voluntary"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (config_is_set(config, models[i].name))
			return models[i].says;
	return "none";
}

int config_hz(const char *config)
{
	auto_free char *v = config_value(config, "HZ");
	struct err ignored = {0};
	uint32_t hz;

	if (!v || parse_u32("CONFIG_HZ", v, 1, 100000, &hz, &ignored) < 0)
		return 0;
	return (int)hz;
}
