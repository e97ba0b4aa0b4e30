/* SPDX-License-Identifier: GPL-2.0-or-later */
/* static_site.c - the pages and answers as files: what the overview and the runs lead to. */
#include "assets.h"
#include "base/fdio.h"
#include "dashboard/dashboard.h"
#include "pages.h"
#include "store/query.h"

#include <string.h>

#define RUNS_MAX 500 /* beside those of the overview */

struct writer {
	struct site site;
	const char *dir;
	struct page_set pages;
	struct page_set bisects; /* those of them that are a bisect's */
};

/* ---- which pages there are ---- */

static void add_page(struct page_set *set, char *path)
{
	set->paths = xrealloc(set->paths, set->n + 1, sizeof(*set->paths));
	set->paths[set->n++] = path;
}

static void page_set_release(struct page_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		free(set->paths[i]);
	free(set->paths);
	*set = (struct page_set){0};
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_pages_of(struct page_set *set, const struct run *r)
{
	auto_free char *trend = view_trend_name(r);

	add_page(set, xasprintf("runs/%s", r->id));
	add_page(set, xasprintf("compare/%s", r->id));
	add_page(set, xasprintf("trends/%s", trend));
	add_page(set, xasprintf("rigs/%s", r->rig));
	add_page(set, xasprintf("kernels/%s", r->kernel));
}

static char *compared(const struct change *c)
{
	return xasprintf("compare/%s..%s", c->was->id, c->now->id);
}

static int find_bisects(struct writer *w, struct err *e)
{
	struct store_bisect *rows = NULL;
	size_t n = 0;
	int r = store_bisects(w->site.store, NULL, &rows, &n, e);

	for (size_t i = 0; i < n; i++)
		add_page(&w->bisects, xasprintf("bisects/%s", rows[i].id));
	store_bisects_free(rows, n);
	return r;
}

static void fill_page_set(struct page_set *set, const struct run_list *runs,
			  const struct change_list *changes, const struct page_set *bisects)
{
	for (size_t i = 0; i < bisects->n; i++)
		add_page(set, xstrdup(bisects->paths[i]));
	for (size_t i = 0; i < runs->n; i++)
		add_pages_of(set, runs->runs[i]);
	for (size_t i = 0; i < changes->n; i++)
		if (changes->changes[i].was)
			add_page(set, compared(&changes->changes[i]));
	if (set->n)
		qsort(set->paths, set->n, sizeof(*set->paths), by_text);
}

/* ---- writing them ---- */

/* path as a server has it; the file is path + suffix below dir. */
static int write_answer(struct writer *w, const char *path, const char *suffix, struct err *e)
{
	struct request rq = {.method = "GET", .path = path, .is_static = true, .pages = &w->pages};
	auto_free char *file = xasprintf("%s%s%s", w->dir, path, suffix);
	auto_free char *folder = xstrdup(file);
	struct reply rp = REPLY_INIT;
	int r;

	*strrchr(folder, '/') = '\0';
	r = dir_make(folder, e);
	if (r < 0)
		return r;
	site_answer(&w->site, &rq, &rp);
	if (rp.status != 200)
		r = err_set(e, ERR_STORE, EIO, "%s: status %u", path, rp.status);
	else
		r = file_write_atomic(file, strbuf_str(&rp.body), rp.body.len, e);
	reply_release(&rp);
	return r;
}

static int write_both(struct writer *w, const char *page, struct err *e)
{
	auto_free char *api = xasprintf("/api/v1%s", page);
	int r = write_answer(w, page, ".html", e);

	return r < 0 ? r : write_answer(w, api, ".json", e);
}

static int write_run(struct writer *w, const struct run *head, struct err *e)
{
	auto_run struct run *run = NULL;
	auto_free char *page = xasprintf("/runs/%s", head->id);
	int r;

	r = data_run(&w->site, head->id, &run, e);
	if (r >= 0)
		r = write_both(w, page, e);
	for (size_t i = 0; r >= 0 && i < run->n_trials; i++) {
		auto_free char *trial = xasprintf("/trials/%s.%u", run->id, run->trials[i]->number);

		r = write_both(w, trial, e);
	}
	if (r >= 0) {
		auto_free char *compare = xasprintf("/compare/%s", run->id);

		r = write_both(w, compare, e);
	}
	return r;
}

static bool is_new(const struct run_list *runs, size_t i,
		   bool (*same)(const struct run *a, const struct run *b))
{
	for (size_t k = 0; k < i; k++)
		if (same(runs->runs[k], runs->runs[i]))
			return false;
	return true;
}

static bool is_same_rig(const struct run *a, const struct run *b)
{
	return strcmp(a->rig, b->rig) == 0;
}

static bool is_same_trend(const struct run *a, const struct run *b)
{
	return is_same_rig(a, b) && strcmp(a->scenario, b->scenario) == 0 &&
	       strcmp(a->rig_class, b->rig_class) == 0;
}

static bool is_same_name(const struct run *a, const struct run *b)
{
	return strcmp(a->kernel, b->kernel) == 0;
}

static int write_of_run(struct writer *w, const struct run_list *runs, size_t i, struct err *e)
{
	const struct run *run = runs->runs[i];
	int r = write_run(w, run, e);

	if (r >= 0 && is_new(runs, i, is_same_trend)) {
		auto_free char *name = view_trend_name(run);
		auto_free char *trend = xasprintf("/trends/%s", name);

		r = write_both(w, trend, e);
	}
	if (r >= 0 && is_new(runs, i, is_same_rig)) {
		auto_free char *rig = xasprintf("/rigs/%s", run->rig);

		r = write_answer(w, rig, ".html", e);
	}
	if (r >= 0 && is_new(runs, i, is_same_name)) {
		auto_free char *kernel = xasprintf("/kernels/%s", run->kernel);

		r = write_answer(w, kernel, ".html", e);
	}
	return r;
}

static int write_changes(struct writer *w, const struct change_list *changes, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < changes->n; i++) {
		auto_free char *name =
			changes->changes[i].was ? compared(&changes->changes[i]) : NULL;
		auto_free char *page = name ? xasprintf("/%s", name) : NULL;

		if (page)
			r = write_both(w, page, e);
	}
	return r;
}

