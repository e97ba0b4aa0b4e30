/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_write.c - runs, boots and trials into the store, each in one transaction. */
#include "fulltext.h"
#include "histogram.h"
#include "store_priv.h"

#include <inttypes.h>
#include <string.h>

/* What a transaction of this file is about. */
struct write {
	const struct run *r;
	const struct trial_boot *b;
	const struct trial *t;
	bool has_written; /* an attempt got as far as the commit */
};

/* Runs a query that finds one key. 1 = found, 0 = there is none. */
static int find_key(struct query *q, int64_t *ret, struct err *e)
{
	int r;

	r = query_next(q, e);
	if (r > 0)
		*ret = get_i64(q);
	return r;
}

static int insert_rig(struct db *db, const struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "INSERT INTO rigs (name, class, arch) VALUES ($1, $2, $3)"
			  " ON CONFLICT DO NOTHING",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->rig);
	put_text(&q, r->rig_class);
	put_text(&q, r->arch);
	return query_run(&q, e);
}

static int find_rig(struct db *db, const struct run *r, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db, "SELECT rig FROM rigs WHERE name = $1 AND class = $2 AND arch = $3",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->rig);
	put_text(&q, r->rig_class);
	put_text(&q, r->arch);
	return find_key(&q, ret, e);
}

static int insert_kernel(struct db *db, const struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO kernel_builds (name, release, version, config_sha256, image_sha256)"
		" VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
		&q, e);
	if (res < 0)
		return res;

	put_text(&q, r->kernel);
	put_text(&q, r->kernel_release);
	put_text(&q, r->kernel_version);
	put_text(&q, r->kernel_config_sha256);
	put_text(&q, r->kernel_image_sha256);
	return query_run(&q, e);
}

static int find_kernel(struct db *db, const struct run *r, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "SELECT kernel_build FROM kernel_builds WHERE name = $1 AND release = $2"
			  " AND version = $3 AND config_sha256 = $4 AND image_sha256 = $5",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, r->kernel);
	put_text(&q, r->kernel_release);
	put_text(&q, r->kernel_version);
	put_text(&q, r->kernel_config_sha256);
	put_text(&q, r->kernel_image_sha256);
	return find_key(&q, ret, e);
}

/* 6 parameters: what a series is known by. */
static void put_series(struct query *q, const struct run *r, const char *kernel_series)
{
	put_text(q, r->rig);
	put_text(q, r->rig_class);
	put_text(q, r->scenario);
	put_i64(q, r->limit_us);
	put_text(q, r->append);
	put_text(q, kernel_series);
}

static int insert_series(struct db *db, const struct run *r, const char *kernel_series,
			 struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "INSERT INTO series (rig_name, rig_class, scenario, limit_us, append,"
			  " kernel_series) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
			  &q, e);
	if (res < 0)
		return res;

	put_series(&q, r, kernel_series);
	return query_run(&q, e);
}

static int find_series(struct db *db, const struct run *r, const char *kernel_series, int64_t *ret,
		       struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "SELECT series FROM series WHERE rig_name = $1 AND rig_class = $2"
			  " AND scenario = $3 AND limit_us = $4 AND append = $5"
			  " AND kernel_series = $6",
			  &q, e);
	if (res < 0)
		return res;

	put_series(&q, r, kernel_series);
	return find_key(&q, ret, e);
}

static int require_series(struct db *db, const struct run *r, int64_t *ret, struct err *e)
{
	const char *release = r->kernel_release ? r->kernel_release : "";
	auto_free char *kernel_series = xasprintf("%.*s%s", (int)release_series_length(release),
						  release, release_flavour(release));
	int res;

	res = insert_series(db, r, kernel_series, e);
	if (res < 0)
		return res;

	res = find_series(db, r, kernel_series, ret, e);
	return res == 0 ? db_damaged("series", e) : res;
}

/* The run has ended: its cell shows it unless a newer one is there. */
static int raise_cell(struct db *db, int64_t run, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO cells (series, kernel_build, run, started_wall_ns)"
		" SELECT series, kernel_build, run, started_wall_ns FROM runs WHERE run = $1"
		" ON CONFLICT (series, kernel_build) DO UPDATE SET run = excluded.run,"
		" started_wall_ns = excluded.started_wall_ns"
		" WHERE (cells.started_wall_ns, cells.run)"
		"  < (excluded.started_wall_ns, excluded.run)",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	return query_run(&q, e);
}

