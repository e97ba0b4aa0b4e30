/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h - answers that are still right: kept while the store's state stays what it was and they
 * are not older than their handler said. Lists and overviews cost by the size of the store; with
 * this they cost it once for each change of the store, however many look; those that say so, once
 * in a while, however many look and however much is written.
 */
#pragma once

#include "request.h"

#define CACHE_ANSWERS_MAX 64
#define CACHE_BYTES_MAX   (8u << 20) /* of all bodies; the one used longest ago goes first */

struct cache;

struct cache *cache_new(void);
/* Accepts NULL. */
void cache_free(struct cache *c);
/* Fills rp (REPLY_INIT) from the answer to rq at that state of the store, or at an earlier one if
   it may be so old; false if there is none. */
bool cache_get(struct cache *c, const struct request *rq, int64_t state, int64_t now_wall_ns,
	       struct reply *rp);
/* Keeps rp for rp->fresh_ns from now (0: not at all), for rp->settled_ns whatever becomes of the
   store, and gives it its ETag. */
void cache_put(struct cache *c, const struct request *rq, int64_t state, int64_t now_wall_ns,
	       struct reply *rp);
