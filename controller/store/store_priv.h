/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_priv.h - what the files of this room share. */
#pragma once

#include "base/parse.h"
#include "db.h"

/* Within a transaction: what changes of a run while it goes on, and its end. -ENOENT if it is not
   there. */
int store_write_run(struct db *db, const struct run *r, struct err *e) must_check;

/* Something in the queue or about a rig has changed. */
#define STORE_QUEUE_CHANNEL "stallrig_queue"

struct store {
	struct db *db;
	char *location; /* without a password */
	int schema_version;
};
