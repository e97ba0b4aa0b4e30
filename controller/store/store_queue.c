/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_queue.c - jobs and their leases. */
#include "base/strbuf.h"
#include "base/waiter.h"
#include "store/queue.h"
#include "store_priv.h"

#include <string.h>

#define WORKER_KEPT_NS (7 * 86400 * NSEC_PER_SEC)
#define EXPIRED_MAX    100 /* jobs of silent workers that one call takes care of */

static const char *const state_names[] = {
	[STORE_JOB_QUEUED] = "queued",       [STORE_JOB_RUNNING] = "running",
	[STORE_JOB_DONE] = "done",           [STORE_JOB_FAILED] = "failed",
	[STORE_JOB_CANCELLED] = "cancelled",
};

const char *store_job_state_name(enum store_job_state state)
{
	return (unsigned)state < ARRAY_SIZE(state_names) ? state_names[state] : "unknown";
}

bool store_job_state_parse(const char *name, enum store_job_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (strcmp(state_names[i], name) == 0) {
			*ret = (enum store_job_state)i;
			return true;
		}
	}
	return false;
}

void store_job_free(struct store_job *j)
{
	if (!j)
		return;
	free(j->kind);
	free(j->rig);
	free(j->scenario);
	free(j->kernel);
	free(j->append);
	free(j->parameters);
	free(j->item);
	free(j->submitted_by);
	free(j->worker);
	free(j->on_rig);
	free(j->run_id);
	free(j->verdict);
	free(j->error);
	free(j);
}

/* ---- submit ---- */

struct submit {
	const struct store_job *const *jobs;
	size_t n;
	int64_t *ret; /* may be NULL */
	int r;
};

/* 1 = found. */
static int find_item(struct db *db, const struct store_job *j, int64_t *ret, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	if (!j->item)
		return 0;

	r = query_begin(db,
			j->night ? "SELECT job FROM jobs WHERE item = $1 AND night = $2"
				 : "SELECT job FROM jobs WHERE item = $1 AND night IS NULL",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, j->item);
	if (j->night)
		put_i64(&q, j->night);

	r = query_next(&q, e);
	if (r > 0)
		*ret = get_i64(&q);
	return r;
}

/* 1 = it was there. */
static int insert_job(struct db *db, const struct store_job *j, int64_t now_ns, int64_t *ret,
		      struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = find_item(db, j, ret, e);
	if (r != 0)
		return r;

	r = query_begin(
		db,
		"INSERT INTO jobs (state, kind, priority, rig, scenario, kernel, append, trials,"
		" boots, parameters, night, item, submitted_wall_ns, submitted_by,"
		" not_before_wall_ns, attempts, attempts_max, is_cancel_wanted) VALUES ('queued',"
		" $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, $15, 0)"
		" RETURNING job",
		&q, e);
	if (r < 0)
		return r;

	put_text(&q, j->kind);
	put_i64(&q, j->priority);
	put_text_or_null(&q, j->rig);
	put_text(&q, j->scenario);
	put_text(&q, j->kernel);
	put_text(&q, j->append);
	put_known(&q, j->trials, 0);
	put_known(&q, j->boots, 0);
	put_text(&q, j->parameters ? j->parameters : "{}");
	put_known(&q, j->night, 0);
	put_text_or_null(&q, j->item);
	put_i64(&q, now_ns);
	put_text(&q, j->submitted_by);
	put_i64(&q, j->not_before_wall_ns);
	put_i64(&q, j->attempts_max ? j->attempts_max : 1);

	r = query_next(&q, e);
	if (r > 0)
		*ret = get_i64(&q);
	return r < 0 ? r : 0;
}

static int submit_jobs(struct db *db, void *arg, struct err *e)
{
	struct submit *s = arg;
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	for (size_t i = 0; r >= 0 && i < s->n; i++) {
		int64_t job = 0;

		r = insert_job(db, s->jobs[i], now_ns, &job, e);
		if (r >= 0 && s->ret)
			s->ret[i] = job;
		s->r = r;
	}
	return r < 0 ? r : db_notify(db, STORE_QUEUE_CHANNEL, e);
}

int store_jobs_submit(struct store *st, const struct store_job *const *jobs, size_t n,
		      int64_t *ret_jobs, struct err *e)
{
	struct submit s = {.jobs = jobs, .n = n, .ret = ret_jobs};
	int r = db_transact(st->db, DB_CHANGE, submit_jobs, &s, e);

	if (r < 0)
		return err_wrap(e, "store '%s': queue", st->location);
	return s.r;
}

