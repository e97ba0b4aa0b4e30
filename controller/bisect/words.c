/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.c - texts and JSON of a bisect. */
#include "bisect/words.h"

#include "kernels/git.h"

#include <math.h>
#include <string.h>

#define TOP_SHOWN       5
#define CANDIDATES_JSON 20
/* From here on git is told good or bad; it knows no probabilities. */
#define SURE 0.95
/* No model is right enough to claim more. */
#define PROBABILITY_SHOWN_MAX 0.9999

char *words_utf8(const char *s)
{
	json_t *v = json_string(s);
	char *copy = xstrdup(s);

	/* git could not convert it either */
	for (char *p = copy; !v && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	json_decref(v);
	return copy;
}

static json_t *text_json(const char *s)
{
	auto_free char *text = words_utf8(s);

	return json_string(text);
}

static const char *sha_of(const struct bisect *b, uint32_t commit)
{
	return history_sha(bisect_history_of(b), commit);
}

static void add_commit_line(const struct bisect *b, uint32_t commit, struct strbuf *out)
{
	strbuf_addf(out, "%.12s %s", sha_of(b, commit),
		    history_subject(bisect_history_of(b), commit));
}

static void add_setup(const struct bisect *b, struct strbuf *out)
{
	const struct bisect_setup *s = bisect_setup_of(b);
	const struct history *h = bisect_history_of(b);

	strbuf_addf(out, "repository   %s\n", s->repo);
	strbuf_addf(out, "good         %.12s\n", h->good);
	strbuf_addf(out, "bad          %.12s\n", h->bad);
	strbuf_addf(out, "commits      %zu\n", h->n);
	strbuf_addf(out, "rig          %s\n", s->rig);
	strbuf_addf(out, "scenario     %s\n", s->scenario);
	strbuf_addf(out, "failure      %s\n", s->failure);
	strbuf_addf(out, "wanted       %g %%\n", 100 * s->target);
}

void bisect_plan_text(const struct bisect *b, struct strbuf *out)
{
	const struct bisect_setup *s = bisect_setup_of(b);
	struct bisect_estimate est;

	bisect_core_estimate(bisect_core_of(b), &est);
	add_setup(b, out);
	strbuf_addf(out,
		    "to be done   about %.0f builds, %.0f boots, %.0f trials, %.1f h, if a cold "
		    "build takes %.0f s, a warm one %.0f s, a boot %.0f s, a trial %.0f s\n",
		    est.builds, est.boots, est.trials, est.hours, s->cost.build_cold_s,
		    s->cost.build_warm_s, s->cost.boot_s, s->cost.trial_s);
	if (s->confirm)
		strbuf_addf(
			out, "and then     culprit and parents rebuilt, %u trials each in turn%s\n",
			s->confirm, s->has_revert ? "; the bad end with the culprit reverted" : "");
	strbuf_addf(out, "folder       %s\n", bisect_dir_of(b));
}

static void add_top(const struct bisect *b, struct strbuf *out)
{
	struct bisect_candidate top[TOP_SHOWN];
	size_t n = bisect_core_top(bisect_core_of(b), top, ARRAY_SIZE(top));

	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "  %5.1f %%  ", 100 * top[i].probability);
		add_commit_line(b, top[i].commit, out);
		strbuf_adds(out, "\n");
	}
}

static void add_confirmation(const struct bisect *b, struct strbuf *out)
{
	struct bisect_confirmation c;

	bisect_confirmation_of(b, &c);
	if (!c.is_wanted || c.n_sides == 0)
		return;
	strbuf_adds(out, c.n_sides < 2    ? "confirmation: not possible, no parent can be tested\n"
			 : !c.is_complete ? "confirmation, going on:\n"
			 : c.is_confirmed
				 ? "confirmed, both sides rebuilt and tested in turn:\n"
				 : "NOT confirmed: rebuilt and tested in turn, the culprit "
				   "fails no more often than a parent:\n");
	for (unsigned i = 0; i < c.n_sides; i++) {
		strbuf_addf(out, "  %-8s %.12s  %u of %u trials fail", i ? "parent" : "culprit",
			    c.sides[i].sha, c.sides[i].over, c.sides[i].trials);
		if (c.sides[i].p50_ms >= 0)
			strbuf_addf(out, ", p50 %.1f ms, worst %.1f ms", c.sides[i].p50_ms,
				    c.sides[i].worst_ms);
		strbuf_adds(out, "\n");
	}
}

