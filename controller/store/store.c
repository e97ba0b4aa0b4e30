/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.c - what is the same for every database: defaults, names in messages, finding a trial. */
#include "store/store.h"

#include "base/fdio.h"
#include "base/parse.h"
#include "driver.h"

#include <string.h>

int store_open(const char *location, enum store_mode mode, struct store **ret, struct err *e)
{
	const struct store_ops *ops = &store_sqlite_ops;
	auto_free char *path = NULL;
	struct store *st;
	int r;

	if (location && *location == '\0')
		return err_set(e, ERR_USAGE, EINVAL, "store: the file name is empty");
	if (!location && mode == STORE_WRITE) {
		auto_free char *folder = path_state("");

		r = dir_make(folder, e);
		if (r < 0)
			return err_wrap(e, "store");
	}
	path = location ? xstrdup(location) : path_state("results.db");

	r = ops->open(path, mode, &st, e);
	if (r < 0)
		return err_wrap(e, "store '%s'", path);

	st->location = take(path);
	*ret = st;
	return 0;
}

void store_close(struct store *st)
{
	int saved = errno;

	if (!st)
		return;
	free(st->location);
	st->ops->close(st);
	errno = saved;
}

const char *store_location(const struct store *st)
{
	return st->location;
}

int store_schema_version(const struct store *st)
{
	return st->schema_version;
}

void store_set_patience_ms(struct store *st, unsigned patience_ms)
{
	st->ops->set_patience(st, patience_ms);
}

int store_run_begin(struct store *st, const struct run *r, struct err *e)
{
	int res;

	/* the dot separates a run from the number of a trial */
	if (!r->id || !parse_is_name(r->id) || strchr(r->id, '.'))
		return err_set(e, ERR_INTERNAL, EINVAL, "store '%s': '%s' cannot be a run's id",
			       st->location, r->id ? r->id : "");

	res = st->ops->run_begin(st, r, e);
	if (res < 0)
		return err_wrap(e, "store '%s': run '%s'", st->location, r->id);
	return 0;
}

int store_boot_add(struct store *st, const struct run *r, const struct trial_boot *b, struct err *e)
{
	int res = st->ops->boot_add(st, r, b, e);

	if (res < 0)
		return err_wrap(e, "store '%s': run '%s': boot %u", st->location, r->id, b->number);
	return 0;
}

int store_trial_add(struct store *st, const struct run *r, const struct trial *t, struct err *e)
{
	int res = st->ops->trial_add(st, r, t, e);

	if (res < 0)
		return err_wrap(e, "store '%s': trial '%s.%u'", st->location, r->id, t->number);
	return 0;
}

int store_run_update(struct store *st, const struct run *r, struct err *e)
{
	int res = st->ops->run_update(st, r, e);

	if (res < 0)
		return err_wrap(e, "store '%s': run '%s'", st->location, r->id);
	return 0;
}

int store_runs(struct store *st, const struct store_filter *f, bool with_trials, struct run ***ret,
	       size_t *ret_n, struct err *e)
{
	static const struct store_filter everything;
	int res = st->ops->runs(st, f ? f : &everything, with_trials, ret, ret_n, e);

	if (res < 0)
		return err_wrap(e, "store '%s'", st->location);
	return 0;
}

/* The id of the one run that begins with prefix. Caller frees. */
static int find_run_id(struct store *st, const char *prefix, char **ret, struct err *e)
{
	char *ids[2] = {NULL, NULL};
	size_t n = 0;
	int r;

	r = st->ops->run_ids(st, prefix, ids, &n, e);
	if (r < 0)
		return err_wrap(e, "store '%s'", st->location);

	if (n == 0)
		return err_set(e, ERR_USAGE, ENOENT, "store '%s' has no run '%s'", st->location,
			       prefix);
	if (n == 2 && strcmp(ids[0], prefix) != 0)
		r = err_set(e, ERR_USAGE, EEXIST,
			    "store '%s' has more than one run '%s…', for example '%s' and '%s'",
			    st->location, prefix, ids[0], ids[1]);
	else
		*ret = take(ids[0]);
	free(ids[0]);
	free(ids[1]);
	return r;
}

int store_find_trial(struct store *st, const char *trial_id, struct run **ret_run,
		     const struct trial **ret_trial, struct err *e)
{
	const char *dot = strrchr(trial_id, '.');
	auto_free char *prefix = NULL;
	auto_free char *id = NULL;
	auto_free struct run **runs = NULL;
	auto_run struct run *run = NULL;
	struct store_filter f = {0};
	uint32_t number;
	size_t n;
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

	f.run_id = id;

	r = store_runs(st, &f, true, &runs, &n, e);
	if (r < 0)
		return r;
	if (n == 0)
		return err_set(e, ERR_USAGE, ENOENT, "trial '%s': run '%s' has just gone", trial_id,
			       id);

	run = runs[0];
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