int store_job_submit(struct store *st, const struct store_job *j, int64_t *ret_job, struct err *e)
{
	return store_jobs_submit(st, &j, 1, ret_job, e);
}

/* ---- read ---- */

#define JOB_COLUMNS                                                                              \
	"job, state, kind, priority, rig, scenario, kernel, append, trials, boots, parameters,"  \
	" night, item, submitted_wall_ns, submitted_by, not_before_wall_ns, attempts,"           \
	" attempts_max, is_cancel_wanted, worker, on_rig, lease_until_wall_ns, started_wall_ns," \
	" ended_wall_ns, run_id, verdict, error"

static unsigned get_count_or_0(struct query *q)
{
	if (get_is_null(q)) {
		(void)get_i64(q);
		return 0;
	}
	return get_unsigned(q);
}

static int read_job(struct query *q, struct store_job *j, struct err *e)
{
	j->job = get_i64(q);
	if (!store_job_state_parse(get_text(q), &j->state))
		q->is_damaged = true;
	j->kind = get_string(q);
	j->priority = get_i64(q);
	j->rig = get_string_or_null(q);
	j->scenario = get_string(q);
	j->kernel = get_string(q);
	j->append = get_string(q);
	j->trials = get_count_or_0(q);
	j->boots = get_count_or_0(q);
	j->parameters = get_string(q);
	j->night = get_known(q, 0);
	j->item = get_string_or_null(q);
	j->submitted_wall_ns = get_i64(q);
	j->submitted_by = get_string(q);
	j->not_before_wall_ns = get_i64(q);
	j->attempts = get_unsigned(q);
	j->attempts_max = get_unsigned(q);
	j->is_cancel_wanted = get_bool(q);
	j->worker = get_string_or_null(q);
	j->on_rig = get_string_or_null(q);
	j->lease_until_wall_ns = get_known(q, 0);
	j->started_wall_ns = get_known(q, 0);
	j->ended_wall_ns = get_known(q, 0);
	j->run_id = get_string_or_null(q);
	j->verdict = get_string_or_null(q);
	j->error = get_string_or_null(q);
	return q->is_damaged ? db_damaged("jobs", e) : 0;
}

struct job_search {
	const struct store_job_filter *filter;
	struct store_job **jobs;
	size_t n;
};

void store_jobs_free(struct store_job **jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_job_free(jobs[i]);
	free(jobs);
}

static void job_search_reset(struct job_search *s)
{
	store_jobs_free(s->jobs, s->n);
	s->jobs = NULL;
	s->n = 0;
}

static int select_jobs(struct db *db, void *arg, struct err *e)
{
	struct job_search *s = arg;
	const struct store_job_filter *f = s->filter;
	auto_query struct query q = {0};
	int r;

	job_search_reset(s);
	r = query_begin(
		db,
		"SELECT " JOB_COLUMNS " FROM jobs"
		" WHERE ($1 IS NULL OR job = $1) AND ($2 IS NULL OR night = $2)"
		" AND ($3 IS NULL OR rig = $3 OR on_rig = $3)"
		" AND ($4 = 0 OR state IN ('queued', 'running'))"
		" ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'queued' THEN 1 ELSE 2 END,"
		" CASE state WHEN 'queued' THEN -priority ELSE 0 END,"
		" CASE WHEN state IN ('queued', 'running') THEN job ELSE -job END LIMIT $5",
		&q, e);
	if (r < 0)
		return r;

	put_known(&q, f->job, 0);
	put_known(&q, f->night, 0);
	put_text_or_null(&q, f->rig);
	put_i64(&q, f->only_open);
	put_i64(&q, f->last ? (int64_t)f->last : DB_NO_LIMIT);
	while ((r = query_next(&q, e)) > 0) {
		s->jobs = xrealloc(s->jobs, s->n + 1, sizeof(struct store_job *));
		s->jobs[s->n] = xcalloc(1, sizeof(struct store_job));
		r = read_job(&q, s->jobs[s->n++], e);
		if (r < 0)
			return r;
	}
	return r;
}

