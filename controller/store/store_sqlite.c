/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_sqlite.c - results in one SQLite file in WAL mode: readers never wait for the writer. */
#include "driver.h"

#include <sqlite3.h>

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* How long a statement waits for another process's write before it gives up. */
#define DEFAULT_PATIENCE_MS 10000
#define RETRY_MS            5

/* ---- schema ---- */

#define APPLICATION_ID 0x7372696C /* PRAGMA application_id, in the file's header at byte 68 */

/*
 * migrations[i] brings a store of version i to version i + 1. Unknown values are NULL; times end in
 * their unit and clock; what other rows point to has a number of its own as key.
 */
static const char *const migrations[] = {
	"CREATE TABLE rigs ("
	"  rig INTEGER PRIMARY KEY,"
	"  name TEXT NOT NULL,"
	"  class TEXT NOT NULL,"
	"  arch TEXT NOT NULL,"
	"  UNIQUE (name, class, arch)"
	") STRICT;"
	"CREATE TABLE kernel_builds ("
	"  kernel_build INTEGER PRIMARY KEY,"
	"  name TEXT NOT NULL,"
	"  release TEXT NOT NULL,"
	"  version TEXT NOT NULL,"
	"  config_sha256 TEXT NOT NULL,"
	"  image_sha256 TEXT NOT NULL,"
	"  UNIQUE (name, release, version, config_sha256, image_sha256)"
	") STRICT;"
	"CREATE TABLE runs ("
	"  run INTEGER PRIMARY KEY,"
	"  id TEXT NOT NULL UNIQUE,"
	"  rig INTEGER NOT NULL REFERENCES rigs,"
	"  kernel_build INTEGER NOT NULL REFERENCES kernel_builds,"
	"  kernel_label TEXT NOT NULL,"
	"  append TEXT NOT NULL,"
	"  scenario TEXT NOT NULL,"
	"  scenario_sha256 TEXT NOT NULL,"
	"  started_wall_ns INTEGER NOT NULL,"
	"  ended_wall_ns INTEGER,"
	"  limit_us INTEGER NOT NULL,"
	"  planned_valid INTEGER NOT NULL CHECK (planned_valid >= 0),"
	"  tolerated_over REAL NOT NULL,"
	"  confidence REAL NOT NULL,"
	"  rig_fault TEXT,"
	"  untestable TEXT,"
	"  verdict TEXT," /* NULL: not judged yet */
	"  reason TEXT NOT NULL,"
	"  strength TEXT NOT NULL,"
	"  valid INTEGER NOT NULL CHECK (valid >= 0),"
	"  over INTEGER NOT NULL CHECK (over >= 0),"
	"  invalid INTEGER NOT NULL CHECK (invalid >= 0),"
	"  crashes INTEGER NOT NULL CHECK (crashes >= 0),"
	"  boots INTEGER NOT NULL CHECK (boots >= 0),"
	"  boots_over INTEGER NOT NULL CHECK (boots_over >= 0),"
	"  is_clustered INTEGER NOT NULL CHECK (is_clustered IN (0, 1)),"
	"  worst_us INTEGER,"
	"  p50_us INTEGER,"
	"  over_low REAL NOT NULL,"
	"  over_high REAL NOT NULL"
	") STRICT;"
	"CREATE INDEX runs_started ON runs (started_wall_ns);"
	"CREATE TABLE boots ("
	"  run INTEGER NOT NULL REFERENCES runs,"
	"  number INTEGER NOT NULL CHECK (number >= 0),"
	"  recording TEXT NOT NULL,"
	"  banner TEXT NOT NULL,"
	"  environment TEXT NOT NULL,"
	"  console_bytes INTEGER NOT NULL,"
	"  boot_ms INTEGER,"
	"  PRIMARY KEY (run, number)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE trials ("
	"  trial INTEGER PRIMARY KEY,"
	"  run INTEGER NOT NULL REFERENCES runs,"
	"  number INTEGER NOT NULL CHECK (number >= 0),"
	"  boot INTEGER NOT NULL,"
	"  unplug INTEGER NOT NULL CHECK (unplug >= 0),"
	"  started_wall_ns INTEGER NOT NULL,"
	"  is_valid INTEGER NOT NULL CHECK (is_valid IN (0, 1)),"
	"  missing TEXT," /* NULL: valid, or a crash */
	"  crash TEXT,"   /* NULL: no crash */
	"  worst_us INTEGER,"
	"  worst_cpu INTEGER,"
	"  worst_probe TEXT NOT NULL,"
	"  worst_func TEXT NOT NULL,"
	"  console_from INTEGER NOT NULL,"
	"  console_to INTEGER NOT NULL,"
	"  UNIQUE (run, number),"
	"  FOREIGN KEY (run, boot) REFERENCES boots (run, number)"
	") STRICT;"
	"CREATE TABLE evidence ("
	"  trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  name TEXT NOT NULL,"
	"  state TEXT NOT NULL,"
	"  detail TEXT NOT NULL,"
	"  PRIMARY KEY (trial, name)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE numbers ("
	"  trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq INTEGER NOT NULL,"
	"  name TEXT NOT NULL,"
	"  value INTEGER NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE delays ("
	"  trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq INTEGER NOT NULL,"
	"  us INTEGER NOT NULL,"
	"  cpu INTEGER,"
	"  probe TEXT NOT NULL,"
	"  due_us INTEGER NOT NULL,"
	"  t_host_ns INTEGER NOT NULL,"
	"  console_offset INTEGER NOT NULL,"
	"  is_live INTEGER NOT NULL CHECK (is_live IN (0, 1)),"
	"  is_suspect INTEGER NOT NULL CHECK (is_suspect IN (0, 1)),"
	"  PRIMARY KEY (trial, seq)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE incidents ("
	"  trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq INTEGER NOT NULL,"
	"  class TEXT NOT NULL,"
	"  title TEXT NOT NULL,"
	"  count INTEGER NOT NULL CHECK (count >= 0),"
	"  t_first_us INTEGER,"
	"  worst_s INTEGER,"
	"  console_offset INTEGER NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE moments ("
	"  trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq INTEGER NOT NULL,"
	"  t_ns INTEGER NOT NULL,"
	"  what TEXT NOT NULL,"
	"  detail TEXT NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") STRICT, WITHOUT ROWID;"
	"PRAGMA application_id = 0x7372696C;"
	"PRAGMA user_version = 1;",
};

