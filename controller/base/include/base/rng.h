/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rng.h - seeded pseudo-random numbers (splitmix64, Steele, Lea and Flood 2014): the only source of
 * randomness, so that whatever used it can be repeated from its seed. Not for secrets.
 */
#pragma once

#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline void rng_init(struct rng *r, uint64_t seed)
{
	r->state = seed;
}

static inline uint64_t rng_u64(struct rng *r)
{
	uint64_t z = (r->state += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

/* Uniform in [0, n), n > 0. The bias is below n / 2^64. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_u64(r) * n) >> 64);
}
