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

#define DIGITS "'0123456789'"

/*
 * Texts are compared once a kernel build and once a rig; what is sorted for each run are numbers.
 * age: 1 = newest. Every part gives ages. The LEFT JOINs always find their row: they keep SQLite
 * from beginning with the small tables, which after an ANALYZE costs a minute at a million trials.
 */
static const char overview_sql[] =
	"WITH newest AS MATERIALIZED ("
	"  SELECT run, runs.rig, kernel_build, append, scenario, limit_us, started_wall_ns,"
	"   ended_wall_ns IS NOT NULL AS is_ended, verdict,"
	"   row_number() OVER (ORDER BY started_wall_ns DESC, run DESC) AS age"
	"  FROM runs JOIN rigs ON rigs.rig = runs.rig JOIN kernel_builds USING (kernel_build)"
	"  WHERE started_wall_ns >= $1"
	"  AND ($2 IS NULL OR strpos(kernel_builds.name, $2) > 0 OR strpos(kernel_label, $2) > 0)"
	"  AND ($3 IS NULL OR rigs.name = $3) AND ($4 IS NULL OR scenario = $4)"
	"  AND ($5 IS NULL OR rigs.class = $5)"
	"  ORDER BY started_wall_ns DESC, run DESC LIMIT $6),"
	" parts AS ("
	"  SELECT kernel_build, release, ltrim(release, " DIGITS ") AS rest,"
	"   rtrim(release, replace(release, '-', '')) AS dashed FROM kernel_builds"
	"  WHERE kernel_build IN (SELECT kernel_build FROM newest)),"
	" cut AS ("
	"  SELECT kernel_build,"
	"   CASE WHEN length(rest) < length(release) AND length(rest) > 1"
	"     AND substr(rest, 1, 1) = '.' AND strpos(" DIGITS ", substr(rest, 2, 1)) > 0"
	"    THEN substr(release, 1,"
	"     length(release) - length(ltrim(substr(rest, 2), " DIGITS ")))"
	"    ELSE substr(release, 1, length(release) - length(rest)) END AS numbers,"
	"   CASE WHEN dashed = '' THEN ''"
	"    WHEN length(dashed) < length(release)"
	"     AND strpos(" DIGITS ", substr(release, length(dashed) + 1, 1)) > 0 THEN ''"
	"    ELSE '-' || substr(release, length(dashed) + 1) END AS flavour FROM parts),"
	" lines AS MATERIALIZED ("
	"  SELECT kernel_build, min(kernel_build) OVER (PARTITION BY numbers, flavour) AS line"
	"  FROM cut),"
	" places AS MATERIALIZED ("
	"  SELECT rig, class, min(rig) OVER (PARTITION BY name, class) AS place,"
	"   min(rig) OVER (PARTITION BY class) AS kind FROM rigs),"
	" tasks AS MATERIALIZED ("
	"  SELECT append, scenario, limit_us, task,"
	"   min(task) OVER (PARTITION BY scenario, limit_us) AS subject"
	"  FROM (SELECT append, scenario, limit_us, min(age) AS task FROM newest"
	"   GROUP BY append, scenario, limit_us) AS t),"
	" recent AS MATERIALIZED ("
	"  SELECT run, age, place, kind, line, kernel_build, task, subject, is_ended,"
	"   CASE WHEN is_ended AND verdict = 'PASS' THEN age END AS pass_age,"
	"   CASE WHEN is_ended AND verdict = 'FAIL' THEN age END AS fail_age"
	"  FROM newest LEFT JOIN tasks USING (append, scenario, limit_us)"
	"  LEFT JOIN places USING (rig) LEFT JOIN lines USING (kernel_build)),"
	" groups_seen AS MATERIALIZED ("
	"  SELECT place, kind, line, kernel_build, task, subject, min(age) AS any_age,"
	"   min(CASE WHEN is_ended THEN age END) AS age,"
	"   min(pass_age) AS pass_age, min(fail_age) AS fail_age FROM recent"
	"  GROUP BY place, kind, line, kernel_build, task, subject),"
	/* the matrix */
	" builds AS ("
	"  SELECT kind, line, kernel_build, task, subject, min(age) AS age FROM groups_seen"
	"  WHERE age IS NOT NULL GROUP BY kind, line, kernel_build, task, subject),"
	" firsts AS ("
	"  SELECT kind, kernel_build, task, subject, age,"
	"   age > min(age) OVER (PARTITION BY kind, line, task) AS is_older FROM builds),"
	" rows_shown AS MATERIALIZED ("
	"  SELECT kind, kernel_build, task, is_older,"
	"   row_number() OVER (PARTITION BY kind, subject, is_older ORDER BY age) AS row_nr"
	"  FROM firsts),"
	/* changes: of two verdicts the one whose newest run is older is the one before */
	" turns AS ("
	"  SELECT place, line, task, min(pass_age) AS pass_age, min(fail_age) AS fail_age"
	"  FROM groups_seen GROUP BY place, line, task),"
	" changes AS MATERIALIZED ("
	"  SELECT place, line, task,"
	"   CASE WHEN fail_age IS NULL OR pass_age < fail_age THEN pass_age ELSE fail_age END"
	"   AS now_age,"
	"   CASE WHEN pass_age > fail_age THEN pass_age WHEN fail_age > pass_age THEN fail_age END"
	"   AS was_age FROM turns WHERE pass_age IS NOT NULL OR fail_age IS NOT NULL),"
	" kept AS ("
	"  SELECT min(any_age) AS age FROM groups_seen GROUP BY place"
	"  UNION SELECT min(age) FROM groups_seen WHERE age IS NOT NULL GROUP BY place"
	"  UNION SELECT g.age FROM rows_shown AS s JOIN groups_seen AS g ON g.kind = s.kind"
	"   AND g.kernel_build = s.kernel_build AND g.task = s.task"
	"   WHERE (NOT s.is_older OR s.row_nr <= $7) AND g.age IS NOT NULL"
	"  UNION SELECT now_age FROM changes"
	"  UNION SELECT was_age FROM changes WHERE was_age IS NOT NULL"
	"  UNION SELECT max(coalesce(r.pass_age, r.fail_age)) FROM recent AS r"
	"   JOIN changes AS c ON c.place = r.place AND c.line = r.line AND c.task = r.task"
	"   WHERE (r.pass_age IS NOT NULL OR r.fail_age IS NOT NULL)"
	"   AND (c.was_age IS NULL OR r.age < c.was_age) GROUP BY c.now_age)"
	" SELECT " STORE_RUN_COLUMNS
	" FROM runs JOIN rigs USING (rig) JOIN kernel_builds USING (kernel_build)"
	" WHERE run IN (SELECT recent.run FROM kept JOIN recent ON recent.age = kept.age)"
	" ORDER BY started_wall_ns DESC, run DESC";

static int select_overview(struct db *db, void *arg, struct err *e)
{
	struct overview *o = arg;
	const struct store_overview_filter *f = o->filter;
	auto_query struct query q = {0};
	int res;

	overview_reset(o);

	res = query_begin(db, overview_sql, &q, e);
	if (res < 0)
		return res;

	put_i64(&q, f->since_wall_ns);
	put_text_or_null(&q, f->kernel);
	put_text_or_null(&q, f->rig);
	put_text_or_null(&q, f->scenario);
	put_text_or_null(&q, f->rig_class);
	put_i64(&q, f->last);
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
