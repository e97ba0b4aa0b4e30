/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_pick.c - which commit to test next, with how many trials, and what is still to come. */
#include "core_priv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Of estimates, fitted to tests/bench/bisect: */
#define UNKNOWN_RATES_PRICE \
	1.8                  /* times as many trials if the rates have to be learned on the way */
#define BITS_OF_A_COMMIT 1.5 /* a tested commit yields that times its first batch's information */

#define STEPS        64u  /* of the probability that a commit is bad, in tables of information */
#define UNKNOWN_BASE 0.02 /* probability that a commit without untestable neighbours is one */
#define UNKNOWN_NEAR 0.9  /* that one right beside an untestable one is */

static const unsigned trial_counts[] = {1, 2, 4, 8, 16, 32};
#define N_COUNTS   ARRAY_SIZE(trial_counts)
#define N_OUTCOMES PICK_OUTCOMES
static_assert(N_OUTCOMES >= 1 + 2 + 4 + 8 + 16 + 32 + N_COUNTS, "as trial_counts has it");

static double entropy_term(double p)
{
	return p > 0 ? -p * log2(p) : 0;
}

/*
 * Rate of trials that look like stalls where stalls have the rate f, when only "rather a stall" or
 * "rather quiet" is asked of a trial.
 */
static double looks_like_stall(const struct bisect_core *b, double f)
{
	f = f * b->stall_share[1] + (1 - f) * b->stall_share[0];
	return fmin(fmax(f, 1e-4), 1 - 1e-4);
}

/* P(k of m trials fail). */
static void binomial(double f, unsigned m, double *ret)
{
	ret[0] = pow(1 - f, m);
	for (unsigned k = 0; k < m; k++)
		ret[k + 1] = ret[k] * (m - k) / (k + 1.0) * f / (1 - f);
}

static double entropy(const double *p, unsigned m)
{
	double bits = 0;

	for (unsigned k = 0; k <= m; k++)
		bits += entropy_term(p[k]);
	return bits;
}

void core_update_outcomes(struct bisect_core *b)
{
	for (unsigned k = 0; k < 2; k++)
		b->stall_share[k] = b->delay.is_usable ? delay_stall_share(&b->delay, k) : k;
	for (unsigned side = 0; side < 2; side++)
		for (unsigned f = 0; f < b->rates.n_f; f++) {
			double *to = b->outcomes[side][f];

			for (unsigned i = 0; i < N_COUNTS; to += trial_counts[i++] + 1)
				binomial(looks_like_stall(b, b->rates.f[side][f]), trial_counts[i],
					 to);
		}
}

/* The same with the rate integrated out: weight of each value of the rate. */
static void mix_outcomes(const struct bisect_core *b, enum side side, const double *weight,
			 double ret[N_OUTCOMES])
{
	double sum[N_OUTCOMES] = {0};

	for (unsigned f = 0; f < b->rates.n_f; f++)
		if (weight[f] > 1e-6)
			for (unsigned k = 0; k < N_OUTCOMES; k++)
				sum[k] += weight[f] * b->outcomes[side][f][k];
	memcpy(ret, sum, sizeof(sum));
}

/* Of a commit that was not tested yet; rows are filled when they are first asked for. */
struct table {
	double by_side[2][N_OUTCOMES];
	double left[2][N_COUNTS]; /* entropies of each count's outcomes */
	bool has[STEPS + 1];
	double bits[STEPS + 1][N_COUNTS];
	double least_build, trial_s; /* of the cheapest commit that has to be built */
	double most[STEPS + 1];      /* most bits per second for such a commit */
};

/* Entropies of the outcomes of each number of trials. */
static void entropies(const double p[N_OUTCOMES], double ret[N_COUNTS])
{
	for (unsigned i = 0; i < N_COUNTS; p += trial_counts[i++] + 1)
		ret[i] = entropy(p, trial_counts[i]);
}

static void table_init(const struct bisect_core *b, double least_build, double trial_s,
		       struct table *ret)
{
	for (unsigned side = 0; side < 2; side++) {
		mix_outcomes(b, (enum side)side, b->marginal[side], ret->by_side[side]);
		entropies(ret->by_side[side], ret->left[side]);
	}
	memset(ret->has, 0, sizeof(ret->has));
	ret->least_build = least_build;
	ret->trial_s = trial_s;
}

