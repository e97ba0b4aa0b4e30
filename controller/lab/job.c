/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - from a job of the queue to a run in the store. */
#include "base/fdio.h"
#include "base/strbuf.h"
#include "lab/baseline.h"
#include "lab/check.h"
#include "lab/worker.h"
#include "store/recordings.h"
#include "trial/rejudge.h"
#include "trial/runner.h"

#include <jansson.h>

#include <pwd.h>
#include <string.h>

/* After a fault of the rig, or when a person uses it: someone may put it right meanwhile. */
#define PAUSE_NS (60 * NSEC_PER_SEC)

struct execution {
	struct store *st;
	const char *worker; /* NULL = a person's, it is not in the queue */
	const struct store_job *j;
	const struct rig_cfg *rig; /* set before the first trial */
	const struct lab_hooks *hooks;
	const char *faults;       /* of the switch; NULL = none */
	nsec_t lock_wait_ns;      /* for the rig's own lock */
	const struct run *resume; /* goes on: its head row was there before; NULL = a new run */
	const struct run *begun;  /* its head row is in the store */
};

void lab_who(char *ret, size_t cap)
{
	const struct passwd *pw = getpwuid(geteuid());
	char host[128] = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(ret, cap, "%s@%s", pw ? pw->pw_name : "unknown", host[0] ? host : "unknown");
}

static void say(const struct lab_hooks *hooks, const char *text)
{
	if (hooks && hooks->say)
		hooks->say(hooks->self, text);
}

/* ---- hooks of the runner: all but the end, which belongs to the end of the job ---- */

static void on_phase(void *self, const struct run *r, const char *text)
{
	const struct execution *x = self;

	(void)r;
	say(x->hooks, text);
}

static int on_run(void *self, const struct run *r, struct err *e)
{
	struct execution *x = self;

	if (x->begun != r) {
		/* in this order: no run is ever there that its job does not know of */
		int ret = x->worker ? store_job_began(x->st, x->worker, x->j, r->id, e) : 0;

		if (ret < 0)
			return ret;
		x->begun = r;
		return r == x->resume ? store_run_update(x->st, r, e)
				      : store_run_begin(x->st, r, e);
	}
	return r->ended_wall_ns ? 0 : store_run_update(x->st, r, e);
}

static int on_boot(void *self, const struct run *r, const struct trial_boot *b, struct err *e)
{
	const struct execution *x = self;

	return store_boot_add(x->st, r, b, e);
}

static int on_wear(void *self, struct switch_wear *ret, struct err *e)
{
	const struct execution *x = self;

	return store_wear_of(x->st, x->rig->name, switch_cfg_worn_part(&x->rig->stick_switch),
			     x->rig->stick.serial, &ret->switch_cycles, &ret->stick_cycles, e);
}

static int on_trial(void *self, const struct run *r, const struct trial *t, struct err *e)
{
	const struct execution *x = self;
	auto_free char *text = xasprintf("trial %u of run %s", t->number, r->id);
	int ret;

	ret = store_trial_end(x->st, r, t, switch_cfg_worn_part(&x->rig->stick_switch),
			      x->rig->stick.serial, e);
	say(x->hooks, text);
	return ret;
}

static const struct runner_hooks runner_hooks = {
	.phase = on_phase,
	.run = on_run,
	.wear = on_wear,
	.boot = on_boot,
	.trial = on_trial,
};

/* ---- run ---- */

static void on_kernels(void *self, const char *text)
{
	const struct execution *x = self;

	say(x->hooks, text);
}

/* A series that this host does not have is fetched; a name must be there. */
static int find_kernel(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		       struct kernel_build **ret, struct err *e)
{
	bool is_series = strncmp(spec, "debian:", 7) == 0;
	int r;

	r = kernel_find(ctx, spec, is_series ? arch : NULL, ret, e);
	if (r != -ENOENT || !is_series)
		return r;
	err_clear(e);
	return kernel_fetch(ctx, spec, arch, ret, e);
}

