/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_query.c - incidents by their words; bisects, read and written. */
#include "fulltext.h"
#include "store/query.h"
#include "store_priv.h"

/* ---- incidents ---- */

struct incident_question {
	const char *words; /* NULL = all */
	unsigned last;
	struct store_incident *rows;
	size_t n;
};

void store_incidents_free(struct store_incident *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		util_free(rows[i].cls);
		util_free(rows[i].title);
		util_free(rows[i].run_id);
		util_free(rows[i].rig);
		util_free(rows[i].kernel);
	}
	util_free(rows);
}

static int see_incidents(struct db *db, void *arg, struct err *e)
{
	struct incident_question *a = arg;
	auto_query struct query q = {0};
	auto_free char *words = a->words ? fulltext_query(db, a->words) : NULL;
	/* of each title no more than are asked for: one can have a million */
	auto_free char *sql = xasprintf(
		"WITH titles AS MATERIALIZED ("
		"  SELECT incident_title, class, title, (SELECT j.trial FROM incidents AS j"
		"   WHERE j.incident_title = t.incident_title ORDER BY j.trial DESC"
		"   LIMIT 1 OFFSET $2) AS oldest FROM incident_titles AS t WHERE %s),"
		" newest AS MATERIALIZED ("
		"  SELECT i.trial, i.seq, class, title, count"
		"  FROM titles AS t CROSS JOIN incidents AS i"
		"  WHERE i.incident_title = t.incident_title AND i.trial >= coalesce(oldest, 0)"
		"  ORDER BY i.trial DESC, i.seq LIMIT $2)"
		" SELECT n.class, n.title, n.count, runs.id, trials.number, rigs.name,"
		" kernel_builds.name, trials.started_wall_ns"
		" FROM newest AS n CROSS JOIN trials JOIN runs ON runs.run = trials.run"
		" JOIN rigs ON rigs.rig = runs.rig"
		" JOIN kernel_builds ON kernel_builds.kernel_build = runs.kernel_build"
		" WHERE trials.trial = n.trial ORDER BY n.trial DESC, n.seq",
		words ? fulltext_condition(db) : "t.class <> $1");
	int r;

	store_incidents_free(a->rows, a->n);
	a->rows = NULL;
	a->n = 0;
	r = query_begin(db, sql, &q, e);
	if (r < 0)
		return r;
	put_text(&q, words ? words : "usb-disconnect");
	put_i64(&q, a->last);
	while ((r = query_next(&q, e)) > 0) {
		struct store_incident *row;

		a->rows = xrealloc(a->rows, a->n + 1, sizeof(*a->rows));
		row = &a->rows[a->n++];
		row->cls = get_string(&q);
		row->title = get_string(&q);
		row->count = get_unsigned(&q);
		row->run_id = get_string(&q);
		row->trial = get_unsigned(&q);
		row->rig = get_string(&q);
		row->kernel = get_string(&q);
		row->started_wall_ns = get_i64(&q);
		if (q.is_damaged)
			return db_damaged("incidents", e);
	}
	return r;
}

int store_incidents(struct store *st, const char *words, unsigned last, struct store_incident **ret,
		    size_t *ret_n, struct err *e)
{
	struct incident_question a = {.words = words, .last = last};
	int r = db_transact(st->db, DB_SEE, see_incidents, &a, e);

	if (r < 0) {
		store_incidents_free(a.rows, a.n);
		return err_wrap(e, "store '%s'", st->location);
	}
	*ret = a.rows;
	*ret_n = a.n;
	return 0;
}

/* ---- bisects ---- */

struct bisect_question {
	const char *id;
	struct store_bisect *rows;
	size_t n;
};

void store_bisects_free(struct store_bisect *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct store_bisect *b = &rows[i];
		char *const texts[] = {b->id,   b->repo,     b->good,      b->bad,
				       b->rig,  b->scenario, b->state,     b->culprit,
				       b->next, b->config,   b->candidates};

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			util_free(texts[k]);
		for (size_t k = 0; k < b->n_tests; k++) {
			util_free(b->tests[k].commit);
			util_free(b->tests[k].subject);
			util_free(b->tests[k].verdict);
			util_free(b->tests[k].run_id);
		}
		util_free(b->tests);
	}
	util_free(rows);
}

