/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nightly_expand.c - from a plan to its runs. */
#include "base/parse.h"
#include "base/strbuf.h"
#include "lab/nightly.h"
#include "rig/names.h"
#include "rig/rig.h"
#include "trial/scenario.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define CLASS_PREFIX "class:"
#define HISTORY_MAX  50 /* runs that an expectation is made of */

void nightly_list_release(struct nightly_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct nightly_item *it = &l->items[i];

		util_free(it->name);
		util_free(it->entry);
		util_free(it->kernel);
		util_free(it->append);
		util_free(it->scenario);
		util_free(it->rig);
		util_free(it->left_out);
	}
	util_free(l->items);
	*l = (struct nightly_list){0};
}

/* ---- rigs ---- */

struct bench {
	struct rig_cfg **rigs; /* owned */
	char **names;          /* as jobs call them; owned */
	size_t n;
};

static void bench_release(struct bench *b)
{
	for (size_t i = 0; i < b->n; i++) {
		rig_cfg_free(b->rigs[i]);
		util_free(b->names[i]);
	}
	util_free(b->rigs);
	util_free(b->names);
}

static int bench_add(struct bench *b, const char *name, const char *of_class, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	int r = rig_cfg_load(name, &cfg, e);

	if (r < 0)
		return r;
	if (of_class && strcmp(cfg->rig_class, of_class) != 0)
		return 0;
	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->rigs[i]->name, cfg->name) == 0)
			return 0;
	b->rigs = xrealloc(b->rigs, b->n + 1, sizeof(*b->rigs));
	b->names = xrealloc(b->names, b->n + 1, sizeof(*b->names));
	b->names[b->n] = xstrdup(name);
	b->rigs[b->n++] = take(cfg);
	return 0;
}

static int bench_add_class(struct bench *b, const char *of_class, struct err *e)
{
	auto_name_list struct name_list list = {0};
	size_t before = b->n;
	int r = names_list(&names_of_rigs, &list, e);

	for (size_t i = 0; r >= 0 && i < list.n; i++)
		r = bench_add(b, list.names[i], of_class, e);
	if (r >= 0 && b->n == before)
		return err_set(e, ERR_CONFIG, ENOENT, "rigs: there is no rig of class '%s'",
			       of_class);
	return r;
}

static int find_rigs(const struct plan *p, struct bench *ret, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < p->rigs_count; i++) {
		const char *name = p->rigs[i];

		if (strncmp(name, CLASS_PREFIX, strlen(CLASS_PREFIX)) == 0)
			r = bench_add_class(ret, name + strlen(CLASS_PREFIX), e);
		else
			r = bench_add(ret, name, NULL, e);
	}
	return r;
}

/* ---- kernels ---- */

/* A build of an entry for one arch, or why there is none. */
struct candidate {
	char *kernel;   /* owned */
	char *left_out; /* owned; NULL = fine */
};

struct candidates {
	struct candidate *list; /* owned */
	size_t n;
};

static void candidates_release(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++) {
		util_free(c->list[i].kernel);
		util_free(c->list[i].left_out);
	}
	util_free(c->list);
	*c = (struct candidates){0};
}

static void add_candidate(struct candidates *c, const char *kernel, const char *left_out)
{
	c->list = xrealloc(c->list, c->n + 1, sizeof(*c->list));
	c->list[c->n++] = (struct candidate){
		.kernel = xstrdup(kernel),
		.left_out = left_out ? xstrdup(left_out) : NULL,
	};
}

/* What a kernel's own trouble is leaves it out; all else ends the night's beginning. */
static bool is_own_trouble(const struct err *e)
{
	return e->kind != ERR_STOPPED && e->kind != ERR_INTERNAL;
}

static int find_series(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		       bool may_fetch, struct candidates *ret, struct err *e)
{
	struct kernel_build *k = NULL;
	struct err why = {0};
	int r;

	r = may_fetch ? kernel_fetch(ctx, spec, arch, &k, &why)
		      : kernel_find(ctx, spec, arch, &k, &why);
	if (r >= 0) {
		add_candidate(ret, k->name, NULL);
		kernel_build_free(k);
		return 0;
	}
	if (!may_fetch && r == -ENOENT) {
		add_candidate(ret, spec, NULL);
		return 0;
	}
	if (!is_own_trouble(&why)) {
		*e = why;
		return r;
	}
	add_candidate(ret, spec, why.text);
	return 0;
}

