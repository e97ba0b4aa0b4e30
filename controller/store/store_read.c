/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_read.c - runs out of the store. */
#include "histogram.h"
#include "store_priv.h"

#include <string.h>

static int select_boots(struct db *db, int64_t run, struct run *r, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "SELECT number, recording, banner, environment, console_bytes, boot_ms"
			  " FROM boots WHERE run = $1 ORDER BY number",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	while ((res = query_next(&q, e)) > 0) {
		struct trial_boot *b;

		r->boots = xrealloc(r->boots, r->n_boots + 1, sizeof(*r->boots));
		b = &r->boots[r->n_boots++];
		b->number = get_unsigned(&q);
		b->recording = get_string(&q);
		b->banner = get_string(&q);
		b->environment = get_string(&q);
		b->console_bytes = get_u64(&q);
		b->boot_ms = get_known(&q, -1);
		if (q.is_damaged)
			return db_damaged("boots", e);
	}
	return res;
}

static int select_evidence(struct db *db, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db, "SELECT name, state, detail FROM evidence WHERE trial = $1", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(&q, e)) > 0) {
		enum evidence_id id;

		if (!evidence_parse(get_text(&q), &id) ||
		    !evidence_state_parse(get_text(&q), &t->evidence[id].state))
			return db_damaged("evidence", e);
		get_chars(&q, t->evidence[id].detail, sizeof(t->evidence[id].detail));
	}
	return res;
}

static int select_numbers(struct db *db, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db, "SELECT name, value FROM numbers WHERE trial = $1 ORDER BY seq", &q,
			  e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(&q, e)) > 0) {
		const char *name = get_text(&q);

		trial_add_number(t, name, get_i64(&q));
	}
	return res;
}

static int select_delays(struct db *db, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"SELECT us, cpu, probe, due_us, t_host_ns, console_offset, is_live, is_suspect"
		" FROM delays WHERE trial = $1 ORDER BY seq",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(&q, e)) > 0) {
		struct trial_delay *d = trial_add_delay(t);

		if (!d)
			return db_damaged("delays", e);
		d->us = get_i64(&q);
		d->cpu = get_cpu(&q);
		get_chars(&q, d->probe, sizeof(d->probe));
		d->due_us = get_i64(&q);
		d->t_host_ns = get_i64(&q);
		d->offset = get_u64(&q);
		d->is_live = get_bool(&q);
		d->is_suspect = get_bool(&q);
		if (q.is_damaged)
			return db_damaged("delays", e);
	}
	return res;
}

static int select_incidents(struct db *db, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(db,
			  "SELECT class, title, count, t_first_us, worst_s, console_offset"
			  " FROM incidents JOIN incident_titles USING (incident_title)"
			  " WHERE trial = $1 ORDER BY seq",
			  &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(&q, e)) > 0) {
		struct trial_incident *n = trial_add_incident(t);

		if (!n)
			return db_damaged("incidents", e);
		get_chars(&q, n->cls, sizeof(n->cls));
		get_chars(&q, n->title, sizeof(n->title));
		n->count = get_unsigned(&q);
		n->t_first_us = get_known(&q, INT64_MIN);
		n->worst_s = get_known(&q, INT64_MIN);
		n->offset = get_u64(&q);
		if (q.is_damaged)
			return db_damaged("incidents", e);
	}
	return res;
}

static int select_moments(struct db *db, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db, "SELECT t_ns, what, detail FROM moments WHERE trial = $1 ORDER BY seq", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(&q, e)) > 0) {
		int64_t t_ns = get_i64(&q);
		const char *what = get_text(&q);

		trial_add_moment(t, t_ns, what, "%s", get_text(&q));
	}
	return res;
}

static int select_histograms(struct db *db, int64_t trial, struct trial *t, struct err *e)
{
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db, "SELECT probe, buckets FROM histograms WHERE trial = $1 ORDER BY probe", &q, e);
	if (res < 0)
		return res;

	put_i64(&q, trial);
	while ((res = query_next(&q, e)) > 0) {
		const char *probe = get_text(&q);
		size_t n;
		const void *bytes = get_bytes(&q, &n);

		if (!histogram_unpack(bytes, n, probe, t))
			return db_damaged("histograms", e);
	}
	return res;
}