/* The run of an attempt that was cut off; it goes on if it is still of the same rig and build. */
static int find_unended(const struct execution *x, struct run **ret, struct err *e)
{
	auto_run struct run *run = NULL;
	int r;

	r = store_find_run(x->st, x->j->run_id, &run, e);
	if (r < 0)
		return r;
	*ret = run && !run->ended_wall_ns ? take(run) : NULL;
	return 0;
}

char *lab_job_parameter(const char *key, const char *value)
{
	json_t *json = json_pack("{s:s}", key, value);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return text ? text : xstrdup("{}");
}

/* What lab_job_parameter() made; NULL if it is not there. Caller frees. */
static char *read_parameter(const struct store_job *j, const char *key)
{
	json_t *json = json_loads(j->parameters ? j->parameters : "{}", 0, NULL);
	const char *value = json_string_value(json_object_get(json, key));
	char *ret = value ? xstrdup(value) : NULL;

	json_decref(json);
	return ret;
}

/*
 * What the numbers are held against, if the scenario demands shares of a baseline and the job names
 * one. *ret_is_baseline: it is the run of the baseline itself.
 */
static int find_baseline(const struct execution *x, const struct scenario *sc, const char *kernel,
			 struct run **ret, bool *ret_is_baseline, struct err *e)
{
	const struct store_job *j = x->j;
	auto_free char *build = read_parameter(j, "baseline");
	auto_free char *id = NULL;
	int r = 0;

	*ret = NULL;
	*ret_is_baseline = build && strcmp(build, kernel) == 0 && !*j->append;
	if (build && scenario_needs_baseline(sc) && !*ret_is_baseline)
		r = lab_baseline_find(x->st, build, x->rig->name, sc->name, NULL, &id, e);
	if (r >= 0 && id)
		r = store_find_run(x->st, id, ret, e);
	else if (r >= 0 && build && scenario_needs_baseline(sc) && !*ret_is_baseline)
		say(x->hooks, "the named baseline has no run with this scenario on this rig");
	return r;
}

static int run_trials(struct execution *x, struct waiter *w, struct run **ret, struct err *e)
{
	const struct store_job *j = x->j;
	auto_run struct run *baseline = NULL;
	bool is_baseline = false;
	auto_scenario struct scenario *scenario = NULL;
	auto_rig_cfg struct rig_cfg *rig = NULL;
	struct kernel_build *kernel = NULL;
	struct kernels_ctx ctx = {.w = w, .progress = on_kernels, .self = x};
	struct runner_cfg cfg = {.kernels = &ctx,
				 .append = *j->append ? j->append : NULL,
				 .trials = j->trials,
				 .faults = x->faults,
				 .lock_wait_ns = x->lock_wait_ns,
				 .w = w,
				 .hooks = &runner_hooks,
				 .self = x};
	int r;

	r = rig_cfg_load(j->on_rig, &rig, e);
	if (r >= 0)
		r = scenario_load(j->scenario, &scenario, e);
	if (r >= 0)
		r = find_kernel(&ctx, j->kernel, rig->arch, &kernel, e);
	if (r < 0)
		return r;

	cfg.rig = rig;
	x->rig = rig;
	cfg.scenario = scenario;
	cfg.kernel = kernel;
	r = find_baseline(x, scenario, kernel->name, &baseline, &is_baseline, e);
	cfg.baseline = baseline;
	if (is_baseline && !cfg.trials)
		cfg.trials = scenario_baseline_trials(scenario);
	if (j->boots) {
		unsigned trials = cfg.trials ? cfg.trials : scenario->trials.valid;

		cfg.per_boot = (trials + j->boots - 1) / j->boots;
	}
	if (r >= 0)
		r = find_unended(x, &cfg.resume, e);
	x->resume = cfg.resume;
	if (r >= 0)
		r = runner_run(&cfg, ret, e);
	if (cfg.resume && r == -EINVAL && !*ret && e->kind == ERR_USAGE) {
		/* the rig, the scenario or the build is another one now: what there is of it ends
		 */
		say(x->hooks, e->text);
		err_clear(e);
		cfg.resume->ended_wall_ns = wall_now();
		run_judge(cfg.resume);
		r = store_run_update(x->st, cfg.resume, e);
		run_free(take(cfg.resume));
		x->resume = NULL;
		if (r >= 0)
			r = runner_run(&cfg, ret, e);
	}
	if (cfg.resume && cfg.resume != *ret)
		run_free(cfg.resume);
	kernel_build_free(kernel);
	return r;
}