int store_jobs(struct store *st, const struct store_job_filter *f, struct store_job ***ret,
	       size_t *ret_n, struct err *e)
{
	static const struct store_job_filter everything;
	struct job_search s = {.filter = f ? f : &everything};
	int r;

	r = db_transact(st->db, DB_SEE, select_jobs, &s, e);
	if (r < 0) {
		job_search_reset(&s);
		return err_wrap(e, "store '%s': queue", st->location);
	}
	*ret = s.jobs;
	*ret_n = s.n;
	return 0;
}

static int count_jobs(struct db *db, void *arg, struct err *e)
{
	int64_t *counts = arg;
	auto_query struct query q = {0};
	int r;

	memset(counts, 0, STORE_JOB_STATE_MAX * sizeof(*counts));
	r = query_begin(db, "SELECT state, count(*) FROM jobs GROUP BY state", &q, e);
	if (r < 0)
		return r;

	while ((r = query_next(&q, e)) > 0) {
		enum store_job_state state;

		if (!store_job_state_parse(get_text(&q), &state))
			return db_damaged("jobs", e);
		counts[state] = get_i64(&q);
	}
	return r;
}

int store_job_counts(struct store *st, int64_t ret[STORE_JOB_STATE_MAX], struct err *e)
{
	int r = db_transact(st->db, DB_SEE, count_jobs, ret, e);

	return r < 0 ? err_wrap(e, "store '%s': queue", st->location) : 0;
}

/* ---- cancel ---- */

static int find_state(struct db *db, int64_t job, enum store_job_state *ret, struct err *e)
{
	auto_query struct query q = {0};
	auto_free char *sql = xasprintf("SELECT state FROM jobs WHERE job = $1%s",
					db_has_row_locks(db) ? " FOR UPDATE" : "");
	int r;

	r = query_begin(db, sql, &q, e);
	if (r < 0)
		return r;

	put_i64(&q, job);

	r = query_next(&q, e);
	if (r > 0 && !store_job_state_parse(get_text(&q), ret))
		return db_damaged("jobs", e);
	return r;
}

struct cancel {
	int64_t job;
	bool is_done; /* by an attempt whose commit had no answer */
};

static int cancel_job(struct db *db, void *arg, struct err *e)
{
	struct cancel *c = arg;
	enum store_job_state state = STORE_JOB_QUEUED;
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	r = find_state(db, c->job, &state, e);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(e, ERR_USAGE, ENOENT, "there is no job %lld", (long long)c->job);
	if (state == STORE_JOB_CANCELLED && c->is_done)
		return 0;
	if (state != STORE_JOB_QUEUED && state != STORE_JOB_RUNNING)
		return err_set(e, ERR_USAGE, EALREADY, "job %lld is %s already", (long long)c->job,
			       store_job_state_name(state));

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = query_begin(db,
				state == STORE_JOB_QUEUED
					? "UPDATE jobs SET state = 'cancelled', ended_wall_ns = $2"
					  " WHERE job = $1"
					: "UPDATE jobs SET is_cancel_wanted = 1"
					  " WHERE job = $1 AND $2 > 0",
				&q, e);
	if (r < 0)
		return r;

	put_i64(&q, c->job);
	put_i64(&q, now_ns);

	r = query_run(&q, e);
	if (r >= 0)
		r = db_notify(db, STORE_QUEUE_CHANNEL, e);
	c->is_done = r >= 0;
	return r < 0 ? r : state == STORE_JOB_RUNNING;
}

int store_job_cancel(struct store *st, int64_t job, struct err *e)
{
	struct cancel c = {.job = job};
	int r = db_transact(st->db, DB_CHANGE, cancel_job, &c, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : r;
}

/* ---- workers ---- */

struct work {
	const struct store_worker *w;
	const struct store_job *j;
	const struct store_job_result *result;
	const char *worker;
	const char *run_id;
	struct store_job *taken;
};

static int put_worker(struct db *db, const struct store_worker *w, int64_t now_ns, struct err *e)
{
	auto_strbuf struct strbuf rigs = STRBUF_INIT;
	auto_query struct query q = {0};
	int r;

	for (size_t i = 0; i < w->n_rigs; i++)
		strbuf_addf(&rigs, "%s%s", i ? " " : "", w->rigs[i]);
	r = query_begin(db,
			"INSERT INTO workers (worker, host, pid, rigs, started_wall_ns,"
			" seen_wall_ns) VALUES ($1, $2, $3, $4, $5, $5)"
			" ON CONFLICT (worker) DO UPDATE SET seen_wall_ns = excluded.seen_wall_ns",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, w->name);
	put_text(&q, w->host);
	put_i64(&q, w->pid);
	put_text(&q, strbuf_str(&rigs));
	put_i64(&q, now_ns);
	return query_run(&q, e);
}

/* Those that were killed never said goodbye. */
static int forget_old_workers(struct db *db, int64_t now_ns, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, "DELETE FROM workers WHERE seen_wall_ns < $1", &q, e);
	if (r < 0)
		return r;

	put_i64(&q, now_ns - WORKER_KEPT_NS);
	return query_run(&q, e);
}