/* words: as insert_trial() writes them, or NULL. False if they cannot be that. */
static bool parse_load(const char *words, struct trial *t)
{
	while (words && *words) {
		char *end;
		int64_t t_ns, bytes;

		errno = 0;
		t_ns = strtoll(words, &end, 10);
		if (end == words || *end != ':' || errno)
			return false;
		words = end + 1;
		bytes = strtoll(words, &end, 10);
		if (end == words || (*end && *end != ' ') || errno)
			return false;
		trial_add_load_point(t, t_ns, bytes);
		words = *end ? end + 1 : end;
	}
	return true;
}

static int read_trial(struct query *q, struct trial *t, int64_t *ret_key, struct err *e)
{
	const char *missing, *crash;

	*ret_key = get_i64(q);
	t->number = get_unsigned(q);
	t->boot = get_unsigned(q);
	t->unplug = get_unsigned(q);
	t->started_wall_ns = get_i64(q);
	t->is_valid = get_bool(q);
	missing = get_text_or_null(q);
	if (missing && !evidence_parse(missing, &t->missing))
		q->is_damaged = true;
	crash = get_text_or_null(q);
	t->is_crash = crash != NULL;
	(void)snprintf(t->crash, sizeof(t->crash), "%s", crash ? crash : "");
	t->worst_us = get_known(q, -1);
	t->worst_cpu = get_cpu(q);
	get_chars(q, t->worst_probe, sizeof(t->worst_probe));
	get_chars(q, t->worst_func, sizeof(t->worst_func));
	t->console_from = get_u64(q);
	t->console_to = get_u64(q);
	if (!parse_load(get_text_or_null(q), t))
		q->is_damaged = true;
	return q->is_damaged ? db_damaged("trials", e) : 0;
}

static int select_trials(struct db *db, int64_t run, struct run *r, struct err *e)
{
	static int (*const select_rows[])(struct db * db, int64_t trial, struct trial * t,
					  struct err * e) = {
		select_evidence,  select_numbers, select_delays,
		select_incidents, select_moments, select_histograms,
	};
	auto_query struct query q = {0};
	int res;

	res = query_begin(
		db,
		"SELECT trial, number, boot, unplug, started_wall_ns, is_valid, missing, crash,"
		" worst_us, worst_cpu, worst_probe, worst_func, console_from, console_to,"
		" load_points FROM trials WHERE run = $1 ORDER BY number",
		&q, e);
	if (res < 0)
		return res;

	put_i64(&q, run);
	while ((res = query_next(&q, e)) > 0) {
		struct trial *t = trial_new();
		int64_t key = 0;

		r->trials = xrealloc(r->trials, r->n_trials + 1, sizeof(struct trial *));
		r->trials[r->n_trials++] = t;

		res = read_trial(&q, t, &key, e);
		for (size_t i = 0; res >= 0 && i < ARRAY_SIZE(select_rows); i++)
			res = select_rows[i](db, key, t, e);
		if (res < 0)
			return res;
	}
	return res;
}

static void read_result(struct query *q, struct judge_result *j)
{
	const char *verdict = get_text_or_null(q);

	if (!verdict)
		j->verdict =
			VERDICT_INCONCLUSIVE; /* not judged: never the PASS that 0 stands for */
	else if (!verdict_parse(verdict, &j->verdict))
		q->is_damaged = true;
	get_chars(q, j->reason, sizeof(j->reason));
	get_chars(q, j->strength, sizeof(j->strength));
	j->valid = get_unsigned(q);
	j->over = get_unsigned(q);
	j->invalid = get_unsigned(q);
	j->crashes = get_unsigned(q);
	j->boots = get_unsigned(q);
	j->boots_over = get_unsigned(q);
	j->is_clustered = get_bool(q);
	j->worst_us = get_known(q, -1);
	j->p50_us = get_known(q, -1);
	j->p99_us = get_known(q, -1);
	j->over_low = get_real(q);
	j->over_high = get_real(q);
}

