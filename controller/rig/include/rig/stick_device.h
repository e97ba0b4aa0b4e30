/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stick_device.h - a stick in one's hand: its content is made and checked on this machine before it
 * goes to the bench. device is a whole disk ("/dev/sdb"), or a file that stands for one.
 */
#pragma once

#include "base/fdio.h"
#include "rig/rig.h"

/*
 * Makes cfg's file system and file on the device; everything on it is lost. A file that is not
 * there is made with the stick's size. Needs room for the file's content in path_state(). Blocks
 * for minutes on a real stick. ret_sha256: of the file as it was read back, what content_sha256
 * must be.
 *
 * ERR_USAGE, and nothing is touched: no whole disk, not on USB, another USB serial number than
 * cfg's, too small, in use (-EBUSY). ERR_RIG: a missing program and its package, or the stick did
 * not keep what was written.
 */
int stick_device_prepare(const struct rig_cfg *cfg, struct waiter *w, const char *device,
			 char ret_sha256[SHA256_HEX_SIZE], struct err *e) must_check;
/*
 * Reads cfg's file off the device, which may be in use only if nobody writes. ERR_RIG: another
 * stick, another file system, no such file, another content than content_sha256 (-EBADMSG). Without
 * a content_sha256 in cfg the expected one is that of stick_device_prepare().
 */
int stick_device_verify(const struct rig_cfg *cfg, struct waiter *w, const char *device,
			char ret_sha256[SHA256_HEX_SIZE], struct err *e) must_check;
