/* SPDX-License-Identifier: GPL-2.0-or-later */
/* matrix.c - kernels with and without a failure, and what their verdicts were. */
#include "lab/matrix.h"

#include <string.h>

static const char *const outcome_names[] = {
	[MATRIX_AS_EXPECTED] = "as_expected", [MATRIX_FALSE_PASS] = "false_pass",
	[MATRIX_FALSE_FAIL] = "false_fail",   [MATRIX_OTHER_REASON] = "other_reason",
	[MATRIX_UNDECIDED] = "undecided",
};

const char *matrix_outcome_name(enum matrix_outcome o)
{
	return (unsigned)o < ARRAY_SIZE(outcome_names) ? outcome_names[o] : "unknown";
}

void matrix_release(struct matrix *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct matrix_cell *c = &m->cells[i];

		free(c->scenario);
		free(c->kernel);
		free(c->source);
		free(c->mutations);
		free(c->append);
		free(c->reason);
		for (size_t k = 0; k < c->n_seen; k++)
			free(c->seen[k].what);
		free(c->seen);
	}
	free(m->cells);
	*m = (struct matrix){0};
}

/* "FAIL over-limit": only a verdict that decides something can be expected. */
static int parse_expectation(const struct kernel_mutation *mutation, const char *key,
			     const char *text, enum verdict *ret, const char **ret_reason,
			     struct err *e)
{
	size_t len = strcspn(text, " ");
	auto_free char *word = xasprintf("%.*s", (int)len, text);
	const char *reason = text + len + strspn(text + len, " ");
	enum verdict v;

	if (!verdict_parse(word, &v) || (v != VERDICT_PASS && v != VERDICT_FAIL) || !*reason)
		return err_set(e, ERR_CONFIG, EINVAL,
			       "%s: %s: '%s' is not PASS or FAIL and a reason, as in "
			       "'FAIL over-limit'",
			       mutation->path, key, text);
	*ret = v;
	*ret_reason = reason;
	return 0;
}

static struct matrix_cell *find_cell(const struct matrix *m, const char *scenario,
				     const char *kernel, const char *append)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->cells[i].scenario, scenario) == 0 &&
		    strcmp(m->cells[i].kernel, kernel) == 0 &&
		    strcmp(m->cells[i].append, append) == 0)
			return &m->cells[i];
	return NULL;
}

/* plain: the kernel without the mutation, of which there is a cell if is_mutated. */
static int add_cell(struct matrix *m, const struct kernel_mutation *mutation, const char *source,
		    const char *kernel, const char *plain, struct err *e)
{
	const bool is_mutated = kernel != plain;
	const char *key = is_mutated ? "Expected" : "Unmutated";
	const char *text = is_mutated ? mutation->expected : mutation->unmutated;
	struct matrix_cell *c = find_cell(m, mutation->scenario, kernel, mutation->append);
	const char *reason = NULL;
	enum verdict expected = VERDICT_INCONCLUSIVE;
	int r;

	r = parse_expectation(mutation, key, text, &expected, &reason, e);
	if (r < 0)
		return r;
	if (c && (c->expected != expected || strcmp(c->reason, reason) != 0))
		return err_set(e, ERR_CONFIG, EINVAL,
			       "%s: %s: '%s', but another mutation says '%s %s' of the same kernel "
			       "under '%s'",
			       mutation->path, key, text, verdict_name(c->expected), c->reason,
			       c->scenario);
	if (c)
		return 0;
	m->cells = xrealloc(m->cells, m->n + 1, sizeof(*m->cells));
	m->cells[m->n] = (struct matrix_cell){
		.scenario = xstrdup(mutation->scenario),
		.kernel = xstrdup(kernel),
		.source = xstrdup(source),
		.mutations = xasprintf("%s%s%s", mutation->base,
				       is_mutated && *mutation->base ? " " : "",
				       is_mutated ? mutation->name : ""),
		.append = xstrdup(mutation->append),
		.plain = is_mutated ? (size_t)(find_cell(m, mutation->scenario, plain,
							 mutation->append) -
					       m->cells)
				    : m->n,
		.expected = expected,
		.reason = xstrdup(reason),
		.worst_us = -1,
		.least_worst_us = -1,
	};
	m->n++;
	return 0;
}