static int register_worker(struct db *db, void *arg, struct err *e)
{
	const struct store_worker *w = arg;
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = forget_old_workers(db, now_ns, e);
	if (r >= 0)
		r = put_worker(db, w, now_ns, e);
	if (r >= 0)
		r = query_begin(
			db,
			"INSERT INTO rig_states (rig, host) VALUES ($1, $2)"
			" ON CONFLICT (rig) DO UPDATE SET host = excluded.host"
			" WHERE rig_states.host IS NULL OR rig_states.host <> excluded.host",
			&q, e);
	for (size_t i = 0; r >= 0 && i < w->n_rigs; i++) {
		put_text(&q, w->rigs[i]);
		put_text(&q, w->host);
		r = query_run(&q, e);
	}
	return r;
}

int store_worker_register(struct store *st, const struct store_worker *w, struct err *e)
{
	struct store_worker copy = *w;
	int r;

	if (w->n_rigs > STORE_WORKER_RIGS_MAX)
		return err_set(e, ERR_USAGE, E2BIG, "worker '%s': %zu rigs, at most %d", w->name,
			       w->n_rigs, STORE_WORKER_RIGS_MAX);

	r = db_transact(st->db, DB_CHANGE, register_worker, &copy, e);
	return r < 0 ? err_wrap(e, "store '%s': worker '%s'", st->location, w->name) : 0;
}

/* Nobody holds what this holder held. rig NULL = all of them. */
static int free_rigs(struct db *db, const char *holder, const char *rig, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE rig_states SET holder = NULL, hold_purpose = NULL,"
			" held_wall_ns = NULL, held_until_wall_ns = NULL, running = NULL,"
			" running_wall_ns = NULL WHERE holder = $1 AND ($2 IS NULL OR rig = $2)",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, holder);
	put_text_or_null(&q, rig);
	return query_run(&q, e);
}

static int remove_worker(struct db *db, void *arg, struct err *e)
{
	const struct store_worker *w = arg;
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, "DELETE FROM workers WHERE worker = $1", &q, e);
	if (r < 0)
		return r;

	put_text(&q, w->name);

	r = query_run(&q, e);
	return r < 0 ? r : free_rigs(db, w->name, NULL, e);
}

int store_worker_leave(struct store *st, const struct store_worker *w, struct err *e)
{
	struct store_worker copy = *w;
	int r = db_transact(st->db, DB_CHANGE, remove_worker, &copy, e);

	return r < 0 ? err_wrap(e, "store '%s': worker '%s'", st->location, w->name) : 0;
}

/* ---- take ---- */

struct expired {
	int64_t job;
	bool is_over; /* no attempt left */
};

static int find_expired(struct db *db, int64_t now_ns, struct expired *ret, size_t *ret_n,
			struct err *e)
{
	auto_free char *sql =
		xasprintf("SELECT job, attempts, attempts_max FROM jobs WHERE state = 'running'"
			  " AND lease_until_wall_ns < $1 LIMIT $2%s",
			  db_skip_locked(db));
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, sql, &q, e);
	if (r < 0)
		return r;

	put_i64(&q, now_ns);
	put_i64(&q, EXPIRED_MAX);
	while ((r = query_next(&q, e)) > 0) {
		struct expired *x = &ret[(*ret_n)++];
		int64_t attempts;

		x->job = get_i64(&q);
		attempts = get_i64(&q);
		x->is_over = attempts >= get_i64(&q);
	}
	return r;
}

