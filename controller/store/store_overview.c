/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_overview.c - the few runs of many that an overview shows. */
#include "store/query.h"
#include "store_priv.h"

struct overview {
	const struct store_overview_filter *filter;
	struct run **runs;
	size_t n;
};

static void overview_reset(struct overview *o)
{
	for (size_t i = 0; i < o->n; i++)
		run_free(o->runs[i]);
	free(o->runs);
	o->runs = NULL;
	o->n = 0;
}

/* What the question about kernels lets through: of runs r, and of cells c. */
#define KERNEL_MATCHES                                                                     \
	" AND (strpos(r.kernel_label, $2) > 0 OR EXISTS (SELECT 1 FROM kernel_builds AS k" \
	" WHERE k.kernel_build = r.kernel_build AND strpos(k.name, $2) > 0))"
#define CELL_MATCHES " AND EXISTS (SELECT 1 FROM runs AS r WHERE r.run = c.run" KERNEL_MATCHES ")"
/* A series s without such a cell, whose newest run is none either, is not looked through. */
#define SERIES_MATCHES                                                                      \
	" AND (EXISTS (SELECT 1 FROM cells AS c WHERE c.series = s.series" CELL_MATCHES ")" \
	" OR EXISTS (SELECT 1 FROM (SELECT * FROM runs WHERE series = s.series"             \
	"  ORDER BY started_wall_ns DESC, run DESC LIMIT 1) AS r"                           \
	"  WHERE r.run IS NOT NULL" KERNEL_MATCHES "))"
#define ANY_KERNEL " AND CAST($2 AS TEXT) IS NULL"

/*
 * No part reads all runs: each one of a series is found by an index (runs_series, runs_verdict,
 * cells_newest), and the other parts work on what was found. Numbers stand for texts: place = the
 * rig's in its scenario, subject = the matrix', line = the series' on all rigs; each is one of the
 * series in it. CROSS JOIN keeps SQLite to the order of the tables.
 *
 * What the question about kernels lets through goes to each "%s".
 */
