/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_sqlite.c - one SQLite file in WAL mode: readers never wait for the writer. */
#include "base/log.h"
#include "base/waiter.h"
#include "db_driver.h"

#include <sqlite3.h>

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#define APPLICATION_ID 0x7372696C /* PRAGMA application_id, in the file's header at byte 68 */
#define RETRY_MS       5

struct db_sqlite {
	struct db base;
	sqlite3 *conn;
};

struct sqlite_statement {
	struct db_statement base;
	sqlite3_stmt *stmt;
};

static struct db_sqlite *sqlite_of(struct db *db)
{
	return container_of(db, struct db_sqlite, base);
}

static sqlite3_stmt *stmt_of(struct db_statement *st)
{
	return container_of(st, struct sqlite_statement, base)->stmt;
}

/* The last call on the connection failed with rc: says why in words. */
static int fail(struct db_sqlite *s, int rc, struct err *e)
{
	int os = sqlite3_system_errno(s->conn);
	const char *text = sqlite3_errmsg(s->conn);

	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, ERR_STORE, EBUSY,
			       "another process has been writing to it for more than %u ms",
			       s->base.patience_ms);
	case SQLITE_FULL:
		return err_set(e, ERR_STORE, ENOSPC, "the disk is full");
	case SQLITE_CORRUPT:
		return err_set(e, ERR_STORE, EBADMSG, "the file is damaged (%s)", text);
	case SQLITE_NOTADB:
		return err_set(e, ERR_STORE, EBADMSG, "the file is not an SQLite database");
	case SQLITE_IOERR:
		return err_set(e, ERR_STORE, EIO, "cannot read or write it (%s, SQLite code %d)",
			       text, rc);
	case SQLITE_CONSTRAINT:
		if (rc == SQLITE_CONSTRAINT_PRIMARYKEY || rc == SQLITE_CONSTRAINT_UNIQUE)
			return err_set(e, ERR_STORE, EEXIST, "%s", text);
		return err_set(e, ERR_STORE, EIO, "%s", text);
	case SQLITE_READONLY:
		if (s->base.mode == STORE_WRITE)
			return err_set(e, ERR_STORE, EROFS, "it is read-only (%s)", text);
		break;
	case SQLITE_CANTOPEN:
		if (os)
			return err_errno(e, ERR_STORE, os, "cannot open it");
		break;
	default:
		return err_set(e, ERR_STORE, EIO, "%s", text);
	}
	return err_set(
		e, ERR_STORE, EACCES,
		"cannot open it: SQLite must be able to make the files -wal and -shm beside it");
}

/* ---- connection ---- */

/* PostgreSQL's name for what SQLite calls instr(): where a text begins in a text, 0 = nowhere. */
static void sql_strpos(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *part = (const char *)sqlite3_value_text(argv[1]);
	const char *found = text && part ? strstr(text, part) : NULL;

	(void)argc;
	if (!text || !part)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_int64(ctx, found ? found - text + 1 : 0);
}

