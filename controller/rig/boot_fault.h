/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_fault.h - a boot with faults on purpose. Private to the rig room. */
#pragma once

#include "port.h"
#include "rig/faults.h"

struct boot_fault;

/* What a boot is done with. */
struct boot_fault_io {
	struct waiter *w;
	struct port *port;
	void (*stop)(void *self); /* ends the machine, as boot_ops.stop */
	void *self;
};

/*
 * Draws what this boot meets, and meets it: 0 = the machine may be started (maybe later), else the
 * error with which the boot ends, ERR_RIG. What is to happen while the machine boots (lie, short,
 * flood) goes on until boot_fault_free(). rng goes on from boot to boot; faults and rng must
 * outlive it. *ret is set on success only.
 */
int boot_fault_meet(const struct boot_faults *faults, struct rng *rng,
		    const struct boot_fault_io *io, nsec_t deadline_ns, struct boot_fault **ret,
		    struct err *e) must_check;
/* Accepts NULL. Before the port and the machine are closed. */
void boot_fault_free(struct boot_fault *f);
