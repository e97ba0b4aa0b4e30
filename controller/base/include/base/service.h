/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service.h - what a service manager is told: ready, how it goes, still alive. The protocol is that
 * of sd_notify(3): lines in a datagram to $NOTIFY_SOCKET, signs of life within $WATCHDOG_USEC.
 * Nothing happens where nobody listens. For one process; programs that it starts do not inherit it.
 */
#pragma once

#include "base/waiter.h"

/*
 * Takes the manager's words out of the environment. From then on signs of life are sent from inside
 * each wait, twice in the time that the manager gives, so a program that no longer comes to wait is
 * found. ERR_CONFIG: the manager's address is none.
 */
int service_begin(struct waiter *w, struct err *e) must_check;
/* Everything that a start needs has worked. */
void service_ready(void);
/* One line of what goes on now; control characters become blanks. */
void service_status(const char *text);
/* It ends by itself. */
void service_stopping(void);

/* True if what is written to fd comes into the journal as it is ($JOURNAL_STREAM names it). */
bool service_is_journal(int fd);
