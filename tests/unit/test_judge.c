/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_judge.c - verdicts: known cases, and properties that no input may break. */
/* ctest: judge */
#include "base/rng.h"
#include "judge/judge.h"
#include "unit.h"

#define OK(b, us) ((struct judge_trial){.boot = (b), .is_valid = true, .worst_us = (us)})
#define BAD(b, m, rig)         \
	((struct judge_trial){ \
		.boot = (b), .missing = (m), .is_rig_to_blame = (rig), .worst_us = -1})
#define CRASH(b, sig) ((struct judge_trial){.boot = (b), .crash = (sig), .worst_us = -1})

#define TRIALS_MAX 32

static struct judge_input input(const struct judge_trial *trials, size_t n)
{
	return (struct judge_input){
		.trials = trials,
		.n = n,
		.planned_valid = 8,
		.limit_us = 50000,
		.tolerated_over = 0.01,
		.confidence = 0.95,
	};
}

static void test_verdicts_have_names_and_exit_codes(void **state)
{
	static const struct {
		const char *name;
		int exit_code;
	} cases[VERDICT_MAX] = {
		{"PASS", 0},         {"FAIL", 1},        {"INCONCLUSIVE", 125},
		{"UNTESTABLE", 125}, {"RIG-FAULT", 130},
	};
	enum verdict v;

	(void)state;
	for (size_t i = 0; i < VERDICT_MAX; i++) {
		assert_string_equal(verdict_name((enum verdict)i), cases[i].name);
		assert_int_equal(verdict_exit_code((enum verdict)i), cases[i].exit_code);
		assert_true(verdict_parse(cases[i].name, &v));
		assert_int_equal(v, i);
	}
	assert_false(verdict_parse("pass", &v));
	assert_false(verdict_parse("", &v));
	assert_string_equal(verdict_name(VERDICT_MAX), "unknown");
	assert_int_equal(verdict_exit_code(VERDICT_MAX), 130);
}