/* Gives back what silent workers had. */
static int requeue_expired(struct db *db, int64_t now_ns, struct err *e)
{
	struct expired expired[EXPIRED_MAX];
	auto_query struct query q = {0};
	size_t n = 0;
	int r;

	r = find_expired(db, now_ns, expired, &n, e);
	if (r < 0 || n == 0)
		return r;

	r = query_begin(db,
			"UPDATE jobs SET state = CASE"
			"  WHEN is_cancel_wanted = 1 THEN 'cancelled'"
			"  WHEN $2 = 1 THEN 'failed' ELSE 'queued' END,"
			" ended_wall_ns = CASE WHEN $2 = 1 OR is_cancel_wanted = 1 THEN $3 END,"
			" lease_until_wall_ns = NULL,"
			" error = 'worker ' || worker || ' went silent' WHERE job = $1",
			&q, e);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		put_i64(&q, expired[i].job);
		put_i64(&q, expired[i].is_over);
		put_i64(&q, now_ns);
		r = query_run(&q, e);
	}
	return r;
}

/* The worker's rigs that are free, each between blanks; those in quarantine may be checked. */
struct free_rigs {
	struct strbuf sound, quarantined;
};

static void free_rigs_release(struct free_rigs *f)
{
	strbuf_release(&f->sound);
	strbuf_release(&f->quarantined);
}
#define auto_free_rigs __attribute__((cleanup(free_rigs_release)))

/* Adds them and locks them. */
static int find_free_rigs(struct db *db, const struct store_worker *w, int64_t now_ns,
			  struct free_rigs *ret, struct err *e)
{
	auto_free char *sql =
		xasprintf("SELECT rig, quarantined_wall_ns FROM rig_states"
			  " WHERE strpos($1, ' ' || rig || ' ') > 0"
			  " AND (holder IS NULL OR held_until_wall_ns < $2) ORDER BY rig%s",
			  db_skip_locked(db));
	auto_strbuf struct strbuf own = STRBUF_INIT;
	auto_query struct query q = {0};
	int r;

	if (w->n_rigs == 0)
		return 0;
	for (size_t i = 0; i < w->n_rigs; i++)
		strbuf_addf(&own, " %s", w->rigs[i]);
	strbuf_adds(&own, " ");

	r = query_begin(db, sql, &q, e);
	if (r < 0)
		return r;

	put_text(&q, strbuf_str(&own));
	put_i64(&q, now_ns);
	while ((r = query_next(&q, e)) > 0) {
		auto_free char *rig = get_string(&q);
		bool is_sound = get_known(&q, 0) == 0;

		strbuf_addf(is_sound ? &ret->sound : &ret->quarantined, " %s", rig);
	}
	if (ret->sound.len)
		strbuf_adds(&ret->sound, " ");
	if (ret->quarantined.len)
		strbuf_adds(&ret->quarantined, " ");
	return r;
}

/* The next job that needs no rig or one of these. 1 = found and locked. */
static int find_job(struct db *db, const struct free_rigs *rigs, int64_t now_ns, int64_t *ret,
		    struct err *e)
{
	auto_free char *sql =
		xasprintf("SELECT job FROM jobs WHERE state = 'queued' AND not_before_wall_ns <= $1"
			  " AND (kind = 'replay' OR (rig IS NULL AND $2 <> '')"
			  "  OR strpos($2, ' ' || rig || ' ') > 0"
			  "  OR kind = 'check' AND strpos($3, ' ' || rig || ' ') > 0)"
			  " ORDER BY priority DESC, job LIMIT 1%s",
			  db_skip_locked(db));
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, sql, &q, e);
	if (r < 0)
		return r;

	put_i64(&q, now_ns);
	put_text(&q, strbuf_str(&rigs->sound));
	put_text(&q, strbuf_str(&rigs->quarantined));

	r = query_next(&q, e);
	if (r > 0)
		*ret = get_i64(&q);
	return r;
}

static int lease_job(struct db *db, const struct store_worker *w, int64_t job, int64_t now_ns,
		     const char *rigs, struct store_job *ret, struct err *e)
{
	auto_free char *first =
		xasprintf("%.*s", (int)(*rigs ? strcspn(rigs + 1, " ") : 0), *rigs ? rigs + 1 : "");
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE jobs SET state = 'running', worker = $2, on_rig = CASE"
			"  WHEN kind = 'replay' THEN NULL WHEN rig IS NULL THEN $3 ELSE rig END,"
			" attempts = attempts + 1, lease_until_wall_ns = $4, started_wall_ns = $5,"
			" ended_wall_ns = NULL, verdict = NULL, error = NULL"
			" WHERE job = $1 RETURNING " JOB_COLUMNS,
			&q, e);
	if (r < 0)
		return r;

	put_i64(&q, job);
	put_text(&q, w->name);
	put_text(&q, first);
	put_i64(&q, now_ns + w->lease_ns);
	put_i64(&q, now_ns);

	r = query_next(&q, e);
	if (r <= 0)
		return r < 0 ? r : db_damaged("jobs", e);
	return read_job(&q, ret, e);
}

