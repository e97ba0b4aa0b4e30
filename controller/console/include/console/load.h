/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.h - how busy the serial line was, and whether printing alone could have made a delay.
 *
 * A character takes bits_per_char / baud seconds. A synchronous console keeps the printing CPU with
 * interrupts off for that long, so a burst of text may itself be the stall that was measured. The
 * line is a queue: bytes that come faster than it sends wait. Times are nanoseconds of one clock,
 * kernel or host, and must not go back. Pure, bounded: the newest CONSOLE_LOAD_SPANS bursts.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

#define CONSOLE_LOAD_SPANS         4096
#define CONSOLE_LOAD_BITS_PER_CHAR 10 /* 8N1 */

struct console_load_span {
	int64_t from_ns; /* the line was busy in [from, to) */
	int64_t to_ns;
};

struct console_load {
	int64_t baud;
	int64_t bits_per_char;
	struct console_load_span spans[CONSOLE_LOAD_SPANS]; /* ring */
	size_t first;
	size_t n;
	bool has_lost;     /* older spans fell out */
	int64_t bits_left; /* remainder of the division, so that nothing is lost over many lines */
};

/* baud 0: a console without a rate (virtual): the load is always 0. */
void console_load_init(struct console_load *l, int64_t baud);
/* n bytes were printed at t_ns. */
void console_load_add(struct console_load *l, int64_t t_ns, uint64_t n_bytes);
/* For how much of [from, to) the line was busy, in ns. 0 if to <= from. */
int64_t console_load_busy_ns(const struct console_load *l, int64_t from_ns, int64_t to_ns);
/* The longest time without a pause in [from, to). */
int64_t console_load_longest_ns(const struct console_load *l, int64_t from_ns, int64_t to_ns);
/* Busy share of [from, to) in per cent, 0 to 100. */
double console_load_pct(const struct console_load *l, int64_t from_ns, int64_t to_ns);
/*
 * True if the line was busy without a pause for at least half of the delay that was measured over
 * [due, due + delay): printing may have caused it.
 */
bool console_load_explains(const struct console_load *l, int64_t due_ns, int64_t delay_ns);
