/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_rigs.c - rigs: who holds them, their health, and the wear of their parts. */
#include "base/waiter.h"
#include "store/queue.h"
#include "store_priv.h"

#include <string.h>

#define RIGS_MAX 10000 /* of a lab, and parts of it */

/* ---- reading ---- */

struct rig_search {
	struct store_rig *rigs;
	size_t n;
};

void store_rigs_free(struct store_rig *rigs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rigs[i].rig);
		free(rigs[i].host);
		free(rigs[i].check_text);
		free(rigs[i].quarantine_reason);
		free(rigs[i].running);
		free(rigs[i].holder);
		free(rigs[i].hold_purpose);
	}
	free(rigs);
}

static void read_rig(struct query *q, struct store_rig *g)
{
	g->rig = get_string(q);
	g->host = get_string_or_null(q);
	g->checked_wall_ns = get_known(q, 0);
	g->is_check_ok = get_known(q, 0) != 0;
	g->check_text = get_string_or_null(q);
	g->quarantined_wall_ns = get_known(q, 0);
	g->quarantine_reason = get_string_or_null(q);
	g->running = get_string_or_null(q);
	g->running_wall_ns = get_known(q, 0);
	g->holder = get_string_or_null(q);
	g->hold_purpose = get_string_or_null(q);
	g->held_wall_ns = get_known(q, 0);
	g->held_until_wall_ns = get_known(q, 0);
}

/* A hold whose time is over, and what ran under it, have gone. */
static void forget_old_hold(struct store_rig *g, int64_t now_ns)
{
	if (!g->holder || g->held_until_wall_ns >= now_ns)
		return;
	free(take(g->holder));
	free(take(g->hold_purpose));
	free(take(g->running));
	g->held_wall_ns = g->held_until_wall_ns = g->running_wall_ns = 0;
}

static int select_rigs(struct db *db, void *arg, struct err *e)
{
	struct rig_search *s = arg;
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	store_rigs_free(take(s->rigs), s->n);
	s->n = 0;
	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = query_begin(db,
				"SELECT rig, host, checked_wall_ns, is_check_ok, check_text,"
				" quarantined_wall_ns, quarantine_reason, running,"
				" running_wall_ns, holder, hold_purpose, held_wall_ns,"
				" held_until_wall_ns FROM rig_states ORDER BY rig LIMIT $1",
				&q, e);
	if (r < 0)
		return r;

	put_i64(&q, RIGS_MAX);
	while ((r = query_next(&q, e)) > 0) {
		s->rigs = xrealloc(s->rigs, s->n + 1, sizeof(*s->rigs));
		read_rig(&q, &s->rigs[s->n]);
		forget_old_hold(&s->rigs[s->n++], now_ns);
	}
	return r;
}

int store_rigs(struct store *st, struct store_rig **ret, size_t *ret_n, struct err *e)
{
	struct rig_search s = {0};
	int r;

	r = db_transact(st->db, DB_SEE, select_rigs, &s, e);
	if (r < 0) {
		store_rigs_free(s.rigs, s.n);
		return err_wrap(e, "store '%s': rigs", st->location);
	}
	*ret = s.rigs;
	*ret_n = s.n;
	return 0;
}

/* ---- hold, release ---- */

struct hold {
	const char *rig, *holder, *purpose;
	int64_t duration_ns;
};

static int make_rig(struct db *db, const char *rig, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, "INSERT INTO rig_states (rig) VALUES ($1) ON CONFLICT DO NOTHING", &q,
			e);
	if (r < 0)
		return r;

	put_text(&q, rig);
	return query_run(&q, e);
}

struct holder {
	char *name; /* owned; NULL = free */
	char *purpose;
	int64_t until_ns;
};

static void holder_release(struct holder *h)
{
	free(h->name);
	free(h->purpose);
}
#define auto_holder __attribute__((cleanup(holder_release)))

