/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nightly.c - a night: submitted, worked off, compared, told. */
#include "lab/nightly.h"

#include "base/fdio.h"
#include "lab/baseline.h"
#include "lab/check.h"
#include "store/query.h"
#include "trial/run_compare.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define PAUSE_NS      (5 * NSEC_PER_SEC) /* between looks, while all that is left must wait */
#define PLAN_FILE_MAX (64u << 10)
#define ATTEMPTS_MAX  100 /* that a job may be begun; a killed controller costs one each time */
#define YEAR_NS       (366 * 86400 * NSEC_PER_SEC)
#define FIRST         1000                 /* checks go before all else: none is higher */
#define SETTLING_NS   (600 * NSEC_PER_SEC) /* that a kernel which goes on changing is waited for */

struct night {
	const struct nightly_cfg *cfg;
	int64_t number;
	nsec_t budget_until_ns; /* NSEC_FOREVER = no limit */
	char **told;            /* items whose end was told; owned */
	size_t n_told;
	bool is_looking; /* in look(): what it does may come back here */
};

static void say(const struct night *n, const char *fmt, ...) printf_like(2, 3);

static void say(const struct night *n, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX + 256];
	va_list ap;

	if (!n->cfg->say)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n->cfg->say(n->cfg->self, text);
}

/* ---- jobs and runs of the night ---- */

static int list_jobs(const struct night *n, struct store_job ***ret, size_t *ret_n, struct err *e)
{
	const struct store_job_filter filter = {.night = n->number};

	return store_jobs(n->cfg->store, &filter, ret, ret_n, e);
}

/* The part of an item's name in front of its first '|'. */
static char *entry_of(const struct store_job *j)
{
	return xasprintf("%.*s", (int)strcspn(j->item, "|"), j->item);
}

/* ---- what a run is held against ---- */

static int find_previous(const struct night *n, const struct store_job *j, char **ret_id,
			 struct err *e)
{
	auto_free char *entry = entry_of(j);

	return store_night_previous_run(n->cfg->store, n->number, entry, j->scenario, j->on_rig,
					j->append, ret_id, e);
}

static void result_release(struct nightly_result *res)
{
	store_job_free(res->job);
	run_free(res->run);
	run_free(res->baseline);
	util_free(res->differences);
	news_since_release(&res->since);
}

int nightly_since(struct store *st, const struct run *run, struct news_since *ret, struct err *e)
{
	const struct store_trend_filter f = {
		.rig = run->rig,
		.rig_class = run->rig_class,
		.scenario = run->scenario,
		.since_wall_ns = run->started_wall_ns - YEAR_NS,
	};
	auto_free struct store_change *changes = NULL;
	struct store_trend t = {0};
	size_t n_changes = 0;
	size_t at = 0;
	int r;

	*ret = (struct news_since){0};
	r = store_trend(st, &f, &t, e);
	if (r < 0)
		return r;
	while (at < t.n && strcmp(t.points[at].run_id, run->id) != 0)
		at++;
	if (at < t.n)
		changes = store_trend_changes(&t, at + 1, t.points[at].series, &n_changes);
	if (n_changes) {
		const struct store_change *last = &changes[n_changes - 1];
		const struct store_point *p = &t.points[last->point];

		*ret = (struct news_since){
			.run_id = xstrdup(p->run_id),
			.kernel = xstrdup(t.builds[p->build].name),
			.started_wall_ns = p->started_wall_ns,
			.before_us = last->before_us,
			.after_us = last->after_us,
		};
	}
	store_trend_release(&t);
	return 0;
}

static bool is_worth_a_look(const struct nightly_result *res)
{
	return res->run->result.verdict == VERDICT_FAIL ||
	       (res->is_compared && (res->change.change == COMPARE_REGRESSION ||
				     res->change.change == COMPARE_IMPROVEMENT));
}

static int hold_against_baseline(const struct night *n, const struct store_job *j,
				 struct nightly_result *res, struct err *e)
{
	auto_strbuf struct strbuf differences = STRBUF_INIT;
	auto_free char *id = NULL;
	int r;

