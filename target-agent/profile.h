/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - what the sampler (verb profile) has taken: records as in docs/protocol.md, in memory
 * that the agent shares with the worker that samples. There is one profile at a time.
 */
#pragma once

#include "agent.h"

#define PROFILE_SAMPLES_TEXT_MAX ((size_t)8 << 20) /* samples and stacks */
#define PROFILE_ADDRESSES_MAX    16384u            /* distinct ones */
#define PROFILE_STACKS_MAX       32768u            /* distinct ones */
#define PROFILE_FRAMES_MAX       ((size_t)1 << 20) /* of all distinct stacks */
#define PROFILE_DEPTH_MAX        127u              /* of one stack */
#define PROFILE_LINE_MAX         800               /* the longest record with its NUL */
#define PROFILE_HZ_MAX           4999
#define PROFILE_SECONDS_MAX      3600
/* of one answer to profile-read */
#define PROFILE_READ_MAX ((size_t)256 << 10)

/* Makes the memory at first, empties it; before the worker is forked. */
int profile_prepare(struct err *e) must_check;
/* In the worker, once: the first record. */
void profile_begin(const char *event, unsigned hz, unsigned cpus, int64_t start_ns);
/*
 * A sample; chain: the kernel's addresses, the innermost first, depth 0 (user space) to
 * PROFILE_DEPTH_MAX. False if one of the limits above is reached: nothing of it is kept then.
 */
bool profile_add_sample(int64_t us, uint32_t cpu, const uint64_t *chain, uint32_t depth);
/* At the end: what the addresses stand for. ERR_TARGET as kallsyms_resolve(). */
int profile_name_addresses(const char *root, struct err *e) must_check;
/* What there is so far: whole lines, NUL-terminated; it only grows. */
const char *profile_text(size_t *ret_len);
