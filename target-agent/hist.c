/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hist.c - the log-linear histogram. */
#include "hist.h"

static size_t bucket_of(uint64_t us)
{
	unsigned shift;
	size_t i;

	if (us < HIST_STEPS)
		return (size_t)us;
	/* so that us >> shift lies in [HIST_STEPS, 2 * HIST_STEPS) */
	shift = 63 - (unsigned)__builtin_clzll(us) - 6;
	i = HIST_STEPS * ((size_t)shift + 1) + (size_t)((us >> shift) - HIST_STEPS);
	return i < HIST_BUCKETS ? i : HIST_BUCKETS - 1;
}

/* The largest value that lands in the bucket. */
static uint64_t bucket_top(size_t i)
{
	unsigned shift;

	if (i < HIST_STEPS)
		return i;
	shift = (unsigned)(i / HIST_STEPS) - 1;
	return ((i % HIST_STEPS + HIST_STEPS + 1) << shift) - 1;
}

void hist_add(struct hist *h, uint64_t us)
{
	h->n++;
	if (us > h->max_us)
		h->max_us = us;
	h->buckets[bucket_of(us)]++;
}

void hist_merge(struct hist *h, const struct hist *other)
{
	h->n += other->n;
	if (other->max_us > h->max_us)
		h->max_us = other->max_us;
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		h->buckets[i] += other->buckets[i];
}

uint64_t hist_quantile_us(const struct hist *h, unsigned per_mille)
{
	/* the rank, rounded up; n is a count of I/Os, far from overflow */
	uint64_t rank = (h->n * per_mille + 999) / 1000;
	uint64_t seen = 0;

	if (!h->n)
		return 0;
	if (!rank)
		rank = 1;
	for (size_t i = 0; i < HIST_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank) {
			uint64_t top = bucket_top(i);

			return i == HIST_BUCKETS - 1 || top > h->max_us ? h->max_us : top;
		}
	}
	return h->max_us;
}
