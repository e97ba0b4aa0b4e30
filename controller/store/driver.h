/* SPDX-License-Identifier: GPL-2.0-or-later */
/* driver.h - what a database must be able to do for store.c. Only this room includes it. */
#pragma once

#include "store/store.h"

/* First member of a driver's own struct. */
struct store {
	const struct store_ops *ops;
	char *location; /* as given; owned by store.c */
	int schema_version;
};

/* All operations are mandatory. Each one that writes does so in one transaction of its own. */
struct store_ops {
	/* Fills ops and schema_version; location is set by the caller afterwards. */
	int (*open)(const char *location, enum store_mode mode, struct store **ret, struct err *e);
	/* Frees everything but location. */
	void (*close)(struct store *st);
	void (*set_patience)(struct store *st, unsigned patience_ms);
	int (*run_begin)(struct store *st, const struct run *r, struct err *e);
	int (*boot_add)(struct store *st, const struct run *r, const struct trial_boot *b,
			struct err *e);
	int (*trial_add)(struct store *st, const struct run *r, const struct trial *t,
			 struct err *e);
	int (*run_update)(struct store *st, const struct run *r, struct err *e);
	int (*runs)(struct store *st, const struct store_filter *f, bool with_trials,
		    struct run ***ret, size_t *ret_n, struct err *e);
	/* Up to two ids that begin with prefix, an exact match first. Caller frees each. */
	int (*run_ids)(struct store *st, const char *prefix, char *ret_ids[2], size_t *ret_n,
		       struct err *e);
};

extern const struct store_ops store_sqlite_ops;
