/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c - from a run's trials, its limits and its baseline to the verdict. */
#include "trial/run_compare.h"
#include "trial/scenario.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

/*
 * One-sided. A run may end early by looking after each trial at each number, so this is far above
 * the confidence of a verdict.
 */
#define EARLY_CONFIDENCE 0.999
/* a boot that is slow as a whole, whatever the reason, is one outcome */
#define EARLY_BOOTS_MIN 2u

struct run_limit *run_add_limit(struct run *r, const char *name)
{
	r->limits = xrealloc(r->limits, r->n_limits + 1, sizeof(*r->limits));
	r->limits[r->n_limits] = (struct run_limit){.name = xstrdup(name)};
	return &r->limits[r->n_limits++];
}

bool scenario_needs_baseline(const struct scenario *sc)
{
	for (unsigned i = 0; i < sc->limits_count; i++)
		if (sc->limits[i].min_baseline_pct || sc->limits[i].max_baseline_pct)
			return true;
	return false;
}

unsigned scenario_baseline_trials(const struct scenario *sc)
{
	return sc->trials.baseline ? sc->trials.baseline : sc->trials.valid;
}

void scenario_set_limits(const struct scenario *sc, struct run *r)
{
	for (size_t i = 0; i < r->n_limits; i++)
		util_free(r->limits[i].name);
	r->n_limits = 0;
	for (unsigned i = 0; i < sc->limits_count; i++) {
		const struct scenario_limit *from = &sc->limits[i];
		struct run_limit *to = run_add_limit(r, from->name);

		to->has_min = from->min != NULL;
		to->has_max = from->max != NULL;
		to->min = from->min ? *from->min : 0;
		to->max = from->max ? *from->max : 0;
		to->min_ratio = from->min_baseline_pct / 100.0;
		to->max_ratio = from->max_baseline_pct / 100.0;
	}
}

bool run_needs_baseline(const struct run *r)
{
	for (size_t i = 0; i < r->n_limits; i++)
		if (r->limits[i].min_ratio > 0 || r->limits[i].max_ratio > 0)
			return true;
	return false;
}

void run_set_baseline(struct run *r, const struct run *base)
{
	struct run *copy = xcalloc(1, sizeof(*copy));

	copy->id = xstrdup(base->id);
	copy->kernel_label = xstrdup(base->kernel_label);
	copy->rig_class = xstrdup(base->rig_class);
	copy->arch = xstrdup(base->arch);
	copy->scenario = xstrdup(base->scenario);
	copy->scenario_sha256 = xstrdup(base->scenario_sha256);
	copy->boots = xcalloc(1, sizeof(*copy->boots));
	for (size_t i = 0; i < base->n_boots && copy->n_boots == 0; i++) {
		const char *environment = base->boots[i].environment;

		if (environment && *environment) {
			copy->boots[0].number = base->boots[i].number;
			copy->boots[0].environment = xstrdup(environment);
			copy->n_boots = 1;
		}
	}
	copy->trials = xcalloc(base->n_trials + 1, sizeof(*copy->trials));
	for (size_t i = 0; i < base->n_trials; i++) {
		const struct trial *from = base->trials[i];
		struct trial *to;

		if (!from->is_valid)
			continue;
		to = trial_new();
		to->number = from->number;
		to->boot = from->boot;
		to->is_valid = true;
		for (size_t k = 0; k < from->n_numbers; k++)
			trial_add_number(to, from->numbers[k].name, from->numbers[k].value);
		copy->trials[copy->n_trials++] = to;
	}
	run_free(r->baseline);
	r->baseline = copy;
}

static bool is_meant(const struct run_limit *l, const char *number)
{
	return fnmatch(l->name, number, 0) == 0;
}

