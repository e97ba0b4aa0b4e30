/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_postgres.c - a PostgreSQL database, everything in its schema "stallrig". */
#include "base/log.h"
#include "db_driver.h"

#include <libpq-fe.h>

#include <string.h>

/* Of the catalogue pg_type: the server's numbers for its own types do not change. */
#define OID_BYTEA  17
#define OID_INT8   20
#define OID_TEXT   25
#define OID_FLOAT8 701

#define NUMBER_MAX 32 /* characters of a number as text */

/* Key of the advisory lock around changes of the schema: "srig". */
#define SCHEMA_LOCK "1936877927"

/* Statements sent before their results are read: what fits into the sockets' buffers. */
#define LATER_MAX 128

#define CONNECT_TIMEOUT_S "10"

struct db_postgres {
	struct db base;
	PGconn *conn;
	char *channel;       /* that is listened to; NULL = none */
	unsigned connection; /* counts connections: statements are prepared in each anew */
	unsigned statements; /* counts names */
	bool is_news_pending;
	unsigned n_later; /* statements that were sent and whose results were not read */
};

struct postgres_statement {
	struct db_statement base;
	char name[16];
	unsigned prepared_in; /* the connection that knows it; 0 = none */
	PGresult *result;     /* of the run that goes on */
	int row;              /* -1 before the first */
	char numbers[DB_PARAMS_MAX][NUMBER_MAX];
	char *texts[DB_PARAMS_MAX]; /* escaped copies; owned */
};

static struct db_postgres *postgres_of(struct db *db)
{
	return container_of(db, struct db_postgres, base);
}

static struct postgres_statement *statement_of(struct db_statement *st)
{
	return container_of(st, struct postgres_statement, base);
}

/* ---- errors ---- */

/* The server's or library's sentence without its last line end and without "ERROR:  ". */
static char *clean_message(const char *text)
{
	static const char *const levels[] = {"ERROR:  ", "FATAL:  ", "PANIC:  "};
	char *clean;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (strncmp(text, levels[i], strlen(levels[i])) == 0)
			text += strlen(levels[i]);
	clean = xstrdup(text);
	n = strlen(clean);
	while (n && clean[n - 1] == '\n')
		clean[--n] = '\0';
	for (char *p = clean; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return clean;
}

/* SQLSTATE classes and codes: PostgreSQL's documentation, appendix A. */
static const struct {
	const char *state; /* a prefix */
	int code;
} states[] = {
	{"23505", EEXIST},   /* unique_violation */
	{"25006", EROFS},    /* read_only_sql_transaction */
	{"40", EAGAIN},      /* serialization failure, deadlock */
	{"53100", ENOSPC},   /* disk_full */
	{"53", EAGAIN},      /* out of memory, too many connections */
	{"55P03", EBUSY},    /* lock_not_available */
	{"57014", EBUSY},    /* query_canceled, by a timeout */
	{"57P", ECONNRESET}, /* the server shuts down or starts */
	{"08", ECONNRESET},  /* connection exceptions */
	{"42501", EACCES},   /* insufficient_privilege */
	{"XX001", EBADMSG},  /* data_corrupted */
	{"XX002", EBADMSG},  /* index_corrupted */
};

static int code_of_state(const char *state)
{
	for (size_t i = 0; state && i < ARRAY_SIZE(states); i++)
		if (strncmp(state, states[i].state, strlen(states[i].state)) == 0)
			return states[i].code;
	return EIO;
}

/* res may be NULL: then the connection says why. */
static int fail(struct db_postgres *p, const PGresult *res, struct err *e)
{
	const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
	const char *primary = res ? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	auto_free char *text = clean_message(primary ? primary : PQerrorMessage(p->conn));
	int code = code_of_state(state);

	if (PQstatus(p->conn) == CONNECTION_BAD)
		code = ECONNRESET;
	switch (code) {
	case EBUSY:
		return err_set(e, ERR_STORE, EBUSY,
			       "another process has been writing to it for more than %u ms (%s)",
			       p->base.patience_ms, text);
	case ENOSPC:
		return err_set(e, ERR_STORE, ENOSPC, "the server's disk is full (%s)", text);
	case ECONNRESET:
		return err_set(e, ERR_STORE, ECONNRESET, "the server has gone: %s",
			       *text ? text : "connection closed");
	default:
		return err_set(e, ERR_STORE, code, "%s", *text ? text : "unknown error");
	}
}

/* ---- texts: any bytes but NUL, in a database that takes UTF-8 only ---- */

/*
 * A byte b that is no part of UTF-8 becomes U+EE00 + b, which is U+EE80…U+EEFF of the private use
 * area. The bytes of these characters themselves count as "no part", so that all comes back as it
 * was.
 */
#define ESCAPE_LEAD 0xEE
#define ESCAPE_BASE 0xEE00

static bool is_tail(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

/* Bytes of the well-formed character at s (RFC 3629), 0 if there is none. s ends with a NUL. */
static size_t utf8_length(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xC2 && s[0] <= 0xDF)
		return is_tail(s[1]) ? 2 : 0;
	if (s[0] >= 0xE0 && s[0] <= 0xEF) {
		if (!is_tail(s[1]) || !is_tail(s[2]))
			return 0;
		if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))
			return 0;
		return 3;
	}
	if (s[0] >= 0xF0 && s[0] <= 0xF4) {
		if (!is_tail(s[1]) || !is_tail(s[2]) || !is_tail(s[3]))
			return 0;
		if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
			return 0;
		return 4;
	}
	return 0;
}

