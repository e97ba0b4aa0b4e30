/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stick.h - the image of a virtual rig's stick: a file system over the whole device with one file
 * of pseudo-random bytes. The same description gives the same image, byte by byte. Private to
 * the rig room.
 */
#pragma once

#include "base/fdio.h"
#include "rig/rig.h"

struct stick_image {
	char *path;                   /* owned */
	char sha256[SHA256_HEX_SIZE]; /* of the file on it, as read back from the image */
};

/*
 * Makes the image of cfg->stick, or finds it in path_cache("sticks"); there it appears whole or
 * not at all. Blocks for seconds the first time. Two processes may ask at once. ERR_CONFIG if the
 * file's SHA-256 is not the one that cfg expects; ERR_RIG names a missing program and its package.
 */
int stick_ensure(const struct rig_cfg *cfg, struct waiter *w, struct stick_image *ret,
		 struct err *e) must_check;
void stick_image_release(struct stick_image *image);

/* What a stick is made of, in a folder where "stick.img" is the image or a link to a device. */

/* A file of that size without data. */
int stick_make_blank(const char *path, unsigned mib, struct err *e) must_check;
/*
 * Writes the file's content to <dir>/content. The same for the same size, so that its SHA-256 is
 * known before it is on a stick.
 */
int stick_content_sha256(const char *dir, const struct rig_cfg *cfg,
			 char ret_sha256[SHA256_HEX_SIZE], struct err *e) must_check;
/* Makes file system and file on stick.img; ret_sha256: as read back. ERR_INTERNAL if it is not what
   was written. */
int stick_fill(const char *dir, const struct rig_cfg *cfg, struct waiter *w,
	       char ret_sha256[SHA256_HEX_SIZE], struct err *e) must_check;
/* Of the file on stick.img. */
int stick_read_back(const char *dir, const struct rig_cfg *cfg, struct waiter *w,
		    char ret_sha256[SHA256_HEX_SIZE], struct err *e) must_check;
