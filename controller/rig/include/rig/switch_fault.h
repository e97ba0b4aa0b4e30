/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_fault.h - wraps any switch and makes it fail, lie or come late. See faults.h. */
#pragma once

#include "base/rng.h"
#include "rig/switch.h"

struct switch_faults {
	double fail;  /* probability that a change fails without being tried */
	double lie;   /* … that it reports success and does nothing */
	double late;  /* … that it is done late_ns after it was asked for */
	double shorn; /* key "short": it is done and undone at once, and reported as done */
	double stuck; /* nothing happens, which is told when the change's time is over */
	double flood; /* the contact bounces SWITCH_FLOOD_BOUNCES times before it rests */
	nsec_t late_ns;
	uint64_t seed;
};

#define SWITCH_FLOOD_BOUNCES 3

struct switch_fault_state {
	struct rng rng;
	bool is_armed; /* false: every change is passed on as it is and not counted */
	uint64_t sets, failed, lied, late, shorn, stuck, flooded; /* what has happened so far */
};

/* Armed, nothing counted. */
void switch_fault_init(struct switch_fault_state *state, const struct switch_faults *faults);

/*
 * Replaces *ops and *self with those of a switch that takes the former over. faults and state are
 * not copied: state goes on counting over several switches. The wrapped switch's sense() keeps
 * telling the truth; get() tells what was claimed.
 */
void switch_fault_wrap(const struct switch_ops **ops, void **self,
		       const struct switch_faults *faults, struct switch_fault_state *state,
		       struct waiter *w);
