/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uboot.h - U-Boot's command line over the console. Private to the rig room. */
#pragma once

#include "rig/uboot_cfg.h"
#include "talk.h"

struct uboot_shell {
	struct waiter *w;
	struct port *port;
	struct talk *talk;
	const struct uboot_cfg *cfg;
	unsigned tx_byte_us; /* pacing that is in force: raised when characters get lost */
	bool may_be_there;   /* the loader's banner may have passed: keys are sent from the start */
	unsigned n_commands;
};

/*
 * From power-on to a prompt that answers: stops autoboot, whatever stands on the line. ERR_RIG:
 * -ENODATA nothing was heard at all, -ETIMEDOUT no prompt by deadline_ns, -ECANCELED a kernel was
 * started instead, -ELOOP its banner came UBOOT_BANNERS_MAX times (SPL has one, too) and no prompt.
 *
 * Noise on the line is met by asking again: a prompt or a status that came garbled, a return that
 * was not heard. Errors of all these functions have a reason, see "Where a boot stopped" in
 * docs/board.md.
 */
#define UBOOT_BANNERS_MAX 6
int uboot_catch(struct uboot_shell *u, nsec_t deadline_ns, struct err *e) must_check;
/*
 * One command and its exit status, which goes to ret_status; ret_output (may be NULL) gets what it
 * printed. A command whose echo is not what was typed is not executed but typed again, more slowly,
 * up to UBOOT_TYPE_TRIES times. ERR_RIG; -ELOOP: the boot loader began anew meanwhile.
 */
#define UBOOT_TYPE_TRIES 4
int uboot_command(struct uboot_shell *u, const char *command, nsec_t deadline_ns,
		  unsigned *ret_status, struct strbuf *ret_output, struct err *e) must_check;
/* uboot_command() that must succeed: else ERR_RIG/-EREMOTEIO quotes the last line it printed. */
int uboot_do(struct uboot_shell *u, const char *command, nsec_t deadline_ns,
	     struct err *e) must_check;
/* Sets a variable of any length, for this boot only. ERR_RIG/-EINVAL for bytes that cannot be. */
int uboot_set(struct uboot_shell *u, const char *name, const char *value, nsec_t deadline_ns,
	      struct err *e) must_check;
/* Fetches a file of that many bytes to addr; ERR_RIG/-EREMOTEIO also if another number came. */
int uboot_fetch(struct uboot_shell *u, const char *addr, const char *file, uint64_t bytes,
		nsec_t deadline_ns, struct err *e) must_check;
/*
 * A command that does not come back, like booti. Returns 0 once "Starting kernel" was said; ERR_RIG
 * with U-Boot's complaint if the prompt came back, -ENOEXEC (ERR_KERNEL) if it is about the image.
 */
int uboot_go(struct uboot_shell *u, const char *command, nsec_t deadline_ns,
	     struct err *e) must_check;
