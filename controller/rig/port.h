/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port.h - the console's bytes, as they come. Private to the rig room. */
#pragma once

#include "rig/rig.h"

struct port;

/*
 * Reads fd (connected, non-blocking; not owned) through the waiter and hands every byte to fn with
 * the host's time just after the read.
 */
int port_open(struct waiter *w, int fd, rig_console_fn fn, void *self, struct port **ret,
	      struct err *e) must_check;
/* Accepts NULL. */
void port_close(struct port *p);
/* False after a hang-up; why goes to ret_why (may be NULL; not owned). */
bool port_is_connected(const struct port *p, const char **ret_why);
/* Hands on what is there without waiting: the last words of a machine that has ended. */
void port_drain(struct port *p);
/* Bytes handed on so far. */
uint64_t port_bytes(const struct port *p);
