/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_copy.c - all rows of a store into another one, and whether they arrived. */
#include "base/strbuf.h"
#include "fulltext.h"
#include "schema.h"
#include "store/copy.h"
#include "store_priv.h"

#include <string.h>

#define COLUMNS_MAX 40
#define KEYS_MAX    3
#define PAGE_ROWS   2000 /* that are in memory at once */

enum cell_type { CELL_INT, CELL_REAL, CELL_TEXT, CELL_BLOB };

struct column {
	char name[48];
	enum cell_type type;
};

struct cell {
	bool is_null;
	int64_t i64;
	double real;
	char *bytes; /* owned; of a text, too */
	size_t n;
};

struct table {
	const struct schema_table *schema;
	struct column columns[COLUMNS_MAX];
	size_t n;
	size_t keys[KEYS_MAX]; /* which columns */
	size_t n_keys;
};

/* A place in a table: rows behind the last one that was read. */
struct pages {
	struct db *db;
	const struct table *t;
	struct query q;
	bool is_begun;
	size_t in_page;             /* rows read of this page */
	struct cell last[KEYS_MAX]; /* key of the last row */
	struct cell row[COLUMNS_MAX];
};

struct copying {
	struct store *from, *to;
	struct db *from_db;
	const struct store_copy_hooks *hooks;
	int64_t rows;
};

/* ---- cells ---- */

static void cell_reset(struct cell *c)
{
	free(c->bytes);
	memset(c, 0, sizeof(*c));
}

static void cell_read(struct query *q, enum cell_type type, struct cell *c)
{
	const void *bytes;

	cell_reset(c);
	c->is_null = get_is_null(q);
	switch (type) {
	case CELL_INT:
		c->i64 = get_i64(q);
		break;
	case CELL_REAL:
		c->real = get_real(q);
		break;
	case CELL_TEXT:
		c->bytes = get_string(q);
		c->n = strlen(c->bytes);
		break;
	case CELL_BLOB:
		bytes = get_bytes(q, &c->n);
		c->bytes = xcalloc(1, c->n + 1);
		if (c->n)
			memcpy(c->bytes, bytes, c->n);
		break;
	}
}

static void cell_put(struct query *q, enum cell_type type, const struct cell *c)
{
	switch (type) {
	case CELL_INT:
		put_known(q, c->i64, c->is_null ? c->i64 : ~c->i64);
		break;
	case CELL_REAL:
		put_real(q, c->is_null ? __builtin_nan("") : c->real);
		break;
	case CELL_TEXT:
		put_text_or_null(q, c->is_null ? NULL : c->bytes);
		break;
	case CELL_BLOB:
		put_bytes(q, c->is_null ? NULL : c->bytes, c->n);
		break;
	}
}

static bool cells_equal(enum cell_type type, const struct cell *a, const struct cell *b)
{
	if (a->is_null || b->is_null)
		return a->is_null == b->is_null;
	switch (type) {
	case CELL_INT:
		return a->i64 == b->i64;
	case CELL_REAL:
		return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
	case CELL_TEXT:
	case CELL_BLOB:
		return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
	}
	return false;
}

/* ---- tables ---- */

static int type_of(const char *name, enum cell_type *ret)
{
	static const struct {
		const char *name;
		enum cell_type type;
	} types[] = {
		{"INTEGER", CELL_INT}, {"bigint", CELL_INT},
		{"REAL", CELL_REAL},   {"double precision", CELL_REAL},
		{"TEXT", CELL_TEXT},   {"text", CELL_TEXT},
		{"BLOB", CELL_BLOB},   {"bytea", CELL_BLOB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(types[i].name, name) == 0) {
			*ret = types[i].type;
			return 0;
		}
	}
	return -EBADMSG;
}

static size_t find_column(const struct table *t, const char *name, size_t n)
{
	for (size_t i = 0; i < t->n; i++)
		if (strlen(t->columns[i].name) == n && strncmp(t->columns[i].name, name, n) == 0)
			return i;
	return t->n;
}

static int find_keys(struct table *t, struct err *e)
{
	for (const char *p = t->schema->key; *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ",");
		size_t column = find_column(t, p, n);

		if (column == t->n || t->n_keys == KEYS_MAX)
			return db_damaged(t->schema->name, e);
		t->keys[t->n_keys++] = column;
		p += n;
	}
	return 0;
}

/* The columns as this database has them; derived ones are left out. */
static int read_table(struct db *db, const struct schema_table *schema, struct table *ret,
		      struct err *e)
{
	auto_query struct query q = {0};
	int r;

