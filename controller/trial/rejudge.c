/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rejudge.c - judges a recorded run again. */
#include "trial/rejudge.h"

#include "base/fdio.h"
#include "base/parse.h"
#include "facts.h"
#include "trial/recording.h"
#include "trial/waivers.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define TRIALS_MAX 100000

bool rejudge_is_run(const char *dir)
{
	auto_free char *path = xasprintf("%s/run.json", dir);

	return access(path, R_OK) == 0;
}

/* One boot's console, parsed again. */
struct replay {
	struct console_parser *parser;
	struct event_log log;
	struct facts *facts; /* of the trials of this boot */
	size_t n;
	uint64_t bytes;
};

static void on_event(void *self, const struct console_event *ev)
{
	struct replay *rp = self;

	event_log_add(&rp->log, ev);
}

/* The runner reads the counters between chunks, so the numbers of bytes meet exactly. */
static void note_integrity(struct replay *rp)
{
	const struct console_integrity *now = console_parser_integrity(rp->parser);

	for (size_t i = 0; i < rp->n; i++) {
		if (rp->facts[i].integrity_before_at == rp->bytes)
			rp->facts[i].obs.integrity_before = *now;
		if (rp->facts[i].integrity_after_at == rp->bytes)
			rp->facts[i].obs.integrity_after = *now;
	}
}

static int on_chunk(void *self, const void *bytes, size_t n, nsec_t t_ns, struct err *e)
{
	struct replay *rp = self;

	(void)e;
	rp->bytes += n;
	rp->log.bytes = (int64_t)rp->bytes;
	console_parser_feed(rp->parser, bytes, n, t_ns);
	note_integrity(rp);
	return 0;
}

static const char *banner_of(const struct event_log *log)
{
	const struct seen_event *ev = event_log_find_banner(log);

	return ev ? ev->text : "";
}

/* What a run is judged by. */
struct rules {
	const struct scenario *scenario;
	const struct waivers *waivers; /* NULL: none */
	struct facts_head head;
};

/* Judges the trials of one boot; they move into the run. */
static int rejudge_boot(struct run *run, const struct rules *rules, const char *boot_dir,
			struct facts *facts, size_t n, struct err *e)
{
	struct replay rp = {.facts = facts, .n = n};
	int r;

	event_log_init(&rp.log, rules->head.console_baud);
	if (rules->waivers)
		rp.log.waivers = waivers_list(rules->waivers, &rp.log.n_waivers);
	rp.log.release = run->kernel_release;
	rp.parser = console_parser_new(on_event, &rp);
	console_parser_use_load(rp.parser, rp.log.load);
	r = recording_play(boot_dir, on_chunk, &rp, e);
	if (r == 0) {
		rp.log.bytes = EVENT_LOG_ENDED;
		console_parser_finish(rp.parser);
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct observation *o = &facts[i].obs;

		r = facts_find_events(&facts[i], &rp.log, rp.bytes, e);
		if (r < 0) {
			r = err_wrap(e, "%s", boot_dir);
			break;
		}
		o->scenario = rules->scenario;
		o->log = &rp.log;
		o->usb_path = rules->head.usb_path;
		o->build.release = run->kernel_release;
		o->build.version = run->kernel_version;
		o->build.banner = banner_of(&rp.log);
		evidence_judge(facts[i].trial, o);
		run->trials = xrealloc(run->trials, run->n_trials + 1, sizeof(*run->trials));
		run->trials[run->n_trials++] = take(facts[i].trial);
	}
	console_parser_free(rp.parser);
	event_log_release(&rp.log);
	return r;
}

static int rejudge_boots(const char *dir, struct run *run, const struct rules *rules,
			 struct facts *facts, size_t n, struct err *e)
{
	size_t from = 0;

	while (from < n) {
		unsigned boot = facts[from].trial->boot;
		auto_free char *boot_dir = xasprintf("%s/boot-%u", dir, boot);
		size_t to = from;
		int r;

		while (to < n && facts[to].trial->boot == boot)
			to++;
		r = rejudge_boot(run, rules, boot_dir, &facts[from], to - from, e);
		if (r < 0)
			return r;
		from = to;
	}
	return 0;
}

/* The highest N of the trial-N.json in dir, 0 if there is none. */
static size_t last_trial(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *de;
	size_t last = 0;

	while (d && (de = readdir(d))) {
		auto_free char *number = xstrdup(de->d_name);
		char *suffix = strstr(number, ".json");
		struct err unused = {0};
		uint32_t n;

		if (strncmp(number, "trial-", 6) != 0 || !suffix || suffix[5])
			continue;
		*suffix = '\0';
		if (parse_u32("trial", number + 6, 1, TRIALS_MAX, &n, &unused) == 0 && n > last)
			last = n;
	}
	if (d)
		closedir(d);
	return last;
}

/*
 * Reads trial-1.json, trial-2.json, … to the last, which is the last file or what run.json names;
 * it may be one behind if the run was cut off. One that is missing is an error.
 */
static int read_trials(const char *dir, size_t told, struct facts **ret, size_t *ret_n,
		       struct err *e)
{
	struct facts *list = NULL;
	size_t n = 0;
	size_t last = last_trial(dir);

	if (last < told)
		last = told;
	while (n < last) {
		auto_free char *path = xasprintf("%s/trial-%zu.json", dir, n + 1);
		int r;

		list = xrealloc(list, n + 1, sizeof(*list));
		/* a recording that is broken, not a wrong name on the command line */
		if (access(path, F_OK) < 0)
			r = err_set(e, ERR_STORE, EINVAL, "%s is missing, the run has %zu trials",
				    path, last);
		else
			r = facts_read_trial(path, &list[n], e);
		if (r < 0) {
			while (n)
				facts_release(&list[--n]);
			free(list);
			return r;
		}
		n++;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

int rejudge_run(const char *dir, struct run **ret, struct err *e)
{
	auto_free char *scenario_path = xasprintf("%s/scenario.yaml", dir);
	auto_free char *waivers_path = xasprintf("%s/waivers.yaml", dir);
	auto_scenario struct scenario *sc = NULL;
	auto_waivers struct waivers *waivers = NULL;
	struct rules rules = {0};
	struct facts *facts = NULL;
	struct run *run = NULL;
	size_t n = 0;
	int r;

	r = facts_read_run(dir, &run, &rules.head, e);
	if (r < 0)
		return r;
	r = scenario_load(scenario_path, &sc, e);
	if (r == 0 && rules.head.has_waivers)
		r = waivers_load(waivers_path, &waivers, e);
	rules.scenario = sc;
	rules.waivers = waivers;
	if (r == 0)
		scenario_set_limits(sc, run);
	if (r == 0)
		r = read_trials(dir, rules.head.last_trial, &facts, &n, e);
	if (r == 0)
		r = rejudge_boots(dir, run, &rules, facts, n, e);
	facts_head_release(&rules.head);
	for (size_t i = 0; i < n; i++)
		facts_release(&facts[i]);
	free(facts);
	if (r < 0) {
		run_free(run);
		return r;
	}
	run_judge(run);
	*ret = run;
	return 0;
}
