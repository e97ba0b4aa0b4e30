/* SPDX-License-Identifier: GPL-2.0-or-later */
/* driver.c - the loop: ask the core, build, boot, write down, ask again. */
#include "bisect/driver.h"

#include "base/fdio.h"
#include "bisect/setup.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* So many boots in a row without one valid trial: the bench is to blame, or nothing can be said. */
#define EMPTY_BOOTS_MAX  3
#define CONFIRM_PER_BOOT 4

struct bisect {
	char *dir;
	struct journal *journal;
	struct history history;
	struct bisect_setup setup;
	struct bisect_core *core;
};

char *bisect_dir(const char *name)
{
	auto_free char *sub = xasprintf("bisect/%s", name);

	return path_state(sub);
}

void bisect_close(struct bisect *b)
{
	int saved = errno;

	if (!b)
		return;
	bisect_core_free(b->core);
	journal_close(b->journal);
	history_release(&b->history);
	bisect_setup_release(&b->setup);
	free(b->dir);
	free(b);
	errno = saved;
}

const struct bisect_setup *bisect_setup_of(const struct bisect *b)
{
	return &b->setup;
}

const struct history *bisect_history_of(const struct bisect *b)
{
	return &b->history;
}

const struct bisect_core *bisect_core_of(const struct bisect *b)
{
	return b->core;
}

const struct journal *bisect_journal_of(const struct bisect *b)
{
	return b->journal;
}

const char *bisect_dir_of(const struct bisect *b)
{
	return b->dir;
}

char *bisect_kernel_name(const char *sha, enum bisect_kernel kind)
{
	static const char *const suffix[] = {"", "-c", "-r"};

	return xasprintf("%.*s%s", HISTORY_SHORT_LEN, sha, suffix[kind]);
}

/* ---- records ---- */

static const char *text_in(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static double number_in(const json_t *o, const char *key, double if_absent)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : if_absent;
}

static bool is_type(const json_t *o, const char *type)
{
	return strcmp(text_in(o, "type"), type) == 0;
}

static bool is_event(const json_t *o, const char *kind)
{
	return is_type(o, "event") && strcmp(text_in(o, "kind"), kind) == 0;
}

static json_t *new_event(const struct bisect *b, enum bisect_event_kind kind, uint32_t commit)
{
	return json_pack("{s:s, s:s, s:s}", "type", "event", "kind", bisect_event_name(kind),
			 "commit", history_sha(&b->history, commit));
}

static int record_to_event(const struct bisect *b, const json_t *o, struct bisect_event *ret,
			   struct err *e)
{
	struct bisect_event ev = {0};

	if (!bisect_event_parse(text_in(o, "kind"), &ev.kind))
		return err_set(e, ERR_STORE, EBADMSG, "record %lld: unknown kind '%s'",
			       (long long)number_in(o, "seq", 0), text_in(o, "kind"));
	if (history_find(&b->history, text_in(o, "commit"), &ev.commit, e) < 0)
		return err_rekind(e, ERR_STORE);
	ev.boot = (uint32_t)number_in(o, "boot", 0);
	ev.is_over = json_is_true(json_object_get(o, "over"));
	ev.delay_ms = number_in(o, "delay_ms", -1);
	ev.is_censored = json_is_true(json_object_get(o, "censored"));
	ev.is_bad = json_is_true(json_object_get(o, "bad"));
	ev.certainty = number_in(o, "certainty", 0.99);
	*ret = ev;
	return 0;
}

/* ---- the core, from the journal ---- */

struct mean {
	double sum;
	unsigned n;
};

static void mean_add(struct mean *m, double v)
{
	if (v >= 0) {
		m->sum += v;
		m->n++;
	}
}

static double mean_or(const struct mean *m, double if_none)
{
	return m->n ? m->sum / m->n : if_none;
}

/*
 * What things took so far replaces what the user guessed, but for what a commit between two builds
 * adds. The first build is the cold one: later ones find its objects.
 */
