/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state.c - the bisect's state as JSON and as text. */
#include "bisect/state.h"

#include "base/strbuf.h"
#include "core_priv.h"

#include <string.h>

static void set(json_t *obj, const char *key, json_t *value)
{
	if (json_object_set_new(obj, key, value) < 0)
		abort(); /* out of memory, as xcalloc() */
}

static void append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		abort();
}

static json_t *name_json(const struct bisect_core *b, uint32_t commit)
{
	return json_string_nocheck(bisect_core_name(b, commit));
}

static json_t *answer_json(const struct bisect_core *b, uint32_t *ret_single, double *ret_p)
{
	auto_free uint32_t *answer = NULL;
	json_t *array = json_array();
	size_t n = bisect_core_answer(b, &answer, ret_p);

	for (size_t i = 0; i < n; i++)
		append(array, name_json(b, answer[i]));
	*ret_single = n == 1 ? answer[0] : GRAPH_NONE;
	return array;
}

static const char *test_verdict(const struct bisect_core *b, const struct bisect_tested *t)
{
	if (!t->trials)
		return t->p_bad > 0.5 ? "told-bad" : "told-good";
	if (t->p_bad >= b->cfg.target)
		return "bad";
	return 1 - t->p_bad >= b->cfg.target ? "good" : "undecided";
}

static json_t *tests_json(const struct bisect_core *b)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bisect_core_n_tested(b); i++) {
		struct bisect_tested t;
		json_t *obj = json_object();

		bisect_core_tested(b, i, &t);
		set(obj, "commit", name_json(b, t.commit));
		set(obj, "trials", json_integer(t.trials));
		set(obj, "boots", json_integer(t.boots));
		set(obj, "over", json_integer(t.over));
		set(obj, "p_bad", json_real(t.p_bad));
		if (t.median_ms >= 0)
			set(obj, "median_ms", json_real(t.median_ms));
		set(obj, "verdict", json_string(test_verdict(b, &t)));
		append(array, obj);
	}
	return array;
}

static json_t *next_json(const struct bisect_core *b, const struct bisect_next *next)
{
	json_t *obj = json_object();

	set(obj, "commit", name_json(b, next->commit));
	set(obj, "why", json_string_nocheck(next->why));
	set(obj, "boots", json_integer(next->boots));
	set(obj, "trials_per_boot", json_integer(next->trials_per_boot));
	set(obj, "p_bad", json_real(next->p_bad));
	set(obj, "info_bits", json_real(next->info_bits));
	set(obj, "build_s", json_real(next->build_s));
	set(obj, "cost_s", json_real(next->cost_s));
	set(obj, "p_untestable", json_real(next->p_untestable));
	return obj;
}

static json_t *rates_json(const struct bisect_core *b)
{
	struct bisect_rates r;
	json_t *obj = json_object();

	bisect_core_rates(b, &r);
	set(obj, "over_good", json_real(r.over_good));
	set(obj, "over_good_low", json_real(r.over_good_low));
	set(obj, "over_good_high", json_real(r.over_good_high));
	set(obj, "over_bad", json_real(r.over_bad));
	set(obj, "over_bad_low", json_real(r.over_bad_low));
	set(obj, "over_bad_high", json_real(r.over_bad_high));
	set(obj, "boot_correlation_good", json_real(r.boot_correlation_good));
	set(obj, "boot_correlation_bad", json_real(r.boot_correlation_bad));
	set(obj, "p_ends_differ", json_real(r.p_ends_differ));
	return obj;
}

static json_t *estimate_json(const struct bisect_core *b)
{
	struct bisect_estimate x;
	json_t *obj = json_object();

	bisect_core_estimate(b, &x);
	set(obj, "entropy_bits", json_real(x.entropy_bits));
	set(obj, "builds", json_real(x.builds));
	set(obj, "boots", json_real(x.boots));
	set(obj, "trials", json_real(x.trials));
	set(obj, "hours", json_real(x.hours));
	return obj;
}

