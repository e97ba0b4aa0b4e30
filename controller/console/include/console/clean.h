/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clean.h - takes terminal control and garbage out of a line. Pure. */
#pragma once

#include "base/util.h"

/*
 * Copies in[0..len) to out (room for len bytes) without escape sequences, control bytes and what is
 * no UTF-8. Returns the length; counts the bytes that no console text has: NUL, 0x7f, other control
 * bytes that terminals do not use, stray bytes above 0x7f.
 */
size_t clean_text(const char *in, size_t len, char *out, uint64_t *ret_garbage);