static void test_known_cases_get_their_verdict_reason_and_strength(void **state)
{
	static const struct {
		struct judge_trial trials[TRIALS_MAX];
		size_t n;
		const char *rig_fault, *untestable;
		enum verdict verdict;
		const char *reason, *strength;
	} cases[] = {
		{
			{OK(1, 900), OK(1, 800), OK(1, 700), OK(1, 600), OK(2, 500), OK(2, 400),
			 OK(2, 300), OK(2, 50000)},
			8,
			NULL,
			NULL,
			VERDICT_PASS,
			"none-over",
			"0 of 8 (2 boots) over 50 ms: P(over) < 32 % at 95 %",
		},
		{
			{OK(1, 90000), OK(1, 80000), OK(1, 70000), OK(1, 60000), OK(2, 50001),
			 OK(2, 340000), OK(2, 330000), OK(2, 75000)},
			8,
			NULL,
			NULL,
			VERDICT_FAIL,
			"over-limit",
			"8 of 8 (2 boots) over 50 ms: P(over) > 68 % at 95 %",
		},
		{
			/* FAIL needs no planned number */
			{OK(1, 90000), OK(1, 80000)},
			2,
			NULL,
			NULL,
			VERDICT_FAIL,
			"over-limit",
			"2 of 2 (1 boot) over 50 ms: P(over) > 22 % at 95 %",
		},
		{
			{OK(1, 1), OK(1, 1), OK(1, 1), OK(1, 1), OK(2, 1), OK(2, 1), OK(2, 1),
			 OK(2, 51000)},
			8,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"straddles-limit",
			"1 of 8 (2 boots) over 50 ms: P(over) > 0.6 % and < 48 %, each at 95 %",
		},
		{
			/* one boot of three stalls always: the boot is the unit */
			{OK(1, 1), OK(1, 1), OK(1, 1), OK(1, 1), OK(2, 90000), OK(2, 90000),
			 OK(2, 90000), OK(2, 90000), OK(3, 1), OK(3, 1), OK(3, 1), OK(3, 1)},
			12,
			NULL,
			NULL,
			VERDICT_FAIL,
			"over-limit",
			"4 of 12 over 50 ms, following the boot: 1 of 3 boots over: P(boot over) > 1 % "
			"at 95 %",
		},
		{
			/* the same trials spread evenly: the trial is the unit */
			{OK(1, 90000), OK(1, 1), OK(1, 1), OK(2, 90000), OK(2, 1), OK(2, 1),
			 OK(3, 90000), OK(3, 1), OK(3, 1), OK(4, 90000), OK(4, 1), OK(4, 1)},
			12,
			NULL,
			NULL,
			VERDICT_FAIL,
			"over-limit",
			"4 of 12 (4 boots) over 50 ms: P(over) > 12 % at 95 %",
		},
		{
			{OK(1, 1), OK(1, 1), OK(2, 1)},
			3,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"too-few-trials",
			"0 of 3 (2 boots) over 50 ms, 8 planned",
		},
		{
			{{0}},
			0,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"too-few-trials",
			"0 of 0 (0 boots) over 50 ms, 8 planned",
		},
		{
			{OK(1, 1), BAD(1, "cache-loaded", false), BAD(1, "cut-seen", true),
			 BAD(2, "cache-loaded", false)},
			4,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"evidence.cache-loaded",
			"1 valid of 8 planned; 3 invalid, 2 of them without cache-loaded",
		},
		{
			{BAD(1, "cut-seen", true), BAD(1, "cache-loaded", false),
			 BAD(2, "cut-seen", true)},
			3,
			NULL,
			NULL,
			VERDICT_RIG_FAULT,
			"evidence.cut-seen",
			"0 valid of 8 planned; 3 invalid, 2 of them without cut-seen",
		},
		{
			/* half is no majority; equally frequent: the first in the alphabet */
			{BAD(1, "cut-seen", true), BAD(1, "cache-loaded", false)},
			2,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"evidence.cache-loaded",
			"0 valid of 8 planned; 2 invalid, 1 of them without cache-loaded",
		},
		{
			{BAD(1, NULL, false)},
			1,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"evidence.unknown",
			"0 valid of 8 planned; 1 invalid, 1 of them without unknown",
		},
		{
			/* "valid", but nothing was measured */
			{OK(1, -1), OK(1, -1), OK(1, -1), OK(1, -1), OK(1, -1), OK(1, -1),
			 OK(1, -1), OK(1, -1)},
			8,
			NULL,
			NULL,
			VERDICT_INCONCLUSIVE,
			"evidence.probe-running",
			"0 valid of 8 planned; 8 invalid, 8 of them without probe-running",
		},
		{
			{OK(1, 90000), CRASH(1, "Oops: hub_event"), CRASH(2, "panic"),
			 CRASH(3, "Oops: hub_event")},
			4,
			NULL,
			NULL,
			VERDICT_FAIL,
			"crash",
			"3 of 4 trials crashed: Oops: hub_event (and 1 other)",
		},
		{
			{CRASH(1, "")},
			1,
			NULL,
			NULL,
			VERDICT_FAIL,
			"crash",
			"1 of 1 trial crashed: unknown",
		},
		{
			/* the crash explains the rig fault */
			{OK(1, 1), CRASH(1, "panic")},
			2,
			"rig.qemu-ended: QEMU ended with exit status 1",
			NULL,
			VERDICT_FAIL,
			"crash",
			"1 of 2 trials crashed: panic",
		},
		{
			{OK(1, 90000), OK(1, 90000)},
			2,
			"rig.qemu-ended: QEMU ended with exit status 1",
			"kernel.no-boot: silent",
			VERDICT_RIG_FAULT,
			"rig.qemu-ended",
			"QEMU ended with exit status 1",
		},
		{
			{{0}},
			0,
			NULL,
			"kernel.no-boot: no banner within 60 s",
			VERDICT_UNTESTABLE,
			"kernel.no-boot",
			"no banner within 60 s",
		},
		{
			/* the prefix is added, a text without a code keeps all of its words */
			{{0}},
			0,
			"stick-missing: usb1",
			NULL,
			VERDICT_RIG_FAULT,
			"rig.stick-missing",
			"usb1",
		},
		{
			{{0}},
			0,
			"The bench: gone",
			NULL,
			VERDICT_RIG_FAULT,
			"rig.fault",
			"The bench: gone",
		},
		{{{0}}, 0, "", NULL, VERDICT_RIG_FAULT, "rig.fault", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct judge_input in = input(cases[i].trials, cases[i].n);
		struct judge_result res;

		in.rig_fault = cases[i].rig_fault;
		in.untestable = cases[i].untestable;
		judge_run(&in, &res);

		if (res.verdict != cases[i].verdict || strcmp(res.reason, cases[i].reason) != 0 ||
		    strcmp(res.strength, cases[i].strength) != 0)
			fail_msg("case %zu: %s '%s' '%s'", i, verdict_name(res.verdict), res.reason,
				 res.strength);
	}
}

static void test_counts_and_times_describe_the_valid_trials_only(void **state)
{
	static const struct judge_trial trials[] = {
		OK(1, 20000), BAD(1, "cut-seen", true), OK(7, 60000),
		OK(7, 10000), CRASH(7, "panic"),        OK(9, 40000),
	};
	struct judge_input in = input(trials, ARRAY_SIZE(trials));
	struct judge_result res;

	(void)state;
	judge_run(&in, &res);

	assert_int_equal(res.valid, 4);
	assert_int_equal(res.over, 1);
	assert_int_equal(res.invalid, 1);
	assert_int_equal(res.crashes, 1);
	assert_int_equal(res.boots, 3);
	assert_int_equal(res.boots_over, 1);
	assert_false(res.is_clustered);
	assert_int_equal(res.worst_us, 60000);
	assert_int_equal(res.p50_us, 30000);
}

static void test_without_valid_trials_times_are_unknown_and_bounds_are_open(void **state)
{
	static const struct judge_trial trials[] = {BAD(1, "cut-seen", true)};
	struct judge_input in = input(trials, ARRAY_SIZE(trials));
	struct judge_result res;

	(void)state;
	judge_run(&in, &res);

	assert_int_equal(res.worst_us, -1);
	assert_int_equal(res.p50_us, -1);
	assert_true(res.over_low <= 0 && res.over_high >= 1);
}

static void test_clustered_boots_carry_the_bounds(void **state)
{
	/* as trials 8 of 80 are surely over 1 %, as boots 1 of 10 may be chance */
	struct judge_trial trials[80];
	struct judge_input in = input(trials, ARRAY_SIZE(trials));
	struct judge_result res;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(trials); i++)
		trials[i] = OK(i / 8, i / 8 == 3 ? 90000 : 1);
	judge_run(&in, &res);

	assert_true(res.is_clustered);
	assert_int_equal(res.verdict, VERDICT_INCONCLUSIVE);
	assert_string_equal(res.reason, "straddles-limit");
	assert_string_equal(res.strength,
			    "8 of 80 over 50 ms, following the boot: 1 of 10 boots over: "
			    "P(boot over) > 0.5 % and < 40 %, each at 95 %");
	assert_true(res.over_low < 0.01 && res.over_high > 0.39);
}

