/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db.c - what is the same for every database: statements kept prepared, parameters, repetition. */
#include "db.h"

#include "base/log.h"
#include "base/waiter.h"
#include "db_driver.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define FIRST_PAUSE_NS   (5 * NSEC_PER_MSEC)
#define LONGEST_PAUSE_NS (500 * NSEC_PER_MSEC)

/* ---- location ---- */

bool db_is_postgres(const char *location)
{
	return strncmp(location, "postgres://", 11) == 0 ||
	       strncmp(location, "postgresql://", 13) == 0;
}

/* Adds the part of a URI after '?' without the value of password. */
static void add_public_parameters(struct strbuf *out, const char *text)
{
	static const char key[] = "password=";

	while (*text) {
		size_t n = strcspn(text, "&");

		if (strncmp(text, key, sizeof(key) - 1) == 0)
			strbuf_addf(out, "%s***", key);
		else
			strbuf_add(out, text, n);
		text += n;
		if (*text)
			strbuf_add(out, text++, 1);
	}
}

char *db_public_location(const char *location)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *from, *at, *colon, *end;

	if (!db_is_postgres(location))
		return xstrdup(location);
	from = strstr(location, "://") + 3;
	end = from + strcspn(from, "/?");
	at = memrchr(from, '@', (size_t)(end - from));
	colon = at ? memchr(from, ':', (size_t)(at - from)) : NULL;
	if (colon) {
		strbuf_add(&out, location, (size_t)(colon - location));
		strbuf_adds(&out, ":***");
		location = at;
	}
	end = location + strcspn(location, "?");
	strbuf_add(&out, location, (size_t)(end - location));
	if (*end) {
		strbuf_adds(&out, "?");
		add_public_parameters(&out, end + 1);
	}
	return strbuf_take(&out);
}

/* ---- connection ---- */

int db_open(const char *location, enum store_mode mode, struct db **ret, struct err *e)
{
	const struct db_ops *ops = &db_sqlite_ops;
	struct db *db;
	int r;

	if (db_is_postgres(location)) {
#ifdef STALLRIG_HAS_POSTGRES
		ops = &db_postgres_ops;
#else
		return err_set(e, ERR_USAGE, ENOTSUP,
			       "this stallrig was built without PostgreSQL (libpq)");
#endif
	}

	r = ops->open(location, mode, &db, e);
	if (r < 0)
		return r;

	*ret = db;
	return 0;
}

static void statement_free(struct db *db, struct db_statement *st)
{
	char *sql = st->sql;

	db->ops->statement_free(db, st);
	free(sql);
}

void db_close(struct db *db)
{
	int saved = errno;

	if (!db)
		return;
	for (size_t i = 0; i < db->n_cached; i++)
		statement_free(db, db->cache[i]);
	waiter_free(db->w);
	db->ops->close(db);
	errno = saved;
}

const char *db_name(const struct db *db)
{
	return db->ops->name;
}

enum db_kind db_kind(const struct db *db)
{
	return db->ops->kind;
}

enum store_mode db_mode(const struct db *db)
{
	return db->mode;
}

void db_set_patience_ms(struct db *db, unsigned patience_ms)
{
	db->patience_ms = patience_ms < INT_MAX ? patience_ms : INT_MAX;
	db->ops->patience_changed(db);
}

unsigned db_patience_ms(const struct db *db)
{
	return db->patience_ms;
}

int db_version(struct db *db, int *ret, struct err *e)
{
	return db->ops->version(db, ret, e);
}

int db_set_version(struct db *db, int version, struct err *e)
{
	return db->ops->set_version(db, version, e);
}

int db_prepare_write(struct db *db, struct err *e)
{
	return db->ops->prepare_write(db, e);
}

int db_lock_schema(struct db *db, struct err *e)
{
	return db->ops->lock_schema(db, e);
}

int db_now(struct db *db, int64_t *ret_wall_ns, struct err *e)
{
	return db->ops->now(db, ret_wall_ns, e);
}

int db_state(struct db *db, int64_t *ret, struct err *e)
{
	return db->ops->state(db, ret, e);
}

bool db_has_row_locks(const struct db *db)
{
	return db->ops->has_row_locks;
}

const char *db_skip_locked(const struct db *db)
{
	return db->ops->has_row_locks ? " FOR UPDATE SKIP LOCKED" : "";
}

int db_listen(struct db *db, const char *channel, struct err *e)
{
	return db->ops->listen ? db->ops->listen(db, channel, e) : 0;
}

int db_notify(struct db *db, const char *channel, struct err *e)
{
	return db->ops->notify ? db->ops->notify(db, channel, e) : 0;
}

int db_news_fd(struct db *db)
{
	return db->ops->news_fd ? db->ops->news_fd(db) : -1;
}

