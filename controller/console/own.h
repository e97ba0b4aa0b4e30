/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own.h - the lines that stallrig's own probe and agent write. Room-internal, pure. */
#pragma once

#include "console/console.h"

enum own_result {
	OWN_NO,      /* not such a line */
	OWN_GOOD,    /* complete and, where it has one, with the right CRC */
	OWN_SUSPECT, /* looks like one but is not what was printed */
};

/*
 * A DELAY line. is_ended: a line end follows the text; without one and without a CRC nobody knows
 * whether the number is complete. ret_delay is filled for OWN_GOOD, and as far as readable for
 * OWN_SUSPECT.
 */
enum own_result own_delay(const char *text, size_t len, bool is_ended, struct console_event *ret);

/* A marker. Fills ret->u.mark. */
enum own_result own_mark(const char *text, size_t len, struct console_event *ret);

/* True if a DELAY or marker line may have been part of this text before bytes were lost or mixed
   in. Only for texts in which own_delay() and own_mark() found nothing. */
bool own_has_trace(const char *text, size_t len, bool *ret_is_mark);

/* Texts for the scan: a damaged own line has at least one of them. NULL ends the list. */
extern const char *const own_anchors[];