/*
 * Mutual information, in bits, between "this commit is bad" and the number of failures in m trials,
 * for m of trial_counts and a probability of bad of step / STEPS: the entropy of the outcome less
 * what is left of it once good or bad is known. It is also the expected information about the
 * culprit, which decides good or bad.
 */
static const double *table_row(struct table *t, unsigned step)
{
	double *bits = t->bits[step];
	double p = (double)step / STEPS, mixed[N_OUTCOMES];

	if (t->has[step])
		return bits;
	for (unsigned k = 0; k < N_OUTCOMES; k++)
		mixed[k] = p * t->by_side[SIDE_BAD][k] + (1 - p) * t->by_side[SIDE_GOOD][k];
	entropies(mixed, bits);
	t->most[step] = 0;
	for (unsigned i = 0; i < N_COUNTS; i++) {
		bits[i] = fmax(bits[i] - p * t->left[SIDE_BAD][i] - (1 - p) * t->left[SIDE_GOOD][i],
			       0);
		t->most[step] = fmax(t->most[step],
				     bits[i] / (t->least_build + trial_counts[i] * t->trial_s));
	}
	t->has[step] = true;
	return bits;
}

/* What a class of culprits expects of a tested commit, by the commit's side under it. */
struct expected {
	size_t class;
	double p;
	double mixed[2][N_OUTCOMES];
	double left[2][N_COUNTS]; /* entropies of each count's outcomes */
};

/* For the classes that matter; returns how many. */
static size_t fill_expected(const struct bisect_core *b, struct expected *ret)
{
	size_t n = 0;

	for (size_t class = 0; class < b->n_classes; class ++) {
		struct expected *x = &ret[n];

		if (b->class_p[class] < 1e-5)
			continue;
		x->class = class;
		x->p = b->class_p[class];
		for (unsigned side = 0; side < 2; side++) {
			mix_outcomes(b, (enum side)side, b->class_ev[class].marginal[side],
				     x->mixed[side]);
			entropies(x->mixed[side], x->left[side]);
		}
		n++;
	}
	return n;
}

/*
 * The same for a commit that has trials, or an end, exactly: what it has shown so far belongs to
 * what each class of culprits says about the rates. Many trials that fit a good commit of a high
 * rate as well as a bad one of a low rate promise nothing more here; a trial of an end, which says
 * nothing about the culprit by itself, promises something if it can decide between such rates.
 */
static void tested_bits(const struct bisect_core *b, const struct expected *x, size_t n,
			const struct tested *t, double ret[N_COUNTS])
{
	double total[N_OUTCOMES] = {0}, left[N_COUNTS] = {0};

	for (; n--; x++) {
		unsigned side = core_makes_bad(b, x->class, t) ? SIDE_BAD : SIDE_GOOD;

		for (unsigned k = 0; k < N_OUTCOMES; k++)
			total[k] += x->p * x->mixed[side][k];
		for (unsigned i = 0; i < N_COUNTS; i++)
			left[i] += x->p * x->left[side][i];
	}
	entropies(total, ret);
	for (unsigned i = 0; i < N_COUNTS; i++)
		ret[i] = fmax(ret[i] - left[i], 0);
}

/* Between two rows. p < 1. */
static void look_up(struct table *t, double p, double ret[N_COUNTS])
{
	unsigned step = (unsigned)(p * STEPS);
	const double *low = table_row(t, step), *high = table_row(t, step + 1);

	for (unsigned i = 0; i < N_COUNTS; i++)
		ret[i] = low[i] + (p * STEPS - step) * (high[i] - low[i]);
}

/* True if a commit of that probability, p < 1, that has to be built may give more per second. */
static bool may_beat(struct table *t, double p, double rate)
{
	unsigned step = (unsigned)(p * STEPS);

	(void)table_row(t, step);
	(void)table_row(t, step + 1);
	return t->most[step] > rate || t->most[step + 1] > rate;
}

