/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_qmp.h - what is plugged into a virtual rig: device_del and device_add. Private to the rig
 * room.
 */
#pragma once

#include "qmp.h"
#include "rig/switch.h"

struct switch_qmp_device {
	const char *id;     /* of the device */
	const char *driver; /* "usb-storage", "usb-hub" */
	const char *bus;    /* "xhci.0" */
	const char *port;   /* "1"; "1.2" is port 2 of the hub that is plugged into 1 */
	const char *node;   /* of the block device, which outlives the stick; NULL = a hub */
	const char *serial; /* of a stick */
};

#define SWITCH_QMP_DEVICES_MAX 3 /* a hub, the stick, its neighbour */

/* Devices in the order in which they are plugged in; one of them is what is cut. */
struct switch_qmp_cfg {
	struct switch_qmp_device devices[SWITCH_QMP_DEVICES_MAX];
	size_t n;
	size_t cut; /* index; what is behind it goes away with it, the others stay */
};

extern const struct switch_ops switch_qmp_ops;

/* All start unplugged. q must live longer. Copies cfg's texts. */
void *switch_qmp_new(struct qmp *q, const struct switch_qmp_cfg *cfg, struct waiter *w);