/* The newest run of the same cell that has ended. 1 = found, 0 = there is none. */
static int find_newest_ended(struct db *db, int64_t run, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "SELECT r.run FROM runs AS r JOIN runs AS this ON this.run = $1"
			  " WHERE r.series = this.series AND r.kernel_build = this.kernel_build"
			  " AND r.ended_wall_ns IS NOT NULL"
			  " ORDER BY r.started_wall_ns DESC, r.run DESC LIMIT 1",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	return find_key(&q, ret, e);
}

/* The run goes on: a cell that showed it (a run that was taken up again) goes back to the one
   before. */
static int lower_cell(struct db *db, int64_t run, struct err *e)
{
	auto_query struct query q = {0};
	int64_t rows = 0, newest = 0;
	int res;

	res = query_begin(db,
			  "DELETE FROM cells WHERE run = $1 AND (series, kernel_build) ="
			  " (SELECT series, kernel_build FROM runs WHERE run = $1)",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	res = query_run_counted(&q, &rows, e);
	if (res < 0 || rows == 0)
		return res;

	res = find_newest_ended(db, run, &newest, e);
	return res > 0 ? raise_cell(db, newest, e) : res;
}

static int update_cell(struct db *db, int64_t run, const struct run *r, struct err *e)
{
	return r->ended_wall_ns ? raise_cell(db, run, e) : lower_cell(db, run, e);
}

/* 1 = found, 0 = the run is not there. */
static int find_run(struct db *db, const char *id, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db, "SELECT run FROM runs WHERE id = $1", &q, e);
	if (res < 0)
		return res;

	put_text(&q, id);
	return find_key(&q, ret, e);
}

int store_require_run(struct db *db, const char *id, int64_t *ret, struct err *e)
{
	int res;

	res = find_run(db, id, ret, e);
	if (res == 0)
		return err_set(e, ERR_STORE, ENOENT, "the run is not in it");
	return res;
}

/* 15 columns: what changes while a run goes on. */
static void put_result(struct query *q, const struct run *r)
{
	const struct judge_result *j = &r->result;

	put_text_or_null(q, j->reason[0] ? verdict_name(j->verdict) : NULL);
	put_text(q, j->reason);
	put_text(q, j->strength);
	put_i64(q, j->valid);
	put_i64(q, j->over);
	put_i64(q, j->invalid);
	put_i64(q, j->crashes);
	put_i64(q, j->boots);
	put_i64(q, j->boots_over);
	put_i64(q, j->is_clustered);
	put_known(q, j->worst_us, -1);
	put_known(q, j->p50_us, -1);
	put_known(q, j->p99_us, -1);
	put_real(q, j->over_low);
	put_real(q, j->over_high);
}

/* What the rows of a run point to. */
struct run_keys {
	int64_t rig, kernel, series;
};

static int insert_run(struct db *db, const struct run *r, const struct run_keys *keys, int64_t *ret,
		      struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO runs (id, rig, kernel_build, kernel_label, append, scenario,"
		" scenario_sha256, started_wall_ns, limit_us, planned_valid, tolerated_over,"
		" confidence, ended_wall_ns, rig_fault, untestable, verdict, reason,"
		" strength, valid, over, invalid, crashes, boots, boots_over, is_clustered,"
		" worst_us, p50_us, p99_us, over_low, over_high, series)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
		" $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31)"
		" RETURNING run",
		&q, e);
	if (res < 0)
		return res;

	put_text(&q, r->id);
	put_i64(&q, keys->rig);
	put_i64(&q, keys->kernel);
	put_text(&q, r->kernel_label);
	put_text(&q, r->append);
	put_text(&q, r->scenario);
	put_text(&q, r->scenario_sha256);
	put_i64(&q, r->started_wall_ns);
	put_i64(&q, r->limit_us);
	put_i64(&q, r->planned_valid);
	put_real(&q, r->tolerated_over);
	put_real(&q, r->confidence);
	put_known(&q, r->ended_wall_ns, 0);
	put_text_or_null(&q, r->rig_fault);
	put_text_or_null(&q, r->untestable);
	put_result(&q, r);
	put_i64(&q, keys->series);
	res = find_key(&q, ret, e);
	return res == 0 ? db_damaged("runs", e) : res;
}