/*
 * How many trials a boot is worth: sqrt(boot cost (1 - rho) / (trial cost rho)), the optimum size
 * of a cluster (Cochran, "Sampling Techniques", 9.6). n trials of one boot then tell as much as
 * n / (1 + (n - 1) rho) independent ones.
 */
static unsigned trials_per_boot(const struct bisect_core *b)
{
	double rho = fmax(b->mean_rho[SIDE_GOOD], b->mean_rho[SIDE_BAD]);
	double n = sqrt(b->cfg.cost.boot_s * (1 - rho) / (b->cfg.cost.trial_s * fmax(rho, 1e-3)));

	return n < 1.5 ? 1 : n > 8 ? 8 : (unsigned)(n + 0.5);
}

/* Commits between two commits: ancestors of either that are not of both. */
void core_update_distances(struct bisect_core *b)
{
	auto_free uint64_t *bits = NULL;
	auto_free double *one = NULL;
	double mine;

	memset(b->distance, 0, b->g.n * sizeof(*b->distance));
	if (b->cfg.cost.build_per_commit_s <= 0 || b->last_built == GRAPH_NONE)
		return;
	bits = xcalloc(graph_bits_words(&b->g), sizeof(*bits));
	one = xcalloc(b->g.n, sizeof(*one));
	graph_ancestor_bits(&b->g, b->last_built, bits);
	for (uint32_t c = 0; c < b->g.n; c++)
		one[c] = graph_bit(bits, c);
	graph_sum_ancestors(&b->g, one, b->distance);
	mine = b->g.count[b->last_built];
	for (uint32_t c = 0; c < b->g.n; c++)
		b->distance[c] = mine + b->g.count[c] - 2 * b->distance[c];
}

double bisect_core_distance(const struct bisect_core *b, uint32_t commit)
{
	if (b->cfg.cost.build_per_commit_s <= 0 || b->used.builds == 0)
		return 0;
	return commit < b->g.n ? b->distance[commit] : (double)b->g.n;
}

static double build_s(const struct bisect_core *b, uint32_t commit)
{
	const struct bisect_cost *cost = &b->cfg.cost;
	bool is_cached = commit < b->g.n ? b->is_cached[commit] : b->is_good_end_cached;

	if (is_cached)
		return 0;
	if (b->used.builds == 0)
		return cost->build_cold_s;
	return fmin(fmax(cost->build_cold_s, cost->build_warm_s),
		    cost->build_warm_s +
			    cost->build_per_commit_s * bisect_core_distance(b, commit));
}

/*
 * Probability that a commit is untestable, from the nearest known ones on either side in the order
 * of the commits: breakage comes in runs. Between two untestable commits without a testable one in
 * between it is near certain; beyond one it fades over the length of the longest known run, at
 * least a hundredth of the history.
 */
void core_update_untestable(struct bisect_core *b)
{
	double *ret = b->p_untestable;
	size_t n = b->g.n;
	double run = fmax(2, (double)n / 100), length = 0;
	auto_free uint8_t *is_fine = xcalloc(n, 1);

	for (size_t i = 0; i < b->n_tested; i++)
		if (b->tested[i].commit < n)
			is_fine[b->tested[i].commit] = 1;
	for (size_t c = 0, start = n; c < n; c++) {
		if (is_fine[c])
			start = n;
		if (!b->is_untestable[c])
			continue;
		if (start == n)
			start = c;
		length = (double)(c - start + 1);
		run = fmax(run, length);
	}

	if (length <= 0) {
		for (size_t c = 0; c < n; c++)
			ret[c] = is_fine[c] ? 0 : UNKNOWN_BASE;
		return;
	}
	for (unsigned pass = 0; pass < 2; pass++) {
		double p = 0, fade = exp(-1 / run); /* near untestable ones, going away from them */

		for (size_t i = 0; i < n; i++) {
			size_t c = pass ? n - 1 - i : i;

			p = b->is_untestable[c] ? UNKNOWN_NEAR : is_fine[c] ? 0 : p * fade;
			if (!pass)
				ret[c] = p;
			else if (ret[c] > 0 && p > 0)
				ret[c] = UNKNOWN_NEAR; /* in between */
			else
				ret[c] = fmax(fmax(ret[c], p), is_fine[c] ? 0 : UNKNOWN_BASE);
		}
	}
}

