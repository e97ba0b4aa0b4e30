/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upload.h - files go to the target over its console, to a shell that login.h has opened. Private
 * to the rig room.
 *
 * A file is compressed and cut into blocks of UPLOAD_BLOCK bytes; each is one command with its own
 * check sum, so a block that a lost character or the kernel's own words have damaged is sent again.
 * The target says after each which one it wants next: half a file goes on where it stopped, also
 * after a loss of the console or, in a folder that lasts, after a reboot. A whole file is known by
 * its SHA-256, which is its name there, and is not sent twice.
 */
#pragma once

#include "kernels/kernels.h"
#include "login.h"

/* 3000 characters of base64: a line of a terminal has room for 4095. */
#define UPLOAD_BLOCK 2250
/* Files that are kept on the target: the ones used last. */
#define UPLOAD_KEPT 256

struct upload {
	struct login *login;
	unsigned baud;                              /* of the console, 0 = no line rate */
	void (*tell)(void *self, const char *text); /* progress for a person; may be NULL */
	void *self;
	/* what it came to */
	uint64_t sent_bytes;    /* of lines, as they went over the console */
	unsigned n_sent, n_had; /* files */
};

/*
 * Sees to it that the target has each file under <folder>/<sha256>. ERR_RIG: -EFBIG more than
 * login.upload_max_kib, -ETIMEDOUT not done within login.upload_timeout_s, -EREMOTEIO the target
 * cannot (no room, a folder that cannot be written, a tool that is missing), with what it said.
 */
int upload_files(struct upload *u, const struct target_files *files, struct err *e) must_check;