/* Whether a number of the trial is outside a limit that needs no baseline. */
static bool is_outside(const struct run *r, const struct trial *t)
{
	for (size_t i = 0; i < r->n_limits; i++) {
		const struct run_limit *l = &r->limits[i];

		for (size_t k = 0; k < t->n_numbers; k++) {
			const struct trial_number *n = &t->numbers[k];

			if (is_meant(l, n->name) && ((l->has_min && n->value < l->min) ||
						     (l->has_max && n->value > l->max)))
				return true;
		}
	}
	return false;
}

/* The median of the baseline's valid trials; -1 if none has the number. */
static int64_t median_of_baseline(const struct run *base, const char *name)
{
	auto_free int64_t *values = xcalloc(base->n_trials + 1, sizeof(*values));
	size_t n = 0;
	int64_t v;

	for (size_t i = 0; i < base->n_trials; i++)
		if (base->trials[i]->is_valid && trial_number(base->trials[i], name, &v))
			values[n++] = v;
	return n ? stats_median_i64(values, n) : -1;
}

bool run_trial_is_outside(const struct run *r, const struct trial *t)
{
	if (is_outside(r, t))
		return true;
	for (size_t i = 0; r->baseline && i < r->n_limits; i++) {
		const struct run_limit *l = &r->limits[i];

		if (!(l->min_ratio > 0) && !(l->max_ratio > 0))
			continue;
		for (size_t k = 0; k < t->n_numbers; k++) {
			const struct trial_number *n = &t->numbers[k];
			int64_t base = is_meant(l, n->name)
					       ? median_of_baseline(r->baseline, n->name)
					       : -1;

			if (base > 0 &&
			    ((l->min_ratio > 0 && (double)n->value < l->min_ratio * (double)base) ||
			     (l->max_ratio > 0 && (double)n->value > l->max_ratio * (double)base)))
				return true;
		}
	}
	return false;
}

/* A number's values over the valid trials; both arrays have room for each trial. */
static struct compare_side values_of(const struct run *r, const char *name, int64_t *values,
				     unsigned *boots)
{
	struct compare_side side = {.values = values, .boots = boots};

	for (size_t i = 0; i < r->n_trials; i++) {
		int64_t v;

		if (!r->trials[i]->is_valid || !trial_number(r->trials[i], name, &v) || v < 0)
			continue;
		values[side.n] = v;
		boots[side.n++] = r->trials[i]->boot;
	}
	return side;
}

/* Numbers of the first valid trial of either run: one that is on one side only is missing. */
static const struct trial *first_valid(const struct run *r)
{
	for (size_t i = 0; i < r->n_trials; i++)
		if (r->trials[i]->is_valid)
			return r->trials[i];
	return NULL;
}

/* The ratio of one number with its interval at a one-sided confidence, for one limit. */
static struct judge_ratio ratio_of(const struct run *r, const struct run_limit *l, const char *name,
				   double confidence)
{
	/* the unit is 1: a rate or a count; what counts is the ratio and its interval */
	const struct compare_config config = {
		.resolution = 1, .min_ratio = 1.01, .confidence = 1 - 2 * (1 - confidence)};
	auto_free int64_t *a_values = xcalloc(r->baseline->n_trials + 1, sizeof(*a_values));
	auto_free int64_t *b_values = xcalloc(r->n_trials + 1, sizeof(*b_values));
	auto_free unsigned *a_boots = xcalloc(r->baseline->n_trials + 1, sizeof(*a_boots));
	auto_free unsigned *b_boots = xcalloc(r->n_trials + 1, sizeof(*b_boots));
	struct compare_side a = values_of(r->baseline, name, a_values, a_boots);
	struct compare_side b = values_of(r, name, b_values, b_boots);
	struct judge_ratio ret = {.min = l->min_ratio, .max = l->max_ratio};
	struct compare_result res;

	(void)snprintf(ret.name, sizeof(ret.name), "%s", name);
	if (compare_builds(&a, &b, &config, &res) < 0) {
		ret.is_unknown = true;
		return ret;
	}
	ret.ratio = res.ratio;
	ret.low = res.ratio_low;
	ret.high = res.ratio_high;
	return ret;
}

