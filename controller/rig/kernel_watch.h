/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_watch.h - how far a kernel comes, read off the console of a target that cannot be asked.
 * Private to the rig room. Used by boot drivers: begin before power-on, await once the kernel is to
 * start, end before the port closes.
 */
#pragma once

#include "port.h"

#define KERNEL_WATCH_LINE_MAX 512

struct kernel_watch {
	/* set before begin; texts live as long as the watch */
	const char *begins_with; /* a line that begins like this: the kernel was started; NULL = it
				    is from the first byte on */
	const char *loader;      /* a line that begins like this afterwards: the board was reset;
				    NULL = only a second banner says so */
	const char *prompt;      /* user space asks this without a line end (a login); NULL = the
				    line of the product's own init */
	struct waiter *w;
	struct port *port;
	char line[KERNEL_WATCH_LINE_MAX];
	size_t len;
	bool is_started;       /* the kernel was */
	bool has_banner;       /* "Linux version …" */
	bool is_in_user_space; /* it has started its first process */
	bool is_ready;         /* user space is up */
	bool is_panicked;      /* "Kernel panic - not syncing: …" */
	bool is_reset;         /* the boot loader came again after the kernel was started */
	bool is_down;          /* "reboot: Power down" */
	unsigned n_loaders;    /* banners of the boot loader */
	char banner[KERNEL_WATCH_LINE_MAX];
	char panic[160];
	char last[160]; /* of the kernel, the last line that says something; "" = none */
	nsec_t started_ns, last_ns;
};

/* Listens on the port from now on. */
int kernel_watch_begin(struct kernel_watch *wt, struct waiter *w, struct port *port,
		       struct err *e) must_check;
/* Safe to repeat, and without a begin. Must come before port_close(). */
void kernel_watch_end(struct kernel_watch *wt);
/*
 * Waits until user space is up. ERR_KERNEL: the kernel panicked, reset or powered off the board, or
 * came to no user space by deadline_ns. ERR_RIG: nothing was heard, no kernel was started, it was
 * not build (-ESTALE), its user space does not come up to the prompt, or the machine ended
 * (has_ended(arg), may be NULL). Each has a reason, see docs/board.md.
 */
int kernel_watch_await(struct kernel_watch *wt, const struct kernel_build *build,
		       bool (*has_ended)(void *arg), void *arg, nsec_t deadline_ns,
		       struct err *e) must_check;
/* The kernel was started, even if noise has eaten the line that says so. */
void kernel_watch_started(struct kernel_watch *wt);
/* Whether the kernel was seen to power off or reset the board; how goes to ret_how (may be NULL,
   caller frees). */
bool kernel_watch_has_ended(const struct kernel_watch *wt, char **ret_how);
