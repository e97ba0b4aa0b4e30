/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core.c - the bisect's state: events in, posterior out. */
#include "core_priv.h"

#include <math.h>
#include <string.h>

#define FUTILE_AFTER                                                                 \
	4u /* times the least trials: from then on ends may be called the same early \
	    */
#define DELTA_BUDGET ((size_t)16 << 20) /* entries of struct graph's lists: 64 MiB */

static const char *const event_names[BISECT_EV_MAX] = {
	[BISECT_EV_TRIAL] = "trial",           [BISECT_EV_TOLD] = "told",
	[BISECT_EV_UNTESTABLE] = "untestable", [BISECT_EV_TESTABLE] = "testable",
	[BISECT_EV_BUILT] = "built",           [BISECT_EV_UNCACHED] = "uncached",
};

static const char *const state_names[BISECT_STATE_MAX] = {
	[BISECT_MEASURING_ENDS] = "measuring-ends",
	[BISECT_SEARCHING] = "searching",
	[BISECT_DONE] = "done",
	[BISECT_REFUSED] = "refused",
	[BISECT_EXHAUSTED] = "exhausted",
};

const char *bisect_event_name(enum bisect_event_kind kind)
{
	return kind < BISECT_EV_MAX ? event_names[kind] : "unknown";
}

bool bisect_event_parse(const char *name, enum bisect_event_kind *ret)
{
	for (unsigned i = 0; i < BISECT_EV_MAX; i++)
		if (strcmp(name, event_names[i]) == 0) {
			*ret = (enum bisect_event_kind)i;
			return true;
		}
	return false;
}

const char *bisect_state_name(enum bisect_state s)
{
	return s < BISECT_STATE_MAX ? state_names[s] : "unknown";
}

void bisect_cfg_default(struct bisect_cfg *ret)
{
	*ret = (struct bisect_cfg){
		.target = 0.99,
		.cost = {.build_cold_s = 900, .build_warm_s = 60, .boot_s = 10, .trial_s = 30},
		.uses_delays = true,
		.ends_min_trials = 5,
		.ends_max_trials = 100,
		.ends_confidence = 0.99,
		.known_over_good = -1,
		.known_over_bad = -1,
	};
}

/* ---- making one ---- */

static int check_range(const char *what, double v, double min, double max, struct err *e)
{
	if (v >= min && v <= max)
		return 0;
	return err_set(e, ERR_CONFIG, EINVAL, "bisect: %s is %g, must be from %g to %g", what, v,
		       min, max);
}

