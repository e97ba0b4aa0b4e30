/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge.c - from trials to the verdict of a kernel build under a scenario. */
#include "judge/judge.h"

#include <math.h>
#include <string.h>

#define CLUSTER_SIGNIFICANCE 0.05 /* below it the outcomes follow the boot and not the trial */

static const struct {
	const char *name;
	int exit_code;
} verdicts[VERDICT_MAX] = {
	[VERDICT_PASS] = {"PASS", 0},
	[VERDICT_FAIL] = {"FAIL", 1},
	[VERDICT_INCONCLUSIVE] = {"INCONCLUSIVE", 125},
	[VERDICT_UNTESTABLE] = {"UNTESTABLE", 125},
	[VERDICT_RIG_FAULT] = {"RIG-FAULT", 130},
};

const char *verdict_name(enum verdict v)
{
	if ((unsigned)v >= VERDICT_MAX)
		return "unknown";
	return verdicts[v].name;
}

bool verdict_parse(const char *name, enum verdict *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		if (strcmp(name, verdicts[i].name) == 0) {
			*ret = (enum verdict)i;
			return true;
		}
	return false;
}

unsigned verdict_weight(enum verdict v)
{
	static const unsigned weights[VERDICT_MAX] = {
		[VERDICT_PASS] = 0, [VERDICT_INCONCLUSIVE] = 1, [VERDICT_UNTESTABLE] = 2,
		[VERDICT_FAIL] = 3, [VERDICT_RIG_FAULT] = 4,
	};

	return v < VERDICT_MAX ? weights[v] : VERDICT_MAX;
}

int verdict_exit_code(enum verdict v)
{
	if ((unsigned)v >= VERDICT_MAX)
		return verdicts[VERDICT_RIG_FAULT].exit_code;
	return verdicts[v].exit_code;
}

/* A measured outcome: what is left of a valid trial. */
struct outcome {
	unsigned boot;
	bool is_over;
};

/* The trials sorted into what they are; each array has room for all of them. */
struct tally {
	struct outcome *outcomes; /* of the valid trials */
	int64_t *worst_us;        /* of the valid trials */
	const char **missing;     /* of the invalid trials */
	const char **crash;       /* of the crashes */
	unsigned rig_to_blame;    /* invalid trials that are the bench's doing */
};

static void tally_release(struct tally *t)
{
	util_free(t->outcomes);
	util_free(t->worst_us);
	util_free(t->missing);
	util_free(t->crash);
}

static const char *or_unknown(const char *s)
{
	return s && *s ? s : "unknown";
}

static void tally_trials(const struct judge_input *in, struct tally *t, struct judge_result *res)
{
	t->outcomes = xcalloc(in->n, sizeof(*t->outcomes));
	t->worst_us = xcalloc(in->n, sizeof(*t->worst_us));
	t->missing = xcalloc(in->n, sizeof(*t->missing));
	t->crash = xcalloc(in->n, sizeof(*t->crash));

	for (size_t i = 0; i < in->n; i++) {
		const struct judge_trial *trial = &in->trials[i];

		if (trial->crash) {
			t->crash[res->crashes++] = or_unknown(trial->crash);
		} else if (!trial->is_valid) {
			t->missing[res->invalid++] = or_unknown(trial->missing);
			t->rig_to_blame += trial->is_rig_to_blame;
		} else if (trial->worst_us < 0) {
			/* without a measurement "nothing over the limit" would be silence */
			t->missing[res->invalid++] = "probe-running";
		} else {
			bool is_over = trial->worst_us > in->limit_us || trial->is_outside;

			t->outcomes[res->valid] = (struct outcome){trial->boot, is_over};
			t->worst_us[res->valid++] = trial->worst_us;
			res->over += is_over;
		}
	}
}

static int compare_boots(const void *a, const void *b)
{
	const struct outcome *x = a;
	const struct outcome *y = b;

	return (x->boot > y->boot) - (x->boot < y->boot);
}