static void add_revert(const struct bisect *b, struct strbuf *out)
{
	struct bisect_revert v;

	bisect_revert_of(b, &v);
	if (!v.is_wanted)
		return;
	strbuf_adds(out, "the bad end without the culprit: ");
	if (v.impossible) {
		strbuf_addf(out, "not tested, %s\n", v.impossible);
		return;
	}
	strbuf_addf(out, "%u of %u trials fail", v.over, v.trials);
	if (v.p50_ms >= 0)
		strbuf_addf(out, ", p50 %.1f ms, worst %.1f ms", v.p50_ms, v.worst_ms);
	strbuf_addf(out, "; with it %u of %u\n%s\n", v.end_over, v.end_trials,
		    !v.is_complete ? "(going on)"
		    : v.is_cured   ? "Reverting it helps."
				   : "Reverting it does NOT help: something else fails there too.");
}

void bisect_status_text(const struct bisect *b, struct strbuf *out)
{
	struct bisect_estimate est;
	struct bisect_used used;
	struct bisect_next next;

	bisect_core_next(bisect_core_of(b), &next);
	bisect_core_estimate(bisect_core_of(b), &est);
	bisect_core_used(bisect_core_of(b), &used);
	strbuf_addf(out, "%s: %u builds, %u boots, %u valid trials so far\n",
		    bisect_state_name(next.state), used.builds, used.boots, used.trials);
	add_top(b, out);
	if (next.state == BISECT_MEASURING_ENDS || next.state == BISECT_SEARCHING) {
		strbuf_adds(out, "next: ");
		add_commit_line(b, next.commit, out);
		strbuf_addf(out, "\n      %s\n", next.why);
		strbuf_addf(out, "to go: about %.0f builds, %.0f trials, %.1f h\n", est.builds,
			    est.trials, est.hours);
	} else {
		strbuf_addf(out, "%s\n", next.why);
	}
	add_confirmation(b, out);
	add_revert(b, out);
}

/* ---- the report ---- */

#define BAR_COLUMNS 40

/* One line a decade third from 1 ms to 100 s. */
static void add_histogram(const struct bisect *b, uint32_t left, uint32_t right, struct strbuf *out)
{
	auto_free double *l = NULL;
	auto_free double *r = NULL;
	size_t n_l = bisect_delays_of(b, left, &l);
	size_t n_r = bisect_delays_of(b, right, &r);
	double from = 0;

	strbuf_addf(out, "  %12s  %-*s  %s\n", "delay", BAR_COLUMNS / 2, "culprit", "parent");
	for (int i = 0; i <= 15; i++) {
		double to = i == 15 ? INFINITY : pow(10, i / 3.0);
		unsigned in_l = 0, in_r = 0;
		char bars[2][BAR_COLUMNS / 2 + 1];

		for (size_t k = 0; k < n_l; k++)
			in_l += l[k] >= from && l[k] < to;
		for (size_t k = 0; k < n_r; k++)
			in_r += r[k] >= from && r[k] < to;
		for (unsigned k = 0; k < BAR_COLUMNS / 2; k++) {
			bars[0][k] = k < in_l ? '#' : ' ';
			bars[1][k] = k < in_r ? '#' : '\0';
		}
		bars[0][BAR_COLUMNS / 2] = '\0';
		bars[1][BAR_COLUMNS / 2] = '\0';
		if (in_l || in_r) {
			char range[32];

			if (isfinite(to))
				(void)snprintf(range, sizeof(range), "%.0f-%.0f ms", from, to);
			else
				(void)snprintf(range, sizeof(range), ">%.0f ms", from);
			strbuf_addf(out, "  %12s  %s  %s\n", range, bars[0], bars[1]);
		}
		from = to;
	}
}

static void add_side(const struct bisect *b, const char *label, uint32_t commit, struct strbuf *out)
{
	auto_free double *v = NULL;
	size_t n = bisect_delays_of(b, commit, &v);

	strbuf_addf(out, "  %-8s ", label);
	add_commit_line(b, commit, out);
	if (n)
		strbuf_addf(out, "\n           %zu delays: least %.1f, p50 %.1f, most %.1f ms", n,
			    v[0], v[n / 2], v[n - 1]);
	strbuf_adds(out, "\n");
}

static void add_culprit(struct waiter *w, const struct bisect *b, uint32_t culprit,
			struct strbuf *out)
{
	const struct history_commit *c = &bisect_history_of(b)->v[culprit];
	const char *const args[] = {"show", "--stat", "--no-color", c->sha, NULL};
	auto_strbuf struct strbuf show = STRBUF_INIT;
	struct err e = {0};
	uint32_t parent = c->n_parents ? c->parents[0] : BISECT_GOOD_END;