static struct bisect_cost measured_cost(const struct bisect *b)
{
	struct bisect_cost cost = b->setup.cost;
	struct mean cold = {0}, warm = {0}, boot = {0}, trial = {0};

	for (size_t i = 0; i < journal_n(b->journal); i++) {
		const json_t *o = journal_at(b->journal, i);

		if (is_event(o, "built")) {
			double seconds = number_in(o, "seconds", -1);
			double between = number_in(o, "commits_between", 0);

			if (!cold.n)
				mean_add(&cold, seconds);
			else if (seconds >= 0)
				mean_add(&warm,
					 fmax(seconds - cost.build_per_commit_s * between, 0));
		}
		if (!is_type(o, "boot"))
			continue;
		mean_add(&boot, number_in(o, "boot_s", -1));
		mean_add(&trial, number_in(o, "trial_s", -1));
	}
	cost.build_cold_s = mean_or(&cold, cost.build_cold_s);
	cost.build_warm_s = mean_or(&warm, cost.build_warm_s);
	cost.boot_s = mean_or(&boot, cost.boot_s);
	cost.trial_s = fmax(mean_or(&trial, cost.trial_s), 0.001);
	if (cost.build_warm_s > cost.build_cold_s)
		cost.build_cold_s = cost.build_warm_s;
	return cost;
}

/* The state is a function of the journal alone, so a resumed bisect is where the old one was. */
static int renew_core(struct bisect *b, struct err *e)
{
	struct bisect_commit *commits = xcalloc(b->history.n + 1, sizeof(*commits));
	auto_bisect_core struct bisect_core *core = NULL;
	struct bisect_cfg cfg;
	int r;

	bisect_cfg_default(&cfg);
	cfg.target = b->setup.target;
	cfg.cost = measured_cost(b);
	cfg.ends_min_trials = b->setup.ends_min_trials;
	cfg.ends_max_trials = b->setup.ends_max_trials;
	cfg.max_trials = b->setup.max_trials;
	for (size_t i = 0; i < b->history.n; i++) {
		const struct history_commit *c = &b->history.v[i];

		commits[i] = (struct bisect_commit){.parents = c->parents,
						    .n_parents = c->n_parents,
						    .weight = c->weight,
						    .name = c->sha};
	}
	r = bisect_core_new(&cfg, commits, b->history.n, &core, e);
	free(commits);
	for (size_t i = 0; i < journal_n(b->journal) && r >= 0; i++) {
		const json_t *o = journal_at(b->journal, i);
		struct bisect_event ev;

		if (!is_type(o, "event"))
			continue;
		r = record_to_event(b, o, &ev, e);
		if (r >= 0)
			r = bisect_core_apply(core, &ev, e);
	}
	if (r < 0)
		return err_wrap(e, "bisect in %s", b->dir);
	bisect_core_free(b->core);
	b->core = take(core);
	return 0;
}

static int note(struct bisect *b, json_t *record, struct err *e)
{
	if (!record)
		return err_set(e, ERR_INTERNAL, EINVAL, "a record that is no JSON");
	return journal_append(b->journal, record, e);
}

/* ---- start and open ---- */

static int open_parts(struct bisect *b, bool is_writer, struct err *e)
{
	auto_free char *journal = xasprintf("%s/journal.jsonl", b->dir);
	auto_free char *history = xasprintf("%s/history", b->dir);
	int r;

	if (access(journal, F_OK) < 0)
		return err_set(e, ERR_USAGE, ENOENT,
			       "there is no bisect in %s, see 'stallrig help bisect start'",
			       b->dir);
	r = journal_open(journal, is_writer, &b->journal, e);
	if (r < 0)
		return r;
	r = history_read(history, &b->history, e);
	if (r < 0)
		return r;
	if (journal_n(b->journal) == 0 || !is_type(journal_at(b->journal, 0), "start"))
		return err_set(e, ERR_STORE, EBADMSG, "%s: does not begin with a start", journal);
	r = bisect_setup_from_json(journal_at(b->journal, 0), &b->setup, e);
	if (r < 0)
		return err_wrap(e, "%s", journal);
	return renew_core(b, e);
}

