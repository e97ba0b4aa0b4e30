/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch.h - what connects and cuts a stick.
 *
 * A driver is a `struct switch_ops` with a `self`. The limits (minimum off time, settle time, cycle
 * budget) are kept here, above the drivers, so that no driver can forget them.
 *
 * Lifecycle: close() is called if and only if open succeeded; set() and sense() are never called
 * after close(). switch_close() leaves the configured safe state, the driver's close() nothing but
 * what it found.
 */
#pragma once

#include "base/waiter.h"

enum switch_state { SWITCH_OFF, SWITCH_ON, SWITCH_UNKNOWN };

enum switch_caps {
	SWITCH_CAN_READBACK = 1 << 0, /* get() is more than a memory of set() */
	SWITCH_CAN_SENSE = 1 << 1,    /* sense() measures independently of the command path */
	SWITCH_CUTS_DATA = 1 << 2,
	SWITCH_PER_PORT = 1 << 3,
	SWITCH_IS_TIMED = 1 << 4, /* set_ns of a change is exact to the ms */
	SWITCH_IS_SOFT = 1 << 5, /* the target's own software unplugs: nothing electrical happens */
	SWITCH_IS_GUARDED = 1 << 6, /* a guardian keeps the safe state if this process dies */
};

struct switch_change {
	nsec_t asked_ns;   /* just before the command left */
	nsec_t applied_ns; /* when the switch was known to have changed: sense, or the reply */
	bool is_sensed;    /* applied_ns comes from sense, not from a claim */
};

struct switch_ops {
	const char *driver; /* "qmp" */
	unsigned caps;
	/* Mandatory. Blocks until the change is complete or deadline_ns; ERR_RIG on failure. */
	int (*set)(void *self, enum switch_state state, nsec_t deadline_ns,
		   struct switch_change *ret, struct err *e);
	/* Mandatory. What the switch claims. */
	enum switch_state (*get)(void *self);
	/* NULL without SWITCH_CAN_SENSE. What was measured. */
	enum switch_state (*sense)(void *self);
	/* Mandatory. Lets go of the hardware as it is and frees self; never fails. */
	void (*close)(void *self);
};

struct switch_limits {
	nsec_t min_off_ns;
	nsec_t settle_ns;    /* waited after each change */
	uint64_t max_cycles; /* 0 = no budget */
	/* Those of former uses, of the most worn part; its name in errors, "stick 'S1'". Not owned;
	   NULL = the switch itself. */
	uint64_t cycles_before;
	const char *worn;
	/* What switch_close() leaves; SWITCH_UNKNOWN = as it is. */
	enum switch_state safe;
};

/* How often the parts of a switched plug have been cut in their lives. */
struct switch_wear {
	uint64_t switch_cycles, stick_cycles;
};

#define SWITCH_SAFE_NS (1 * NSEC_PER_SEC) /* to the safe state at the end, at most */

/* "off", "on", "unknown". */
const char *switch_state_name(enum switch_state state);

struct stick_switch;

/* Takes self over. name appears in errors. */
struct stick_switch *switch_new(const char *name, const struct switch_ops *ops, void *self,
				const struct switch_limits *limits, struct waiter *w);
/* Goes to the safe state, without regard to limits, and frees. Accepts NULL. */
void switch_close(struct stick_switch *sw);
/* From now on switch_close() leaves the state as it is. */
void switch_keep(struct stick_switch *sw);
const struct switch_ops *switch_driver(const struct stick_switch *sw);
const char *switch_name(const struct stick_switch *sw);
/*
 * Keeps min_off_ns before switching on, refuses a cycle over budget (-EDQUOT; those before count),
 * does nothing if the state is what get() says already (then *ret has applied_ns 0). ret may be
 * NULL.
 */
int switch_set(struct stick_switch *sw, enum switch_state state, nsec_t deadline_ns,
	       struct switch_change *ret, struct err *e) must_check;
enum switch_state switch_get(struct stick_switch *sw);
/* SWITCH_UNKNOWN if the driver cannot sense. */
enum switch_state switch_sense(struct stick_switch *sw);
uint64_t switch_cycles(const struct stick_switch *sw);
