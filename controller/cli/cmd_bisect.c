/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_bisect.c - start, watch, tell and end a bisect; one step of a plain `git bisect run`. */
#include "base/fdio.h"
#include "base/parse.h"
#include "bisect/rig_bench.h"
#include "bisect/rows.h"
#include "bisect/setup.h"
#include "bisect/words.h"
#include "cli/common.h"
#include "kernels/git.h"
#include "report/text.h"

#include <signal.h>
#include <string.h>

#define DEFAULT_NAME "main"
#define STOP_WAIT_NS (120 * NSEC_PER_SEC)
#define STOP_LOOK_NS (200 * NSEC_PER_MSEC)
#define TOLD_DEFAULT 0.99

#define OPT_ROW_BISECT_NAME                                                          \
	{                                                                            \
		.name = "name", .letter = 'n', .type = OPT_TEXT, .arg = "NAME",      \
		.absent = DEFAULT_NAME, .help = "which bisect, if there are several" \
	}

/* Folder of the bisect that --name means. */
static int dir_of(const struct args *a, char **ret, struct err *e)
{
	const char *name = args_text(a, "name");

	if (!name)
		name = DEFAULT_NAME;
	if (!parse_is_name(name))
		return err_set(e, ERR_USAGE, EINVAL,
			       "'%s' cannot be the name of a bisect: letters, digits and ._+- only",
			       name);
	*ret = bisect_dir(name);
	return 0;
}

/* Subjects of commits are anybody's text. */
static int write_visible(struct cli *cli, const struct strbuf *text, struct err *e)
{
	auto_strbuf struct strbuf shown = STRBUF_INIT;
	const char *p = strbuf_str(text);

	while (*p) {
		size_t n = strcspn(p, "\n");

		text_add_visible(&shown, p, n, 0);
		p += n;
		if (*p == '\n') {
			strbuf_adds(&shown, "\n");
			p++;
		}
	}
	return cli_write(cli, "-", &shown, e);
}

static int write_json(struct cli *cli, const struct bisect *b, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r;

	r = bisect_json(b, &text, e);
	return r < 0 ? r : cli_write(cli, "-", &text, e);
}

/* ---- start and resume ---- */