int bisect_open(const char *dir, bool is_writer, struct bisect **ret, struct err *e)
{
	auto_bisect struct bisect *b = xcalloc(1, sizeof(*b));
	int r;

	b->dir = xstrdup(dir);
	r = open_parts(b, is_writer, e);
	if (r < 0)
		return r;
	*ret = take(b);
	return 0;
}

int bisect_start(struct waiter *w, const char *dir, const struct bisect_setup *setup,
		 const char *good, const char *bad, struct bisect **ret, struct err *e)
{
	auto_free char *journal_path = xasprintf("%s/journal.jsonl", dir);
	auto_free char *history_path = xasprintf("%s/history", dir);
	auto_journal struct journal *journal = NULL;
	struct history h = {0};
	int r;

	if (access(journal_path, F_OK) == 0)
		return err_set(e, ERR_USAGE, EEXIST,
			       "there is a bisect in %s already: 'bisect resume' it, 'bisect stop "
			       "--remove' it, or choose another --name",
			       dir);
	r = dir_make(dir, e);
	if (r < 0)
		return r;
	r = history_load(w, setup->repo, good, bad, (const char *const *)setup->paths,
			 setup->n_paths, dir, &h, e);
	if (r >= 0)
		r = history_save(&h, history_path, e);
	history_release(&h);
	/* the journal last: a folder without one is no bisect */
	if (r >= 0)
		r = journal_open(journal_path, true, &journal, e);
	if (r >= 0)
		r = journal_append(journal, bisect_setup_to_json(setup), e);
	if (r < 0) {
		(void)unlink(journal_path);
		return r;
	}
	journal_close(take(journal));
	return bisect_open(dir, true, ret, e);
}

/* ---- what is known ---- */