	r = store_find_run(n->cfg->store, j->run_id, &res->run, e);
	if (r < 0 || !res->run)
		return r;
	res->is_baseline = plan_is_baseline(n->cfg->plan, res->run->kernel, res->run->append) &&
			   strcmp(res->run->result.reason, "no-baseline") == 0;
	if (!plan_names_baseline(n->cfg->plan))
		r = find_previous(n, j, &id, e);
	else
		r = lab_baseline_find(n->cfg->store, n->cfg->plan->baseline, res->run->rig,
				      res->run->scenario, res->run->id, &id, e);
	if (r >= 0)
		r = store_find_run(n->cfg->store, id, &res->baseline, e);
	if (r < 0 || !res->baseline)
		return r;

	if (run_differences(res->baseline, res->run, &differences)) {
		res->differences = strbuf_take(&differences);
		return 0;
	}
	/* without valid trials on both sides there is nothing to compare */
	res->is_compared =
		run_compare(res->baseline, res->run, &compare_defaults, &res->change) >= 0;
	return 0;
}

/* Fills all but the job. */
static int hold_against(const struct night *n, const struct store_job *j,
			struct nightly_result *res, struct err *e)
{
	int r = hold_against_baseline(n, j, res, e);

	if (r < 0 || !res->run || !is_worth_a_look(res))
		return r;
	return nightly_since(n->cfg->store, res->run, &res->since, e);
}

void nightly_report_release(struct nightly_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		result_release(&r->results[i]);
	util_free(r->results);
	nightly_list_release(&r->left_out);
	*r = (struct nightly_report){0};
}

/* ---- news ---- */

static void tell(const struct night *n, struct news *news)
{
	const struct plan *p = n->cfg->plan;
	struct err e = {0};

	news->plan = p->name;
	news->night = n->number;
	say(n, "%s: %s", news_kind_name(news->kind), news->text);
	if (*p->notify && news_tell(n->cfg->w, p->notify, news, &e) < 0)
		say(n, "%s", e.text);
}

static bool was_told(const struct night *n, const struct store_job *j)
{
	for (size_t i = 0; i < n->n_told; i++)
		if (strcmp(n->told[i], j->item) == 0)
			return true;
	return false;
}

static void note_told(struct night *n, const struct store_job *j)
{
	n->told = xrealloc(n->told, n->n_told + 1, sizeof(*n->told));
	n->told[n->n_told++] = xstrdup(j->item);
}

static bool is_open(const struct store_job *j)
{
	return j->state == STORE_JOB_QUEUED || j->state == STORE_JOB_RUNNING;
}

static void tell_result(const struct night *n, const struct store_job *j,
			const struct nightly_result *res)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct news news = {.run = res->run, .previous = res->baseline, .since = &res->since};

	if (!res->run) {
		say(n, "%s: %s%s%s", j->item, store_job_state_name(j->state), j->error ? ": " : "",
		    j->error ? j->error : "");
		return;
	}
	strbuf_addf(&text, "%s on %s, %s: %s", res->run->kernel_label, res->run->rig,
		    res->run->scenario, verdict_name(res->run->result.verdict));
	if (res->is_compared) {
		strbuf_adds(&text, "; ");
		compare_words(&res->change, compare_defaults.confidence, &text);
	} else if (res->differences) {
		strbuf_addf(&text, "; not compared with run %s: %s", res->baseline->id,
			    res->differences);
	}
	if (res->since.run_id) {
		strbuf_adds(&text, "; ");
		news_since_words(&res->since, wall_now(), &text);
	}
	news.text = strbuf_str(&text);
	if (news_of_run(res->baseline, res->run, res->is_compared ? &res->change : NULL,
			&news.kind))
		tell(n, &news);
	else
		say(n, "%s", strbuf_str(&text));
}

static int tell_end(const struct night *n, const struct store_job *j, struct err *e)
{
	__attribute__((cleanup(result_release))) struct nightly_result res = {0};
	int r = hold_against(n, j, &res, e);

	if (r < 0)
		return r;
	tell_result(n, j, &res);
	return 0;
}

/* ---- rigs that fail, budgets ---- */

static bool is_check(const struct store_job *j)
{
	return strcmp(j->kind, "check") == 0;
}

/* The run failed because of its rig as often as the plan lets it. */
static bool is_rig_suspect(const struct night *n, const struct store_job *j)
{
	return j->state == STORE_JOB_QUEUED && !is_check(j) && j->on_rig && j->verdict &&
	       strcmp(j->verdict, verdict_name(VERDICT_RIG_FAULT)) == 0 &&
	       j->attempts > n->cfg->plan->retries;
}

