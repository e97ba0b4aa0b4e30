/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_watch.h - how far a kernel comes, read off the console of a target that cannot be asked.
 * Private to the rig room. Used by boot drivers: begin before power-on, await once the kernel is to
 * start, end before the port closes.
 */
#pragma once

#include "port.h"

#define KERNEL_WATCH_LINE_MAX 512

/*
 * The words that user space is up by may be lost on the console. Whoever is there then can be
 * asked: once the kernel was heard and the console has been quiet for so long, or has not been for
 * four times as long.
 */
struct user_space_ask {
	/* 1 = there is an answer, 0 = none by until_ns, negative = the wait was ended. NULL =
	   nobody can be asked. */
	int (*fn)(void *self, nsec_t until_ns, struct err *e);
	void *self;
	nsec_t quiet_ns;
};

struct kernel_watch {
	/* set before begin; texts live as long as the watch */
	const char *begins_with; /* a line that begins like this: the kernel was started; NULL = it
				    is from the first byte on */
	const char *loader;      /* a line that begins like this afterwards: the board was reset;
				    NULL = only a second banner says so */
	const char *prompt;      /* user space asks this without a line end (a login); NULL = the
				    line of the product's own init */
	struct user_space_ask ask;
	struct waiter *w;
	struct port *port;
	char line[KERNEL_WATCH_LINE_MAX]; /* what can be printed of it … */
	size_t len;
	char raw[KERNEL_WATCH_LINE_MAX]; /* … and all of it, without CRs */
	size_t raw_len;
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
	nsec_t user_space_ns, asked_ns; /* 0 = not yet */
	/* signs that the console is damaged, since the kernel was heard */
	uint64_t garbage;       /* bytes that no text has */
	uint64_t broken_stamps; /* of the kernel's lines */
	uint64_t losses_before; /* of the port */
};

/* Listens on the port from now on. */
int kernel_watch_begin(struct kernel_watch *wt, struct waiter *w, struct port *port,
		       struct err *e) must_check;
/* Safe to repeat, and without a begin. Must come before port_close(). */
void kernel_watch_end(struct kernel_watch *wt);
/*
 * Waits until user space is up: it says so, or answers when it is asked. ERR_KERNEL: the kernel
 * panicked, reset or powered off the board, or came to no user space by deadline_ns. ERR_RIG:
 * nothing was heard, no kernel was started, it was not build (-ESTALE), its user space does not
 * come up to the prompt, the console is damaged so that nobody can tell, or the machine ended
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