static int hold_for_job(struct db *db, const struct store_worker *w, const struct store_job *j,
			int64_t now_ns, struct err *e)
{
	auto_free char *purpose = xasprintf("job %lld: %s%s%s", (long long)j->job, j->scenario,
					    *j->kernel ? " with " : "", j->kernel);
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE rig_states SET holder = $2, hold_purpose = $3, held_wall_ns = $4,"
			" held_until_wall_ns = $5, running = $3, running_wall_ns = $4"
			" WHERE rig = $1",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, j->on_rig);
	put_text(&q, w->name);
	put_text(&q, purpose);
	put_i64(&q, now_ns);
	put_i64(&q, now_ns + w->lease_ns);
	return query_run(&q, e);
}

static int take_job(struct db *db, void *arg, struct err *e)
{
	struct work *work = arg;
	const struct store_worker *w = work->w;
	auto_free_rigs struct free_rigs rigs = {STRBUF_INIT, STRBUF_INIT};
	int64_t now_ns = 0, job = 0;
	int r;

	store_job_free(take(work->taken));
	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = requeue_expired(db, now_ns, e);
	if (r >= 0)
		r = find_free_rigs(db, w, now_ns, &rigs, e);
	if (r >= 0)
		r = find_job(db, &rigs, now_ns, &job, e);
	if (r <= 0)
		return r;

	work->taken = xcalloc(1, sizeof(*work->taken));
	r = lease_job(db, w, job, now_ns, strbuf_str(&rigs.sound), work->taken, e);
	if (r >= 0 && work->taken->on_rig)
		r = hold_for_job(db, w, work->taken, now_ns, e);
	return r < 0 ? r : 1;
}

int store_job_take(struct store *st, const struct store_worker *w, struct store_job **ret,
		   struct err *e)
{
	struct work work = {.w = w};
	int r;

	r = db_transact(st->db, DB_CHANGE, take_job, &work, e);
	if (r <= 0) {
		store_job_free(work.taken);
		return r < 0 ? err_wrap(e, "store '%s': queue", st->location) : 0;
	}
	*ret = work.taken;
	return 1;
}

/* ---- renew, finish ---- */

static int fail_stale(const struct store_job *j, const char *worker, struct err *e)
{
	return err_set(e, ERR_STORE, ESTALE, "job %lld is no longer that of worker '%s'",
		       (long long)j->job, worker);
}

static int renew_lease(struct db *db, const struct work *work, int64_t until_ns, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE jobs SET lease_until_wall_ns = $4 WHERE job = $1 AND worker = $2"
			" AND attempts = $3 AND state = 'running' RETURNING is_cancel_wanted",
			&q, e);
	if (r < 0)
		return r;

	put_i64(&q, work->j->job);
	put_text(&q, work->w->name);
	put_i64(&q, work->j->attempts);
	put_i64(&q, until_ns);

	r = query_next(&q, e);
	if (r == 0)
		return fail_stale(work->j, work->w->name, e);
	return r < 0 ? r : get_bool(&q);
}

static int renew_hold(struct db *db, const struct work *work, int64_t until_ns, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE rig_states SET held_until_wall_ns = $3"
			" WHERE rig = $1 AND holder = $2",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, work->j->on_rig);
	put_text(&q, work->w->name);
	put_i64(&q, until_ns);
	return query_run(&q, e);
}

static int renew_job(struct db *db, void *arg, struct err *e)
{
	const struct work *work = arg;
	int64_t now_ns = 0;
	int r, is_cancelled;

	r = db_now(db, &now_ns, e);
	if (r < 0)
		return r;

	is_cancelled = renew_lease(db, work, now_ns + work->w->lease_ns, e);
	if (is_cancelled < 0)
		return is_cancelled;

	r = work->j->on_rig ? renew_hold(db, work, now_ns + work->w->lease_ns, e) : 0;
	if (r >= 0)
		r = put_worker(db, work->w, now_ns, e);
	return r < 0 ? r : is_cancelled;
}