bool db_take_news(struct db *db)
{
	return db->ops->take_news && db->ops->take_news(db);
}

int db_damaged(const char *what, struct err *e)
{
	return err_set(e, ERR_STORE, EBADMSG, "it holds a value that cannot be, in %s", what);
}

/* ---- scripts ---- */

/* Adds what "{word}" at p means; returns what follows it. */
static const char *expand_word(const struct db_ops *ops, const char *p, struct strbuf *out)
{
	const char *word = p + 1;
	size_t n = strcspn(word, "}");
	size_t section = strcspn(word, ":}");

	assert(word[n] == '}');
	if (word[section] == ':') {
		if (strncmp(word, ops->section, section) == 0)
			strbuf_add(out, word + section + 1, n - section - 1);
		return word + n + 1;
	}
	for (const struct db_word *w = ops->words; w->word; w++) {
		if (strlen(w->word) == n && strncmp(w->word, word, n) == 0) {
			strbuf_adds(out, w->means);
			return word + n + 1;
		}
	}
	assert(!"a word that no dialect knows");
	return word + n + 1;
}

int db_script(struct db *db, const char *sql, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;

	while (*sql) {
		size_t n = strcspn(sql, "{");

		strbuf_add(&out, sql, n);
		sql += n;
		if (*sql)
			sql = expand_word(db->ops, sql, &out);
	}
	return db->ops->script(db, strbuf_str(&out), e);
}

/* ---- transactions ---- */

static int transact_once(struct db *db, enum db_access access, db_work work, void *arg,
			 struct err *e)
{
	int r, done;

	r = db->ops->begin(db, access, e);
	if (r < 0)
		return r;

	db->is_in_transaction = true;
	done = work(db, arg, e);
	r = done < 0 ? done : db->ops->commit(db, e);
	if (r < 0)
		db->ops->rollback(db);
	db->is_in_transaction = false;
	return r < 0 ? r : done;
}

/* A pause that grows with each attempt. */
static int pause_before(struct db *db, unsigned attempt, struct err *e)
{
	nsec_t pause_ns = FIRST_PAUSE_NS << (attempt < 8 ? attempt : 8);

	return waiter_sleep(db->w, pause_ns < LONGEST_PAUSE_NS ? pause_ns : LONGEST_PAUSE_NS, e);
}

/* Waits and connects again until that works or until_ns has come. */
static int wait_for_server(struct db *db, unsigned attempt, nsec_t until_ns, struct err *e)
{
	int r;

	do {
		r = pause_before(db, attempt++, e);
		if (r < 0)
			return r;
		r = db->ops->reconnect ? db->ops->reconnect(db, e) : 0;
	} while (r == -ECONNRESET && waiter_now(db->w) < until_ns);
	return r;
}

int db_transact(struct db *db, enum db_access access, db_work work, void *arg, struct err *e)
{
	nsec_t until_ns;
	int r;

	assert(!db->is_in_transaction);
	if (!db->w)
		db->w = waiter_new(NULL);
	until_ns = waiter_now(db->w) + (nsec_t)db->patience_ms * NSEC_PER_MSEC;
	for (unsigned attempt = 0;; attempt++) {
		r = transact_once(db, access, work, arg, e);
		if ((r != -ECONNRESET && r != -EAGAIN) || waiter_now(db->w) >= until_ns)
			return r;
		log_debug(LOG_STORE, "once more: %s", e->text);
		r = wait_for_server(db, attempt, until_ns, e);
		if (r < 0)
			return r;
		err_clear(e);
	}
}

/* ---- statements ---- */

/* A free place in the cache, made by giving up what was not used for longest. -1 = none. */
static int cache_place(struct db *db)
{
	int oldest = -1;

	if (db->n_cached < DB_CACHE_MAX)
		return (int)db->n_cached++;
	for (int i = 0; i < DB_CACHE_MAX; i++) {
		const struct db_statement *st = db->cache[i];

		if (!st->is_in_use && (oldest < 0 || st->last_use < db->cache[oldest]->last_use))
			oldest = i;
	}
	if (oldest >= 0)
		statement_free(db, db->cache[oldest]);
	return oldest;
}

int query_begin(struct db *db, const char *sql, struct query *ret, struct err *e)
{
	struct db_statement *st = NULL;
	int place = -1;
	int r;

	for (size_t i = 0; i < db->n_cached && !st; i++)
		if (!db->cache[i]->is_in_use && strcmp(db->cache[i]->sql, sql) == 0)
			st = db->cache[i];
	if (!st) {
		r = db->ops->statement_new(db, sql, &st, e);
		if (r < 0)
			return r;

		st->sql = xstrdup(sql);
		place = cache_place(db);
		st->is_cached = place >= 0;
		if (place >= 0)
			db->cache[place] = st;
	}
	st->is_in_use = true;
	st->last_use = ++db->uses;
	*ret = (struct query){.db = db, .st = st};
	return 0;
}

