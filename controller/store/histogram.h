/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * histogram.h - a histogram as bytes: of each bucket in ascending order three numbers, how far it
 * begins behind the end of the one before (of the first: behind 0), its width, both in ns, and its
 * count. Numbers are unsigned LEB128 (7 bits a byte, the lowest first, the top bit says that more
 * follow). Private to the room; pure.
 */
#pragma once

#include "base/strbuf.h"
#include "trial/trial.h"

void histogram_pack(const struct trial_histogram *h, struct strbuf *out);
/* Adds to the probe's histogram. False if the bytes cannot be one. */
bool histogram_unpack(const void *bytes, size_t n, const char *probe, struct trial *ret);
