/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_trend.c - all runs of a scenario on a rig, as little of each as a chart needs. */
#include "judge/compare.h"
#include "store/query.h"
#include "store_priv.h"

struct trend_question {
	const struct store_trend_filter *filter;
	struct store_trend *trend;
	int64_t *build_keys; /* of trend->builds */
	int64_t *build_series;
};

void store_trend_release(struct store_trend *t)
{
	for (size_t i = 0; i < t->n_builds; i++) {
		util_free(t->builds[i].name);
		util_free(t->builds[i].release);
		util_free(t->builds[i].version);
		util_free(t->builds[i].append);
	}
	for (size_t i = 0; i < t->n; i++)
		util_free(t->points[i].run_id);
	util_free(t->builds);
	util_free(t->points);
	*t = (struct store_trend){0};
}

static void trend_reset(struct trend_question *a)
{
	store_trend_release(a->trend);
	free(take(a->build_keys));
	free(take(a->build_series));
}

/* The keys of the rig: there is one for each architecture that it had. */
static int select_rigs(struct db *db, const struct store_trend_filter *f, int64_t **ret,
		       size_t *ret_n, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, "SELECT rig FROM rigs WHERE name = $1 AND class = $2", &q, e);
	if (r < 0)
		return r;

	put_text(&q, f->rig);
	put_text(&q, f->rig_class);
	while ((r = query_next(&q, e)) > 0) {
		*ret = xrealloc(*ret, *ret_n + 1, sizeof(**ret));
		(*ret)[(*ret_n)++] = get_i64(&q);
	}
	return r;
}

/* Of the last columns of the row, which are read only if they are new. */
static size_t find_build(struct trend_question *a, int64_t key, int64_t series, struct query *q)
{
	struct store_trend *t = a->trend;
	struct store_build *b;

	/* runs of the same night are neighbours */
	for (size_t i = t->n_builds; i-- > 0;)
		if (a->build_keys[i] == key && a->build_series[i] == series)
			return i;
	t->builds = xrealloc(t->builds, t->n_builds + 1, sizeof(*t->builds));
	a->build_keys = xrealloc(a->build_keys, t->n_builds + 1, sizeof(*a->build_keys));
	a->build_series = xrealloc(a->build_series, t->n_builds + 1, sizeof(*a->build_series));
	a->build_keys[t->n_builds] = key;
	a->build_series[t->n_builds] = series;
	b = &t->builds[t->n_builds];
	b->name = get_string(q);
	b->release = get_string(q);
	b->version = get_string(q);
	b->append = get_string(q);
	return t->n_builds++;
}

static int read_point(struct trend_question *a, struct query *q, struct store_point *p)
{
	int64_t build;
	const char *verdict;

	p->run_id = get_string(q);
	p->series = get_i64(q);
	build = get_i64(q);
	verdict = get_text_or_null(q);
	p->verdict = VERDICT_INCONCLUSIVE; /* not judged */
	if (verdict && !verdict_parse(verdict, &p->verdict))
		q->is_damaged = true;
	p->started_wall_ns = get_i64(q);
	p->limit_us = get_i64(q);
	p->worst_us = get_known(q, -1);
	p->p99_us = get_known(q, -1);
	p->p50_us = get_known(q, -1);
	p->over = get_unsigned(q);
	p->valid = get_unsigned(q);
	p->build = find_build(a, build, p->series, q);
	return q->is_damaged ? -EBADMSG : 0;
}

static int select_points(struct db *db, struct trend_question *a, int64_t rig, struct err *e)
{
	const struct store_trend_filter *f = a->filter;
	struct store_trend *t = a->trend;
	auto_query struct query q = {0};
	size_t cap = t->n;
	int r;

	/* CROSS JOIN keeps SQLite from beginning with the kernel builds */
	r = query_begin(
		db,
		"SELECT id, series, runs.kernel_build, verdict, started_wall_ns, limit_us,"
		" worst_us, p99_us, p50_us, over, valid, name, release, version, append"
		" FROM runs CROSS JOIN kernel_builds AS k"
		" WHERE scenario = $1 AND rig = $2 AND started_wall_ns >= $3"
		" AND k.kernel_build = runs.kernel_build"
		" AND ($4 IS NULL OR strpos(k.name, $4) > 0 OR strpos(kernel_label, $4) > 0)"
		" ORDER BY started_wall_ns, run",
		&q, e);
	if (r < 0)
		return r;

	put_text(&q, f->scenario);
	put_i64(&q, rig);
	put_i64(&q, f->since_wall_ns);
	put_text_or_null(&q, f->kernel);
	while ((r = query_next(&q, e)) > 0) {
		if (t->n == cap) {
			cap = cap ? cap * 2 : 1024;
			t->points = xrealloc(t->points, cap, sizeof(*t->points));
		}
		if (read_point(a, &q, &t->points[t->n++]) < 0)
			return db_damaged("runs", e);
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct store_point *x = a, *y = b;

	return (x->started_wall_ns > y->started_wall_ns) -
	       (x->started_wall_ns < y->started_wall_ns);
}

static int select_trend(struct db *db, void *arg, struct err *e)
{
	struct trend_question *a = arg;
	auto_free int64_t *rigs = NULL;
	size_t n_rigs = 0;
	int r;

	trend_reset(a);
	r = select_rigs(db, a->filter, &rigs, &n_rigs, e);
	for (size_t i = 0; r >= 0 && i < n_rigs; i++)
		r = select_points(db, a, rigs[i], e);
	if (r >= 0 && n_rigs > 1 && a->trend->n)
		qsort(a->trend->points, a->trend->n, sizeof(*a->trend->points), by_start);
	return r;
}

int store_trend(struct store *st, const struct store_trend_filter *f, struct store_trend *ret,
		struct err *e)
{
	struct store_trend trend = {0};
	struct trend_question a = {.filter = f, .trend = &trend};
	int r = db_transact(st->db, DB_SEE, select_trend, &a, e);

	if (r < 0) {
		trend_reset(&a);
		return err_wrap(e, "store '%s'", st->location);
	}
	free(a.build_keys);
	free(a.build_series);
	*ret = trend;
	return 0;
}

struct store_change *store_trend_changes(const struct store_trend *t, size_t n, int64_t series,
					 size_t *ret_n)
{
	int64_t values[COMPARE_VALUES_MAX];
	size_t index[COMPARE_VALUES_MAX];
	auto_free struct change_point *points = NULL;
	size_t from = COMPARE_VALUES_MAX; /* filled from the end */
	struct store_change *changes;
	size_t n_points = 0;

	for (size_t i = n; i-- > 0 && from > 0;)
		if (t->points[i].series == series && t->points[i].worst_us >= 0) {
			index[--from] = i;
			values[from] = t->points[i].worst_us;
		}
	*ret_n = 0;
	if (compare_change_points(values + from, COMPARE_VALUES_MAX - from, &compare_defaults,
				  &points, &n_points) < 0 ||
	    !n_points)
		return NULL;
	changes = xcalloc(n_points, sizeof(*changes));
	for (size_t i = 0; i < n_points; i++)
		changes[i] = (struct store_change){.point = index[from + points[i].index],
						   .before_us = points[i].before,
						   .after_us = points[i].after};
	*ret_n = n_points;
	return changes;
}
