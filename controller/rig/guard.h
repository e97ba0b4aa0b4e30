/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h - the guardian: a process that holds a switch's hardware and outlives its controller just
 * long enough to make it safe. Private to the rig room.
 *
 * The controller sees an ordinary switch driver; each call is a message to the guardian. The
 * guardian ignores the signals that end a session and has no other descriptors than its own. It
 * goes to the safe state when its socket reports the controller's end (any exit, any signal, the
 * OOM killer), or when the controller has stood still (SIGSTOP, a terminal's ^Z, a debugger) for
 * SWITCH_STOP_MAX_NS. If the guardian itself is killed, the controller's close() opens the hardware
 * once more and makes it safe.
 */
#pragma once

#include "switch_driver.h"

/* Together with a look each SWITCH_LOOK_NS this keeps the promise of one second. */
#define SWITCH_STOP_MAX_NS (500 * NSEC_PER_MSEC)
#define SWITCH_LOOK_NS     (100 * NSEC_PER_MSEC)

/*
 * Starts a guardian that opens the switch; returns when that is done. cfg must live longer.
 * keep_fd: see switch_cfg_open(). safe: where it goes if the controller dies. Errors: the
 * driver's; ERR_INTERNAL if there is no process to be had.
 */
int guard_open(switch_open_fn open_fn, const struct switch_cfg *cfg, enum switch_state safe,
	       int keep_fd, struct waiter *w, const struct switch_ops **ret_ops, void **ret_self,
	       struct err *e) must_check;

/* The guardian's process, for tests. self of guard_open(). */
pid_t guard_pid(const void *self);
