/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_load.h - had this host enough processors for an emulated target? A virtual machine that is
 * starved times out and panics (as in the kernel's timer check at boot) for no fault of its kernel.
 */
#pragma once

#include "base/err.h"
#include "base/waiter.h"

#include <stdint.h>

/* From this share of the time on with a task that waits for a processor, what an emulated target
   does says nothing about its kernel. */
#define HOST_LOAD_MAX_PCT 80

/*
 * For how long so far some task of this host was ready and had no processor, in us:
 * /proc/pressure/cpu (Linux 4.20 and later, Documentation/accounting/psi.rst), or the file that
 * $STALLRIG_HOST_LOAD names. -1 if it does not say.
 */
int64_t host_load_wait_us(void);

/* Share of the time since then, 0 to 100; -1 if either is unknown or no time went by. */
int host_load_pct(int64_t before_us, int64_t now_us, nsec_t elapsed_ns);

/*
 * Looks again at why an emulated target did not come up (*e): what is the kernel's or the target's
 * fault becomes ERR_RIG/-EAGAIN if the share is HOST_LOAD_MAX_PCT or more. Returns e's code.
 */
int host_load_blame(int pct, struct err *e);
