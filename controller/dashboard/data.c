/* SPDX-License-Identifier: GPL-2.0-or-later */
/* data.c - what pages are made of, out of the store and the recordings of runs that go on. */
#include "base/parse.h"
#include "pages.h"

#include <string.h>
#include <sys/stat.h>

int data_runs(struct site *s, const struct data_filter *f, struct run_list *ret, struct err *e)
{
	const struct store_filter filter = {
		.kernel = f->kernel,
		.rig = f->rig,
		.scenario = f->scenario,
		/* what is sorted out below must not use up the places */
		.last = f->rig_class ? 0 : f->last,
	};
	auto_run_list struct run_list all = {0};
	size_t n = 0;
	int r;

	r = store_runs(s->store, &filter, false, &all.runs, &all.n, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.n; i++) {
		struct run *run = all.runs[i];

		if (run->started_wall_ns < f->since_wall_ns ||
		    (f->rig_class && strcmp(f->rig_class, run->rig_class) != 0) ||
		    (f->last && n == f->last))
			run_free(run);
		else
			all.runs[n++] = run;
	}
	all.n = n;
	*ret = all;
	all = (struct run_list){0};
	return 0;
}

int data_run(struct site *s, const char *id, struct run **ret, struct err *e)
{
	int r = store_find_run(s->store, id, ret, e);

	if (r < 0)
		return r;
	if (!*ret)
		return err_set(e, ERR_USAGE, ENOENT, "there is no run '%s'", id);
	return 0;
}

/* When the newest byte came to the console of the run's newest boot; 0 if it has none here. */
static int64_t heard_wall_ns(const struct site *s, const char *run_id)
{
	int64_t newest_ns = 0;

	for (unsigned boot = 1; parse_is_name(run_id); boot++) {
		auto_free char *path =
			xasprintf("%s/%s/boot-%u/console.raw", s->recordings_dir, run_id, boot);
		struct stat st;

		if (stat(path, &st) < 0)
			break;
		newest_ns = (int64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec;
	}
	return newest_ns;
}

int data_running(struct site *s, struct run_list *ret, struct err *e)
{
	int64_t after_ns = wall_now() - RUNNING_SILENCE_S * NSEC_PER_SEC;
	const struct data_filter f = {.last = 200};
	size_t n = 0;
	int r;

	r = data_runs(s, &f, ret, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ret->n; i++) {
		struct run *run = ret->runs[i];

		if (!run->ended_wall_ns &&
		    (run->started_wall_ns > after_ns || heard_wall_ns(s, run->id) > after_ns))
			ret->runs[n++] = run;
		else
			run_free(run);
	}
	ret->n = n;
	return 0;
}