static int find_build(const struct kernels_ctx *ctx, const char *name, const char *arch,
		      struct candidates *ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	int r = kernel_find(ctx, name, NULL, &k, e);

	if (r >= 0 && strcmp(k->arch, arch) == 0)
		add_candidate(ret, k->name, NULL);
	return r < 0 ? r : 0;
}

static int is_kernel_entry(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* The name in the kernel store of what lies in a watched folder: that of the file without ".deb",
   with what no name may have replaced. */
static char *name_of_entry(const char *entry)
{
	size_t n = strlen(entry);
	char *name = xstrdup(entry);

	if (n > 4 && strcmp(entry + n - 4, ".deb") == 0)
		name[n - 4] = '\0';
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-",
			    *c))
			*c = '_';
	return name;
}

static bool is_kernel(const char *path, const char *entry)
{
	size_t n = strlen(entry);
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return true;
	return n > 4 && strcmp(entry + n - 4, ".deb") == 0 && strstr(entry, "linux-image");
}

static int find_dropped(const struct kernels_ctx *ctx, const char *path, const char *entry,
			const char *arch, bool may_add, struct candidates *ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *name = name_of_entry(entry);
	const struct kernel_add_cfg cfg = {.name = name, .paths = &path, .n_paths = 1};
	struct err why = {0};
	int r;

	r = kernel_find(ctx, name, NULL, &k, &why);
	if (r == -ENOENT && may_add) {
		err_clear(&why);
		r = kernel_add(ctx, &cfg, &k, &why);
	} else if (r == -ENOENT) {
		add_candidate(ret, name, NULL);
		return 0;
	}
	if (r >= 0) {
		if (strcmp(k->arch, arch) == 0)
			add_candidate(ret, k->name, NULL);
		return 0;
	}
	if (!is_own_trouble(&why)) {
		*e = why;
		return r;
	}
	add_candidate(ret, name, why.text);
	return 0;
}

static int find_folder(const struct kernels_ctx *ctx, const char *folder, const char *arch,
		       bool may_add, struct candidates *ret, struct err *e)
{
	struct dirent **rows = NULL;
	int n = scandir(folder, &rows, is_kernel_entry, alphasort);
	int r = 0;

	if (n < 0)
		return err_errno(e, ERR_CONFIG, errno, "kernels: folder '%s'", folder);
	for (int i = 0; i < n; i++) {
		auto_free char *path = xasprintf("%s/%s", folder, rows[i]->d_name);

		if (r >= 0 && is_kernel(path, rows[i]->d_name))
			r = find_dropped(ctx, path, rows[i]->d_name, arch, may_add, ret, e);
		free(rows[i]);
	}
	free(rows);
	return r;
}

static int find_kernels(const struct kernels_ctx *ctx, const struct plan_kernel *k,
			const char *arch, bool may_fetch, struct candidates *ret, struct err *e)
{
	if (k->debian)
		return find_series(ctx, k->debian, arch, may_fetch, ret, e);
	if (k->build)
		return find_build(ctx, k->build, arch, ret, e);
	return find_folder(ctx, k->folder, arch, may_fetch, ret, e);
}

/* ---- what is known of earlier nights ---- */

/* Median duration of a planned trial in earlier runs, times the trials that are planned. */
static int expect_duration(struct store *st, const char *rig, const char *scenario, unsigned trials,
			   int64_t *ret_s, struct err *e)
{
	const struct store_filter filter = {.rig = rig, .scenario = scenario, .last = HISTORY_MAX};
	int64_t of_trial_ns[HISTORY_MAX];
	struct run **runs = NULL;
	size_t n = 0, kept = 0;
	int r;

	*ret_s = -1;
	if (!st)
		return 0;
	r = store_runs(st, &filter, false, &runs, &n, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (runs[i]->ended_wall_ns && runs[i]->result.valid && kept < HISTORY_MAX)
			of_trial_ns[kept++] = (runs[i]->ended_wall_ns - runs[i]->started_wall_ns) /
					      runs[i]->result.valid;
		run_free(runs[i]);
	}
	free(runs);
	if (!kept)
		return 0;
	*ret_s = stats_median_i64(of_trial_ns, kept) * (int64_t)trials / NSEC_PER_SEC;
	return 0;
}

/* ---- the matrix ---- */

