/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.h - strict numbers and words out of text. No locale, no leading or trailing junk. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * Decimal only. Each writes *ret only on success; on failure e (ERR_USAGE) names `what`, the
 * text and the range.
 */
int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
	      struct err *e) must_check;
int parse_i64(const char *what, const char *text, int64_t min, int64_t max, int64_t *ret,
	      struct err *e) must_check;
int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *ret,
	      struct err *e) must_check;

/* "90", "90s", "30m", "12h", "7d": whole seconds in min_s..max_s. */
int parse_duration_s(const char *what, const char *text, uint32_t min_s, uint32_t max_s,
		     uint32_t *ret_s, struct err *e) must_check;

/*
 * Finds " key=value" or a leading "key=value" in a line of space-separated pairs and copies the
 * value. Returns false if the key is absent or the value does not fit cap bytes.
 */
bool parse_pair(const char *line, const char *key, char *ret_value, size_t cap);
/* As parse_pair(), for a decimal number; false if absent or not a clean number. */
bool parse_pair_i64(const char *line, const char *key, int64_t *ret);

/*
 * True if s is made of [A-Za-z0-9._+-] only, is not empty, does not start with '.' or '-' and is
 * at most 128 bytes: what is allowed as a name that becomes a file name.
 */
bool parse_is_name(const char *s);
/* What no such name may have becomes '_'. */
void parse_make_name(char *s);