/* Counts the boots behind the valid trials and decides whether they are the unit. */
static void weigh_boots(struct tally *t, struct judge_result *res)
{
	auto_free unsigned *over = xcalloc(res->valid, sizeof(*over));
	auto_free unsigned *total = xcalloc(res->valid, sizeof(*total));

	qsort(t->outcomes, res->valid, sizeof(*t->outcomes), compare_boots);
	for (unsigned i = 0; i < res->valid; i++) {
		if (i == 0 || t->outcomes[i].boot != t->outcomes[i - 1].boot)
			res->boots++;
		total[res->boots - 1]++;
		over[res->boots - 1] += t->outcomes[i].is_over;
	}
	for (unsigned i = 0; i < res->boots; i++)
		res->boots_over += over[i] > 0;

	res->is_clustered = stats_cluster_p(over, total, res->boots) < CLUSTER_SIGNIFICANCE;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* n > 0. Of equally frequent names the first in the alphabet, so that their order is no matter. */
static const char *most_frequent(const char **names, unsigned n, unsigned *ret_count)
{
	const char *best = NULL;
	unsigned count = 0;

	*ret_count = 0;
	qsort(names, n, sizeof(*names), compare_strings);
	for (unsigned i = 0; i < n; i++) {
		count = i > 0 && strcmp(names[i], names[i - 1]) == 0 ? count + 1 : 1;
		if (count > *ret_count) {
			*ret_count = count;
			best = names[i];
		}
	}
	return best;
}

#define AMOUNT_MAX 32

/* "50 ms", "0.5 ms". */
static void format_ms(char ret[AMOUNT_MAX], int64_t us)
{
	(void)snprintf(ret, AMOUNT_MAX, "%.10g ms", (double)us / 1000);
}

/* "32 %", "0.6 %": whole percents, below 1 % one digit, rounded away from a bolder claim. */
static void format_bound(char ret[AMOUNT_MAX], double rate, bool is_upper)
{
	const double noise = 1e-9; /* of the bisection, must not push 5 % up to 6 % */
	double percent = rate * 100;
	double scale = 1;

	while (percent * scale < 1 && scale < 1e9)
		scale *= 10;
	percent = is_upper ? ceil(percent * scale - noise) : floor(percent * scale + noise);
	(void)snprintf(ret, AMOUNT_MAX, "%.10g %%", percent / scale);
}

static const char *plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

/* "8 of 8 (2 boots) over 50 ms" and, if outcomes follow the boot, how many boots. */
static int describe_counts(const struct judge_input *in, const struct judge_result *res, char *ret,
			   size_t cap)
{
	char limit[AMOUNT_MAX];
	bool has_outside = false;

	for (size_t i = 0; i < in->n; i++)
		has_outside |= in->trials[i].is_valid && in->trials[i].is_outside;
	if (has_outside)
		(void)snprintf(limit, sizeof(limit), "a limit");
	else
		format_ms(limit, in->limit_us);
	if (res->is_clustered)
		return snprintf(ret, cap,
				"%u of %u over %s, following the boot: %u of %u boots over",
				res->over, res->valid, limit, res->boots_over, res->boots);
	return snprintf(ret, cap, "%u of %u (%u boot%s) over %s", res->over, res->valid, res->boots,
			plural(res->boots), limit);
}

enum bounds { BOUNDS_LOW = 1, BOUNDS_HIGH = 2 };

/* The claim with its bounds: "0 of 8 (2 boots) over 50 ms: P(over) < 32 % at 95 %". */
static void describe_claim(const struct judge_input *in, struct judge_result *res, unsigned bounds)
{
	const char *rate = res->is_clustered ? "P(boot over)" : "P(over)";
	char low[AMOUNT_MAX], high[AMOUNT_MAX], claim[3 * AMOUNT_MAX], invalid[AMOUNT_MAX] = "";
	char counts[128];

	format_bound(low, res->over_low, false);
	format_bound(high, res->over_high, true);
	if (bounds == (BOUNDS_LOW | BOUNDS_HIGH))
		(void)snprintf(claim, sizeof(claim), "%s > %s and < %s, each", rate, low, high);
	else if (bounds == BOUNDS_LOW)
		(void)snprintf(claim, sizeof(claim), "%s > %s", rate, low);
	else
		(void)snprintf(claim, sizeof(claim), "%s < %s", rate, high);
	if (res->invalid)
		(void)snprintf(invalid, sizeof(invalid), "; %u invalid", res->invalid);

	(void)describe_counts(in, res, counts, sizeof(counts));
	(void)snprintf(res->strength, sizeof(res->strength), "%s: %s at %.6g %%%s", counts, claim,
		       in->confidence * 100, invalid);
}

static void set_reason(struct judge_result *res, enum verdict v, const char *prefix,
		       const char *code)
{
	res->verdict = v;
	(void)snprintf(res->reason, sizeof(res->reason), "%s%s", prefix, code);
}

/*
 * Splits "rig.qemu-ended: QEMU ended with …" into reason and strength. A text without a code gets
 * the code "<prefix>fault".
 */
static void end_by_text(struct judge_result *res, enum verdict v, const char *prefix,
			const char *text)
{
	static const char code_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
	size_t len = strspn(text, code_chars);
	char code[sizeof(res->reason)] = "fault";

	if (len > 0 && len < sizeof(code) && text[len] == ':') {
		memcpy(code, text, len);
		code[len] = '\0';
		text += len + 1;
		text += strspn(text, " ");
	}
	set_reason(res, v, strncmp(code, prefix, strlen(prefix)) == 0 ? "" : prefix, code);
	(void)snprintf(res->strength, sizeof(res->strength), "%s", text);
}

static void end_by_crash(const struct judge_input *in, struct tally *t, struct judge_result *res)
{
	unsigned count;
	const char *signature = most_frequent(t->crash, res->crashes, &count);
	char others[2 * AMOUNT_MAX] = "";

	if (count < res->crashes)
		(void)snprintf(others, sizeof(others), " (and %u other%s)", res->crashes - count,
			       plural(res->crashes - count));
	set_reason(res, VERDICT_FAIL, "", "crash");
	(void)snprintf(res->strength, sizeof(res->strength), "%u of %zu trial%s crashed: %s%s",
		       res->crashes, in->n, plural((unsigned)in->n), signature, others);
}

/* Below 0: inside. How far the interval's better end is outside the limit, as a factor - 1. */
static double surely_outside(const struct judge_ratio *q)
{
	double below = q->min > 0 && q->high > 0 ? q->min / q->high - 1
		       : q->min > 0              ? INFINITY
						 : -1;
	double above = q->max > 0 ? q->low / q->max - 1 : -1;

	return q->is_unknown ? -1 : below > above ? below : above;
}

bool judge_ratio_is_outside(const struct judge_ratio *q)
{
	return surely_outside(q) > 0;
}

static bool is_surely_inside(const struct judge_ratio *q)
{
	return !q->is_unknown && (!(q->min > 0) || q->low >= q->min) &&
	       (!(q->max > 0) || q->high <= q->max);
}

/* "nvme_2_iops x 0.021 of the baseline (0.018 to 0.025), limit 0.8" */
static int describe_ratio(const struct judge_ratio *q, char *ret, size_t cap)
{
	bool is_min = q->min > 0;

	if (q->is_unknown)
		return snprintf(ret, cap, "%s was measured on one side only", q->name);
	return snprintf(ret, cap, "%s x %.3g of the baseline (%.3g to %.3g), limit %s%.3g", q->name,
			q->ratio, q->low, q->high, is_min ? "" : "at most ",
			is_min ? q->min : q->max);
}

/* The ratio that is furthest outside its limit; NULL if none surely is. */
static const struct judge_ratio *find_outside(const struct judge_input *in,
					      struct judge_result *res)
{
	const struct judge_ratio *worst = NULL;

	res->n_ratios = (unsigned)in->n_ratios;
	for (size_t i = 0; i < in->n_ratios; i++) {
		const struct judge_ratio *q = &in->ratios[i];

		if (!judge_ratio_is_outside(q))
			continue;
		res->ratios_outside++;
		if (!worst || surely_outside(q) > surely_outside(worst))
			worst = q;
	}
	if (worst)
		(void)snprintf(res->worst_ratio, sizeof(res->worst_ratio), "%s", worst->name);
	return worst;
}

/* The ratio that says least for a PASS; NULL if each is surely inside. */
static const struct judge_ratio *find_unsure(const struct judge_input *in)
{
	const struct judge_ratio *worst = NULL;

	for (size_t i = 0; i < in->n_ratios; i++) {
		const struct judge_ratio *q = &in->ratios[i];

		if (!is_surely_inside(q) &&
		    (!worst || q->is_unknown || (!worst->is_unknown && q->low < worst->low)))
			worst = q;
	}
	return worst;
}

static void end_by_ratio(struct judge_result *res, enum verdict v, const char *code,
			 const struct judge_ratio *q)
{
	int len = describe_ratio(q, res->strength, sizeof(res->strength));

	set_reason(res, v, "", code);
	(void)snprintf(res->strength + len, sizeof(res->strength) - (size_t)len,
		       "; %u of %u numbers outside; %u valid trial%s", res->ratios_outside,
		       res->n_ratios, res->valid, plural(res->valid));
}

/* All that was planned is there and no trial is over: now the baseline has its say. */
static void end_by_plan(const struct judge_input *in, struct judge_result *res)
{
	const struct judge_ratio *unsure = find_unsure(in);
	size_t len;

	if (in->no_baseline) {
		set_reason(res, VERDICT_INCONCLUSIVE, "", "no-baseline");
		(void)snprintf(res->strength, sizeof(res->strength), "%s", in->no_baseline);
		return;
	}
	if (unsure) {
		end_by_ratio(res, VERDICT_INCONCLUSIVE, "straddles-baseline", unsure);
		return;
	}
	set_reason(res, VERDICT_PASS, "", "none-over");
	describe_claim(in, res, BOUNDS_HIGH);
	len = strlen(res->strength);
	if (in->n_ratios)
		(void)snprintf(res->strength + len, sizeof(res->strength) - len,
			       "; %u number%s not worse than the baseline's by more than the limit",
			       res->n_ratios, plural(res->n_ratios));
}

static void end_without_claim(const struct judge_input *in, struct tally *t,
			      struct judge_result *res)
{
	const char *name;
	unsigned count;

	if (res->invalid == 0) {
		int len = describe_counts(in, res, res->strength, sizeof(res->strength));

		set_reason(res, VERDICT_INCONCLUSIVE, "", "too-few-trials");
		(void)snprintf(res->strength + len, sizeof(res->strength) - (size_t)len,
			       ", %u planned", in->planned_valid);
		return;
	}

	name = most_frequent(t->missing, res->invalid, &count);
	set_reason(res,
		   t->rig_to_blame > res->invalid / 2 ? VERDICT_RIG_FAULT : VERDICT_INCONCLUSIVE,
		   "evidence.", name);
	(void)snprintf(res->strength, sizeof(res->strength),
		       "%u valid of %u planned; %u invalid, %u of them without %s", res->valid,
		       in->planned_valid, res->invalid, count, name);
}

static void decide(const struct judge_input *in, struct tally *t, struct judge_result *res)
{
	const struct judge_ratio *outside = find_outside(in, res);

	/* a machine that died of a kernel bug did so whatever the bench did afterwards */
	if (res->crashes > 0) {
		end_by_crash(in, t, res);
	} else if (in->rig_fault) {
		end_by_text(res, VERDICT_RIG_FAULT, "rig.", in->rig_fault);
	} else if (in->untestable) {
		end_by_text(res, VERDICT_UNTESTABLE, "kernel.", in->untestable);
	} else if (res->over > 0 && res->over_low > in->tolerated_over) {
		set_reason(res, VERDICT_FAIL, "", "over-limit");
		describe_claim(in, res, BOUNDS_LOW);
	} else if (outside) {
		end_by_ratio(res, VERDICT_FAIL, "outside-baseline", outside);
	} else if (res->over > 0) {
		set_reason(res, VERDICT_INCONCLUSIVE, "", "straddles-limit");
		describe_claim(in, res, BOUNDS_LOW | BOUNDS_HIGH);
	} else if (res->valid >= in->planned_valid && res->over_high < 1) {
		/* the bound is below 1 only if there are valid trials and a confidence */
		end_by_plan(in, res);
	} else {
		end_without_claim(in, t, res);
	}
}

static void add_failed_boots(unsigned n, struct judge_result *res)
{
	size_t len = strlen(res->strength);

	(void)snprintf(res->strength + len, sizeof(res->strength) - len, "; %u boot%s failed", n,
		       plural(n));
}

void judge_run(const struct judge_input *in, struct judge_result *ret)
{
	struct judge_result res = {.worst_us = -1, .p50_us = -1, .p99_us = -1};
	struct tally t = {0};
	unsigned units, units_over;

	tally_trials(in, &t, &res);
	weigh_boots(&t, &res);
	if (res.valid > 0) {
		res.p50_us = stats_median_i64(t.worst_us, res.valid);
		res.worst_us = t.worst_us[res.valid - 1];
		/* nearest rank, 1 + (n - 1) * 99 / 100 rounded up */
		res.p99_us = t.worst_us[(99 * (uint64_t)res.valid + 99) / 100 - 1];
	}

	units = res.is_clustered ? res.boots : res.valid;
	units_over = res.is_clustered ? res.boots_over : res.over;
	res.over_low = stats_binomial_low(units_over, units, in->confidence);
	res.over_high = stats_binomial_high(units_over, units, in->confidence);

	decide(in, &t, &res);
	/* a run that they ended tells of them itself */
	if (in->failed_boots && !in->rig_fault && !in->untestable)
		add_failed_boots(in->failed_boots, &res);
	tally_release(&t);
	*ret = res;
}