#define SCHEMA_VERSION ((int)ARRAY_SIZE(migrations))

/* ---- statements ---- */

enum statement {
	STATEMENT_RIG_INSERT,
	STATEMENT_RIG_FIND,
	STATEMENT_KERNEL_INSERT,
	STATEMENT_KERNEL_FIND,
	STATEMENT_RUN_INSERT,
	STATEMENT_RUN_FIND,
	STATEMENT_RUN_UPDATE,
	STATEMENT_BOOT_PUT,
	STATEMENT_BOOT_FIND,
	STATEMENT_TRIAL_DELETE,
	STATEMENT_TRIAL_INSERT,
	STATEMENT_EVIDENCE_INSERT,
	STATEMENT_NUMBER_INSERT,
	STATEMENT_DELAY_INSERT,
	STATEMENT_INCIDENT_INSERT,
	STATEMENT_MOMENT_INSERT,
	STATEMENT_RUNS,
	STATEMENT_RUN_IDS,
	STATEMENT_BOOTS,
	STATEMENT_TRIALS,
	STATEMENT_EVIDENCE,
	STATEMENT_NUMBERS,
	STATEMENT_DELAYS,
	STATEMENT_INCIDENTS,
	STATEMENT_MOMENTS,
	STATEMENT_MAX
};

struct store_sqlite {
	struct store base;
	sqlite3 *db;
	enum store_mode mode;
	unsigned patience_ms;
	sqlite3_stmt *prepared[STATEMENT_MAX]; /* each on its first use */
};

static struct store_sqlite *sqlite_of(struct store *st)
{
	return container_of(st, struct store_sqlite, base);
}

/* The last call on the connection failed with rc: says why in words. */
static int fail(struct store_sqlite *s, int rc, struct err *e)
{
	int os = sqlite3_system_errno(s->db);
	const char *text = sqlite3_errmsg(s->db);

	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, ERR_STORE, EBUSY,
			       "another process has been writing to it for more than %u ms",
			       s->patience_ms);
	case SQLITE_FULL:
		return err_set(e, ERR_STORE, ENOSPC, "the disk is full");
	case SQLITE_CORRUPT:
		return err_set(e, ERR_STORE, EBADMSG, "the file is damaged (%s)", text);
	case SQLITE_NOTADB:
		return err_set(e, ERR_STORE, EBADMSG, "the file is not an SQLite database");
	case SQLITE_IOERR:
		return err_set(e, ERR_STORE, EIO, "cannot read or write it (%s, SQLite code %d)",
			       text, rc);
	case SQLITE_READONLY:
		if (s->mode == STORE_WRITE)
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

static int fail_damaged(const char *what, struct err *e)
{
	return err_set(e, ERR_STORE, EBADMSG, "it holds a value that no run can have, in %s", what);
}

/* A statement in use. Parameters and columns are taken one after the other, from the left. */
struct query {
	sqlite3_stmt *stmt;
	int at;          /* last parameter or column */
	int rc;          /* first failure of a binding */
	bool is_damaged; /* a column of the row was out of its range */
};

static void query_end(struct query *q)
{
	if (!q->stmt)
		return;
	sqlite3_reset(q->stmt);
	sqlite3_clear_bindings(q->stmt);
}
#define auto_query __attribute__((cleanup(query_end)))

static int query_begin(struct store_sqlite *s, enum statement id, const char *sql,
		       struct query *ret, struct err *e)
{
	int rc;

	if (!s->prepared[id]) {
		rc = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->prepared[id],
					NULL);
		if (rc != SQLITE_OK)
			return fail(s, rc, e);
	}
	*ret = (struct query){.stmt = s->prepared[id], .rc = SQLITE_OK};
	return 0;
}

static void put_done(struct query *q, int rc)
{
	if (q->rc == SQLITE_OK)
		q->rc = rc;
}

/* The text must stay where it is until the statement has run. */
static void put_text_or_null(struct query *q, const char *text)
{
	put_done(q, sqlite3_bind_text(q->stmt, ++q->at, text, -1, SQLITE_STATIC));
}

static void put_text(struct query *q, const char *text)
{
	put_text_or_null(q, text ? text : "");
}

static void put_i64(struct query *q, int64_t value)
{
	put_done(q, sqlite3_bind_int64(q->stmt, ++q->at, value));
}

/* Offsets and sizes; the file keeps the bit pattern. */
static void put_u64(struct query *q, uint64_t value)
{
	put_i64(q, (int64_t)value);
}

static void put_known(struct query *q, int64_t value, int64_t unknown)
{
	if (value == unknown)
		put_done(q, sqlite3_bind_null(q->stmt, ++q->at));
	else
		put_i64(q, value);
}

static void put_real(struct query *q, double value)
{
	put_done(q, sqlite3_bind_double(q->stmt, ++q->at, value));
}

/* 1 = a row is there, 0 = no more rows. */
static int query_next(struct store_sqlite *s, struct query *q, struct err *e)
{
	int rc = q->rc;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(q->stmt);
	q->at = -1;
	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail(s, rc, e);
}

