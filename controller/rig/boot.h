/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.h - what starts and ends a target. Private to the rig room.
 *
 * Lifecycle: start() makes everything ready and leaves the machine dead or its CPUs standing still,
 * so that no console byte is missed; run() lets it go. close() is called if and only if start()
 * succeeded, and leaves nothing running.
 */
#pragma once

#include "kernel_watch.h"

/* Valid until run() has returned. */
struct boot_cfg {
	const struct rig_cfg *rig;
	const struct kernel_build *build;
	const char *kernel;     /* paths */
	const char *initrd;     /* NULL = the target has a root file system */
	const char *stick;      /* image */
	bool is_stick_writable; /* qemu: by way of a copy that goes with the machine */
	const char *command_line;
	const char *run_dir; /* for qemu.log */
	/* qemu: start this boot loader instead of the kernel; it reaches net_folder by TFTP */
	const char *firmware, *net_folder;
	struct stick_switch *power; /* of a board, which it outlives; NULL = it has none. Off … */
	/* … or on: the target runs, run() resets it instead, and so its RAM keeps what it holds */
	bool is_warm;
	struct user_space_ask ask;    /* of drivers that await user space */
	const struct rig_disk *disks; /* made new and empty in run_dir, NAME.disk */
	unsigned n_disks;
};

enum boot_state {
	BOOT_RUNS,
	BOOT_ENDED_BY_TARGET, /* its kernel reset or powered off the machine */
	BOOT_ENDED            /* on request, or by itself */
};

struct boot_ops {
	const char *driver; /* "qemu" */
	/* run() has seen user space: an agent that does not answer then is not the kernel's doing
	 */
	bool awaits_user_space;
	/* Whether what it needs on this machine is there; ERR_RIG/-ENOENT names what is not. NULL =
	   it needs nothing. */
	int (*check)(struct waiter *w, const struct rig_cfg *cfg, struct err *e);
	int (*start)(struct waiter *w, const struct boot_cfg *cfg, void **ret_self, struct err *e);
	/*
	 * Returns once the kernel is on its way (qemu) or, where the console is needed for it, once
	 * the target's user space says that it is ready. The port lives until after close().
	 * ERR_KERNEL: the kernel came to be executed and did not get there; ERR_RIG: it did not
	 * even come to that, or it was another kernel.
	 */
	int (*run)(void *self, struct port *port, nsec_t deadline_ns, struct err *e);
	/* Stay with the machine; readable and writable streams, non-blocking. -1 = it has none: the
	   rig's console port is used, the agent is reached as link.driver says. NULL as -1. */
	int (*console_fd)(void *self);
	int (*link_fd)(void *self);
	/* The switch of the machine's stick, which is unplugged at first. False = it has none. NULL
	   as false. */
	bool (*make_switch)(void *self, const struct switch_ops **ret_ops, void **ret_self);
	/* See rig_throttle_disk(); NULL = it has no disks. */
	int (*throttle)(void *self, const char *disk, unsigned write_iops, struct err *e);
	/* The process on this host that is the machine; 0 = it is none. NULL as 0. */
	pid_t (*process)(void *self);
	/* Does not block. *ret_how (may be NULL): how it ended, caller frees; untouched if it runs.
	 */
	enum boot_state (*state)(void *self, char **ret_how);
	/* Ends the machine within seconds, whatever it does. */
	void (*stop)(void *self);
	void (*close)(void *self);
};

extern const struct boot_ops boot_qemu_ops, boot_uboot_ops, boot_exec_ops;

/* NULL if there is none of that name. */
const struct boot_ops *boot_find(const char *driver);