static int check_cfg(const struct bisect_cfg *cfg, struct err *e)
{
	const struct {
		const char *what;
		double value, min, max;
	} ranges[] = {
		{"target probability", cfg->target, 0.5, 0.9999},
		{"cold build time [s]", cfg->cost.build_cold_s, 0, 1e7},
		{"warm build time [s]", cfg->cost.build_warm_s, 0, 1e7},
		{"build time per commit [s]", cfg->cost.build_per_commit_s, 0, 1e7},
		{"boot time [s]", cfg->cost.boot_s, 0, 1e7},
		{"trial time [s]", cfg->cost.trial_s, 1e-3, 1e7},
		{"least trials of an end", cfg->ends_min_trials, 2, BISECT_TRIALS_MAX / 2},
		{"most trials of an end", cfg->ends_max_trials, cfg->ends_min_trials,
		 BISECT_TRIALS_MAX / 2},
		{"confidence that the ends differ", cfg->ends_confidence, 0.5, 0.999999},
		{"known failure rate of good commits", cfg->known_over_good, -1e300, 1},
		{"known failure rate of bad commits", cfg->known_over_bad, -1e300, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		int r = check_range(ranges[i].what, ranges[i].value, ranges[i].min, ranges[i].max,
				    e);

		if (r < 0)
			return r;
	}
	if ((cfg->known_over_good < 0) != (cfg->known_over_bad < 0))
		return err_set(e, ERR_CONFIG, EINVAL,
			       "bisect: only one of the two failure rates is known");
	if (cfg->known_over_good >= 0 && cfg->known_over_good >= cfg->known_over_bad)
		return err_set(e, ERR_CONFIG, EINVAL,
			       "bisect: good commits fail at a rate of %g, bad ones at %g: must be "
			       "more",
			       cfg->known_over_good, cfg->known_over_bad);
	return 0;
}

static char *name_of(const struct bisect_commit *commits, size_t i)
{
	return commits[i].name ? xstrdup(commits[i].name) : xasprintf("#%zu", i);
}

static int take_commits(struct bisect_core *b, const struct bisect_commit *commits, size_t n,
			struct err *e)
{
	double total = 0;
	size_t bad = 0;
	int r;

	r = graph_init(&b->g, commits, n, DELTA_BUDGET, &bad);
	if (r < 0) {
		auto_free char *name = name_of(commits, bad);

		return err_set(e, ERR_CONFIG, EINVAL,
			       "bisect: commit %zu (%s) has %u parents, of which each must come "
			       "before it and at most %u are possible",
			       bad, name, commits[bad].n_parents, BISECT_PARENTS_MAX);
	}
	if (b->g.count[n - 1] != n) {
		auto_free uint64_t *bits = xcalloc(graph_bits_words(&b->g), sizeof(*bits));
		auto_free char *name = NULL;

		graph_ancestor_bits(&b->g, (uint32_t)n - 1, bits);
		for (bad = 0; graph_bit(bits, (uint32_t)bad);)
			bad++;
		name = name_of(commits, bad);
		return err_set(e, ERR_CONFIG, EINVAL,
			       "bisect: commit %zu (%s) is no ancestor of the bad end", bad, name);
	}

	b->prior = xcalloc(n, sizeof(*b->prior));
	b->names = xcalloc(n, sizeof(*b->names));
	for (size_t i = 0; i < n; i++) {
		b->names[i] = name_of(commits, i);
		if (!(commits[i].weight > 0 && commits[i].weight < 1e100))
			return err_set(e, ERR_CONFIG, EINVAL,
				       "bisect: commit %zu (%s) has the weight %g, must be above 0",
				       i, b->names[i], commits[i].weight);
		total += commits[i].weight;
	}
	for (size_t i = 0; i < n; i++)
		b->prior[i] = commits[i].weight / total;
	return 0;
}

static void refresh(struct bisect_core *b);

int bisect_core_new(const struct bisect_cfg *cfg, const struct bisect_commit *commits, size_t n,
		    struct bisect_core **ret, struct err *e)
{
	auto_bisect_core struct bisect_core *b = NULL;
	int r;

	r = check_cfg(cfg, e);
	if (r < 0)
		return r;
	if (n == 0 || n > BISECT_COMMITS_MAX)
		return err_set(e, ERR_CONFIG, n ? E2BIG : EINVAL,
			       "bisect: %zu commits between the ends, must be from 1 to %u", n,
			       BISECT_COMMITS_MAX);

	b = xcalloc(1, sizeof(*b));
	b->cfg = *cfg;
	r = take_commits(b, commits, n, e);
	if (r < 0)
		return r;

	rates_init(&b->rates, cfg->known_over_good, cfg->known_over_bad);
	b->last_built = GRAPH_NONE;
	b->is_untestable = xcalloc(n, 1);
	b->is_cached = xcalloc(n, 1);
	b->set_of = xcalloc(n, sizeof(*b->set_of));
	b->distance = xcalloc(n, sizeof(*b->distance));
	b->p_untestable = xcalloc(n, sizeof(*b->p_untestable));
	b->set_p = xcalloc(n, sizeof(*b->set_p));
	b->class_of = xcalloc(n, sizeof(*b->class_of));
	b->post = xcalloc(n, sizeof(*b->post));
	b->p_bad = xcalloc(n, sizeof(*b->p_bad));
	b->cap_classes = 8;
	b->n_classes = 1;
	b->class_first = xcalloc(b->cap_classes, sizeof(*b->class_first));
	b->class_told = xcalloc(b->cap_classes, sizeof(*b->class_told));
	b->class_prior = xcalloc(b->cap_classes, sizeof(*b->class_prior));
	b->class_p = xcalloc(b->cap_classes, sizeof(*b->class_p));
	b->class_ev = xcalloc(b->cap_classes, sizeof(*b->class_ev));
	b->class_good = xcalloc(b->cap_classes * RATES_GRID, sizeof(*b->class_good));
	b->class_bad = xcalloc(b->cap_classes * RATES_GRID, sizeof(*b->class_bad));
	b->class_prior[0] = 1;
	core_update_outcomes(b);
	core_update_untestable(b);
	refresh(b);
	*ret = take(b);
	return 0;
}

void bisect_core_free(struct bisect_core *b)
{
	if (!b)
		return;
	for (size_t i = 0; b->names && i < b->g.n; i++)
		util_free(b->names[i]);
	for (size_t i = 0; i < b->n_tested; i++) {
		util_free(b->tested[i].bits);
		util_free(b->tested[i].boots);
	}
	util_free(b->names);
	util_free(b->prior);
	util_free(b->is_untestable);
	util_free(b->is_cached);
	util_free(b->set_of);
	util_free(b->distance);
	util_free(b->p_untestable);
	util_free(b->set_p);
	util_free(b->tested);
	util_free(b->class_of);
	util_free(b->class_first);
	util_free(b->class_good);
	util_free(b->class_bad);
	util_free(b->class_told);
	util_free(b->class_p);
	util_free(b->class_ev);
	util_free(b->class_prior);
	util_free(b->post);
	util_free(b->p_bad);
	graph_release(&b->g);
	util_free(b);
}

/* ---- events ---- */

size_t core_find_tested(const struct bisect_core *b, uint32_t commit)
{
	size_t i = 0;

	while (i < b->n_tested && b->tested[i].commit != commit)
		i++;
	return i;
}

bool core_makes_bad(const struct bisect_core *b, size_t class, const struct tested *t)
{
	return t->bits && graph_bit(t->bits, b->class_first[class]);
}

static size_t add_class(struct bisect_core *b, size_t like, uint32_t first)
{
	size_t to = b->n_classes;

	if (to == b->cap_classes) {
		size_t cap = 2 * b->cap_classes;

		b->class_first = xrealloc(b->class_first, cap, sizeof(*b->class_first));
		b->class_told = xrealloc(b->class_told, cap, sizeof(*b->class_told));
		b->class_prior = xrealloc(b->class_prior, cap, sizeof(*b->class_prior));
		b->class_p = xrealloc(b->class_p, cap, sizeof(*b->class_p));
		b->class_ev = xrealloc(b->class_ev, cap, sizeof(*b->class_ev));
		b->class_good = xrealloc(b->class_good, cap * RATES_GRID, sizeof(double));
		b->class_bad = xrealloc(b->class_bad, cap * RATES_GRID, sizeof(double));
		b->cap_classes = cap;
	}
	b->n_classes++;
	b->class_first[to] = first;
	b->class_told[to] = b->class_told[like];
	b->class_prior[to] = 0;
	memcpy(b->class_good + to * RATES_GRID, b->class_good + like * RATES_GRID,
	       RATES_GRID * sizeof(double));
	memcpy(b->class_bad + to * RATES_GRID, b->class_bad + like * RATES_GRID,
	       RATES_GRID * sizeof(double));
	return to;
}

static void update_sets(struct bisect_core *b);

/* Splits each class into the culprits that make the new tested commit bad and the rest. */
static void split_classes(struct bisect_core *b, const struct tested *t)
{
	size_t before = b->n_classes;
	auto_free size_t *twin = xcalloc(before, sizeof(*twin));

	for (uint32_t c = 0; c < b->g.n; c++) {
		size_t class = b->class_of[c];

		if (graph_bit(t->bits, c) == graph_bit(t->bits, b->class_first[class]))
			continue;
		if (!twin[class])
			twin[class] = add_class(b, class, c);
		b->class_of[c] = (uint32_t)twin[class];
	}
	if (b->n_classes == before)
		return;
	memset(b->class_prior, 0, b->n_classes * sizeof(*b->class_prior));
	for (uint32_t c = 0; c < b->g.n; c++)
		b->class_prior[b->class_of[c]] += b->prior[c];
}

static struct tested *get_tested(struct bisect_core *b, uint32_t commit)
{
	size_t i = core_find_tested(b, commit);
	struct tested *t;

	if (i < b->n_tested)
		return &b->tested[i];
	if (b->n_tested == b->cap_tested) {
		b->cap_tested = b->cap_tested ? 2 * b->cap_tested : 16;
		b->tested = xrealloc(b->tested, b->cap_tested, sizeof(*b->tested));
	}
	t = &b->tested[b->n_tested++];
	memset(t, 0, sizeof(*t));
	t->commit = commit;
	if (commit != BISECT_GOOD_END) {
		t->bits = xcalloc(graph_bits_words(&b->g), sizeof(*t->bits));
		graph_ancestor_bits(&b->g, commit, t->bits);
		split_classes(b, t);
		if (b->is_untestable[commit])
			update_sets(b);
		core_update_untestable(b);
	}
	return t;
}

/* Adds sign * likelihoods of the tested commit to every class. */
static void add_to_classes(struct bisect_core *b, const struct tested *t, double sign)
{
	size_t n = (size_t)b->rates.n_f * RATES_RHO;

	for (size_t class = 0; class < b->n_classes; class ++) {
		bool is_bad = core_makes_bad(b, class, t);
		double *to = (is_bad ? b->class_bad : b->class_good) + class * RATES_GRID;
		const double *from = t->log_lik[is_bad ? SIDE_BAD : SIDE_GOOD];

		for (size_t i = 0; i < n; i++)
			to[i] += sign * from[i];
	}
}

static struct soft trial_soft(const struct bisect_core *b, const struct boot *boot, unsigned i)
{
	if (b->delay.is_usable && boot->trial[i].is_measured) {
		struct delay_obs o = {.log_ms = boot->trial[i].log_ms,
				      .is_over = boot->trial[i].is_over,
				      .is_censored = boot->trial[i].is_censored};

		return delay_soft(&b->delay, &o);
	}
	return boot->trial[i].is_over ? (struct soft){.quiet = 0, .stall = 1}
				      : (struct soft){.quiet = 1, .stall = 0};
}

static void boot_lik(const struct bisect_core *b, const struct boot *boot, enum side side,
		     double ret[RATES_GRID])
{
	struct soft trials[BISECT_TRIALS_PER_BOOT_MAX];

	for (unsigned i = 0; i < boot->n; i++)
		trials[i] = trial_soft(b, boot, i);
	rates_boot(&b->rates, side, trials, boot->n, ret);
}

/* sign * likelihoods of a boot into the commit's own and from there into the classes'. */
static void add_boot(struct bisect_core *b, struct tested *t, const struct boot *boot, double sign)
{
	size_t n = (size_t)b->rates.n_f * RATES_RHO;
	struct tested change = {.bits = t->bits};

	for (unsigned side = 0; side < 2; side++) {
		boot_lik(b, boot, (enum side)side, change.log_lik[side]);
		for (size_t i = 0; i < n; i++)
			t->log_lik[side][i] += sign * change.log_lik[side][i];
	}
	add_to_classes(b, &change, sign);
}

/* Everything anew from the trials, after the meaning of a delay has changed. */
static void rebuild(struct bisect_core *b)
{
	memset(b->class_good, 0, b->n_classes * RATES_GRID * sizeof(double));
	memset(b->class_bad, 0, b->n_classes * RATES_GRID * sizeof(double));
	for (size_t i = 0; i < b->n_tested; i++) {
		struct tested *t = &b->tested[i];

		memset(t->log_lik, 0, sizeof(t->log_lik));
		for (unsigned k = 0; k < t->n_boots; k++)
			add_boot(b, t, &t->boots[k], 1);
	}
}

static bool is_end(const struct bisect_core *b, uint32_t commit)
{
	return commit == BISECT_GOOD_END || commit == b->g.n - 1;
}

/* The meaning of a delay is taken from the ends alone. */
static void fit_delays(struct bisect_core *b)
{
	auto_free struct delay_obs *obs = xcalloc(b->used.trials, sizeof(*obs));
	size_t n = 0;

	for (size_t i = 0; i < b->n_tested; i++) {
		const struct tested *t = &b->tested[i];

		if (!is_end(b, t->commit))
			continue;
		for (unsigned k = 0; k < t->n_boots; k++)
			for (unsigned j = 0; j < t->boots[k].n; j++)
				if (t->boots[k].trial[j].is_measured)
					obs[n++] = (struct delay_obs){
						t->boots[k].trial[j].log_ms,
						t->boots[k].trial[j].is_over,
						t->boots[k].trial[j].is_censored};
	}
	delay_fit(obs, n, &b->delay);
	core_update_outcomes(b);
}

static struct boot *get_boot(struct bisect_core *b, struct tested *t, uint32_t id)
{
	for (unsigned k = 0; k < t->n_boots; k++)
		if (t->boots[k].id == id)
			return &t->boots[k];
	if (t->n_boots == t->cap_boots) {
		t->cap_boots = t->cap_boots ? 2 * t->cap_boots : 4;
		t->boots = xrealloc(t->boots, t->cap_boots, sizeof(*t->boots));
	}
	memset(&t->boots[t->n_boots], 0, sizeof(*t->boots));
	t->boots[t->n_boots].id = id;
	b->used.boots++;
	return &t->boots[t->n_boots++];
}

static void take_trial(struct bisect_core *b, const struct bisect_event *ev)
{
	struct tested *t = get_tested(b, ev->commit);
	struct boot *boot = get_boot(b, t, ev->boot);
	bool refits = b->cfg.uses_delays && is_end(b, ev->commit) && ev->delay_ms >= 0;

	if (boot->n && !refits)
		add_boot(b, t, boot, -1);
	/* a delay below a microsecond is as good as none: its logarithm must stay finite */
	boot->trial[boot->n].log_ms = log(fmax(ev->delay_ms, 1e-3));
	boot->trial[boot->n].is_measured = ev->delay_ms >= 0;
	boot->trial[boot->n].is_over = ev->is_over;
	boot->trial[boot->n].is_censored = ev->is_censored;
	boot->n++;
	t->trials++;
	t->over += ev->is_over;
	b->used.trials++;
	if (refits) {
		fit_delays(b);
		rebuild(b);
	} else {
		add_boot(b, t, boot, 1);
	}
}

static void take_told(struct bisect_core *b, const struct bisect_event *ev)
{
	struct tested *t = get_tested(b, ev->commit);
	double odds = log(ev->certainty / (1 - ev->certainty)) * (ev->is_bad ? 1 : -1);

	t->told += odds;
	t->is_told = true;
	for (size_t class = 0; class < b->n_classes; class ++)
		if (core_makes_bad(b, class, t))
			b->class_told[class] += odds;
}

static int check_event(const struct bisect_core *b, const struct bisect_event *ev, struct err *e)
{
	size_t i = core_find_tested(b, ev->commit);

	if (ev->kind >= BISECT_EV_MAX)
		return err_set(e, ERR_CONFIG, EINVAL, "bisect: no event %d", (int)ev->kind);
	if (ev->commit != BISECT_GOOD_END && ev->commit >= b->g.n)
		return err_set(e, ERR_CONFIG, EINVAL, "bisect: %s of commit %u, there are only %zu",
			       bisect_event_name(ev->kind), ev->commit, b->g.n);
	if (ev->kind != BISECT_EV_TRIAL && ev->kind != BISECT_EV_TOLD)
		return 0;
	if (i == b->n_tested && b->n_tested == BISECT_TESTED_MAX)
		return err_set(e, ERR_CONFIG, ENOSPC, "bisect: %u commits are tested already",
			       BISECT_TESTED_MAX);
	if (ev->kind == BISECT_EV_TOLD) {
		if (is_end(b, ev->commit))
			return err_set(e, ERR_CONFIG, EINVAL,
				       "bisect: %s is an end, it is %s by definition",
				       bisect_core_name(b, ev->commit),
				       ev->commit == BISECT_GOOD_END ? "good" : "bad");
		return check_range("certainty of a told answer", ev->certainty, 0.5, 0.999999, e);
	}

	if (!(ev->delay_ms < 1e12))
		return err_set(e, ERR_CONFIG, EINVAL, "bisect: a delay of %g ms on %s",
			       ev->delay_ms, bisect_core_name(b, ev->commit));
	if (b->used.trials == BISECT_TRIALS_MAX)
		return err_set(e, ERR_CONFIG, ENOSPC, "bisect: %u trials are taken already",
			       BISECT_TRIALS_MAX);
	for (unsigned k = 0; i < b->n_tested && k < b->tested[i].n_boots; k++)
		if (b->tested[i].boots[k].id == ev->boot &&
		    b->tested[i].boots[k].n == BISECT_TRIALS_PER_BOOT_MAX)
			return err_set(e, ERR_CONFIG, ENOSPC,
				       "bisect: boot %u of %s has %u trials already", ev->boot,
				       bisect_core_name(b, ev->commit), BISECT_TRIALS_PER_BOOT_MAX);
	return 0;
}

/*
 * Two culprits differ for nobody if the same testable commits descend from both. Each testable
 * commit gets a number (splitmix64's finish of its index), each culprit the sum over its testable
 * descendants: equal sums are equal sets but for one in 2^64.
 */
static void update_sets(struct bisect_core *b)
{
	size_t n = b->g.n, cap = 1;
	auto_free uint64_t *value = xcalloc(n, sizeof(*value));
	auto_free uint64_t *sum = xcalloc(n, sizeof(*sum));
	auto_free uint32_t *table = NULL; /* one more than the first commit of a set; 0 = free */

	for (size_t c = 0; c < n; c++) {
		uint64_t z = (c + 1) * 0x9E3779B97F4A7C15u;

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
		/* what has trials tells apart even if it cannot be tested again */
		if (!b->is_untestable[c] || core_find_tested(b, (uint32_t)c) < b->n_tested)
			value[c] = z ^ (z >> 31);
	}
	graph_sum_descendants(&b->g, value, sum);

	while (cap < 2 * n)
		cap *= 2;
	table = xcalloc(cap, sizeof(*table));
	b->n_sets = 0;
	for (uint32_t c = 0; c < n; c++) {
		size_t at = sum[c] & (cap - 1);

		while (table[at] && sum[table[at] - 1] != sum[c])
			at = (at + 1) & (cap - 1);
		if (table[at]) {
			b->set_of[c] = b->set_of[table[at] - 1];
		} else {
			table[at] = c + 1;
			b->set_of[c] = (uint32_t)b->n_sets++;
		}
	}
}

static void set_untestable(struct bisect_core *b, uint32_t commit, bool is_untestable)
{
	if (b->is_untestable[commit] == is_untestable)
		return;
	b->is_untestable[commit] = is_untestable;
	b->n_untestable += is_untestable ? 1 : (size_t)-1;
	update_sets(b);
	core_update_untestable(b);
}

int bisect_core_apply(struct bisect_core *b, const struct bisect_event *ev, struct err *e)
{
	bool is_good_end = ev->commit == BISECT_GOOD_END;
	int r;

	r = check_event(b, ev, e);
	if (r < 0)
		return r;

	switch (ev->kind) {
	case BISECT_EV_TRIAL:
		take_trial(b, ev);
		refresh(b);
		break;
	case BISECT_EV_TOLD:
		take_told(b, ev);
		refresh(b);
		break;
	case BISECT_EV_UNTESTABLE:
		if (is_good_end)
			return err_set(e, ERR_CONFIG, EINVAL, "bisect: the good end is untestable");
		set_untestable(b, ev->commit, true);
		break;
	case BISECT_EV_TESTABLE:
		if (!is_good_end)
			set_untestable(b, ev->commit, false);
		break;
	case BISECT_EV_BUILT:
		b->used.builds++;
		b->last_built = ev->commit;
		if (is_good_end)
			b->is_good_end_cached = true;
		else
			b->is_cached[ev->commit] = 1;
		core_update_distances(b);
		break;
	case BISECT_EV_UNCACHED:
		if (is_good_end)
			b->is_good_end_cached = false;
		else
			b->is_cached[ev->commit] = 0;
		break;
	case BISECT_EV_MAX:
		break;
	}
	return 0;
}

/* ---- posterior ---- */

/*
 * Two explanations of all trials, as likely as each other before: there is a first bad commit,
 * whose evidence is log_evidence, or all commits fail alike as far as this failure goes.
 */
static double ends_differ(const struct bisect_core *b, double log_evidence)
{
	static const double nothing[RATES_GRID];
	double all[RATES_GRID] = {0};
	struct rates_evidence prior;

	if (b->rates.is_known)
		return 1;
	for (size_t i = 0; i < b->n_tested; i++)
		for (size_t k = 0; k < RATES_GRID; k++)
			all[k] += b->tested[i].log_lik[SIDE_GOOD][k];
	rates_integrate(&b->rates, nothing, nothing, &prior);
	return 1 / (1 + exp(rates_same(&b->rates, all) - (log_evidence - prior.log_evidence)));
}

static void refresh(struct bisect_core *b)
{
	struct rates_evidence *ev = b->class_ev;
	double *p = b->class_p;
	double max = -INFINITY, max_untold = -INFINITY, total = 0, untold = 0;

	for (size_t k = 0; k < b->n_classes; k++) {
		rates_integrate(&b->rates, b->class_good + k * RATES_GRID,
				b->class_bad + k * RATES_GRID, &ev[k]);
		p[k] = ev[k].log_evidence + b->class_told[k] + log(b->class_prior[k]);
		max = fmax(max, p[k]);
		max_untold = fmax(max_untold, p[k] - b->class_told[k]);
	}
	for (size_t k = 0; k < b->n_classes; k++) {
		untold += exp(p[k] - b->class_told[k] - max_untold);
		p[k] = exp(p[k] - max);
		total += p[k];
	}

	memset(b->mean, 0, sizeof(b->mean));
	memset(b->mean_rho, 0, sizeof(b->mean_rho));
	memset(b->marginal, 0, sizeof(b->marginal));
	for (size_t k = 0; k < b->n_classes; k++) {
		p[k] /= total;
		for (unsigned side = 0; side < 2; side++) {
			b->mean[side] += p[k] * ev[k].mean[side];
			b->mean_rho[side] += p[k] * ev[k].mean_rho[side];
			for (unsigned i = 0; i < b->rates.n_f; i++)
				b->marginal[side][i] += p[k] * ev[k].marginal[side][i];
		}
	}
	for (size_t c = 0; c < b->g.n; c++)
		b->post[c] = b->prior[c] * (p[b->class_of[c]] / b->class_prior[b->class_of[c]]);
	graph_sum_ancestors(&b->g, b->post, b->p_bad);
	b->p_ends_differ = ends_differ(b, max_untold + log(untold));
}

double bisect_core_probability(const struct bisect_core *b, uint32_t commit)
{
	return commit < b->g.n ? b->post[commit] : 0;
}

double bisect_core_p_bad(const struct bisect_core *b, uint32_t commit)
{
	return commit < b->g.n ? fmin(b->p_bad[commit], 1) : 0;
}

static int compare_candidates(const void *x, const void *y)
{
	const struct bisect_candidate *a = x, *c = y;

	if (a->probability < c->probability || a->probability > c->probability)
		return a->probability > c->probability ? -1 : 1;
	return a->commit < c->commit ? -1 : a->commit > c->commit;
}

size_t bisect_core_top(const struct bisect_core *b, struct bisect_candidate *ret, size_t max)
{
	auto_free struct bisect_candidate *all = xcalloc(b->g.n, sizeof(*all));
	size_t n = max < b->g.n ? max : b->g.n;

	for (uint32_t c = 0; c < b->g.n; c++)
		all[c] = (struct bisect_candidate){c, b->post[c]};
	qsort(all, b->g.n, sizeof(*all), compare_candidates);
	memcpy(ret, all, n * sizeof(*ret));
	return n;
}

/* ---- the answer ---- */

/* The likeliest set and its probability. Without untestable commits sets are single commits. */
static double best_answer(const struct bisect_core *b, uint32_t *ret_best)
{
	const double *p = b->post;
	uint32_t best = 0;
	size_t n = b->g.n;

	if (b->n_untestable) {
		n = b->n_sets;
		memset(b->set_p, 0, n * sizeof(*b->set_p));
		for (size_t c = 0; c < b->g.n; c++)
			b->set_p[b->set_of[c]] += b->post[c];
		p = b->set_p;
	}
	for (uint32_t i = 1; i < n; i++)
		if (p[i] > p[best])
			best = i;
	*ret_best = best;
	return p[best];
}

/* True if testing something could still tell the candidates apart. */
static bool can_go_on(const struct bisect_core *b)
{
	for (size_t c = 0; c + 1 < b->g.n; c++)
		if (!b->is_untestable[c] && b->p_bad[c] > 1e-12 && b->p_bad[c] < 1 - 1e-12)
			return true;
	return false;
}

/*
 * All trials of the search count in the comparison, so it may begin with half of the evidence (the
 * root of the odds); an answer needs all of it.
 */
double core_ends_enough(const struct bisect_core *b, double p_answer)
{
	double odds = b->cfg.ends_confidence / (1 - b->cfg.ends_confidence);

	return p_answer >= b->cfg.target ? b->cfg.ends_confidence : sqrt(odds) / (1 + sqrt(odds));
}

enum bisect_state core_state(const struct bisect_core *b, double *ret_p_answer)
{
	size_t good = core_find_tested(b, BISECT_GOOD_END);
	size_t bad = core_find_tested(b, (uint32_t)b->g.n - 1);
	unsigned n_good = good < b->n_tested ? b->tested[good].trials : 0;
	unsigned n_bad = bad < b->n_tested ? b->tested[bad].trials : 0;
	bool is_measured = n_good >= b->cfg.ends_min_trials && n_bad >= b->cfg.ends_min_trials;
	uint32_t best;
	double p = best_answer(b, &best);

	if (ret_p_answer)
		*ret_p_answer = p;
	if (!b->rates.is_known) {
		double enough = core_ends_enough(b, p);

		if (n_good >= FUTILE_AFTER * b->cfg.ends_min_trials &&
		    n_bad >= FUTILE_AFTER * b->cfg.ends_min_trials &&
		    b->p_ends_differ < (1 - b->cfg.ends_confidence) / 10)
			return BISECT_REFUSED;
		if (!is_measured || b->p_ends_differ < enough)
			return n_good >= b->cfg.ends_max_trials && n_bad >= b->cfg.ends_max_trials
				       ? BISECT_REFUSED
				       : BISECT_MEASURING_ENDS;
	}
	if (p >= b->cfg.target)
		return BISECT_DONE;
	if ((b->cfg.max_trials && b->used.trials >= b->cfg.max_trials) || !can_go_on(b))
		return BISECT_EXHAUSTED;
	return BISECT_SEARCHING;
}

size_t bisect_core_answer(const struct bisect_core *b, uint32_t **ret, double *ret_probability)
{
	auto_free uint8_t *is_taken = xcalloc(b->g.n, 1); /* by number of the set */
	uint32_t best, *answer;
	size_t n = 0;
	double p = best_answer(b, &best);

	is_taken[best] = 1;
	if (core_state(b, NULL) == BISECT_EXHAUSTED) {
		auto_free struct bisect_candidate *sets = xcalloc(b->g.n, sizeof(*sets));

		for (uint32_t c = 0; c < b->g.n; c++) {
			sets[c].commit = c; /* the set's number */
			sets[b->n_untestable ? b->set_of[c] : c].probability += b->post[c];
		}
		qsort(sets, b->g.n, sizeof(*sets), compare_candidates);
		p = 0;
		for (size_t i = 0; i < b->g.n && p < b->cfg.target; i++) {
			is_taken[sets[i].commit] = 1;
			p += sets[i].probability;
		}
	}
	answer = xcalloc(b->g.n, sizeof(*answer));
	for (uint32_t c = 0; c < b->g.n; c++)
		if (is_taken[b->n_untestable ? b->set_of[c] : c])
			answer[n++] = c;
	*ret = answer;
	*ret_probability = fmin(p, 1);
	return n;
}

/* ---- what is known ---- */

size_t bisect_core_n_tested(const struct bisect_core *b)
{
	return b->n_tested;
}

static int compare_doubles(const void *x, const void *y)
{
	double a = *(const double *)x, c = *(const double *)y;

	return (a > c) - (a < c);
}

static double median_ms(const struct tested *t)
{
	auto_free double *log_ms = xcalloc(t->trials + 1, sizeof(*log_ms));
	size_t n = 0;

	for (unsigned k = 0; k < t->n_boots; k++)
		for (unsigned j = 0; j < t->boots[k].n; j++)
			if (t->boots[k].trial[j].is_measured)
				log_ms[n++] = t->boots[k].trial[j].log_ms;
	if (!n)
		return -1;
	qsort(log_ms, n, sizeof(*log_ms), compare_doubles);
	return (exp(log_ms[(n - 1) / 2]) + exp(log_ms[n / 2])) / 2;
}

void bisect_core_tested(const struct bisect_core *b, size_t i, struct bisect_tested *ret)
{
	const struct tested *t = &b->tested[i];

	*ret = (struct bisect_tested){
		.commit = t->commit,
		.boots = t->n_boots,
		.trials = t->trials,
		.over = t->over,
		.p_bad = bisect_core_p_bad(b, t->commit),
		.median_ms = median_ms(t),
		.is_told = t->is_told,
		.is_untestable = bisect_core_is_untestable(b, t->commit),
	};
}

bool bisect_core_is_untestable(const struct bisect_core *b, uint32_t commit)
{
	return commit < b->g.n && b->is_untestable[commit];
}

size_t bisect_core_n_commits(const struct bisect_core *b)
{
	return b->g.n;
}

const char *bisect_core_name(const struct bisect_core *b, uint32_t commit)
{
	return commit < b->g.n ? b->names[commit] : "good end";
}

static void interval(const struct bisect_core *b, enum side side, double *ret_low, double *ret_high)
{
	double sum = 0;
	bool has_low = false;

	*ret_low = *ret_high = b->rates.f[side][b->rates.n_f - 1];
	for (unsigned i = 0; i < b->rates.n_f; i++) {
		sum += b->marginal[side][i];
		if (!has_low && sum >= 0.025) {
			*ret_low = b->rates.f[side][i];
			has_low = true;
		}
		if (sum >= 0.975) {
			*ret_high = b->rates.f[side][i];
			break;
		}
	}
}

void bisect_core_rates(const struct bisect_core *b, struct bisect_rates *ret)
{
	*ret = (struct bisect_rates){
		.over_good = b->mean[SIDE_GOOD],
		.over_bad = b->mean[SIDE_BAD],
		.boot_correlation_good = b->mean_rho[SIDE_GOOD],
		.boot_correlation_bad = b->mean_rho[SIDE_BAD],
		.p_ends_differ = b->p_ends_differ,
	};
	interval(b, SIDE_GOOD, &ret->over_good_low, &ret->over_good_high);
	interval(b, SIDE_BAD, &ret->over_bad_low, &ret->over_bad_high);
}

void bisect_core_used(const struct bisect_core *b, struct bisect_used *ret)
{
	*ret = b->used;
}
