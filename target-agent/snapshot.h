/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - latency_mon/snapshot: all that the probe knows, in binary, taken whole. The format
 * stands in docs/latency-mon.md.
 */
#pragma once

#include "agent.h"

#define SNAPSHOT_FILE        "/sys/kernel/debug/latency_mon/snapshot"
#define SNAPSHOT_MAX_BYTES   ((size_t)64 << 20) /* a thousand CPUs */
#define SNAPSHOT_BUCKETS_MAX 2048               /* version 1 has 1216 */

/* All samples of a probe since the last reset, of all CPUs together. */
struct snapshot_samples {
	uint64_t counts[SNAPSHOT_BUCKETS_MAX];
	uint32_t n_buckets;
	uint32_t sub_buckets; /* in a power of two, itself one */
	int64_t n;
};

/*
 * Reads the snapshot whole, checks it and adds up the samples. ERR_TARGET: -ENOENT without the
 * module, -EINVAL for a probe of no such name, -EFBIG for more than SNAPSHOT_MAX_BYTES, -EBADMSG
 * for what is no snapshot, is damaged or of another version, -ENOMEM. A probe that is switched off
 * has no samples.
 */
int snapshot_samples(const char *root, const char *probe, struct snapshot_samples *ret,
		     struct err *e) must_check;

/* The least delay that bucket i counts; the bucket ends where the next begins. */
int64_t snapshot_low_ns(const struct snapshot_samples *s, uint32_t i);
