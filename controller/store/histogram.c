/* SPDX-License-Identifier: GPL-2.0-or-later */
/* histogram.c - histograms to bytes and back. */
#include "histogram.h"

static void pack_number(uint64_t v, struct strbuf *out)
{
	do {
		unsigned char byte = v & 0x7f;

		v >>= 7;
		byte |= v ? 0x80 : 0;
		strbuf_add(out, &byte, 1);
	} while (v);
}

/* False at the end of the bytes, or if it is over INT64_MAX. */
static bool unpack_number(const unsigned char **p, const unsigned char *end, int64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *p < end && shift < 63; shift += 7) {
		unsigned char byte = *(*p)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = (int64_t)v;
			return true;
		}
	}
	return false;
}

void histogram_pack(const struct trial_histogram *h, struct strbuf *out)
{
	int64_t at_ns = 0;

	for (size_t i = 0; i < h->n_buckets; i++) {
		const struct trial_bucket *b = &h->buckets[i];

		pack_number((uint64_t)(b->low_ns - at_ns), out);
		pack_number((uint64_t)(b->end_ns - b->low_ns), out);
		pack_number((uint64_t)b->count, out);
		at_ns = b->end_ns;
	}
}

bool histogram_unpack(const void *bytes, size_t n, const char *probe, struct trial *ret)
{
	const unsigned char *p = bytes, *end = p + n;
	int64_t at_ns = 0;

	while (p < end) {
		struct trial_bucket b;
		int64_t gap_ns, width_ns;

		if (!unpack_number(&p, end, &gap_ns) || !unpack_number(&p, end, &width_ns) ||
		    !unpack_number(&p, end, &b.count) || gap_ns > INT64_MAX - at_ns ||
		    width_ns > INT64_MAX - at_ns - gap_ns)
			return false;
		b.low_ns = at_ns + gap_ns;
		b.end_ns = b.low_ns + width_ns;
		if (!trial_add_samples(ret, probe, &b))
			return false;
		at_ns = b.end_ns;
	}
	return true;
}