	*ret = (struct table){.schema = schema};
	r = query_begin(db,
			db_kind(db) == DB_SQLITE
				? "SELECT name, type FROM pragma_table_info($1) ORDER BY name"
				: "SELECT column_name, data_type FROM information_schema.columns"
				  " WHERE table_schema = 'stallrig' AND table_name = $1 AND"
				  " is_generated = 'NEVER' ORDER BY column_name COLLATE \"C\"",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, schema->name);
	while ((r = query_next(&q, e)) > 0) {
		struct column *c = &ret->columns[ret->n];

		if (ret->n == COLUMNS_MAX)
			return db_damaged(schema->name, e);
		get_chars(&q, c->name, sizeof(c->name));
		if (type_of(get_text(&q), &c->type) < 0)
			return db_damaged(schema->name, e);
		ret->n++;
	}
	return r < 0 ? r : find_keys(ret, e);
}

static void add_columns(struct strbuf *sql, const struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		strbuf_addf(sql, "%s%s", i ? ", " : "", t->columns[i].name);
}

static void add_parameters(struct strbuf *sql, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addf(sql, "%s$%zu", i ? ", " : "", i + 1);
}

/* ---- pages: a big table is never in memory as a whole ---- */

static void pages_release(struct pages *p)
{
	query_end(&p->q);
	for (size_t i = 0; i < KEYS_MAX; i++)
		cell_reset(&p->last[i]);
	for (size_t i = 0; i < COLUMNS_MAX; i++)
		cell_reset(&p->row[i]);
}
#define auto_pages __attribute__((cleanup(pages_release)))

static int begin_page(struct pages *p, bool is_first, struct err *e)
{
	auto_strbuf struct strbuf sql = STRBUF_INIT;
	int r;

	strbuf_adds(&sql, "SELECT ");
	add_columns(&sql, p->t);
	strbuf_addf(&sql, " FROM %s", p->t->schema->name);
	if (!is_first) {
		strbuf_addf(&sql, " WHERE (%s) > (", p->t->schema->key);
		add_parameters(&sql, p->t->n_keys);
		strbuf_adds(&sql, ")");
	}
	strbuf_addf(&sql, " ORDER BY %s LIMIT %d", p->t->schema->key, PAGE_ROWS);

	query_end(&p->q);
	r = query_begin(p->db, strbuf_str(&sql), &p->q, e);
	if (r < 0)
		return r;
	for (size_t i = 0; !is_first && i < p->t->n_keys; i++)
		cell_put(&p->q, p->t->columns[p->t->keys[i]].type, &p->last[i]);
	p->in_page = 0;
	p->is_begun = true;
	return 0;
}

static void keep_key(struct pages *p)
{
	for (size_t i = 0; i < p->t->n_keys; i++) {
		const struct cell *from = &p->row[p->t->keys[i]];
		struct cell *to = &p->last[i];

		cell_reset(to);
		*to = *from;
		if (from->bytes) {
			to->bytes = xcalloc(1, from->n + 1);
			memcpy(to->bytes, from->bytes, from->n);
		}
	}
}

/* The next row into p->row. 1 = there is one, 0 = the end. */
static int next_row(struct pages *p, struct err *e)
{
	int r;

	if (!p->is_begun || p->in_page == PAGE_ROWS) {
		r = begin_page(p, !p->is_begun, e);
		if (r < 0)
			return r;
	}
	r = query_next(&p->q, e);
	if (r <= 0)
		return r;
	p->in_page++;
	for (size_t i = 0; i < p->t->n; i++)
		cell_read(&p->q, p->t->columns[i].type, &p->row[i]);
	if (p->in_page == PAGE_ROWS)
		keep_key(p);
	return 1;
}

/* ---- copying ---- */

static int insert_row(struct query *q, const struct pages *p, struct err *e)
{
	for (size_t i = 0; i < p->t->n; i++)
		cell_put(q, p->t->columns[i].type, &p->row[i]);
	return query_run_later(q, e);
}

static int index_title(struct db *to, const struct pages *p, struct err *e)
{
	return fulltext_add(to, p->row[find_column(p->t, "incident_title", 14)].i64,
			    p->row[find_column(p->t, "class", 5)].bytes,
			    p->row[find_column(p->t, "title", 5)].bytes, e);
}

/* The next number of its own comes after the copied ones. */
static int move_counter(struct db *to, const struct table *t, struct err *e)
{
	auto_free char *sql =
		xasprintf("SELECT setval(pg_get_serial_sequence('stallrig.%s', '%s'),"
			  " (SELECT coalesce(max(%s), 0) + 1 FROM %s), false)",
			  t->schema->name, t->schema->key, t->schema->key, t->schema->name);

	return t->schema->is_numbered && db_kind(to) == DB_POSTGRES ? db_script(to, sql, e) : 0;
}

static int copy_table(struct copying *c, struct db *to, const struct table *t, int64_t *ret_rows,
		      struct err *e)
{
	auto_pages struct pages p = {.db = c->from_db, .t = t};
	bool is_titles = strcmp(t->schema->name, "incident_titles") == 0;
	auto_strbuf struct strbuf sql = STRBUF_INIT;
	auto_query struct query q = {0};
	int r;

	strbuf_addf(&sql, "INSERT INTO %s (", t->schema->name);
	add_columns(&sql, t);
	strbuf_adds(&sql, ") VALUES (");
	add_parameters(&sql, t->n);
	strbuf_adds(&sql, ")");