struct choice {
	uint32_t commit;
	unsigned trials; /* independent ones that its boots are worth */
	double bits, rate, build_s, p_untestable;
};

struct offer {
	uint32_t commit;
	double build_s, p_untestable;
	double trial_s; /* of a trial that is worth an independent one */
};

/* Takes the offer if some number of trials gives more per second than the choice so far. */
static void consider(const struct offer *offer, const double bits[N_COUNTS], struct choice *best)
{
	double works = 1 - offer->p_untestable;

	for (unsigned i = 0; i < N_COUNTS; i++) {
		double rate = works * bits[i] /
			      (offer->build_s + works * trial_counts[i] * offer->trial_s);

		if (rate <= best->rate * (1 + 1e-9))
			continue;
		*best = (struct choice){.commit = offer->commit,
					.trials = trial_counts[i],
					.bits = works * bits[i],
					.rate = rate,
					.build_s = offer->build_s,
					.p_untestable = offer->p_untestable};
	}
}

/* The commit and number of trials with the most expected information per second. False if nothing
   tells anything. */
static bool choose(const struct bisect_core *b, unsigned per_boot, struct choice *ret)
{
	auto_free struct expected *expected = xcalloc(b->n_classes, sizeof(*expected));
	double rho = fmax(b->mean_rho[SIDE_GOOD], b->mean_rho[SIDE_BAD]);
	double worth = per_boot / (1 + (per_boot - 1) * rho); /* independent trials of a boot */
	double trial_s = (b->cfg.cost.boot_s + per_boot * b->cfg.cost.trial_s) / worth;
	double least_build, bits[N_COUNTS];
	size_t n_expected = fill_expected(b, expected);
	struct table table;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < b->n_tested; i++) {
		const struct tested *t = &b->tested[i];
		bool is_good_end = t->commit == BISECT_GOOD_END;
		struct offer offer = {
			.commit = t->commit,
			.build_s = build_s(b, t->commit),
			.trial_s = trial_s,
		};

		/* far from undecided: not worth the work, but for the ends */
		if (!is_good_end && (b->is_untestable[t->commit] || b->p_bad[t->commit] < 1e-4 ||
				     (t->commit != b->g.n - 1 && b->p_bad[t->commit] > 1 - 1e-4)))
			continue;
		tested_bits(b, expected, n_expected, t, bits);
		consider(&offer, bits, ret);
	}

	least_build = b->used.builds ? b->cfg.cost.build_warm_s : b->cfg.cost.build_cold_s;
	table_init(b, least_build, trial_s, &table);
	for (uint32_t c = 0; c < b->g.n; c++) {
		double p = b->p_bad[c];
		struct offer offer = {.commit = c, .trial_s = trial_s};

		if (p < 1e-12 || p > 1 - 1e-12 || b->is_untestable[c])
			continue;
		if (!b->is_cached[c] && !may_beat(&table, p, ret->rate))
			continue;
		if (core_find_tested(b, c) < b->n_tested)
			continue;
		offer.build_s = build_s(b, c);
		offer.p_untestable = b->p_untestable[c];
		look_up(&table, p, bits);
		consider(&offer, bits, ret);
	}
	return ret->rate > 0;
}

/* ---- the next test ---- */