/* Queues a check of the rig; why it is done makes it one of its own. An item is queued once. */
static int ask_for_check(struct night *n, const char *rig, const char *why, struct err *e)
{
	auto_free char *item = xasprintf("check|%s|%s", rig, why);
	auto_free char *name = xstrdup(rig);
	char kind[] = "check", scenario[] = CHECK_SCENARIO, parameters[] = "{}", who[256];
	const struct store_job j = {
		.kind = kind,
		.priority = FIRST,
		.rig = name,
		.scenario = scenario,
		.parameters = parameters,
		.night = n->number,
		.item = item,
		.submitted_by = who,
		.attempts_max = ATTEMPTS_MAX,
	};
	int64_t number;
	int r;

	lab_who(who, sizeof(who));
	r = store_job_submit(n->cfg->store, &j, &number, e);
	if (r == 0)
		say(n, "rig %s is checked: %s", rig, why);
	return r < 0 ? r : 0;
}

static const struct store_job *find_check(struct store_job *const *jobs, size_t n_jobs,
					  const struct store_job *of)
{
	auto_free char *item = xasprintf("check|%s|job %" PRId64, of->on_rig, of->job);

	for (size_t i = 0; i < n_jobs; i++)
		if (jobs[i] && jobs[i]->item && strcmp(jobs[i]->item, item) == 0)
			return jobs[i];
	return NULL;
}

static int quarantine(struct night *n, const char *rig, const char *why, struct err *e)
{
	struct news news = {.kind = NEWS_QUARANTINE, .rig = rig, .text = why};
	int r = store_rig_quarantine(n->cfg->store, rig, why, e);

	if (r >= 0)
		tell(n, &news);
	return r;
}

static int cancel(const struct night *n, const struct store_job *j, struct err *e)
{
	struct err why = {0};
	int r = store_job_cancel(n->cfg->store, j->job, &why);

	/* it may have ended meanwhile */
	if (r >= 0 || r == -EALREADY)
		return 0;
	*e = why;
	return r;
}

/* All that is still to do: the night is over, and what waits would be done in none. */
static int cancel_rest(const struct night *n, struct err *e)
{
	struct store_job **jobs = NULL;
	size_t n_jobs = 0;
	int r = list_jobs(n, &jobs, &n_jobs, e);

	for (size_t i = 0; r >= 0 && i < n_jobs; i++)
		if (is_open(jobs[i]))
			r = cancel(n, jobs[i], e);
	store_jobs_free(jobs, n_jobs);
	return r;
}

static const struct store_rig *find_rig(const struct store_rig *rigs, size_t n, const char *rig)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rigs[i].rig, rig) == 0)
			return &rigs[i];
	return NULL;
}

/* The rig's check has ended: where a failed one put the rig into quarantine, that is news. */
static void tell_check(const struct night *n, const struct store_job *j,
		       const struct store_rig *rig)
{
	auto_free char *text = NULL;
	struct news news = {.kind = NEWS_QUARANTINE, .rig = j->rig};

	if (j->state == STORE_JOB_DONE && rig && rig->quarantined_wall_ns) {
		text = xasprintf("%s is in quarantine: %s", j->rig,
				 rig->quarantine_reason ? rig->quarantine_reason : "");
		news.text = text;
		tell(n, &news);
		return;
	}
	say(n, "check of %s: %s", j->rig, j->error ? j->error : store_job_state_name(j->state));
}

/*
 * A job whose rig failed too often: the rig is checked, and then the job is given up. A rig that
 * passes its check goes on with the others; one that fails it is in quarantine by then, and so is
 * one that cannot be checked.
 */
static int look_at_suspect(struct night *n, const struct store_job *j,
			   struct store_job *const *jobs, size_t n_jobs, struct err *e)
{
	const struct store_job *check = find_check(jobs, n_jobs, j);
	auto_free char *text = NULL;
	int r;

	if (!check) {
		text = xasprintf("job %" PRId64, j->job);
		return ask_for_check(n, j->on_rig, text, e);
	}
	if (is_open(check))
		return 0;
	if (check->state == STORE_JOB_FAILED) {
		text = xasprintf("%s failed %u times (%s) and cannot be checked: %s", j->on_rig,
				 j->attempts, j->error ? j->error : "RIG-FAULT",
				 check->error ? check->error : "no reason given");
		r = quarantine(n, j->on_rig, text, e);
		if (r < 0)
			return r;
	}
	return cancel(n, j, e);
}

