/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_target_port.h - a switch that is the target itself: its agent has the kernel close the
 * port. Nothing electrical happens and no hub reports a change, so the disconnect runs in another
 * context than that of a plug pulled out (SWITCH_IS_SOFT). Private to the rig room.
 */
#pragma once

#include "rig/link.h"
#include "rig/switch.h"

/*
 * link must outlive the switch and answer only from the first change on. usb_path: of the stick,
 * "2-1". plug_ops/plug (NULL = it is plugged in already): what plugs the stick in at the first
 * SWITCH_ON and is left alone from then on; taken over.
 */
void switch_target_port_new(struct link *link, const char *usb_path,
			    const struct switch_ops *plug_ops, void *plug, struct waiter *w,
			    const struct switch_ops **ret_ops, void **ret_self);
