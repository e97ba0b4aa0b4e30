/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults.h - faults of a rig on purpose, by seeded chance: how the rest of the product is shown to
 * notice. Used by tests and by `run --faults`.
 */
#pragma once

#include "rig/switch_fault.h"

/* Of the console: probabilities for each read of the port, once the target is up. */
struct port_faults {
	double fail;  /* the other end goes away, as an adapter that is pulled out */
	double shorn; /* key "short": the end of what came is lost, at least a byte */
	double late;  /* it is handed on late_ns later, and what follows behind it */
	double lie;   /* one bit is wrong */
	double stuck; /* nothing comes any more in this boot */
	double flood; /* PORT_FLOOD_BYTES of noise come behind it */
	nsec_t late_ns;
	uint64_t seed;
};
#define PORT_FLOOD_BYTES 65536

/* Of a boot: probabilities for each. */
struct boot_faults {
	double fail;  /* the power does not come */
	double late;  /* it comes late_ns later */
	double lie;   /* the kernel's banner on the console is another kernel's */
	double shorn; /* key "short": the power goes again late_ns after it came */
	double stuck; /* it does not come, and nobody says so until the boot's time is over */
	double flood; /* PORT_FLOOD_BYTES of noise come before the console's first byte */
	nsec_t late_ns;
	uint64_t seed;
};

struct rig_faults {
	struct switch_faults stick_switch;
	struct port_faults console;
	struct boot_faults boot;
};

/*
 * "lie=1.0,late=0.2,late_ms=500,console.short=0.01,boot.fail=0.5,seed=42": keys without a dot are
 * the switch's, the seed is everybody's; what is not named is 0 (late_ms: 500). ERR_USAGE names the
 * unknown key or the wrong value.
 */
int rig_faults_parse(const char *text, struct rig_faults *ret, struct err *e) must_check;
