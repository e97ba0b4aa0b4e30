/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port_fault.h - a console port with faults on purpose. Private to the rig room. */
#pragma once

#include "port.h"
#include "rig/faults.h"

struct port_fault;

/* PORT_FLOOD_BYTES of noise. */
void port_fault_noise(struct rng *rng, char ret[PORT_FLOOD_BYTES]);

/*
 * From now on what the port receives has these faults before anybody gets it. faults and rng must
 * live longer; rng goes on from boot to boot. To be freed before the port is closed.
 */
struct port_fault *port_fault_new(struct port *p, const struct port_faults *faults, struct rng *rng,
				  struct waiter *w);
/* Hands on what is late. Accepts NULL. */
void port_fault_free(struct port_fault *f);