/* Runs a statement that returns no rows, and makes it ready for the next bindings. */
static int query_run(struct store_sqlite *s, struct query *q, struct err *e)
{
	int r = query_next(s, q, e);

	query_end(q);
	q->at = 0;
	return r;
}

static const char *get_text_or_null(struct query *q)
{
	return (const char *)sqlite3_column_text(q->stmt, ++q->at);
}

static char *get_string_or_null(struct query *q)
{
	const char *text = get_text_or_null(q);

	return text ? xstrdup(text) : NULL;
}

static const char *get_text(struct query *q)
{
	const char *text = get_text_or_null(q);

	return text ? text : "";
}

static char *get_string(struct query *q)
{
	return xstrdup(get_text(q));
}

static void get_chars(struct query *q, char *ret, size_t cap)
{
	(void)snprintf(ret, cap, "%s", get_text(q));
}

static int64_t get_i64(struct query *q)
{
	return sqlite3_column_int64(q->stmt, ++q->at);
}

static uint64_t get_u64(struct query *q)
{
	return (uint64_t)get_i64(q);
}

static int64_t get_known(struct query *q, int64_t unknown)
{
	int64_t value = get_i64(q);

	return sqlite3_column_type(q->stmt, q->at) == SQLITE_NULL ? unknown : value;
}

static unsigned get_unsigned(struct query *q)
{
	int64_t value = get_i64(q);

	if (value >= 0 && value <= UINT_MAX)
		return (unsigned)value;
	q->is_damaged = true;
	return 0;
}

static int get_cpu(struct query *q)
{
	int64_t value = get_known(q, -1);

	if (value >= -1 && value <= INT_MAX)
		return (int)value;
	q->is_damaged = true;
	return -1;
}

static bool get_bool(struct query *q)
{
	return get_i64(q) != 0;
}

static double get_real(struct query *q)
{
	return sqlite3_column_double(q->stmt, ++q->at);
}

/* ---- transactions ---- */

static int exec(struct store_sqlite *s, const char *sql, struct err *e)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : fail(s, rc, e);
}

/* Takes the write lock at once, so that the wait for it is here and not in the middle. */
static int write_begin(struct store_sqlite *s, struct err *e)
{
	return exec(s, "BEGIN IMMEDIATE", e);
}

/* One view of all tables however many statements follow. */
static int read_begin(struct store_sqlite *s, struct err *e)
{
	return exec(s, "BEGIN", e);
}

/* Ends a transaction whose work returned r: commits, or undoes everything. Returns r or the failure
   of the commit. */
static int end(struct store_sqlite *s, int r, struct err *e)
{
	if (r >= 0)
		r = exec(s, "COMMIT", e);
	/* some failures have ended the transaction already */
	if (r < 0 && !sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

/* ---- open ---- */

/* Runs a PRAGMA or SELECT that gives one number, outside of the cache of statements. */
static int read_number(struct store_sqlite *s, const char *sql, int64_t *ret, struct err *e)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return fail(s, rc, e);

	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : fail(s, rc, e);
}

/* Version of the schema, 0 if the file is empty. Refuses what is not a store, and a newer one. */
static int read_version(struct store_sqlite *s, int *ret, struct err *e)
{
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
	if (version > SCHEMA_VERSION)
		return err_set(
			e, ERR_STORE, ENOTSUP,
			"its schema version %lld is newer than %d, the newest that this stallrig knows",
			(long long)version, SCHEMA_VERSION);
	if (version < 1)
		return fail_damaged("the schema version", e);
	*ret = (int)version;
	return 0;
}

static int migrate(struct store_sqlite *s, struct err *e)
{
	int version = 0;
	int r;

	/* another process may have done it since the version was read */
	r = read_version(s, &version, e);
	if (r < 0)
		return r;

	for (; version < SCHEMA_VERSION; version++) {
		r = exec(s, migrations[version], e);
		if (r < 0)
			return err_wrap(e, "bringing it to schema version %d", version + 1);
	}
	return 0;
}

/*
 * The mode stays in the file, so that this changes something once in its life. Changing it needs
 * the file for itself and SQLite does not wait for that: processes that make a store at the same
 * moment have to try again.
 */
static int switch_to_wal(struct store_sqlite *s, struct err *e)
{
	unsigned waited_ms = 0;
	int r;

	for (;;) {
		r = exec(s, "PRAGMA journal_mode = WAL", e);
		if (r != -EBUSY || waited_ms >= s->patience_ms)
			return r;
		waited_ms += (unsigned)sqlite3_sleep(RETRY_MS);
	}
}

static int prepare_write(struct store_sqlite *s, int version, struct err *e)
{
	int r;

	if (sqlite3_db_readonly(s->db, "main"))
		return err_set(e, ERR_STORE, EROFS, "it is read-only");

	r = switch_to_wal(s, e);
	if (r < 0)
		return r;
	if (version == SCHEMA_VERSION)
		return 0;

	r = write_begin(s, e);
	if (r < 0)
		return r;
	return end(s, migrate(s, e), e);
}

static int check_version_for_reading(int version, struct err *e)
{
	if (version == 0)
		return err_set(e, ERR_STORE, EBADMSG, "the file is empty, not a store of stallrig");
	if (version < SCHEMA_VERSION)
		return err_set(
			e, ERR_STORE, EPROTO,
			"its schema version %d is older than %d; the next run brings it up to date",
			version, SCHEMA_VERSION);
	return 0;
}

static void sqlite_close(struct store *st)
{
	struct store_sqlite *s = sqlite_of(st);

	for (size_t i = 0; i < STATEMENT_MAX; i++)
		sqlite3_finalize(s->prepared[i]);
	sqlite3_close(s->db);
	free(s);
}

static void sqlite_set_patience(struct store *st, unsigned patience_ms)
{
	struct store_sqlite *s = sqlite_of(st);

	s->patience_ms = patience_ms < INT_MAX ? patience_ms : INT_MAX;
	sqlite3_busy_timeout(s->db, (int)s->patience_ms);
}

static int connect(struct store_sqlite *s, const char *path, struct err *e)
{
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int version = 0;
	int r, rc;

	flags |= s->mode == STORE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
					: SQLITE_OPEN_READONLY;
	rc = sqlite3_open_v2(path, &s->db, flags, NULL);
	if (rc != SQLITE_OK)
		return fail(s, rc, e);
	sqlite_set_patience(&s->base, DEFAULT_PATIENCE_MS);

	/* FULL: a trial that was reported as stored is there after a power cut, too */
	r = exec(s,
		 "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL",
		 e);
	if (r < 0)
		return r;

	r = read_begin(s, e);
	if (r < 0)
		return r;

	r = end(s, read_version(s, &version, e), e);
	if (r < 0)
		return r;

	r = s->mode == STORE_WRITE ? prepare_write(s, version, e)
				   : check_version_for_reading(version, e);
	if (r < 0)
		return r;

	s->base.schema_version = SCHEMA_VERSION;
	return 0;
}

static int sqlite_open(const char *location, enum store_mode mode, struct store **ret,
		       struct err *e)
{
	/* "./" keeps SQLite from taking names like ":memory:" or "file:x" for something special */
	auto_free char *path = xasprintf("%s%s", location[0] == '/' ? "" : "./", location);
	struct store_sqlite *s;
	struct stat sb;
	int r;

	if (stat(path, &sb) < 0) {
		if (mode == STORE_READ || errno != ENOENT)
			return err_errno(e, ERR_STORE, errno, "cannot open it");
	} else if (!S_ISREG(sb.st_mode)) {
		return err_set(e, ERR_STORE, EINVAL, "not a regular file");
	}

	s = xcalloc(1, sizeof(*s));
	s->base.ops = &store_sqlite_ops;
	s->mode = mode;

	r = connect(s, path, e);
	if (r < 0) {
		sqlite_close(&s->base);
		return r;
	}
	*ret = &s->base;
	return 0;
}

/* ---- writing ---- */

/* Runs a query that finds one key. 1 = found, 0 = there is none. */
static int find_key(struct store_sqlite *s, struct query *q, int64_t *ret, struct err *e)
{
	int r;

	r = query_next(s, q, e);
	if (r > 0)
		*ret = get_i64(q);
	return r;
}

static int insert_rig(struct store_sqlite *s, const struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_RIG_INSERT,
			  "INSERT INTO rigs (name, class, arch) VALUES (?, ?, ?)"
			  " ON CONFLICT DO NOTHING",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->rig);
	put_text(&q, r->rig_class);
	put_text(&q, r->arch);
	return query_run(s, &q, e);
}

