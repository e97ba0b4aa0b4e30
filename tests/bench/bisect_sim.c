/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bisect_sim.c - simulated bisects for tests/bench/bisect: the decision core beside `git bisect
 * run` with repeats, on seeded histories. Prints one line a bisect, tab-separated, for the script.
 *
 *   bisect_sim --seed N --first I --histories M [--max-commits N] [--ends-min N]
 *              [--ends-percent P]
 *   bisect_sim --git-walk < DESCRIPTION    what the simulated `git bisect` tests, step by step
 *   bisect_sim --pick-time N               milliseconds to pick the next of N commits
 */
#include "../../controller/bisect/core_priv.h"
#include "base/parse.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define N_MIN      64u
#define TRIALS_CAP 3000u

/* ---- histories ---- */

struct history {
	size_t n, cap;
	struct bisect_commit *commits;
	uint32_t (*parents)[2];
};

static uint32_t add_commit(struct history *h, int64_t one, int64_t other)
{
	uint32_t c = (uint32_t)h->n++;
	unsigned k = 0;

	if (c >= h->cap)
		abort();
	if (one >= 0)
		h->parents[c][k++] = (uint32_t)one;
	if (other >= 0 && other != one)
		h->parents[c][k++] = (uint32_t)other;
	h->commits[c].n_parents = k;
	h->commits[c].weight = 1;
	return c;
}

/* 1, 2, …; mean as given. */
static size_t draw_length(struct rng *r, double mean)
{
	return 1 + (size_t)(log1p(-rng_unit(r)) / log1p(-1 / fmax(mean, 1.01)));
}

/*
 * A branch of about `length` commits on top of `from` (-1: it starts before the good end); with
 * depth left, parts of it are branches that are merged, as subsystem trees are.
 */
static int64_t grow(struct rng *r, struct history *h, size_t end, int64_t from, size_t length,
		    unsigned depth)
{
	int64_t at = from;
	int64_t seen[16] = {from};
	unsigned n_seen = 1;

	for (size_t i = 0; i < length && h->n < end;) {
		if (depth && h->n + 2 < end && rng_unit(r) < 0.3) {
			/* forks where this branch stood a while ago, or before the good end */
			int64_t fork = rng_unit(r) < 0.1 ? -1 : seen[rng_below(r, n_seen)];
			size_t before = h->n;
			size_t part = draw_length(r, depth > 1 ? 40 : 8);
			int64_t side = grow(r, h, end - 1, fork, part, depth - 1);

			at = side == at ? at : (int64_t)add_commit(h, at, side);
			i += h->n - before;
		} else {
			at = add_commit(h, at, -1);
			i++;
		}
		if (n_seen < ARRAY_SIZE(seen))
			seen[n_seen++] = at;
		else
			seen[rng_below(r, n_seen)] = at;
	}
	return at;
}

static void history_init(struct history *h, size_t cap)
{
	h->n = 0;
	h->cap = cap;
	h->commits = xcalloc(cap, sizeof(*h->commits));
	h->parents = xcalloc(cap, sizeof(*h->parents));
	for (size_t c = 0; c < cap; c++)
		h->commits[c].parents = h->parents[c];
}

static void history_release(struct history *h)
{
	free(h->commits);
	free(h->parents);
}

static void make_history(struct rng *r, size_t n, bool has_merges, struct history *h)
{
	history_init(h, n + 4);
	if (!has_merges)
		for (size_t c = 0; c < n; c++)
			add_commit(h, (int64_t)c - 1, -1);
	else
		grow(r, h, n, -1, SIZE_MAX, 3);
}

/* ---- what kernels do ---- */

struct world {
	struct history h;
	struct graph g;
	uint8_t *is_unbuildable;
	uint64_t *bad; /* bits of the bad commits */
	uint32_t culprit;
	double f[2]; /* rate of stalls of good, bad commits */
	double rho;
	bool has_delays;
	double mu[2], sigma[2], limit; /* of log(ms) */
	double over[2];                /* rate of failing trials that follows */
	double unbuildable;            /* share */
	bool has_merges;
};