static const char overview_sql[] =
	"WITH newest AS MATERIALIZED ("
	"  SELECT *, (SELECT run FROM runs AS r WHERE r.series = s.series%s"
	"   ORDER BY started_wall_ns DESC, run DESC LIMIT 1) AS newest_run,"
	"   (SELECT max(started_wall_ns) FROM runs AS r WHERE r.series = s.series%s) AS newest_ns,"
	"   CASE WHEN $2 IS NULL THEN (SELECT started_wall_ns FROM cells AS c"
	"    WHERE c.series = s.series ORDER BY started_wall_ns DESC LIMIT 1 OFFSET $6) END"
	"   AS oldest_ns"
	"  FROM series AS s WHERE ($3 IS NULL OR rig_name = $3) AND ($4 IS NULL OR scenario = $4)"
	"  AND ($5 IS NULL OR rig_class = $5)%s),"
	" seen AS MATERIALIZED ("
	"  SELECT series, newest_run, newest_ns,"
	"   CASE WHEN oldest_ns > $1 THEN oldest_ns ELSE $1 END AS from_ns,"
	"   min(series) OVER (PARTITION BY rig_class, rig_name, scenario) AS place,"
	"   min(series) OVER (PARTITION BY rig_class, scenario, limit_us) AS subject,"
	"   min(series) OVER (PARTITION BY rig_class, scenario, limit_us, append, kernel_series)"
	"   AS line FROM newest WHERE newest_ns >= $1),"
	/* changes: of two verdicts the one whose newest run is older is the one before */
	" judged AS MATERIALIZED ("
	"  SELECT series,"
	"   (SELECT run FROM runs AS r WHERE r.series = seen.series AND verdict = 'PASS'"
	"    AND ended_wall_ns IS NOT NULL%s ORDER BY started_wall_ns DESC, run DESC LIMIT 1)"
	"   AS pass_run,"
	"   (SELECT run FROM runs AS r WHERE r.series = seen.series AND verdict = 'FAIL'"
	"    AND ended_wall_ns IS NOT NULL%s ORDER BY started_wall_ns DESC, run DESC LIMIT 1)"
	"   AS fail_run FROM seen),"
	" turns AS MATERIALIZED ("
	"  SELECT judged.series, pass_run, fail_run, CASE WHEN fail_run IS NULL THEN 1"
	"   WHEN pass_run IS NULL THEN 0"
	"   WHEN (p.started_wall_ns, p.run) > (f.started_wall_ns, f.run) THEN 1 ELSE 0 END"
	"   AS is_pass, p.started_wall_ns AS pass_ns, f.started_wall_ns AS fail_ns"
	"  FROM judged LEFT JOIN runs AS p ON p.run = pass_run"
	"  LEFT JOIN runs AS f ON f.run = fail_run"
	"  WHERE pass_run IS NOT NULL OR fail_run IS NOT NULL),"
	" changes AS MATERIALIZED ("
	"  SELECT series, CASE WHEN is_pass = 1 THEN 'PASS' ELSE 'FAIL' END AS verdict,"
	"   CASE WHEN is_pass = 1 THEN pass_run ELSE fail_run END AS now_run,"
	"   CASE WHEN is_pass = 1 THEN fail_run ELSE pass_run END AS was_run,"
	"   CASE WHEN is_pass = 1 THEN fail_ns ELSE pass_ns END AS was_ns FROM turns),"
	/* the matrix: a build among the newest of its line is so in one of its series, too */
	" recent AS MATERIALIZED ("
	"  SELECT c.series, place, subject, line, c.kernel_build, c.run, c.started_wall_ns"
	"  FROM seen CROSS JOIN cells AS c"
	"  WHERE c.series = seen.series AND c.started_wall_ns >= from_ns%s),"
	" builds AS ("
	"  SELECT *, row_number() OVER (PARTITION BY line, kernel_build"
	"   ORDER BY started_wall_ns DESC, run DESC) AS nr FROM recent),"
	" firsts AS ("
	"  SELECT *, row_number() OVER (PARTITION BY line"
	"   ORDER BY started_wall_ns DESC, run DESC) > 1 AS is_older FROM builds WHERE nr = 1),"
	" rows_shown AS MATERIALIZED ("
	"  SELECT line, kernel_build, is_older, row_number() OVER (PARTITION BY subject, is_older"
	"   ORDER BY started_wall_ns DESC, run DESC) AS row_nr FROM firsts),"
	" of_rigs AS ("
	"  SELECT newest_run AS run, row_number() OVER (PARTITION BY place"
	"   ORDER BY newest_ns DESC, newest_run DESC) AS nr FROM seen"
	"  UNION ALL SELECT run, row_number() OVER (PARTITION BY place"
	"   ORDER BY started_wall_ns DESC, run DESC) FROM recent),"
	" kept AS ("
	"  SELECT run AS kept_run FROM of_rigs WHERE nr = 1"
	"  UNION SELECT c.run FROM rows_shown AS s CROSS JOIN seen CROSS JOIN cells AS c"
	"   WHERE seen.line = s.line AND c.series = seen.series AND c.kernel_build = s.kernel_build"
	"   AND (NOT s.is_older OR s.row_nr <= $6) AND c.started_wall_ns >= $1%s"
	"  UNION SELECT now_run FROM changes"
	"  UNION SELECT was_run FROM changes WHERE was_run IS NOT NULL"
	"  UNION SELECT (SELECT run FROM runs AS r WHERE r.series = changes.series"
	"    AND r.verdict = changes.verdict AND ended_wall_ns IS NOT NULL"
	"    AND (was_run IS NULL OR (started_wall_ns, run) > (was_ns, was_run))%s"
	"    ORDER BY started_wall_ns, run LIMIT 1) FROM changes)"
	" SELECT " STORE_RUN_COLUMNS " FROM kept CROSS JOIN runs"
	" JOIN rigs USING (rig) JOIN kernel_builds USING (kernel_build)"
	" WHERE runs.run = kept_run ORDER BY started_wall_ns DESC, run DESC";

static int select_overview(struct db *db, void *arg, struct err *e)
{
	struct overview *o = arg;
	const struct store_overview_filter *f = o->filter;
	const char *kernel = f->kernel ? KERNEL_MATCHES : ANY_KERNEL;
	const char *series = f->kernel ? SERIES_MATCHES : ANY_KERNEL;
	const char *cell = f->kernel ? CELL_MATCHES : ANY_KERNEL;
	auto_free char *sql =
		xasprintf(overview_sql, kernel, kernel, series, kernel, kernel, cell, cell, kernel);
	auto_query struct query q = {0};
	int res;

	overview_reset(o);

	res = query_begin(db, sql, &q, e);
	if (res < 0)
		return res;

	put_i64(&q, f->since_wall_ns);
	put_text_or_null(&q, f->kernel);
	put_text_or_null(&q, f->rig);
	put_text_or_null(&q, f->scenario);
	put_text_or_null(&q, f->rig_class);
	put_i64(&q, f->older);
	while ((res = query_next(&q, e)) > 0) {
		struct run *r = xcalloc(1, sizeof(*r));
		int64_t key = 0;

		o->runs = xrealloc(o->runs, o->n + 1, sizeof(struct run *));
		o->runs[o->n++] = r;

		res = store_read_run(&q, r, &key, e);
		if (res < 0)
			return err_wrap(e, "run '%s'", r->id);
	}
	return res;
}

int store_overview(struct store *st, const struct store_overview_filter *f, struct run ***ret,
		   size_t *ret_n, struct err *e)
{
	struct overview o = {.filter = f};
	int res;

	res = db_transact(st->db, DB_SEE, select_overview, &o, e);
	if (res < 0) {
		overview_reset(&o);
		return err_wrap(e, "store '%s'", st->location);
	}
	*ret = o.runs;
	*ret_n = o.n;
	return 0;
}