static int find_rig(struct store_sqlite *s, const struct run *r, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_RIG_FIND,
			  "SELECT rig FROM rigs WHERE name = ? AND class = ? AND arch = ?", &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->rig);
	put_text(&q, r->rig_class);
	put_text(&q, r->arch);
	return find_key(s, &q, ret, e);
}

static int insert_kernel(struct store_sqlite *s, const struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_KERNEL_INSERT,
		"INSERT INTO kernel_builds (name, release, version, config_sha256, image_sha256)"
		" VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		&q, e);
	if (res < 0)
		return res;

	put_text(&q, r->kernel);
	put_text(&q, r->kernel_release);
	put_text(&q, r->kernel_version);
	put_text(&q, r->kernel_config_sha256);
	put_text(&q, r->kernel_image_sha256);
	return query_run(s, &q, e);
}

static int find_kernel(struct store_sqlite *s, const struct run *r, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_KERNEL_FIND,
			  "SELECT kernel_build FROM kernel_builds WHERE name = ? AND release = ?"
			  " AND version = ? AND config_sha256 = ? AND image_sha256 = ?",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->kernel);
	put_text(&q, r->kernel_release);
	put_text(&q, r->kernel_version);
	put_text(&q, r->kernel_config_sha256);
	put_text(&q, r->kernel_image_sha256);
	return find_key(s, &q, ret, e);
}

/* 1 = found, 0 = the run is not there. */
static int find_run(struct store_sqlite *s, const struct run *r, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_RUN_FIND, "SELECT run FROM runs WHERE id = ?", &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->id);
	return find_key(s, &q, ret, e);
}

static int require_run(struct store_sqlite *s, const struct run *r, int64_t *ret, struct err *e)
{
	int res;

	res = find_run(s, r, ret, e);
	if (res == 0)
		return err_set(e, ERR_STORE, ENOENT, "the run is not in it");
	return res;
}

/* 14 columns: what changes while a run goes on. */
static void put_result(struct query *q, const struct run *r)
{
	const struct judge_result *j = &r->result;

	put_text_or_null(q, j->reason[0] ? verdict_name(j->verdict) : NULL);
	put_text(q, j->reason);
	put_text(q, j->strength);
	put_i64(q, j->valid);
	put_i64(q, j->over);
	put_i64(q, j->invalid);
	put_i64(q, j->crashes);
	put_i64(q, j->boots);
	put_i64(q, j->boots_over);
	put_i64(q, j->is_clustered);
	put_known(q, j->worst_us, -1);
	put_known(q, j->p50_us, -1);
	put_real(q, j->over_low);
	put_real(q, j->over_high);
}