static const struct opt start_options[] = {
	{.name = "repo",
	 .type = OPT_DIR,
	 .arg = "REPO",
	 .is_required = true,
	 .help = "git repository; it gets a worktree and is else left alone"},
	{.name = "good",
	 .letter = 'g',
	 .type = OPT_TEXT,
	 .arg = "REV",
	 .is_required = true,
	 .help = "a commit without the failure, an ancestor of the bad one"},
	{.name = "bad",
	 .letter = 'b',
	 .type = OPT_TEXT,
	 .arg = "REV",
	 .is_required = true,
	 .help = "a commit with the failure"},
	OPT_ROW_RIG,
	OPT_ROW_SCENARIO,
	{.name = "config",
	 .letter = 'c',
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .absent = "virtual",
	 .help = "the kernel's .config, or a fragment as for 'kernel build'"},
	{.name = "build",
	 .type = OPT_TEXT,
	 .arg = "CMD",
	 .absent = "make, as 'kernel build' does it",
	 .help = "shell command that builds the kernel in the worktree; it may put image and "
		 "modules into $STALLRIG_OUT, gets $STALLRIG_COMMIT, $STALLRIG_NAME and "
		 "$STALLRIG_CONFIG, and skips a commit with status 125"},
	{.name = "path",
	 .letter = 'p',
	 .type = OPT_TEXT,
	 .arg = "PATH",
	 .is_list = true,
	 .help = "commits that touch this folder or file are likelier; none is left out"},
	{.name = "failure",
	 .letter = 'f',
	 .type = OPT_TEXT,
	 .arg = "TEXT",
	 .absent = "over-limit",
	 .help = "what is looked for: over-limit, any (crashes too), or words in the title of a "
		 "crash; a commit that fails in another way cannot be tested"},
	{.name = "hotfix",
	 .type = OPT_TEXT,
	 .arg = "FROM..TO=PATCH",
	 .is_list = true,
	 .help = "apply PATCH to commits that contain FROM and not TO"},
	{.name = "probability",
	 .type = OPT_TEXT,
	 .arg = "PCT",
	 .absent = "99",
	 .help = "stop once one commit is this probable, 50 to 99.99"},
	{.name = "confirm",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 0,
	 .max = 1000,
	 .absent = "10",
	 .help = "trials of the rebuilt culprit and of each parent at the end, in turn"},
	{.name = "revert",
	 .type = OPT_FLAG,
	 .help = "then test the bad end with the culprit reverted too, as many trials"},
	{.name = "ends",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 2,
	 .max = 1000,
	 .absent = "5",
	 .help = "least number of trials at each end"},
	{.name = "max-trials",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = BISECT_TRIALS_MAX,
	 .help = "give up after so many"},
	{.name = "per-boot",
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = BISECT_TRIALS_PER_BOOT_MAX,
	 .absent = "chosen by what boots and trials cost",
	 .help = "at most so many trials in a boot"},
	{.name = "cost",
	 .type = OPT_TEXT,
	 .arg = "KEY=S,…",
	 .absent = "cold=900,warm=60,boot=10,trial=30,commit=0",
	 .help = "seconds that a build, a boot, a trial take, until they have been measured; commit: "
		 "what each commit between two builds adds to a warm one, not measured"},
	{.name = "against",
	 .type = OPT_TEXT,
	 .arg = "RUN",
	 .help = "hold the numbers against this run of the store, where the scenario limits shares "
		 "of a baseline"},
	OPT_ROW_APPEND,
	OPT_ROW_JOBS,
	{.name = "dry-run", .type = OPT_FLAG, .help = "show the plan and do nothing"},
	OPT_ROW_BISECT_NAME,
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static char *dup_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* A path becomes absolute, so that resuming works from anywhere; a name stays one. */
static char *absolute(const char *s)
{
	char *path = s && (strchr(s, '/') || access(s, R_OK) == 0) ? realpath(s, NULL) : NULL;

	return path ? path : dup_or_null(s);
}

static int parse_cost(const char *text, struct bisect_cost *ret, struct err *e)
{
	const struct {
		const char *key;
		double least, *value;
	} keys[] = {{"cold", 1, &ret->build_cold_s},
		    {"warm", 1, &ret->build_warm_s},
		    {"boot", 1, &ret->boot_s},
		    {"trial", 1, &ret->trial_s},
		    {"commit", 0, &ret->build_per_commit_s}};
	auto_free char *copy = dup_or_null(text);
	char *rest = copy;
	char *word;

	while (rest && (word = strsep(&rest, ","))) {
		char *eq = strchr(word, '=');
		bool is_known = false;

		if (eq)
			*eq = '\0';
		for (size_t i = 0; eq && i < ARRAY_SIZE(keys); i++) {
			char *end = NULL;
			double s = strtod(eq + 1, &end);

			if (strcmp(word, keys[i].key) != 0)
				continue;
			if (end == eq + 1 || *end || !(s >= keys[i].least && s <= 1000000))
				return err_set(e, ERR_USAGE, EINVAL,
					       "--cost: %s=%s is not from %g to 1000000 seconds",
					       word, eq + 1, keys[i].least);
			*keys[i].value = s;
			is_known = true;
		}
		if (!is_known)
			return err_set(
				e, ERR_USAGE, EINVAL,
				"--cost: '%s' is not one of cold=, warm=, boot=, trial=, commit=",
				word);
	}
	return 0;
}

static int parse_probability(const char *text, double *ret, struct err *e)
{
	char *end = NULL;
	double pct;

	if (!text)
		return 0;
	pct = strtod(text, &end);
	if (end == text || *end || !(pct >= 50 && pct <= 99.99))
		return err_set(e, ERR_USAGE, EINVAL, "--probability: '%s' is not in 50..99.99",
			       text);
	*ret = pct / 100;
	return 0;
}

static void take_list(const struct args *a, const char *name, char ***ret, size_t *ret_n)
{
	const struct opt_value *v = args_list(a, name);

	*ret = xcalloc(v->n + 1, sizeof(char *));
	for (unsigned i = 0; i < v->n; i++)
		(*ret)[i] = xstrdup(v->texts[i]);
	*ret_n = v->n;
}

/* FROM..TO=FILE with an absolute FILE. */
static int take_hotfixes(const struct args *a, struct bisect_setup *s, struct err *e)
{
	take_list(a, "hotfix", &s->hotfixes, &s->n_hotfixes);
	for (size_t i = 0; i < s->n_hotfixes; i++) {
		auto_free char *from = NULL;
		auto_free char *to = NULL;
		auto_free char *file = NULL;
		auto_free char *path = NULL;
		int r;

		r = hotfix_parse(s->hotfixes[i], &from, &to, &file, e);
		if (r < 0)
			return r;
		path = absolute(file);
		free(s->hotfixes[i]);
		s->hotfixes[i] = xasprintf("%s..%s=%s", from, to, path);
	}
	return 0;
}

static int setup_of(const struct args *a, struct bisect_setup *s, struct err *e)
{
	auto_rig_cfg struct rig_cfg *rig = NULL;
	int r;

	bisect_setup_default(s);
	s->repo = realpath(args_text(a, "repo"), NULL);
	if (!s->repo)
		return err_errno(e, ERR_USAGE, errno, "--repo '%s'", args_text(a, "repo"));
	r = rig_cfg_load(args_text(a, "rig"), &rig, e);
	if (r < 0)
		return r;
	s->arch = xstrdup(rig->arch);
	s->rig = absolute(args_text(a, "rig"));
	s->scenario = absolute(args_text(a, "scenario"));
	s->config = absolute(args_text(a, "config"));
	s->build = dup_or_null(args_text(a, "build"));
	s->append = dup_or_null(args_text(a, "append"));
	s->against = dup_or_null(args_text(a, "against"));
	s->failure = xstrdup(args_has(a, "failure") ? args_text(a, "failure") : "over-limit");
	take_list(a, "path", &s->paths, &s->n_paths);
	s->confirm = args_count(a, "confirm", s->confirm);
	s->has_revert = args_has(a, "revert");
	if (s->has_revert && s->confirm == 0)
		return err_set(e, ERR_USAGE, EINVAL,
			       "--revert: it is tested after the confirmation, which --confirm=0 "
			       "leaves out");
	s->ends_min_trials = args_count(a, "ends", s->ends_min_trials);
	if (s->ends_max_trials < s->ends_min_trials)
		s->ends_max_trials = s->ends_min_trials;
	s->max_trials = args_count(a, "max-trials", 0);
	s->trials_per_boot_max = args_count(a, "per-boot", 0);
	s->jobs = args_count(a, "jobs", 0);
	r = take_hotfixes(a, s, e);
	if (r >= 0)
		r = parse_probability(args_text(a, "probability"), &s->target, e);
	return r < 0 ? r : parse_cost(args_text(a, "cost"), &s->cost, e);
}

struct watching {
	struct cli *cli;
	struct store *store;
};

static void watch_now(void *self, const char *text)
{
	const struct watching *w = self;

	progress_now(w->cli, text);
}

static void watch_stays(void *self, const char *text)
{
	const struct watching *w = self;

	progress_stays(w->cli, text);
}

static int watch_rig(void *self, const char *rig, struct err *e)
{
	const struct watching *w = self;

	return cli_rig_await(w->cli, w->store, rig, true, e);
}

static int put_rows(struct store *store, const struct bisect *b, bool is_stopped, struct err *e)
{
	struct store_bisect *rows = bisect_rows(b, is_stopped);
	int r = store_bisect_put(store, rows, e);

	store_bisects_free(rows, 1);
	return r;
}

static int watch_changed(void *self, const struct bisect *b, bool is_stopped, struct err *e)
{
	const struct watching *w = self;

	return put_rows(w->store, b, is_stopped, e);
}

/* Exit status of an answer: 0, or 125 if there is none that stands. */
static int status_of(const struct bisect *b)
{
	struct bisect_confirmation c;
	struct bisect_next next;

	bisect_core_next(bisect_core_of(b), &next);
	bisect_confirmation_of(b, &c);
	if (next.state != BISECT_DONE || (c.is_wanted && c.is_complete && !c.is_confirmed))
		return verdict_exit_code(VERDICT_INCONCLUSIVE);
	return 0;
}

static int go_on(struct cli *cli, const struct args *a, struct bisect *b, struct err *e)
{
	struct watching watching = {.cli = cli};
	const struct bisect_watch watch = {.now = watch_now,
					   .stays = watch_stays,
					   .changed = watch_changed,
					   .self = &watching};
	auto_rig_bench struct rig_bench *rb = NULL;
	auto_store struct store *store = NULL;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct rig_bench_cfg cfg = {
		.setup = bisect_setup_of(b),
		.dir = bisect_dir_of(b),
		.w = cli->w,
		.now = watch_now,
		.await_rig = watch_rig,
		.self = &watching,
	};
	int r;

	r = cli_store_open(a, STORE_WRITE, &store, e);
	if (r < 0)
		return r;
	cfg.store = watching.store = store;
	r = rig_bench_open(&cfg, &rb, e);
	if (r >= 0)
		r = bisect_go_on(b, rig_bench_of(rb), &watch, e);
	progress_clear(cli);
	if (r < 0) {
		bool may_go_on = e->kind == ERR_STOPPED || e->kind == ERR_RIG || e->code == ENOSPC;

		if (may_go_on)
			return err_wrap(e, "the bisect stands still ('bisect resume' goes on)");
		return r;
	}
	bisect_result_text(cli->w, b, &text);
	r = write_visible(cli, &text, e);
	return r < 0 ? r : status_of(b);
}

static int start_in(struct cli *cli, const struct args *a, const char *dir,
		    const struct bisect_setup *setup, struct err *e)
{
	auto_bisect struct bisect *b = NULL;
	auto_strbuf struct strbuf plan = STRBUF_INIT;
	struct rig_bench_cfg cfg = {.setup = setup, .dir = dir, .w = cli->w};
	auto_rig_bench struct rig_bench *rb = NULL;
	bool is_dry = args_has(a, "dry-run");
	int r;

	/* what is wrong in files and rules is said before there is a bisect */
	r = rig_bench_open(&cfg, &rb, e);
	if (r < 0)
		return r;
	r = bisect_start(cli->w, dir, setup, args_text(a, "good"), args_text(a, "bad"), &b, e);
	if (r < 0)
		return r;
	bisect_plan_text(b, &plan);
	if (is_dry) {
		r = write_visible(cli, &plan, e);
		bisect_close(take(b));
		return r < 0 ? r : dir_remove(dir, e);
	}
	fputs(strbuf_str(&plan), cli->log);
	return go_on(cli, a, b, e);
}

static int run_start(struct cli *cli, const struct args *a, struct err *e)
{
	struct bisect_setup setup = {0};
	auto_free char *dir = NULL;
	int r;

	waiter_catch_stop_signals();
	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = setup_of(a, &setup, e);
	if (r >= 0)
		r = start_in(cli, a, dir, &setup, e);
	bisect_setup_release(&setup);
	return r;
}

const struct cmd cmd_bisect_start = {
	.name = "bisect start",
	.summary = "Find the commit that brought a failure, even if single trials lie",
	.details =
		"Shows the plan, measures both ends, and then tests the commits that tell most for "
		"their cost until one of them is probable enough; rebuilds it and its parents and "
		"tests them in turn; prints a report. Every observation is on the disk before it "
		"is used: after a kill or a power cut 'bisect resume' goes on. The exit status is "
		"0 with an answer, 125 if the ends cannot be told apart, no single commit can be "
		"named, or the confirmation fails.",
	.options = start_options,
	.run = run_start,
};

static const struct opt resume_options[] = {
	OPT_ROW_BISECT_NAME,
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int run_resume(struct cli *cli, const struct args *a, struct err *e)
{
	auto_bisect struct bisect *b = NULL;
	auto_free char *dir = NULL;
	int r;

	waiter_catch_stop_signals();
	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = bisect_open(dir, true, &b, e);
	return r < 0 ? r : go_on(cli, a, b, e);
}

const struct cmd cmd_bisect_resume = {
	.name = "bisect resume",
	.summary = "Go on with a bisect that was stopped, killed, or ran out of disk",
	.options = resume_options,
	.run = run_resume,
};

/* ---- looking ---- */

static const struct opt status_options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "as JSON"},
	OPT_ROW_BISECT_NAME,
	OPT_ROW_END,
};

