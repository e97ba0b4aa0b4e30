/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - results that last: runs, boots, trials, evidence, measurements, incidents.
 *
 * They lie in an SQLite file (the default) or, for several rigs, in a PostgreSQL database: the SQL
 * is the same, db.h hides the rest. A trial lands in one transaction as soon as it has ended, so
 * that a killed run loses at most the trial that was going on.
 */
#pragma once

#include "base/err.h"
#include "trial/trial.h"

struct store;

enum store_mode { STORE_READ, STORE_WRITE };

/*
 * location: path of an SQLite file, NULL = path_state("results.db"); or a PostgreSQL database as
 * postgres://USER@HOST:PORT/DATABASE (all that libpq takes, PGPASSFILE and PGSERVICE too), in which
 * everything lies in the schema "stallrig". STORE_WRITE makes what is missing (the file and for
 * NULL its folder; the server's database must be there) and brings an older schema up to date (in
 * one transaction); a newer one is refused (ERR_STORE naming both versions); STORE_READ of a
 * missing file is -ENOENT, and an older schema is refused.
 *
 * Every call blocks for the patience below if another process is writing or the server has gone;
 * after that -EBUSY or -ECONNRESET. Every error of this room is ERR_STORE and names the store if
 * nothing else is said: -EBUSY (another writer), -ENOSPC, -EROFS, -EBADMSG (damaged, or not a
 * store), -EPROTO (schema version), -ECONNREFUSED (no server there), -ECONNRESET (it has gone).
 */
int store_open(const char *location, enum store_mode mode, struct store **ret,
	       struct err *e) must_check;
/* Accepts NULL. */
void store_close(struct store *st);
DEFINE_AUTO(store, struct store *, store_close)
#define auto_store AUTO(store)
/* As given, without a password. */
const char *store_location(const struct store *st);
int store_schema_version(const struct store *st);
/* Whether several hosts can use it: PostgreSQL. */
bool store_is_shared(const struct store *st);
/* How long a call waits for another process's write, or for the server to come back; 10 s at first.
 */
void store_set_patience_ms(struct store *st, unsigned patience_ms);

/*
 * A number that becomes another one when anything in the store changed, whoever changed it, and may
 * become another one without that: what was read under it need not be read again while it stays.
 * Costs microseconds (SQLite) or a round trip. Numbers of two handles mean nothing to each other.
 */
int store_state(struct store *st, int64_t *ret, struct err *e) must_check;

/*
 * The run's head row; then boots and trials as they come; then the end with the verdict. An id that
 * is there already is -EEXIST; one that is no name or has a dot in it -EINVAL. Strings that are
 * NULL come back as "", except rig_fault and untestable.
 */
int store_run_begin(struct store *st, const struct run *r, struct err *e) must_check;
/* Also after the boot is over: how many bytes it has, its banner. Same number = replaced. -ENOENT
   if the run is not there. */
int store_boot_add(struct store *st, const struct run *r, const struct trial_boot *b,
		   struct err *e) must_check;
/* With all its rows, in one transaction. Same number = replaced. -ENOENT if the run or the trial's
   boot is not there. */
int store_trial_add(struct store *st, const struct run *r, const struct trial *t,
		    struct err *e) must_check;
/*
 * Verdict so far, rig_fault, untestable and, if ended_wall_ns is set, the end; all else of the run
 * stays as it began. A result without a reason is kept as "not judged" and comes back as
 * INCONCLUSIVE.
 */
int store_run_update(struct store *st, const struct run *r, struct err *e) must_check;

struct store_filter {
	const char *run_id;   /* exact */
	const char *kernel;   /* kernel name or label contains this */
	const char *rig;      /* exact */
	const char *scenario; /* exact */
	unsigned last;        /* newest N runs, 0 = all */
};

/* Newest first; f may be NULL (everything). The runs hold everything (boots, and trials with all
   their rows) if with_trials, else their head and verdict. One consistent view even while others
   write. Caller frees each with run_free() and the array with free(). */
int store_runs(struct store *st, const struct store_filter *f, bool with_trials, struct run ***ret,
	       size_t *ret_n, struct err *e) must_check;

/* The run with this id and everything of it; *ret is NULL if there is none. id NULL = none. */
int store_find_run(struct store *st, const char *id, struct run **ret, struct err *e) must_check;

/*
 * One trial and its run. trial_id: "<run id>.<number>", or a run id's unique prefix before the dot.
 * ERR_USAGE/-ENOENT if there is none, -EEXIST if the prefix is not unique (both named), -EINVAL if
 * it is not of that form. The trial belongs to the run, which the caller frees.
 */
int store_find_trial(struct store *st, const char *trial_id, struct run **ret_run,
		     const struct trial **ret_trial, struct err *e) must_check;