static int sqlite_script(struct db *db, const char *sql, struct err *e)
{
	struct db_sqlite *s = sqlite_of(db);
	int rc = sqlite3_exec(s->conn, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : fail(s, rc, e);
}

static void sqlite_close(struct db *db)
{
	struct db_sqlite *s = sqlite_of(db);

	sqlite3_close(s->conn);
	free(s);
}

static int connect(struct db_sqlite *s, const char *path, struct err *e)
{
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int rc;

	flags |= s->base.mode == STORE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
					     : SQLITE_OPEN_READONLY;
	rc = sqlite3_open_v2(path, &s->conn, flags, NULL);
	if (rc != SQLITE_OK)
		return fail(s, rc, e);
	sqlite3_busy_timeout(s->conn, (int)s->base.patience_ms);
	rc = sqlite3_create_function(s->conn, "strpos", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				     sql_strpos, NULL, NULL);
	if (rc != SQLITE_OK)
		return fail(s, rc, e);

	/* FULL: a trial that was reported as stored is there after a power cut, too */
	return sqlite_script(
		&s->base,
		"PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL",
		e);
}

static int sqlite_open(const char *location, enum store_mode mode, struct db **ret, struct err *e)
{
	/* "./" keeps SQLite from taking names like ":memory:" or "file:x" for something special */
	auto_free char *path = xasprintf("%s%s", location[0] == '/' ? "" : "./", location);
	struct db_sqlite *s;
	struct stat sb;
	int r;

	if (stat(path, &sb) < 0) {
		if (mode == STORE_READ || errno != ENOENT)
			return err_errno(e, ERR_STORE, errno, "cannot open it");
	} else if (!S_ISREG(sb.st_mode)) {
		return err_set(e, ERR_STORE, EINVAL, "not a regular file");
	}

	s = xcalloc(1, sizeof(*s));
	s->base.ops = &db_sqlite_ops;
	s->base.mode = mode;
	s->base.patience_ms = DB_DEFAULT_PATIENCE_MS;

	r = connect(s, path, e);
	if (r < 0) {
		sqlite_close(&s->base);
		return r;
	}
	*ret = &s->base;
	return 0;
}

static void sqlite_patience_changed(struct db *db)
{
	sqlite3_busy_timeout(sqlite_of(db)->conn, (int)db->patience_ms);
}

/* ---- schema ---- */

/* Runs a PRAGMA or SELECT that gives one number, outside of the cache of statements. */
static int read_number(struct db_sqlite *s, const char *sql, int64_t *ret, struct err *e)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = sqlite3_prepare_v2(s->conn, sql, -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return fail(s, rc, e);

	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : fail(s, rc, e);
}

static int sqlite_version(struct db *db, int *ret, struct err *e)
{
	struct db_sqlite *s = sqlite_of(db);
	int64_t id = 0, version = 0, tables = 0;
	int r;

	r = read_number(s, "PRAGMA application_id", &id, e);
	if (r < 0)
		return r;

	r = read_number(s, "PRAGMA user_version", &version, e);
	if (r < 0)
		return r;

	r = read_number(s, "SELECT count(*) FROM sqlite_schema", &tables, e);
	if (r < 0)
		return r;

	if (id == 0 && version == 0 && tables == 0) {
		*ret = 0;
		return 0;
	}
	if (id != APPLICATION_ID)
		return err_set(
			e, ERR_STORE, EBADMSG,
			"an SQLite database, but not one of stallrig (application id 0x%llx)",
			(unsigned long long)id);
	if (version < 1 || version > INT32_MAX)
		return db_damaged("the schema version", e);
	*ret = (int)version;
	return 0;
}

static int sqlite_set_version(struct db *db, int version, struct err *e)
{
	auto_free char *sql = xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
					APPLICATION_ID, version);

	return sqlite_script(db, sql, e);
}

/*
 * The mode stays in the file, so that this changes something once in its life. Changing it needs
 * the file for itself and SQLite does not wait for that: processes that make a store at the same
 * moment have to try again.
 */
static int switch_to_wal(struct db *db, struct err *e)
{
	unsigned waited_ms = 0;
	int r;

	for (;;) {
		r = sqlite_script(db, "PRAGMA journal_mode = WAL", e);
		if (r != -EBUSY || waited_ms >= db->patience_ms)
			return r;
		waited_ms += (unsigned)sqlite3_sleep(RETRY_MS);
	}
}

static int sqlite_prepare_write(struct db *db, struct err *e)
{
	if (sqlite3_db_readonly(sqlite_of(db)->conn, "main"))
		return err_set(e, ERR_STORE, EROFS, "it is read-only");
	return switch_to_wal(db, e);
}

static int sqlite_now(struct db *db, int64_t *ret_wall_ns, struct err *e)
{
	(void)db;
	(void)e;
	*ret_wall_ns = wall_now();
	return 0;
}

/* data_version counts what other connections committed, the changes are this one's. */
static int sqlite_state(struct db *db, int64_t *ret, struct err *e)
{
	struct db_sqlite *s = sqlite_of(db);
	int64_t version = 0;
	int r;

	r = read_number(s, "PRAGMA data_version", &version, e);
	if (r < 0)
		return r;
	*ret = (int64_t)((uint64_t)version << 32 ^ (uint64_t)sqlite3_total_changes64(s->conn));
	return 0;
}

/* A transaction that changes something has the whole file. */
static int sqlite_lock_schema(struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	return 0;
}

/* ---- transactions ---- */

/* A change takes the write lock at once, so that the wait for it is here and not in the middle. */
static int sqlite_begin(struct db *db, enum db_access access, struct err *e)
{
	return sqlite_script(db, access == DB_CHANGE ? "BEGIN IMMEDIATE" : "BEGIN", e);
}

static int sqlite_commit(struct db *db, struct err *e)
{
	return sqlite_script(db, "COMMIT", e);
}

