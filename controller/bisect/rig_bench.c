/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig_bench.c - commits become kernels, kernels become observations. */
#include "bisect/rig_bench.h"

#include "base/fdio.h"
#include "kernels/git.h"
#include "store/queue.h"
#include "trial/run_compare.h"
#include "trial/runner.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define LOCK_WAIT_NS      (3600 * NSEC_PER_SEC) /* for a rig that another run holds */
#define DISK_WANTED_BYTES ((uint64_t)512 << 20) /* objects, image and initramfs of one build */
#define NO_BOOT_TRIES     2                     /* a machine under load may be late once */

struct rig_bench {
	struct rig_bench_cfg cfg;
	struct bisect_bench bench;
	struct kernels_ctx kernels;
	struct rig_cfg *rig;
	struct scenario *scenario;
	struct run *baseline; /* NULL = the scenario needs none */
	char *store_dir;      /* of the kernels */
	char *logs;
	char *worktree;
	int lock; /* on the worktree, -1 until it is used */
	bool is_own_worktree;
	const struct run *begun; /* its head row is in the store */
};

/* ---- pure parts ---- */

static bool is_wanted_crash(const char *crash, const char *failure)
{
	if (strcmp(failure, "any") == 0)
		return true;
	return strcmp(failure, "over-limit") != 0 && strstr(crash, failure) != NULL;
}

bool bisect_observe(const struct run *run, const struct trial *t, const char *failure,
		    struct bisect_observation *ret, char *ret_why, size_t cap)
{
	bool counts_delays = strcmp(failure, "over-limit") == 0 || strcmp(failure, "any") == 0;

	ret_why[0] = '\0';
	*ret = (struct bisect_observation){.delay_ms = -1};
	if (t->is_crash) {
		ret->is_over = is_wanted_crash(t->crash, failure);
		if (!ret->is_over)
			(void)snprintf(ret_why, cap, "another failure than the wanted one: %s",
				       t->crash);
		return ret->is_over;
	}
	if (!t->is_valid || t->worst_us < 0)
		return false;
	if (!counts_delays)
		return true; /* no crash: whatever the delay was, it is not what is looked for */
	ret->is_over = t->worst_us > run->limit_us || run_trial_is_outside(run, t);
	if (run->n_limits)
		return true;
	ret->delay_ms = (double)t->worst_us / 1000;
	for (size_t i = 0; i < t->n_delays; i++)
		ret->is_censored |= t->delays[i].is_live && t->delays[i].us >= t->worst_us;
	return true;
}

int hotfix_parse(const char *rule, char **ret_from, char **ret_to, char **ret_file, struct err *e)
{
	const char *dots = strstr(rule, "..");
	const char *eq = strchr(rule, '=');

	if (!dots || !eq || dots == rule || eq < dots + 3 || !eq[1])
		return err_set(e, ERR_USAGE, EINVAL, "hotfix '%s' is not of the form FROM..TO=FILE",
			       rule);
	*ret_from = xasprintf("%.*s", (int)(dots - rule), rule);
	*ret_to = xasprintf("%.*s", (int)(eq - dots - 2), dots + 2);
	*ret_file = xstrdup(eq + 1);
	return 0;
}

/* ---- worktree ---- */

static char *worktree_path(const char *repo)
{
	char digest[SHA256_HEX_SIZE];
	auto_free char *sub = NULL;
	const char *slash = strrchr(repo, '/');

	sha256_bytes(repo, strlen(repo), digest);
	sub = xasprintf("worktrees/%s-%.12s", slash ? slash + 1 : repo, digest);
	return path_cache(sub);
}

