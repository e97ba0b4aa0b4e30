/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker.c - the loop of a worker: take, watch, end. */
#include "lab/worker.h"

#include "base/child.h"
#include "lab/pull.h"

#include <stdarg.h>
#include <string.h>
#include <sys/random.h>

#define SIGNS_PER_LEASE 3
#define GRACE_NS        (30 * NSEC_PER_SEC) /* for a run to bring its rig into the safe state */
#define RETRY_NS        NSEC_PER_SEC

struct worker {
	const struct lab_worker_cfg *cfg;
	struct store *st;
	struct store_worker self;
	struct pull *pull; /* NULL = none */
	bool has_news;
};

static void say(const struct worker *wk, const char *fmt, ...) printf_like(2, 3);

static void say(const struct worker *wk, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX + 128];
	va_list ap;

	if (!wk->cfg->hooks || !wk->cfg->hooks->say)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wk->cfg->hooks->say(wk->cfg->hooks->self, text);
}

/* A name that no other worker has, now or later: the host's, this process's, and chance. */
static void name_worker(struct store_worker *self)
{
	uint32_t chance = 0;

	(void)gethostname(self->host, sizeof(self->host) - 1);
	(void)!getrandom(&chance, sizeof(chance), 0);
	self->pid = getpid();
	(void)snprintf(self->name, sizeof(self->name), "%s.%ld.%08x", self->host, (long)self->pid,
		       chance);
}

/* Errors that time can heal: the server comes back, another writer ends. */
static bool is_passing(int r)
{
	return r == -ECONNRESET || r == -EBUSY || r == -EAGAIN || r == -ENOSPC;
}

/* ---- a run in a process of its own ---- */

static bool has_ended(void *arg)
{
	return child_has_ended(arg, NULL);
}

static int wake_up(void *self, short revents, struct err *e)
{
	(void)self;
	(void)revents;
	(void)e;
	return 0;
}

static int start_job(const struct worker *wk, const struct store_job *j, struct child **ret,
		     struct err *e)
{
	auto_free char *number = xasprintf("%lld", (long long)j->job);
	/* not among the arguments: a location can hold a password, and those are there for all */
	auto_free char *env_store =
		wk->cfg->location ? xasprintf("STALLRIG_STORE=%s", wk->cfg->location) : NULL;
	const char *const argv[] = {wk->cfg->program, "job",         "run", number,
				    "--as",           wk->self.name, NULL};
	const char *const env[] = {env_store, NULL};
	const struct child_cfg cfg = {.argv = argv,
				      .env = env,
				      .stdin_fd = -1,
				      .stdout_fd = STDERR_FILENO,
				      .stderr_fd = STDERR_FILENO,
				      .dies_with_parent = true};

	return child_start(&cfg, ret, e);
}

enum watch_end { WATCH_ENDED, WATCH_CANCELLED, WATCH_STALE, WATCH_STOPPED };

/* Renews the lease until the run has ended or must be ended. */
static enum watch_end watch_job(struct worker *wk, const struct store_job *j, struct child *child)
{
	const nsec_t lease_ns = wk->self.lease_ns;
	struct waiter *w = wk->cfg->w;
	nsec_t renewed_ns = waiter_now(w);
	struct err e = {0};

	for (;;) {
		int r = waiter_until(w, waiter_now(w) + lease_ns / SIGNS_PER_LEASE, has_ended,
				     child, &e);

		if (r > 0)
			return WATCH_ENDED;
		if (r < 0)
			return WATCH_STOPPED;
		r = store_job_renew(wk->st, &wk->self, j, &e);
		if (r == 0)
			renewed_ns = waiter_now(w);
		else if (r > 0)
			return WATCH_CANCELLED;
		else if (r == -ESTALE || waiter_now(w) >= renewed_ns + lease_ns)
			return WATCH_STALE;
		else
			say(wk, "job %lld: no sign of life sent: %s", (long long)j->job, e.text);
		err_clear(&e);
	}
}

/* What the worker has to say of a job that its process did not end in the queue. */
static void end_unfinished(struct worker *wk, const struct store_job *j, enum store_job_state state,
			   const char *error)
{
	struct store_job_result result = {.state = state, .error = error};
	struct err e = {0};
	int r = store_job_finish(wk->st, wk->self.name, j, &result, &e);

	if (r < 0 && r != -ESTALE)
		say(wk, "job %lld: %s", (long long)j->job, e.text);
}

static int run_child(struct worker *wk, const struct store_job *j, struct err *e)
{
	struct waiter_source source = {.events = POLLIN, .ready = wake_up};
	auto_child struct child *child = NULL;
	auto_free char *how = NULL;
	enum watch_end end;
	int status = 0;
	int r;

	r = start_job(wk, j, &child, e);
	if (r < 0)
		return r;

	source.fd = child_pidfd(child);
	r = waiter_add(wk->cfg->w, &source, e);
	if (r < 0)
		return r;

	end = watch_job(wk, j, child);
	if (end == WATCH_STOPPED)
		waiter_clear_stop();
	status = child_stop(child, wk->cfg->w, GRACE_NS);
	waiter_remove(wk->cfg->w, source.fd);
	how = child_status_text(status);
	say(wk, "job %lld: ended with %s", (long long)j->job, how);
	switch (end) {
	case WATCH_ENDED:
		/* refused, and rightly, if the process has ended the job itself */
		end_unfinished(wk, j, STORE_JOB_QUEUED, how);
		return 0;
	case WATCH_CANCELLED:
		end_unfinished(wk, j, STORE_JOB_CANCELLED, NULL);
		return 0;
	case WATCH_STALE:
		say(wk, "job %lld: the lease is lost", (long long)j->job);
		return 0;
	case WATCH_STOPPED:
		break;
	}
	end_unfinished(wk, j, STORE_JOB_QUEUED, "the worker was stopped");
	return err_set(e, ERR_STOPPED, EINTR, "stopped");
}

