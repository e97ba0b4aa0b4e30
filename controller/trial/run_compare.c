/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_compare.c - what two runs have to share, and their delays side by side. */
#include "trial/run_compare.h"

#include "base/parse.h"

#include <string.h>

#define WORD_MAX 128

/* Words of a boot's environment. One that is the kernel's own invention counts only if both have
 * it.
 */
static const struct {
	const char *word, *name;
	bool only_if_both;
} words[] = {
	{"hz", "HZ", false},
	{"preempt", "preemption", false},
	{"cpu_intensive_thresh_us", "cpu_intensive_thresh_us", true},
	{"cpus", "CPUs", false},
	{"clocksource", "clock source", false},
	{"serial", "stick", false},
	{"size_bytes", "stick's bytes", false},
	{"speed_mbps", "link speed in Mbit/s", false},
};

/* Of the first boot that got so far; trials of other environments are not valid. */
static const char *environment_of(const struct run *r)
{
	for (size_t i = 0; i < r->n_boots; i++)
		if (r->boots[i].environment && *r->boots[i].environment)
			return r->boots[i].environment;
	return NULL;
}

size_t run_differences(const struct run *base, const struct run *new_run, struct strbuf *ret_words)
{
	struct compare_condition conditions[ARRAY_SIZE(words) + 3] = {
		{"rig class", base->rig_class, new_run->rig_class},
		{"architecture", base->arch, new_run->arch},
		{"scenario", base->scenario, new_run->scenario},
	};
	char values[ARRAY_SIZE(words)][2][WORD_MAX];
	const char *a = environment_of(base), *b = environment_of(new_run);
	size_t n = 3;

	for (size_t i = 0; a && b && i < ARRAY_SIZE(words); i++) {
		bool has_a = parse_pair(a, words[i].word, values[i][0], WORD_MAX);
		bool has_b = parse_pair(b, words[i].word, values[i][1], WORD_MAX);

		if (words[i].only_if_both && !(has_a && has_b))
			continue;
		conditions[n++] = (struct compare_condition){
			.name = words[i].name,
			.base = has_a ? values[i][0] : NULL,
			.new_build = has_b ? values[i][1] : NULL,
		};
	}
	/* the same name may have meant another limit or load on another day */
	if (strcmp(base->scenario, new_run->scenario) == 0 &&
	    strcmp(base->scenario_sha256, new_run->scenario_sha256) != 0) {
		conditions[2].name = "scenario's hash";
		conditions[2].base = base->scenario_sha256;
		conditions[2].new_build = new_run->scenario_sha256;
	}
	return compare_conditions(conditions, n, ret_words);
}

/* Both arrays have room for each trial. */
static struct compare_side valid_trials(const struct run *r, int64_t *values, unsigned *boots)
{
	struct compare_side side = {.values = values, .boots = boots};

	for (size_t i = 0; i < r->n_trials; i++) {
		if (!r->trials[i]->is_valid || r->trials[i]->worst_us < 0)
			continue;
		values[side.n] = r->trials[i]->worst_us;
		boots[side.n++] = r->trials[i]->boot;
	}
	return side;
}

int run_compare(const struct run *base, const struct run *new_run, const struct compare_config *c,
		struct compare_result *ret)
{
	auto_free int64_t *a_values = xcalloc(base->n_trials + 1, sizeof(*a_values));
	auto_free int64_t *b_values = xcalloc(new_run->n_trials + 1, sizeof(*b_values));
	auto_free unsigned *a_boots = xcalloc(base->n_trials + 1, sizeof(*a_boots));
	auto_free unsigned *b_boots = xcalloc(new_run->n_trials + 1, sizeof(*b_boots));
	struct compare_side a = valid_trials(base, a_values, a_boots);
	struct compare_side b = valid_trials(new_run, b_values, b_boots);

	return compare_builds(&a, &b, c, ret);
}