	if (git_run(w, bisect_setup_of(b)->repo, args, &show, &e) >= 0) {
		strbuf_addf(out, "\n%s\n", strbuf_str(&show));
	} else {
		strbuf_adds(out, "\n");
		add_commit_line(b, culprit, out);
		strbuf_addf(out, "\n(git show: %s)\n\n", e.text);
	}
	strbuf_adds(out, "delays of all its trials and its parents':\n");
	add_side(b, "culprit", culprit, out);
	for (unsigned i = 0; i < c->n_parents; i++)
		add_side(b, "parent", c->parents[i], out);
	if (c->n_parents < c->n_parent_shas)
		add_side(b, "parent", BISECT_GOOD_END, out);
	add_histogram(b, culprit, parent, out);
	if (c->n_parent_shas > 1)
		strbuf_adds(out,
			    "It is a merge: if each parent alone is good, the two sides do not "
			    "go together.\n");
	strbuf_adds(out, "\n");
	add_confirmation(b, out);
	add_revert(b, out);
}

static void add_untestable(const struct bisect *b, struct strbuf *out)
{
	const struct bisect_core *core = bisect_core_of(b);
	bool has_any = false;

	for (size_t i = 0; i < bisect_history_of(b)->n; i++) {
		if (!bisect_core_is_untestable(core, (uint32_t)i))
			continue;
		strbuf_adds(out, has_any ? "" : "\ncould not be tested:\n");
		has_any = true;
		strbuf_adds(out, "  ");
		add_commit_line(b, (uint32_t)i, out);
		strbuf_addf(out, "\n    %s\n", bisect_reason_of(b, (uint32_t)i));
	}
}

static void add_how_again(const struct bisect *b, struct strbuf *out)
{
	const struct bisect_setup *s = bisect_setup_of(b);
	const struct history *h = bisect_history_of(b);

	strbuf_addf(out,
		    "\nto do it again:\n  stallrig bisect start --repo %s --good %.12s --bad %.12s "
		    "--rig %s --scenario %s",
		    s->repo, h->good, h->bad, s->rig, s->scenario);
	if (s->config)
		strbuf_addf(out, " --config %s", s->config);
	if (s->build)
		strbuf_addf(out, " --build '%s'", s->build);
	if (strcmp(s->failure, "over-limit") != 0)
		strbuf_addf(out, " --failure '%s'", s->failure);
	if (s->append)
		strbuf_addf(out, " --append '%s'", s->append);
	if (s->against)
		strbuf_addf(out, " --against %s", s->against);
	for (size_t i = 0; i < s->n_paths; i++)
		strbuf_addf(out, " --path %s", s->paths[i]);
	for (size_t i = 0; i < s->n_hotfixes; i++)
		strbuf_addf(out, " --hotfix %s", s->hotfixes[i]);
	strbuf_adds(out, "\n");
}

void bisect_result_text(struct waiter *w, const struct bisect *b, struct strbuf *out)
{
	const struct bisect_core *core = bisect_core_of(b);
	auto_free uint32_t *answer = NULL;
	struct bisect_rates rates;
	struct bisect_used used;
	struct bisect_next next;
	double probability = 0;
	size_t n = bisect_core_answer(core, &answer, &probability);

	bisect_core_next(core, &next);
	bisect_core_rates(core, &rates);
	bisect_core_used(core, &used);
	if (next.state == BISECT_REFUSED) {
		strbuf_addf(out, "There is nothing to bisect: %s\n\n", next.why);
	} else if (n == 1) {
		strbuf_addf(out, "First bad commit, with a probability of %s%.2f %%%s:\n",
			    probability > PROBABILITY_SHOWN_MAX ? "more than " : "",
			    100 * fmin(probability, PROBABILITY_SHOWN_MAX),
			    bisect_is_over(b) ? "" : " (still going on)");
		add_culprit(w, b, answer[0], out);
	} else {
		strbuf_addf(out,
			    "The first bad commit is one of these %zu (%.2f %%), which no "
			    "commit that can be tested tells apart:\n",
			    n, 100 * probability);
		for (size_t i = 0; i < n; i++) {
			strbuf_adds(out, "  ");
			add_commit_line(b, answer[i], out);
			strbuf_adds(out, "\n");
		}
	}
	strbuf_addf(
		out,
		"\nA trial fails on good commits with %.1f %% (95 %%: %.1f to %.1f), on bad ones "
		"with %.1f %% (%.1f to %.1f).\n",
		100 * rates.over_good, 100 * rates.over_good_low, 100 * rates.over_good_high,
		100 * rates.over_bad, 100 * rates.over_bad_low, 100 * rates.over_bad_high);
	strbuf_addf(out, "It took %u builds, %u boots and %u valid trials.\n", used.builds,
		    used.boots, used.trials);
	add_untestable(b, out);
	strbuf_adds(out, "\n");
	add_setup(b, out);
	add_how_again(b, out);
}

