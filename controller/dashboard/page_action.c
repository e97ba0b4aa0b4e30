/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_action.c - what can be asked for: locks, switches, cancelled jobs. Who asks, and whether
   they may, was settled before (base/access.h). */
#include "action.h"
#include "base/parse.h"
#include "pages.h"
#include "report/json.h"
#include "report/json_put.h"
#include "store/queue.h"

#include <inttypes.h>
#include <string.h>

#define HOLD_MIN_S    1
#define HOLD_MAX_S    (30 * 86400)
#define WHY_MAX       200
#define JOBS_SHOWN    200
#define ACTIONS_SHOWN 10
#define DELAY_MAX_S   60 /* of a reboot: an action has 90 seconds in all */

/* ---- orders ---- */

static int begin_order(struct site *s, const struct request *rq, struct action_order **ret,
		       struct err *e)
{
	const char *as = request_arg(rq, "as") ? request_arg(rq, "as") : rq->user;
	struct action_order *o;

	if (!s->actions || !action_is_possible(s->actions))
		return err_set(e, ERR_USAGE, ENOENT, "nothing can be done here");
	if (as && strlen(as) > ACTION_WHO_MAX)
		return err_set(e, ERR_USAGE, EINVAL,
			       "as: a name has at most %d bytes, this one %zu", ACTION_WHO_MAX,
			       strlen(as));
	for (const char *p = as; p && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			return err_set(e, ERR_USAGE, EINVAL, "as: a control character in the name");
	o = xcalloc(1, sizeof(*o));
	o->who = as ? xstrdup(as) : xasprintf("web:%s", rq->address);
	*ret = o;
	return 0;
}

static int begin_rig_order(struct site *s, const struct request *rq, const char *rig,
			   const char *verb, struct action_order **ret, struct err *e)
{
	int r;

	if (!parse_is_name(rig))
		return err_set(e, ERR_USAGE, ENOENT, "'%s' is no name of a rig", rig);
	r = begin_order(s, rq, ret, e);
	if (r < 0)
		return r;
	(*ret)->subject = xasprintf("rig/%s", rig);
	(*ret)->words = xasprintf("%s rig %s", verb, rig);
	(*ret)->back = xasprintf("../%s", rig);
	return 0;
}

/* "--name=value": whatever value begins with, it is one. */
static void add_option(struct action_order *o, const char *name, const char *value)
{
	auto_free char *word = xasprintf("--%s=%s", name, value);

	action_order_add(o, word);
}

static void add_store(struct action_order *o, const struct site *s)
{
	if (s->store_location)
		add_option(o, "store", s->store_location);
}

/* The rig's row in ret_rigs (caller frees), or NULL. */
static int find_rig(struct site *s, const char *name, struct store_rig **ret_rigs, size_t *ret_n,
		    const struct store_rig **ret, struct err *e)
{
	int r = store_rigs(s->store, ret_rigs, ret_n, e);

	*ret = NULL;
	for (size_t i = 0; r >= 0 && i < *ret_n; i++)
		if (strcmp((*ret_rigs)[i].rig, name) == 0)
			*ret = &(*ret_rigs)[i];
	return r;
}

/* A lock is a row of its own: without this check each misspelt name would become a rig. */
static int check_is_known(struct site *s, const char *rig, struct err *e)
{
	const struct data_filter f = {.rig = rig, .last = 1};
	auto_run_list struct run_list runs = {0};
	const struct store_rig *found;
	struct store_rig *rigs = NULL;
	size_t n = 0;
	int r;

	r = find_rig(s, rig, &rigs, &n, &found, e);
	store_rigs_free(rigs, n);
	if (r < 0 || found)
		return r;
	r = data_runs(s, &f, &runs, e);
	if (r >= 0 && runs.n == 0)
		return err_set(e, ERR_USAGE, ENOENT, "rig '%s' has no runs and no worker", rig);
	return r;
}

int act_lock(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	const char *duration = request_arg(rq, "for");
	const char *why = request_arg(rq, "why");
	uint32_t seconds;
	int r;

	if (!duration)
		return err_set(e, ERR_USAGE, EINVAL, "for is missing: how long, as in 30m");
	r = parse_duration_s("for", duration, HOLD_MIN_S, HOLD_MAX_S, &seconds, e);
	if (r >= 0 && why && strlen(why) > WHY_MAX)
		r = err_set(e, ERR_USAGE, EINVAL, "why: at most %d bytes, this has %zu", WHY_MAX,
			    strlen(why));
	if (r >= 0)
		r = begin_rig_order(s, rq, rq->parts[0], "lock", &rp->order, e);
	if (r >= 0)
		r = check_is_known(s, rq->parts[0], e);
	if (r < 0)
		return r;
	action_order_add(rp->order, "lock");
	action_order_add(rp->order, rq->parts[0]);
	add_option(rp->order, "for", duration);
	add_option(rp->order, "as", rp->order->who);
	if (why)
		add_option(rp->order, "why", why);
	add_store(rp->order, s);
	return 0;
}

int act_unlock(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	int r = begin_rig_order(s, rq, rq->parts[0], "unlock", &rp->order, e);

	if (r < 0)
		return r;
	action_order_add(rp->order, "unlock");
	action_order_add(rp->order, rq->parts[0]);
	add_option(rp->order, "as", rp->order->who);
	if (request_arg(rq, "force"))
		action_order_add(rp->order, "--force");
	add_store(rp->order, s);
	return 0;
}

/* Whoever holds the rig need not expect that another one moves its switch. */
static int check_is_free_for(struct site *s, const char *rig, const char *who, struct err *e)
{
	const struct store_rig *found;
	struct store_rig *rigs = NULL;
	size_t n = 0;
	int r;

	r = find_rig(s, rig, &rigs, &n, &found, e);
	if (r >= 0 && found && found->holder && strcmp(found->holder, who) != 0)
		r = err_set(e, ERR_USAGE, EALREADY, "rig '%s' is held by %s (%s)", rig,
			    found->holder, text_or_empty(found->hold_purpose));
	store_rigs_free(rigs, n);
	return r;
}

/* `switch STATE RIG[/PORT]`; port may be NULL. */
static int order_switch(struct site *s, const struct request *rq, const char *rig, const char *port,
			const char *state, struct reply *rp, struct err *e)
{
	auto_free char *verb = xasprintf("switch %s", state);
	auto_free char *place = port ? xasprintf("%s/%s", rig, port) : xstrdup(rig);
	int r;

	r = begin_rig_order(s, rq, rig, verb, &rp->order, e);
	if (r >= 0)
		r = check_is_free_for(s, rig, rp->order->who, e);
	if (r < 0)
		return r;
	action_order_add(rp->order, "switch");
	action_order_add(rp->order, state);
	action_order_add(rp->order, place);
	action_order_add(rp->order, "--no-wait");
	return 0;
}

int act_switch(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	static const char *const states[] = {"on", "off", "cycle"};
	const char *state = request_arg(rq, "state");
	const char *port = request_arg(rq, "port");
	size_t i = 0;

	while (i < ARRAY_SIZE(states) && (!state || strcmp(state, states[i]) != 0))
		i++;
	if (i == ARRAY_SIZE(states))
		return err_set(e, ERR_USAGE, EINVAL, "state: '%s' is none of on, off, cycle",
			       text_or_empty(state));
	if (port && !parse_is_name(port))
		return err_set(e, ERR_USAGE, EINVAL, "port: '%s' is no name", port);
	return order_switch(s, rq, rq->parts[0], port, states[i], rp, e);
}

/* ---- what other labs' software asks for ---- */

/* labgrid's power model `rest` and its HttpDigitalOutput: PUT of 0 or 1. */
int act_set_value(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	bool is_on = strcmp(rq->body, "1") == 0;
	int r;

	if (!is_on && strcmp(rq->body, "0") != 0)
		return err_set(e, ERR_USAGE, EINVAL, "the body must be 0 or 1");
	r = order_switch(s, rq, rq->parts[0], NULL, is_on ? "on" : "off", rp, e);
	if (r >= 0)
		action_order_add(rp->order, "--json");
	return r;
}

/* The same two: GET, answered with 0 or 1. */
int act_get_value(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	int r = order_switch(s, rq, rq->parts[0], NULL, "status", rp, e);

	if (r < 0)
		return r;
	action_order_add(rp->order, "--json");
	rp->order->is_question = true;
	return 0;
}

/* pdudaemon's HTTP: the rig is the PDU, its switch is outlet 1 and has a name too. */
int act_pdu(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	static const struct {
		const char *verb, *state;
	} verbs[] = {{"on", "on"}, {"off", "off"}, {"reboot", "cycle"}};
	const char *rig = request_arg(rq, "hostname");
	const char *port = request_arg(rq, "port");
	const char *delay = request_arg(rq, "delay");
	uint32_t delay_s = 0;
	size_t i = 0;
	int r;

	while (i < ARRAY_SIZE(verbs) && strcmp(rq->parts[0], verbs[i].verb) != 0)
		i++;
	if (i == ARRAY_SIZE(verbs))
		return err_set(e, ERR_USAGE, ENOENT, "'%s' is none of on, off, reboot",
			       rq->parts[0]);
	if (!rig || !port)
		return err_set(e, ERR_USAGE, EINVAL,
			       "hostname (the rig) and port (1, or the name of its stick) are "
			       "needed");
	if (request_arg(rq, "alias"))
		return err_set(e, ERR_USAGE, EINVAL, "alias: there are no aliases");
	if (strspn(port, "0123456789") == strlen(port) && strcmp(port, "1") != 0)
		return err_set(e, ERR_USAGE, ENOENT, "a rig has one port, 1, and no port %s", port);
	if (!parse_is_name(port))
		return err_set(e, ERR_USAGE, EINVAL, "port: '%s' is no name", port);
	if (delay) {
		r = parse_u32("delay", delay, 0, DELAY_MAX_S, &delay_s, e);
		if (r < 0)
			return r;
	}
	if (delay_s && strcmp(verbs[i].state, "cycle") != 0)
		return err_set(e, ERR_USAGE, EINVAL, "delay: only reboot has one");
	r = order_switch(s, rq, rig, strcmp(port, "1") == 0 ? NULL : port, verbs[i].state, rp, e);
	if (r >= 0 && delay_s) {
		auto_free char *off_for = xasprintf("%u", delay_s);

		add_option(rp->order, "off-for", off_for);
	}
	return r;
}

int act_cancel(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	struct store_job_filter f = {0};
	struct store_job **jobs = NULL;
	size_t n = 0;
	uint64_t job;
	int r;

	r = parse_u64("job", rq->parts[0], 1, INT64_MAX, &job, e);
	if (r < 0)
		return r;
	f.job = (int64_t)job;
	r = store_jobs(s->store, &f, &jobs, &n, e);
	store_jobs_free(jobs, n);
	if (r >= 0 && n == 0)
		r = err_set(e, ERR_USAGE, ENOENT, "there is no job %" PRIu64, job);
	if (r >= 0)
		r = begin_order(s, rq, &rp->order, e);
	if (r < 0)
		return r;
	rp->order->subject = xasprintf("job/%" PRIu64, job);
	rp->order->words = xasprintf("cancel job %" PRIu64, job);
	rp->order->back = xstrdup("../../jobs");
	action_order_add(rp->order, "cancel");
	action_order_add(rp->order, rq->parts[0]);
	add_store(rp->order, s);
	return 0;
}

/* ---- forms ---- */

static bool can_act(const struct site *s, const struct request *rq)
{
	return s->actions && action_is_possible(s->actions) && rq->has_actions && !rq->is_static;
}

static void begin_form(struct strbuf *out, const struct request *rq, const char *folder,
		       const char *name, const char *verb)
{
	strbuf_adds(out, "<form class=action method=post action=\"");
	page_url(out, rq, folder, name, "/", verb, NULL);
	strbuf_adds(out, "\"><input type=hidden name=csrf value=\"");
	html_text(out, rq->csrf);
	strbuf_adds(out, "\">");
}

static void add_who_field(struct strbuf *out)
{
	strbuf_addf(out,
		    "<label>your name <input name=as required maxlength=%d size=12 "
		    "autocomplete=username></label>",
		    ACTION_WHO_MAX);
}

static void add_log(struct strbuf *out, const struct site *s, const char *subject)
{
	const struct action_entry *en = action_entry(s->actions, subject, 0);

	if (!en)
		return;
	strbuf_adds(out,
		    "<table class=rows><caption>Done here</caption><thead><tr>"
		    "<th scope=col>when<th scope=col>who<th scope=col>what<th scope=col>outcome"
		    "</thead><tbody>\n");
	for (size_t i = 0; en && i < ACTIONS_SHOWN; en = action_entry(s->actions, subject, ++i)) {
		strbuf_adds(out, "<tr><td class=when>");
		html_time(out, en->wall_ns);
		strbuf_adds(out, "<td>");
		html_text(out, en->who);
		strbuf_adds(out, "<th scope=row>");
		html_text(out, en->words);
		strbuf_addf(out,
			    "<td class=words><span class=%s><span aria-hidden=true>%s</span> %s"
			    "</span> ",
			    en->is_ok ? "well" : "unwell", en->is_ok ? "✓" : "⚠",
			    en->is_ok ? "done" : "failed");
		html_text(out, en->outcome);
		strbuf_adds(out, "\n");
	}
	strbuf_adds(out, "</tbody></table>\n");
}

void add_rig_actions(struct strbuf *out, const struct site *s, const struct request *rq,
		     const char *rig, const char *holder)
{
	static const struct {
		const char *state, *words;
	} switches[] = {{"off", "Cut"}, {"on", "Connect"}, {"cycle", "Cut and connect"}};
	auto_free char *subject = xasprintf("rig/%s", rig);

	if (!can_act(s, rq))
		return;
	strbuf_adds(out, "<section class=card><h2>Actions</h2>\n<div class=actions>");
	begin_form(out, rq, "rigs/", rig, "lock");
	strbuf_adds(out, "<fieldset><legend>Keep it for yourself</legend>");
	add_who_field(out);
	strbuf_addf(out,
		    "<label>for <input name=for value=2h required size=4 "
		    "pattern=\"[0-9]+[smhd]?\" title=\"90s, 30m, 12h or 7d\"></label>"
		    "<label>why <input name=why maxlength=%d></label>"
		    "<button>Lock</button></fieldset></form>\n",
		    WHY_MAX);
	if (holder) {
		begin_form(out, rq, "rigs/", rig, "unlock");
		strbuf_adds(out, "<fieldset><legend>Give it back</legend>");
		add_who_field(out);
		strbuf_adds(out, "<label><input type=checkbox name=force value=1> also if another "
				 "holds it</label><button>Unlock</button></fieldset></form>\n");
	}
	begin_form(out, rq, "rigs/", rig, "switch");
	strbuf_adds(out, "<fieldset><legend>Its stick</legend>");
	add_who_field(out);
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		strbuf_addf(out, "<button name=state value=%s>%s</button>", switches[i].state,
			    switches[i].words);
	strbuf_adds(out, "</fieldset></form></div>\n");
	add_log(out, s, subject);
	strbuf_adds(out, "</section>\n");
}

/* ---- the queue ---- */

static void add_cancel(struct strbuf *out, const struct request *rq, const struct store_job *j)
{
	auto_free char *number = xasprintf("%" PRId64, j->job);

	if (j->state != STORE_JOB_QUEUED && j->state != STORE_JOB_RUNNING)
		return;
	if (j->is_cancel_wanted) {
		strbuf_adds(out, "is being ended");
		return;
	}
	begin_form(out, rq, "jobs/", number, "cancel");
	strbuf_addf(out, "<button aria-label=\"Cancel job %s\">Cancel</button></form>", number);
}

static void add_job(struct strbuf *out, const struct site *s, const struct request *rq,
		    const struct store_job *j)
{
	const char *rig = j->on_rig ? j->on_rig : j->rig;
	int64_t since_ns = j->ended_wall_ns                ? j->ended_wall_ns
			   : j->state == STORE_JOB_RUNNING ? j->started_wall_ns
							   : j->submitted_wall_ns;

	strbuf_addf(out, "<tr><th scope=row>%" PRId64 "<td class=%s>%s<td>", j->job,
		    j->state == STORE_JOB_RUNNING  ? "running"
		    : j->state == STORE_JOB_FAILED ? "unwell"
						   : "dim",
		    store_job_state_name(j->state));
	if (rig)
		html_link(out, rq, "rigs/", rig, rig);
	else
		strbuf_adds(out, "any");
	strbuf_adds(out, "<td>");
	html_text(out, *j->scenario ? j->scenario : j->kind);
	strbuf_adds(out, "<td>");
	html_text(out, j->kernel);
	strbuf_adds(out, " ");
	html_text(out, j->append);
	strbuf_addf(out, "<td class=num>%" PRId64 "<td class=num>%u/%u<td class=when>", j->priority,
		    j->attempts, j->attempts_max);
	html_time(out, since_ns);
	strbuf_adds(out, "<td>");
	html_text(out, j->submitted_by);
	strbuf_adds(out, "<td>");
	if (j->run_id)
		html_link(out, rq, "runs/", j->run_id, j->verdict ? j->verdict : "run");
	else
		html_text(out, j->error);
	if (can_act(s, rq)) {
		strbuf_adds(out, "<td>");
		add_cancel(out, rq, j);
	}
	strbuf_adds(out, "\n");
}

static int read_jobs(struct site *s, const struct request *rq, struct store_job ***ret,
		     size_t *ret_n, struct err *e)
{
	const struct store_job_filter f = {.rig = request_arg(rq, "rig"), .last = JOBS_SHOWN};

	return store_jobs(s->store, &f, ret, ret_n, e);
}

int page_jobs(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	struct store_job **jobs = NULL;
	struct strbuf *out = &rp->body;
	size_t n = 0;
	int r;

	r = read_jobs(s, rq, &jobs, &n, e);
	if (r < 0)
		return r;
	page_begin(out, rq, NAV_JOBS, "Queue", false);
	strbuf_adds(out, "<h1>Queue</h1>\n<section class=card>");
	if (n) {
		strbuf_adds(out,
			    "<div class=scroll tabindex=0 role=region aria-label=Jobs>"
			    "<table class=rows><thead><tr><th scope=col>job<th scope=col>state"
			    "<th scope=col>rig<th scope=col>scenario<th scope=col>kernel"
			    "<th scope=col class=num>priority<th scope=col class=num>try"
			    "<th scope=col>since<th scope=col>asked for by<th scope=col>result");
		if (can_act(s, rq))
			strbuf_adds(out, "<td>");
		strbuf_adds(out, "</thead><tbody>\n");
		for (size_t i = 0; i < n; i++)
			add_job(out, s, rq, jobs[i]);
		strbuf_adds(out, "</tbody></table></div>");
		if (n == JOBS_SHOWN)
			strbuf_addf(out, "<p class=dim>Only %d are shown.\n", JOBS_SHOWN);
	} else {
		strbuf_adds(out, "<p>No job waits, runs or has ended. <code>stallrig submit</code> "
				 "makes one.");
	}
	strbuf_adds(out, "</section>\n");
	if (can_act(s, rq) && action_entry(s->actions, NULL, 0)) {
		strbuf_adds(out, "<section class=card><h2>Actions</h2>\n");
		add_log(out, s, NULL);
		strbuf_adds(out, "</section>\n");
	}
	page_end(out, rq);
	store_jobs_free(jobs, n);
	return 0;
}

int api_jobs(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	struct store_job **jobs = NULL;
	json_t *root;
	json_t *array;
	size_t n = 0;
	int r;

	r = read_jobs(s, rq, &jobs, &n, e);
	if (r < 0)
		return r;
	root = json_object();
	array = json_array();
	for (size_t i = 0; i < n; i++)
		append(array, report_job_value(jobs[i]));
	set(root, "jobs", array);
	reply_json(rp, root);
	store_jobs_free(jobs, n);
	return 0;
}

int api_actions(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	json_t *root;
	json_t *array;

	(void)rq;
	if (!s->actions)
		return err_set(e, ERR_USAGE, ENOENT, "nothing can be done here");
	root = json_object();
	array = json_array();
	for (size_t i = 0; action_entry(s->actions, NULL, i); i++) {
		const struct action_entry *en = action_entry(s->actions, NULL, i);
		json_t *obj = json_object();

		set_wall(obj, "time", en->wall_ns);
		set_text(obj, "who", en->who);
		set_text(obj, "address", en->address);
		set_text(obj, "action", en->words);
		set(obj, "is_ok", json_boolean(en->is_ok));
		set_text(obj, "outcome", en->outcome);
		append(array, obj);
	}
	set(root, "actions", array);
	reply_json(rp, root);
	return 0;
}