static void next_end(const struct bisect_core *b, struct bisect_next *ret)
{
	uint32_t tip = (uint32_t)b->g.n - 1;
	struct bisect_tested end[2] = {{.commit = BISECT_GOOD_END}, {.commit = tip}};
	unsigned side, batch, per_boot = trials_per_boot(b);

	for (side = 0; side < 2; side++) {
		size_t i = core_find_tested(b, end[side].commit);

		if (i < b->n_tested)
			bisect_core_tested(b, i, &end[side]);
	}
	/* the one with fewer trials; the bad end first, it shows whether the failure is seen */
	side = end[SIDE_GOOD].trials < end[SIDE_BAD].trials ? SIDE_GOOD : SIDE_BAD;
	if (end[side].trials >= b->cfg.ends_min_trials)
		batch = per_boot;
	else
		batch = b->cfg.ends_min_trials - end[side].trials;
	/* no boot has more than half of the least number: boots may differ, and that is to be seen
	 */
	per_boot = per_boot > b->cfg.ends_min_trials / 2 ? b->cfg.ends_min_trials / 2 : per_boot;

	ret->commit = end[side].commit;
	ret->trials_per_boot = per_boot < batch ? per_boot : batch;
	ret->boots = (batch + ret->trials_per_boot - 1) / ret->trials_per_boot;
	ret->p_bad = side;
	ret->build_s = build_s(b, ret->commit);
	ret->cost_s = ret->build_s + ret->boots * (b->cfg.cost.boot_s +
						   ret->trials_per_boot * b->cfg.cost.trial_s);
	snprintf(
		ret->why, sizeof(ret->why),
		"tests %.12s next because the ends must differ: good end %u of %u failed, bad end %u of "
		"%u, probability that they differ %.4f (wanted %.4g)",
		bisect_core_name(b, ret->commit), end[0].over, end[0].trials, end[1].over,
		end[1].trials, b->p_ends_differ, core_ends_enough(b, ret->p_answer));
}

static void build_text(double seconds, char *ret, size_t size)
{
	if (seconds > 0)
		snprintf(ret, size, "a build of about %.0f s", seconds);
	else
		snprintf(ret, size, "no build, its kernel is kept");
}

static void next_commit(const struct bisect_core *b, struct bisect_next *ret)
{
	unsigned per_boot = trials_per_boot(b);
	double rho = fmax(b->mean_rho[SIDE_GOOD], b->mean_rho[SIDE_BAD]);
	struct choice c;
	char build[64], chance[80];

	if (!choose(b, per_boot, &c))
		c.commit = BISECT_GOOD_END; /* all rounds to nothing: learn more about the rates */
	ret->commit = c.commit;
	ret->trials_per_boot = per_boot;
	ret->boots = (unsigned)ceil(c.trials * (1 + (per_boot - 1) * rho) / per_boot - 1e-9);
	if (!ret->boots)
		ret->boots = 1;
	ret->p_bad = bisect_core_p_bad(b, c.commit);
	ret->info_bits = c.bits;
	ret->build_s = c.build_s;
	ret->p_untestable = c.p_untestable;
	ret->cost_s =
		c.build_s + ret->boots * (b->cfg.cost.boot_s + per_boot * b->cfg.cost.trial_s);
	build_text(c.build_s, build, sizeof(build));
	if (c.commit == BISECT_GOOD_END || c.commit == b->g.n - 1)
		snprintf(chance, sizeof(chance), "how often %s commits fail is not clear enough",
			 c.commit == BISECT_GOOD_END ? "good" : "bad");
	else
		snprintf(chance, sizeof(chance), "it is bad with probability %.3f", ret->p_bad);
	snprintf(
		ret->why, sizeof(ret->why),
		"tests %.12s next because %s: %u boot%s of %u trial%s give about %.2f bit for %.0f s "
		"(%s), the most per hour",
		bisect_core_name(b, c.commit), chance, ret->boots, ret->boots == 1 ? "" : "s",
		per_boot, per_boot == 1 ? "" : "s", c.bits, ret->cost_s, build);
}

static void explain_end(const struct bisect_core *b, struct bisect_next *ret)
{
	auto_free uint32_t *answer = NULL;
	struct bisect_tested end[2] = {0};
	double p;
	size_t n;

	if (ret->state == BISECT_REFUSED) {
		bisect_core_tested(b, core_find_tested(b, BISECT_GOOD_END), &end[0]);
		bisect_core_tested(b, core_find_tested(b, (uint32_t)b->g.n - 1), &end[1]);
		snprintf(ret->why, sizeof(ret->why),
			 "refused: the ends cannot be told apart, there is nothing to bisect: good "
			 "end %u of %u failed (%u boots), bad end %u of %u (%u boots), probability "
			 "that they differ %.4f (wanted %g)",
			 end[0].over, end[0].trials, end[0].boots, end[1].over, end[1].trials,
			 end[1].boots, b->p_ends_differ, b->cfg.ends_confidence);
		return;
	}
	n = bisect_core_answer(b, &answer, &p);
	if (n == 1)
		snprintf(ret->why, sizeof(ret->why),
			 "%s is the first bad commit with probability %.4f (wanted %g)",
			 bisect_core_name(b, answer[0]), p, b->cfg.target);
	else
		snprintf(ret->why, sizeof(ret->why),
			 "the first bad commit is one of %zu with probability %.4f (wanted %g); %s",
			 n, p, b->cfg.target,
			 ret->state == BISECT_DONE ? "only untestable commits lie between them"
						   : "no more trials are allowed or possible");
}