	r = query_begin(to, strbuf_str(&sql), &q, e);
	if (r < 0)
		return r;
	while ((r = next_row(&p, e)) > 0) {
		r = insert_row(&q, &p, e);
		if (r >= 0 && is_titles)
			r = index_title(to, &p, e);
		if (r < 0)
			return r;
		++*ret_rows;
	}
	return r < 0 ? r : move_counter(to, t, e);
}

static int check_same_columns(struct db *to, const struct table *t, struct err *e)
{
	struct table other;
	int r;

	r = read_table(to, t->schema, &other, e);
	if (r < 0)
		return r;
	if (other.n != t->n)
		return db_damaged(t->schema->name, e);
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(other.columns[i].name, t->columns[i].name) != 0 ||
		    other.columns[i].type != t->columns[i].type)
			return db_damaged(t->schema->name, e);
	return 0;
}

static int check_empty(struct db *to, const struct schema_table *schema, struct err *e)
{
	auto_free char *sql = xasprintf("SELECT 1 FROM %s LIMIT 1", schema->name);
	auto_query struct query q = {0};
	int r;

	r = query_begin(to, sql, &q, e);
	if (r >= 0)
		r = query_next(&q, e);
	if (r > 0)
		return err_set(e, ERR_USAGE, EEXIST, "it holds something already, in %s",
			       schema->name);
	return r;
}

static int copy_into(struct db *to, void *arg, struct err *e)
{
	struct copying *c = arg;
	int r = 0;

	c->rows = 0;
	for (const struct schema_table *s = schema_tables; r >= 0 && s->name; s++)
		r = check_empty(to, s, e);
	for (const struct schema_table *s = schema_tables; r >= 0 && s->name; s++) {
		struct table t;
		int64_t rows = 0;

		r = read_table(c->from_db, s, &t, e);
		if (r >= 0)
			r = check_same_columns(to, &t, e);
		if (r >= 0)
			r = copy_table(c, to, &t, &rows, e);
		if (r < 0)
			return err_wrap(e, "table %s", s->name);
		c->rows += rows;
		if (c->hooks && c->hooks->table)
			c->hooks->table(c->hooks->self, s->name, rows, false);
	}
	return r;
}

/* ---- checking ---- */

static int fail_different(const struct pages *a, int64_t row, const char *what, struct err *e)
{
	return err_set(e, ERR_STORE, EBADMSG, "the copy differs: table %s, row %lld: %s",
		       a->t->schema->name, (long long)row, what);
}

static int check_table(struct db *from, struct db *to, const struct table *t, int64_t *ret_rows,
		       struct err *e)
{
	auto_pages struct pages a = {.db = from, .t = t};
	auto_pages struct pages b = {.db = to, .t = t};
	int has_a, has_b;

	for (;; ++*ret_rows) {
		has_a = next_row(&a, e);
		if (has_a < 0)
			return has_a;
		has_b = next_row(&b, e);
		if (has_b < 0)
			return has_b;
		if (has_a != has_b)
			return fail_different(&a, *ret_rows + 1, "it is in one of them only", e);
		if (!has_a)
			return 0;
		for (size_t i = 0; i < t->n; i++)
			if (!cells_equal(t->columns[i].type, &a.row[i], &b.row[i]))
				return fail_different(&a, *ret_rows + 1, t->columns[i].name, e);
	}
}

static int check_against(struct db *to, void *arg, struct err *e)
{
	struct copying *c = arg;
	int r = 0;

	for (const struct schema_table *s = schema_tables; r >= 0 && s->name; s++) {
		struct table t;
		int64_t rows = 0;

		r = read_table(c->from_db, s, &t, e);
		if (r >= 0)
			r = check_table(c->from_db, to, &t, &rows, e);
		if (r >= 0 && c->hooks && c->hooks->table)
			c->hooks->table(c->hooks->self, s->name, rows, true);
	}
	return r;
}

/* ---- */

static int copy_out_of(struct db *from, void *arg, struct err *e)
{
	struct copying *c = arg;

	c->from_db = from;
	return db_transact(c->to->db, DB_CHANGE, copy_into, c, e);
}

static int check_out_of(struct db *from, void *arg, struct err *e)
{
	struct copying *c = arg;

	c->from_db = from;
	return db_transact(c->to->db, DB_SEE, check_against, c, e);
}

int store_copy(struct store *from, struct store *to, const struct store_copy_hooks *hooks,
	       int64_t *ret_rows, struct err *e)
{
	struct copying c = {.from = from, .to = to, .hooks = hooks};
	int r;

	r = db_transact(from->db, DB_SEE, copy_out_of, &c, e);
	if (r >= 0)
		r = db_transact(from->db, DB_SEE, check_out_of, &c, e);
	if (r < 0)
		return err_wrap(e, "copying '%s' to '%s'", from->location, to->location);
	*ret_rows = c.rows;
	return 0;
}
