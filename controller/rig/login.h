/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * login.h - from a login prompt on the console to a shell that takes commands. Private to the rig
 * room.
 *
 * The shell is asked for no more than POSIX has, and gzip, sha256sum, base64, so busybox and Debian
 * do. Its line editor is out of the way: commands are read by a loop, whole lines of up to
 * LOGIN_LINE_MAX bytes, without an echo. Each line begins with its own SHA-256 (16 digits): what
 * did not arrive whole is not executed, which an echo could only tell afterwards.
 */
#pragma once

#include "rig/login_cfg.h"
#include "talk.h"

/* A terminal that is read line by line keeps 4095 bytes of one (N_TTY_BUF_SIZE). */
#define LOGIN_LINE_MAX 3800
/* How often a user and password are tried. */
#define LOGIN_TRIES 2

struct login {
	struct waiter *w;
	struct port *port;
	struct talk *talk;
	const struct login_cfg *cfg;
	const char *password; /* NULL = none; not owned */
	unsigned tx_byte_us;  /* pacing that is in force: raised when characters get lost */
	unsigned n_commands;
	unsigned n_repeated;    /* commands that were sent again */
	unsigned console_level; /* of the target before it was lowered */
};

/*
 * Logs in and lowers the console's log level, so that printk cuts no answer. ERR_RIG: -EACCES the
 * user was refused or is not root, -ENOEXEC what gave the prompt is no shell, -ETIMEDOUT with what
 * was seen last. ERR_KERNEL: the kernel panicked meanwhile. The password is sent only to its
 * prompt, and if the target sends it back, "***" is what everybody else gets to hear.
 */
int login_enter(struct login *l, nsec_t deadline_ns, struct err *e) must_check;
/*
 * One command, which must not mind being executed again: it is sent again, more slowly if it did
 * not arrive whole, when no answer comes. reply_ns: how long that may take. ret_output (may be
 * NULL) gets what it printed, with whatever the kernel printed between. ERR_RIG/-EREMOTEIO: its
 * exit status was not 0, which quotes what it said last; -ETIMEDOUT: no answer.
 */
int login_do(struct login *l, const char *command, nsec_t reply_ns, struct strbuf *ret_output,
	     struct err *e) must_check;
/* Puts the log level back and replaces the shell by the command. Does not wait. */
int login_exec(struct login *l, const char *command, struct err *e) must_check;
