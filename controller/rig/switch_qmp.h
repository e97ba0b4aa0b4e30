/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_qmp.h - the stick of a virtual rig: device_del and device_add. Private to the rig room.
 */
#pragma once

#include "qmp.h"
#include "rig/switch.h"

struct switch_qmp_cfg {
	const char *id;     /* of the device */
	const char *driver; /* "usb-storage" */
	const char *bus;    /* "xhci.0" */
	unsigned port;
	const char *node; /* of the block device, which outlives the stick */
	const char *serial;
};

extern const struct switch_ops switch_qmp_ops;

/* The stick starts unplugged. q must live longer. Copies cfg's texts. */
void *switch_qmp_new(struct qmp *q, const struct switch_qmp_cfg *cfg, struct waiter *w);