/* ---- JSON ---- */

static void set(json_t *o, const char *key, json_t *v)
{
	if (json_object_set_new(o, key, v) < 0)
		abort(); /* out of memory, as xcalloc() */
}

static json_t *commit_json(const struct bisect *b, uint32_t commit)
{
	json_t *o = json_object();

	set(o, "commit", json_string(sha_of(b, commit)));
	set(o, "subject", text_json(history_subject(bisect_history_of(b), commit)));
	return o;
}

json_t *bisect_candidates_json(const struct bisect *b)
{
	struct bisect_candidate top[CANDIDATES_JSON];
	size_t n = bisect_core_top(bisect_core_of(b), top, ARRAY_SIZE(top));
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = commit_json(b, top[i].commit);

		set(o, "probability", json_real(top[i].probability));
		json_array_append_new(a, o);
	}
	return a;
}

const char *bisect_verdict_of(const struct bisect *b, uint32_t commit)
{
	double p_bad = bisect_core_p_bad(bisect_core_of(b), commit);

	if (bisect_core_is_untestable(bisect_core_of(b), commit))
		return "UNTESTABLE";
	if (p_bad >= SURE)
		return "FAIL";
	return p_bad <= 1 - SURE ? "PASS" : "INCONCLUSIVE";
}

static json_t *tests_json(const struct bisect *b)
{
	const struct bisect_core *core = bisect_core_of(b);
	json_t *a = json_array();

	for (size_t i = 0; i < bisect_core_n_tested(core); i++) {
		struct bisect_tested t;
		json_t *o;

		bisect_core_tested(core, i, &t);
		o = commit_json(b, t.commit);
		set(o, "trials", json_integer(t.trials));
		set(o, "boots", json_integer(t.boots));
		set(o, "over", json_integer(t.over));
		set(o, "p_bad", json_real(t.p_bad));
		if (t.median_ms >= 0)
			set(o, "p50_ms", json_real(t.median_ms));
		set(o, "verdict", json_string(bisect_verdict_of(b, t.commit)));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *untestable_json(const struct bisect *b)
{
	json_t *a = json_array();

	for (size_t i = 0; i < bisect_history_of(b)->n; i++) {
		json_t *o;

		if (!bisect_core_is_untestable(bisect_core_of(b), (uint32_t)i))
			continue;
		o = commit_json(b, (uint32_t)i);
		set(o, "reason", text_json(bisect_reason_of(b, (uint32_t)i)));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *confirmation_json(const struct bisect_confirmation *c)
{
	json_t *o = json_object();
	json_t *a = json_array();

	set(o, "complete", json_boolean(c->is_complete));
	set(o, "confirmed", json_boolean(c->is_confirmed));
	for (unsigned i = 0; i < c->n_sides; i++) {
		json_t *side = json_object();

		set(side, "commit", json_string(c->sides[i].sha));
		set(side, "role", json_string(i ? "parent" : "culprit"));
		set(side, "trials", json_integer(c->sides[i].trials));
		set(side, "over", json_integer(c->sides[i].over));
		if (c->sides[i].p50_ms >= 0) {
			set(side, "p50_ms", json_real(c->sides[i].p50_ms));
			set(side, "worst_ms", json_real(c->sides[i].worst_ms));
		}
		json_array_append_new(a, side);
	}
	set(o, "sides", a);
	return o;
}

static json_t *revert_json(const struct bisect_revert *v)
{
	json_t *o = json_object();

	if (v->impossible) {
		set(o, "impossible", text_json(v->impossible));
		return o;
	}
	set(o, "complete", json_boolean(v->is_complete));
	set(o, "cured", json_boolean(v->is_cured));
	set(o, "trials", json_integer(v->trials));
	set(o, "over", json_integer(v->over));
	if (v->p50_ms >= 0) {
		set(o, "p50_ms", json_real(v->p50_ms));
		set(o, "worst_ms", json_real(v->worst_ms));
	}
	return o;
}

int bisect_json(const struct bisect *b, struct strbuf *out, struct err *e)
{
	const struct bisect_core *core = bisect_core_of(b);
	auto_free uint32_t *answer = NULL;
	struct bisect_confirmation c;
	struct bisect_revert v;
	struct bisect_estimate est;
	struct bisect_used used;
	struct bisect_next next;
	auto_free char *text = NULL;
	json_t *o = json_object();
	json_t *set_json = json_array();
	double probability = 0;
	size_t n = bisect_core_answer(core, &answer, &probability);

	bisect_core_next(core, &next);
	bisect_core_estimate(core, &est);
	bisect_core_used(core, &used);
	bisect_confirmation_of(b, &c);
	bisect_revert_of(b, &v);
	set(o, "state", json_string(bisect_state_name(next.state)));
	set(o, "over", json_boolean(bisect_is_over(b)));
	if (next.state == BISECT_DONE && n == 1)
		set(o, "culprit", json_string(sha_of(b, answer[0])));
	if (next.state == BISECT_DONE || next.state == BISECT_EXHAUSTED) {
		for (size_t i = 0; i < n; i++)
			json_array_append_new(set_json, json_string(sha_of(b, answer[i])));
		set(o, "answer", set_json);
	} else {
		json_decref(set_json);
	}
	set(o, "probability", json_real(probability));
	set(o, "candidates", bisect_candidates_json(b));
	set(o, "tests", tests_json(b));
	set(o, "untestable", untestable_json(b));
	set(o, "commits", json_integer((json_int_t)bisect_history_of(b)->n));
	set(o, "builds", json_integer(used.builds));
	set(o, "boots", json_integer(used.boots));
	set(o, "trials", json_integer(used.trials));
	if (next.state == BISECT_MEASURING_ENDS || next.state == BISECT_SEARCHING) {
		json_t *to_do = commit_json(b, next.commit);

		set(to_do, "why", text_json(next.why));
		set(to_do, "cost_s", json_real(next.cost_s));
		set(o, "next", to_do);
		set(o, "hours_to_go", json_real(est.hours));
	} else {
		set(o, "why", text_json(next.why));
	}
	if (c.is_wanted && c.n_sides)
		set(o, "confirmation", confirmation_json(&c));
	if (v.is_wanted)
		set(o, "revert", revert_json(&v));
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (!text)
		return err_set(e, ERR_INTERNAL, ENOMEM, "out of memory");
	strbuf_addf(out, "%s\n", text);
	return 0;
}

/* ---- logs ---- */

void bisect_log_text(const struct bisect *b, struct strbuf *out)
{
	const struct journal *j = bisect_journal_of(b);

	for (size_t i = 0; i < journal_n(j); i++) {
		const json_t *o = journal_at(j, i);
		const char *key;
		json_t *v;

		strbuf_addf(out, "%s", json_string_value(json_object_get(o, "wall")));
		/* jansson's iterator wants a pointer that is not const, and changes nothing */
		for (void *it = json_object_iter((json_t *)(uintptr_t)o); it;
		     it = json_object_iter_next((json_t *)(uintptr_t)o, it)) {
			auto_free char *text = NULL;

			key = json_object_iter_key(it);
			v = json_object_iter_value(it);
			if (strcmp(key, "wall") == 0 || strcmp(key, "seq") == 0)
				continue;
			if (json_is_string(v)) {
				strbuf_addf(out, " %s=%s", key, json_string_value(v));
				continue;
			}
			text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
			strbuf_addf(out, " %s=%s", key, text ? text : "?");
		}
		strbuf_adds(out, "\n");
	}
}

static void add_git_line(const struct history_commit *c, const char *word, struct strbuf *out)
{
	strbuf_addf(out, "# %s: [%s] %s\n", word ? word : "not sure", c->sha, c->subject);
	if (word)
		strbuf_addf(out, "git bisect %s %s\n", word, c->sha);
}

/* What git can be told of a tested commit; NULL = nothing yet. */
static const char *git_word(const struct bisect_tested *t)
{
	if (t->p_bad >= (t->is_told ? 0.5 : SURE))
		return "bad";
	return t->p_bad <= (t->is_told ? 0.5 : 1 - SURE) ? "good" : NULL;
}

void bisect_git_log(const struct bisect *b, struct strbuf *out)
{
	const struct bisect_core *core = bisect_core_of(b);
	const struct history *h = bisect_history_of(b);

	strbuf_addf(out, "git bisect start\n# good: [%s] (the good end)\ngit bisect good %s\n",
		    h->good, h->good);
	add_git_line(&h->v[h->n - 1], "bad", out);
	for (size_t i = 0; i < bisect_core_n_tested(core); i++) {
		struct bisect_tested t;

		bisect_core_tested(core, i, &t);
		if (t.commit != BISECT_GOOD_END && t.commit != h->n - 1 && !t.is_untestable)
			add_git_line(&h->v[t.commit], git_word(&t), out);
	}
	for (size_t i = 0; i + 1 < h->n; i++)
		if (bisect_core_is_untestable(core, (uint32_t)i))
			add_git_line(&h->v[i], "skip", out);
}
