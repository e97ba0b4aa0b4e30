/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache.c - answers that are still right. */
#include "cache.h"

#include "base/fdio.h"

#include <string.h>

struct answer {
	char *key; /* owned; NULL = free */
	int64_t state;
	int64_t made_wall_ns, settled_ns, fresh_ns;
	uint64_t used; /* larger = later */
	const char *type;
	struct strbuf body;
	char etag[20];
};

struct cache {
	struct answer answers[CACHE_ANSWERS_MAX];
	size_t n_bytes;
	uint64_t n_used;
};

struct cache *cache_new(void)
{
	return xcalloc(1, sizeof(struct cache));
}

static void drop(struct cache *c, struct answer *a)
{
	c->n_bytes -= a->body.len;
	strbuf_release(&a->body);
	free(a->key);
	*a = (struct answer){0};
}

void cache_free(struct cache *c)
{
	for (size_t i = 0; c && i < CACHE_ANSWERS_MAX; i++)
		drop(c, &c->answers[i]);
	free(c);
}

/* The address as it was asked for, with the length of each argument in front of it. */
static char *key_of(const struct request *rq)
{
	auto_strbuf struct strbuf key = STRBUF_INIT;

	strbuf_adds(&key, rq->path);
	for (size_t i = 0; i < rq->n_args; i++)
		strbuf_addf(&key, "\n%zu %s\n%zu %s", strlen(rq->args[i].key), rq->args[i].key,
			    strlen(rq->args[i].value), rq->args[i].value);
	return strbuf_take(&key);
}

static struct answer *find(struct cache *c, const char *key)
{
	for (size_t i = 0; i < CACHE_ANSWERS_MAX; i++)
		if (c->answers[i].key && strcmp(c->answers[i].key, key) == 0)
			return &c->answers[i];
	return NULL;
}

bool cache_get(struct cache *c, const struct request *rq, int64_t state, int64_t now_wall_ns,
	       struct reply *rp)
{
	auto_free char *key = key_of(rq);
	struct answer *a = find(c, key);
	int64_t age_ns;

	if (!a)
		return false;
	/* a clock that was put back makes everything old */
	age_ns = now_wall_ns - a->made_wall_ns;
	if (age_ns < 0 || age_ns >= (a->state == state ? a->fresh_ns : a->settled_ns)) {
		drop(c, a);
		return false;
	}
	a->used = ++c->n_used;
	rp->type = a->type;
	rp->etag = xstrdup(a->etag);
	strbuf_add(&rp->body, a->body.data, a->body.len);
	return true;
}

/* A free place: the empty one, or the one used longest ago. */
static struct answer *make_room(struct cache *c, size_t n)
{
	for (;;) {
		struct answer *oldest = NULL;
		struct answer *empty = NULL;

		for (size_t i = 0; i < CACHE_ANSWERS_MAX; i++) {
			struct answer *a = &c->answers[i];

			if (!a->key)
				empty = a;
			else if (!oldest || a->used < oldest->used)
				oldest = a;
		}
		if (empty && c->n_bytes + n <= CACHE_BYTES_MAX)
			return empty;
		drop(c, oldest);
	}
}

void cache_put(struct cache *c, const struct request *rq, int64_t state, int64_t now_wall_ns,
	       struct reply *rp)
{
	auto_free char *key = NULL;
	char sha256[SHA256_HEX_SIZE];
	struct answer *a;

	if (!rp->fresh_ns || rp->file_name || rp->status != 200 || !rp->body.len ||
	    rp->body.len > CACHE_BYTES_MAX)
		return;
	key = key_of(rq);
	a = find(c, key);
	if (a)
		drop(c, a);
	a = make_room(c, rp->body.len);
	sha256_bytes(rp->body.data, rp->body.len, sha256);
	a->key = take(key);
	a->state = state;
	a->made_wall_ns = now_wall_ns;
	a->settled_ns = rp->settled_ns;
	a->fresh_ns = rp->fresh_ns;
	a->used = ++c->n_used;
	a->type = rp->type;
	strbuf_add(&a->body, rp->body.data, rp->body.len);
	c->n_bytes += a->body.len;
	(void)snprintf(a->etag, sizeof(a->etag), "\"%.16s\"", sha256);
	rp->etag = xstrdup(a->etag);
}
