/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_driver.h - what a database must be able to do for db.c. Only db*.c include it. */
#pragma once

#include "base/strbuf.h"
#include "db.h"

enum db_type { DB_TYPE_TEXT, DB_TYPE_INT, DB_TYPE_REAL, DB_TYPE_BYTES };

struct db_value {
	enum db_type type; /* also of a NULL */
	bool is_null;
	int64_t i64;
	double real;
	const void *bytes; /* of a text, too; not owned */
	size_t n;
};

/* First member of a driver's own struct; made and freed by the driver. */
struct db_statement {
	char *sql; /* as written, owned by db.c */
	bool is_in_use;
	bool is_cached;
	bool has_run;
	uint64_t last_use;
	struct db_value params[DB_PARAMS_MAX];
	unsigned n_params;
};

#define DB_CACHE_MAX 128

#define DB_DEFAULT_PATIENCE_MS 10000

/* First member of a driver's own struct. */
struct db {
	const struct db_ops *ops;
	enum store_mode mode;
	unsigned patience_ms;
	struct db_statement *cache[DB_CACHE_MAX];
	size_t n_cached;
	uint64_t uses;
	bool is_in_transaction;
	struct waiter *w; /* for pauses between attempts; made when needed */
};

struct db_word {
	const char *word, *means;
};

/* All operations are mandatory unless it says optional. */
struct db_ops {
	enum db_kind kind;
	const char *name;
	const char *section;         /* of {sqlite:…} and {postgres:…} in scripts */
	const struct db_word *words; /* of scripts; ends with a row of NULL */
	bool has_row_locks;

	/* Fills ops, mode and patience_ms; the rest is db.c's. */
	int (*open)(const char *location, enum store_mode mode, struct db **ret, struct err *e);
	/* All statements are freed before. */
	void (*close)(struct db *db);
	void (*patience_changed)(struct db *db);
	int (*version)(struct db *db, int *ret, struct err *e);
	int (*set_version)(struct db *db, int version, struct err *e);
	int (*prepare_write)(struct db *db, struct err *e);
	int (*now)(struct db *db, int64_t *ret_wall_ns, struct err *e);
	int (*state)(struct db *db, int64_t *ret, struct err *e);
	int (*lock_schema)(struct db *db, struct err *e);

	int (*script)(struct db *db, const char *sql, struct err *e);
	int (*begin)(struct db *db, enum db_access access, struct err *e);
	int (*commit)(struct db *db, struct err *e);
	/* After any failure; cannot fail. */
	void (*rollback)(struct db *db);
	/* Optional: makes a connection that was lost again. 0 also if it was not lost. */
	int (*reconnect)(struct db *db, struct err *e);

	/* Optional, all or none. */
	int (*listen)(struct db *db, const char *channel, struct err *e);
	int (*notify)(struct db *db, const char *channel, struct err *e);
	int (*news_fd)(struct db *db);
	bool (*take_news)(struct db *db);

	int (*statement_new)(struct db *db, const char *sql, struct db_statement **ret,
			     struct err *e);
	/* Frees all but sql. */
	void (*statement_free)(struct db *db, struct db_statement *st);
	/* Runs it with st->params if has_run is not set; 1 = a row, 0 = the end. */
	int (*next)(struct db *db, struct db_statement *st, struct err *e);
	/* Optional: see query_run_later(). */
	int (*run_later)(struct db *db, struct db_statement *st, struct err *e);
	/* Rows that the statement has changed; valid after next() gave 0. */
	int64_t (*rows_changed)(struct db *db, struct db_statement *st);
	/* Gives rows and parameters back; the statement can run again. */
	void (*reset)(struct db *db, struct db_statement *st);

	bool (*column_is_null)(struct db_statement *st, unsigned column);
	int64_t (*column_i64)(struct db_statement *st, unsigned column);
	double (*column_real)(struct db_statement *st, unsigned column);
	/* NULL for NULL. */
	const char *(*column_text)(struct db_statement *st, unsigned column);
	const void *(*column_bytes)(struct db_statement *st, unsigned column, size_t *ret_n);
};

extern const struct db_ops db_sqlite_ops;
#ifdef STALLRIG_HAS_POSTGRES
extern const struct db_ops db_postgres_ops;
#endif