static int lock_worktree(struct rig_bench *rb, struct err *e)
{
	auto_free char *path = xasprintf("%s.lock", rb->worktree);
	auto_free char *parent =
		xasprintf("%.*s", (int)(strrchr(rb->worktree, '/') - rb->worktree), rb->worktree);
	int r;

	if (rb->lock >= 0)
		return 0;
	r = dir_make(parent, e);
	if (r < 0)
		return r;
	rb->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (rb->lock < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	if (flock(rb->lock, LOCK_EX | LOCK_NB) < 0) {
		close(take_fd(rb->lock));
		return err_set(e, ERR_USAGE, EBUSY,
			       "another bisect of %s is building: its worktree %s is locked",
			       rb->cfg.setup->repo, rb->worktree);
	}
	return 0;
}

/* One worktree a repository: the next commit finds the objects of the last. */
static int need_worktree(struct rig_bench *rb, const char *sha, struct err *e)
{
	auto_free char *dot_git = xasprintf("%s/.git", rb->worktree);
	const char *const add[] = {"worktree", "add",        "--force", "--force",
				   "--detach", rb->worktree, sha,       NULL};
	int r;

	r = lock_worktree(rb, e);
	if (r < 0 || access(dot_git, F_OK) == 0)
		return r;
	return git_run(rb->cfg.w, rb->cfg.setup->repo, add, NULL, e);
}

/* What a hotfix left goes away; objects stay. */
static int check_out(struct rig_bench *rb, const char *sha, struct err *e)
{
	int r = need_worktree(rb, sha, e);

	return r < 0 ? r : git_check_out(rb->cfg.w, rb->worktree, sha, e);
}

/* 1 if it was applied, 0 if the rule is not for this commit, -ECHILD if the patch does not fit. */
static int apply_hotfix(struct rig_bench *rb, const char *rule, const char *sha, struct err *e)
{
	auto_free char *from = NULL;
	auto_free char *to = NULL;
	auto_free char *file = NULL;
	int r;

	r = hotfix_parse(rule, &from, &to, &file, e);
	if (r >= 0)
		r = git_is_ancestor(rb->cfg.w, rb->cfg.setup->repo, from, sha, e);
	if (r <= 0)
		return r;
	r = git_is_ancestor(rb->cfg.w, rb->cfg.setup->repo, to, sha, e);
	if (r != 0)
		return r < 0 ? r : 0;
	{
		const char *const args[] = {"apply", "--whitespace=nowarn", file, NULL};

		r = git_run(rb->cfg.w, rb->worktree, args, NULL, e);
	}
	return r < 0 ? r : 1;
}

/* ---- building ---- */

static int need_disk(const char *where, struct err *e)
{
	struct statvfs fs;

	if (statvfs(where, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= DISK_WANTED_BYTES)
		return 0;
	return err_set(
		e, ERR_INTERNAL, ENOSPC,
		"%llu MiB free on the disk of %s, %llu are wanted before a build; nothing is "
		"lost: make room and resume",
		(unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 20), where,
		(unsigned long long)(DISK_WANTED_BYTES >> 20));
}

static int build_by_command(struct rig_bench *rb, const char *sha, const char *name,
			    const char *log, char *ret_untestable, size_t cap, struct err *e)
{
	auto_free char *out = xasprintf("%s/out", rb->cfg.dir);
	auto_kernel_build struct kernel_build *k = NULL;
	const struct kernel_command_cfg cfg = {
		.command = rb->cfg.setup->build,
		.tree = rb->worktree,
		.name = name,
		.commit = sha,
		.config = rb->cfg.setup->config,
		.out = out,
		.log = log,
	};
	int r;

	r = kernel_build_by_command(&rb->kernels, &cfg, &k, e);
	if (r >= 0 || e->kind != ERR_KERNEL)
		return r;
	(void)snprintf(ret_untestable, cap, "%s", e->text);
	err_clear(e);
	return 0;
}

static int build_by_make(struct rig_bench *rb, const char *sha, const char *name, const char *log,
			 char *ret_untestable, size_t cap, struct err *e)
{
	const char *config = rb->cfg.setup->config ? rb->cfg.setup->config : "virtual";
	auto_kernel_build struct kernel_build *k = NULL;
	const struct kernel_compile_cfg cfg = {
		.source = rb->worktree,
		.is_in_place = true,
		.configs = &config,
		.n_configs = 1,
		.may_drop_options = true,
		.name = name,
		.arch = rb->cfg.setup->arch,
		.commit = sha,
		.jobs = rb->cfg.setup->jobs,
		.log = log,
		.has_no_headers = true,
	};
	int r;

	r = kernel_compile(&rb->kernels, &cfg, &k, e);
	if (r < 0 && e->kind == ERR_KERNEL) {
		(void)snprintf(ret_untestable, cap, "kernel.no-build: %s", e->text);
		for (char *p = ret_untestable; *p; p++)
			if (*p == '\n')
				*p = ' ';
		err_clear(e);
		return 0;
	}
	return r;
}

static bool bench_has_kernel(void *self, const char *name)
{
	struct rig_bench *rb = self;
	auto_free char *json = xasprintf("%s/%s/kernel.json", rb->store_dir, name);

	return access(json, F_OK) == 0;
}

/* In the tree and forgotten: git does not wait for a commit of it. -ECHILD if it does not fit. */
static int revert(struct rig_bench *rb, const char *sha, struct err *e)
{
	const char *const args[] = {"revert", "--no-commit", sha, NULL};
	const char *const quit[] = {"revert", "--quit", NULL};
	struct err ignored = {0};
	int r = git_run(rb->cfg.w, rb->worktree, args, NULL, e);

	(void)!git_run(rb->cfg.w, rb->worktree, quit, NULL, &ignored);
	return r;
}

static int bench_build(void *self, const char *sha, const char *reverted, const char *name,
		       char *ret_untestable, size_t cap, struct err *e)
{
	struct rig_bench *rb = self;
	auto_free char *log = xasprintf("%s/%s.log", rb->logs, name);
	int r;

	r = need_disk(rb->cfg.dir, e);
	if (r >= 0 && rb->is_own_worktree)
		r = check_out(rb, sha, e);
	if (r >= 0 && reverted) {
		r = revert(rb, reverted, e);
		if (r == -ECHILD) {
			(void)snprintf(ret_untestable, cap,
				       "%.12s cannot be reverted there: %.160s", reverted, e->text);
			err_clear(e);
			return 0;
		}
	}
	for (size_t i = 0; i < rb->cfg.setup->n_hotfixes && r >= 0; i++) {
		r = apply_hotfix(rb, rb->cfg.setup->hotfixes[i], sha, e);
		if (r == -ECHILD) {
			(void)snprintf(ret_untestable, cap, "hotfix '%s' does not fit: %.160s",
				       rb->cfg.setup->hotfixes[i], e->text);
			err_clear(e);
			return 0;
		}
	}
	if (r < 0)
		return r;
	if (rb->cfg.setup->build)
		return build_by_command(rb, sha, name, log, ret_untestable, cap, e);
	return build_by_make(rb, sha, name, log, ret_untestable, cap, e);
}

/* ---- testing ---- */

static void on_phase(void *self, const struct run *r, const char *text)
{
	struct rig_bench *rb = self;

	(void)r;
	if (rb->cfg.now)
		rb->cfg.now(rb->cfg.self, text);
}

static int on_run(void *self, const struct run *r, struct err *e)
{
	struct rig_bench *rb = self;

	if (!rb->cfg.store)
		return 0;
	if (rb->begun == r)
		return store_run_update(rb->cfg.store, r, e);
	rb->begun = r;
	return store_run_begin(rb->cfg.store, r, e);
}

static int on_boot(void *self, const struct run *r, const struct trial_boot *b, struct err *e)
{
	struct rig_bench *rb = self;

	return rb->cfg.store ? store_boot_add(rb->cfg.store, r, b, e) : 0;
}

static int on_wear(void *self, struct switch_wear *ret, struct err *e)
{
	struct rig_bench *rb = self;

	if (!rb->cfg.store)
		return 0;
	return store_wear_of(rb->cfg.store, rb->rig->name,
			     switch_cfg_worn_part(&rb->rig->stick_switch), rb->rig->stick.serial,
			     &ret->switch_cycles, &ret->stick_cycles, e);
}

static int on_trial(void *self, const struct run *r, const struct trial *t, struct err *e)
{
	struct rig_bench *rb = self;

	return rb->cfg.store ? store_trial_end(rb->cfg.store, r, t,
					       switch_cfg_worn_part(&rb->rig->stick_switch),
					       rb->rig->stick.serial, e)
			     : 0;
}

static int run_once(struct rig_bench *rb, const char *name, unsigned trials, unsigned per_boot,
		    struct run **ret, struct err *e)
{
	static const struct runner_hooks hooks = {.phase = on_phase,
						  .run = on_run,
						  .wear = on_wear,
						  .boot = on_boot,
						  .trial = on_trial};
	auto_kernel_build struct kernel_build *k = NULL;
	const struct runner_cfg base = {
		.rig = rb->rig,
		.scenario = rb->scenario,
		.kernels = &rb->kernels,
		.append = rb->cfg.setup->append,
		.baseline = rb->baseline,
		.trials = trials,
		.per_boot = per_boot,
		.lock_wait_ns = LOCK_WAIT_NS,
		.w = rb->cfg.w,
		.hooks = &hooks,
		.self = rb,
	};
	struct runner_cfg cfg = base;
	int r;

	r = rb->cfg.await_rig ? rb->cfg.await_rig(rb->cfg.self, rb->rig->name, e) : 0;
	if (r >= 0)
		r = kernel_find(&rb->kernels, name, NULL, &k, e);
	if (r < 0)
		return r;
	cfg.kernel = k;
	rb->begun = NULL;
	return runner_run(&cfg, ret, e);
}

static void take_trials(struct rig_bench *rb, const struct run *run, struct bisect_boot *ret)
{
	for (size_t i = 0; i < run->n_trials && ret->n < BISECT_BOOT_TRIALS_MAX; i++) {
		const struct trial *t = run->trials[i];
		struct bisect_observation *o = &ret->v[ret->n];
		char why[sizeof(ret->untestable)];

		if (bisect_observe(run, t, rb->cfg.setup->failure, o, why, sizeof(why))) {
			(void)snprintf(o->trial, sizeof(o->trial), "%s.%u", run->id, t->number);
			ret->n++;
		} else if (*why) {
			(void)snprintf(ret->untestable, sizeof(ret->untestable), "%s", why);
		} else {
			ret->invalid++;
			(void)snprintf(ret->missing, sizeof(ret->missing), "%s",
				       evidence_name(t->missing));
		}
	}
	(void)snprintf(ret->run, sizeof(ret->run), "%s", run->id);
	if (run->untestable)
		(void)snprintf(ret->untestable, sizeof(ret->untestable), "%s", run->untestable);
	if (run->n_boots && run->boots[0].boot_ms >= 0)
		ret->boot_s = (double)run->boots[0].boot_ms / 1000;
}

/* A number of another machine is no baseline. */
static int check_conditions(const struct rig_bench *rb, const struct run *run, struct err *e)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;

	if (!rb->baseline || run_differences(rb->baseline, run, &words) == 0)
		return 0;
	return err_set(e, ERR_USAGE, EINVAL,
		       "--against: run '%s' was made under other conditions: %s", rb->baseline->id,
		       strbuf_str(&words));
}

static int bench_boot(void *self, const char *name, unsigned trials, struct bisect_boot *ret,
		      struct err *e)
{
	struct rig_bench *rb = self;

	for (unsigned attempt = 1;; attempt++) {
		struct bisect_boot boot = {.boot_s = -1, .trials_s = -1};
		auto_run struct run *run = NULL;
		nsec_t from = waiter_now(rb->cfg.w);
		int r;

		r = run_once(rb, name, trials, trials, &run, e);
		if (r < 0)
			return r;
		r = check_conditions(rb, run, e);
		if (r < 0)
			return r;
		take_trials(rb, run, &boot);
		if (run->rig_fault && boot.n == 0)
			return err_set(e, ERR_RIG, EIO, "%s", run->rig_fault);
		if (run->untestable && attempt < NO_BOOT_TRIES)
			continue;
		boot.trials_s = (double)(waiter_now(rb->cfg.w) - from) / 1e9 - fmax(boot.boot_s, 0);
		*ret = boot;
		return 0;
	}
}

int rig_bench_step(struct rig_bench *rb, const char *sha, unsigned trials, struct run **ret,
		   struct err *e)
{
	auto_free char *name = bisect_kernel_name(sha, BISECT_KERNEL_SEARCH);
	char untestable[300] = "";
	int r;

	if (bench_has_kernel(rb, name)) {
		r = kernel_remove(&rb->kernels, name, e);
		if (r < 0)
			return r;
	}
	r = bench_build(rb, sha, NULL, name, untestable, sizeof(untestable), e);
	if (r < 0)
		return r;
	if (*untestable) {
		struct run *run = xcalloc(1, sizeof(*run));

		run->untestable = xstrdup(untestable);
		run_judge(run);
		*ret = run;
		return 0;
	}
	return run_once(rb, name, trials, 0, ret, e);
}

/* ---- open and close ---- */

void rig_bench_close(struct rig_bench *rb)
{
	int saved = errno;

	if (!rb)
		return;
	if (rb->lock >= 0)
		close(rb->lock);
	rig_cfg_free(rb->rig);
	scenario_free(rb->scenario);
	run_free(rb->baseline);
	free(rb->store_dir);
	free(rb->logs);
	free(rb->worktree);
	free(rb);
	errno = saved;
}

static void on_kernels(void *self, const char *text)
{
	struct rig_bench *rb = self;

	if (rb->cfg.now)
		rb->cfg.now(rb->cfg.self, text);
}

static int check_hotfixes(struct rig_bench *rb, struct err *e)
{
	for (size_t i = 0; i < rb->cfg.setup->n_hotfixes; i++) {
		auto_free char *from = NULL;
		auto_free char *to = NULL;
		auto_free char *file = NULL;
		const char *ends[2];
		int r;

		r = hotfix_parse(rb->cfg.setup->hotfixes[i], &from, &to, &file, e);
		if (r < 0)
			return r;
		ends[0] = from;
		ends[1] = to;
		for (size_t k = 0; k < ARRAY_SIZE(ends); k++) {
			auto_free char *sha = NULL;

			r = git_commit_of(rb->cfg.w, rb->cfg.setup->repo, ends[k], &sha, e);
			if (r < 0)
				return err_wrap(e, "hotfix '%s'", rb->cfg.setup->hotfixes[i]);
		}
		if (access(file, R_OK) < 0)
			return err_errno(e, ERR_USAGE, errno, "hotfix '%s': %s",
					 rb->cfg.setup->hotfixes[i], file);
	}
	return 0;
}

/* What the numbers are held against, if the scenario demands a share of something. */
static int get_baseline(struct rig_bench *rb, struct err *e)
{
	const char *id = rb->cfg.setup->against;
	bool is_needed = scenario_needs_baseline(rb->scenario);
	int r;

	if (!id && !is_needed)
		return 0;
	if (!is_needed)
		return err_set(e, ERR_USAGE, EINVAL,
			       "--against: scenario '%s' has no limit that needs a baseline",
			       rb->scenario->name);
	if (!id)
		return err_set(
			e, ERR_USAGE, EINVAL,
			"scenario '%s' limits shares of a baseline: name a run of a good kernel "
			"on this rig with --against=RUN ('stallrig run' makes one)",
			rb->scenario->name);
	if (!rb->cfg.store)
		return err_set(e, ERR_USAGE, ENOENT, "--against: there is no store");
	r = store_find_run(rb->cfg.store, id, &rb->baseline, e);
	if (r < 0)
		return r;
	if (!rb->baseline)
		return err_set(e, ERR_USAGE, ENOENT, "--against: %s: there is no run '%s'",
			       store_location(rb->cfg.store), id);
	for (size_t i = 0; i < rb->baseline->n_trials; i++)
		if (rb->baseline->trials[i]->is_valid)
			return 0;
	return err_set(e, ERR_USAGE, ENODATA, "--against: run '%s' has no valid trial", id);
}

int rig_bench_open(const struct rig_bench_cfg *cfg, struct rig_bench **ret, struct err *e)
{
	auto_rig_bench struct rig_bench *rb = xcalloc(1, sizeof(*rb));
	int r;

	rb->cfg = *cfg;
	rb->lock = -1;
	rb->store_dir = xasprintf("%s/kernels", cfg->dir);
	rb->logs = xasprintf("%s/logs", cfg->dir);
	rb->is_own_worktree = !cfg->worktree;
	rb->worktree = cfg->worktree ? xstrdup(cfg->worktree) : worktree_path(cfg->setup->repo);
	rb->kernels = (struct kernels_ctx){
		.store = rb->store_dir, .w = cfg->w, .progress = on_kernels, .self = rb};
	rb->bench = (struct bisect_bench){.has_kernel = bench_has_kernel,
					  .build = bench_build,
					  .boot = bench_boot,
					  .self = rb};
	r = dir_make(rb->logs, e);
	if (r >= 0)
		r = rig_cfg_load(cfg->setup->rig, &rb->rig, e);
	if (r >= 0)
		r = scenario_load(cfg->setup->scenario, &rb->scenario, e);
	if (r >= 0)
		r = get_baseline(rb, e);
	if (r >= 0)
		r = check_hotfixes(rb, e);
	if (r < 0)
		return r;
	*ret = take(rb);
	return 0;
}

const struct bisect_bench *rig_bench_of(struct rig_bench *rb)
{
	return &rb->bench;
}

int rig_bench_remove_worktree(struct waiter *w, const char *repo, struct err *e)
{
	auto_free char *path = worktree_path(repo);
	auto_free char *lock = xasprintf("%s.lock", path);
	const char *const prune[] = {"worktree", "prune", NULL};
	struct err ignored = {0};
	int r;

	r = dir_remove(path, e);
	if (r < 0)
		return r;
	(void)unlink(lock);
	/* a repository that is gone needs no note */
	(void)!git_run(w, repo, prune, NULL, &ignored);
	return 0;
}
