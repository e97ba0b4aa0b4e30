/* SPDX-License-Identifier: GPL-2.0-or-later */
/* copy.h - everything of one store into another one, whatever databases they are. */
#pragma once

#include "store/store.h"

struct store_copy_hooks {
	/* a table is done: rows copied, or compared when is_check */
	void (*table)(void *self, const char *table, int64_t rows, bool is_check);
	void *self;
};

/*
 * Copies all rows of from (one state of it, however many write meanwhile) into to, which must hold
 * no run, job or other row yet (ERR_USAGE/-EEXIST), in one transaction; then reads both again and
 * compares each cell (-EBADMSG names table and row of the first difference). Numbers of rows stay
 * what they are. hooks may be NULL. *ret_rows: rows copied. While it is compared nobody may change
 * the two.
 */
int store_copy(struct store *from, struct store *to, const struct store_copy_hooks *hooks,
	       int64_t *ret_rows, struct err *e) must_check;
