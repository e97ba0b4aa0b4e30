/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.h - finds the few lines that are worth a look among millions. Room-internal.
 *
 * An anchor is a text of at least SCAN_ANCHOR_MIN bytes without a line end. Of any three
 * neighbouring positions one must hold a trigram of any five bytes of an anchor, so looking at
 * every third position in a bit table is enough; what the table lets through is compared in full.
 * The five bytes are chosen to be rare in kernel logs.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

#define SCAN_ANCHOR_MIN  5
#define SCAN_ANCHORS_MAX 192
#define SCAN_STRIDE      ((size_t)3)
#define SCAN_BITS        16

struct scan_entry {
	uint32_t trigram;
	uint16_t anchor; /* index */
	uint8_t shift;   /* of the trigram in the anchor */
	int16_t next;    /* -1 ends the chain */
};

struct scan {
	uint64_t bits[(1u << SCAN_BITS) / 64];
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

/*
 * The first byte in p[from..end) that plain console text does not have: control bytes but tab and
 * line ends, bytes above 0x7e, and a CR that no LF follows. p[end - 1] must be a line feed.
 */
size_t scan_odd(const char *p, size_t from, size_t end);