static int insert_run(struct store_sqlite *s, const struct run *r, int64_t rig, int64_t kernel,
		      struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_RUN_INSERT,
		"INSERT INTO runs (id, rig, kernel_build, kernel_label, append, scenario,"
		" scenario_sha256, started_wall_ns, limit_us, planned_valid, tolerated_over,"
		" confidence, ended_wall_ns, rig_fault, untestable, verdict, reason,"
		" strength, valid, over, invalid, crashes, boots, boots_over, is_clustered,"
		" worst_us, p50_us, over_low, over_high)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
		" ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&q, e);
	if (res < 0)
		return res;

	put_text(&q, r->id);
	put_i64(&q, rig);
	put_i64(&q, kernel);
	put_text(&q, r->kernel_label);
	put_text(&q, r->append);
	put_text(&q, r->scenario);
	put_text(&q, r->scenario_sha256);
	put_i64(&q, r->started_wall_ns);
	put_i64(&q, r->limit_us);
	put_i64(&q, r->planned_valid);
	put_real(&q, r->tolerated_over);
	put_real(&q, r->confidence);
	put_known(&q, r->ended_wall_ns, 0);
	put_text_or_null(&q, r->rig_fault);
	put_text_or_null(&q, r->untestable);
	put_result(&q, r);
	return query_run(s, &q, e);
}

static int begin_run(struct store_sqlite *s, const struct run *r, struct err *e)
{
	int64_t run, rig = 0, kernel = 0;
	int res;

	res = find_run(s, r, &run, e);
	if (res > 0)
		return err_set(e, ERR_STORE, EEXIST, "the run is in it already");
	if (res < 0)
		return res;

	res = insert_rig(s, r, e);
	if (res < 0)
		return res;

	res = find_rig(s, r, &rig, e);
	if (res <= 0)
		return res < 0 ? res : fail_damaged("rigs", e);

	res = insert_kernel(s, r, e);
	if (res < 0)
		return res;

	res = find_kernel(s, r, &kernel, e);
	if (res <= 0)
		return res < 0 ? res : fail_damaged("kernel builds", e);

	return insert_run(s, r, rig, kernel, e);
}

static int sqlite_run_begin(struct store *st, const struct run *r, struct err *e)
{
	struct store_sqlite *s = sqlite_of(st);
	int res;

	res = write_begin(s, e);
	if (res < 0)
		return res;
	return end(s, begin_run(s, r, e), e);
}

static int update_run(struct store_sqlite *s, const struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int64_t run = 0;
	int res;

	res = require_run(s, r, &run, e);
	if (res < 0)
		return res;

	res = query_begin(
		s, STATEMENT_RUN_UPDATE,
		"UPDATE runs SET ended_wall_ns = ?, rig_fault = ?, untestable = ?,"
		" verdict = ?, reason = ?, strength = ?, valid = ?, over = ?, invalid = ?,"
		" crashes = ?, boots = ?, boots_over = ?, is_clustered = ?, worst_us = ?,"
		" p50_us = ?, over_low = ?, over_high = ? WHERE run = ?",
		&q, e);
	if (res < 0)
		return res;

	put_known(&q, r->ended_wall_ns, 0);
	put_text_or_null(&q, r->rig_fault);
	put_text_or_null(&q, r->untestable);
	put_result(&q, r);
	put_i64(&q, run);
	return query_run(s, &q, e);
}

static int sqlite_run_update(struct store *st, const struct run *r, struct err *e)
{
	struct store_sqlite *s = sqlite_of(st);
	int res;

	res = write_begin(s, e);
	if (res < 0)
		return res;
	return end(s, update_run(s, r, e), e);
}

static int put_boot(struct store_sqlite *s, const struct run *r, const struct trial_boot *b,
		    struct err *e)
{
	auto_query struct query q = {0};
	int64_t run = 0;
	int res;

	res = require_run(s, r, &run, e);
	if (res < 0)
		return res;

	res = query_begin(s, STATEMENT_BOOT_PUT,
			  "INSERT INTO boots (run, number, recording, banner, environment,"
			  " console_bytes, boot_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"
			  " ON CONFLICT (run, number) DO UPDATE SET recording = excluded.recording,"
			  " banner = excluded.banner, environment = excluded.environment,"
			  " console_bytes = excluded.console_bytes, boot_ms = excluded.boot_ms",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, b->number);
	put_text(&q, b->recording);
	put_text(&q, b->banner);
	put_text(&q, b->environment);
	put_u64(&q, b->console_bytes);
	put_known(&q, b->boot_ms, -1);
	return query_run(s, &q, e);
}

static int sqlite_boot_add(struct store *st, const struct run *r, const struct trial_boot *b,
			   struct err *e)
{
	struct store_sqlite *s = sqlite_of(st);
	int res;

	res = write_begin(s, e);
	if (res < 0)
		return res;
	return end(s, put_boot(s, r, b, e), e);
}

static int check_boot(struct store_sqlite *s, int64_t run, unsigned number, struct err *e)
{
	auto_query struct query q = {0};
	int64_t found = 0;
	int res;

	res = query_begin(s, STATEMENT_BOOT_FIND,
			  "SELECT number FROM boots WHERE run = ? AND number = ?", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, number);
	res = find_key(s, &q, &found, e);
	if (res == 0)
		return err_set(e, ERR_STORE, ENOENT, "its boot %u is not in it", number);
	return res;
}

static int delete_trial(struct store_sqlite *s, int64_t run, unsigned number, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_TRIAL_DELETE,
			  "DELETE FROM trials WHERE run = ? AND number = ?", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, number);
	return query_run(s, &q, e);
}

static int insert_trial(struct store_sqlite *s, int64_t run, const struct trial *t, int64_t *ret,
			struct err *e)
{
	bool has_missing = !t->is_valid && !t->is_crash;
	auto_query struct query q = {0};
	int res;

	if (has_missing && (unsigned)t->missing >= EVIDENCE_MAX)
		return err_set(e, ERR_INTERNAL, EINVAL, "there is no evidence number %u",
			       (unsigned)t->missing);