const char *bisect_reason_of(const struct bisect *b, uint32_t commit)
{
	const char *sha = history_sha(&b->history, commit);
	const char *reason = "";

	for (size_t i = 0; i < journal_n(b->journal); i++) {
		const json_t *o = journal_at(b->journal, i);

		if (is_event(o, "untestable") && strcmp(text_in(o, "commit"), sha) == 0)
			reason = text_in(o, "reason");
	}
	return reason;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the search and, as they count like the others, of the confirmation; or of the other two
   alone. */
static bool is_trial_of(const struct bisect *b, const json_t *o, uint32_t commit,
			enum bisect_kernel kind)
{
	if (strcmp(text_in(o, "kind"), "trial") != 0 ||
	    !is_type(o, kind == BISECT_KERNEL_REVERT ? "revert" : "event") ||
	    strcmp(text_in(o, "commit"), history_sha(&b->history, commit)) != 0)
		return false;
	return kind != BISECT_KERNEL_CONFIRM || json_is_true(json_object_get(o, "confirm"));
}

static unsigned count_trials(const struct bisect *b, uint32_t commit, enum bisect_kernel kind,
			     unsigned *ret_over)
{
	unsigned n = 0;

	*ret_over = 0;
	for (size_t i = 0; i < journal_n(b->journal); i++) {
		const json_t *o = journal_at(b->journal, i);

		if (!is_trial_of(b, o, commit, kind))
			continue;
		n++;
		*ret_over += json_is_true(json_object_get(o, "over"));
	}
	return n;
}

static size_t delays_of(const struct bisect *b, uint32_t commit, enum bisect_kernel kind,
			double **ret)
{
	double *v = xcalloc(journal_n(b->journal) + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < journal_n(b->journal); i++) {
		const json_t *o = journal_at(b->journal, i);
		double ms = number_in(o, "delay_ms", -1);

		if (is_trial_of(b, o, commit, kind) && ms >= 0)
			v[n++] = ms;
	}
	if (n)
		qsort(v, n, sizeof(*v), cmp_double);
	*ret = v;
	return n;
}

size_t bisect_delays_of(const struct bisect *b, uint32_t commit, double **ret)
{
	return delays_of(b, commit, BISECT_KERNEL_SEARCH, ret);
}

/* Number of this commit's next boot: a boot that a kill cut short has used up its own. */
static unsigned next_boot(const struct bisect *b, uint32_t commit)
{
	const char *sha = history_sha(&b->history, commit);
	unsigned next = 0;

	for (size_t i = 0; i < journal_n(b->journal); i++) {
		const json_t *o = journal_at(b->journal, i);
		double boot = number_in(o, "boot", -1);

		if (boot >= next && strcmp(text_in(o, "commit"), sha) == 0)
			next = (unsigned)boot + 1;
	}
	return next;
}

/* ---- confirmation ---- */

static void count_side(const struct bisect *b, struct bisect_side *s)
{
	auto_free double *delays = NULL;
	size_t n;

	s->trials = count_trials(b, s->commit, BISECT_KERNEL_CONFIRM, &s->over);
	n = delays_of(b, s->commit, BISECT_KERNEL_CONFIRM, &delays);
	s->p50_ms = n ? delays[n / 2] : -1;
	s->worst_ms = n ? delays[n - 1] : -1;
}

static void add_side(const struct bisect *b, struct bisect_confirmation *c, uint32_t commit)
{
	struct bisect_side *s;

	/* parents that are no candidates are all good: the good end stands for them */
	for (unsigned i = 0; i < c->n_sides; i++)
		if (c->sides[i].commit == commit)
			return;
	if (c->n_sides == BISECT_SIDES_MAX || bisect_core_is_untestable(b->core, commit))
		return;
	s = &c->sides[c->n_sides++];
	*s = (struct bisect_side){.commit = commit, .sha = history_sha(&b->history, commit)};
	count_side(b, s);
}

void bisect_confirmation_of(const struct bisect *b, struct bisect_confirmation *ret)
{
	struct bisect_confirmation c = {.is_wanted = b->setup.confirm > 0};
	auto_free uint32_t *answer = NULL;
	struct bisect_next next;
	double probability;

	bisect_core_next(b->core, &next);
	if (c.is_wanted && next.state == BISECT_DONE &&
	    bisect_core_answer(b->core, &answer, &probability) == 1) {
		const struct history_commit *culprit = &b->history.v[answer[0]];

		add_side(b, &c, answer[0]);
		for (unsigned i = 0; i < culprit->n_parents; i++)
			add_side(b, &c, culprit->parents[i]);
		if (culprit->n_parents < culprit->n_parent_shas)
			add_side(b, &c, BISECT_GOOD_END);
		c.is_complete = c.n_sides > 1;
		for (unsigned i = 0; i < c.n_sides; i++)
			c.is_complete &= c.sides[i].trials >= b->setup.confirm;
		c.is_confirmed = c.is_complete;
		for (unsigned i = 1; i < c.n_sides; i++)
			c.is_confirmed &= (uint64_t)c.sides[0].over * c.sides[i].trials >
					  (uint64_t)c.sides[i].over * c.sides[0].trials;
	}
	*ret = c;
}

/* Why it was given up, from the journal. */
static const char *no_revert(const struct bisect *b, const char *culprit)
{
	for (size_t i = 0; i < journal_n(b->journal); i++) {
		const json_t *o = journal_at(b->journal, i);

		if (is_type(o, "revert") && strcmp(text_in(o, "kind"), "untestable") == 0 &&
		    strcmp(text_in(o, "reverted"), culprit) == 0)
			return text_in(o, "reason");
	}
	return NULL;
}

void bisect_revert_of(const struct bisect *b, struct bisect_revert *ret)
{
	struct bisect_revert v = {.p50_ms = -1, .worst_ms = -1};
	uint32_t tip = (uint32_t)b->history.n - 1;
	struct bisect_confirmation c;
	auto_free double *delays = NULL;
	size_t n;

	bisect_confirmation_of(b, &c);
	v.is_wanted = b->setup.has_revert && c.is_confirmed;
	if (v.is_wanted) {
		uint32_t culprit = c.sides[0].commit;

		if (culprit == tip)
			v.impossible = "the culprit is the bad end; without it its parent is left";
		else if (b->history.v[culprit].n_parent_shas > 1)
			v.impossible = "the culprit is a merge";
		else
			v.impossible = no_revert(b, c.sides[0].sha);
		v.trials = count_trials(b, tip, BISECT_KERNEL_REVERT, &v.over);
		v.end_trials = count_trials(b, tip, BISECT_KERNEL_SEARCH, &v.end_over);
		n = delays_of(b, tip, BISECT_KERNEL_REVERT, &delays);
		v.p50_ms = n ? delays[n / 2] : -1;
		v.worst_ms = n ? delays[n - 1] : -1;
		v.is_complete = v.impossible || v.trials >= b->setup.confirm;
		v.is_cured = v.is_complete && !v.impossible &&
			     (uint64_t)v.over * v.end_trials < (uint64_t)v.end_over * v.trials;
	}
	*ret = v;
}

bool bisect_is_over(const struct bisect *b)
{
	struct bisect_confirmation c;
	struct bisect_revert v;
	struct bisect_next next;

	bisect_core_next(b->core, &next);
	if (next.state == BISECT_REFUSED || next.state == BISECT_EXHAUSTED)
		return true;
	if (next.state != BISECT_DONE)
		return false;
	bisect_confirmation_of(b, &c);
	bisect_revert_of(b, &v);
	return !c.is_wanted || c.n_sides < 2 || (c.is_complete && (!v.is_wanted || v.is_complete));
}

/* ---- going on ---- */

struct going {
	struct bisect *b;
	const struct bisect_bench *bench;
	const struct bisect_watch *watch;
	unsigned empty_boots;
};

static void say_now(const struct going *g, const char *fmt, ...) printf_like(2, 3);
static void say(const struct going *g, const char *fmt, ...) printf_like(2, 3);

static void say_now(const struct going *g, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (g->watch && g->watch->now)
		g->watch->now(g->watch->self, text);
}

static void say(const struct going *g, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (g->watch && g->watch->stays)
		g->watch->stays(g->watch->self, text);
}

static int say_changed(const struct going *g, bool is_stopped, struct err *e)
{
	if (!g->watch || !g->watch->changed)
		return 0;
	return g->watch->changed(g->watch->self, g->b, is_stopped, e);
}

static int note_untestable(struct going *g, uint32_t commit, const char *why, struct err *e)
{
	const struct history *h = &g->b->history;
	json_t *o;

	/* without both ends there is no bisect; a config or a hotfix can be put right */
	if (commit == BISECT_GOOD_END || commit == h->n - 1)
		return err_set(e, ERR_RIG, EIO, "the %s end %.12s cannot be tested: %s",
			       commit == BISECT_GOOD_END ? "good" : "bad", history_sha(h, commit),
			       why);
	o = new_event(g->b, BISECT_EV_UNTESTABLE, commit);
	say(g, "%.12s cannot be tested: %s", history_sha(&g->b->history, commit), why);
	if (o && json_object_set_new(o, "reason", json_string(why)) < 0)
		(void)json_object_set_new(o, "reason", json_string("not UTF-8 text"));
	return note(g->b, o, e);
}

/* *ret_is_there: the kernel can be booted; false: it was noted as untestable. */
static int ensure_kernel(struct going *g, uint32_t commit, enum bisect_kernel kind,
			 bool *ret_is_there, struct err *e)
{
	const char *sha = history_sha(&g->b->history, commit);
	auto_free char *name = bisect_kernel_name(sha, kind);
	char untestable[300] = "";
	double between = bisect_core_distance(g->b->core, commit);
	nsec_t from = wall_now();
	json_t *o;
	int r;

	*ret_is_there = true;
	if (g->bench->has_kernel(g->bench->self, name))
		return 0;
	say_now(g, "building %.12s %s", sha, history_subject(&g->b->history, commit));
	r = g->bench->build(g->bench->self, sha, NULL, name, untestable, sizeof(untestable), e);
	if (r < 0)
		return err_wrap(e, "building %.12s", sha);
	if (*untestable) {
		*ret_is_there = false;
		return note_untestable(g, commit, untestable, e);
	}
	o = new_event(g->b, BISECT_EV_BUILT, commit);
	if (o &&
	    json_object_set_new(o, "seconds", json_real((double)(wall_now() - from) / 1e9)) < 0)
		abort(); /* out of memory, as xcalloc() */
	if (between > 0)
		json_object_set_new(o, "commits_between", json_integer((json_int_t)between));
	return note(g->b, o, e);
}

static int note_boot(struct going *g, uint32_t commit, enum bisect_kernel kind,
		     const struct bisect_boot *boot, struct err *e)
{
	struct bisect *b = g->b;
	bool is_revert = kind == BISECT_KERNEL_REVERT;
	unsigned number = next_boot(b, commit);
	unsigned made = boot->n + boot->invalid;
	int r = 0;

	for (unsigned i = 0; i < boot->n && r >= 0; i++) {
		const struct bisect_observation *t = &boot->v[i];
		json_t *o = new_event(b, BISECT_EV_TRIAL, commit);

		/* no trial of a commit: the core does not see it */
		if (is_revert)
			json_object_set_new(o, "type", json_string("revert"));
		json_object_set_new(o, "boot", json_integer(number));
		json_object_set_new(o, "over", json_boolean(t->is_over));
		if (t->delay_ms >= 0)
			json_object_set_new(o, "delay_ms", json_real(t->delay_ms));
		if (t->is_censored)
			json_object_set_new(o, "censored", json_true());
		if (kind == BISECT_KERNEL_CONFIRM)
			json_object_set_new(o, "confirm", json_true());
		if (*t->trial)
			json_object_set_new(o, "trial", json_string(t->trial));
		r = note(b, o, e);
	}
	if (r >= 0) {
		json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i}", "type",
				      is_revert ? "revert" : "boot", "kind", "boot", "commit",
				      history_sha(&b->history, commit), "boot", (int)number,
				      "valid", (int)boot->n, "invalid", (int)boot->invalid);

		if (boot->boot_s >= 0)
			json_object_set_new(o, "boot_s", json_real(boot->boot_s));
		if (boot->trials_s >= 0 && made)
			json_object_set_new(o, "trial_s", json_real(boot->trials_s / made));
		if (*boot->missing)
			json_object_set_new(o, "missing", json_string(boot->missing));
		if (*boot->run)
			json_object_set_new(o, "run", json_string(boot->run));
		r = note(b, o, e);
	}
	return r;
}