/* Looks at what has become of the jobs: news, failing rigs, the budget. *ret_open: still to do on a
   rig that may do it. */
static int look(struct night *n, size_t *ret_open, struct err *e)
{
	bool is_over = waiter_now(n->cfg->w) >= n->budget_until_ns;
	struct store_rig *rigs = NULL;
	struct store_job **jobs = NULL;
	size_t n_jobs = 0, n_rigs = 0;
	int r;

	*ret_open = 0;
	r = list_jobs(n, &jobs, &n_jobs, e);
	if (r >= 0)
		r = store_rigs(n->cfg->store, &rigs, &n_rigs, e);
	for (size_t i = 0; r >= 0 && i < n_jobs; i++) {
		const struct store_job *j = jobs[i];

		if (is_over && j->state == STORE_JOB_QUEUED) {
			r = cancel(n, j, e);
		} else if (is_rig_suspect(n, j)) {
			r = look_at_suspect(n, j, jobs, n_jobs, e);
		} else if (!is_open(j) && !was_told(n, j)) {
			note_told(n, j);
			if (is_check(j))
				tell_check(n, j, find_rig(rigs, n_rigs, j->rig));
			else
				r = tell_end(n, j, e);
		}
	}
	for (size_t i = 0; r >= 0 && i < n_jobs; i++) {
		const struct store_rig *rig =
			jobs[i]->rig ? find_rig(rigs, n_rigs, jobs[i]->rig) : NULL;
		bool is_shut = rig && rig->quarantined_wall_ns && !is_check(jobs[i]);

		*ret_open += is_open(jobs[i]) && !is_shut;
	}
	store_rigs_free(rigs, n_rigs);
	store_jobs_free(jobs, n_jobs);
	return r;
}

/* The worker's lines are when something may have changed. */
static void on_worker(void *self, const char *text)
{
	struct night *n = self;
	struct err e = {0};
	size_t open;

	say(n, "%s", text);
	if (n->is_looking)
		return;
	n->is_looking = true;
	if (look(n, &open, &e) < 0)
		say(n, "%s", e.text);
	n->is_looking = false;
}

/* ---- the night's begin ---- */

