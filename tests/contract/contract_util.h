/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contract_util.h - what the contract tests of the store share: an empty store in the database that
 * the argument names, "sqlite", or "postgres" with its location in STALLRIG_TEST_POSTGRES.
 */
#pragma once

#include "store_util.h"

#include <sqlite3.h>
#ifdef STALLRIG_HAS_POSTGRES
#include <libpq-fe.h>
#endif

static const char *postgres; /* location of the server's database, NULL: SQLite */

/* ---- behind the store's back ---- */

static inline void tamper_sqlite(struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

#ifdef STALLRIG_HAS_POSTGRES
static inline void tamper_postgres(const char *sql)
{
	PGconn *conn = PQconnectdb(postgres);
	PGresult *res;

	assert_int_equal(PQstatus(conn), CONNECTION_OK);
	PQclear(PQexec(conn, "SET search_path = stallrig; SET client_min_messages = warning"));
	res = PQexec(conn, sql);
	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
	PQfinish(conn);
}
#else
static inline void tamper_postgres(const char *sql)
{
	fail_msg("built without libpq: %s", sql);
}
#endif

static inline void tamper(struct fixture *f, const char *sql)
{
	if (postgres)
		tamper_postgres(sql);
	else
		tamper_sqlite(f, sql);
}

static inline void set_version(struct fixture *f, int version)
{
	auto_free char *sql = xasprintf(
		"%s = %d", postgres ? "UPDATE schema_version SET version" : "PRAGMA user_version",
		version);

	tamper(f, sql);
}

/* No store is there any more. */
static inline void wipe(struct fixture *f)
{
	if (postgres)
		tamper_postgres("DROP SCHEMA IF EXISTS stallrig CASCADE");
	else
		(void)unlink(f->path);
}

static inline int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	if (postgres)
		(void)snprintf(f->path, sizeof(f->path), "%s", postgres);
	else
		(void)snprintf(f->path, sizeof(f->path), "%s/results.db", f->dir);
	wipe(f);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	unit_rmdir(f->dir);
	free(f);
	return 0;
}

/* Takes the database and the tests to run ("TEST*"). False if that is not what was given. */
static inline bool contract_args(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "postgres") == 0)
		postgres = getenv("STALLRIG_TEST_POSTGRES");
	if (argc < 2 || argc > 3 || (!postgres && strcmp(argv[1], "sqlite") != 0)) {
		(void)fprintf(stderr,
			      "usage: %s sqlite [TEST*]\n"
			      "       tests/tools/with_postgres.sh %s postgres [TEST*]\n",
			      argv[0], argv[0]);
		return false;
	}
	if (argc == 3)
		cmocka_set_test_filter(argv[2]);
	return true;
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
