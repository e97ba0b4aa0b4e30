/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - runs that go on, as server-sent events (HTML standard, section 9.2).
 *
 * The recording on disk is the source: the run itself knows nothing of its viewers. It is read once
 * for all of them, every LIVE_POLL_NS and only while somebody looks; what is ready to be sent lies
 * in one buffer that each viewer reads at its own pace. One that falls more than LIVE_KEPT_BYTES
 * behind is told so ("gap") and goes on with what is kept.
 *
 * Events: "console" {"boot","lines":[{"offset","text","continues"}]}, "delay" {"ms","cpu","probe",
 * "t_kernel_s","live"}, "incident" {"class","title"}, "trial" (as in the API), "run" (its head),
 * "gap" {}, "end" {}.
 */
#pragma once

#include "base/waiter.h"
#include "store/store.h"

#include <sys/types.h>

#define LIVE_POLL_NS    (50 * NSEC_PER_MSEC)
#define LIVE_KEPT_BYTES (256u << 10)
#define LIVE_TAIL_BYTES (32u << 10) /* of the console so far that the first viewer gets */
#define LIVE_RUNS_MAX   16

struct live;
struct live_set;
struct live_viewer;

/* Borrowed: st, recordings_dir. */
struct live_set *live_set_new(struct store *st, const char *recordings_dir);
/* All viewers must be closed. Accepts NULL. */
void live_set_free(struct live_set *set);
/* No more viewers than DASHBOARD_VIEWERS_MAX. */
bool live_is_full(const struct live_set *set);
size_t live_viewers(const struct live_set *set);
/* Of a run that has not ended. NULL beyond LIVE_RUNS_MAX. */
struct live *live_find(struct live_set *set, const char *run_id);
/* Reads what is new and wakes its viewers. */
void live_poll(struct live_set *set, nsec_t now_ns);
/* Every viewer's stream is at its end. */
void live_end(struct live_set *set);

/* park(connection) is called in live_viewer_read() when there is nothing to read, wake(connection)
   when there is again. */
struct live_viewer *live_viewer_open(struct live *l, void (*park)(void *connection),
				     void (*wake)(void *connection), void *connection);
void live_viewer_close(struct live_viewer *v);
/* Bytes copied; 0 = parked; -1 = end. */
ssize_t live_viewer_read(struct live_viewer *v, char *buf, size_t max);
