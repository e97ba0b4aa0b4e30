/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bring_in.h - how the agent comes into a target that has a user space of its own: login, upload,
 * start, all over the console. Private to the rig room.
 */
#pragma once

#include "kernels/kernels.h"
#include "port.h"

struct bring_in {
	struct waiter *w;
	struct port *port;
	const struct rig_cfg *rig; /* has a login */
	const struct target_files *files;
	void (*tell)(void *self, const char *text); /* progress for a person; may be NULL */
	void *self;
};

/* From a target that waits for a login to an agent that is about to open the console. ERR_CONFIG:
   the password; else as login_enter() and upload_files(). */
int bring_in_agent(const struct bring_in *b, struct err *e) must_check;
/*
 * Has the agent load the modules in their order; one that is loaded already is fine. ERR_KERNEL:
 * the kernel does not take one; else as link_call().
 */
int bring_in_modules(const struct bring_in *b, struct link *link, struct err *e) must_check;
