/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_nights.c - the nights of a plan. */
#include "store/nights.h"
#include "store_priv.h"

void store_night_free(struct store_night *n)
{
	if (!n)
		return;
	util_free(n->plan);
	util_free(n->plan_sha256);
	util_free(n->note);
	util_free(n);
}

struct begin {
	const char *plan, *plan_sha256, *plan_yaml;
	int64_t budget_s;
	int64_t night;
};

static int insert_night(struct db *db, void *arg, struct err *e)
{
	struct begin *b = arg;
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = query_begin(db,
				"INSERT INTO nights (plan, plan_sha256, plan_yaml, started_wall_ns,"
				" budget_s, note) VALUES ($1, $2, $3, $4, $5, '') RETURNING night",
				&q, e);
	if (r < 0)
		return r;

	put_text(&q, b->plan);
	put_text(&q, b->plan_sha256);
	put_text(&q, b->plan_yaml);
	put_i64(&q, now_ns);
	put_known(&q, b->budget_s, 0);
	r = query_next(&q, e);
	if (r <= 0)
		return r < 0 ? r : db_damaged("nights", e);
	b->night = get_i64(&q);
	return 0;
}

int store_night_begin(struct store *st, const char *plan, const char *plan_sha256,
		      const char *plan_yaml, int64_t budget_s, int64_t *ret_night, struct err *e)
{
	struct begin b = {
		.plan = plan,
		.plan_sha256 = plan_sha256,
		.plan_yaml = plan_yaml,
		.budget_s = budget_s,
	};
	int r;

	r = db_transact(st->db, DB_CHANGE, insert_night, &b, e);
	if (r < 0)
		return err_wrap(e, "store '%s': night of plan '%s'", st->location, plan);
	*ret_night = b.night;
	return 0;
}

struct newest {
	const char *plan;
	struct store_night *night; /* owned */
};

static int select_newest(struct db *db, void *arg, struct err *e)
{
	struct newest *s = arg;
	auto_query struct query q = {0};
	int r;

	store_night_free(take(s->night));
	r = query_begin(db,
			"SELECT night, plan, plan_sha256, started_wall_ns, ended_wall_ns, budget_s,"
			" note FROM nights WHERE plan = $1 ORDER BY night DESC LIMIT 1",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, s->plan);
	r = query_next(&q, e);
	if (r <= 0)
		return r;
	s->night = xcalloc(1, sizeof(*s->night));
	s->night->night = get_i64(&q);
	s->night->plan = get_string(&q);
	s->night->plan_sha256 = get_string(&q);
	s->night->started_wall_ns = get_i64(&q);
	s->night->ended_wall_ns = get_known(&q, 0);
	s->night->budget_s = get_known(&q, 0);
	s->night->note = get_string(&q);
	return 0;
}

int store_night_newest(struct store *st, const char *plan, struct store_night **ret, struct err *e)
{
	struct newest s = {.plan = plan};
	int r;

	r = db_transact(st->db, DB_SEE, select_newest, &s, e);
	if (r < 0) {
		store_night_free(s.night);
		return err_wrap(e, "store '%s': nights of plan '%s'", st->location, plan);
	}
	if (!s.night)
		return err_set(e, ERR_USAGE, ENOENT, "store '%s': plan '%s' has no night yet",
			       st->location, plan);
	*ret = s.night;
	return 0;
}

struct end {
	int64_t night;
	const char *note;
};

static int update_end(struct db *db, void *arg, struct err *e)
{
	const struct end *n = arg;
	auto_query struct query q = {0};
	int64_t now_ns = 0, rows = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = query_begin(db,
				"UPDATE nights SET ended_wall_ns = COALESCE(ended_wall_ns, $2),"
				" note = CASE WHEN ended_wall_ns IS NULL THEN $3 ELSE note END"
				" WHERE night = $1",
				&q, e);
	if (r < 0)
		return r;

	put_i64(&q, n->night);
	put_i64(&q, now_ns);
	put_text(&q, n->note);
	r = query_run_counted(&q, &rows, e);
	if (r >= 0 && rows == 0)
		return err_set(e, ERR_STORE, ENOENT, "it is not there");
	return r;
}

