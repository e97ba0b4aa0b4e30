/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.h - what starts and ends a target. Private to the rig room.
 *
 * Lifecycle: start() makes a machine whose console and link are connected but whose CPUs stand
 * still; run() lets them go, so that no console byte is missed. close() is called if and only if
 * start() succeeded, and leaves nothing running.
 */
#pragma once

#include "rig/rig.h"

struct boot_cfg {
	const struct rig_cfg *rig;
	const char *kernel; /* paths */
	const char *initrd;
	const char *stick;
	const char *command_line;
	const char *run_dir; /* for qemu.log */
};

enum boot_state {
	BOOT_RUNS,
	BOOT_ENDED_BY_TARGET, /* its kernel reset or powered off the machine */
	BOOT_ENDED            /* on request, or by itself */
};

struct boot_ops {
	const char *driver; /* "qemu" */
	/* Whether what it needs on this machine is there; ERR_RIG/-ENOENT names what is not. */
	int (*check)(struct waiter *w, const struct rig_cfg *cfg, struct err *e);
	int (*start)(struct waiter *w, const struct boot_cfg *cfg, void **ret_self, struct err *e);
	int (*run)(void *self, struct err *e);
	/* Stay with the machine; readable and writable streams, non-blocking. */
	int (*console_fd)(void *self);
	int (*link_fd)(void *self);
	/* The switch of the machine's stick, which is unplugged at first. */
	void (*make_switch)(void *self, const struct switch_ops **ret_ops, void **ret_self);
	/* Does not block. *ret_how (may be NULL): how it ended, caller frees; untouched if it runs.
	 */
	enum boot_state (*state)(void *self, char **ret_how);
	/* Ends the machine within seconds, whatever it does. */
	void (*stop)(void *self);
	void (*close)(void *self);
};

extern const struct boot_ops boot_qemu_ops;

/* NULL if there is none of that name. */
const struct boot_ops *boot_find(const char *driver);
