/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_watch.h - looks for texts on the console that say that the machine under the kernel is
 * broken ("nobody cared"). Pure: fed with the bytes of one boot, however they are cut. Private to
 * the room.
 */
#pragma once

#include "base/util.h"

#define MACHINE_WATCH_LINE_MAX 512 /* what is behind that of a line is not looked at */

struct machine_watch {
	char *const *texts; /* not owned */
	unsigned n_texts;
	char line[MACHINE_WATCH_LINE_MAX];
	size_t len;
	char found[160]; /* the first line with one of them; "" = none */
};

void machine_watch_init(struct machine_watch *m, char *const *texts, unsigned n_texts);
void machine_watch_feed(struct machine_watch *m, const void *bytes, size_t n);