static int see_tests(struct db *db, int64_t key, struct store_bisect *b, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"SELECT commit_hash, subject, verdict, trials, over, worst_us, run_id,"
			" tested_wall_ns FROM bisect_tests WHERE bisect = $1 ORDER BY seq",
			&q, e);
	if (r < 0)
		return r;
	put_i64(&q, key);
	while ((r = query_next(&q, e)) > 0) {
		struct store_bisect_test *t;

		b->tests = xrealloc(b->tests, b->n_tests + 1, sizeof(*b->tests));
		t = &b->tests[b->n_tests++];
		t->commit = get_string(&q);
		t->subject = get_string(&q);
		t->verdict = get_string(&q);
		t->trials = get_unsigned(&q);
		t->over = get_unsigned(&q);
		t->worst_us = get_known(&q, -1);
		t->run_id = get_string_or_null(&q);
		t->tested_wall_ns = get_i64(&q);
		if (q.is_damaged)
			return db_damaged("bisect_tests", e);
	}
	return r;
}

static int see_candidates(struct db *db, int64_t key, struct store_bisect *b, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"SELECT candidates, entropy_bits FROM bisect_posteriors WHERE bisect = $1"
			" ORDER BY seq DESC LIMIT 1",
			&q, e);
	if (r < 0)
		return r;
	put_i64(&q, key);
	r = query_next(&q, e);
	if (r > 0) {
		b->candidates = get_string(&q);
		b->entropy_bits = get_real(&q);
	}
	return r < 0 ? r : 0;
}

static int see_bisects(struct db *db, void *arg, struct err *e)
{
	struct bisect_question *a = arg;
	auto_query struct query q = {0};
	int r;

	store_bisects_free(a->rows, a->n);
	a->rows = NULL;
	a->n = 0;
	r = query_begin(
		db,
		"SELECT bisect, id, repo, good, bad, rig, scenario, state, n_commits, culprit,"
		" probability, next, eta_s, started_wall_ns, updated_wall_ns, ended_wall_ns,"
		" config FROM bisects"
		" WHERE ($1 = '' OR id = $1) ORDER BY updated_wall_ns DESC LIMIT 200",
		&q, e);
	if (r < 0)
		return r;
	put_text(&q, a->id);
	while ((r = query_next(&q, e)) > 0) {
		struct store_bisect *b;
		int64_t key;

		a->rows = xrealloc(a->rows, a->n + 1, sizeof(*a->rows));
		b = &a->rows[a->n++];
		*b = (struct store_bisect){.entropy_bits = __builtin_nan("")};
		key = get_i64(&q);
		b->id = get_string(&q);
		b->repo = get_string(&q);
		b->good = get_string(&q);
		b->bad = get_string(&q);
		b->rig = get_string(&q);
		b->scenario = get_string(&q);
		b->state = get_string(&q);
		b->n_commits = get_unsigned(&q);
		b->culprit = get_string_or_null(&q);
		b->probability = get_is_null(&q) ? (get_real(&q), __builtin_nan("")) : get_real(&q);
		b->next = get_string(&q);
		b->eta_s = get_known(&q, -1);
		b->started_wall_ns = get_i64(&q);
		b->updated_wall_ns = get_i64(&q);
		b->ended_wall_ns = get_known(&q, 0);
		b->config = get_string(&q);
		if (q.is_damaged)
			return db_damaged("bisects", e);
		if (a->id) {
			r = see_tests(db, key, b, e);
			if (r >= 0)
				r = see_candidates(db, key, b, e);
			if (r < 0)
				return r;
		}
	}
	return r;
}

int store_bisects(struct store *st, const char *id, struct store_bisect **ret, size_t *ret_n,
		  struct err *e)
{
	struct bisect_question a = {.id = id};
	int r = db_transact(st->db, DB_SEE, see_bisects, &a, e);

	if (r < 0) {
		store_bisects_free(a.rows, a.n);
		return err_wrap(e, "store '%s'", st->location);
	}
	*ret = a.rows;
	*ret_n = a.n;
	return 0;
}

