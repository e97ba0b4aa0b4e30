/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strip.h - programs and modules without their debug information. */
#pragma once

#include "kernels/private.h"

/*
 * Takes the debug information out of an ELF file for arch with the strip of its binutils. What has
 * none or is signed stays as it is, and so does everything if strip is not installed or fails: the
 * target takes that too. what: its name, for the log. Fails only if the wait was ended.
 */
int strip_debug(const struct kernels_ctx *ctx, const char *arch, const char *what,
		struct strbuf *file, struct err *e) must_check;