static int begin_run(struct db *db, void *arg, struct err *e)
{
	struct write *write = arg;
	const struct run *r = write->r;
	struct run_keys keys = {0};
	int64_t run = 0;
	int res;

	res = find_run(db, r->id, &run, e);
	if (res > 0 && write->has_written)
		return 0; /* the commit whose answer was lost */
	if (res > 0)
		return err_set(e, ERR_STORE, EEXIST, "the run is in it already");
	if (res < 0)
		return res;

	res = insert_rig(db, r, e);
	if (res < 0)
		return res;

	res = find_rig(db, r, &keys.rig, e);
	if (res <= 0)
		return res < 0 ? res : db_damaged("rigs", e);

	res = insert_kernel(db, r, e);
	if (res < 0)
		return res;

	res = find_kernel(db, r, &keys.kernel, e);
	if (res <= 0)
		return res < 0 ? res : db_damaged("kernel builds", e);

	res = require_series(db, r, &keys.series, e);
	if (res < 0)
		return res;

	res = insert_run(db, r, &keys, &run, e);
	if (res >= 0 && r->ended_wall_ns)
		res = raise_cell(db, run, e);
	write->has_written = res >= 0;
	return res < 0 ? res : 0;
}

int store_run_begin(struct store *st, const struct run *r, struct err *e)
{
	struct write write = {.r = r};
	int res;

	/* the dot separates a run from the number of a trial */
	if (!r->id || !parse_is_name(r->id) || strchr(r->id, '.'))
		return err_set(e, ERR_INTERNAL, EINVAL, "store '%s': '%s' cannot be a run's id",
			       st->location, r->id ? r->id : "");

	res = db_transact(st->db, DB_CHANGE, begin_run, &write, e);
	if (res < 0)
		return err_wrap(e, "store '%s': run '%s'", st->location, r->id);
	return 0;
}

int store_write_run(struct db *db, const struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int64_t run = 0;
	int res;

	res = store_require_run(db, r->id, &run, e);
	if (res < 0)
		return res;

	res = query_begin(
		db,
		"UPDATE runs SET ended_wall_ns = $1, rig_fault = $2, untestable = $3,"
		" verdict = $4, reason = $5, strength = $6, valid = $7, over = $8, invalid = $9,"
		" crashes = $10, boots = $11, boots_over = $12, is_clustered = $13, worst_us = $14,"
		" p50_us = $15, p99_us = $16, over_low = $17, over_high = $18 WHERE run = $19",
		&q, e);
	if (res < 0)
		return res;

	put_known(&q, r->ended_wall_ns, 0);
	put_text_or_null(&q, r->rig_fault);
	put_text_or_null(&q, r->untestable);
	put_result(&q, r);
	put_i64(&q, run);
	res = query_run(&q, e);
	return res < 0 ? res : update_cell(db, run, r, e);
}

static int update_run(struct db *db, void *arg, struct err *e)
{
	return store_write_run(db, ((const struct write *)arg)->r, e);
}

int store_run_update(struct store *st, const struct run *r, struct err *e)
{
	struct write write = {.r = r};
	int res = db_transact(st->db, DB_CHANGE, update_run, &write, e);

	if (res < 0)
		return err_wrap(e, "store '%s': run '%s'", st->location, r->id);
	return 0;
}

static int put_boot(struct db *db, void *arg, struct err *e)
{
	const struct write *write = arg;
	const struct run *r = write->r;
	const struct trial_boot *b = write->b;
	auto_query struct query q = {0};
	int64_t run = 0;
	int res;

	res = store_require_run(db, r->id, &run, e);
	if (res < 0)
		return res;

	res = query_begin(db,
			  "INSERT INTO boots (run, number, recording, banner, environment,"
			  " console_bytes, boot_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)"
			  " ON CONFLICT (run, number) DO UPDATE SET recording = excluded.recording,"
			  " banner = excluded.banner, environment = excluded.environment,"
			  " console_bytes = excluded.console_bytes, boot_ms = excluded.boot_ms",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, b->number);
	put_text(&q, b->recording);
	put_text(&q, b->banner);
	put_text(&q, b->environment);
	put_u64(&q, b->console_bytes);
	put_known(&q, b->boot_ms, -1);
	return query_run(&q, e);
}

int store_boot_add(struct store *st, const struct run *r, const struct trial_boot *b, struct err *e)
{
	struct write write = {.r = r, .b = b};
	int res = db_transact(st->db, DB_CHANGE, put_boot, &write, e);

	if (res < 0)
		return err_wrap(e, "store '%s': run '%s': boot %u", st->location, r->id, b->number);
	return 0;
}