static int do_job(struct worker *wk, const struct store_job *j, struct err *e)
{
	struct err why = {0};
	int r;

	say(wk, "job %lld: %s %s%s%s%s%s, attempt %u of %u", (long long)j->job, j->kind,
	    j->scenario, *j->kernel ? " with " : "", j->kernel, j->on_rig ? " on " : "",
	    j->on_rig ? j->on_rig : "", j->attempts, j->attempts_max);
	/* a replay waits for nothing: it is over before a sign of life would be due */
	if (strcmp(j->kind, "replay") != 0)
		return run_child(wk, j, e);
	r = lab_job_run(wk->st, wk->self.name, j, wk->cfg->w, wk->cfg->hooks, NULL, &why);
	if (r < 0)
		say(wk, "job %lld: %s", (long long)j->job, why.text);
	return 0;
}

/* ---- the loop ---- */

static int on_news(void *self, short revents, struct err *e)
{
	struct worker *wk = self;

	(void)revents;
	(void)e;
	wk->has_news = true;
	return 0;
}

static bool has_news(void *arg)
{
	const struct worker *wk = arg;

	return wk->has_news;
}

/* Until something may have come. */
static int wait_for_news(struct worker *wk, struct err *e)
{
	struct waiter *w = wk->cfg->w;
	unsigned idle_s = wk->cfg->idle_s;
	struct waiter_source source = {
		.fd = store_queue_fd(wk->st), .events = POLLIN, .ready = on_news, .self = wk};
	int r;

	wk->has_news = store_queue_has_news(wk->st);
	if (source.fd >= 0) {
		r = waiter_add(w, &source, e);
		if (r < 0)
			return r;
	}
	if (wk->pull && wk->cfg->pull->poll_s < idle_s)
		idle_s = wk->cfg->pull->poll_s;
	r = waiter_until(w, waiter_now(w) + idle_s * NSEC_PER_SEC, has_news, wk, e);
	if (source.fd >= 0)
		waiter_remove(w, source.fd);
	(void)store_queue_has_news(wk->st);
	return r < 0 ? r : 0;
}

/* One job, or a wait. 1 = there was nothing to do. */
static int turn(struct worker *wk, struct err *e)
{
	auto_store_job struct store_job *j = NULL;
	int pulled;
	int r;

	pulled = wk->pull ? pull_turn(wk->pull, e) : 0;
	if (pulled < 0)
		return pulled;
	r = store_job_take(wk->st, &wk->self, &j, e);
	if (r > 0)
		return do_job(wk, j, e);
	if (r == 0 && wk->cfg->ends_when_empty && !pulled)
		return 1;
	if (r == 0)
		r = wait_for_news(wk, e);
	/* a sign of life although there is nothing to do */
	return r < 0 ? r : store_worker_register(wk->st, &wk->self, e);
}

static int work(struct worker *wk, struct err *e)
{
	int r;

	do {
		r = waiter_is_stopped() ? err_set(e, ERR_STOPPED, EINTR, "stopped") : turn(wk, e);
		if (is_passing(r)) {
			say(wk, "%s", e->text);
			err_clear(e);
			r = waiter_sleep(wk->cfg->w, RETRY_NS, e);
		}
	} while (r == 0);
	return r;
}

int lab_worker_run(const struct lab_worker_cfg *cfg, struct err *e)
{
	auto_store struct store *st = NULL;
	struct worker wk = {.cfg = cfg,
			    .self = {.rigs = cfg->rigs,
				     .n_rigs = cfg->n_rigs,
				     .lease_ns = cfg->lease_s * NSEC_PER_SEC}};
	struct err late = {0};
	int r;

	name_worker(&wk.self);
	r = store_open(cfg->location, STORE_WRITE, &st, e);
	if (r < 0)
		return r;

	wk.st = st;
	r = store_worker_register(st, &wk.self, e);
	if (r >= 0)
		r = store_queue_listen(st, e);
	if (r >= 0 && cfg->pull)
		r = pull_open(cfg->pull, cfg->rigs, cfg->n_rigs, st, cfg->w, cfg->hooks, &wk.pull,
			      e);
	if (r < 0)
		return r;

	say(&wk, "worker %s: store %s", wk.self.name, store_location(st));
	if (cfg->hooks && cfg->hooks->ready)
		cfg->hooks->ready();
	r = work(&wk, e);
	pull_close(wk.pull);
	if (r < 0 && e->kind == ERR_STOPPED)
		waiter_clear_stop();
	if (store_worker_leave(st, &wk.self, &late) < 0)
		say(&wk, "%s", late.text);
	return r < 0 ? r : 0;
}
