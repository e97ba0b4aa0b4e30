/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recording.h - every console byte of a boot, before it is interpreted, with the time at which it
 * came.
 *
 * A recording is a folder: console.raw holds the bytes exactly; console.timing one line
 * "<seconds since the chunk before> <bytes>\n" a chunk, the timing format of script(1).
 */
#pragma once

#include "base/err.h"
#include "base/waiter.h"

struct recording;

/* Makes the folder. t0_ns: time of the first moment, host clock. ERR_STORE. */
int recording_create(const char *dir, nsec_t t0_ns, struct recording **ret,
		     struct err *e) must_check;
/* Appends; both files are written at once, so that a kill loses nothing that was interpreted. */
int recording_add(struct recording *rec, const void *bytes, size_t n, nsec_t t_ns,
		  struct err *e) must_check;
uint64_t recording_bytes(const struct recording *rec);
const char *recording_dir(const struct recording *rec);
nsec_t recording_t0_ns(const struct recording *rec);
/* Syncs and closes. Accepts NULL. */
void recording_close(struct recording *rec);
DEFINE_AUTO(recording, struct recording *, recording_close)
#define auto_recording AUTO(recording)

/* Called for each chunk of a recording, t_ns relative to its t0. A negative return ends it. */
typedef int (*recording_chunk_fn)(void *self, const void *bytes, size_t n, nsec_t t_ns,
				  struct err *e);
/*
 * Plays a recording folder. Bytes beyond the last timing line (a kill between the two writes) come
 * as a last chunk. ERR_STORE with file:line for a timing file that is broken.
 */
int recording_play(const char *dir, recording_chunk_fn fn, void *self, struct err *e) must_check;