static int run_status(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_bisect struct bisect *b = NULL;
	auto_free char *dir = NULL;
	int r;

	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = bisect_open(dir, false, &b, e);
	if (r < 0)
		return r;
	if (args_has(a, "json"))
		return write_json(cli, b, e);
	bisect_status_text(b, &text);
	return write_visible(cli, &text, e);
}

const struct cmd cmd_bisect_status = {
	.name = "bisect status",
	.summary = "Show the likeliest commits, what is tested next and why, and what is left",
	.options = status_options,
	.run = run_status,
};

static int run_result(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_bisect struct bisect *b = NULL;
	auto_free char *dir = NULL;
	int r;

	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = bisect_open(dir, false, &b, e);
	if (r < 0)
		return r;
	if (args_has(a, "json")) {
		r = write_json(cli, b, e);
	} else {
		bisect_result_text(cli->w, b, &text);
		r = write_visible(cli, &text, e);
	}
	return r < 0 ? r : status_of(b);
}

const struct cmd cmd_bisect_result = {
	.name = "bisect result",
	.summary = "Print the report of a bisect, ready to be mailed",
	.details = "The exit status is that of 'bisect start'.",
	.options = status_options,
	.run = run_result,
};

static const struct opt log_options[] = {
	{.name = "git", .type = OPT_FLAG, .help = "as 'git bisect log' prints it"},
	OPT_ROW_BISECT_NAME,
	OPT_ROW_END,
};