/* U+EE80…U+EEFF is EE BA 80 … EE BB BF. */
static bool is_escape(const unsigned char *s)
{
	return s[0] == ESCAPE_LEAD && (s[1] == 0xBA || s[1] == 0xBB) && is_tail(s[2]);
}

static void add_escape(struct strbuf *out, unsigned char byte)
{
	unsigned code = ESCAPE_BASE + byte;
	char bytes[3] = {(char)(0xE0 | code >> 12), (char)(0x80 | ((code >> 6) & 0x3F)),
			 (char)(0x80 | (code & 0x3F))};

	strbuf_add(out, bytes, sizeof(bytes));
}

/* NULL if the text can be sent as it is; else a copy for the caller to free. */
static char *escape_text(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	bool is_plain = true;

	for (const unsigned char *p = s; *p && is_plain; p++)
		is_plain = *p < 0x80;
	if (is_plain)
		return NULL;
	while (*s) {
		size_t n = utf8_length(s);

		if (n && !is_escape(s)) {
			strbuf_add(&out, s, n);
		} else {
			n = 1;
			add_escape(&out, *s);
		}
		s += n;
	}
	return strbuf_take(&out);
}

/* In place: texts only get shorter. Once per value. */
static void unescape_text(char *text)
{
	unsigned char *from = (unsigned char *)text;
	unsigned char *to = from;

	while (*from) {
		if (is_escape(from)) {
			*to++ = (unsigned char)(((from[1] & 0x03) << 6) | (from[2] & 0x3F));
			from += 3;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* ---- statements whose results are read later ---- */

/* The first failure among the results up to the end of what was sent. */
static int read_results(struct db_postgres *p, struct err *e)
{
	unsigned ends = 0; /* NULL ends the results of each statement */
	int r = 0;

	while (ends <= p->n_later && PQstatus(p->conn) == CONNECTION_OK) {
		PGresult *res = PQgetResult(p->conn);
		ExecStatusType status = PQresultStatus(res);

		if (!res) {
			ends++;
			continue;
		}
		if (status == PGRES_FATAL_ERROR && r == 0)
			r = fail(p, res, e);
		PQclear(res);
		if (status == PGRES_PIPELINE_SYNC)
			break;
	}
	return r;
}

/* Everything that was sent has been done, or says why not. */
static int settle(struct db_postgres *p, struct err *e)
{
	int r;

	if (PQpipelineStatus(p->conn) == PQ_PIPELINE_OFF)
		return 0;
	r = PQpipelineSync(p->conn) ? read_results(p, e) : fail(p, NULL, e);
	p->n_later = 0;
	if (PQstatus(p->conn) != CONNECTION_OK)
		return r < 0 ? r : fail(p, NULL, e);
	if (!PQexitPipelineMode(p->conn) && r == 0)
		r = fail(p, NULL, e);
	return r;
}

/* ---- connection ---- */

static int run_simple(struct db_postgres *p, const char *sql, struct err *e)
{
	PGresult *res;
	ExecStatusType status;
	int r;

	r = settle(p, e);
	if (r < 0)
		return r;
	res = PQexec(p->conn, sql);
	status = PQresultStatus(res);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
		r = fail(p, res, e);
	PQclear(res);
	return r;
}

static int postgres_script(struct db *db, const char *sql, struct err *e)
{
	return run_simple(postgres_of(db), sql, e);
}

static void ignore_notices(void *arg, const PGresult *res)
{
	(void)arg;
	log_debug(LOG_STORE, "%s", PQresultErrorMessage(res));
}

/* What holds for the whole connection. */
static int set_up(struct db_postgres *p, struct err *e)
{
	const char *encoding = PQparameterStatus(p->conn, "server_encoding");
	auto_free char *sql = NULL;

	if (!encoding || strcmp(encoding, "UTF8") != 0)
		return err_set(e, ERR_STORE, ENOTSUP, "the database's encoding is %s, not UTF8",
			       encoding ? encoding : "unknown");
	p->connection++;
	sql = xasprintf("SET search_path = stallrig, public; SET lock_timeout = %u;"
			" SET default_transaction_read_only = %s; SET synchronous_commit = on;"
			"%s%s",
			p->base.patience_ms, p->base.mode == STORE_READ ? "on" : "off",
			p->channel ? " LISTEN " : "", p->channel ? p->channel : "");
	return run_simple(p, sql, e);
}

static void postgres_close(struct db *db)
{
	struct db_postgres *p = postgres_of(db);

	PQfinish(p->conn);
	free(p->channel);
	free(p);
}

static int connect(struct db_postgres *p, const char *location, struct err *e)
{
	/* what stands before the location can be overruled by it */
	static const char *const keys[] = {"connect_timeout", "fallback_application_name", "dbname",
					   "client_encoding", NULL};
	const char *const values[] = {CONNECT_TIMEOUT_S, "stallrig", location, "UTF8", NULL};

	p->conn = PQconnectdbParams(keys, values, 1);
	if (PQstatus(p->conn) != CONNECTION_OK) {
		auto_free char *text = clean_message(PQerrorMessage(p->conn));

		return err_set(e, ERR_STORE, ECONNREFUSED, "cannot connect: %s", text);
	}
	PQsetNoticeReceiver(p->conn, ignore_notices, NULL);
	return set_up(p, e);
}

static int postgres_open(const char *location, enum store_mode mode, struct db **ret, struct err *e)
{
	struct db_postgres *p = xcalloc(1, sizeof(*p));
	int r;

	p->base.ops = &db_postgres_ops;
	p->base.mode = mode;
	p->base.patience_ms = DB_DEFAULT_PATIENCE_MS;

	r = connect(p, location, e);
	if (r < 0) {
		postgres_close(&p->base);
		return r;
	}
	*ret = &p->base;
	return 0;
}

static int postgres_reconnect(struct db *db, struct err *e)
{
	struct db_postgres *p = postgres_of(db);
	int r;

	if (PQstatus(p->conn) == CONNECTION_OK)
		return 0;
	PQreset(p->conn);
	p->n_later = 0;
	if (PQstatus(p->conn) != CONNECTION_OK)
		return fail(p, NULL, e);
	r = set_up(p, e);
	/* what was sent while nobody listened is lost: look */
	p->is_news_pending = r >= 0 && p->channel;
	return r;
}

static void postgres_patience_changed(struct db *db)
{
	struct db_postgres *p = postgres_of(db);
	auto_free char *sql = xasprintf("SET lock_timeout = %u", db->patience_ms);

	/* a connection that is gone gets it when it is made again */
	(void)run_simple(p, sql, NULL);
}

/* ---- schema ---- */

/* Runs a SELECT of one number without parameters. *ret stays as it is if there is no row or NULL.
 */
static int read_number(struct db_postgres *p, const char *sql, int64_t *ret, struct err *e)
{
	PGresult *res;
	int r;

	r = settle(p, e);
	if (r < 0)
		return r;
	res = PQexec(p->conn, sql);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		r = fail(p, res, e);
	else if (PQntuples(res) == 1 && !PQgetisnull(res, 0, 0))
		*ret = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	return r;
}

static int postgres_version(struct db *db, int *ret, struct err *e)
{
	struct db_postgres *p = postgres_of(db);
	int64_t has_table = 0, tables = 0, version = 0;
	int r;

	r = read_number(p,
			"SELECT CASE WHEN to_regclass('stallrig.schema_version') IS NULL"
			" THEN 0 ELSE 1 END",
			&has_table, e);
	if (r < 0)
		return r;

	r = read_number(p, "SELECT count(*) FROM pg_tables WHERE schemaname = 'stallrig'", &tables,
			e);
	if (r < 0)
		return r;

	if (!has_table && tables)
		return err_set(e, ERR_STORE, EBADMSG,
			       "its schema \"stallrig\" holds tables, but not those of stallrig");
	if (has_table) {
		r = read_number(p, "SELECT version FROM stallrig.schema_version", &version, e);
		if (r < 0)
			return r;

		if (version < 1 || version > INT32_MAX)
			return db_damaged("the schema version", e);
	}
	*ret = (int)version;
	return 0;
}

static int postgres_set_version(struct db *db, int version, struct err *e)
{
	auto_free char *sql =
		xasprintf("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL);"
			  " DELETE FROM schema_version; INSERT INTO schema_version VALUES (%d)",
			  version);

	return postgres_script(db, sql, e);
}

static int postgres_prepare_write(struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	return 0;
}

static int postgres_now(struct db *db, int64_t *ret_wall_ns, struct err *e)
{
	return read_number(postgres_of(db),
			   "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS"
			   " BIGINT)",
			   ret_wall_ns, e);
}

/* A snapshot names the transactions that it sees: each commit of a change makes another one. */
static int postgres_state(struct db *db, int64_t *ret, struct err *e)
{
	return read_number(postgres_of(db),
			   "SELECT hashtextextended(CAST(pg_current_snapshot() AS text), 0)", ret,
			   e);
}

static int postgres_lock_schema(struct db *db, struct err *e)
{
	return postgres_script(db,
			       "SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ");"
			       " CREATE SCHEMA IF NOT EXISTS stallrig",
			       e);
}

/* ---- transactions ---- */

static int postgres_begin(struct db *db, enum db_access access, struct err *e)
{
	return postgres_script(
		db,
		access == DB_CHANGE ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		e);
}

static int postgres_commit(struct db *db, struct err *e)
{
	struct db_postgres *p = postgres_of(db);
	PGresult *res;
	int r;

	r = settle(p, e);
	if (r < 0)
		return r;
	res = PQexec(p->conn, "COMMIT");
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		r = fail(p, res, e);
	/* a transaction that has failed before ends with ROLLBACK and without an error */
	else if (strcmp(PQcmdStatus(res), "COMMIT") != 0)
		r = err_set(e, ERR_STORE, EIO, "the server did not commit");
	PQclear(res);
	return r;
}

static void postgres_rollback(struct db *db)
{
	struct db_postgres *p = postgres_of(db);

	(void)settle(p, NULL);
	if (PQtransactionStatus(p->conn) != PQTRANS_IDLE && PQstatus(p->conn) == CONNECTION_OK)
		(void)run_simple(p, "ROLLBACK", NULL);
}

/* ---- news ---- */

static int postgres_listen(struct db *db, const char *channel, struct err *e)
{
	struct db_postgres *p = postgres_of(db);
	auto_free char *sql = xasprintf("LISTEN %s", channel);

	free(p->channel);
	p->channel = xstrdup(channel);
	return run_simple(p, sql, e);
}

static int postgres_notify(struct db *db, const char *channel, struct err *e)
{
	auto_free char *sql = xasprintf("NOTIFY %s", channel);

	return postgres_script(db, sql, e);
}

static int postgres_news_fd(struct db *db)
{
	return PQsocket(postgres_of(db)->conn);
}

static bool postgres_take_news(struct db *db)
{
	struct db_postgres *p = postgres_of(db);
	bool is_new = p->is_news_pending;
	PGnotify *n;

	p->is_news_pending = false;
	/* a connection that was lost is found out and made again by the next transaction */
	(void)PQconsumeInput(p->conn);
	while ((n = PQnotifies(p->conn))) {
		PQfreemem(n);
		is_new = true;
	}
	return is_new;
}

/* ---- statements ---- */

static int postgres_statement_new(struct db *db, const char *sql, struct db_statement **ret,
				  struct err *e)
{
	struct postgres_statement *st = xcalloc(1, sizeof(*st));

	(void)sql;
	(void)e;
	/* prepared on its first run, when the types of its parameters are known */
	(void)snprintf(st->name, sizeof(st->name), "s%u", ++postgres_of(db)->statements);
	st->row = -1;
	*ret = &st->base;
	return 0;
}

static void postgres_reset(struct db *db, struct db_statement *base)
{
	struct postgres_statement *st = statement_of(base);

	(void)db;
	PQclear(st->result);
	st->result = NULL;
	st->row = -1;
	for (unsigned i = 0; i < base->n_params; i++) {
		free(st->texts[i]);
		st->texts[i] = NULL;
	}
}

static void postgres_statement_free(struct db *db, struct db_statement *base)
{
	struct postgres_statement *st = statement_of(base);
	struct db_postgres *p = postgres_of(db);

	postgres_reset(db, base);
	/* not where a failure of what was sent before would get lost */
	if (st->prepared_in == p->connection && PQtransactionStatus(p->conn) != PQTRANS_INERROR &&
	    PQpipelineStatus(p->conn) == PQ_PIPELINE_OFF) {
		auto_free char *sql = xasprintf("DEALLOCATE %s", st->name);

		(void)run_simple(p, sql, NULL);
	}
	free(st);
}

static Oid oid_of(enum db_type type)
{
	switch (type) {
	case DB_TYPE_TEXT:
		return OID_TEXT;
	case DB_TYPE_INT:
		return OID_INT8;
	case DB_TYPE_REAL:
		return OID_FLOAT8;
	case DB_TYPE_BYTES:
		return OID_BYTEA;
	}
	return 0;
}

static int prepare(struct db_postgres *p, struct postgres_statement *st, struct err *e)
{
	Oid types[DB_PARAMS_MAX];
	PGresult *res;
	int r = 0;

	for (unsigned i = 0; i < st->base.n_params; i++)
		types[i] = oid_of(st->base.params[i].type);
	res = PQprepare(p->conn, st->name, st->base.sql, (int)st->base.n_params, types);
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		st->prepared_in = p->connection;
	else
		r = fail(p, res, e);
	PQclear(res);
	return r;
}

/* The value of parameter i as libpq wants it. */
static const char *value_text(struct postgres_statement *st, unsigned i, int *ret_n,
			      int *ret_is_binary)
{
	const struct db_value *v = &st->base.params[i];

	*ret_n = 0;
	*ret_is_binary = 0;
	if (v->is_null)
		return NULL;
	switch (v->type) {
	case DB_TYPE_TEXT:
		st->texts[i] = escape_text(v->bytes);
		return st->texts[i] ? st->texts[i] : v->bytes;
	case DB_TYPE_INT:
		(void)snprintf(st->numbers[i], NUMBER_MAX, "%lld", (long long)v->i64);
		return st->numbers[i];
	case DB_TYPE_REAL:
		(void)snprintf(st->numbers[i], NUMBER_MAX, "%.17g", v->real);
		return st->numbers[i];
	case DB_TYPE_BYTES:
		*ret_n = (int)v->n;
		*ret_is_binary = 1;
		return v->n ? v->bytes : "";
	}
	return NULL;
}

/* Values of all parameters as libpq wants them, of a statement that the server knows. */
struct values {
	const char *texts[DB_PARAMS_MAX];
	int lengths[DB_PARAMS_MAX], formats[DB_PARAMS_MAX];
};

static int prepare_values(struct db_postgres *p, struct postgres_statement *st, struct values *ret,
			  struct err *e)
{
	int r;

	if (st->prepared_in != p->connection) {
		r = settle(p, e);
		if (r >= 0)
			r = prepare(p, st, e);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < st->base.n_params; i++)
		ret->texts[i] = value_text(st, i, &ret->lengths[i], &ret->formats[i]);
	return 0;
}

static int execute(struct db_postgres *p, struct postgres_statement *st, struct err *e)
{
	struct values v;
	ExecStatusType status;
	int r;

	r = settle(p, e);
	if (r >= 0)
		r = prepare_values(p, st, &v, e);
	if (r < 0)
		return r;

	st->result = PQexecPrepared(p->conn, st->name, (int)st->base.n_params, v.texts, v.lengths,
				    v.formats, 0);
	status = PQresultStatus(st->result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		return fail(p, st->result, e);
	return 0;
}

static int postgres_run_later(struct db *db, struct db_statement *base, struct err *e)
{
	struct postgres_statement *st = statement_of(base);
	struct db_postgres *p = postgres_of(db);
	struct values v;
	int r;

	r = p->n_later >= LATER_MAX ? settle(p, e) : 0;
	if (r >= 0)
		r = prepare_values(p, st, &v, e);
	if (r < 0)
		return r;
	if (PQpipelineStatus(p->conn) == PQ_PIPELINE_OFF && !PQenterPipelineMode(p->conn))
		return fail(p, NULL, e);
	if (!PQsendQueryPrepared(p->conn, st->name, (int)base->n_params, v.texts, v.lengths,
				 v.formats, 0))
		return fail(p, NULL, e);
	p->n_later++;
	return 0;
}

static int postgres_next(struct db *db, struct db_statement *base, struct err *e)
{
	struct postgres_statement *st = statement_of(base);
	int r;

	if (!base->has_run) {
		r = execute(postgres_of(db), st, e);
		if (r < 0)
			return r;
	}
	return ++st->row < PQntuples(st->result);
}

static int64_t postgres_rows_changed(struct db *db, struct db_statement *st)
{
	(void)db;
	return strtoll(PQcmdTuples(statement_of(st)->result), NULL, 10);
}

static bool postgres_column_is_null(struct db_statement *base, unsigned column)
{
	struct postgres_statement *st = statement_of(base);

	return PQgetisnull(st->result, st->row, (int)column);
}

static char *value_of(struct db_statement *base, unsigned column)
{
	struct postgres_statement *st = statement_of(base);

	return PQgetvalue(st->result, st->row, (int)column);
}

static int64_t postgres_column_i64(struct db_statement *st, unsigned column)
{
	return strtoll(value_of(st, column), NULL, 10);
}

static double postgres_column_real(struct db_statement *st, unsigned column)
{
	return strtod(value_of(st, column), NULL);
}

static const char *postgres_column_text(struct db_statement *st, unsigned column)
{
	char *text;

	if (postgres_column_is_null(st, column))
		return NULL;
	text = value_of(st, column);
	unescape_text(text);
	return text;
}

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The server sends "\x" and two lower-case digits a byte (bytea_output = hex); decoded in place. */
static const void *postgres_column_bytes(struct db_statement *st, unsigned column, size_t *ret_n)
{
	char *text = value_of(st, column);
	size_t n = strlen(text);

	*ret_n = 0;
	if (postgres_column_is_null(st, column) || n < 2)
		return NULL;
	for (size_t i = 2; i + 1 < n; i += 2)
		text[(i - 2) / 2] = (char)(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
	*ret_n = (n - 2) / 2;
	return text;
}

static const struct db_word words[] = {
	{"key", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
	{"int", "BIGINT"},
	{"real", "DOUBLE PRECISION"},
	{"text", "TEXT COLLATE \"C\""},
	{"blob", "BYTEA"},
	{"strict", ""},
	{"keyed", ""},
	{NULL, NULL},
};

const struct db_ops db_postgres_ops = {
	.kind = DB_POSTGRES,
	.name = "PostgreSQL",
	.section = "postgres",
	.words = words,
	.has_row_locks = true,
	.open = postgres_open,
	.close = postgres_close,
	.patience_changed = postgres_patience_changed,
	.version = postgres_version,
	.set_version = postgres_set_version,
	.prepare_write = postgres_prepare_write,
	.now = postgres_now,
	.state = postgres_state,
	.lock_schema = postgres_lock_schema,
	.script = postgres_script,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.rollback = postgres_rollback,
	.reconnect = postgres_reconnect,
	.listen = postgres_listen,
	.notify = postgres_notify,
	.news_fd = postgres_news_fd,
	.take_news = postgres_take_news,
	.statement_new = postgres_statement_new,
	.statement_free = postgres_statement_free,
	.next = postgres_next,
	.run_later = postgres_run_later,
	.rows_changed = postgres_rows_changed,
	.reset = postgres_reset,
	.column_is_null = postgres_column_is_null,
	.column_i64 = postgres_column_i64,
	.column_real = postgres_column_real,
	.column_text = postgres_column_text,
	.column_bytes = postgres_column_bytes,
};
