/* SPDX-License-Identifier: GPL-2.0-or-later */
/* power.h - the switch of a board's power, for boot drivers. Private to the rig room. */
#pragma once

#include "boot.h"

/* minimum off time and a slow switch */
#define POWER_NS (60 * NSEC_PER_SEC)

/* Opens the switch of rig->power and cuts the power; keep_fd as for switch_cfg_open(). *ret is set,
   and the caller's, even on failure, unless it could not be opened. */
int power_open(struct waiter *w, const struct rig_cfg *rig, int keep_fd, struct stick_switch **ret,
	       struct err *e) must_check;
/* Cuts the power; what hinders it is logged only: nothing more can be done. NULL is fine. */
void power_cut(struct waiter *w, struct stick_switch *power);
/*
 * The target did not come up, for the reason that e gives: if it fell silent and its power is gone,
 * that was it. Returns -e->code.
 */
int power_blame(struct stick_switch *power, struct err *e);