static int note_no_revert(struct going *g, const char *why, struct err *e)
{
	const struct history *h = &g->b->history;
	struct bisect_confirmation c;
	json_t *o;

	bisect_confirmation_of(g->b, &c);
	say(g, "%.12s without %.12s cannot be tested: %s", h->bad, c.sides[0].sha, why);
	o = json_pack("{s:s, s:s, s:s, s:s}", "type", "revert", "kind", "untestable", "commit",
		      h->bad, "reverted", c.sides[0].sha);
	if (o && json_object_set_new(o, "reason", json_string(why)) < 0)
		(void)json_object_set_new(o, "reason", json_string("not UTF-8 text"));
	return note(g->b, o, e);
}

static void say_boot(struct going *g, uint32_t commit, const struct bisect_boot *boot)
{
	double worst = -1;
	unsigned over = 0;

	for (unsigned i = 0; i < boot->n; i++) {
		over += boot->v[i].is_over;
		worst = fmax(worst, boot->v[i].delay_ms);
	}
	say(g, "%.12s: %u of %u trials fail, worst %.1f ms%s%s  (%s)",
	    history_sha(&g->b->history, commit), over, boot->n, fmax(worst, 0),
	    boot->invalid ? ", some invalid for want of " : "", boot->invalid ? boot->missing : "",
	    history_subject(&g->b->history, commit));
}

