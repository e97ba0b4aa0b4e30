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

/*
 * False for most texts, at little cost: no grave message that lost or doubled two bytes at most
 * begins with these two bytes. A text that is shorter is no remains.
 */
bool remains_may_begin(const char *text, size_t len);

/* Pieces that are in no message of a healthy kernel, for the scan; NULL ends the list. */
extern const char *const remains_pieces[];
/* True if the text has one of them. */
bool remains_have_piece(const char *text, size_t len);

/*
 * True if the text of a record, which is no known message, may have been a grave one. Time is
 * bounded by the length of the known beginnings.
 */
bool remains_are_grave(const char *text, size_t len);