static bool is_final(enum bisect_state s)
{
	return s != BISECT_MEASURING_ENDS && s != BISECT_SEARCHING;
}

json_t *bisect_state_json(const struct bisect_core *b)
{
	struct bisect_candidate top[BISECT_STATE_CANDIDATES];
	struct bisect_used used;
	struct bisect_next next;
	json_t *obj = json_object(), *array, *answer;
	uint32_t single;
	size_t n;
	double p;

	bisect_core_next(b, &next);
	answer = answer_json(b, &single, &p);
	set(obj, "state", json_string(bisect_state_name(next.state)));
	if (next.state == BISECT_DONE && single != GRAPH_NONE)
		set(obj, "culprit", name_json(b, single));
	set(obj, "probability", json_real(p));
	set(obj, "answer", answer);

	array = json_array();
	n = bisect_core_top(b, top, ARRAY_SIZE(top));
	for (size_t i = 0; i < n; i++) {
		json_t *c = json_object();

		set(c, "commit", name_json(b, top[i].commit));
		set(c, "probability", json_real(top[i].probability));
		append(array, c);
	}
	set(obj, "candidates", array);
	set(obj, "tests", tests_json(b));
	array = json_array();
	for (uint32_t c = 0; c < bisect_core_n_commits(b); c++)
		if (bisect_core_is_untestable(b, c))
			append(array, name_json(b, c));
	set(obj, "untestable", array);

	if (is_final(next.state)) {
		set(obj, "reason", json_string_nocheck(next.why));
	} else {
		set(obj, "next", next_json(b, &next));
		set(obj, "estimate", estimate_json(b));
	}
	bisect_core_used(b, &used);
	array = json_object();
	set(array, "builds", json_integer(used.builds));
	set(array, "boots", json_integer(used.boots));
	set(array, "trials", json_integer(used.trials));
	set(obj, "used", array);
	set(obj, "rates", rates_json(b));
	set(obj, "commits", json_integer((json_int_t)bisect_core_n_commits(b)));
	set(obj, "target", json_real(b->cfg.target));
	return obj;
}

char *bisect_estimate_text(const struct bisect_core *b)
{
	struct bisect_estimate x;
	size_t n = bisect_core_n_commits(b);

	bisect_core_estimate(b, &x);
	return xasprintf(
		"%zu commit%s between the ends: about %.0f builds, %.0f boots, %.0f trials, "
		"%.1f h to %g %%.",
		n, n == 1 ? "" : "s", x.builds, x.boots, x.trials, x.hours, 100 * b->cfg.target);
}

char *bisect_state_text(const struct bisect_core *b)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct bisect_candidate top[BISECT_STATE_CANDIDATES];
	struct bisect_estimate left;
	struct bisect_used used;
	struct bisect_rates r;
	struct bisect_next next;
	size_t n;

	bisect_core_next(b, &next);
	bisect_core_used(b, &used);
	bisect_core_rates(b, &r);
	strbuf_addf(&out, "%s: %u builds, %u boots, %u trials so far\n",
		    bisect_state_name(next.state), used.builds, used.boots, used.trials);
	strbuf_addf(&out,
		    "trials over the limit: good commits %.0f %% (%.0f to %.0f), bad ones %.0f %% "
		    "(%.0f to %.0f)\n",
		    100 * r.over_good, 100 * r.over_good_low, 100 * r.over_good_high,
		    100 * r.over_bad, 100 * r.over_bad_low, 100 * r.over_bad_high);
	n = bisect_core_top(b, top, ARRAY_SIZE(top));
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&out, "%7.3f %%  %s\n", 100 * top[i].probability,
			    bisect_core_name(b, top[i].commit));
	strbuf_addf(&out, "%s\n", next.why);
	if (is_final(next.state))
		return strbuf_take(&out);
	bisect_core_estimate(b, &left);
	strbuf_addf(&out, "still about %.0f builds, %.0f trials, %.1f h\n", left.builds,
		    left.trials, left.hours);
	return strbuf_take(&out);
}