static int boot_and_note(struct going *g, uint32_t commit, enum bisect_kernel kind, unsigned trials,
			 struct err *e)
{
	const char *sha = history_sha(&g->b->history, commit);
	auto_free char *name = bisect_kernel_name(sha, kind);
	struct bisect_boot boot = {.boot_s = -1, .trials_s = -1};
	int r;

	if (g->b->setup.trials_per_boot_max && trials > g->b->setup.trials_per_boot_max)
		trials = g->b->setup.trials_per_boot_max;
	if (trials < 1)
		trials = 1;
	if (trials > BISECT_BOOT_TRIALS_MAX)
		trials = BISECT_BOOT_TRIALS_MAX;
	say_now(g, "booting %.12s for %u trials", sha, trials);
	r = g->bench->boot(g->bench->self, name, trials, &boot, e);
	if (r < 0)
		return err_wrap(e, "testing %.12s", sha);
	r = note_boot(g, commit, kind, &boot, e);
	if (r < 0)
		return r;
	if (*boot.untestable && kind == BISECT_KERNEL_REVERT)
		return note_no_revert(g, boot.untestable, e);
	if (*boot.untestable)
		return note_untestable(g, commit, boot.untestable, e);
	say_boot(g, commit, &boot);
	g->empty_boots = boot.n ? 0 : g->empty_boots + 1;
	if (g->empty_boots < EMPTY_BOOTS_MAX)
		return 0;
	return err_set(
		e, ERR_RIG, EIO,
		"%u boots in a row without a valid trial, the last for want of evidence '%s'",
		g->empty_boots, boot.missing);
}