static int write_assets(struct writer *w, struct err *e)
{
	size_t n;
	const struct asset *a = assets_all(&n);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		auto_free char *path = xasprintf("/assets/%s", a[i].url_name);

		r = write_answer(w, path, "", e);
	}
	return r;
}

static int write_pages(struct writer *w, const struct run_list *runs,
		       const struct change_list *changes, struct err *e)
{
	static const char *const pages[] = {"/trends",  "/compare",   "/bisects", "/rigs",
					    "/kernels", "/incidents", "/jobs"};
	int r;

	r = write_answer(w, "/", "index.html", e);
	if (r >= 0)
		r = write_answer(w, "/api/v1/front", ".json", e);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(pages); i++)
		r = write_answer(w, pages[i], ".html", e);
	for (size_t i = 0; r >= 0 && i < w->bisects.n; i++) {
		auto_free char *page = xasprintf("/%s", w->bisects.paths[i]);

		r = write_both(w, page, e);
	}
	if (r >= 0)
		r = write_assets(w, e);
	if (r >= 0)
		r = write_changes(w, changes, e);
	for (size_t i = 0; r >= 0 && i < runs->n; i++)
		r = write_of_run(w, runs, i, e);
	return r;
}

/* Moves those of more that are not there to the end of runs. */
static void take_more(struct run_list *runs, struct run_list *more)
{
	size_t n = runs->n;

	runs->runs = xrealloc(runs->runs, runs->n + more->n + 1, sizeof(struct run *));
	for (size_t i = 0; i < more->n; i++) {
		size_t k = 0;

		while (k < n && strcmp(runs->runs[k]->id, more->runs[i]->id) != 0)
			k++;
		if (k == n)
			runs->runs[runs->n++] = take(more->runs[i]);
	}
}

int dashboard_write_site(struct store *st, const char *dir, struct err *e)
{
	struct writer w = {.site = {.store = st, .recordings_dir = ""}, .dir = dir};
	const struct request all = {0};
	const struct data_filter f = {.last = RUNS_MAX};
	auto_run_list struct run_list runs = {0};
	auto_run_list struct run_list front = {0};
	struct change_list changes = {0};
	int r;

	r = data_runs(&w.site, &f, &runs, e);
	if (r >= 0)
		r = front_runs(&w.site, &all, &front, e);
	if (r >= 0)
		r = find_bisects(&w, e);
	if (r < 0)
		return r;
	/* the changes point into it: its runs stay where they are in memory */
	view_changes(&front, &changes);
	take_more(&runs, &front);
	fill_page_set(&w.pages, &runs, &changes, &w.bisects);
	r = write_pages(&w, &runs, &changes, e);
	page_set_release(&w.pages);
	page_set_release(&w.bisects);
	free(changes.changes);
	return r;
}
