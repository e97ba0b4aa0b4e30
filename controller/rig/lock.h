/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock.h - one user at a time: flock(2) on a file that says who holds it. The kernel drops the
 * lock with its holder, however that one ends. Private to the rig room.
 */
#pragma once

#include "base/waiter.h"

struct rig_lock;

/*
 * Takes the lock file path (made if missing, with its folder). what names the locked thing in
 * errors, e.g. "rig 'virtual-x86'". Waits up to wait_ns (0 = not at all), serving the waiter.
 * ERR_USAGE/-EBUSY names pid, command line and start time of the holder.
 */
int lock_take(const char *path, const char *what, struct waiter *w, nsec_t wait_ns,
	      struct rig_lock **ret, struct err *e) must_check;
/* As lock_take(), for the rig of that name: path_state("locks")/NAME. */
int lock_rig(const char *name, struct waiter *w, nsec_t wait_ns, struct rig_lock **ret,
	     struct err *e) must_check;
/*
 * The descriptor that holds it. A process that inherits it holds the lock too, until both have
 * closed it.
 */
int lock_fd(const struct rig_lock *l);
/* Accepts NULL. */
void lock_release(struct rig_lock *l);
DEFINE_AUTO(lock, struct rig_lock *, lock_release)
#define auto_lock AUTO(lock)