	res = query_begin(
		s, STATEMENT_TRIAL_INSERT,
		"INSERT INTO trials (run, number, boot, unplug, started_wall_ns, is_valid,"
		" missing, crash, worst_us, worst_cpu, worst_probe, worst_func,"
		" console_from, console_to)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, t->number);
	put_i64(&q, t->boot);
	put_i64(&q, t->unplug);
	put_i64(&q, t->started_wall_ns);
	put_i64(&q, t->is_valid);
	put_text_or_null(&q, has_missing ? evidence_name(t->missing) : NULL);
	put_text_or_null(&q, t->is_crash ? t->crash : NULL);
	put_known(&q, t->worst_us, -1);
	put_known(&q, t->worst_cpu, -1);
	put_text(&q, t->worst_probe);
	put_text(&q, t->worst_func);
	put_u64(&q, t->console_from);
	put_u64(&q, t->console_to);

	res = query_run(s, &q, e);
	if (res < 0)
		return res;
	*ret = sqlite3_last_insert_rowid(s->db);
	return 0;
}

static int insert_evidence(struct store_sqlite *s, int64_t trial, const struct trial *t,
			   struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_EVIDENCE_INSERT,
			  "INSERT INTO evidence (trial, name, state, detail) VALUES (?, ?, ?, ?)",
			  &q, e);
	for (size_t i = 0; res >= 0 && i < EVIDENCE_MAX; i++) {
		put_i64(&q, trial);
		put_text(&q, evidence_name((enum evidence_id)i));
		put_text(&q, evidence_state_name(t->evidence[i].state));
		put_text(&q, t->evidence[i].detail);
		res = query_run(s, &q, e);
	}
	return res;
}

static int insert_numbers(struct store_sqlite *s, int64_t trial, const struct trial *t,
			  struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_NUMBER_INSERT,
			  "INSERT INTO numbers (trial, seq, name, value) VALUES (?, ?, ?, ?)", &q,
			  e);
	for (size_t i = 0; res >= 0 && i < t->n_numbers; i++) {
		put_i64(&q, trial);
		put_u64(&q, i);
		put_text(&q, t->numbers[i].name);
		put_i64(&q, t->numbers[i].value);
		res = query_run(s, &q, e);
	}
	return res;
}

static int insert_delays(struct store_sqlite *s, int64_t trial, const struct trial *t,
			 struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_DELAY_INSERT,
		"INSERT INTO delays (trial, seq, us, cpu, probe, due_us, t_host_ns,"
		" console_offset, is_live, is_suspect) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&q, e);
	for (size_t i = 0; res >= 0 && i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];

		put_i64(&q, trial);
		put_u64(&q, i);
		put_i64(&q, d->us);
		put_known(&q, d->cpu, -1);
		put_text(&q, d->probe);
		put_i64(&q, d->due_us);
		put_i64(&q, d->t_host_ns);
		put_u64(&q, d->offset);
		put_i64(&q, d->is_live);
		put_i64(&q, d->is_suspect);
		res = query_run(s, &q, e);
	}
	return res;
}

static int insert_incidents(struct store_sqlite *s, int64_t trial, const struct trial *t,
			    struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_INCIDENT_INSERT,
		"INSERT INTO incidents (trial, seq, class, title, count, t_first_us, worst_s,"
		" console_offset) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		&q, e);
	for (size_t i = 0; res >= 0 && i < t->n_incidents; i++) {
		const struct trial_incident *n = &t->incidents[i];

		put_i64(&q, trial);
		put_u64(&q, i);
		put_text(&q, n->cls);
		put_text(&q, n->title);
		put_i64(&q, n->count);
		put_known(&q, n->t_first_us, INT64_MIN);
		put_known(&q, n->worst_s, INT64_MIN);
		put_u64(&q, n->offset);
		res = query_run(s, &q, e);
	}
	return res;
}

static int insert_moments(struct store_sqlite *s, int64_t trial, const struct trial *t,
			  struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_MOMENT_INSERT,
		"INSERT INTO moments (trial, seq, t_ns, what, detail) VALUES (?, ?, ?, ?, ?)", &q,
		e);
	for (size_t i = 0; res >= 0 && i < t->n_moments; i++) {
		put_i64(&q, trial);
		put_u64(&q, i);
		put_i64(&q, t->moments[i].t_ns);
		put_text(&q, t->moments[i].what);
		put_text(&q, t->moments[i].detail);
		res = query_run(s, &q, e);
	}
	return res;
}

static int add_trial(struct store_sqlite *s, const struct run *r, const struct trial *t,
		     struct err *e)
{
	static int (*const insert_rows[])(struct store_sqlite * s, int64_t trial,
					  const struct trial *t, struct err *e) = {
		insert_evidence, insert_numbers, insert_delays, insert_incidents, insert_moments,
	};
	int64_t run = 0, trial = 0;
	int res;

	res = require_run(s, r, &run, e);
	if (res < 0)
		return res;

	res = check_boot(s, run, t->boot, e);
	if (res < 0)
		return res;

	res = delete_trial(s, run, t->number, e);
	if (res < 0)
		return res;

	res = insert_trial(s, run, t, &trial, e);
	for (size_t i = 0; res >= 0 && i < ARRAY_SIZE(insert_rows); i++)
		res = insert_rows[i](s, trial, t, e);
	return res;
}

static int sqlite_trial_add(struct store *st, const struct run *r, const struct trial *t,
			    struct err *e)
{
	struct store_sqlite *s = sqlite_of(st);
	int res;

	res = write_begin(s, e);
	if (res < 0)
		return res;
	return end(s, add_trial(s, r, t, e), e);
}

/* ---- reading ---- */