void bisect_core_next(const struct bisect_core *b, struct bisect_next *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->state = core_state(b, &ret->p_answer);
	if (ret->state == BISECT_MEASURING_ENDS)
		next_end(b, ret);
	else if (ret->state == BISECT_SEARCHING)
		next_commit(b, ret);
	else
		explain_end(b, ret);
}

/* ---- what is to come ---- */

/* Kullback-Leibler divergence of two rates in bits. */
static double divergence(double p, double q)
{
	return p * log2(p / q) + (1 - p) * log2((1 - p) / (1 - q));
}

/*
 * Burnashev 1976: with feedback, H bits over a channel take about H / C trials and another
 * log2(1 / (1 - target)) / D to be sure, D the larger divergence of the two kinds of commits. A
 * tested commit yields about the information of the trials that are worth their time on it.
 */
void bisect_core_estimate(const struct bisect_core *b, struct bisect_estimate *ret)
{
	const struct bisect_cost *cost = &b->cfg.cost;
	enum bisect_state state = core_state(b, NULL);
	double per_trial = 0, surely, per_commit = 0, best = 0, build, left, over[2];
	struct table table;

	memset(ret, 0, sizeof(*ret));
	for (size_t c = 0; c < b->g.n; c++)
		ret->entropy_bits += entropy_term(b->post[c]);
	if (state != BISECT_SEARCHING && state != BISECT_MEASURING_ENDS)
		return;

	for (unsigned side = 0; side < 2; side++)
		over[side] = looks_like_stall(b, b->mean[side]);
	surely = fmax(divergence(over[1], over[0]), divergence(over[0], over[1]));
	build = b->used.builds ? fmin(cost->build_warm_s, cost->build_cold_s) : cost->build_warm_s;
	table_init(b, build, cost->boot_s + cost->trial_s, &table);
	/* the capacity of the channel, trial_counts[0] being 1 */
	for (unsigned step = 0; step <= STEPS; step++)
		per_trial = fmax(per_trial, table_row(&table, step)[0]);
	for (unsigned i = 0; i < N_COUNTS; i++) {
		double bits = table_row(&table, STEPS / 2)[i];
		double rate = bits / (build + trial_counts[i] * (cost->boot_s + cost->trial_s));

		if (rate > best) {
			best = rate;
			per_commit = bits;
		}
	}
	left = ret->entropy_bits;
	ret->trials = left / per_trial + log2(1 / (1 - b->cfg.target)) / surely;
	if (!b->rates.is_known)
		ret->trials *= UNKNOWN_RATES_PRICE;
	ret->builds = left / fmin(1, BITS_OF_A_COMMIT * per_commit) + 1;
	ret->hours = 0;
	if (state == BISECT_MEASURING_ENDS) {
		size_t good = core_find_tested(b, BISECT_GOOD_END);
		size_t bad = core_find_tested(b, (uint32_t)b->g.n - 1);
		double at_least = 2.0 * b->cfg.ends_min_trials;
		double done = (good < b->n_tested ? b->tested[good].trials : 0) +
			      (bad < b->n_tested ? b->tested[bad].trials : 0);

		ret->trials += fmax(at_least, log2(1 / (1 - b->cfg.ends_confidence)) / surely) -
			       fmin(done, at_least);
		ret->builds += 2 - fmin(b->used.builds, 2);
	}
	ret->boots = ret->trials / trials_per_boot(b);
	ret->hours =
		(ret->builds * build + ret->boots * cost->boot_s + ret->trials * cost->trial_s) /
		3600;
	if (b->used.builds == 0)
		ret->hours += fmax(cost->build_cold_s - build, 0) / 3600;
}
