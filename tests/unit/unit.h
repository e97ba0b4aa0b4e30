/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unit.h - what cmocka needs before it, and small helpers of the unit tests. */
#pragma once

#include "base/fdio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define assert_contains(text, part)                                             \
	do {                                                                    \
		if (!strstr((text), (part)))                                    \
			fail_msg("'%s' does not contain '%s'", (text), (part)); \
	} while (0)

/* First in a main() whose tests mount, write the kernel log or the like: ctest shows it as skipped.
 */
#define UNIT_NEEDS_ROOT()                                                          \
	do {                                                                       \
		if (geteuid() != 0) {                                              \
			(void)fprintf(stderr, "skipped: these tests need root\n"); \
			return 77;                                                 \
		}                                                                  \
	} while (0)

/* A fresh folder; the caller removes it with unit_rmdir(). */
static inline char *unit_tmpdir(void)
{
	char *dir = xstrdup("/tmp/stallrig-test-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static inline void unit_rmdir(char *dir)
{
	struct err e = {0};

	assert_int_equal(dir_remove(dir, &e), 0);
	free(dir);
}

static inline void unit_write(const char *dir, const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	struct err e = {0};

	assert_int_equal(file_write_atomic(path, text, strlen(text), &e), 0);
}