static int check_boot(struct db *db, int64_t run, unsigned number, struct err *e)
{
	auto_query struct query q = {0};
	int64_t found = 0;
	int res;

	res = query_begin(db, "SELECT number FROM boots WHERE run = $1 AND number = $2", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, number);
	res = find_key(&q, &found, e);
	if (res == 0)
		return err_set(e, ERR_STORE, ENOENT, "its boot %u is not in it", number);
	return res;
}

static int delete_trial(struct db *db, int64_t run, unsigned number, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db, "DELETE FROM trials WHERE run = $1 AND number = $2", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, number);
	return query_run(&q, e);
}

static void format_load(const struct trial *t, struct strbuf *out)
{
	for (size_t i = 0; i < t->n_load; i++)
		strbuf_addf(out, "%s%" PRId64 ":%" PRId64, i ? " " : "", t->load[i].t_ns,
			    t->load[i].bytes);
}

static int insert_trial(struct db *db, int64_t run, const struct trial *t, int64_t *ret,
			struct err *e)
{
	auto_strbuf struct strbuf load = STRBUF_INIT;
	bool has_missing = !t->is_valid && !t->is_crash;
	auto_query struct query q = {0};
	int res;

	if (has_missing && (unsigned)t->missing >= EVIDENCE_MAX)
		return err_set(e, ERR_INTERNAL, EINVAL, "there is no evidence number %u",
			       (unsigned)t->missing);

	res = query_begin(
		db,
		"INSERT INTO trials (run, number, boot, unplug, started_wall_ns, is_valid,"
		" missing, crash, worst_us, worst_cpu, worst_probe, worst_func,"
		" console_from, console_to, load_points)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
		" RETURNING trial",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	put_i64(&q, t->number);
	put_i64(&q, t->boot);
	put_i64(&q, t->unplug);
	put_i64(&q, t->started_wall_ns);
	put_i64(&q, t->is_valid);
	put_text_or_null(&q, has_missing ? evidence_name(t->missing) : NULL);
	put_text_or_null(&q, t->is_crash ? t->crash : NULL);
	put_known(&q, t->worst_us, -1);
	put_known(&q, t->worst_cpu, -1);
	put_text(&q, t->worst_probe);
	put_text(&q, t->worst_func);
	put_u64(&q, t->console_from);
	put_u64(&q, t->console_to);
	format_load(t, &load);
	put_text_or_null(&q, t->n_load ? strbuf_str(&load) : NULL);

	res = find_key(&q, ret, e);
	return res < 0 ? res : 0;
}

static int insert_evidence(struct db *db, int64_t trial, const struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db, "INSERT INTO evidence (trial, name, state, detail) VALUES ($1, $2, $3, $4)", &q,
		e);
	for (size_t i = 0; res >= 0 && i < EVIDENCE_MAX; i++) {
		put_i64(&q, trial);
		put_text(&q, evidence_name((enum evidence_id)i));
		put_text(&q, evidence_state_name(t->evidence[i].state));
		put_text(&q, t->evidence[i].detail);
		res = query_run_later(&q, e);
	}
	return res;
}

static int insert_numbers(struct db *db, int64_t trial, const struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db, "INSERT INTO numbers (trial, seq, name, value) VALUES ($1, $2, $3, $4)", &q, e);
	for (size_t i = 0; res >= 0 && i < t->n_numbers; i++) {
		put_i64(&q, trial);
		put_u64(&q, i);
		put_text(&q, t->numbers[i].name);
		put_i64(&q, t->numbers[i].value);
		res = query_run_later(&q, e);
	}
	return res;
}

static int insert_delays(struct db *db, int64_t trial, const struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO delays (trial, seq, us, cpu, probe, due_us, t_host_ns,"
		" console_offset, is_live, is_suspect) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		&q, e);
	for (size_t i = 0; res >= 0 && i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];

		put_i64(&q, trial);
		put_u64(&q, i);
		put_i64(&q, d->us);
		put_known(&q, d->cpu, -1);
		put_text(&q, d->probe);
		put_i64(&q, d->due_us);
		put_i64(&q, d->t_host_ns);
		put_u64(&q, d->offset);
		put_i64(&q, d->is_live);
		put_i64(&q, d->is_suspect);
		res = query_run_later(&q, e);
	}
	return res;
}

/* 1 = added, 0 = somebody else was faster. */
static int insert_incident_title(struct db *db, const struct trial_incident *n, struct err *e)
{
	auto_query struct query q = {0};
	int64_t rows = 0;
	int res;

	res = query_begin(db,
			  "INSERT INTO incident_titles (class, title) VALUES ($1, $2)"
			  " ON CONFLICT DO NOTHING",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, n->cls);
	put_text(&q, n->title);
	res = query_run_counted(&q, &rows, e);
	return res < 0 ? res : rows > 0;
}

