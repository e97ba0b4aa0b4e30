/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_fault.h - what a boot meets before its machine runs. Private to the rig room. */
#pragma once

#include "rig/faults.h"

/* 0 = the boot goes on, maybe later; or the error that it ends with, ERR_RIG. rng goes on from boot
   to boot. */
int boot_fault_meet(const struct boot_faults *faults, struct rng *rng, struct waiter *w,
		    nsec_t deadline_ns, struct err *e) must_check;