/* One boot of one commit, from build to journal. */
static int measure(struct going *g, uint32_t commit, enum bisect_kernel kind, unsigned trials,
		   struct err *e)
{
	bool is_there = false;
	int r;

	r = ensure_kernel(g, commit, kind, &is_there, e);
	return r < 0 || !is_there ? r : boot_and_note(g, commit, kind, trials, e);
}

static void say_posterior(struct going *g, const struct bisect_next *next)
{
	struct bisect_candidate top[5];
	struct bisect_estimate est;
	size_t n = bisect_core_top(g->b->core, top, ARRAY_SIZE(top));

	bisect_core_estimate(g->b->core, &est);
	for (size_t i = 0; i < n; i++)
		if (top[i].probability >= 0.0005)
			say(g, "  %5.1f %%  %.12s %s", 100 * top[i].probability,
			    history_sha(&g->b->history, top[i].commit),
			    history_subject(&g->b->history, top[i].commit));
	say(g, "next: %.12s; %s; about %.0f builds, %.0f trials, %.1f h to go",
	    history_sha(&g->b->history, next->commit), next->why, est.builds, est.trials,
	    est.hours);
}

/* The side with the fewest trials, culprit first: A, B, A, B, also after a kill. */
static int confirm_once(struct going *g, const struct bisect_confirmation *c, struct err *e)
{
	const struct bisect_side *side = &c->sides[0];
	unsigned per_boot = g->b->setup.trials_per_boot_max ? g->b->setup.trials_per_boot_max
							    : CONFIRM_PER_BOOT;
	unsigned left;

	for (unsigned i = 1; i < c->n_sides; i++)
		if (c->sides[i].trials < side->trials)
			side = &c->sides[i];
	left = g->b->setup.confirm - side->trials;
	say(g, "confirming: %.12s, rebuilt, %u of %u trials so far", side->sha, side->trials,
	    g->b->setup.confirm);
	return measure(g, side->commit, BISECT_KERNEL_CONFIRM, left < per_boot ? left : per_boot,
		       e);
}

