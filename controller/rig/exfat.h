/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exfat.h - one file in the root folder of an exFAT volume, without mounting it: no package has a
 * program for that. After "exFAT file system specification" (Microsoft, 2019). Private to the rig
 * room.
 */
#pragma once

#include "base/err.h"

/*
 * Writes the file at `from` to a volume that was made just now, as `name` (ASCII, at most 255
 * bytes), in one piece. ERR_INTERNAL: no exFAT, no room, a file of that name. Blocks while it is
 * written.
 */
int exfat_put(const char *image, const char *name, const char *from, struct err *e) must_check;
/* Reads a file of the root folder into `to`, wherever its pieces lie. ERR_INTERNAL/-ENOENT. */
int exfat_get(const char *image, const char *name, const char *to, struct err *e) must_check;