static int begin_new(struct night *n, struct err *e)
{
	const struct plan *p = n->cfg->plan;
	auto_strbuf struct strbuf yaml = STRBUF_INIT;
	int r;

	r = file_read(p->path, PLAN_FILE_MAX, &yaml, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	return store_night_begin(n->cfg->store, p->name, p->sha256, strbuf_str(&yaml),
				 (int64_t)p->budget_minutes * 60, &n->number, e);
}

static int end_old(const struct night *n, const struct store_night *old, const char *note,
		   struct err *e)
{
	const struct night past = {.cfg = n->cfg, .number = old->night};
	int r = cancel_rest(&past, e);

	if (r >= 0)
		r = store_night_end(n->cfg->store, old->night, note, e);
	if (r >= 0)
		say(n, "night %" PRId64 " is ended: %s", old->night, note);
	return r;
}

/* The one that did not end, if the plan is still the same; else a new one. */
static int begin(struct night *n, struct err *e)
{
	const struct plan *p = n->cfg->plan;
	auto_store_night struct store_night *old = NULL;
	struct err none = {0};
	int64_t left_s;
	int r;

	n->budget_until_ns = NSEC_FOREVER;
	left_s = (int64_t)p->budget_minutes * 60;
	r = store_night_newest(n->cfg->store, p->name, &old, &none);
	if (r < 0 && r != -ENOENT) {
		*e = none;
		return r;
	}
	if (old && !old->ended_wall_ns && n->cfg->starts_anew)
		r = end_old(n, old, "a new one was asked for", e);
	else if (old && !old->ended_wall_ns && strcmp(old->plan_sha256, p->sha256) != 0)
		r = end_old(n, old, "the plan was changed", e);
	else if (old && !old->ended_wall_ns) {
		n->number = old->night;
		left_s -= (wall_now() - old->started_wall_ns) / NSEC_PER_SEC;
		say(n, "night %" PRId64 " of plan '%s' goes on", n->number, p->name);
		r = 0;
	} else {
		r = 0;
	}
	if (r >= 0 && !n->number)
		r = begin_new(n, e);
	if (r >= 0 && p->budget_minutes)
		n->budget_until_ns = waiter_now(n->cfg->w) + left_s * NSEC_PER_SEC;
	return r;
}

static struct store_job job_of(const struct night *n, const struct nightly_item *it)
{
	return (struct store_job){
		.priority = it->priority,
		.rig = it->rig,
		.scenario = it->scenario,
		.kernel = it->kernel,
		.append = it->append,
		.trials = n->cfg->plan->trials,
		.night = n->number,
		.item = it->name,
		.attempts_max = ATTEMPTS_MAX,
	};
}

/*
 * An item that is in the queue already stays as it is. The baseline goes first: a run is held
 * against the newest one that has ended.
 */
static int submit(struct night *n, const struct nightly_list *list, bool is_first, struct err *e)
{
	auto_free struct store_job *jobs = xcalloc(list->n + 1, sizeof(*jobs));
	auto_free const struct store_job **rows = xcalloc(list->n + 1, sizeof(*rows));
	const struct plan *p = n->cfg->plan;
	auto_free char *parameters =
		plan_names_baseline(p) ? lab_job_parameter("baseline", p->baseline) : xstrdup("{}");
	char kind[] = "run", who[256];
	size_t n_rows = 0;

	lab_who(who, sizeof(who));
	for (size_t i = 0; i < 2 * list->n; i++) {
		const struct nightly_item *it = &list->items[i % list->n];
		const bool is_baseline = plan_is_baseline(p, it->kernel, it->append);

		if (it->left_out) {
			if (is_first && i < list->n)
				say(n, "left out: %s: %s", it->name, it->left_out);
			continue;
		}
		if (is_baseline != (i < list->n))
			continue;
		jobs[n_rows] = job_of(n, it);
		jobs[n_rows].kind = kind;
		jobs[n_rows].submitted_by = who;
		jobs[n_rows].parameters = parameters;
		rows[n_rows] = &jobs[n_rows];
		n_rows++;
	}
	return n_rows ? store_jobs_submit(n->cfg->store, rows, n_rows, NULL, e) : 0;
}

/* Someone may have looked after the rigs in quarantine meanwhile. */
static int ask_for_begin_checks(struct night *n, struct err *e)
{
	struct store_rig *rigs = NULL;
	struct store_job **jobs = NULL;
	size_t n_jobs = 0, n_rigs = 0;
	int r;

	r = list_jobs(n, &jobs, &n_jobs, e);
	if (r >= 0)
		r = store_rigs(n->cfg->store, &rigs, &n_rigs, e);
	for (size_t i = 0; r >= 0 && i < n_rigs; i++) {
		bool is_wanted = false;

		for (size_t k = 0; k < n_jobs; k++)
			is_wanted |= is_open(jobs[k]) && jobs[k]->rig &&
				     strcmp(jobs[k]->rig, rigs[i].rig) == 0;
		if (is_wanted && rigs[i].quarantined_wall_ns)
			r = ask_for_check(n, rigs[i].rig, "the night begins", e);
	}
	store_rigs_free(rigs, n_rigs);
	store_jobs_free(jobs, n_jobs);
	return r;
}

/* ---- the work ---- */

static int work(struct night *n, struct err *e)
{
	const struct lab_hooks hooks = {.say = on_worker, .self = n};
	struct lab_worker_cfg cfg = {
		.location = n->cfg->location,
		.program = n->cfg->program,
		.lease_s = n->cfg->lease_s,
		.idle_s = 1,
		.ends_when_empty = true,
		.w = n->cfg->w,
		.hooks = &hooks,
	};
	auto_free const char **rigs = NULL;
	struct store_job **jobs = NULL;
	size_t n_jobs = 0, open = 0;
	int r;

	r = list_jobs(n, &jobs, &n_jobs, e);
	if (r < 0)
		return r;
	rigs = xcalloc(n_jobs + 1, sizeof(*rigs));
	for (size_t i = 0; i < n_jobs; i++) {
		size_t k = 0;

		while (k < cfg.n_rigs && strcmp(rigs[k], jobs[i]->rig) != 0)
			k++;
		if (k == cfg.n_rigs)
			rigs[cfg.n_rigs++] = jobs[i]->rig;
	}
	cfg.rigs = rigs;

	for (;;) {
		r = look(n, &open, e);
		if (r < 0 || !open)
			break;
		r = lab_worker_run(&cfg, e);
		if (r >= 0)
			r = look(n, &open, e);
		if (r < 0 || !open)
			break;
		r = waiter_sleep(n->cfg->w, PAUSE_NS, e);
		if (r < 0)
			break;
	}
	store_jobs_free(jobs, n_jobs);
	return r;
}

/* ---- kernels that are dropped while it goes on ---- */

static bool has_folder(const struct plan *p)
{
	for (unsigned i = 0; i < p->kernels_count; i++)
		if (p->kernels[i].folder)
			return true;
	return false;
}

static bool has_settling(const struct nightly_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].is_settling)
			return true;
	return false;
}

