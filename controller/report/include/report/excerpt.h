/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * excerpt.h - lines out of a boot's recording: console.raw holds every byte as it came,
 * console.timing says when ("<seconds since the bytes before> <bytes>", script(1) --log-timing).
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>

#define EXCERPT_LINES_MAX    60         /* lines kept */
#define EXCERPT_LINES_BEFORE 12         /* of them before the anchor */
#define EXCERPT_COLUMNS_MAX  200        /* of a line */
#define EXCERPT_BYTES_MAX    (1u << 20) /* read of console.raw from the first byte wanted */

struct excerpt_line {
	int64_t t_ns;    /* when its last byte came, from the start of the recording */
	uint64_t offset; /* of its first byte in console.raw */
	char *text;      /* safe to print, see text_add_visible() */
};

struct excerpt {
	struct excerpt_line *lines; /* owned */
	size_t n;
	size_t anchor;        /* index of the line that holds the anchor, or EXCERPT_NO_ANCHOR */
	uint64_t left_before; /* lines in the range that are not kept */
	uint64_t left_after;
	bool is_cut; /* the range is larger than EXCERPT_BYTES_MAX */
};

#define EXCERPT_NO_ANCHOR SIZE_MAX
#define EXCERPT_INIT                                               \
	{                                                          \
		.lines = NULL, .n = 0, .anchor = EXCERPT_NO_ANCHOR \
	}

/* How much is kept; the defaults are the numbers above. */
struct excerpt_size {
	size_t lines;        /* most */
	size_t lines_before; /* of them before the anchor */
	size_t columns;      /* of a line */
	bool is_clean;       /* without terminal escapes, see text_add_console() */
};

/*
 * Lines that begin in [from, to) of the recording in folder dir, from a little
 * before the first one that contains `anchor` (without one: the last ones), and when each came.
 * Empty lines are left out. A file that is shorter than the range is fine: what is there counts.
 * size NULL: the defaults. ERR_STORE names the file that cannot be read, or the line of
 * console.timing that makes no sense.
 */
int excerpt_read(const char *dir, uint64_t from, uint64_t to, const char *anchor,
		 const struct excerpt_size *size, struct excerpt *ret, struct err *e) must_check;
void excerpt_release(struct excerpt *x);

static inline void auto_cleanup_excerpt(struct excerpt *x)
{
	excerpt_release(x);
}
#define auto_excerpt __attribute__((cleanup(auto_cleanup_excerpt)))
