/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hist.h - histogram of latencies with a bounded relative error: linear below 64 us, above it 64
 * equal steps in each power of two (log-linear, as Gil Tene's HdrHistogram). A value read back is
 * at most 1/64 too large and never too small. Pure, no heap: many processes can each fill their own
 * in shared memory.
 */
#pragma once

#include "base/util.h"

#define HIST_STEPS   64 /* in a power of two */
#define HIST_POWERS  31 /* the highest step begins at 2^36 us, 19 hours */
#define HIST_BUCKETS ((size_t)HIST_STEPS * (HIST_POWERS + 1))

struct hist {
	uint64_t n;
	uint64_t max_us;
	uint64_t buckets[HIST_BUCKETS];
};

/* Values beyond the range land in the last bucket; max_us stays exact. */
void hist_add(struct hist *h, uint64_t us);
void hist_merge(struct hist *h, const struct hist *other);
/*
 * The smallest bucket's upper end that at least per_mille of 1000 values do not exceed, at most
 * max_us; 0 if the histogram is empty.
 */
uint64_t hist_quantile_us(const struct hist *h, unsigned per_mille);
