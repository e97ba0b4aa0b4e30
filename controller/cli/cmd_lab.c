/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_lab.c - the rigs of a lab: who holds them, and the worker that serves them. */
#include "base/access.h"
#include "base/parse.h"
#include "base/service.h"
#include "cli/common.h"
#include "lab/pull.h"
#include "lab/worker.h"
#include "report/json_put.h"
#include "report/text.h"
#include "rig/rig.h"

#include <jansson.h>

#include <string.h>

#define LEASE_S     60
#define IDLE_S      5
#define PULL_POLL_S 45
#define HOLD_MIN_S  1
#define HOLD_MAX_S  (30 * 86400)

/* ---- rigs ---- */

static const struct opt rigs_options[] = {
	{.name = "json",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "write them as JSON to FILE, \"-\" for the standard output without the table"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static const char *rig_state(const struct store_rig *g)
{
	if (g->quarantined_wall_ns)
		return "quarantine";
	if (g->running)
		return "running";
	return g->holder ? "held" : "free";
}

static json_t *rig_json(const struct store_rig *g)
{
	json_t *obj = json_object();

	set_text(obj, "rig", g->rig);
	set_text(obj, "state", rig_state(g));
	set_text(obj, "host", g->host);
	set_text(obj, "holder", g->holder);
	set_text(obj, "purpose", g->hold_purpose);
	set_wall(obj, "held_since", g->held_wall_ns);
	set_wall(obj, "held_until", g->held_until_wall_ns);
	set_text(obj, "running", g->running);
	set_wall(obj, "running_since", g->running_wall_ns);
	set_wall(obj, "checked", g->checked_wall_ns);
	if (g->checked_wall_ns)
		(void)json_object_set_new(obj, "is_check_ok", json_boolean(g->is_check_ok));
	set_text(obj, "check", g->check_text);
	set_wall(obj, "quarantined_since", g->quarantined_wall_ns);
	set_text(obj, "quarantine_reason", g->quarantine_reason);
	return obj;
}

static void add_rig_row(struct strbuf *out, const char *rig, const char *state, const char *check,
			const char *by, const char *since, const char *until, const char *what)
{
	text_add_padded(out, rig, 20, false);
	text_add_padded(out, state, 11, false);
	text_add_padded(out, check, 28, false);
	text_add_padded(out, by, 34, false);
	text_add_padded(out, since, 21, false);
	text_add_padded(out, until, 21, false);
	text_add_visible(out, what, strlen(what), 60);
	strbuf_adds(out, "\n");
}

static void add_rig(struct strbuf *out, const struct store_rig *g)
{
	int64_t since_ns = g->quarantined_wall_ns ? g->quarantined_wall_ns : g->held_wall_ns;
	auto_free char *since = since_ns ? wall_format(since_ns) : xstrdup("-");
	auto_free char *until =
		g->held_until_wall_ns ? wall_format(g->held_until_wall_ns) : xstrdup("-");
	auto_free char *checked = g->checked_wall_ns ? wall_format(g->checked_wall_ns) : NULL;
	auto_free char *check =
		checked ? xasprintf("%s %s", g->is_check_ok ? "ok" : "failed", checked)
			: xstrdup("never");
	const char *what = g->quarantined_wall_ns ? g->quarantine_reason : g->hold_purpose;

	add_rig_row(out, g->rig, rig_state(g), check, g->holder ? g->holder : "-", since, until,
		    what ? what : "");
}

static int run_rigs(struct cli *cli, const struct args *a, struct err *e)
{
	const char *json = args_text(a, "json");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_store struct store *st = NULL;
	struct store_rig *rigs = NULL;
	size_t n = 0;
	int r;

	r = cli_store_open(a, STORE_READ, &st, e);
	if (r >= 0)
		r = store_rigs(st, &rigs, &n, e);
	if (r < 0)
		return r;
	if (json) {
		json_t *root = json_object();
		json_t *list = json_array();

		for (size_t i = 0; i < n; i++)
			append(list, rig_json(&rigs[i]));
		set(root, "rigs", list);
		add_json_line(&text, root, JSON_INDENT(1));
		r = cli_write(cli, json, &text, e);
		strbuf_reset(&text);
	}
	if (r >= 0 && (!json || strcmp(json, "-") != 0)) {
		if (n)
			add_rig_row(&text, "rig", "state", "last check", "held by", "since",
				    "until", "for");
		else
			fprintf(cli->log, "stallrig: %s: no rig was ever used or held\n",
				store_location(st));
		for (size_t i = 0; i < n; i++)
			add_rig(&text, &rigs[i]);
		r = cli_write(cli, "-", &text, e);
	}
	store_rigs_free(rigs, n);
	return r;
}

const struct cmd cmd_rigs = {
	.name = "rigs",
	.summary =
		"Show the rigs of a lab: who holds which, since when, what it does, its last check",
	.options = rigs_options,
	.run = run_rigs,
};

/* ---- lock, unlock ---- */

#define OPT_ROW_AS                                                                   \
	{                                                                            \
		.name = "as", .type = OPT_TEXT, .arg = "WHO", .absent = "user@host", \
		.help = "in whose name"                                              \
	}

static const struct opt lock_options[] = {
	{.name = "for",
	 .type = OPT_TEXT,
	 .arg = "TIME",
	 .is_required = true,
	 .help = "how long: 90s, 30m, 12h or 7d, at most 30 days; then it is free by itself"},
	{.name = "why", .type = OPT_TEXT, .arg = "TEXT", .help = "what others are told"},
	OPT_ROW_AS,
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static const char *holder_name(const struct args *a, char *user, size_t cap)
{
	const char *as = args_text(a, "as");

	lab_who(user, cap);
	return as ? as : user;
}

static int run_lock(struct cli *cli, const struct args *a, struct err *e)
{
	const char *rig = a->positional[0];
	const char *why = args_text(a, "why");
	auto_store struct store *st = NULL;
	auto_free char *until = NULL;
	uint32_t seconds = 0;
	char user[256];
	const char *who = holder_name(a, user, sizeof(user));
	int r;

	r = parse_duration_s("'lock': --for", args_text(a, "for"), HOLD_MIN_S, HOLD_MAX_S, &seconds,
			     e);
	if (r >= 0)
		r = cli_store_open(a, STORE_WRITE, &st, e);
	if (r < 0)
		return r;
	r = store_rig_hold(st, rig, who, why ? why : "interactive use", seconds * NSEC_PER_SEC, e);
	if (r < 0)
		return r;
	until = wall_format(wall_now() + seconds * NSEC_PER_SEC);
	fprintf(cli->out, "rig '%s' is yours (%s) until %s\n", rig, who, until);
	return 0;
}

const struct cmd cmd_lock = {
	.name = "lock",
	.summary = "Keep a rig of a lab for yourself for a while",
	.details = "Workers pass over it until the time is over or 'stallrig unlock'. A rig that "
		   "does a job is refused. Locking it again changes the time.",
	.positional = {.name = "RIG", .type = OPT_RIG, .min = 1, .max = 1},
	.options = lock_options,
	.run = run_lock,
};

static const struct opt unlock_options[] = {
	{.name = "force", .type = OPT_FLAG, .help = "also if somebody else holds it"},
	OPT_ROW_AS,
	{.name = "quarantine",
	 .type = OPT_FLAG,
	 .help = "end its quarantine instead: it was looked after"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static int run_unlock(struct cli *cli, const struct args *a, struct err *e)
{
	const char *rig = a->positional[0];
	auto_store struct store *st = NULL;
	char user[256];
	int r;

	r = cli_store_open(a, STORE_WRITE, &st, e);
	if (r < 0)
		return r;
	if (args_has(a, "quarantine")) {
		r = store_rig_quarantine(st, rig, NULL, e);
		if (r >= 0)
			fprintf(cli->out, "rig '%s' is out of quarantine\n", rig);
		return r;
	}
	r = store_rig_release(st, rig,
			      args_has(a, "force") ? NULL : holder_name(a, user, sizeof(user)), e);
	if (r >= 0)
		fprintf(cli->out, "rig '%s' is free\n", rig);
	return r;
}

const struct cmd cmd_unlock = {
	.name = "unlock",
	.summary = "Give a rig back that 'stallrig lock' holds",
	.positional = {.name = "RIG", .type = OPT_RIG, .min = 1, .max = 1},
	.options = unlock_options,
	.run = run_unlock,
};

/* ---- worker ---- */

static const struct opt worker_options[] = {
	{.name = "rig",
	 .letter = 'r',
	 .type = OPT_RIG,
	 .arg = "RIG",
	 .is_list = true,
	 .help = "a rig of this host; without any it does replays only"},
	{.name = "lease",
	 .type = OPT_TEXT,
	 .arg = "TIME",
	 .absent = "60s",
	 .help = "how long a job is its own without a sign of life, 3s to 1h"},
	{.name = "until-empty", .type = OPT_FLAG, .help = "end when there is nothing to do"},
	{.name = "pull-labs",
	 .type = OPT_TEXT,
	 .arg = "URL",
	 .help = "ask this API of KernelCI for jobs as well (PULL_LABS), as "
		 "https://api.kernelci.org/latest; those for a platform that has the name of one "
		 "of the rigs are done and answered"},
	{.name = "pull-runtime",
	 .type = OPT_TEXT,
	 .arg = "NAME",
	 .help = "take only jobs for this lab, as it is called there"},
	{.name = "pull-token-file",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "file with the secret that is sent with results, readable by its owner only"},
	{.name = "pull-poll",
	 .type = OPT_TEXT,
	 .arg = "TIME",
	 .absent = "45s",
	 .help = "how often to ask, and to try again what failed, 1s to 1h"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static void worker_say(void *self, const char *text)
{
	progress_stays(self, text);
}

static void worker_say_status(void *self, const char *text)
{
	worker_say(self, text);
	service_status(text);
}

static int check_rigs(const struct opt_value *rigs, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < rigs->n; i++) {
		auto_rig_cfg struct rig_cfg *cfg = NULL;

		/* blanks are between names where workers and rigs meet */
		if (strchr(rigs->texts[i], ' '))
			return err_set(e, ERR_USAGE, EINVAL,
				       "'worker': --rig: '%s' has a blank in its name",
				       rigs->texts[i]);
		r = rig_cfg_load(rigs->texts[i], &cfg, e);
	}
	return r;
}

static int read_pull(const struct args *a, struct lab_pull_cfg *pull, char **ret_token,
		     struct err *e)
{
	static const char *const with[] = {"pull-runtime", "pull-token-file", "pull-poll"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(with) && !pull->url; i++)
		if (args_has(a, with[i]))
			return err_set(e, ERR_USAGE, EINVAL, "'worker': --%s needs --pull-labs",
				       with[i]);
	if (args_has(a, "pull-poll"))
		r = parse_duration_s("'worker': --pull-poll", args_text(a, "pull-poll"), 1, 3600,
				     &pull->poll_s, e);
	if (r >= 0 && args_has(a, "pull-token-file"))
		r = access_read_token(args_text(a, "pull-token-file"), ret_token, e);
	pull->token = *ret_token;
	return r;
}

static int run_worker(struct cli *cli, const struct args *a, struct err *e)
{
	const struct opt_value *rigs = args_list(a, "rig");
	const struct lab_hooks hooks = {
		.ready = service_ready, .say = worker_say_status, .self = cli};
	const char *lease = args_text(a, "lease");
	struct lab_pull_cfg pull = {
		.url = args_text(a, "pull-labs"),
		.runtime = args_text(a, "pull-runtime"),
		.poll_s = PULL_POLL_S,
	};
	auto_free char *token = NULL;
	struct lab_worker_cfg cfg = {
		.location = cli_store_location(a),
		.program = "/proc/self/exe",
		.rigs = rigs->texts,
		.n_rigs = rigs->n,
		.lease_s = LEASE_S,
		.idle_s = IDLE_S,
		.ends_when_empty = args_has(a, "until-empty"),
		.pull = pull.url ? &pull : NULL,
		.w = cli->w,
		.hooks = &hooks,
	};
	int r;

	if (lease) {
		r = parse_duration_s("'worker': --lease", lease, 3, 3600, &cfg.lease_s, e);
		if (r < 0)
			return r;
	}
	r = read_pull(a, &pull, &token, e);
	if (r >= 0)
		r = check_rigs(rigs, e);
	if (r < 0)
		return r;
	waiter_catch_stop_signals();
	r = service_begin(cli->w, e);
	if (r < 0)
		return r;
	r = lab_worker_run(&cfg, e);
	service_stopping();
	return r;
}

const struct cmd cmd_worker = {
	.name = "worker",
	.summary = "Take jobs from the queue and do them on the rigs of this host",
	.details = "One job at a time: start one worker for each rig that is to work at the same "
		   "time. With postgres://… many hosts share a queue, with a file the workers of "
		   "one host. A worker that dies or loses the server for longer than its lease "
		   "loses its job to another one. SIGTERM gives the job back and ends it. Of the "
		   "jobs of --pull-labs, tests of the type 'stallrig' are run, the others skipped; "
		   "see docs/operating.md.",
	.options = worker_options,
	.run = run_worker,
};