static int run_log(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_bisect struct bisect *b = NULL;
	auto_free char *dir = NULL;
	int r;

	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = bisect_open(dir, false, &b, e);
	if (r < 0)
		return r;
	if (args_has(a, "git"))
		bisect_git_log(b, &text);
	else
		bisect_log_text(b, &text);
	return write_visible(cli, &text, e);
}

const struct cmd cmd_bisect_log = {
	.name = "bisect log",
	.summary = "Show all that a bisect has seen",
	.options = log_options,
	.run = run_log,
};

/* ---- telling and stopping ---- */

static const struct opt tell_options[] = {
	{.name = "certainty",
	 .type = OPT_COUNT,
	 .arg = "PCT",
	 .min = 50,
	 .max = 99,
	 .absent = "99",
	 .help = "how sure good or bad is"},
	OPT_ROW_BISECT_NAME,
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int run_tell(struct cli *cli, const struct args *a, struct err *e)
{
	uint32_t pct = args_count(a, "certainty", 0);
	auto_store struct store *store = NULL;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_bisect struct bisect *b = NULL;
	auto_free char *sha = NULL;
	auto_free char *dir = NULL;
	struct err ignored = {0};
	const char *rev = a->positional[0];
	int r;

	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = bisect_open(dir, true, &b, e);
	if (r < 0)
		return r;
	/* a branch or a tag if the repository is there; else the beginning of a commit's name */
	if (git_commit_of(cli->w, bisect_setup_of(b)->repo, rev, &sha, &ignored) >= 0)
		rev = sha;
	r = cli_store_open(a, STORE_WRITE, &store, e);
	if (r >= 0)
		r = bisect_tell(b, rev, a->positional[1], pct ? pct / 100.0 : TOLD_DEFAULT, e);
	if (r >= 0)
		r = put_rows(store, b, true, e);
	if (r < 0)
		return r;
	bisect_status_text(b, &text);
	return write_visible(cli, &text, e);
}

const struct cmd cmd_bisect_tell = {
	.name = "bisect tell",
	.summary = "Say of a commit that it is good or bad, or that it shall be skipped",
	.details = "REV is a commit and is followed by good, bad or skip. The bisect must not be "
		   "running: 'bisect stop' it first.",
	.positional = {.name = "REV good|bad|skip", .type = OPT_TEXT, .min = 2, .max = 2},
	.options = tell_options,
	.run = run_tell,
};

static const struct opt stop_options[] = {
	{.name = "remove",
	 .type = OPT_FLAG,
	 .help = "remove its journal, kernels and logs, and the worktree"},
	OPT_ROW_BISECT_NAME,
	OPT_ROW_END,
};

/* Asks the process that runs it to stop, and waits until it has. */
static int stop_holder(struct cli *cli, const char *dir, struct err *e)
{
	auto_free char *journal = xasprintf("%s/journal.jsonl", dir);
	nsec_t until = waiter_now(cli->w) + STOP_WAIT_NS;
	pid_t pid = journal_holder(journal);
	int r;

	if (pid > 0 && kill(pid, SIGTERM) < 0 && errno != ESRCH)
		return err_errno(e, ERR_USAGE, errno, "process %ld, which runs the bisect",
				 (long)pid);
	while (journal_holder(journal) > 0) {
		if (waiter_now(cli->w) >= until)
			return err_set(e, ERR_INTERNAL, ETIMEDOUT,
				       "process %ld was asked to stop and has not", (long)pid);
		r = waiter_sleep(cli->w, STOP_LOOK_NS, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int run_stop(struct cli *cli, const struct args *a, struct err *e)
{
	auto_bisect struct bisect *b = NULL;
	auto_free char *repo = NULL;
	auto_free char *dir = NULL;
	int r;

	r = dir_of(a, &dir, e);
	if (r >= 0)
		r = bisect_open(dir, false, &b, e);
	if (r >= 0)
		r = stop_holder(cli, dir, e);
	if (r < 0 || !args_has(a, "remove"))
		return r;
	repo = xstrdup(bisect_setup_of(b)->repo);
	bisect_close(take(b));
	r = dir_remove(dir, e);
	return r < 0 ? r : rig_bench_remove_worktree(cli->w, repo, e);
}

const struct cmd cmd_bisect_stop = {
	.name = "bisect stop",
	.summary = "Stop a bisect; it can be resumed unless it is removed",
	.options = stop_options,
	.run = run_stop,
};

/* ---- step ---- */

static const struct opt step_options[] = {
	OPT_ROW_RIG,
	OPT_ROW_SCENARIO,
	{.name = "repo",
	 .type = OPT_DIR,
	 .arg = "REPO",
	 .absent = "the current folder",
	 .help = "repository with the commit checked out"},
	{.name = "config",
	 .letter = 'c',
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .absent = "virtual",
	 .help = "the kernel's .config, or a fragment as for 'kernel build'"},
	{.name = "build",
	 .type = OPT_TEXT,
	 .arg = "CMD",
	 .absent = "make, as 'kernel build' does it",
	 .help = "shell command that builds the kernel, as for 'bisect start'"},
	OPT_ROW_TRIALS,
	{.name = "against",
	 .type = OPT_TEXT,
	 .arg = "RUN",
	 .help = "hold the numbers against this run of the store, where the scenario limits shares "
		 "of a baseline"},
	OPT_ROW_APPEND,
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int step_in(struct cli *cli, const struct args *a, const struct bisect_setup *setup,
		   struct err *e)
{
	auto_free char *dir = bisect_dir(".step");
	auto_rig_bench struct rig_bench *rb = NULL;
	auto_store struct store *store = NULL;
	auto_run struct run *run = NULL;
	auto_free char *sha = NULL;
	struct watching watching = {.cli = cli};
	struct rig_bench_cfg cfg = {
		.setup = setup,
		.dir = dir,
		.worktree = setup->repo,
		.w = cli->w,
		.now = watch_now,
		.await_rig = watch_rig,
		.self = &watching,
	};
	int r;

	r = git_commit_of(cli->w, setup->repo, "HEAD", &sha, e);
	if (r >= 0)
		r = cli_store_open(a, STORE_WRITE, &store, e);
	if (r < 0)
		return r;
	cfg.store = watching.store = store;
	r = rig_bench_open(&cfg, &rb, e);
	if (r >= 0)
		r = rig_bench_step(rb, sha, args_count(a, "trials", 0), &run, e);
	progress_clear(cli);
	if (r < 0)
		return r;
	fprintf(cli->out, "%.12s %s: %s\n", sha, verdict_name(run->result.verdict),
		run->untestable ? run->untestable : run->result.strength);
	return verdict_exit_code(run->result.verdict);
}

static int run_step(struct cli *cli, const struct args *a, struct err *e)
{
	const char *repo = args_has(a, "repo") ? args_text(a, "repo") : ".";
	auto_rig_cfg struct rig_cfg *rig = NULL;
	struct bisect_setup setup = {0};
	int r;

	waiter_catch_stop_signals();
	bisect_setup_default(&setup);
	setup.repo = realpath(repo, NULL);
	if (!setup.repo)
		return err_errno(e, ERR_USAGE, errno, "--repo '%s'", repo);
	r = rig_cfg_load(args_text(a, "rig"), &rig, e);
	if (r >= 0) {
		setup.rig = xstrdup(args_text(a, "rig"));
		setup.arch = xstrdup(rig->arch);
		setup.scenario = xstrdup(args_text(a, "scenario"));
		setup.config = absolute(args_text(a, "config"));
		setup.build = dup_or_null(args_text(a, "build"));
		setup.append = dup_or_null(args_text(a, "append"));
		setup.against = dup_or_null(args_text(a, "against"));
		setup.failure = xstrdup("any");
		r = step_in(cli, a, &setup, e);
	}
	bisect_setup_release(&setup);
	return r;
}

const struct cmd cmd_bisect_step = {
	.name = "bisect step",
	.summary = "Build and test what is checked out: one step of a plain 'git bisect run'",
	.details =
		"The exit status is what git bisect run wants: 0 PASS, 1 FAIL, 125 if the commit "
		"cannot be built, booted or judged, 129 or 130 to end it. git believes each "
		"answer; 'bisect start' does not.",
	.options = step_options,
	.run = run_step,
};