/* All ratios that the run's limits ask for. Caller frees. */
static struct judge_ratio *ratios_of(const struct run *r, double confidence, size_t *ret_n)
{
	const struct trial *sides[] = {first_valid(r->baseline), first_valid(r)};
	struct judge_ratio *list = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n_limits; i++) {
		const struct run_limit *l = &r->limits[i];

		if (!(l->min_ratio > 0) && !(l->max_ratio > 0))
			continue;
		for (size_t s = 0; s < 2; s++) {
			const struct trial *t = sides[s];
			int64_t unused;

			for (size_t k = 0; t && k < t->n_numbers; k++) {
				const char *name = t->numbers[k].name;

				if (!is_meant(l, name) ||
				    (s && sides[0] && trial_number(sides[0], name, &unused)))
					continue;
				list = xrealloc(list, n + 1, sizeof(*list));
				list[n++] = ratio_of(r, l, name, confidence);
			}
		}
	}
	*ret_n = n;
	return list;
}

/* Adds why the run cannot be held against its baseline; nothing if it can. */
static void add_no_baseline(const struct run *r, struct strbuf *why)
{
	if (!r->baseline)
		strbuf_adds(why, "no run of a baseline was given");
	else if (!first_valid(r->baseline))
		strbuf_addf(why, "run %s has no valid trial", r->baseline->id);
	else
		(void)run_differences(r->baseline, r, why);
}

static unsigned count_valid_boots(const struct run *r)
{
	unsigned n = 0, last = 0;

	for (size_t i = 0; i < r->n_trials; i++) {
		if (!r->trials[i]->is_valid || r->trials[i]->boot == last)
			continue;
		last = r->trials[i]->boot;
		n++;
	}
	return n;
}

bool run_is_surely_outside(const struct run *r)
{
	auto_free struct judge_ratio *ratios = NULL;
	auto_strbuf struct strbuf why = STRBUF_INIT;
	size_t n = 0;

	if (!run_needs_baseline(r) || count_valid_boots(r) < EARLY_BOOTS_MIN)
		return false;
	add_no_baseline(r, &why);
	if (why.len)
		return false;
	ratios = ratios_of(r, EARLY_CONFIDENCE, &n);
	for (size_t i = 0; i < n; i++)
		if (judge_ratio_is_outside(&ratios[i]))
			return true;
	return false;
}

void run_judge(struct run *r)
{
	auto_free struct judge_trial *trials = xcalloc(r->n_trials, sizeof(*trials));
	auto_free struct judge_ratio *ratios = NULL;
	auto_strbuf struct strbuf why = STRBUF_INIT;
	struct judge_input in = {
		.trials = trials,
		.n = r->n_trials,
		.planned_valid = r->planned_valid,
		.limit_us = r->limit_us,
		.tolerated_over = r->tolerated_over,
		.confidence = r->confidence,
		.rig_fault = r->rig_fault,
		.untestable = r->untestable,
	};

	for (size_t i = 0; i < r->n_boots; i++)
		in.failed_boots += r->boots[i].boot_ms < 0;
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = r->trials[i];
		struct judge_trial *j = &trials[i];

		j->boot = t->boot;
		j->worst_us = t->worst_us;
		if (t->is_crash) {
			j->crash = t->crash;
		} else if (t->is_valid) {
			j->is_valid = true;
			j->is_outside = is_outside(r, t);
		} else {
			j->missing = evidence_name(t->missing);
			j->is_rig_to_blame = evidence_blames_rig(t->missing);
		}
	}
	if (run_needs_baseline(r)) {
		add_no_baseline(r, &why);
		if (!why.len)
			ratios = ratios_of(r, r->confidence, &in.n_ratios);
		in.no_baseline = why.len ? strbuf_str(&why) : NULL;
		in.ratios = ratios;
	}
	judge_run(&in, &r->result);
}