int matrix_add(struct matrix *m, const struct kernel_mutation *mutation, const char *source,
	       const char *plain, const char *mutated, struct err *e)
{
	int r;

	if (!*mutation->scenario)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: no 'Scenario:' line before the patch",
			       mutation->path);
	r = add_cell(m, mutation, source, plain, plain, e);
	return r < 0 ? r : add_cell(m, mutation, source, mutated, plain, e);
}

enum matrix_outcome matrix_classify(const struct matrix_cell *c, enum verdict verdict,
				    const char *reason)
{
	if (verdict != VERDICT_PASS && verdict != VERDICT_FAIL)
		return MATRIX_UNDECIDED;
	if (verdict != c->expected)
		return verdict == VERDICT_PASS ? MATRIX_FALSE_PASS : MATRIX_FALSE_FAIL;
	return strcmp(reason, c->reason) == 0 ? MATRIX_AS_EXPECTED : MATRIX_OTHER_REASON;
}

static void note_seen(struct matrix_cell *c, enum verdict verdict, const char *reason)
{
	auto_free char *what = xasprintf("%s %s", verdict_name(verdict), reason);

	for (size_t i = 0; i < c->n_seen; i++)
		if (strcmp(c->seen[i].what, what) == 0) {
			c->seen[i].n++;
			return;
		}
	c->seen = xrealloc(c->seen, c->n_seen + 1, sizeof(*c->seen));
	c->seen[c->n_seen++] = (struct matrix_seen){.what = take(what), .n = 1};
}

void matrix_add_unexpected(const struct matrix_cell *c, struct strbuf *out)
{
	auto_free char *expected = xasprintf("%s %s", verdict_name(c->expected), c->reason);
	bool is_first = true;

	for (size_t i = 0; i < c->n_seen; i++) {
		if (strcmp(c->seen[i].what, expected) == 0)
			continue;
		strbuf_addf(out, "%s%s (%u)", is_first ? "" : ", ", c->seen[i].what, c->seen[i].n);
		is_first = false;
	}
}

bool matrix_is_run_of(const struct matrix_cell *c, const struct matrix_origin *o,
		      const struct run *run)
{
	return run->ended_wall_ns && strcmp(run->scenario, c->scenario) == 0 &&
	       strcmp(run->kernel, c->kernel) == 0 && strcmp(run->append, c->append) == 0 &&
	       strcmp(run->rig, o->rig) == 0 &&
	       strcmp(run->scenario_sha256, o->scenario_sha256) == 0 &&
	       strcmp(run->kernel_image_sha256, o->image_sha256) == 0 &&
	       run->planned_valid == o->trials;
}

void matrix_note_unbuilt(struct matrix_cell *c)
{
	c->n[MATRIX_UNDECIDED]++;
	note_seen(c, VERDICT_UNTESTABLE, "kernel.no-build");
}

void matrix_note(struct matrix_cell *c, const struct run *run)
{
	const struct judge_result *j = &run->result;
	enum matrix_outcome o = matrix_classify(c, j->verdict, j->reason);

	c->n[o]++;
	note_seen(c, j->verdict, j->reason);
	c->n_trials += j->valid;
	if (run->ended_wall_ns > run->started_wall_ns)
		c->wall_ns += run->ended_wall_ns - run->started_wall_ns;
	if (j->worst_us > c->worst_us)
		c->worst_us = j->worst_us;
	if (j->worst_us >= 0 && (c->least_worst_us < 0 || j->worst_us < c->least_worst_us))
		c->least_worst_us = j->worst_us;
}

unsigned matrix_cell_runs(const struct matrix_cell *c)
{
	unsigned n = 0;

	for (size_t i = 0; i < MATRIX_OUTCOME_MAX; i++)
		n += c->n[i];
	return n;
}

enum verdict matrix_verdict(const struct matrix *m)
{
	bool is_complete = m->n > 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct matrix_cell *c = &m->cells[i];

		if (c->n[MATRIX_FALSE_PASS] || c->n[MATRIX_FALSE_FAIL] || c->n[MATRIX_OTHER_REASON])
			return VERDICT_FAIL;
		if (c->n[MATRIX_UNDECIDED] || !c->n[MATRIX_AS_EXPECTED])
			is_complete = false;
	}
	return is_complete ? VERDICT_PASS : VERDICT_INCONCLUSIVE;
}