static void test_bounds_are_rounded_away_from_the_bolder_claim(void **state)
{
	static const struct {
		unsigned n;
		double confidence;
		int64_t limit_us;
		const char *strength;
	} cases[] = {
		{59, 0.95, 50000, "0 of 59 (1 boot) over 50 ms: P(over) < 5 % at 95 %"},
		{58, 0.95, 50000, "0 of 58 (1 boot) over 50 ms: P(over) < 6 % at 95 %"},
		{299, 0.95, 50000, "0 of 299 (1 boot) over 50 ms: P(over) < 1 % at 95 %"},
		{2995, 0.95, 50000, "0 of 2995 (1 boot) over 50 ms: P(over) < 0.1 % at 95 %"},
		{2994, 0.95, 50000, "0 of 2994 (1 boot) over 50 ms: P(over) < 0.2 % at 95 %"},
		{8, 0.999, 50500, "0 of 8 (1 boot) over 50.5 ms: P(over) < 58 % at 99.9 %"},
		{1, 0.95, 7, "0 of 1 (1 boot) over 0.007 ms: P(over) < 95 % at 95 %"},
	};
	auto_free struct judge_trial *trials = xcalloc(3000, sizeof(*trials));

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		trials[i].is_valid = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct judge_input in = input(trials, cases[i].n);
		struct judge_result res;

		in.planned_valid = 1;
		in.confidence = cases[i].confidence;
		in.limit_us = cases[i].limit_us;
		judge_run(&in, &res);

		assert_string_equal(res.strength, cases[i].strength);
	}
}