/* ---- replay ---- */

static int read_folder(const struct store_job *j, char **ret, struct err *e)
{
	*ret = read_parameter(j, "folder");
	return *ret ? 0 : err_set(e, ERR_USAGE, EINVAL, "a replay needs the parameter \"folder\"");
}

/* Judges a recorded run again and stores it as a run of its own. */
static int run_replay(struct execution *x, struct run **ret, struct err *e)
{
	auto_free char *folder = NULL;
	struct run *run = NULL;
	int r;

	r = read_folder(x->j, &folder, e);
	if (r >= 0)
		r = rejudge_run(folder, &run, e);
	if (r < 0)
		return r;

	*ret = run;
	free(run->id);
	run->id = xasprintf("replay-%lld-%u", (long long)x->j->job, x->j->attempts);
	run->started_wall_ns = wall_now();
	run->ended_wall_ns = 0;

	r = store_run_begin(x->st, run, e);
	for (size_t i = 0; r >= 0 && i < run->n_boots; i++)
		r = store_boot_add(x->st, run, &run->boots[i], e);
	for (size_t i = 0; r >= 0 && i < run->n_trials; i++)
		r = store_trial_add(x->st, run, run->trials[i], e);
	run->ended_wall_ns = wall_now();
	return r;
}

/* ---- check ---- */

static int find_golden(const struct store_job *j, const char *kernel, char **ret, struct err *e)
{
	auto_rig_cfg struct rig_cfg *rig = NULL;
	int r = rig_cfg_load(j->on_rig, &rig, e);

	if (r < 0)
		return r;
	if (!kernel || !*kernel)
		kernel = rig->golden_kernel;
	if (!*kernel)
		return err_set(e, ERR_CONFIG, ENOENT,
			       "rig '%s' has no golden_kernel to be checked with (%s)", j->on_rig,
			       rig->path);
	*ret = xstrdup(kernel);
	return 0;
}

/* Trouble of the bench is what a check is there to find; all else says nothing about the rig. */
static bool is_bench_trouble(const struct err *e)
{
	return (e->kind == ERR_RIG || e->kind == ERR_TARGET) && e->code != EBUSY;
}

/* The result is in the store when 0 is returned. */
static int run_check(struct execution *x, struct waiter *w, struct check_result *ret_check,
		     struct run **ret, struct err *e)
{
	const struct store_job *asked = x->j;
	auto_free char *golden = NULL;
	struct store_job j = *asked;
	int r;

	r = find_golden(&j, j.kernel, &golden, e);
	if (r < 0)
		return r;
	j.kernel = golden;
	x->j = &j;
	r = run_trials(x, w, ret, e);
	x->j = asked;
	if (r < 0 && is_bench_trouble(e))
		check_judge_error(e->text, ret_check);
	else if (r < 0)
		return r;
	else
		check_judge(*ret, ret_check);
	err_clear(e);
	return check_keep(x->st, j.on_rig, ret_check, e);
}

int lab_check_rig(const struct check_cfg *cfg, struct check_result *ret, struct run **ret_run,
		  struct err *e)
{
	char kind[] = "check", scenario[] = CHECK_SCENARIO, append[] = "";
	auto_free char *rig = xstrdup(cfg->rig);
	auto_free char *kernel = xstrdup(cfg->kernel ? cfg->kernel : "");
	const struct store_job j = {.kind = kind,
				    .on_rig = rig,
				    .scenario = scenario,
				    .kernel = kernel,
				    .append = append};
	struct execution x = {.st = cfg->store,
			      .j = &j,
			      .hooks = cfg->hooks,
			      .faults = cfg->faults,
			      .lock_wait_ns = cfg->lock_wait_ns};
	auto_run struct run *run = NULL;
	int r;

