/* SPDX-License-Identifier: GPL-2.0 */
/* Log-linear histogram of nanoseconds, 32 buckets an octave. Pure: also builds in user space. */
#ifndef LM_HIST_H
#define LM_HIST_H

#include <linux/types.h>

#define LM_HIST_SUB_BITS 5
#define LM_HIST_SUB	 (1u << LM_HIST_SUB_BITS)

/* Values from 2^42 ns (73 minutes) on are counted in the last bucket. */
#define LM_HIST_MAX_BITS 42
#define LM_HIST_BUCKETS	 ((LM_HIST_MAX_BITS - LM_HIST_SUB_BITS + 1) * LM_HIST_SUB)
#define LM_HIST_BYTES	 (LM_HIST_BUCKETS * sizeof(__u64))

/* Below 32 ns a bucket is 1 ns wide; above, its width is at most 1/32 of its lower edge. */
static inline unsigned int lm_hist_index(__u64 ns)
{
	unsigned int shift;

	if (ns < LM_HIST_SUB)
		return (unsigned int)ns;

	if (ns >> LM_HIST_MAX_BITS)
		return LM_HIST_BUCKETS - 1;

	shift = 63u - (unsigned int)__builtin_clzll(ns) - LM_HIST_SUB_BITS;
	return shift * LM_HIST_SUB + (unsigned int)(ns >> shift);
}

/* The smallest value in the bucket; of bucket LM_HIST_BUCKETS it is the end of the range. */
static inline __u64 lm_hist_low_ns(unsigned int index)
{
	unsigned int shift;

	if (index < 2 * LM_HIST_SUB)
		return index;

	shift = index / LM_HIST_SUB - 1;
	return (__u64)(index - shift * LM_HIST_SUB) << shift;
}

#endif