static void test_boots_that_failed_are_told(void **state)
{
	static const struct judge_trial good[] = {OK(2, 1), OK(2, 2)};
	static const struct judge_trial crash[] = {CRASH(2, "panic: x")};
	struct judge_input in = input(good, ARRAY_SIZE(good));
	struct judge_result res;

	(void)state;
	in.planned_valid = 2;
	in.failed_boots = 1;
	judge_run(&in, &res);
	assert_int_equal(res.verdict, VERDICT_PASS);
	assert_string_equal(res.strength,
			    "0 of 2 (1 boot) over 50 ms: P(over) < 78 % at 95 %; 1 boot failed");

	in.planned_valid = 3;
	in.failed_boots = 2;
	judge_run(&in, &res);
	assert_int_equal(res.verdict, VERDICT_INCONCLUSIVE);
	assert_non_null(strstr(res.strength, "; 2 boots failed"));

	in = input(crash, ARRAY_SIZE(crash));
	in.failed_boots = 1;
	judge_run(&in, &res);
	assert_string_equal(res.strength, "1 of 1 trial crashed: panic: x; 1 boot failed");

	/* that text has the number already */
	in.n = 0;
	in.untestable = "no-boot: silent (3 boots in a row failed)";
	in.failed_boots = 3;
	judge_run(&in, &res);
	assert_string_equal(res.strength, "silent (3 boots in a row failed)");
}

static void test_nothing_passes_without_a_confidence_or_a_trial(void **state)
{
	static const struct judge_trial trials[] = {OK(1, 1), OK(1, 1)};
	static const double confidences[] = {0, 1, -1, 2};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(confidences); i++)
		for (size_t n = 0; n <= 2; n++) {
			struct judge_input in = input(trials, n);
			struct judge_result res;

			in.planned_valid = 0;
			in.confidence = confidences[i];
			judge_run(&in, &res);
			assert_int_equal(res.verdict, VERDICT_INCONCLUSIVE);
		}
}

static void test_texts_longer_than_their_place_are_cut(void **state)
{
	char text[1000];
	struct judge_trial trial = CRASH(1, text);
	struct judge_input in = input(&trial, 1);
	struct judge_result res;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';

	judge_run(&in, &res);
	assert_int_equal(strlen(res.strength), sizeof(res.strength) - 1);

	in.n = 0;
	in.rig_fault = text;
	judge_run(&in, &res);
	assert_string_equal(res.reason, "rig.fault");
	assert_int_equal(strlen(res.strength), sizeof(res.strength) - 1);

	text[94] = ':'; /* the longest code that has a place, with the prefix to be added */
	judge_run(&in, &res);
	assert_int_equal(strlen(res.reason), sizeof(res.reason) - 1);
}

/* ---- properties ---- */

#define ROUNDS 4000
#define SEED   77

static const char *const missing_names[] = {"cache-loaded", "cut-seen", "probe-running"};
static const char *const crash_names[] = {"panic", "Oops: a", "Oops: b"};

static struct judge_trial random_invalid(struct rng *rng)
{
	size_t i = (size_t)rng_below(rng, ARRAY_SIZE(missing_names));

	return BAD((unsigned)rng_below(rng, 5), missing_names[i], i == 1);
}

static struct judge_trial random_valid(struct rng *rng, double over_rate)
{
	bool is_over = rng_unit(rng) < over_rate;
	int64_t us = (int64_t)rng_below(rng, 50001) + (is_over ? 50001 : 0);

	return OK((unsigned)rng_below(rng, 5), us);
}

/* Fills trials (TRIALS_MAX places, of which one stays free) and returns an input over them. */
static struct judge_input random_input(struct rng *rng, struct judge_trial *trials)
{
	static const double tolerances[] = {0, 0.01, 0.2}, confidences[] = {0.5, 0.9, 0.95, 0.99};
	static const double rates[] = {0, 0, 0.1, 0.5, 1};
	double over_rate = rates[rng_below(rng, ARRAY_SIZE(rates))];
	double invalid_rate = rates[rng_below(rng, ARRAY_SIZE(rates))];
	double crash_rate = rng_below(rng, 4) ? 0 : 0.1;
	struct judge_input in = input(trials, (size_t)rng_below(rng, TRIALS_MAX));

	for (size_t i = 0; i < in.n; i++) {
		if (rng_unit(rng) < crash_rate)
			trials[i] = CRASH(1, crash_names[rng_below(rng, 3)]);
		else if (rng_unit(rng) < invalid_rate)
			trials[i] = random_invalid(rng);
		else
			trials[i] = random_valid(rng, over_rate);
	}
	in.planned_valid = (unsigned)rng_below(rng, 12);
	in.tolerated_over = tolerances[rng_below(rng, ARRAY_SIZE(tolerances))];
	in.confidence = confidences[rng_below(rng, ARRAY_SIZE(confidences))];
	if (rng_below(rng, 8) == 0)
		in.rig_fault = "rig.test: fault";
	if (rng_below(rng, 8) == 0)
		in.untestable = "kernel.test: fault";
	return in;
}