int store_job_renew(struct store *st, const struct store_worker *w, const struct store_job *j,
		    struct err *e)
{
	struct work work = {.w = w, .j = j};
	int r = db_transact(st->db, DB_CHANGE, renew_job, &work, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : r;
}

static int note_run(struct db *db, void *arg, struct err *e)
{
	const struct work *work = arg;
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE jobs SET run_id = $4 WHERE job = $1 AND worker = $2"
			" AND attempts = $3 AND state = 'running' RETURNING job",
			&q, e);
	if (r < 0)
		return r;

	put_i64(&q, work->j->job);
	put_text(&q, work->worker);
	put_i64(&q, work->j->attempts);
	put_text(&q, work->run_id);
	r = query_next(&q, e);
	return r == 0 ? fail_stale(work->j, work->worker, e) : r;
}

int store_job_began(struct store *st, const char *worker, const struct store_job *j,
		    const char *run_id, struct err *e)
{
	struct work work = {.worker = worker, .j = j, .run_id = run_id};
	int r = db_transact(st->db, DB_CHANGE, note_run, &work, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : 0;
}

/* Ending it again with the same words is fine: an answer may have been lost. */
static int end_attempt(struct db *db, const struct work *work, int64_t now_ns, struct err *e)
{
	const struct store_job_result *res = work->result;
	auto_query struct query q = {0};
	int r;

	r = query_begin(
		db,
		"UPDATE jobs SET state = CASE WHEN $4 = 'queued' AND is_cancel_wanted = 1 THEN"
		"  'cancelled' WHEN $4 = 'queued' AND attempts >= attempts_max THEN 'failed'"
		"  ELSE $4 END,"
		" ended_wall_ns = CASE WHEN $4 = 'queued' AND is_cancel_wanted = 0 AND"
		"  attempts < attempts_max THEN NULL ELSE $5 END,"
		" lease_until_wall_ns = NULL, run_id = COALESCE($6, run_id), verdict = $7,"
		" error = $8,"
		" not_before_wall_ns = CASE WHEN $4 = 'queued' THEN $5 + $9 ELSE"
		"  not_before_wall_ns END"
		" WHERE job = $1 AND worker = $2 AND attempts = $3"
		" AND (state = 'running' OR lease_until_wall_ns IS NULL AND state = $4"
		"  AND run_id IS NOT DISTINCT FROM COALESCE($6, run_id)"
		"  AND error IS NOT DISTINCT FROM $8)"
		" RETURNING job",
		&q, e);
	if (r < 0)
		return r;

	put_i64(&q, work->j->job);
	put_text(&q, work->worker);
	put_i64(&q, work->j->attempts);
	put_text(&q, store_job_state_name(res->state));
	put_i64(&q, now_ns);
	put_text_or_null(&q, res->run ? res->run->id : NULL);
	put_text_or_null(&q, res->run ? verdict_name(res->run->result.verdict) : NULL);
	put_text_or_null(&q, res->error);
	put_i64(&q, res->pause_ns);

	r = query_next(&q, e);
	return r == 0 ? fail_stale(work->j, work->worker, e) : r;
}

static int finish_job(struct db *db, void *arg, struct err *e)
{
	const struct work *work = arg;
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = end_attempt(db, work, now_ns, e);
	if (r >= 0 && work->result->run)
		r = store_write_run(db, work->result->run, e);
	if (r >= 0 && work->j->on_rig)
		r = free_rigs(db, work->worker, work->j->on_rig, e);
	if (r >= 0)
		r = db_notify(db, STORE_QUEUE_CHANNEL, e);
	return r;
}

int store_job_finish(struct store *st, const char *worker, const struct store_job *j,
		     const struct store_job_result *result, struct err *e)
{
	struct work work = {.worker = worker, .j = j, .result = result};
	int r = db_transact(st->db, DB_CHANGE, finish_job, &work, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : 0;
}

/* ---- news ---- */

int store_queue_listen(struct store *st, struct err *e)
{
	int r = db_listen(st->db, STORE_QUEUE_CHANNEL, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : 0;
}

int store_queue_fd(struct store *st)
{
	return db_news_fd(st->db);
}

bool store_queue_has_news(struct store *st)
{
	return db_take_news(st->db);
}
