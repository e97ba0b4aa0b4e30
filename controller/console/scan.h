/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.h - finds the few lines that are worth a look among millions. Room-internal.
 *
 * An anchor is a text of at least SCAN_ANCHOR_MIN bytes without a line end. Of any three
 * neighbouring positions one must hold a trigram of any five bytes of an anchor, so looking up
 * every third position in a table is enough. The table is asked for the byte in front of the
 * trigram, too, which costs nothing and makes chance hits rare; what it lets through is compared in
 * full. The five bytes are chosen to be rare in kernel logs.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

#define SCAN_ANCHOR_MIN  5
#define SCAN_ANCHORS_MAX 256
#define SCAN_STRIDE      ((size_t)3)
#define SCAN_BITS        16

/* A window holds whole lines and what of one more line there is. */
#define SCAN_WINDOW 8192

/*
 * Where in a window line feeds stand, and every ']' with a '.' seven bytes in front, which is what
 * a stamp ends with. Positions in rising order, so that a line takes a step of each list instead of
 * a search. Behind them stands SCAN_WINDOW as a guard.
 */
struct scan_marks {
	uint16_t ends[SCAN_WINDOW + 3]; /* with room for positions that are written and not kept */
	uint16_t stamps[SCAN_WINDOW + 3];
	size_t n_ends;
	size_t n_stamps;
};

/*
 * Marks p[0..n), n <= SCAN_WINDOW, up to the first byte that plain console text does not have:
 * control bytes but tab and line ends, bytes above 0x7e, and a CR that is not known to stand before
 * an LF. Returns its position, or n. No mark stands at it or behind.
 */
typedef size_t (*scan_marks_fn)(const char *p, size_t n, struct scan_marks *ret);

/* The instructions that it is done with, better ones behind. */
enum scan_marks_how { SCAN_MARKS_PORTABLE, SCAN_MARKS_SSE2, SCAN_MARKS_AVX2, SCAN_MARKS_HOW_MAX };

/* NULL if this processor does not have them. */
scan_marks_fn scan_marks_by(enum scan_marks_how how);

struct scan_entry {
	uint32_t trigram;
	uint32_t beginning; /* the anchor's first four bytes */
	uint16_t anchor;    /* index */
	int16_t next;       /* -1 ends the chain */
	uint8_t shift;      /* of the trigram in the anchor */
};

struct scan {
	scan_marks_fn marks;               /* the best one of this processor */
	uint8_t is_known[1u << SCAN_BITS]; /* by hash of a trigram and what is before it */
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