static void assert_same_result(const struct judge_result *a, const struct judge_result *b)
{
	assert_int_equal(a->verdict, b->verdict);
	assert_string_equal(a->reason, b->reason);
	assert_string_equal(a->strength, b->strength);
	assert_int_equal(a->valid, b->valid);
	assert_int_equal(a->over, b->over);
	assert_int_equal(a->invalid, b->invalid);
	assert_int_equal(a->crashes, b->crashes);
	assert_int_equal(a->boots, b->boots);
	assert_int_equal(a->boots_over, b->boots_over);
	assert_int_equal(a->is_clustered, b->is_clustered);
	assert_int_equal(a->worst_us, b->worst_us);
	assert_int_equal(a->p50_us, b->p50_us);
	assert_memory_equal(&a->over_low, &b->over_low, sizeof(a->over_low));
	assert_memory_equal(&a->over_high, &b->over_high, sizeof(a->over_high));
}

/* Runs a property over many random inputs. It gets the input, its result, and the trials with one
   free place after the last one. All verdicts must have come up, else the property saw nothing. */
static void for_all(void (*holds)(struct rng *rng, struct judge_input in,
				  struct judge_trial *trials, const struct judge_result *before))
{
	unsigned seen[VERDICT_MAX] = {0};
	struct rng rng;

	print_message("seed %d\n", SEED);
	rng_init(&rng, SEED);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct judge_trial trials[TRIALS_MAX];
		struct judge_input in = random_input(&rng, trials);
		struct judge_result res;

		judge_run(&in, &res);
		seen[res.verdict]++;
		holds(&rng, in, trials, &res);
	}
	for (size_t i = 0; i < VERDICT_MAX; i++)
		assert_true(seen[i] > ROUNDS / 100);
}

static void holds_invalid(struct rng *rng, struct judge_input in, struct judge_trial *trials,
			  const struct judge_result *before)
{
	struct judge_result after;

	trials[in.n++] = random_invalid(rng);
	judge_run(&in, &after);

	assert_int_equal(after.verdict == VERDICT_PASS, before->verdict == VERDICT_PASS);
	assert_int_equal(after.verdict == VERDICT_FAIL, before->verdict == VERDICT_FAIL);
}

static void test_an_invalid_trial_makes_and_breaks_neither_pass_nor_fail(void **state)
{
	(void)state;
	for_all(holds_invalid);
}

static void holds_silence(struct rng *rng, struct judge_input in, struct judge_trial *trials,
			  const struct judge_result *before)
{
	struct judge_result after;
	size_t kept = 0;

	(void)rng;
	if (before->verdict == VERDICT_PASS)
		assert_true(before->valid >= 1 && before->valid >= in.planned_valid &&
			    before->over == 0);
	for (size_t i = 0; i < in.n; i++)
		if (!trials[i].is_valid)
			trials[kept++] = trials[i];
	in.n = kept;
	judge_run(&in, &after);
	assert_int_not_equal(after.verdict, VERDICT_PASS);
	if (after.crashes == 0)
		assert_int_not_equal(after.verdict, VERDICT_FAIL);
}

static void test_silence_is_never_a_pass(void **state)
{
	(void)state;
	for_all(holds_silence);
}

static void holds_rig_fault(struct rng *rng, struct judge_input in, struct judge_trial *trials,
			    const struct judge_result *before)
{
	struct judge_result after;

	(void)rng;
	(void)trials;
	in.rig_fault = "rig.test: fault";
	judge_run(&in, &after);
	assert_int_equal(after.verdict, before->crashes ? VERDICT_FAIL : VERDICT_RIG_FAULT);
}

static void test_a_rig_fault_is_never_a_verdict_on_the_kernel(void **state)
{
	(void)state;
	for_all(holds_rig_fault);
}

static void holds_permutation(struct rng *rng, struct judge_input in, struct judge_trial *trials,
			      const struct judge_result *before)
{
	struct judge_result after;

	for (size_t i = in.n; i > 1; i--) {
		size_t j = (size_t)rng_below(rng, i);
		struct judge_trial t = trials[i - 1];

		trials[i - 1] = trials[j];
		trials[j] = t;
	}
	judge_run(&in, &after);
	assert_same_result(before, &after);
}

