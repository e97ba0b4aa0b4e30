/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot.c - reads latency_mon/snapshot. All sizes are the file's own: none is believed. */
#include "snapshot.h"

#include "base/crc32c.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC      "LMSNAP\r\n"
#define VERSION    1
#define HEADER_MIN 96
#define PROBE_MIN  104
#define EVENT_MIN  216
#define RECORD_MAX 65536 /* of what may be added to a record in time */
#define GROWTH     65536
#define VALUE_BITS 63

/* As they are numbered in the file. */
static const char *const kinds[] = {"normal", "highpri", "unbound", "bh", "kthread"};

struct layout {
	uint32_t header_bytes, probe_bytes, event_bytes;
	uint32_t probes, buckets, sub_buckets;
	uint32_t recent, worst;
};

static uint64_t le(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)le(p, 4);
}

/* The whole file; *ret is the caller's to free, also when this fails. */
static ssize_t read_all(const char *root, uint8_t **ret, struct err *e)
{
	char path[SYSFILE_PATH_MAX];
	auto_fd int fd = -1;
	size_t len = 0;
	size_t cap = 0;
	int r;

	r = sysfile_path(root, SNAPSHOT_FILE, path, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, SNAPSHOT_FILE);
	for (;;) {
		ssize_t n;

		if (len == cap) {
			uint8_t *more = realloc(*ret, cap + GROWTH);

			if (!more)
				return err_set(e, ERR_TARGET, ENOMEM, SNAPSHOT_FILE);
			*ret = more;
			cap += GROWTH;
		}
		n = read(fd, *ret + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_TARGET, errno, SNAPSHOT_FILE ": read");
		if (n == 0)
			return (ssize_t)len;
		len += (size_t)n;
		if (len > SNAPSHOT_MAX_BYTES)
			return err_set(e, ERR_TARGET, EFBIG, SNAPSHOT_FILE ": more than %zu bytes",
				       SNAPSHOT_MAX_BYTES);
	}
}

static unsigned bits_of(uint64_t v)
{
	unsigned n = 0;

	for (; v; v >>= 1)
		n++;
	return n;
}

static bool is_within(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max;
}

/* The last bucket must end at a number of nanoseconds. */
static bool has_buckets(const struct layout *l)
{
	const uint32_t sub = l->sub_buckets;

	return is_within(l->buckets, 1, SNAPSHOT_BUCKETS_MAX) && sub && !(sub & (sub - 1)) &&
	       bits_of(sub) + l->buckets / sub < VALUE_BITS;
}

static int check(const uint8_t *p, size_t len, struct layout *ret, struct err *e)
{
	uint64_t expected;

	if (len < HEADER_MIN + 4 || memcmp(p, MAGIC, strlen(MAGIC)) != 0)
		return err_set(e, ERR_TARGET, EBADMSG, SNAPSHOT_FILE ": is no snapshot");
	if (le32(p + 8) != VERSION)
		return err_set(e, ERR_TARGET, EBADMSG,
			       SNAPSHOT_FILE ": version %u; this agent reads %d", le32(p + 8),
			       VERSION);
	if (crc32c(p, len - 4) != le32(p + len - 4))
		return err_set(e, ERR_TARGET, EBADMSG, SNAPSHOT_FILE ": the CRC is wrong");
	*ret = (struct layout){
		.header_bytes = le32(p + 12),
		.probe_bytes = le32(p + 16),
		.event_bytes = le32(p + 20),
		.probes = le32(p + 24),
		.buckets = le32(p + 28),
		.sub_buckets = le32(p + 32),
		.recent = le32(p + 36),
		.worst = le32(p + 40),
	};
	if (!is_within(ret->header_bytes, HEADER_MIN, RECORD_MAX) ||
	    !is_within(ret->probe_bytes, PROBE_MIN, RECORD_MAX) ||
	    !is_within(ret->event_bytes, EVENT_MIN, RECORD_MAX) || !has_buckets(ret))
		return err_set(e, ERR_TARGET, EBADMSG,
			       SNAPSHOT_FILE
			       ": records of %u, %u and %u bytes, %u buckets, %u in a "
			       "power of two: one of them cannot be",
			       ret->header_bytes, ret->probe_bytes, ret->event_bytes, ret->buckets,
			       ret->sub_buckets);
	expected = ret->header_bytes +
		   (uint64_t)ret->probes * (ret->probe_bytes + 8 * ret->buckets) +
		   ((uint64_t)ret->recent + ret->worst) * ret->event_bytes + 4;
	if (expected != len)
		return err_set(e, ERR_TARGET, EBADMSG,
			       SNAPSHOT_FILE ": %zu bytes, by its header %llu", len,
			       (unsigned long long)expected);
	return 0;
}

static int add_up(const uint8_t *p, const struct layout *l, uint32_t kind,
		  struct snapshot_samples *s, struct err *e)
{
	for (uint32_t i = 0; i < l->probes; i++) {
		const uint8_t *counts = p + l->probe_bytes;

		for (uint32_t b = 0; le32(p + 4) == kind && b < l->buckets; b++) {
			uint64_t n = le(counts + (size_t)8 * b, 8);

			if (n > (uint64_t)(INT64_MAX - s->n))
				return err_set(e, ERR_TARGET, EBADMSG,
					       SNAPSHOT_FILE ": %s has more samples than there "
							     "can be",
					       kinds[kind]);
			s->counts[b] += n;
			s->n += (int64_t)n;
		}
		p = counts + (size_t)8 * l->buckets;
	}
	return 0;
}

int snapshot_samples(const char *root, const char *probe, struct snapshot_samples *ret,
		     struct err *e)
{
	auto_free uint8_t *bytes = NULL;
	struct layout l = {0};
	uint32_t kind = 0;
	ssize_t len;
	int r;

	while (kind < ARRAY_SIZE(kinds) && strcmp(kinds[kind], probe) != 0)
		kind++;
	if (kind == ARRAY_SIZE(kinds))
		return err_set(e, ERR_TARGET, EINVAL,
			       "probe '%.40s' is none of normal, highpri, unbound, bh, kthread",
			       probe);
	len = read_all(root, &bytes, e);
	if (len < 0)
		return (int)len;
	r = check(bytes, (size_t)len, &l, e);
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->n_buckets = l.buckets;
	ret->sub_buckets = l.sub_buckets;
	return add_up(bytes + l.header_bytes, &l, kind, ret, e);
}

int64_t snapshot_low_ns(const struct snapshot_samples *s, uint32_t i)
{
	uint32_t shift;

	if (i < 2 * s->sub_buckets)
		return i;
	shift = i / s->sub_buckets - 1;
	return (int64_t)(i - shift * s->sub_buckets) << shift;
}