static void sqlite_rollback(struct db *db)
{
	struct db_sqlite *s = sqlite_of(db);

	/* some failures have ended the transaction already */
	if (!sqlite3_get_autocommit(s->conn))
		(void)sqlite3_exec(s->conn, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- statements ---- */

/* SQLite takes $1 for a name and numbers names as they come; ?1 is a number. */
static char *number_parameters(const char *sql)
{
	char *text = xstrdup(sql);
	bool is_quoted = false;

	for (char *p = text; *p; p++) {
		if (*p == '\'')
			is_quoted = !is_quoted;
		else if (!is_quoted && *p == '$' && isdigit((unsigned char)p[1]))
			*p = '?';
	}
	return text;
}

static int sqlite_statement_new(struct db *db, const char *sql, struct db_statement **ret,
				struct err *e)
{
	struct db_sqlite *s = sqlite_of(db);
	auto_free char *text = number_parameters(sql);
	struct sqlite_statement *st;
	sqlite3_stmt *stmt;
	int rc;

	rc = sqlite3_prepare_v3(s->conn, text, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
	if (rc != SQLITE_OK)
		return fail(s, rc, e);

	st = xcalloc(1, sizeof(*st));
	st->stmt = stmt;
	*ret = &st->base;
	return 0;
}

static void sqlite_statement_free(struct db *db, struct db_statement *st)
{
	(void)db;
	sqlite3_finalize(stmt_of(st));
	free(container_of(st, struct sqlite_statement, base));
}

static int bind(sqlite3_stmt *stmt, int at, const struct db_value *v)
{
	if (v->is_null)
		return sqlite3_bind_null(stmt, at);
	switch (v->type) {
	case DB_TYPE_TEXT:
		return sqlite3_bind_text64(stmt, at, v->bytes, v->n, SQLITE_STATIC, SQLITE_UTF8);
	case DB_TYPE_INT:
		return sqlite3_bind_int64(stmt, at, v->i64);
	case DB_TYPE_REAL:
		return sqlite3_bind_double(stmt, at, v->real);
	case DB_TYPE_BYTES:
		return sqlite3_bind_blob64(stmt, at, v->bytes, v->n, SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

static int sqlite_next(struct db *db, struct db_statement *st, struct err *e)
{
	struct db_sqlite *s = sqlite_of(db);
	sqlite3_stmt *stmt = stmt_of(st);
	int rc = SQLITE_OK;

	if (!st->has_run)
		for (unsigned i = 0; rc == SQLITE_OK && i < st->n_params; i++)
			rc = bind(stmt, (int)i + 1, &st->params[i]);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail(s, rc, e);
}

static int64_t sqlite_rows_changed(struct db *db, struct db_statement *st)
{
	(void)st;
	return sqlite3_changes64(sqlite_of(db)->conn);
}

static void sqlite_reset(struct db *db, struct db_statement *st)
{
	(void)db;
	sqlite3_reset(stmt_of(st));
	sqlite3_clear_bindings(stmt_of(st));
}

static bool sqlite_column_is_null(struct db_statement *st, unsigned column)
{
	return sqlite3_column_type(stmt_of(st), (int)column) == SQLITE_NULL;
}

static int64_t sqlite_column_i64(struct db_statement *st, unsigned column)
{
	return sqlite3_column_int64(stmt_of(st), (int)column);
}

static double sqlite_column_real(struct db_statement *st, unsigned column)
{
	return sqlite3_column_double(stmt_of(st), (int)column);
}

static const char *sqlite_column_text(struct db_statement *st, unsigned column)
{
	return (const char *)sqlite3_column_text(stmt_of(st), (int)column);
}

static const void *sqlite_column_bytes(struct db_statement *st, unsigned column, size_t *ret_n)
{
	const void *bytes = sqlite3_column_blob(stmt_of(st), (int)column);

	*ret_n = (size_t)sqlite3_column_bytes(stmt_of(st), (int)column);
	return bytes;
}

static const struct db_word words[] = {
	{"key", "INTEGER PRIMARY KEY"},
	{"int", "INTEGER"},
	{"real", "REAL"},
	{"text", "TEXT"},
	{"blob", "BLOB"},
	{"strict", "STRICT"},
	{"keyed", "STRICT, WITHOUT ROWID"},
	{NULL, NULL},
};

const struct db_ops db_sqlite_ops = {
	.kind = DB_SQLITE,
	.name = "SQLite",
	.section = "sqlite",
	.words = words,
	.open = sqlite_open,
	.close = sqlite_close,
	.patience_changed = sqlite_patience_changed,
	.version = sqlite_version,
	.set_version = sqlite_set_version,
	.prepare_write = sqlite_prepare_write,
	.now = sqlite_now,
	.state = sqlite_state,
	.lock_schema = sqlite_lock_schema,
	.script = sqlite_script,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.statement_new = sqlite_statement_new,
	.statement_free = sqlite_statement_free,
	.next = sqlite_next,
	.rows_changed = sqlite_rows_changed,
	.reset = sqlite_reset,
	.column_is_null = sqlite_column_is_null,
	.column_i64 = sqlite_column_i64,
	.column_real = sqlite_column_real,
	.column_text = sqlite_column_text,
	.column_bytes = sqlite_column_bytes,
};