static double draw_normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

/* Marsaglia and Tsang 2000; below shape 1 by a power of a uniform number. */
static double draw_gamma(struct rng *r, double shape)
{
	double boost = 1, d, c;

	if (shape < 1) {
		boost = pow(1 - rng_unit(r), 1 / shape);
		shape += 1;
	}
	d = shape - 1.0 / 3;
	c = 1 / sqrt(9 * d);
	for (;;) {
		double x = draw_normal(r), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(1 - rng_unit(r)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v * boost;
	}
}

static double boot_rate(const struct world *w, struct rng *r, bool is_bad)
{
	double f = w->f[is_bad], s, a, b;

	if (w->rho <= 0 || f <= 0 || f >= 1)
		return f;
	s = 1 / w->rho - 1;
	a = draw_gamma(r, f * s);
	b = draw_gamma(r, (1 - f) * s);
	return a + b > 0 ? a / (a + b) : f;
}

/* One trial in a boot with that rate. */
static void draw_trial(const struct world *w, struct rng *r, double rate, struct bisect_event *ret)
{
	bool is_stall = rng_unit(r) < rate;
	double log_ms;

	ret->is_over = is_stall;
	ret->delay_ms = -1;
	if (!w->has_delays)
		return;
	log_ms = w->mu[is_stall] + w->sigma[is_stall] * draw_normal(r);
	ret->is_over = log_ms > w->limit;
	ret->delay_ms = exp(log_ms);
}

static bool is_bad(const struct world *w, uint32_t commit)
{
	return commit != BISECT_GOOD_END && graph_bit(w->bad, commit);
}

static void make_world(uint64_t seed, uint64_t number, size_t n_max, struct world *w)
{
	struct rng r;
	size_t n, bad, broken = 0;

	rng_init(&r, seed * 0x9E3779B97F4A7C15u ^ (number + 1) * 0xD1B54A32D192ED03u);
	memset(w, 0, sizeof(*w));
	n = (size_t)(N_MIN * pow((double)n_max / N_MIN, rng_unit(&r)) + 0.5);
	w->has_merges = number % 2;
	w->has_delays = number / 2 % 2;
	make_history(&r, n, w->has_merges, &w->h);
	n = w->h.n;
	if (graph_init(&w->g, w->h.commits, n, SIZE_MAX, &bad) < 0 || w->g.count[n - 1] != n) {
		(void)fprintf(stderr, "bisect_sim: history %llu is not whole\n",
			      (unsigned long long)number);
		exit(1);
	}
	w->culprit = (uint32_t)rng_below(&r, n);
	w->f[0] = 0.2 * rng_unit(&r);
	w->f[1] = 1 - 0.6 * rng_unit(&r);
	/* half of the histories have boots that differ */
	w->rho = rng_unit(&r) < 0.5 ? 0 : 0.9 * rng_unit(&r);
	for (unsigned k = 0; k < 2; k++)
		w->sigma[k] = 0.2 + 0.5 * rng_unit(&r);
	w->mu[0] = log(4);
	w->mu[1] = w->mu[0] + (2 + 3 * rng_unit(&r)) * (w->sigma[0] + w->sigma[1]) / 2;
	w->limit = (w->mu[0] * w->sigma[1] + w->mu[1] * w->sigma[0]) / (w->sigma[0] + w->sigma[1]);
	for (unsigned k = 0; k < 2; k++) {
		double miss[2] = {0, 1};

		for (unsigned i = 0; i < 2 && w->has_delays; i++)
			miss[i] = 0.5 * erfc((w->limit - w->mu[i]) / w->sigma[i] / M_SQRT2);
		w->over[k] = w->f[k] * miss[1] + (1 - w->f[k]) * miss[0];
	}

	w->is_unbuildable = xcalloc(n, 1);
	w->unbuildable = rng_unit(&r) < 0.5 ? 0 : 0.15 * rng_unit(&r);
	while ((double)broken < w->unbuildable * (double)n) {
		size_t run = draw_length(&r, 1 + (double)n * 0.03 * rng_unit(&r));
		size_t at = rng_below(&r, n);

		for (; run-- && at + 1 < n; at++) {
			broken += !w->is_unbuildable[at];
			w->is_unbuildable[at] = 1;
		}
	}

	/* bad = the culprit's descendants */
	w->bad = xcalloc(graph_bits_words(&w->g), sizeof(*w->bad));
	for (uint32_t c = w->culprit; c < n; c++) {
		bool is_it = c == w->culprit;

		for (unsigned k = 0; k < w->h.commits[c].n_parents; k++)
			is_it = is_it || (w->h.parents[c][k] >= w->culprit &&
					  graph_bit(w->bad, w->h.parents[c][k]));
		if (is_it)
			w->bad[c / 64] |= UINT64_C(1) << (c % 64);
	}
}

static void release_world(struct world *w)
{
	history_release(&w->h);
	graph_release(&w->g);
	free(w->is_unbuildable);
	free(w->bad);
}

/* ---- the floor ---- */

static double h2(double p)
{
	return p <= 0 || p >= 1 ? 0 : -p * log2(p) - (1 - p) * log2(1 - p);
}

/* Capacity of the channel "one trial", bits; its information is concave in the input. */
static double capacity(const double over[2])
{
	double low = 0, high = 1;

	for (unsigned i = 0; i < 100; i++) {
		double at[2] = {low + (high - low) / 3, high - (high - low) / 3}, bits[2];

		for (unsigned k = 0; k < 2; k++)
			bits[k] = h2(at[k] * over[1] + (1 - at[k]) * over[0]) -
				  at[k] * h2(over[1]) - (1 - at[k]) * h2(over[0]);
		if (bits[0] < bits[1])
			low = at[0];
		else
			high = at[1];
	}
	return h2(low * over[1] + (1 - low) * over[0]) - low * h2(over[1]) -
	       (1 - low) * h2(over[0]);
}

/* ---- one bisect ---- */

struct spent {
	unsigned builds, boots, trials;
};

struct outcome {
	bool is_there, is_right;
	double stated;
	size_t set;
	struct spent spent;
};

static void put_outcome(const struct outcome *o)
{
	printf("\t%d\t%d\t%.5f\t%zu\t%u\t%u\t%u", o->is_there, o->is_right, o->stated, o->set,
	       o->spent.builds, o->spent.boots, o->spent.trials);
}

static void put_world(const struct world *w, uint64_t number, const char *policy)
{
	printf("%llu\t%s\t%zu\t%d\t%d\t%.4f\t%.4f\t%.3f\t%.3f\t%.4f", (unsigned long long)number,
	       policy, w->h.n, w->has_merges, w->has_delays, w->over[0], w->over[1], w->rho,
	       w->unbuildable, log2((double)w->h.n) / capacity(w->over));
}

static void ask_answer(const struct world *w, const struct bisect_core *b,
		       const struct bisect_next *next, double target, const struct spent *spent,
		       struct outcome *o)
{
	auto_free uint32_t *answer = NULL;
	double p;
	size_t n;

	if (o->is_there || next->p_answer < target)
		return;
	n = bisect_core_answer(b, &answer, &p);
	*o = (struct outcome){.is_there = true, .stated = p, .set = n, .spent = *spent};
	for (size_t i = 0; i < n; i++)
		o->is_right = o->is_right || answer[i] == w->culprit;
}

static void apply(struct bisect_core *b, const struct bisect_event *ev)
{
	struct err e = {0};

	if (bisect_core_apply(b, ev, &e) < 0) {
		(void)fprintf(stderr, "bisect_sim: %s\n", e.text);
		exit(1);
	}
}

struct policy {
	const char *name;
	struct bisect_cost cost;
	unsigned every; /* used for one in so many histories of each kind */
	bool knows_rates;
	bool is_same; /* nothing to find: all commits are good, or all bad, by turns */
};

#define WARM                                                                         \
	{                                                                            \
		.build_cold_s = 900, .build_warm_s = 60, .boot_s = 10, .trial_s = 30 \
	}
#define COLD                                                                          \
	{                                                                             \
		.build_cold_s = 900, .build_warm_s = 900, .boot_s = 10, .trial_s = 30 \
	}
#define FREE                  \
	{                     \
		.trial_s = 30 \
	}
static const struct policy policies[] = {
	{.name = "warm", .cost = WARM, .every = 1},
	{.name = "cold", .cost = COLD, .every = 1},
	{.name = "free", .cost = FREE, .every = 2},
	{.name = "free-known", .cost = FREE, .every = 1, .knows_rates = true},
	{.name = "same", .cost = WARM, .every = 8, .is_same = true},
};

/* Settings of the core that the command line changes. */
static uint64_t ends_min = 5, ends_percent = 99;

static void run_core(const struct world *w, uint64_t seed, uint64_t number,
		     const struct policy *policy)
{
	auto_bisect_core struct bisect_core *b = NULL;
	struct outcome at95 = {0}, at99 = {0};
	struct bisect_estimate estimate = {0};
	struct spent spent = {0}, ends = {0};
	struct bisect_next next;
	struct bisect_cfg cfg;
	struct err e = {0};
	struct rng r;
	uint32_t boot = 0;

	rng_init(&r,
		 seed ^ (number + 1) * 0xA24BAED4963EE407u ^ (uint64_t)(policy - policies) << 40);
	bisect_cfg_default(&cfg);
	cfg.cost = policy->cost;
	cfg.max_trials = TRIALS_CAP;
	cfg.ends_min_trials = (unsigned)ends_min;
	cfg.ends_confidence = (double)ends_percent / 100;
	if (policy->knows_rates) {
		cfg.known_over_good = w->over[0];
		cfg.known_over_bad = w->over[1];
		cfg.uses_delays = false;
	}
	if (bisect_core_new(&cfg, w->h.commits, w->h.n, &b, &e) < 0) {
		(void)fprintf(stderr, "bisect_sim: %s\n", e.text);
		exit(1);
	}
	for (;;) {
		struct bisect_event ev = {0};
		double rate;

		bisect_core_next(b, &next);
		if (next.state == BISECT_SEARCHING && estimate.trials <= 0) {
			bisect_core_estimate(b, &estimate);
			ends = spent;
		}
		if (next.state == BISECT_SEARCHING || next.state == BISECT_DONE) {
			ask_answer(w, b, &next, 0.95, &spent, &at95);
			ask_answer(w, b, &next, 0.99, &spent, &at99);
		}
		if (next.state != BISECT_MEASURING_ENDS && next.state != BISECT_SEARCHING)
			break;
		ev.commit = next.commit;
		if (next.commit == BISECT_GOOD_END ? !b->is_good_end_cached
						   : !b->is_cached[next.commit]) {
			spent.builds++;
			ev.kind = BISECT_EV_BUILT;
			if (next.commit != BISECT_GOOD_END && w->is_unbuildable[next.commit])
				ev.kind = BISECT_EV_UNTESTABLE;
			apply(b, &ev);
			if (ev.kind == BISECT_EV_UNTESTABLE)
				continue;
		}
		ev.kind = BISECT_EV_TRIAL;
		ev.boot = boot++;
		spent.boots++;
		rate = boot_rate(w, &r,
				 policy->is_same ? number / 4 / policy->every % 2
						 : is_bad(w, next.commit));
		for (unsigned i = 0; i < next.trials_per_boot; i++) {
			draw_trial(w, &r, rate, &ev);
			apply(b, &ev);
			spent.trials++;
		}
	}
	if (!at99.is_there)
		at99.spent = spent;
	put_world(w, number, policy->name);
	printf("\t%s\t%u\t%.2f\t%.2f", bisect_state_name(next.state), ends.trials, estimate.trials,
	       estimate.builds);
	put_outcome(&at95);
	put_outcome(&at99);
	putchar('\n');
}

/* ---- git bisect ---- */

/*
 * `git bisect` as its documentation and behaviour have it: among the commits left (ancestors of the
 * bad one that are not ancestors of a good one) it tests the one whose number of ancestors among
 * them is nearest to half. Once commits were skipped it sorts by that and, if the best one was
 * skipped, jumps to one of the others by a fixed pseudo-random number that favours the front. Ends
 * when only the bad commit and skipped ones are left.
 */
struct git {
	const struct graph *g;
	const uint32_t *rank; /* ties in the sorted list, the order of object names; NULL = index */
	uint64_t *good;       /* bits of the good commits and their ancestors */
	uint32_t bad;
	uint8_t *is_skipped;
	unsigned n_skipped;
	double *in, *count;
	struct git_entry {
		uint32_t distance, rank, commit;
	} * list;
};

static void git_init(struct git *git, const struct graph *g, const uint32_t *rank)
{
	*git = (struct git){.g = g, .rank = rank, .bad = (uint32_t)g->n - 1};
	git->good = xcalloc(graph_bits_words(g), sizeof(*git->good));
	git->is_skipped = xcalloc(g->n, 1);
	git->in = xcalloc(g->n, sizeof(*git->in));
	git->count = xcalloc(g->n, sizeof(*git->count));
	git->list = xcalloc(g->n, sizeof(*git->list));
}

static void git_release(struct git *git)
{
	free(git->good);
	free(git->is_skipped);
	free(git->in);
	free(git->count);
	free(git->list);
}

static int compare_entries(const void *x, const void *y)
{
	const struct git_entry *a = x, *c = y;

	if (a->distance != c->distance)
		return a->distance > c->distance ? -1 : 1;
	return a->rank < c->rank ? -1 : a->rank > c->rank;
}

/* Marks what is left in git->in and counts ancestors; returns how many are left. */
static unsigned git_count(struct git *git)
{
	size_t words = graph_bits_words(git->g);
	auto_free uint64_t *bits = xcalloc(words, sizeof(*bits));
	unsigned left = 0;

	graph_ancestor_bits(git->g, git->bad, bits);
	for (uint32_t c = 0; c < git->g->n; c++) {
		git->in[c] = graph_bit(bits, c) && !graph_bit(git->good, c);
		left += git->in[c] > 0;
	}
	graph_sum_ancestors(git->g, git->in, git->count);
	return left;
}

static unsigned isqrt(unsigned v)
{
	return (unsigned)sqrt((double)v);
}

/* Index into n commits that were not skipped. */
static unsigned git_jump(unsigned n)
{
	unsigned random = (n * 1103515245u + 12345u) / 65536u % 32768u;

	return n * random / 32768u * isqrt(random) / isqrt(32768);
}

/* The commit at that place of the sorted first n entries: only the entries of its distance are
   sorted. */
static uint32_t git_at(const struct git *git, unsigned n, unsigned at)
{
	auto_free unsigned *with = xcalloc(git->g->n + 1, sizeof(*with)); /* by distance */
	auto_free struct git_entry *equal = NULL;
	unsigned distance = (unsigned)git->g->n, n_equal = 0;

	for (unsigned i = 0; i < n; i++)
		with[git->list[i].distance]++;
	for (; at >= with[distance]; distance--)
		at -= with[distance];
	equal = xcalloc(with[distance], sizeof(*equal));
	for (unsigned i = 0; i < n; i++)
		if (git->list[i].distance == distance)
			equal[n_equal++] = git->list[i];
	qsort(equal, n_equal, sizeof(*equal), compare_entries);
	return equal[at].commit;
}

/* The next commit to test; GRAPH_NONE = done. */
static uint32_t git_next(struct git *git)
{
	unsigned left = git_count(git), n = 0, n_open = 0, first = 0, at;
	uint32_t next;
	bool is_first_skipped;

	if (left <= 1)
		return GRAPH_NONE;
	for (uint32_t c = 0; c < git->g->n; c++) {
		unsigned count = (unsigned)git->count[c];

		if (git->in[c] <= 0)
			continue;
		git->list[n++] =
			(struct git_entry){.distance = count < left - count ? count : left - count,
					   .rank = git->rank ? git->rank[c] : c,
					   .commit = c};
	}
	if (!git->n_skipped) {
		unsigned best = 0;

		for (unsigned i = 1; i < n; i++)
			if (compare_entries(&git->list[i], &git->list[best]) < 0)
				best = i;
		return git->list[best].commit;
	}
	for (unsigned i = 1; i < n; i++)
		if (compare_entries(&git->list[i], &git->list[first]) < 0)
			first = i;
	is_first_skipped = git->is_skipped[git->list[first].commit];
	for (unsigned i = 0; i < n; i++)
		if (!git->is_skipped[git->list[i].commit])
			git->list[n_open++] = git->list[i];
	if (!is_first_skipped)
		return git_at(git, n_open, 0);
	if (n_open == 0 || (n_open == 1 && git->list[0].commit == git->bad))
		return GRAPH_NONE;
	at = git_jump(n_open);
	next = git_at(git, n_open, at < n_open ? at : 0);
	if (next == git->bad)
		next = git_at(git, n_open, at ? at - 1 : 0);
	return next == git->bad ? GRAPH_NONE : next;
}

static void git_tell(struct git *git, uint32_t commit, bool bad)
{
	if (bad)
		git->bad = commit;
	else
		graph_ancestor_bits(git->g, commit, git->good);
}

static void git_skip(struct git *git, uint32_t commit)
{
	git->n_skipped += !git->is_skipped[commit];
	git->is_skipped[commit] = 1;
}

static double binomial_tail(double f, unsigned k, unsigned j)
{
	double sum = 0;

	for (unsigned i = j; i <= k; i++)
		sum += exp(lgamma(k + 1.0) - lgamma(i + 1.0) - lgamma(k - i + 1.0) +
			   i * log(fmax(f, 1e-12)) + (k - i) * log1p(-fmin(f, 1 - 1e-12)));
	return sum;
}

/* The threshold with the fewest errors for someone who knows the rates. */
static unsigned best_threshold(const double over[2], unsigned k)
{
	unsigned best = 1;
	double least = 3;

	for (unsigned j = 1; j <= k; j++) {
		double error = binomial_tail(over[0], k, j) + 1 - binomial_tail(over[1], k, j);

		if (error < least) {
			least = error;
			best = j;
		}
	}
	return best;
}

/* Up to k trials, each in a boot of its own; bad at the j-th failure, good once that is out of
   reach: no trial more than the answer needs. */
static bool git_trials(const struct world *w, struct rng *r, bool bad, unsigned k, unsigned j,
		       unsigned *trials)
{
	unsigned over = 0, passed = 0;

	while (over < j && passed < k - j + 1) {
		struct bisect_event ev;

		draw_trial(w, r, boot_rate(w, r, bad), &ev);
		over += ev.is_over;
		passed += !ev.is_over;
		++*trials;
	}
	return over >= j;
}

static void run_git(const struct world *w, uint64_t seed, uint64_t number, unsigned k,
		    const char *rule, unsigned j)
{
	struct outcome o = {.is_there = true};
	unsigned ends = 0;
	char name[32];
	struct git git;
	struct rng r;
	uint32_t c;

	rng_init(&r,
		 seed ^ (number + 1) * 0x8CB92BA72F3D8DD7u ^ (uint64_t)k << 40 ^ (uint64_t)j << 50);
	git_init(&git, &w->g, NULL);
	while ((c = git_next(&git)) != GRAPH_NONE) {
		o.spent.builds++;
		if (w->is_unbuildable[c]) {
			git_skip(&git, c);
			continue;
		}
		git_tell(&git, c, git_trials(w, &r, is_bad(w, c), k, j, &o.spent.trials));
	}
	o.spent.boots = o.spent.trials;
	/* apart, because git does not do it: what a look at both ends by the same rule takes */
	for (unsigned side = 0; side < 2; side++)
		(void)git_trials(w, &r, side, k, j, &ends);
	/* the bad commit and, if it cannot say, the skipped ones that are left */
	o.set = git_count(&git);
	o.is_right = git.in[w->culprit] > 0;
	(void)snprintf(name, sizeof(name), "git-%s-%u", rule, k);
	put_world(w, number, name);
	printf("\tdone\t%u\t0\t0", ends);
	put_outcome(&o);
	put_outcome(&o);
	putchar('\n');
	git_release(&git);
}

/* ---- the three uses ---- */

static int simulate(uint64_t seed, uint64_t first, uint64_t n, size_t n_max)
{
	static const unsigned repeats[] = {1, 3, 5, 10, 20, 40, 80, 160};

	for (uint64_t i = first; i < first + n; i++) {
		struct world w;

		make_world(seed, i, n_max, &w);
		for (size_t k = 0; k < ARRAY_SIZE(policies); k++)
			if (i / 4 % policies[k].every == 0)
				run_core(&w, seed, i, &policies[k]);
		for (size_t k = 0; k < ARRAY_SIZE(repeats); k++) {
			unsigned m = repeats[k];

			run_git(&w, seed, i, m, "any", 1);
			if (m > 1)
				run_git(&w, seed, i, m, "majority", m / 2 + 1);
			if (m > 1)
				run_git(&w, seed, i, m, "oracle", best_threshold(w.over, m));
		}
		release_world(&w);
		(void)fflush(stdout);
	}
	return 0;
}

/*
 * Reads "<commits>", a line "<rank> <untestable> <parent>…" for each, then any number of culprits;
 * prints for each culprit what is tested in turn: "<culprit>: <commit>=<verdict>,<distance>,<best>
 * … -> <commits left>".
 */
static int git_walk(void)
{
	struct history h;
	struct graph g;
	uint32_t *rank, *parents;
	uint8_t *untestable;
	unsigned n, culprit;
	size_t bad;
	char line[4096];

	if (scanf("%u ", &n) != 1 || n < 1 || n > 10000)
		return 1;
	history_init(&h, n);
	parents = xcalloc((size_t)n * BISECT_PARENTS_MAX, sizeof(*parents));
	rank = xcalloc(n, sizeof(*rank));
	untestable = xcalloc(n, 1);
	for (unsigned c = 0; c < n; c++) {
		char *save = NULL, *word;

		if (!fgets(line, sizeof(line), stdin))
			return 1;
		word = strtok_r(line, " \n", &save);
		rank[c] = word ? (uint32_t)strtoul(word, NULL, 10) : 0;
		word = strtok_r(NULL, " \n", &save);
		untestable[c] = word && word[0] == '1';
		h.commits[c].parents = parents + c * BISECT_PARENTS_MAX;
		while ((word = strtok_r(NULL, " \n", &save)) &&
		       h.commits[c].n_parents < BISECT_PARENTS_MAX)
			parents[c * BISECT_PARENTS_MAX + h.commits[c].n_parents++] =
				(uint32_t)strtoul(word, NULL, 10);
	}
	if (graph_init(&g, h.commits, n, SIZE_MAX, &bad) < 0)
		return 1;
	while (scanf("%u", &culprit) == 1 && culprit < n) {
		auto_free uint64_t *bits = xcalloc(graph_bits_words(&g), sizeof(*bits));
		struct git git;
		uint32_t c;
		unsigned left;

		git_init(&git, &g, rank);
		printf("%u:", culprit);
		while ((c = git_next(&git)) != GRAPH_NONE) {
			unsigned best = 0, mine = 0;

			left = git_count(&git);
			for (uint32_t i = 0; i < n; i++) {
				unsigned count = (unsigned)git.count[i];
				unsigned d = count < left - count ? count : left - count;

				if (git.in[i] > 0 && d > best)
					best = d;
				if (i == c)
					mine = d;
			}
			memset(bits, 0, graph_bits_words(&g) * sizeof(*bits));
			graph_ancestor_bits(&g, c, bits);
			printf(" %u=%s,%u,%u", c,
			       untestable[c]              ? "skip"
			       : graph_bit(bits, culprit) ? "bad"
							  : "good",
			       mine, best);
			if (untestable[c])
				git_skip(&git, c);
			else
				git_tell(&git, c, graph_bit(bits, culprit));
		}
		left = git_count(&git);
		printf(" ->");
		for (uint32_t i = 0; i < n; i++)
			if (git.in[i] > 0)
				printf(" %u", i);
		putchar('\n');
		git_release(&git);
	}
	graph_release(&g);
	free(rank);
	free(parents);
	free(untestable);
	history_release(&h);
	return 0;
}

static int pick_time(size_t n)
{
	const double ms = 1e3 / CLOCKS_PER_SEC; /* of CPU time: the machine may be busy */

	for (unsigned merges = 0; merges < 2; merges++) {
		auto_bisect_core struct bisect_core *b = NULL;
		struct bisect_cfg cfg;
		struct history h;
		struct err e = {0};
		struct rng r;
		clock_t start, worst_apply = 0, worst_next = 0, opened;

		rng_init(&r, 1);
		make_history(&r, n, merges, &h);
		bisect_cfg_default(&cfg);
		cfg.cost.build_per_commit_s = 0.05;
		start = clock();
		if (bisect_core_new(&cfg, h.commits, h.n, &b, &e) < 0) {
			(void)fprintf(stderr, "bisect_sim: %s\n", e.text);
			return 1;
		}
		opened = clock() - start;
		for (uint32_t i = 0;; i++) {
			struct bisect_event ev = {
				.kind = BISECT_EV_TRIAL, .delay_ms = -1, .boot = i};
			struct bisect_next next;
			clock_t took;

			start = clock();
			bisect_core_next(b, &next);
			took = clock() - start;
			worst_next = took > worst_next ? took : worst_next;
			if (next.state > BISECT_SEARCHING)
				break;
			ev.commit = next.commit;
			if (next.build_s > 0)
				ev.kind = i % 7 == 6 && next.commit < h.n - 1 ? BISECT_EV_UNTESTABLE
									      : BISECT_EV_BUILT;
			else
				ev.is_over = rng_unit(&r) <
					     (next.commit != BISECT_GOOD_END && next.commit > n / 3
						      ? 0.7
						      : 0.1);
			start = clock();
			apply(b, &ev);
			took = clock() - start;
			worst_apply = took > worst_apply ? took : worst_apply;
		}
		printf("%s\t%zu\t%.2f\t%.2f\t%.2f\n", merges ? "merges" : "linear", h.n,
		       (double)opened * ms, (double)worst_next * ms, (double)worst_apply * ms);
		history_release(&h);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, first = 0, n = 100, n_max = 16384, pick = 0;
	const struct {
		const char *name;
		uint64_t min, max, *value;
	} options[] = {
		{"--seed", 0, UINT64_MAX, &seed},
		{"--first", 0, UINT32_MAX, &first},
		{"--histories", 1, UINT32_MAX, &n},
		{"--max-commits", N_MIN, BISECT_COMMITS_MAX, &n_max},
		{"--ends-min", 2, 50, &ends_min},
		{"--ends-percent", 50, 99, &ends_percent},
		{"--pick-time", N_MIN, BISECT_COMMITS_MAX, &pick},
	};
	struct err e = {0};

	if (argc == 2 && strcmp(argv[1], "--git-walk") == 0)
		return git_walk();
	for (int i = 1; i < argc; i += 2) {
		size_t k = 0;

		while (k < ARRAY_SIZE(options) && strcmp(argv[i], options[k].name) != 0)
			k++;
		if (k == ARRAY_SIZE(options) || i + 1 >= argc) {
			(void)fprintf(stderr, "bisect_sim: '%s' is no option, or lacks its value\n",
				      argv[i]);
			return 129;
		}
		if (parse_u64(argv[i], argv[i + 1], options[k].min, options[k].max,
			      options[k].value, &e) < 0) {
			(void)fprintf(stderr, "bisect_sim: %s\n", e.text);
			return 129;
		}
	}
	return pick ? pick_time(pick) : simulate(seed, first, n, n_max);
}
