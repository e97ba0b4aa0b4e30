/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.c - opening and closing: where the store lies and whether it is one. */
#include "store/store.h"

#include "base/fdio.h"
#include "schema.h"
#include "store_priv.h"

int store_open(const char *location, enum store_mode mode, struct store **ret, struct err *e)
{
	auto_free char *path = NULL;
	auto_free char *public = NULL;
	struct db *db;
	int r;

	if (location && *location == '\0')
		return err_set(e, ERR_USAGE, EINVAL, "store: the file name is empty");
	if (!location && mode == STORE_WRITE) {
		auto_free char *folder = path_state("");

		r = dir_make(folder, e);
		if (r < 0)
			return err_wrap(e, "store");
	}
	path = location ? xstrdup(location) : path_state("results.db");
	public = db_public_location(path);

	r = db_open(path, mode, &db, e);
	if (r < 0)
		return err_wrap(e, "store '%s'", public);

	r = schema_prepare(db, e);
	if (r < 0) {
		db_close(db);
		return err_wrap(e, "store '%s'", public);
	}
	*ret = xcalloc(1, sizeof(**ret));
	**ret = (struct store){.db = db, .location = take(public), .schema_version = schema_newest};
	return 0;
}

void store_close(struct store *st)
{
	int saved = errno;

	if (!st)
		return;
	db_close(st->db);
	free(st->location);
	free(st);
	errno = saved;
}

const char *store_location(const struct store *st)
{
	return st->location;
}

int store_schema_version(const struct store *st)
{
	return st->schema_version;
}

bool store_is_shared(const struct store *st)
{
	return db_kind(st->db) == DB_POSTGRES;
}

int store_state(struct store *st, int64_t *ret, struct err *e)
{
	int r = db_state(st->db, ret, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : r;
}

void store_set_patience_ms(struct store *st, unsigned patience_ms)
{
	db_set_patience_ms(st->db, patience_ms);
}
