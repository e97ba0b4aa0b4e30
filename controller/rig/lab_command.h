/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_command.h - a lab's own command, as a rig's file gives it: a list of words. */
#pragma once

#include "base/err.h"
#include "base/waiter.h"

/*
 * Runs it to its end; with its process group it is ended when timeout_ns is over. env: "NAME=value"
 * beside this program's environment, ended by NULL; may be NULL. Nothing to do without words. Any
 * failure is ERR_RIG, unless the wait was ended, and names the key.
 */
int lab_command_run(struct waiter *w, const char *key, char *const *words, unsigned n,
		    const char *const *env, nsec_t timeout_ns, struct err *e) must_check;