static void test_the_order_of_trials_does_not_matter(void **state)
{
	(void)state;
	for_all(holds_permutation);
}

static void holds_over(struct rng *rng, struct judge_input in, struct judge_trial *trials,
		       const struct judge_result *before)
{
	struct judge_result after;

	(void)before;
	if (in.n > 0) {
		struct judge_trial *t = &trials[rng_below(rng, in.n)];
		struct judge_trial kept = *t;

		if (t->is_valid) {
			t->worst_us = 60000;
			judge_run(&in, &after);
			assert_int_not_equal(after.verdict, VERDICT_PASS);
			*t = kept;
		}
	}
	trials[in.n++] = random_valid(rng, 1);
	judge_run(&in, &after);
	assert_int_not_equal(after.verdict, VERDICT_PASS);
}

static void test_more_trials_over_the_limit_never_give_a_pass(void **state)
{
	(void)state;
	for_all(holds_over);
}

static void holds_demands(struct rng *rng, struct judge_input in, struct judge_trial *trials,
			  const struct judge_result *before)
{
	struct judge_input harder = in;
	struct judge_result after;

	(void)trials;
	harder.planned_valid += 1 + (unsigned)rng_below(rng, 4);
	judge_run(&harder, &after);
	if (before->verdict != VERDICT_PASS)
		assert_int_not_equal(after.verdict, VERDICT_PASS);
	assert_int_equal(after.verdict == VERDICT_FAIL, before->verdict == VERDICT_FAIL);

	harder = in;
	harder.confidence += (1 - in.confidence) / 2;
	harder.tolerated_over += 0.1;
	judge_run(&harder, &after);
	if (before->verdict != VERDICT_FAIL)
		assert_int_not_equal(after.verdict, VERDICT_FAIL);
	assert_int_equal(after.verdict == VERDICT_PASS, before->verdict == VERDICT_PASS);
}

static void test_stricter_demands_never_give_a_verdict_that_was_not_there(void **state)
{
	(void)state;
	for_all(holds_demands);
}

static void holds_fail(struct rng *rng, struct judge_input in, struct judge_trial *trials,
		       const struct judge_result *before)
{
	struct judge_result after;

	if (before->verdict == VERDICT_FAIL)
		assert_true(before->crashes > 0 || before->over > 0);
	assert_true(before->valid + before->invalid + before->crashes == in.n);
	assert_true(before->over_low <= before->over_high);
	assert_true(before->over <= before->valid && before->boots_over <= before->boots);

	trials[in.n++] = CRASH(1, crash_names[rng_below(rng, 3)]);
	judge_run(&in, &after);
	assert_int_equal(after.verdict, VERDICT_FAIL);
	assert_string_equal(after.reason, "crash");
}

static void test_fail_has_a_cause_and_a_crash_always_is_one(void **state)
{
	(void)state;
	for_all(holds_fail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts_have_names_and_exit_codes),
		cmocka_unit_test(test_known_cases_get_their_verdict_reason_and_strength),
		cmocka_unit_test(test_counts_and_times_describe_the_valid_trials_only),
		cmocka_unit_test(test_without_valid_trials_times_are_unknown_and_bounds_are_open),
		cmocka_unit_test(test_clustered_boots_carry_the_bounds),
		cmocka_unit_test(test_bounds_are_rounded_away_from_the_bolder_claim),
		cmocka_unit_test(test_boots_that_failed_are_told),
		cmocka_unit_test(test_nothing_passes_without_a_confidence_or_a_trial),
		cmocka_unit_test(test_texts_longer_than_their_place_are_cut),
		cmocka_unit_test(test_an_invalid_trial_makes_and_breaks_neither_pass_nor_fail),
		cmocka_unit_test(test_silence_is_never_a_pass),
		cmocka_unit_test(test_a_rig_fault_is_never_a_verdict_on_the_kernel),
		cmocka_unit_test(test_the_order_of_trials_does_not_matter),
		cmocka_unit_test(test_more_trials_over_the_limit_never_give_a_pass),
		cmocka_unit_test(test_stricter_demands_never_give_a_verdict_that_was_not_there),
		cmocka_unit_test(test_fail_has_a_cause_and_a_crash_always_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