int store_read_run(struct query *q, struct run *r, int64_t *ret_key, struct err *e)
{
	*ret_key = get_i64(q);
	r->id = get_string(q);
	r->rig = get_string(q);
	r->rig_class = get_string(q);
	r->arch = get_string(q);
	r->kernel = get_string(q);
	r->kernel_release = get_string(q);
	r->kernel_version = get_string(q);
	r->kernel_config_sha256 = get_string(q);
	r->kernel_image_sha256 = get_string(q);
	r->kernel_label = get_string(q);
	r->append = get_string(q);
	r->scenario = get_string(q);
	r->scenario_sha256 = get_string(q);
	r->started_wall_ns = get_i64(q);
	r->limit_us = get_i64(q);
	r->planned_valid = get_unsigned(q);
	r->tolerated_over = get_real(q);
	r->confidence = get_real(q);
	r->ended_wall_ns = get_known(q, 0);
	r->rig_fault = get_string_or_null(q);
	r->untestable = get_string_or_null(q);
	read_result(q, &r->result);
	return q->is_damaged ? db_damaged("runs", e) : 0;
}

/* What a transaction of this file looks for and finds. */
struct search {
	const struct store_filter *filter;
	bool with_trials;
	struct run **runs;
	size_t n;
};

static void search_reset(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		run_free(s->runs[i]);
	free(s->runs);
	s->runs = NULL;
	s->n = 0;
}

static int select_runs(struct db *db, void *arg, struct err *e)
{
	struct search *s = arg;
	const struct store_filter *f = s->filter;
	/* "$1 IS NULL OR id = $1" would be one text for all, and no index could be used */
	auto_free char *sql =
		xasprintf("SELECT " STORE_RUN_COLUMNS
			  " FROM runs JOIN rigs USING (rig) JOIN kernel_builds USING (kernel_build)"
			  " WHERE %s AND ($2 IS NULL OR strpos(kernel_builds.name, $2) > 0"
			  "  OR strpos(kernel_label, $2) > 0) AND %s AND %s"
			  " ORDER BY started_wall_ns DESC, run DESC LIMIT $5",
			  f->run_id ? "id = $1" : "CAST($1 AS TEXT) IS NULL",
			  f->rig ? "runs.rig IN (SELECT g.rig FROM rigs AS g WHERE g.name = $3)"
				 : "CAST($3 AS TEXT) IS NULL",
			  f->scenario ? "scenario = $4" : "CAST($4 AS TEXT) IS NULL");
	auto_query struct query q = {0};
	int res;

	search_reset(s);

	res = query_begin(db, sql, &q, e);
	if (res < 0)
		return res;

	put_text_or_null(&q, f->run_id);
	put_text_or_null(&q, f->kernel);
	put_text_or_null(&q, f->rig);
	put_text_or_null(&q, f->scenario);
	put_i64(&q, f->last ? (int64_t)f->last : DB_NO_LIMIT);
	while ((res = query_next(&q, e)) > 0) {
		struct run *r = xcalloc(1, sizeof(*r));
		int64_t key = 0;

		s->runs = xrealloc(s->runs, s->n + 1, sizeof(struct run *));
		s->runs[s->n++] = r;

		res = store_read_run(&q, r, &key, e);
		if (res >= 0 && s->with_trials)
			res = select_boots(db, key, r, e);
		if (res >= 0 && s->with_trials)
			res = select_trials(db, key, r, e);
		if (res < 0)
			return err_wrap(e, "run '%s'", r->id);
	}
	return res;
}

int store_runs(struct store *st, const struct store_filter *f, bool with_trials, struct run ***ret,
	       size_t *ret_n, struct err *e)
{
	static const struct store_filter everything;
	struct search s = {.filter = f ? f : &everything, .with_trials = with_trials};
	int res;

	res = db_transact(st->db, DB_SEE, select_runs, &s, e);
	if (res < 0) {
		search_reset(&s);
		return err_wrap(e, "store '%s'", st->location);
	}
	*ret = s.runs;
	*ret_n = s.n;
	return 0;
}