/* 1 = the rig is known; its row is locked if that is wanted. */
static int find_holder(struct db *db, const char *rig, int64_t now_ns, bool locks,
		       struct holder *ret, struct err *e)
{
	auto_free char *sql = xasprintf("SELECT holder, hold_purpose, held_until_wall_ns"
					" FROM rig_states WHERE rig = $1%s",
					locks && db_has_row_locks(db) ? " FOR UPDATE" : "");
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, sql, &q, e);
	if (r < 0)
		return r;

	put_text(&q, rig);

	r = query_next(&q, e);
	if (r <= 0)
		return r;
	ret->name = get_string_or_null(&q);
	ret->purpose = get_string_or_null(&q);
	ret->until_ns = get_known(&q, 0);
	if (ret->until_ns < now_ns)
		free(take(ret->name));
	return 1;
}

static int fail_held(const char *rig, const struct holder *h, struct err *e)
{
	auto_free char *until = wall_format(h->until_ns);

	return err_set(e, ERR_USAGE, EBUSY, "rig '%s' is held by %s until %s (%s)", rig, h->name,
		       until, h->purpose && *h->purpose ? h->purpose : "no purpose given");
}

static int write_hold(struct db *db, const struct hold *h, int64_t now_ns, struct err *e)
{
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"UPDATE rig_states SET held_wall_ns = CASE WHEN holder = $2 AND"
			"  held_until_wall_ns >= $4 THEN held_wall_ns ELSE $4 END,"
			" holder = $2, hold_purpose = $3, held_until_wall_ns = $5, running = NULL,"
			" running_wall_ns = NULL WHERE rig = $1",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, h->rig);
	put_text(&q, h->holder);
	put_text(&q, h->purpose);
	put_i64(&q, now_ns);
	put_i64(&q, now_ns + h->duration_ns);
	return query_run(&q, e);
}

static int hold_rig(struct db *db, void *arg, struct err *e)
{
	const struct hold *h = arg;
	auto_holder struct holder now = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = make_rig(db, h->rig, e);
	if (r >= 0)
		r = find_holder(db, h->rig, now_ns, true, &now, e);
	if (r < 0)
		return r;
	if (now.name && strcmp(now.name, h->holder) != 0)
		return fail_held(h->rig, &now, e);
	return write_hold(db, h, now_ns, e);
}

