/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deb_version.h - order of Debian versions, and which kernel package belongs to which series. */
#pragma once

#include <stdbool.h>

/*
 * Order of deb-version(7): [epoch:]upstream[-revision]; '~' sorts before the end, digits by value.
 * Negative, 0 or positive. Any text is allowed.
 */
int deb_version_cmp(const char *a, const char *b);

/* "amd64" for "x86_64", else the name itself. */
const char *deb_arch_name(const char *arch);

/*
 * True if the package name (e.g. "linux-image-6.1.0-57-amd64") is a stock kernel of deb_arch that
 * the spec asks for: a series ("6.1"), a release with ("6.1.0-57-amd64") or without its arch
 * ("6.1.0-57"). Other flavours (-rt, -cloud, -16k, -dbg, -unsigned) never match.
 */
bool deb_kernel_matches(const char *package, const char *spec, const char *deb_arch);
