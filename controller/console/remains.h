/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remains.h - what a grave message looks like after it lost bytes or somebody wrote into it.
 * Room-internal.
 *
 * One loss in a line leaves a piece that the catalogue's traces know. Several may not, but then the
 * beginning of the message is still like that of a known one, or its first bytes are whole, or a
 * shorter piece is left.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

/* By hash of the first three bytes of what may be remains; filled by remains_init(). */
extern uint64_t remains_beginnings[65536 / 64];

/* To be called before anything else of this file; again is no harm. */
void remains_init(void);

static inline unsigned remains_hash(const char *text)
{
	uint32_t three = (uint32_t)(unsigned char)text[0] | (uint32_t)(unsigned char)text[1] << 8 |
			 (uint32_t)(unsigned char)text[2] << 16;

	return (three * 0x9e3779b1u) >> 16;
}

/*
 * False for most texts, at little cost: no grave message that lost or doubled two of its first
 * bytes begins with these three. A text that is shorter is no remains.
 */
static inline bool remains_may_begin(const char *text, size_t len)
{
	unsigned h;

	if (len < 3)
		return false;
	h = remains_hash(text);
	return remains_beginnings[h / 64] >> (h % 64) & 1;
}

/* Pieces that are in no message of a healthy kernel, for the scan; NULL ends the list. */
extern const char *const remains_pieces[];
/* True if the text has one of them. */
bool remains_have_piece(const char *text, size_t len);

/*
 * True if the text of a record, which is no known message, may have been a grave one. Time is
 * bounded by the length of the known beginnings.
 */
bool remains_are_grave(const char *text, size_t len);

/* The beginning of a grave message. */
struct remains_head {
	const char *text;
	size_t sure;          /* so many bytes of it are enough */
	unsigned len;         /* of what is compared */
	unsigned limit;       /* so many bytes may be lost, added or changed */
	uint64_t places[128]; /* by character: bit i if it is text[i] */
};

/* NULL behind the last one. */
const struct remains_head *remains_head(size_t i);
/* True if some beginning of the text comes from the head with at most head->limit such bytes. */
bool remains_are_near(const struct remains_head *head, const char *text, size_t len);
