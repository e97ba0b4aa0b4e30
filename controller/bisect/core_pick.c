/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_pick.c - which commit to test next, with how many trials, and what is still to come. */
#include "core_priv.h"

#include <math.h>
#include <string.h>

#define STEPS        64u  /* of the probability that a commit is bad, in tables of information */
#define UNKNOWN_BASE 0.02 /* probability that a commit without untestable neighbours is one */
#define UNKNOWN_NEAR 0.9  /* that one right beside an untestable one is */

static const unsigned trial_counts[] = {1, 2, 4, 8, 16, 32};
#define N_COUNTS ARRAY_SIZE(trial_counts)

static double entropy_term(double p)
{
	return p > 0 ? -p * log2(p) : 0;
}

/* What a trial tells when only "rather a stall" or "rather quiet" is asked of it. */
struct channel {
	double over[2]; /* by side */
};

static struct channel channel_of(const struct bisect_core *b)
{
	double quiet = 0, stall = 1;
	struct channel ch;

	if (b->delay.is_usable) {
		quiet = delay_stall_share(&b->delay, 0);
		stall = delay_stall_share(&b->delay, 1);
	}
	for (unsigned side = 0; side < 2; side++) {
		double f = b->mean[side] * stall + (1 - b->mean[side]) * quiet;

		ch.over[side] = fmin(fmax(f, 1e-4), 1 - 1e-4);
	}
	return ch;
}

/* P(k of m trials fail). */
static void binomial(double f, unsigned m, double *ret)
{
	ret[0] = pow(1 - f, m);
	for (unsigned k = 0; k < m; k++)
		ret[k + 1] = ret[k] * (m - k) / (k + 1.0) * f / (1 - f);
}

/*
 * Mutual information, in bits, between "this commit is bad" and the number of failures in m trials:
 * the entropy of the outcome less what is left of it once good or bad is known. It is also the
 * expected information about the culprit, which decides good or bad.
 */
static double information(const double *good, const double *bad, unsigned m, double p)
{
	double bits = 0;

	for (unsigned k = 0; k <= m; k++)
		bits += entropy_term(p * bad[k] + (1 - p) * good[k]) - p * entropy_term(bad[k]) -
			(1 - p) * entropy_term(good[k]);
	return fmax(bits, 0);
}

struct table {
	double bits[N_COUNTS][STEPS + 1];
};

static void fill_table(const struct channel *ch, struct table *t)
{
	double good[33], bad[33];

	for (unsigned i = 0; i < N_COUNTS; i++) {
		unsigned m = trial_counts[i];

		binomial(ch->over[SIDE_GOOD], m, good);
		binomial(ch->over[SIDE_BAD], m, bad);
		for (unsigned k = 0; k <= STEPS; k++)
			t->bits[i][k] = information(good, bad, m, (double)k / STEPS);
	}
}

