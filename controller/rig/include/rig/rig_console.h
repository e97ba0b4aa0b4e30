/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig_console.h - a rig's console by hand, without its target: what `stallrig console` opens. */
#pragma once

#include "rig/rig.h"

struct rig_console;

/*
 * Takes the rig's lock without waiting and opens its console port; cfg must live longer. fn gets
 * every byte, from inside waits. ERR_USAGE: -EBUSY for a rig that is held (by whom is said),
 * -ENOTSUP for a target in QEMU, which has a console only while it runs. ERR_RIG: the port.
 */
int rig_console_open(const struct rig_cfg *cfg, struct waiter *w, rig_console_fn fn, void *self,
		     struct rig_console **ret, struct err *e) must_check;
/* Accepts NULL. */
void rig_console_close(struct rig_console *c);
DEFINE_AUTO(rig_console, struct rig_console *, rig_console_close)
#define auto_rig_console AUTO(rig_console)

/* As port_write(): queues, does not wait. ERR_RIG. */
int rig_console_send(struct rig_console *c, const void *bytes, size_t n, struct err *e) must_check;
/* Holds the line in break for a quarter of a second. -ENOTSUP (ERR_RIG) unless it is serial. */
int rig_console_break(struct rig_console *c, struct err *e) must_check;
/* False while the other end is away; why goes to ret_why (not owned). */
bool rig_console_is_connected(const struct rig_console *c, const char **ret_why);