/* 1 = found, 0 = it is not there. */
static int find_incident_title(struct db *db, const struct trial_incident *n, int64_t *ret,
			       struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "SELECT incident_title FROM incident_titles WHERE class = $1"
			  " AND title = $2",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, n->cls);
	put_text(&q, n->title);
	return find_key(&q, ret, e);
}

static int put_incident_title(struct db *db, const struct trial_incident *n, int64_t *ret,
			      struct err *e)
{
	int res, added;

	res = find_incident_title(db, n, ret, e);
	if (res != 0)
		return res;

	added = insert_incident_title(db, n, e);
	if (added < 0)
		return added;

	res = find_incident_title(db, n, ret, e);
	if (res <= 0)
		return res < 0 ? res : db_damaged("incident titles", e);
	return added ? fulltext_add(db, *ret, n->cls, n->title, e) : 0;
}

static int insert_incidents(struct db *db, int64_t trial, const struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO incidents (trial, seq, incident_title, count, t_first_us, worst_s,"
		" console_offset) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		&q, e);
	for (size_t i = 0; res >= 0 && i < t->n_incidents; i++) {
		const struct trial_incident *n = &t->incidents[i];
		int64_t title = 0;

		res = put_incident_title(db, n, &title, e);
		if (res < 0)
			return res;
		put_i64(&q, trial);
		put_u64(&q, i);
		put_i64(&q, title);
		put_i64(&q, n->count);
		put_known(&q, n->t_first_us, INT64_MIN);
		put_known(&q, n->worst_s, INT64_MIN);
		put_u64(&q, n->offset);
		res = query_run_later(&q, e);
	}
	return res;
}

static int insert_moments(struct db *db, int64_t trial, const struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO moments (trial, seq, t_ns, what, detail) VALUES ($1, $2, $3, $4, $5)",
		&q, e);
	for (size_t i = 0; res >= 0 && i < t->n_moments; i++) {
		put_i64(&q, trial);
		put_u64(&q, i);
		put_i64(&q, t->moments[i].t_ns);
		put_text(&q, t->moments[i].what);
		put_text(&q, t->moments[i].detail);
		res = query_run_later(&q, e);
	}
	return res;
}

static int insert_histograms(struct db *db, int64_t trial, const struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"INSERT INTO histograms (trial, probe, samples, buckets) VALUES ($1, $2, $3, $4)",
		&q, e);
	for (size_t i = 0; res >= 0 && i < t->n_histograms; i++) {
		const struct trial_histogram *h = &t->histograms[i];
		auto_strbuf struct strbuf bytes = STRBUF_INIT;

		histogram_pack(h, &bytes);
		put_i64(&q, trial);
		put_text(&q, h->probe);
		put_i64(&q, trial_histogram_samples(h));
		put_bytes(&q, strbuf_str(&bytes), bytes.len);
		res = query_run_later(&q, e);
	}
	return res;
}

static int add_trial(struct db *db, void *arg, struct err *e)
{
	const struct write *write = arg;
	const struct run *r = write->r;
	const struct trial *t = write->t;
	static int (*const insert_rows[])(struct db * db, int64_t trial, const struct trial *t,
					  struct err *e) = {
		insert_evidence,  insert_numbers, insert_delays,
		insert_incidents, insert_moments, insert_histograms,
	};
	int64_t run = 0, trial = 0;
	int res;

	res = store_require_run(db, r->id, &run, e);
	if (res < 0)
		return res;

	res = check_boot(db, run, t->boot, e);
	if (res < 0)
		return res;

	res = delete_trial(db, run, t->number, e);
	if (res < 0)
		return res;

	res = insert_trial(db, run, t, &trial, e);
	for (size_t i = 0; res >= 0 && i < ARRAY_SIZE(insert_rows); i++)
		res = insert_rows[i](db, trial, t, e);
	return res;
}

int store_trial_add(struct store *st, const struct run *r, const struct trial *t, struct err *e)
{
	struct write write = {.r = r, .t = t};
	int res = db_transact(st->db, DB_CHANGE, add_trial, &write, e);

	if (res < 0)
		return err_wrap(e, "store '%s': trial '%s.%u'", st->location, r->id, t->number);
	return 0;
}
