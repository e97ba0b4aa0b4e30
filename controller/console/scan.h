/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.h - finds the few lines that are worth a look among millions. Room-internal.
 *
 * An anchor is a text of at least SCAN_ANCHOR_MIN bytes without a line end. Of any three
 * neighbouring positions one must hold a trigram of any five bytes of an anchor, so looking up
 * every third position in a table is enough; what the table lets through is compared in full.
 * The five bytes are chosen to be rare in kernel logs.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

#define SCAN_ANCHOR_MIN  5
#define SCAN_ANCHORS_MAX 256
#define SCAN_STRIDE      ((size_t)3)
#define SCAN_BITS        15

struct scan_entry {
	uint32_t trigram;
	uint32_t beginning; /* the anchor's first four bytes */
	uint16_t anchor;    /* index */
	int16_t next;       /* -1 ends the chain */
	uint8_t shift;      /* of the trigram in the anchor */
};

struct scan {
	uint8_t is_known[1u << SCAN_BITS]; /* by hash of a trigram */
	const char *anchors[SCAN_ANCHORS_MAX];
	uint8_t lengths[SCAN_ANCHORS_MAX];
	uint8_t groups[SCAN_ANCHORS_MAX];
	size_t n_anchors;
	struct scan_entry entries[SCAN_ANCHORS_MAX * SCAN_STRIDE];
	size_t n_entries;
	int16_t heads[1024];
};

void scan_init(struct scan *s);
/*
 * group: bits of the caller's, see scan_groups(). An anchor that contains a known one only adds its
 * group to that one. text is not copied.
 */
void scan_add(struct scan *s, const char *text, uint8_t group);

/*
 * Where an anchor of p[from..end) stands, so that no earlier line has one, or `end`. p[end - 1]
 * must be a line feed, which is in no anchor, so that nothing behind it needs to be read.
 */
size_t scan_anchor(const struct scan *s, const char *p, size_t from, size_t end);

/* The groups of all anchors in p[from..end). As scan_anchor() else. */
uint8_t scan_groups(const struct scan *s, const char *p, size_t from, size_t end);

/* Where line feeds and ']' stand in a window: bit i % 64 of word i / 64 is for byte i. */
#define SCAN_WINDOW 8192

struct scan_marks {
	uint64_t lf[SCAN_WINDOW / 64];
	uint64_t bracket[SCAN_WINDOW / 64];
};

/*
 * Marks p[0..n), n <= SCAN_WINDOW, up to the first byte that plain console text does not have:
 * control bytes but tab and line ends, bytes above 0x7e, and a CR that is not known to stand before
 * an LF. Returns its position, or n. Bits behind it say nothing.
 */
size_t scan_marks(const char *p, size_t n, struct scan_marks *ret);

/* The first mark at or behind from, or end if it comes later; end <= SCAN_WINDOW. */
static inline size_t scan_next_mark(const uint64_t *marks, size_t from, size_t end)
{
	size_t k = from / 64;
	uint64_t word;

	if (from >= end)
		return end;
	word = marks[k] & UINT64_MAX << (from % 64);
	while (word == 0) {
		if (++k * 64 >= end)
			return end;
		word = marks[k];
	}
	k = k * 64 + (size_t)__builtin_ctzll(word);
	return k < end ? k : end;
}

/* How many bytes of the marked p[0..n) are whole lines: the position behind the last LF, or 0. */
size_t scan_whole_lines(const struct scan_marks *marks, size_t n);