int store_rig_hold(struct store *st, const char *rig, const char *holder, const char *purpose,
		   int64_t duration_ns, struct err *e)
{
	struct hold h = {
		.rig = rig, .holder = holder, .purpose = purpose, .duration_ns = duration_ns};
	int r = db_transact(st->db, DB_CHANGE, hold_rig, &h, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : 0;
}

static int see_holder(struct db *db, void *arg, struct err *e)
{
	const struct hold *h = arg;
	auto_holder struct holder now = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = find_holder(db, h->rig, now_ns, false, &now, e);
	if (r < 0)
		return r;
	return now.name && strcmp(now.name, h->holder) != 0 ? fail_held(h->rig, &now, e) : 0;
}

int store_rig_for(struct store *st, const char *rig, const char *holder, struct err *e)
{
	struct hold h = {.rig = rig, .holder = holder};
	int r = db_transact(st->db, DB_SEE, see_holder, &h, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : 0;
}

static int release_rig(struct db *db, void *arg, struct err *e)
{
	const struct hold *h = arg;
	auto_holder struct holder now = {0};
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = find_holder(db, h->rig, now_ns, true, &now, e);
	if (r < 0)
		return r;
	if (!now.name)
		return err_set(e, ERR_USAGE, ENOENT, "nobody holds rig '%s'", h->rig);
	if (h->holder && strcmp(now.name, h->holder) != 0)
		return fail_held(h->rig, &now, e);

	r = query_begin(db,
			"UPDATE rig_states SET holder = NULL, hold_purpose = NULL,"
			" held_wall_ns = NULL, held_until_wall_ns = NULL, running = NULL,"
			" running_wall_ns = NULL WHERE rig = $1",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, h->rig);

	r = query_run(&q, e);
	return r < 0 ? r : db_notify(db, STORE_QUEUE_CHANNEL, e);
}

int store_rig_release(struct store *st, const char *rig, const char *holder, struct err *e)
{
	struct hold h = {.rig = rig, .holder = holder};
	int r = db_transact(st->db, DB_CHANGE, release_rig, &h, e);

	return r < 0 ? err_wrap(e, "store '%s'", st->location) : 0;
}

/* ---- health ---- */

struct health {
	const char *rig, *text;
	bool is_ok, is_check;
};

static int write_health(struct db *db, void *arg, struct err *e)
{
	const struct health *h = arg;
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = make_rig(db, h->rig, e);
	if (r >= 0)
		r = query_begin(db,
				h->is_check ? "UPDATE rig_states SET checked_wall_ns = $2,"
					      " check_text = $3, is_check_ok = $4 WHERE rig = $1"
					    : "UPDATE rig_states SET quarantined_wall_ns = $2,"
					      " quarantine_reason = $3 WHERE rig = $1",
				&q, e);
	if (r < 0)
		return r;

	put_text(&q, h->rig);
	put_known(&q, h->is_check || h->text ? now_ns : 0, 0);
	put_text_or_null(&q, h->text);
	if (h->is_check)
		put_i64(&q, h->is_ok);

	r = query_run(&q, e);
	return r < 0 ? r : db_notify(db, STORE_QUEUE_CHANNEL, e);
}

int store_rig_checked(struct store *st, const char *rig, bool is_ok, const char *text,
		      struct err *e)
{
	struct health h = {.rig = rig, .text = text, .is_ok = is_ok, .is_check = true};
	int r = db_transact(st->db, DB_CHANGE, write_health, &h, e);

	return r < 0 ? err_wrap(e, "store '%s': rig '%s'", st->location, rig) : 0;
}

int store_rig_quarantine(struct store *st, const char *rig, const char *reason, struct err *e)
{
	struct health h = {.rig = rig, .text = reason};
	int r = db_transact(st->db, DB_CHANGE, write_health, &h, e);

	return r < 0 ? err_wrap(e, "store '%s': rig '%s'", st->location, rig) : 0;
}

/* ---- wear ---- */

struct wear_add {
	const char *rig, *kind, *part;
	int64_t cycles;
};

struct wear_search {
	const char *rig;
	struct store_wear *wear;
	size_t n;
};

void store_wear_free(struct store_wear *wear, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(wear[i].rig);
		free(wear[i].kind);
		free(wear[i].part);
	}
	free(wear);
}

static int add_wear(struct db *db, void *arg, struct err *e)
{
	const struct wear_add *w = arg;
	auto_query struct query q = {0};
	int64_t now_ns = 0;
	int r;

	r = db_now(db, &now_ns, e);
	if (r >= 0)
		r = query_begin(db,
				"INSERT INTO wear (rig, kind, part, cycles, first_wall_ns,"
				" last_wall_ns) VALUES ($1, $2, $3, $4, $5, $5)"
				" ON CONFLICT (rig, kind, part) DO UPDATE SET"
				" cycles = wear.cycles + excluded.cycles,"
				" last_wall_ns = excluded.last_wall_ns",
				&q, e);
	if (r < 0)
		return r;

	put_text(&q, w->rig);
	put_text(&q, w->kind);
	put_text(&q, w->part);
	put_i64(&q, w->cycles);
	put_i64(&q, now_ns);
	return query_run(&q, e);
}

int store_wear_add(struct store *st, const char *rig, const char *kind, const char *part,
		   int64_t cycles, struct err *e)
{
	struct wear_add w = {.rig = rig, .kind = kind, .part = part, .cycles = cycles};
	int r = db_transact(st->db, DB_CHANGE, add_wear, &w, e);

	return r < 0 ? err_wrap(e, "store '%s': rig '%s': wear of %s", st->location, rig, kind) : 0;
}

int store_count_cut(struct store *st, const char *rig, const char *port, const char *stick_serial,
		    const struct trial *t, struct err *e)
{
	bool is_cut = false;
	int r;

	for (size_t i = 0; i < t->n_moments; i++)
		is_cut |= strcmp(t->moments[i].what, "cut-asked") == 0;
	if (!is_cut || !port)
		return 0;
	r = store_wear_add(st, rig, "switch", port, 1, e);
	if (r < 0)
		return r;
	return store_wear_add(st, rig, "stick", stick_serial, 1, e);
}

int store_trial_end(struct store *st, const struct run *r, const struct trial *t, const char *port,
		    const char *stick_serial, struct err *e)
{
	int ret;

	ret = store_trial_add(st, r, t, e);
	if (ret >= 0)
		ret = store_count_cut(st, r->rig, port, stick_serial, t, e);
	return ret < 0 ? ret : store_run_update(st, r, e);
}

static int select_wear(struct db *db, void *arg, struct err *e)
{
	struct wear_search *s = arg;
	auto_query struct query q = {0};
	int r;

	store_wear_free(take(s->wear), s->n);
	s->n = 0;
	r = query_begin(db,
			"SELECT rig, kind, part, cycles, first_wall_ns, last_wall_ns FROM wear"
			" WHERE $1 IS NULL OR rig = $1 ORDER BY rig, kind, part LIMIT $2",
			&q, e);
	if (r < 0)
		return r;

	put_text_or_null(&q, s->rig);
	put_i64(&q, RIGS_MAX);
	while ((r = query_next(&q, e)) > 0) {
		struct store_wear *w;

		s->wear = xrealloc(s->wear, s->n + 1, sizeof(*s->wear));
		w = &s->wear[s->n++];
		w->rig = get_string(&q);
		w->kind = get_string(&q);
		w->part = get_string(&q);
		w->cycles = get_i64(&q);
		w->first_wall_ns = get_i64(&q);
		w->last_wall_ns = get_i64(&q);
	}
	return r;
}

int store_wear(struct store *st, const char *rig, struct store_wear **ret, size_t *ret_n,
	       struct err *e)
{
	struct wear_search s = {.rig = rig};
	int r;

	r = db_transact(st->db, DB_SEE, select_wear, &s, e);
	if (r < 0) {
		store_wear_free(s.wear, s.n);
		return err_wrap(e, "store '%s': wear", st->location);
	}
	*ret = s.wear;
	*ret_n = s.n;
	return 0;
}

struct wear_of {
	const char *rig, *port, *stick_serial;
	uint64_t switch_cycles, stick_cycles;
};

static int select_wear_of(struct db *db, void *arg, struct err *e)
{
	struct wear_of *s = arg;
	auto_query struct query q = {0};
	int r;

	s->switch_cycles = s->stick_cycles = 0;
	r = query_begin(db,
			"SELECT kind, cycles FROM wear WHERE (kind = 'switch' AND rig = $1"
			" AND part = $2) OR (kind = 'stick' AND part = $3)",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, s->rig);
	put_text(&q, s->port);
	put_text(&q, s->stick_serial);
	while ((r = query_next(&q, e)) > 0) {
		auto_free char *kind = get_string(&q);
		const uint64_t cycles = (uint64_t)get_i64(&q);

		if (strcmp(kind, "switch") == 0)
			s->switch_cycles += cycles;
		else
			s->stick_cycles += cycles;
	}
	return r;
}

int store_wear_of(struct store *st, const char *rig, const char *port, const char *stick_serial,
		  uint64_t *ret_switch_cycles, uint64_t *ret_stick_cycles, struct err *e)
{
	struct wear_of s = {.rig = rig, .port = port, .stick_serial = stick_serial};
	int r = 0;

	if (port)
		r = db_transact(st->db, DB_SEE, select_wear_of, &s, e);
	if (r < 0)
		return err_wrap(e, "store '%s': rig '%s': wear", st->location, rig);
	*ret_switch_cycles = s.switch_cycles;
	*ret_stick_cycles = s.stick_cycles;
	return 0;
}

static int delete_wear(struct db *db, void *arg, struct err *e)
{
	const struct wear_of *s = arg;
	auto_query struct query q = {0};
	int r;

	r = query_begin(db, "DELETE FROM wear WHERE rig = $1 AND part = $2 RETURNING part", &q, e);
	if (r < 0)
		return r;
	put_text(&q, s->rig);
	put_text(&q, s->port);
	r = query_next(&q, e);
	if (r != 0)
		return r;
	return err_set(e, ERR_USAGE, ENOENT, "'%s' is no part of it that was ever cut", s->port);
}

int store_wear_forget(struct store *st, const char *rig, const char *part, struct err *e)
{
	struct wear_of s = {.rig = rig, .port = part};
	int r = db_transact(st->db, DB_CHANGE, delete_wear, &s, e);

	return r < 0 ? err_wrap(e, "store '%s': rig '%s'", st->location, rig) : 0;
}
