/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema.h - the tables, and how an older store gets them. Private to the room. */
#pragma once

#include "db.h"

extern const int schema_newest;

/*
 * A writer gets the newest schema, made or brought up to date in one transaction; a reader's must
 * be the newest already (-EPROTO, or -EBADMSG for an empty one). A newer one is -ENOTSUP for both.
 */
int schema_prepare(struct db *db, struct err *e) must_check;

/* A table of the store, for who copies them all. */
struct schema_table {
	const char *name;
	const char *key;  /* columns of its primary key, with ", " between them */
	bool is_numbered; /* its key is a number of its own */
};

/* In an order in which each one comes after those that it refers to. Derived ones (full text) are
   not among them. Ends with a row of NULL. */
extern const struct schema_table schema_tables[];
