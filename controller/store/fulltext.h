/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fulltext.h - words in the titles of incidents: FTS5 in SQLite, tsvector in PostgreSQL. A word is
 * what lies between signs that are no letters or digits; case does not matter. Private to the room.
 */
#pragma once

#include "db.h"

/* For a title that has just been added. PostgreSQL does that itself. */
int fulltext_add(struct db *db, int64_t incident_title, const char *cls, const char *title,
		 struct err *e) must_check;

/* A condition on incident_titles with the parameter $1, which fulltext_query() makes. */
const char *fulltext_condition(const struct db *db);

/*
 * What a user typed, as the parameter: all its words must be there, the last one may go on. NULL if
 * it holds no word. Caller frees.
 */
char *fulltext_query(const struct db *db, const char *typed);
