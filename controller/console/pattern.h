/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pattern.h - the small language in which the catalogue describes kernel messages. Room-internal.
 *
 * A pattern is literal text with fields:
 *   %c  CPU number            %s  seconds             %n  count         %u  USB device number
 *   %j  jiffies
 *   %p  USB port, "1-1.4"     %d  any integer         %x  hexadecimal, "0x" optional
 *   %T  title: one or more bytes, as few as the rest allows, or all if nothing follows
 *   %*  anything, as little as the rest allows        %$  end of the text
 * It must match from the first byte of the text; text behind its end is ignored. Matching takes
 * time in the order of length of text times length of pattern: a wildcard stops at the first place
 * where everything up to the next wildcard fits, and is not tried again.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

struct pattern_fields {
	int64_t seconds; /* INT64_MIN if absent, as the numbers below */
	int64_t count;
	int64_t jiffies;
	int64_t cpu;
	int64_t devnum;
	const char *port; /* into the text; NULL if absent */
	size_t port_len;
	const char *title; /* into the text; NULL if absent */
	size_t title_len;
};

bool pattern_match(const char *pattern, const char *text, size_t len, struct pattern_fields *ret);
