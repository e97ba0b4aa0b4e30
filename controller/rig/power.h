/* SPDX-License-Identifier: GPL-2.0-or-later */
/* power.h - the switch of a board's power, for boot drivers. Private to the rig room. */
#pragma once

#include "boot.h"

/* minimum off time and a slow switch */
#define POWER_NS (60 * NSEC_PER_SEC)

/* Opens the switch of cfg->rig->power; the power is off then. *ret is set, and the caller's, even
   on failure, unless it could not be opened. */
int power_open(struct waiter *w, const struct boot_cfg *cfg, struct stick_switch **ret,
	       struct err *e) must_check;
/*
 * The target fell silent, and e says that its kernel hangs: not the kernel's fault if the power is
 * gone. Returns -e->code.
 */
int power_blame(struct stick_switch *power, struct err *e);