int store_night_end(struct store *st, int64_t night, const char *note, struct err *e)
{
	struct end n = {.night = night, .note = note};
	int r;

	r = db_transact(st->db, DB_CHANGE, update_end, &n, e);
	return r < 0 ? err_wrap(e, "store '%s': night %lld", st->location, (long long)night) : 0;
}

struct previous {
	int64_t night;
	const char *entry, *scenario, *rig, *append;
	char *run_id; /* owned */
};

static int select_previous(struct db *db, void *arg, struct err *e)
{
	struct previous *p = arg;
	auto_query struct query q = {0};
	auto_free char *prefix = xasprintf("%s|", p->entry);
	int r;

	util_free(take(p->run_id));
	r = query_begin(db,
			"SELECT j.run_id FROM jobs j JOIN nights n ON n.night = j.night"
			" WHERE n.plan = (SELECT plan FROM nights WHERE night = $1)"
			" AND j.night < $1 AND strpos(j.item, $2) = 1 AND j.scenario = $3"
			" AND j.on_rig = $4 AND j.append = $5 AND j.state = 'done'"
			" AND j.verdict IN ('PASS', 'FAIL') AND j.run_id IS NOT NULL"
			" ORDER BY j.night DESC, j.job DESC LIMIT 1",
			&q, e);
	if (r < 0)
		return r;

	put_i64(&q, p->night);
	put_text(&q, prefix);
	put_text(&q, p->scenario);
	put_text(&q, p->rig);
	put_text(&q, p->append);
	r = query_next(&q, e);
	if (r <= 0)
		return r;
	p->run_id = get_string(&q);
	return 0;
}

int store_night_previous_run(struct store *st, int64_t night, const char *entry,
			     const char *scenario, const char *rig, const char *append, char **ret,
			     struct err *e)
{
	struct previous p = {
		.night = night,
		.entry = entry,
		.scenario = scenario,
		.rig = rig,
		.append = append,
	};
	int r;

	r = db_transact(st->db, DB_SEE, select_previous, &p, e);
	if (r < 0) {
		free(p.run_id);
		return err_wrap(e, "store '%s': night %lld", st->location, (long long)night);
	}
	*ret = p.run_id;
	return 0;
}

struct judged {
	const char *kernel, *append, *rig, *scenario;
	bool is_judged;
};

static int select_judged(struct db *db, void *arg, struct err *e)
{
	struct judged *j = arg;
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"SELECT 1 FROM runs JOIN rigs ON rigs.rig = runs.rig"
			" JOIN kernel_builds ON kernel_builds.kernel_build = runs.kernel_build"
			" WHERE kernel_builds.name = $1 AND append = $2 AND rigs.name = $3"
			" AND scenario = $4 AND ended_wall_ns IS NOT NULL"
			" AND verdict IN ($5, $6) LIMIT 1",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, j->kernel);
	put_text(&q, j->append);
	put_text(&q, j->rig);
	put_text(&q, j->scenario);
	put_text(&q, verdict_name(VERDICT_PASS));
	put_text(&q, verdict_name(VERDICT_FAIL));
	r = query_next(&q, e);
	j->is_judged = r > 0;
	return r < 0 ? r : 0;
}

int store_was_judged(struct store *st, const char *kernel, const char *append, const char *rig,
		     const char *scenario, bool *ret, struct err *e)
{
	struct judged j = {.kernel = kernel, .append = append, .rig = rig, .scenario = scenario};
	int r = db_transact(st->db, DB_SEE, select_judged, &j, e);

	if (r < 0)
		return err_wrap(e, "store '%s'", st->location);
	*ret = j.is_judged;
	return 0;
}
