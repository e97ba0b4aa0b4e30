/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_watch.h - for how long, and when, this host kept an emulated target from its processors.
 *
 * What is counted is how long threads of the emulator were ready and had no processor, all of them
 * together (field 2 of /proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst), and
 * how long a hypervisor kept this host's processors from it ("steal" of /proc/stat). What a thread
 * waits at the moment of a look is not in it.
 */
#pragma once

#include "base/err.h"
#include "base/waiter.h"

#include <sys/types.h>

#define HOST_WATCH_SLICE_MS    100
#define HOST_WATCH_THREADS_MAX 256
#define HOST_LOOKS_MAX         4096 /* beyond it every second one is forgotten */

/* What was waited in all at each look; both numbers never get smaller. */
struct host_looks {
	struct host_look {
		nsec_t at_ns;
		int64_t waited_us;
	} looks[HOST_LOOKS_MAX];
	size_t n;
};

void host_looks_add(struct host_looks *l, nsec_t at_ns, int64_t waited_us);

/*
 * The most that was waited in any stretch_us between the first look and the last. A stretch is
 * taken from the last look before it to the first behind it, so it is an upper bound, and longer
 * than the stretch by two looks' distances at most. 0 without two looks.
 */
int64_t host_looks_worst_us(const struct host_looks *l, int64_t stretch_us);

struct host_watch;

/*
 * Looks at the process every HOST_WATCH_SLICE_MS while w waits, w must outlive it. -ENOSPC without
 * room for a timer (ERR_INTERNAL). A kernel that does not say is no error: see
 * host_watch_worst_us().
 */
int host_watch_start(struct waiter *w, pid_t pid, struct host_watch **ret,
		     struct err *e) must_check;
void host_watch_free(struct host_watch *hw);

/*
 * Looks once more; see host_looks_worst_us(). -1 if one of the looks failed: the process has ended,
 * has more than HOST_WATCH_THREADS_MAX threads, or the kernel does not say.
 */
int64_t host_watch_worst_us(struct host_watch *hw, int64_t stretch_us);
