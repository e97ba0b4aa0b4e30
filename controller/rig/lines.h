/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines.h - a switch made of lines: VBUS, and maybe data and discharge. The one place that knows
 * the order: data is cut before VBUS and restored after it; VBUS is never pulled down while it is
 * driven. Private to the rig room.
 */
#pragma once

#include "rig/switch_cfg.h"

enum line_role { LINE_VBUS, LINE_DATA, LINE_DISCHARGE, LINE_ROLE_MAX };

/* What drives the lines. Active: VBUS driven, data connected, VBUS pulled down. */
struct line_ops {
	const char *driver;
	unsigned caps;
	/* Mandatory. Called only for lines that are there. */
	int (*set)(void *self, enum line_role role, bool is_active, struct err *e);
	/* Mandatory. What the line is; SWITCH_UNKNOWN if that cannot be said. */
	enum switch_state (*get)(void *self, enum line_role role);
	/* Both NULL without SWITCH_CAN_SENSE. Is VBUS there? */
	enum switch_state (*sense)(void *self);
	/* The time of the last change that sense saw. */
	nsec_t (*sensed_ns)(void *self);
	/* NULL = cannot be known. True while too much current flows, or did since it was asked
	   last. */
	bool (*is_over_current)(void *self);
	/* Mandatory. */
	void (*close)(void *self);
};

/*
 * Makes a switch of lines; takes lines over. has: which roles are there, VBUS always. cfg gives the
 * times and is copied. *ret_ops belongs to *ret_self.
 */
void lines_new(const struct line_ops *ops, void *lines, const bool has[LINE_ROLE_MAX],
	       const struct switch_cfg *cfg, struct waiter *w, const struct switch_ops **ret_ops,
	       void **ret_self);
/*
 * For the driver when its over-current line goes active: cuts at once if it is on. Until the next
 * set(OFF) the switch does not go on again and its state is unknown. ret_self of lines_new().
 */
void lines_trip(void *self);