static void ready_again(struct query *q)
{
	q->db->ops->reset(q->db, q->st);
	q->st->has_run = false;
	q->st->n_params = 0;
	q->at = 0;
}

void query_end(struct query *q)
{
	if (!q->st)
		return;
	ready_again(q);
	q->st->is_in_use = false;
	if (!q->st->is_cached)
		statement_free(q->db, q->st);
	q->st = NULL;
}

static void put_value(struct query *q, struct db_value value)
{
	assert(q->at < DB_PARAMS_MAX && !q->st->has_run);
	q->st->params[q->at++] = value;
	q->st->n_params = q->at;
}

void put_text_or_null(struct query *q, const char *text)
{
	put_value(q, (struct db_value){.type = DB_TYPE_TEXT,
				       .is_null = !text,
				       .bytes = text,
				       .n = text ? strlen(text) : 0});
}

void put_text(struct query *q, const char *text)
{
	put_text_or_null(q, text ? text : "");
}

void put_i64(struct query *q, int64_t value)
{
	put_value(q, (struct db_value){.type = DB_TYPE_INT, .i64 = value});
}

void put_u64(struct query *q, uint64_t value)
{
	put_i64(q, (int64_t)value);
}

void put_known(struct query *q, int64_t value, int64_t unknown)
{
	put_value(q, (struct db_value){
			     .type = DB_TYPE_INT, .is_null = value == unknown, .i64 = value});
}

void put_real(struct query *q, double value)
{
	put_value(q,
		  (struct db_value){.type = DB_TYPE_REAL, .is_null = isnan(value), .real = value});
}

void put_bytes(struct query *q, const void *bytes, size_t n)
{
	put_value(q, (struct db_value){
			     .type = DB_TYPE_BYTES, .is_null = !bytes, .bytes = bytes, .n = n});
}

int query_next(struct query *q, struct err *e)
{
	int r = q->db->ops->next(q->db, q->st, e);

	q->st->has_run = true;
	q->at = 0;
	return r;
}

int query_run_counted(struct query *q, int64_t *ret_rows, struct err *e)
{
	int r;

	do {
		r = query_next(q, e);
	} while (r > 0);
	if (r == 0 && ret_rows)
		*ret_rows = q->db->ops->rows_changed(q->db, q->st);
	ready_again(q);
	return r;
}

int query_run_later(struct query *q, struct err *e)
{
	int r;

	if (!q->db->ops->run_later)
		return query_run(q, e);
	r = q->db->ops->run_later(q->db, q->st, e);
	ready_again(q);
	return r;
}

int query_run(struct query *q, struct err *e)
{
	return query_run_counted(q, NULL, e);
}

/* ---- columns ---- */

bool get_is_null(struct query *q)
{
	return q->db->ops->column_is_null(q->st, q->at);
}

const char *get_text_or_null(struct query *q)
{
	return q->db->ops->column_text(q->st, q->at++);
}

char *get_string_or_null(struct query *q)
{
	const char *text = get_text_or_null(q);

	return text ? xstrdup(text) : NULL;
}

const char *get_text(struct query *q)
{
	const char *text = get_text_or_null(q);

	return text ? text : "";
}

char *get_string(struct query *q)
{
	return xstrdup(get_text(q));
}

void get_chars(struct query *q, char *ret, size_t cap)
{
	(void)snprintf(ret, cap, "%s", get_text(q));
}

int64_t get_i64(struct query *q)
{
	return q->db->ops->column_i64(q->st, q->at++);
}

uint64_t get_u64(struct query *q)
{
	return (uint64_t)get_i64(q);
}

int64_t get_known(struct query *q, int64_t unknown)
{
	bool is_null = get_is_null(q);
	int64_t value = get_i64(q);

	return is_null ? unknown : value;
}

unsigned get_unsigned(struct query *q)
{
	int64_t value = get_i64(q);

	if (value >= 0 && value <= UINT_MAX)
		return (unsigned)value;
	q->is_damaged = true;
	return 0;
}

int get_cpu(struct query *q)
{
	int64_t value = get_known(q, -1);

	if (value >= -1 && value <= INT_MAX)
		return (int)value;
	q->is_damaged = true;
	return -1;
}

bool get_bool(struct query *q)
{
	return get_i64(q) != 0;
}

double get_real(struct query *q)
{
	return q->db->ops->column_real(q->st, q->at++);
}

const void *get_bytes(struct query *q, size_t *ret_n)
{
	return q->db->ops->column_bytes(q->st, q->at++, ret_n);
}