static int put_head(struct db *db, const struct store_bisect *b, int64_t *ret_key, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"INSERT INTO bisects (id, repo, good, bad, rig, scenario, state, n_commits,"
			" culprit, probability, next, eta_s, started_wall_ns, updated_wall_ns,"
			" ended_wall_ns, config)"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
			" $16) ON CONFLICT (id) DO UPDATE SET state = excluded.state,"
			" culprit = excluded.culprit, probability = excluded.probability,"
			" next = excluded.next, eta_s = excluded.eta_s,"
			" updated_wall_ns = excluded.updated_wall_ns,"
			" ended_wall_ns = excluded.ended_wall_ns RETURNING bisect",
			&q, e);
	if (r < 0)
		return r;
	put_text(&q, b->id);
	put_text(&q, b->repo);
	put_text(&q, b->good);
	put_text(&q, b->bad);
	put_text(&q, b->rig);
	put_text(&q, b->scenario);
	put_text(&q, b->state);
	put_i64(&q, b->n_commits);
	put_text_or_null(&q, b->culprit);
	put_real(&q, b->probability);
	put_text(&q, b->next);
	put_known(&q, b->eta_s, -1);
	put_i64(&q, b->started_wall_ns);
	put_i64(&q, b->updated_wall_ns);
	put_known(&q, b->ended_wall_ns, 0);
	put_text(&q, b->config);
	r = query_next(&q, e);
	if (r <= 0)
		return r < 0 ? r : db_damaged("bisects", e);
	*ret_key = get_i64(&q);
	return 0;
}

static int count_tests(struct db *db, int64_t key, size_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, "SELECT count(*) FROM bisect_tests WHERE bisect = $1", &q, e);
	if (r < 0)
		return r;
	put_i64(&q, key);
	r = query_next(&q, e);
	if (r <= 0)
		return r < 0 ? r : db_damaged("bisect_tests", e);
	*ret = (size_t)get_i64(&q);
	return 0;
}

static int put_tests(struct db *db, int64_t key, const struct store_bisect *b, struct err *e)
{
	auto_query struct query q = {0};
	size_t n = 0;
	int r;

	r = count_tests(db, key, &n, e);
	if (r >= 0 && n < b->n_tests)
		r = query_begin(db,
				"INSERT INTO bisect_tests (bisect, seq, commit_hash, subject,"
				" verdict, trials, over, worst_us, run_id, tested_wall_ns)"
				" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
				&q, e);
	for (; n < b->n_tests && r >= 0; n++) {
		const struct store_bisect_test *t = &b->tests[n];

		put_i64(&q, key);
		put_i64(&q, (int64_t)n);
		put_text(&q, t->commit);
		put_text(&q, t->subject);
		put_text(&q, t->verdict);
		put_i64(&q, t->trials);
		put_i64(&q, t->over);
		put_known(&q, t->worst_us, -1);
		put_text_or_null(&q, t->run_id);
		put_i64(&q, t->tested_wall_ns);
		r = query_run(&q, e);
	}
	return r;
}

static int put_posterior(struct db *db, int64_t key, const struct store_bisect *b, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"INSERT INTO bisect_posteriors (bisect, seq, entropy_bits, candidates,"
			" wall_ns) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (bisect, seq) DO UPDATE"
			" SET entropy_bits = excluded.entropy_bits,"
			" candidates = excluded.candidates, wall_ns = excluded.wall_ns",
			&q, e);
	if (r < 0)
		return r;
	put_i64(&q, key);
	put_i64(&q, (int64_t)b->n_tests);
	put_real(&q, b->entropy_bits);
	put_text(&q, b->candidates);
	put_i64(&q, b->updated_wall_ns);
	return query_run(&q, e);
}

static int put_bisect(struct db *db, void *arg, struct err *e)
{
	const struct store_bisect *b = arg;
	int64_t key = 0;
	int r;

	r = put_head(db, b, &key, e);
	if (r >= 0)
		r = put_tests(db, key, b, e);
	return r < 0 || !b->candidates ? r : put_posterior(db, key, b, e);
}

int store_bisect_put(struct store *st, const struct store_bisect *b, struct err *e)
{
	/* the work only reads it */
	struct store_bisect copy = *b;
	int r;

	if (!parse_is_name(b->id))
		return err_set(e, ERR_USAGE, EINVAL, "'%s' cannot be the id of a bisect", b->id);
	r = db_transact(st->db, DB_CHANGE, put_bisect, &copy, e);
	return r < 0 ? err_wrap(e, "store '%s': bisect '%s'", st->location, b->id) : 0;
}