/* What l says of watched folders takes the place of what all said of them. */
static void replace_dropped(struct nightly_list *all, struct nightly_list *l)
{
	struct nightly_list old = {.items = xcalloc(all->n + 1, sizeof(*old.items))};
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (all->items[i].is_dropped)
			old.items[old.n++] = all->items[i];
		else
			all->items[kept++] = all->items[i];
	}
	nightly_list_release(&old);
	all->items = xrealloc(all->items, kept + l->n + 1, sizeof(*all->items));
	for (size_t i = 0; i < l->n; i++)
		all->items[kept + i] = l->items[i];
	all->n = kept + l->n;
	free(l->items);
	*l = (struct nightly_list){0};
}

/*
 * A watched folder is looked at again when all else is done: what came meanwhile, and what was
 * still being written, is of this night. What goes on changing is waited for, but not for ever.
 */
static int work_on_dropped(struct night *n, struct nightly_list *all, struct err *e)
{
	nsec_t until_ns = waiter_now(n->cfg->w) + SETTLING_NS;
	size_t open = 0;
	int r = 0;

	while (has_folder(n->cfg->plan) && waiter_now(n->cfg->w) < n->budget_until_ns) {
		auto_nightly_list struct nightly_list l = {0};
		bool is_settling;

		r = nightly_expand(n->cfg->plan, n->cfg->kernels, n->cfg->store, NIGHTLY_DROPPED,
				   &l, e);
		if (r >= 0)
			r = submit(n, &l, false, e);
		is_settling = has_settling(&l);
		replace_dropped(all, &l);
		if (r >= 0)
			r = look(n, &open, e);
		if (r < 0 || (!open && (!is_settling || waiter_now(n->cfg->w) >= until_ns)))
			break;
		r = open ? work(n, e) : waiter_sleep(n->cfg->w, PAUSE_NS, e);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

/* ---- the night's end ---- */

static int by_job(const void *a, const void *b)
{
	const struct store_job *x = ((const struct nightly_result *)a)->job;
	const struct store_job *y = ((const struct nightly_result *)b)->job;

	return (x->job > y->job) - (x->job < y->job);
}

static int gather(const struct night *n, struct nightly_report *ret, struct err *e)
{
	struct store_job **jobs = NULL;
	size_t n_jobs = 0;
	int r = list_jobs(n, &jobs, &n_jobs, e);

	if (r < 0)
		return r;
	ret->night = n->number;
	ret->results = xcalloc(n_jobs + 1, sizeof(*ret->results));
	for (size_t i = 0; i < n_jobs; i++) {
		struct nightly_result *res;

		if (is_check(jobs[i]))
			continue;
		res = &ret->results[ret->n++];
		res->job = take(jobs[i]);
		if (r >= 0)
			r = hold_against(n, res->job, res, e);
	}
	store_jobs_free(jobs, n_jobs);
	qsort(ret->results, ret->n, sizeof(*ret->results), by_job);
	return r;
}

static int end(struct night *n, const struct nightly_report *report, struct err *e)
{
	unsigned of_verdict[VERDICT_MAX] = {0}, without = 0, baselines = 0;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct news news = {.kind = NEWS_NIGHT_ENDED};
	int r;

	for (size_t i = 0; i < report->n; i++) {
		if (report->results[i].is_baseline)
			baselines++;
		else if (report->results[i].run)
			of_verdict[report->results[i].run->result.verdict]++;
		else
			without++;
	}
	for (enum verdict v = 0; v < VERDICT_MAX; v++)
		if (of_verdict[v])
			strbuf_addf(&text, "%s%u %s", text.len ? ", " : "", of_verdict[v],
				    verdict_name(v));
	if (baselines)
		strbuf_addf(&text, "%s%u measured as a baseline", text.len ? ", " : "", baselines);
	if (without)
		strbuf_addf(&text, "%s%u not run", text.len ? ", " : "", without);
	if (!text.len)
		strbuf_adds(&text, "there was nothing to run");

	r = store_night_end(n->cfg->store, n->number, strbuf_str(&text), e);
	if (r < 0)
		return r;
	news.text = strbuf_str(&text);
	tell(n, &news);
	return 0;
}

static bool is_result(const struct nightly_report *report, const char *item)
{
	for (size_t i = 0; i < report->n; i++)
		if (strcmp(report->results[i].job->item, item) == 0)
			return true;
	return false;
}

/*
 * Items that were left out, out of all. One that was judged by this very night looks as if an
 * earlier one had done it.
 */
static void keep_left_out(struct nightly_report *report)
{
	struct nightly_list *list = &report->left_out;
	struct nightly_list others = {.items = xcalloc(list->n + 1, sizeof(*others.items))};
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].left_out && !is_result(report, list->items[i].name))
			list->items[kept++] = list->items[i];
		else
			others.items[others.n++] = list->items[i];
	}
	list->n = kept;
	nightly_list_release(&others);
}

