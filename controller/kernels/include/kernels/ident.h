/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ident.h - what a kernel image and its .config say about themselves. Pure: bytes in, facts out. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

enum image_format {
	IMAGE_UNKNOWN,
	IMAGE_BZIMAGE, /* x86 boot protocol, Documentation/arch/x86/boot.rst of the kernel */
	IMAGE_ARM64,   /* Documentation/arch/arm64/booting.rst */
	IMAGE_GZIP,    /* an arm64 Image.gz, most likely */
	IMAGE_ZBOOT,   /* EFI zboot: a compressed Image inside a PE file */
};

enum image_format image_format(const uint8_t *bytes, size_t n);

/*
 * "6.1.0-57-amd64" and "#1 SMP PREEMPT_DYNAMIC ..." of a bzImage or an arm64 Image. -EINVAL if
 * they are not there (nothing is written). Caller frees both.
 */
int image_banner(const uint8_t *bytes, size_t n, char **ret_release, char **ret_version,
		 struct err *e) must_check;

/*
 * Where the compressed kernel lies in a bzImage or a zboot image, and with which program's format
 * it is compressed: "gzip", "xz", "zstd", "lz4", "lzma", "bzip2". -EINVAL if it cannot be told.
 */
struct image_payload {
	size_t offset, len;
	const char *program;
	const char *suffix; /* ".xz": what the program wants its file to end with */
};
int image_payload(const uint8_t *bytes, size_t n, struct image_payload *ret,
		  struct err *e) must_check;

/* CONFIG_<name>'s value in a .config ("y", "m", "250"), or NULL. Caller frees. */
char *config_value(const char *config, const char *name);
/* "rt", "full", "lazy", "voluntary" or "none". */
const char *config_preempt(const char *config);
/* 0 if the config has no CONFIG_HZ. */
int config_hz(const char *config);