/* A boot of the bad end without the culprit. */
static int revert_once(struct going *g, const char *culprit, unsigned made, struct err *e)
{
	const struct bisect_setup *s = &g->b->setup;
	unsigned per_boot = s->trials_per_boot_max ? s->trials_per_boot_max : CONFIRM_PER_BOOT;
	const char *tip = g->b->history.bad;
	auto_free char *name = bisect_kernel_name(tip, BISECT_KERNEL_REVERT);
	char untestable[300] = "";
	unsigned left = s->confirm - made;
	int r;

	say(g, "the bad end %.12s without %.12s: %u of %u trials so far", tip, culprit, made,
	    s->confirm);
	if (!g->bench->has_kernel(g->bench->self, name)) {
		r = g->bench->build(g->bench->self, tip, culprit, name, untestable,
				    sizeof(untestable), e);
		if (r < 0)
			return err_wrap(e, "building %.12s without %.12s", tip, culprit);
		if (*untestable)
			return note_no_revert(g, untestable, e);
	}
	return boot_and_note(g, (uint32_t)g->b->history.n - 1, BISECT_KERNEL_REVERT,
			     left < per_boot ? left : per_boot, e);
}

static int go_on(struct going *g, struct err *e)
{
	struct bisect *b = g->b;

	for (;;) {
		struct bisect_confirmation c;
		struct bisect_next next;
		int r;

		r = renew_core(b, e);
		if (r >= 0)
			r = say_changed(g, false, e);
		if (r < 0 || bisect_is_over(b))
			return r;
		bisect_core_next(b->core, &next);
		if (next.state == BISECT_DONE) {
			struct bisect_revert v;

			bisect_confirmation_of(b, &c);
			bisect_revert_of(b, &v);
			r = v.is_wanted ? revert_once(g, c.sides[0].sha, v.trials, e)
					: confirm_once(g, &c, e);
		} else {
			say_posterior(g, &next);
			r = measure(g, next.commit, BISECT_KERNEL_SEARCH, next.trials_per_boot, e);
		}
		if (r < 0)
			return r;
	}
}

int bisect_go_on(struct bisect *b, const struct bisect_bench *bench,
		 const struct bisect_watch *watch, struct err *e)
{
	struct going g = {.b = b, .bench = bench, .watch = watch};
	struct err ignored = {0};
	int r;

	r = go_on(&g, e);
	/* what was noted before the error counts for whoever looks now */
	if (r < 0 && renew_core(b, &ignored) >= 0)
		(void)!say_changed(&g, true, &ignored);
	return r;
}

int bisect_tell(struct bisect *b, const char *rev, const char *what, double certainty,
		struct err *e)
{
	bool is_skip = strcmp(what, "skip") == 0;
	json_t *o;
	uint32_t commit;
	int r;

	if (!is_skip && strcmp(what, "good") != 0 && strcmp(what, "bad") != 0)
		return err_set(e, ERR_USAGE, EINVAL, "'%s' is not good, bad or skip", what);
	r = history_find(&b->history, rev, &commit, e);
	if (r < 0)
		return r;
	o = new_event(b, is_skip ? BISECT_EV_UNTESTABLE : BISECT_EV_TOLD, commit);
	if (is_skip) {
		json_object_set_new(o, "reason", json_string("skipped by hand"));
	} else {
		json_object_set_new(o, "bad", json_boolean(strcmp(what, "bad") == 0));
		json_object_set_new(o, "certainty", json_real(certainty));
	}
	r = note(b, o, e);
	return r < 0 ? r : renew_core(b, e);
}