int store_find_run(struct store *st, const char *id, struct run **ret, struct err *e)
{
	const struct store_filter filter = {.run_id = id};
	auto_free struct run **runs = NULL;
	size_t n = 0;
	int r = 0;

	if (id)
		r = store_runs(st, &filter, true, &runs, &n, e);
	if (r < 0)
		return r;
	*ret = n ? runs[0] : NULL; /* ids are unique */
	return 0;
}

struct id_search {
	const char *prefix;
	char *ids[2]; /* owned; an exact match first */
	size_t n;
};

static void id_search_reset(struct id_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->ids[i]);
	s->n = 0;
}

static int select_run_ids(struct db *db, void *arg, struct err *e)
{
	struct id_search *s = arg;
	/* behind every character that an id can have */
	auto_free char *end = xasprintf("%s\x7f", s->prefix);
	auto_query struct query q = {0};
	int res;

	id_search_reset(s);
	res = query_begin(db,
			  "SELECT id FROM runs WHERE id >= $1 AND id < $2"
			  " ORDER BY length(id), id LIMIT 2",
			  &q, e);
	if (res < 0)
		return res;

	put_text(&q, s->prefix);
	put_text(&q, end);
	while ((res = query_next(&q, e)) > 0 && s->n < ARRAY_SIZE(s->ids))
		s->ids[s->n++] = get_string(&q);
	return res;
}

/* The id of the one run that begins with prefix. Caller frees. */
static int find_run_id(struct store *st, const char *prefix, char **ret, struct err *e)
{
	struct id_search s = {.prefix = prefix};
	int r;

	r = db_transact(st->db, DB_SEE, select_run_ids, &s, e);
	if (r < 0)
		r = err_wrap(e, "store '%s'", st->location);
	else if (s.n == 0)
		r = err_set(e, ERR_USAGE, ENOENT, "store '%s' has no run '%s'", st->location,
			    prefix);
	else if (s.n == 2 && strcmp(s.ids[0], prefix) != 0)
		r = err_set(e, ERR_USAGE, EEXIST,
			    "store '%s' has more than one run '%s…', for example '%s' and '%s'",
			    st->location, prefix, s.ids[0], s.ids[1]);
	else
		*ret = take(s.ids[0]);
	id_search_reset(&s);
	return r < 0 ? r : 0;
}

int store_find_trial(struct store *st, const char *trial_id, struct run **ret_run,
		     const struct trial **ret_trial, struct err *e)
{
	const char *dot = strrchr(trial_id, '.');
	auto_free char *prefix = NULL;
	auto_free char *id = NULL;
	auto_run struct run *run = NULL;
	uint32_t number;
	int r;

	if (!dot || dot == trial_id)
		return err_set(e, ERR_USAGE, EINVAL, "'%s' is not a trial: <run id>.<number>",
			       trial_id);

	r = parse_u32("number of the trial", dot + 1, 1, UINT32_MAX, &number, e);
	if (r < 0)
		return err_wrap(e, "trial '%s'", trial_id);

	prefix = xasprintf("%.*s", (int)(dot - trial_id), trial_id);

	r = find_run_id(st, prefix, &id, e);
	if (r < 0)
		return err_wrap(e, "trial '%s'", trial_id);

	r = store_find_run(st, id, &run, e);
	if (r < 0)
		return r;
	if (!run)
		return err_set(e, ERR_USAGE, ENOENT, "trial '%s': run '%s' has just gone", trial_id,
			       id);

	for (size_t i = 0; i < run->n_trials; i++)
		if (run->trials[i]->number == number) {
			*ret_trial = run->trials[i];
			*ret_run = take(run);
			return 0;
		}
	return err_set(e, ERR_USAGE, ENOENT,
		       "trial '%s': run '%s' has %zu trials and none with the number %u", trial_id,
		       id, run->n_trials, number);
}
