/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db.h - one way to use SQLite and PostgreSQL. Only this room includes it.
 *
 * SQL is written once, in what both understand: parameters are $1, $2, …; numbers are 64 bits wide;
 * truth is 0 or 1; RETURNING gives the key of a new row; "LIMIT $n" with DB_NO_LIMIT is no limit;
 * strpos() finds a text in a text. What differs is spelt as a word in braces in scripts (see
 * db_script()) or hidden behind a function here.
 *
 * Every error is ERR_STORE: -EBUSY (another writer for longer than the patience), -ENOSPC, -EROFS,
 * -EBADMSG (damaged, or not a store), -EEXIST (a key that is there already), -ECONNRESET (the
 * server has gone), -EIO for the rest. All calls block.
 */
#pragma once

#include "store/store.h"

#define DB_PARAMS_MAX 48
#define DB_NO_LIMIT   INT64_MAX

struct db;
struct db_statement;

enum db_kind { DB_SQLITE, DB_POSTGRES };

/* A location as users write it; PostgreSQL's begin with postgres:// or postgresql://. */
bool db_is_postgres(const char *location);
/* The location without a password, for messages. Caller frees. */
char *db_public_location(const char *location);

/* Connects; looks at nothing in it (that is schema.h's). mode is kept: a reader cannot write. */
int db_open(const char *location, enum store_mode mode, struct db **ret, struct err *e) must_check;
/* Accepts NULL. */
void db_close(struct db *db);
/* The name of the database program, for messages: "SQLite", "PostgreSQL". */
const char *db_name(const struct db *db);
/* For what is not hidden behind a function here: full text. */
enum db_kind db_kind(const struct db *db);
enum store_mode db_mode(const struct db *db);
void db_set_patience_ms(struct db *db, unsigned patience_ms);
unsigned db_patience_ms(const struct db *db);

/*
 * Version of the schema, 0 if there is none yet. What is not a store of stallrig is -EBADMSG.
 * db_set_version() belongs into the transaction that changes the schema.
 */
int db_version(struct db *db, int *ret, struct err *e) must_check;
int db_set_version(struct db *db, int version, struct err *e) must_check;
/* Before a first write: what the file or server needs once (WAL, a schema of its own). */
int db_prepare_write(struct db *db, struct err *e) must_check;
/* Within a transaction: nobody else changes the schema until its end. */
int db_lock_schema(struct db *db, struct err *e) must_check;

/*
 * Statements without parameters or rows, separated by ";". Words in braces:
 *   {key}     a number of its own as primary key   {int} {real} {text} {blob}   types; texts
 * compare by bytes {strict}  end of a table                       {keyed}  end of a table that is
 * its index {sqlite:…} {postgres:…}  a part for one of them; its text may hold no closing brace
 */
int db_script(struct db *db, const char *sql, struct err *e) must_check;

enum db_access { DB_SEE, DB_CHANGE };

/*
 * Runs work in one transaction: DB_SEE sees one state of all tables and changes nothing; DB_CHANGE
 * commits if work returns 0 or more, else undoes everything. If the server has gone or others were
 * in each other's way, all of it is done again until the patience is over: work must begin from the
 * start each time. After a commit whose answer was lost, work runs again on what it may have
 * written. Returns what work returned last, or an error. Not within another transaction.
 */
typedef int (*db_work)(struct db *db, void *arg, struct err *e);
int db_transact(struct db *db, enum db_access access, db_work work, void *arg,
		struct err *e) must_check;

/* Wall time by the clock that all who use this database share. */
int db_now(struct db *db, int64_t *ret_wall_ns, struct err *e) must_check;

/* As store_state(). */
int db_state(struct db *db, int64_t *ret, struct err *e) must_check;

/* Several processes can write at once (rows are locked); else one at a time has the whole store. */
bool db_has_row_locks(const struct db *db);
/* What a SELECT ends with to lock its rows and pass over those that others hold; "" where the
   transaction has the whole store. */
const char *db_skip_locked(const struct db *db);

/*
 * News between processes, only with row locks. db_listen() names the channel once (a plain
 * identifier, kept by the caller); db_notify() is sent at the commit; db_news_fd() is readable when
 * there may be news, -1 without row locks or connection; db_take_news() takes them all and says
 * whether there were any. Without row locks nothing is ever new: look again after a while.
 */
int db_listen(struct db *db, const char *channel, struct err *e) must_check;
int db_notify(struct db *db, const char *channel, struct err *e) must_check;
int db_news_fd(struct db *db);
bool db_take_news(struct db *db);

/* ---- a statement in use ---- */

/* Parameters and columns are taken one after the other, from the left. */
struct query {
	struct db *db;
	struct db_statement *st;
	unsigned at;     /* next parameter or column */
	bool is_damaged; /* a column of the row was out of its range */
};

/* sql is kept prepared for the next time. The same text may be in use more than once. */
int query_begin(struct db *db, const char *sql, struct query *ret, struct err *e) must_check;
void query_end(struct query *q);
#define auto_query __attribute__((cleanup(query_end)))

/* Texts and bytes must stay where they are until the statement has run. */
void put_text_or_null(struct query *q, const char *text);
void put_text(struct query *q, const char *text); /* NULL is "" */
void put_i64(struct query *q, int64_t value);
void put_u64(struct query *q, uint64_t value); /* keeps the bit pattern */
/* The value, or NULL if it is the one that means unknown. */
void put_known(struct query *q, int64_t value, int64_t unknown);
/* Not a number is NULL. */
void put_real(struct query *q, double value);
void put_bytes(struct query *q, const void *bytes, size_t n); /* bytes NULL = NULL */

/* Runs it if that was not done. 1 = a row is there, 0 = no more rows. */
int query_next(struct query *q, struct err *e) must_check;
/* Runs a statement to its end and makes it ready for the next parameters. */
int query_run(struct query *q, struct err *e) must_check;
/*
 * As query_run() for a statement that changes rows, within a transaction: it may be sent together
 * with the next ones, and a failure may show with a later call or the commit. Texts and bytes are
 * taken over at once.
 */
int query_run_later(struct query *q, struct err *e) must_check;
/* query_run() for a statement that changes rows; *ret_rows says how many. */
int query_run_counted(struct query *q, int64_t *ret_rows, struct err *e) must_check;

/* What get_text() gives is valid until the next row. */
bool get_is_null(struct query *q); /* looks at the next column without taking it */
const char *get_text_or_null(struct query *q);
const char *get_text(struct query *q); /* "" for NULL */
char *get_string(struct query *q);     /* caller frees */
char *get_string_or_null(struct query *q);
void get_chars(struct query *q, char *ret, size_t cap);
int64_t get_i64(struct query *q);
uint64_t get_u64(struct query *q);
int64_t get_known(struct query *q, int64_t unknown);
unsigned get_unsigned(struct query *q); /* is_damaged if it does not fit */
int get_cpu(struct query *q);           /* -1 = unknown */
bool get_bool(struct query *q);
double get_real(struct query *q);
/* Valid until the next row; NULL and 0 for NULL. */
const void *get_bytes(struct query *q, size_t *ret_n);

/* For a row that cannot be: -EBADMSG "it holds a value that cannot be, in <what>". */
int db_damaged(const char *what, struct err *e);
