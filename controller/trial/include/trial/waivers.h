/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waivers.h - a file of waived incidents:
 *
 *   waivers:
 *     - class: warning
 *       match: "drivers/usb/core/urb.c:* usb_submit_urb"
 *       release: "6.1.*"
 *       reason: "harmless on this board, reported upstream"
 */
#pragma once

#include "base/err.h"
#include "console/waiver.h"

#define WAIVERS_MAX 256

struct waivers;

/*
 * ERR_CONFIG with "file:line:column: key: 'value': why": unreadable file, unknown or missing keys,
 * a class that is none or condemns nobody anyway, an empty match or reason, more than WAIVERS_MAX.
 */
int waivers_load(const char *path, struct waivers **ret, struct err *e) must_check;
/* Accepts NULL. */
void waivers_free(struct waivers *w);
DEFINE_AUTO(waivers, struct waivers *, waivers_free)
#define auto_waivers AUTO(waivers)

/* Valid as long as w. */
const struct console_waiver *waivers_list(const struct waivers *w, size_t *ret_n);