struct expansion {
	const struct plan *plan;
	const struct kernels_ctx *ctx;
	struct store *st;
	bool may_fetch;
	struct scenario **scenarios; /* owned, one for each of the plan's */
	struct bench bench;
	struct nightly_list *list;
};

static int add_item(struct expansion *x, const struct plan_kernel *k, const struct candidate *c,
		    unsigned scenario, size_t rig, struct err *e)
{
	const struct plan *p = x->plan;
	unsigned trials = p->trials ? p->trials : x->scenarios[scenario]->trials.valid;
	struct nightly_item *it;
	int r;

	if (x->list->n >= NIGHTLY_ITEMS_MAX)
		return err_set(e, ERR_CONFIG, E2BIG, "plan '%s' comes to more than %u runs",
			       p->name, NIGHTLY_ITEMS_MAX);
	x->list->items = xrealloc(x->list->items, x->list->n + 1, sizeof(*x->list->items));
	it = &x->list->items[x->list->n++];
	*it = (struct nightly_item){
		.name = xasprintf("%s|%s|%s|%s|%s", plan_kernel_text(k), c->kernel, k->append,
				  p->scenarios[scenario], x->bench.names[rig]),
		.entry = xstrdup(plan_kernel_text(k)),
		.kernel = xstrdup(c->kernel),
		.append = xstrdup(k->append),
		.scenario = xstrdup(p->scenarios[scenario]),
		.rig = xstrdup(x->bench.names[rig]),
		.left_out = c->left_out ? xstrdup(c->left_out) : NULL,
	};
	r = expect_duration(x->st, x->bench.rigs[rig]->name, x->scenarios[scenario]->name, trials,
			    &it->expected_s, e);
	if (r < 0 || it->left_out || !p->new_only || !x->st)
		return r;
	r = store_was_judged(x->st, it->kernel, it->append, x->bench.rigs[rig]->name,
			     x->scenarios[scenario]->name, &it->is_judged, e);
	if (it->is_judged)
		it->left_out = xstrdup("was judged on an earlier night");
	return r;
}

/* A folder's or series' builds of one arch, under every scenario, on every rig of that arch. */
static int expand_kernel(struct expansion *x, const struct plan_kernel *k, struct err *e)
{
	static const char *const arches[] = {"x86_64", "arm64"};
	int r = 0;

	for (size_t a = 0; r >= 0 && a < ARRAY_SIZE(arches); a++) {
		struct candidates found = {0};
		bool is_wanted = false;

		for (size_t rig = 0; rig < x->bench.n; rig++)
			is_wanted |= strcmp(x->bench.rigs[rig]->arch, arches[a]) == 0;
		if (is_wanted)
			r = find_kernels(x->ctx, k, arches[a], x->may_fetch, &found, e);
		for (size_t c = 0; c < found.n; c++)
			for (unsigned s = 0; s < x->plan->scenarios_count; s++)
				for (size_t rig = 0; rig < x->bench.n; rig++)
					if (r >= 0 &&
					    strcmp(x->bench.rigs[rig]->arch, arches[a]) == 0)
						r = add_item(x, k, &found.list[c], s, rig, e);
		candidates_release(&found);
	}
	return r;
}

int nightly_expand(const struct plan *p, const struct kernels_ctx *ctx, struct store *st,
		   bool may_fetch, struct nightly_list *ret, struct err *e)
{
	auto_nightly_list struct nightly_list list = {0};
	struct expansion x = {
		.plan = p,
		.ctx = ctx,
		.st = st,
		.may_fetch = may_fetch,
		.list = &list,
	};
	int r;

	x.scenarios = xcalloc(p->scenarios_count, sizeof(*x.scenarios));
	r = find_rigs(p, &x.bench, e);
	for (unsigned i = 0; r >= 0 && i < p->scenarios_count; i++)
		r = scenario_load(p->scenarios[i], &x.scenarios[i], e);
	for (unsigned i = 0; r >= 0 && i < p->kernels_count; i++)
		r = expand_kernel(&x, &p->kernels[i], e);
	for (unsigned i = 0; i < p->scenarios_count; i++)
		scenario_free(x.scenarios[i]);
	free(x.scenarios);
	bench_release(&x.bench);
	if (r < 0)
		return err_wrap(e, "plan '%s'", p->name);

	*ret = list;
	list = (struct nightly_list){0};
	return 0;
}