/* The process that a worker's name tells of ("host.pid.chance"), if it was one of this host. */
static bool is_dead_here(const char *worker)
{
	const char *chance = strrchr(worker, '.');
	char host[128] = "";
	const char *pid_text;
	char *end;
	long pid;

	(void)gethostname(host, sizeof(host) - 1);
	if (!chance || strncmp(worker, host, strlen(host)) != 0 || worker[strlen(host)] != '.')
		return false;
	pid_text = worker + strlen(host) + 1;
	pid = strtol(pid_text, &end, 10);
	return pid > 0 && end == chance && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* What a killed process of this host held need not wait for the end of its lease. */
static int free_dead(const struct night *n, struct err *e)
{
	const struct store_job_result back = {.state = STORE_JOB_QUEUED,
					      .error = "its worker was killed"};
	struct store_job **jobs = NULL;
	size_t n_jobs = 0;
	int r = list_jobs(n, &jobs, &n_jobs, e);

	for (size_t i = 0; r >= 0 && i < n_jobs; i++) {
		const struct store_job *j = jobs[i];

		if (j->state != STORE_JOB_RUNNING || !j->worker || !is_dead_here(j->worker))
			continue;
		r = store_job_finish(n->cfg->store, j->worker, j, &back, e);
		if (r == -ESTALE) {
			err_clear(e);
			r = 0;
		}
	}
	store_jobs_free(jobs, n_jobs);
	return r;
}

/* What had ended before this call was told then. */
static int note_ended(struct night *n, struct err *e)
{
	struct store_job **jobs = NULL;
	size_t n_jobs = 0;
	int r = list_jobs(n, &jobs, &n_jobs, e);

	for (size_t i = 0; r >= 0 && i < n_jobs; i++)
		if (!is_open(jobs[i]))
			note_told(n, jobs[i]);
	store_jobs_free(jobs, n_jobs);
	return r;
}

int nightly_run(const struct nightly_cfg *cfg, struct nightly_report *ret, struct err *e)
{
	struct night n = {.cfg = cfg};
	int r;

	*ret = (struct nightly_report){0};
	r = nightly_expand(cfg->plan, cfg->kernels, cfg->store, NIGHTLY_ALL, &ret->left_out, e);
	if (r >= 0)
		r = begin(&n, e);
	if (r >= 0)
		r = note_ended(&n, e);
	if (r >= 0)
		r = free_dead(&n, e);
	if (r >= 0)
		r = submit(&n, &ret->left_out, true, e);
	if (r >= 0)
		r = ask_for_begin_checks(&n, e);
	if (r >= 0)
		r = work(&n, e);
	if (r >= 0)
		r = work_on_dropped(&n, &ret->left_out, e);
	if (r >= 0)
		r = cancel_rest(&n, e);
	if (r >= 0)
		r = gather(&n, ret, e);
	keep_left_out(ret);
	if (r >= 0)
		r = end(&n, ret, e);
	for (size_t i = 0; i < n.n_told; i++)
		free(n.told[i]);
	free(n.told);
	if (r < 0)
		return err_wrap(e, "plan '%s'", cfg->plan->name);
	return 0;
}