static int select_boots(struct store_sqlite *s, int64_t run, struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_BOOTS,
			  "SELECT number, recording, banner, environment, console_bytes, boot_ms"
			  " FROM boots WHERE run = ? ORDER BY number",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	while ((res = query_next(s, &q, e)) > 0) {
		struct trial_boot *b;

		r->boots = xrealloc(r->boots, r->n_boots + 1, sizeof(*r->boots));
		b = &r->boots[r->n_boots++];
		b->number = get_unsigned(&q);
		b->recording = get_string(&q);
		b->banner = get_string(&q);
		b->environment = get_string(&q);
		b->console_bytes = get_u64(&q);
		b->boot_ms = get_known(&q, -1);
		if (q.is_damaged)
			return fail_damaged("boots", e);
	}
	return res;
}

static int select_evidence(struct store_sqlite *s, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_EVIDENCE,
			  "SELECT name, state, detail FROM evidence WHERE trial = ?", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(s, &q, e)) > 0) {
		enum evidence_id id;

		if (!evidence_parse(get_text(&q), &id) ||
		    !evidence_state_parse(get_text(&q), &t->evidence[id].state))
			return fail_damaged("evidence", e);
		get_chars(&q, t->evidence[id].detail, sizeof(t->evidence[id].detail));
	}
	return res;
}

static int select_numbers(struct store_sqlite *s, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_NUMBERS,
			  "SELECT name, value FROM numbers WHERE trial = ? ORDER BY seq", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(s, &q, e)) > 0) {
		const char *name = get_text(&q);

		trial_add_number(t, name, get_i64(&q));
	}
	return res;
}

static int select_delays(struct store_sqlite *s, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_DELAYS,
		"SELECT us, cpu, probe, due_us, t_host_ns, console_offset, is_live, is_suspect"
		" FROM delays WHERE trial = ? ORDER BY seq",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(s, &q, e)) > 0) {
		struct trial_delay *d = trial_add_delay(t);

		if (!d)
			return fail_damaged("delays", e);
		d->us = get_i64(&q);
		d->cpu = get_cpu(&q);
		get_chars(&q, d->probe, sizeof(d->probe));
		d->due_us = get_i64(&q);
		d->t_host_ns = get_i64(&q);
		d->offset = get_u64(&q);
		d->is_live = get_bool(&q);
		d->is_suspect = get_bool(&q);
		if (q.is_damaged)
			return fail_damaged("delays", e);
	}
	return res;
}

static int select_incidents(struct store_sqlite *s, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_INCIDENTS,
			  "SELECT class, title, count, t_first_us, worst_s, console_offset"
			  " FROM incidents WHERE trial = ? ORDER BY seq",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(s, &q, e)) > 0) {
		struct trial_incident *n = trial_add_incident(t);

		if (!n)
			return fail_damaged("incidents", e);
		get_chars(&q, n->cls, sizeof(n->cls));
		get_chars(&q, n->title, sizeof(n->title));
		n->count = get_unsigned(&q);
		n->t_first_us = get_known(&q, INT64_MIN);
		n->worst_s = get_known(&q, INT64_MIN);
		n->offset = get_u64(&q);
		if (q.is_damaged)
			return fail_damaged("incidents", e);
	}
	return res;
}

static int select_moments(struct store_sqlite *s, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(s, STATEMENT_MOMENTS,
			  "SELECT t_ns, what, detail FROM moments WHERE trial = ? ORDER BY seq", &q,
			  e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(s, &q, e)) > 0) {
		int64_t t_ns = get_i64(&q);
		const char *what = get_text(&q);

		trial_add_moment(t, t_ns, what, "%s", get_text(&q));
	}
	return res;
}

static int read_trial(struct query *q, struct trial *t, int64_t *ret_key, struct err *e)
{
	const char *missing, *crash;

	*ret_key = get_i64(q);
	t->number = get_unsigned(q);
	t->boot = get_unsigned(q);
	t->unplug = get_unsigned(q);
	t->started_wall_ns = get_i64(q);
	t->is_valid = get_bool(q);
	missing = get_text_or_null(q);
	if (missing && !evidence_parse(missing, &t->missing))
		q->is_damaged = true;
	crash = get_text_or_null(q);
	t->is_crash = crash != NULL;
	(void)snprintf(t->crash, sizeof(t->crash), "%s", crash ? crash : "");
	t->worst_us = get_known(q, -1);
	t->worst_cpu = get_cpu(q);
	get_chars(q, t->worst_probe, sizeof(t->worst_probe));
	get_chars(q, t->worst_func, sizeof(t->worst_func));
	t->console_from = get_u64(q);
	t->console_to = get_u64(q);
	return q->is_damaged ? fail_damaged("trials", e) : 0;
}

static int select_trials(struct store_sqlite *s, int64_t run, struct run *r, struct err *e)
{
	static int (*const select_rows[])(struct store_sqlite * s, int64_t trial, struct trial * t,
					  struct err * e) = {
		select_evidence, select_numbers, select_delays, select_incidents, select_moments,
	};
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_TRIALS,
		"SELECT trial, number, boot, unplug, started_wall_ns, is_valid, missing, crash,"
		" worst_us, worst_cpu, worst_probe, worst_func, console_from, console_to"
		" FROM trials WHERE run = ? ORDER BY number",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	while ((res = query_next(s, &q, e)) > 0) {
		struct trial *t = trial_new();
		int64_t key = 0;

		r->trials = xrealloc(r->trials, r->n_trials + 1, sizeof(struct trial *));
		r->trials[r->n_trials++] = t;

		res = read_trial(&q, t, &key, e);
		for (size_t i = 0; res >= 0 && i < ARRAY_SIZE(select_rows); i++)
			res = select_rows[i](s, key, t, e);
		if (res < 0)
			return res;
	}
	return res;
}

