/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nightly_expand.c - from a plan to its runs. */
#include "base/strbuf.h"
#include "nightly_kernels.h"
#include "rig/names.h"
#include "rig/rig.h"
#include "trial/scenario.h"

#include <string.h>

#define CLASS_PREFIX "class:"
#define TAG_PREFIX   "tag:"
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

static bool has_tag(const struct rig_cfg *cfg, const char *tag)
{
	for (unsigned i = 0; i < cfg->tags_count; i++)
		if (strcmp(cfg->tags[i], tag) == 0)
			return true;
	return false;
}

static bool is_of_class(const struct rig_cfg *cfg, const char *name)
{
	return strcmp(cfg->rig_class, name) == 0;
}

/* is_wanted NULL = it is. 1 = it is on the bench, 0 = it is not wanted. */
static int bench_add(struct bench *b, const char *name,
		     bool (*is_wanted)(const struct rig_cfg *cfg, const char *word),
		     const char *word, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	int r = rig_cfg_load(name, &cfg, e);

	if (r < 0)
		return r;
	if (is_wanted && !is_wanted(cfg, word))
		return 0;
	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->rigs[i]->name, cfg->name) == 0)
			return 1;
	b->rigs = xrealloc(b->rigs, b->n + 1, sizeof(*b->rigs));
	b->names = xrealloc(b->names, b->n + 1, sizeof(*b->names));
	b->names[b->n] = xstrdup(name);
	b->rigs[b->n++] = take(cfg);
	return 1;
}

/* Each rig of this host that has the word; that there is none is a mistake in the plan. */
static int bench_add_each(struct bench *b, const char *what,
			  bool (*is_wanted)(const struct rig_cfg *cfg, const char *word),
			  const char *word, struct err *e)
{
	auto_name_list struct name_list list = {0};
	bool is_any = false;
	int r = names_list(&names_of_rigs, &list, e);

	for (size_t i = 0; r >= 0 && i < list.n; i++) {
		r = bench_add(b, list.names[i], is_wanted, word, e);
		is_any |= r > 0;
	}
	if (r >= 0 && !is_any)
		return err_set(e, ERR_CONFIG, ENOENT, "rigs: there is no rig of %s '%s'", what,
			       word);
	return r;
}

static int find_rigs(const struct plan *p, struct bench *ret, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < p->rigs_count; i++) {
		const char *name = p->rigs[i];

		if (strncmp(name, CLASS_PREFIX, strlen(CLASS_PREFIX)) == 0)
			r = bench_add_each(ret, "class", is_of_class, name + strlen(CLASS_PREFIX),
					   e);
		else if (strncmp(name, TAG_PREFIX, strlen(TAG_PREFIX)) == 0)
			r = bench_add_each(ret, "tag", has_tag, name + strlen(TAG_PREFIX), e);
		else
			r = bench_add(ret, name, NULL, NULL, e);
	}
	return r < 0 ? r : 0;
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
	enum nightly_look look;
	struct scenario **scenarios; /* owned, one for each of the plan's */
	struct bench bench;
	struct nightly_list *list;
};

static int add_item(struct expansion *x, const struct plan_kernel *k, const struct candidate *c,
		    unsigned scenario, size_t rig, struct err *e)
{
	const struct plan *p = x->plan;
	const struct scenario *sc = x->scenarios[scenario];
	const bool is_baseline = plan_is_baseline(p, c->kernel, k->append);
	unsigned trials = p->trials     ? p->trials
			  : is_baseline ? scenario_baseline_trials(sc)
					: sc->trials.valid;
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
		.priority = k->priority,
		.left_out = c->left_out ? xstrdup(c->left_out) : NULL,
		.is_settling = c->is_settling,
		.is_dropped = k->folder != NULL,
	};
	r = expect_duration(x->st, x->bench.rigs[rig]->name, sc->name, trials, &it->expected_s, e);
	if (r < 0 || it->left_out || !k->new_only || !x->st)
		return r;
	r = store_was_judged(x->st, it->kernel, it->append, x->bench.rigs[rig]->name, sc->name,
			     &it->is_judged, e);
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
			r = find_kernels(x->plan, k, x->ctx, arches[a], x->look, &found, e);
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
		   enum nightly_look look, struct nightly_list *ret, struct err *e)
{
	auto_nightly_list struct nightly_list list = {0};
	struct expansion x = {
		.plan = p,
		.ctx = ctx,
		.st = st,
		.look = look,
		.list = &list,
	};
	int r;

	x.scenarios = xcalloc(p->scenarios_count, sizeof(*x.scenarios));
	r = find_rigs(p, &x.bench, e);
	for (unsigned i = 0; r >= 0 && i < p->scenarios_count; i++) {
		r = scenario_load(p->scenarios[i], &x.scenarios[i], e);
		if (r >= 0 && scenario_needs_baseline(x.scenarios[i]) && !plan_names_baseline(p))
			r = err_set(e, ERR_CONFIG, EINVAL,
				    "scenario '%s' limits shares of a baseline's numbers: the plan "
				    "must name that build (baseline: BUILD)",
				    x.scenarios[i]->name);
	}
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