	r = run_check(&x, cfg->w, ret, &run, e);
	if (run && x.begun) {
		struct err late = {0};

		/* the end of a run is stored with that of its job, and here there is none */
		if (store_run_update(cfg->store, run, &late) < 0 && r >= 0) {
			*e = late;
			r = -late.code;
		}
	}
	if (r < 0)
		return r;
	*ret_run = take(run);
	return 0;
}

/* ---- the end ---- */

/* For the other hosts of the lab. What is lost with it is only their view. */
static void keep_recording(struct store *st, const struct run *run, const struct lab_hooks *hooks)
{
	const char *folder = path_shared_recordings();
	auto_free char *dir = xasprintf("recordings/%s", run->id);
	auto_free char *path = path_state(dir);
	auto_free char *text = NULL;
	struct err e = {0};

	if ((!folder && !store_is_shared(st)) || access(path, F_OK) < 0)
		return; /* a replay has no recording of its own */
	if (store_recording_keep(st, run->id, path, folder, &e) >= 0)
		return;
	text = xasprintf("the recording stays on this host: %s", e.text);
	say(hooks, text);
}

/* What becomes of a job whose execution returned r with this error. */
static void decide(int r, const struct run *run, const struct err *e, struct store_job_result *ret)
{
	*ret = (struct store_job_result){.state = STORE_JOB_DONE, .run = run};
	if (r >= 0) {
		if (run->result.verdict == VERDICT_RIG_FAULT) {
			ret->state = STORE_JOB_QUEUED;
			ret->error = run->result.reason;
			ret->pause_ns = PAUSE_NS;
		}
		return;
	}
	ret->error = e->text;
	ret->state = STORE_JOB_QUEUED;
	ret->pause_ns = PAUSE_NS;
	/* what is wrong with the words of the job stays wrong */
	if (e->code != EBUSY &&
	    (e->kind == ERR_USAGE || e->kind == ERR_CONFIG || e->kind == ERR_KERNEL))
		ret->state = STORE_JOB_FAILED;
}

int lab_job_run(struct store *st, const char *worker, const struct store_job *j, struct waiter *w,
		const struct lab_hooks *hooks, enum store_job_state *ret_state, struct err *e)
{
	struct execution x = {.st = st, .worker = worker, .j = j, .hooks = hooks};
	struct store_job_result result;
	struct check_result check = {0};
	auto_run struct run *run = NULL;
	struct err why = {0};
	int r;

	if (strcmp(j->kind, "run") == 0)
		r = run_trials(&x, w, &run, &why);
	else if (strcmp(j->kind, "check") == 0)
		r = run_check(&x, w, &check, &run, &why);
	else if (strcmp(j->kind, "replay") == 0)
		r = run_replay(&x, &run, &why);
	else
		r = err_set(&why, ERR_USAGE, EINVAL, "there is no kind of job '%s'", j->kind);

	if (r < 0 && why.kind == ERR_STOPPED) {
		/* what was done stays, with its end */
		*e = why;
		if (run && x.begun && store_run_update(st, run, &why) < 0)
			say(hooks, why.text);
		return r;
	}
	if (run && x.begun)
		keep_recording(st, run, hooks);
	decide(r, x.begun || r >= 0 ? run : NULL, &why, &result);
	if (r >= 0 && *check.text) {
		/* a failed check is a result; it is not tried until it passes */
		result = (struct store_job_result){
			.state = STORE_JOB_DONE, .run = run, .error = check.text};
		say(hooks, check.text);
	}
	if (ret_state)
		*ret_state = result.state;
	r = store_job_finish(st, worker, j, &result, e);
	return r < 0 ? r : 0;
}