static void read_result(struct query *q, struct judge_result *j)
{
	const char *verdict = get_text_or_null(q);

	if (!verdict)
		j->verdict =
			VERDICT_INCONCLUSIVE; /* not judged: never the PASS that 0 stands for */
	else if (!verdict_parse(verdict, &j->verdict))
		q->is_damaged = true;
	get_chars(q, j->reason, sizeof(j->reason));
	get_chars(q, j->strength, sizeof(j->strength));
	j->valid = get_unsigned(q);
	j->over = get_unsigned(q);
	j->invalid = get_unsigned(q);
	j->crashes = get_unsigned(q);
	j->boots = get_unsigned(q);
	j->boots_over = get_unsigned(q);
	j->is_clustered = get_bool(q);
	j->worst_us = get_known(q, -1);
	j->p50_us = get_known(q, -1);
	j->over_low = get_real(q);
	j->over_high = get_real(q);
}

static int read_run(struct query *q, struct run *r, int64_t *ret_key, struct err *e)
{
	*ret_key = get_i64(q);
	r->id = get_string(q);
	r->rig = get_string(q);
	r->rig_class = get_string(q);
	r->arch = get_string(q);
	r->kernel = get_string(q);
	r->kernel_release = get_string(q);
	r->kernel_version = get_string(q);
	r->kernel_config_sha256 = get_string(q);
	r->kernel_image_sha256 = get_string(q);
	r->kernel_label = get_string(q);
	r->append = get_string(q);
	r->scenario = get_string(q);
	r->scenario_sha256 = get_string(q);
	r->started_wall_ns = get_i64(q);
	r->limit_us = get_i64(q);
	r->planned_valid = get_unsigned(q);
	r->tolerated_over = get_real(q);
	r->confidence = get_real(q);
	r->ended_wall_ns = get_known(q, 0);
	r->rig_fault = get_string_or_null(q);
	r->untestable = get_string_or_null(q);
	read_result(q, &r->result);
	return q->is_damaged ? fail_damaged("runs", e) : 0;
}

struct run_list {
	struct run **runs;
	size_t n;
};

static int select_runs(struct store_sqlite *s, const struct store_filter *f, bool with_trials,
		       struct run_list *list, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		s, STATEMENT_RUNS,
		"SELECT run, id, rigs.name, class, arch, kernel_builds.name, release, version,"
		" config_sha256, image_sha256, kernel_label, append, scenario, scenario_sha256,"
		" started_wall_ns, limit_us, planned_valid, tolerated_over, confidence,"
		" ended_wall_ns, rig_fault, untestable, verdict, reason, strength, valid, over,"
		" invalid, crashes, boots, boots_over, is_clustered, worst_us, p50_us,"
		" over_low, over_high"
		" FROM runs JOIN rigs USING (rig) JOIN kernel_builds USING (kernel_build)"
		" WHERE (?1 IS NULL OR id = ?1)"
		" AND (?2 IS NULL OR instr(kernel_builds.name, ?2) > 0"
		"  OR instr(kernel_label, ?2) > 0)"
		" AND (?3 IS NULL OR rigs.name = ?3)"
		" AND (?4 IS NULL OR scenario = ?4)"
		" ORDER BY started_wall_ns DESC, run DESC LIMIT ?5",
		&q, e);
	if (res < 0)
		return res;

	put_text_or_null(&q, f->run_id);
	put_text_or_null(&q, f->kernel);
	put_text_or_null(&q, f->rig);
	put_text_or_null(&q, f->scenario);
	put_i64(&q, f->last ? (int64_t)f->last : -1);
	while ((res = query_next(s, &q, e)) > 0) {
		struct run *r = xcalloc(1, sizeof(*r));
		int64_t key = 0;

		list->runs = xrealloc(list->runs, list->n + 1, sizeof(struct run *));
		list->runs[list->n++] = r;

		res = read_run(&q, r, &key, e);
		if (res >= 0 && with_trials)
			res = select_boots(s, key, r, e);
		if (res >= 0 && with_trials)
			res = select_trials(s, key, r, e);
		if (res < 0)
			return err_wrap(e, "run '%s'", r->id);
	}
	return res;
}

static int sqlite_runs(struct store *st, const struct store_filter *f, bool with_trials,
		       struct run ***ret, size_t *ret_n, struct err *e)
{
	struct store_sqlite *s = sqlite_of(st);
	struct run_list list = {0};
	int res;

	res = read_begin(s, e);
	if (res < 0)
		return res;

	res = end(s, select_runs(s, f, with_trials, &list, e), e);
	if (res < 0) {
		for (size_t i = 0; i < list.n; i++)
			run_free(list.runs[i]);
		free(list.runs);
		return res;
	}
	*ret = list.runs;
	*ret_n = list.n;
	return 0;
}

static int sqlite_run_ids(struct store *st, const char *prefix, char *ret_ids[2], size_t *ret_n,
			  struct err *e)
{
	struct store_sqlite *s = sqlite_of(st);
	auto_query struct query q = {0};
	char *ids[2] = {NULL, NULL};
	size_t n = 0;
	int res;

	res = query_begin(s, STATEMENT_RUN_IDS,
			  "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1"
			  " ORDER BY length(id), id LIMIT 2",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, prefix);
	while ((res = query_next(s, &q, e)) > 0 && n < 2)
		ids[n++] = get_string(&q);
	if (res < 0) {
		free(ids[0]);
		free(ids[1]);
		return res;
	}
	memcpy(ret_ids, ids, sizeof(ids));
	*ret_n = n;
	return 0;
}

const struct store_ops store_sqlite_ops = {
	.open = sqlite_open,
	.close = sqlite_close,
	.set_patience = sqlite_set_patience,
	.run_begin = sqlite_run_begin,
	.boot_add = sqlite_boot_add,
	.trial_add = sqlite_trial_add,
	.run_update = sqlite_run_update,
	.runs = sqlite_runs,
	.run_ids = sqlite_run_ids,
};