static double look_up(const double *bits, double p)
{
	double x = fmin(fmax(p, 0), 1) * STEPS;
	unsigned k = (unsigned)x;

	return k >= STEPS ? bits[STEPS] : bits[k] + (x - k) * (bits[k + 1] - bits[k]);
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
static void distances(const struct bisect_core *b, double *ret)
{
	auto_free uint64_t *bits = NULL;
	auto_free double *one = NULL;
	double mine;

	if (b->cfg.cost.build_per_commit_s <= 0 || b->last_built == GRAPH_NONE) {
		memset(ret, 0, b->g.n * sizeof(*ret));
		return;
	}
	bits = xcalloc(graph_bits_words(&b->g), sizeof(*bits));
	one = xcalloc(b->g.n, sizeof(*one));
	graph_ancestor_bits(&b->g, b->last_built, bits);
	for (uint32_t c = 0; c < b->g.n; c++)
		one[c] = graph_bit(bits, c);
	graph_sum_ancestors(&b->g, one, ret);
	mine = b->g.count[b->last_built];
	for (uint32_t c = 0; c < b->g.n; c++)
		ret[c] = mine + b->g.count[c] - 2 * ret[c];
}

static double build_s(const struct bisect_core *b, bool is_cached, double distance)
{
	const struct bisect_cost *cost = &b->cfg.cost;

	if (is_cached)
		return 0;
	if (b->used.builds == 0)
		return cost->build_cold_s;
	return fmin(fmax(cost->build_cold_s, cost->build_warm_s),
		    cost->build_warm_s + cost->build_per_commit_s * distance);
}

/*
 * Probability that a commit is untestable, from the nearest known ones on either side in the order
 * of the commits: breakage comes in runs. Between two untestable commits without a testable one in
 * between it is near certain; beyond one it fades over the length of the longest known run, at
 * least a hundredth of the history.
 */
static void guess_untestable(const struct bisect_core *b, double *ret)
{
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

	for (unsigned pass = 0; pass < 2; pass++) {
		size_t nearest = n; /* n = none, or a testable one came after it */

		for (size_t i = 0; i < n; i++) {
			size_t c = pass ? n - 1 - i : i;
			double p = 0;

			if (is_fine[c])
				nearest = n;
			if (b->is_untestable[c])
				nearest = c;
			if (nearest != n) {
				size_t d = nearest > c ? nearest - c : c - nearest;

				p = UNKNOWN_NEAR * exp(-(double)d / run);
			}
			if (!pass)
				ret[c] = p;
			else
				ret[c] = ret[c] > 0 && p > 0 ? UNKNOWN_NEAR : fmax(ret[c], p);
			if (pass)
				ret[c] = fmax(ret[c], is_fine[c] ? 0 : UNKNOWN_BASE);
		}
	}
}

struct choice {
	uint32_t commit;
	unsigned trials; /* independent ones that its boots are worth */
	double bits, rate, build_s, p_untestable;
};

/* The commit and number of trials with the most expected information per second. */
static bool choose(const struct bisect_core *b, const struct channel *ch, unsigned per_boot,
		   struct choice *ret)
{
	auto_free double *distance = xcalloc(b->g.n, sizeof(*distance));
	auto_free double *p_untestable = xcalloc(b->g.n, sizeof(*p_untestable));
	double rho = fmax(b->mean_rho[SIDE_GOOD], b->mean_rho[SIDE_BAD]);
	double worth = per_boot / (1 + (per_boot - 1) * rho); /* independent trials of a boot */
	double trial_s = (b->cfg.cost.boot_s + per_boot * b->cfg.cost.trial_s) / worth;
	struct table table;
	bool has_one = false;

	fill_table(ch, &table);
	distances(b, distance);
	guess_untestable(b, p_untestable);
	for (uint32_t c = 0; c < b->g.n; c++) {
		double p = b->p_bad[c], build, works = 1 - p_untestable[c];

		if (b->is_untestable[c] || p < 1e-12 || p > 1 - 1e-12)
			continue;
		build = build_s(b, b->is_cached[c], distance[c]);
		for (unsigned i = 0; i < N_COUNTS; i++) {
			double bits = works * look_up(table.bits[i], p);
			double rate = bits / (build + works * trial_counts[i] * trial_s);

			if (has_one && rate <= ret->rate * (1 + 1e-9))
				continue;
			*ret = (struct choice){.commit = c,
					       .trials = trial_counts[i],
					       .bits = bits,
					       .rate = rate,
					       .build_s = build,
					       .p_untestable = p_untestable[c]};
			has_one = true;
		}
	}
	return has_one;
}

/* ---- the next test ---- */

static void next_end(const struct bisect_core *b, struct bisect_next *ret)
{
	uint32_t tip = (uint32_t)b->g.n - 1;
	struct bisect_tested end[2] = {{.commit = BISECT_GOOD_END}, {.commit = tip}};
	unsigned side, batch;

	for (side = 0; side < 2; side++) {
		size_t i = core_find_tested(b, end[side].commit);

		if (i < b->n_tested)
			bisect_core_tested(b, i, &end[side]);
	}
	/* the one with fewer trials; the bad end first, it shows whether the failure is seen */
	side = end[SIDE_GOOD].trials < end[SIDE_BAD].trials ? SIDE_GOOD : SIDE_BAD;
	if (end[side].trials >= b->cfg.ends_min_trials)
		batch = 1;
	else
		batch = b->cfg.ends_min_trials - end[side].trials;

	ret->commit = end[side].commit;
	ret->trials_per_boot = 1;
	ret->boots = batch;
	ret->p_bad = side;
	ret->build_s = build_s(b, side ? b->is_cached[tip] : b->is_good_end_cached, (double)b->g.n);
	ret->cost_s = ret->build_s + batch * (b->cfg.cost.boot_s + b->cfg.cost.trial_s);
	snprintf(ret->why, sizeof(ret->why),
		 "tests %s next because the ends are measured first: good end %u of %u failed, bad "
		 "end %u of %u, probability that they differ %.4f (wanted %g)",
		 bisect_core_name(b, ret->commit), end[0].over, end[0].trials, end[1].over,
		 end[1].trials, b->p_ends_differ, b->cfg.ends_confidence);
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
	struct channel ch = channel_of(b);
	unsigned per_boot = trials_per_boot(b);
	double rho = fmax(b->mean_rho[SIDE_GOOD], b->mean_rho[SIDE_BAD]);
	struct choice c = {0};
	char build[64];

	if (!choose(b, &ch, per_boot, &c))
		return;
	ret->commit = c.commit;
	ret->trials_per_boot = per_boot;
	ret->boots = (unsigned)ceil(c.trials * (1 + (per_boot - 1) * rho) / per_boot - 1e-9);
	ret->p_bad = b->p_bad[c.commit];
	ret->info_bits = c.bits;
	ret->build_s = c.build_s;
	ret->p_untestable = c.p_untestable;
	ret->cost_s =
		c.build_s + ret->boots * (b->cfg.cost.boot_s + per_boot * b->cfg.cost.trial_s);
	build_text(c.build_s, build, sizeof(build));
	snprintf(ret->why, sizeof(ret->why),
		 "tests %s next because it is bad with probability %.3f: %u boot%s of %u trial%s "
		 "give about %.2f bit for %.0f s (%s), the most per hour",
		 bisect_core_name(b, c.commit), ret->p_bad, ret->boots, ret->boots == 1 ? "" : "s",
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
	ret->state = core_state(b);
	if (ret->state == BISECT_MEASURING_ENDS)
		next_end(b, ret);
	else if (ret->state == BISECT_SEARCHING)
		next_commit(b, ret);
	else
		explain_end(b, ret);
}

/* ---- what is to come ---- */

/* Capacity of the channel: the most information that one trial can give, in bits. */
static double capacity(const struct channel *ch)
{
	double good[2], bad[2], best = 0;

	binomial(ch->over[SIDE_GOOD], 1, good);
	binomial(ch->over[SIDE_BAD], 1, bad);
	for (unsigned k = 1; k < STEPS; k++)
		best = fmax(best, information(good, bad, 1, (double)k / STEPS));
	return best;
}

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
	struct channel ch = channel_of(b);
	enum bisect_state state = core_state(b);
	double per_trial = capacity(&ch), surely, per_commit = 0, best = 0, build, left;
	struct table table;

	memset(ret, 0, sizeof(*ret));
	for (size_t c = 0; c < b->g.n; c++)
		ret->entropy_bits += entropy_term(b->post[c]);
	if (state != BISECT_SEARCHING && state != BISECT_MEASURING_ENDS)
		return;

	surely = fmax(divergence(ch.over[1], ch.over[0]), divergence(ch.over[0], ch.over[1]));
	build = b->used.builds ? fmin(cost->build_warm_s, cost->build_cold_s) : cost->build_warm_s;
	fill_table(&ch, &table);
	for (unsigned i = 0; i < N_COUNTS; i++) {
		double bits = table.bits[i][STEPS / 2];
		double rate = bits / (build + trial_counts[i] * (cost->boot_s + cost->trial_s));

		if (rate > best) {
			best = rate;
			per_commit = bits;
		}
	}
	left = ret->entropy_bits;
	ret->trials = left / per_trial + log2(1 / (1 - b->cfg.target)) / surely;
	ret->builds = left / per_commit + 1;
	ret->hours = 0;
	if (state == BISECT_MEASURING_ENDS) {
		size_t good = core_find_tested(b, BISECT_GOOD_END);
		size_t bad = core_find_tested(b, (uint32_t)b->g.n - 1);
		double at_least = 2.0 * b->cfg.ends_min_trials;
		double done = (good < b->n_tested ? b->tested[good].trials : 0) +
			      (bad < b->n_tested ? b->tested[bad].trials : 0);

		ret->trials += fmax(at_least, 2 * log2(1 / (1 - b->cfg.ends_confidence)) / surely) -
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
