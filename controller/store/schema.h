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

/*
 * The tables in an order in which each one comes after those that it refers to. Derived ones (full
 * text) are not among them. Ends with NULL.
 */
extern const char *const schema_tables[];
