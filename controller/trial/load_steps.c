/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load_steps.c - the steps of a load scenario: its commands, its loads. */
#include "base/fdio.h"
#include "base/frame.h"
#include "base/parse.h"
#include "runner_priv.h"

#include <inttypes.h>
#include <string.h>

#define SETUP_NS  (180 * NSEC_PER_SEC) /* a command of the set-up, or one before a load */
#define LOOK_NS   (200 * NSEC_PER_MSEC)
#define GRACE_NS  (60 * NSEC_PER_SEC) /* beyond a load's own time: the agent ends it before */
#define WORD_MAX  3072
#define NAME_SIZE sizeof(((struct trial_number *)0)->name)

/* A command of the target's shell; what it says goes to the recording. */
static int run_command(struct runner *rn, const char *command, nsec_t timeout_ns,
		       struct strbuf *ret_said, struct err *e)
{
	char word[WORD_MAX];
	int r;

	if (!frame_encode_word(command, word, sizeof(word)))
		return err_set(e, ERR_CONFIG, EMSGSIZE, "'%.40s…': too long for the agent link",
			       command);
	strbuf_addf(&rn->load_words, "$ %s\n", command);
	r = link_call(rig_link(rn->rig), timeout_ns, ret_said, e, "sh command=%s", word);
	strbuf_addf(&rn->load_words, "%s\n", r < 0 ? e->text : strbuf_str(ret_said));
	return r;
}

int step_set_up(struct runner *rn, struct err *e)
{
	rn->obs.loads_planned = 0;
	for (unsigned i = 0; i < rn->sc->loads_count; i++)
		rn->obs.loads_planned += rn->sc->loads[i].jobs_count;
	if (rn->is_set_up)
		return STEP_GO;
	runner_phase(rn, "trial %u: setting up", rn->trial->number);
	for (unsigned i = 0; i < rn->sc->prepare.setup_count; i++) {
		auto_strbuf struct strbuf said = STRBUF_INIT;
		int r = run_command(rn, rn->sc->prepare.setup[i], SETUP_NS, &said, e);

		if (r < 0)
			return err_wrap(e, "prepare.setup[%u]", i);
	}
	rn->is_set_up = true;
	return STEP_GO;
}

/* ---- one load ---- */

static void add_word(struct strbuf *out, const char *key, const char *value)
{
	char word[WORD_MAX];

	if (value && frame_encode_word(value, word, sizeof(word)))
		strbuf_addf(out, " %s=%s", key, word);
}

/* What the agent is asked for. */
static void build_request(const struct scenario_load *l, unsigned jobs, struct strbuf *out)
{
	if (strcmp(l->kind, "dd") == 0) {
		strbuf_addf(out, "dds jobs=%u seconds=%u bs=%uk", jobs, l->seconds, l->block_kib);
		if (l->count)
			strbuf_addf(out, " count=%u", l->count);
		add_word(out, "if", l->path);
		add_word(out, "of", l->to);
		add_word(out, "iflag", l->iflag);
		add_word(out, "oflag", l->oflag);
		add_word(out, "conv", l->conv);
	} else if (strcmp(l->kind, "walk") == 0) {
		strbuf_addf(out, "walk jobs=%u seconds=%u", jobs, l->seconds);
		add_word(out, "dir", l->path);
	} else if (strcmp(l->kind, "sh") == 0) {
		strbuf_adds(out, "sh");
		add_word(out, "command", l->command);
	} else {
		strbuf_addf(out, "random op=%s jobs=%u seconds=%u block_kib=%u seed=%u",
			    strcmp(l->kind, "random-write") == 0 ? "write" : "read", jobs,
			    l->seconds, l->block_kib, l->seed);
		add_word(out, "path", l->path);
		add_word(out, "program", l->program);
	}
	strbuf_adds(out, " bg=1");
}

/* What the numbers of a load begin with. Caller frees. */
static char *number_prefix(const struct scenario_load *l, unsigned jobs)
{
	return strcmp(l->kind, "sh") == 0 ? xstrdup(l->name) : xasprintf("%s_%u", l->name, jobs);
}

/* Words of a load's result that are measurements, under the names that they get. */
static const char *const measured[] = {"iops",   "worst_s_iops",  "p50_us", "p99_us",
				       "max_us", "entries_per_s", "cut"};
/* Words that must be 0: the load did not do what it should. */
static const char *const spoiling[] = {"errors", "failed", "silent", "killed", "stuck"};

/* 0, or what is wrong with the result. */
static int take_result(struct runner *rn, const struct scenario_load *l, unsigned jobs,
		       const char *words, const char *lines, struct err *e)
{
	auto_free char *prefix = number_prefix(l, jobs);
	char name[NAME_SIZE];
	char message[200];
	int64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(spoiling); i++) {
		if (!parse_pair_i64(words, spoiling[i], &v) || v == 0)
			continue;
		if (!reply_text(words, "message", message, sizeof(message)) &&
		    !reply_text(words, "first_error", message, sizeof(message)))
			message[0] = '\0';
		return err_set(e, ERR_TARGET, EIO, "load '%s', %u jobs: %s %" PRId64 "%s%s",
			       l->name, jobs, spoiling[i], v, message[0] ? ": " : "", message);
	}
	for (size_t i = 0; i < ARRAY_SIZE(measured); i++)
		if (parse_pair_i64(words, measured[i], &v)) {
			(void)snprintf(name, sizeof(name), "%s_%s", prefix, measured[i]);
			runner_add_number(rn, name, v);
		}
	if (strncmp(l->kind, "random-", 7) == 0 && parse_pair_i64(words, "iops", &v)) {
		(void)snprintf(name, sizeof(name), "%s_kib_per_s", prefix);
		runner_add_number(rn, name, v * l->block_kib);
	}
	if (strcmp(l->kind, "sh") != 0)
		return 0;
	if (!l->is_value && parse_pair_i64(words, "elapsed_ms", &v)) {
		(void)snprintf(name, sizeof(name), "%s_ms", prefix);
		runner_add_number(rn, name, v);
	} else if (l->is_value) {
		size_t n = strlen(lines);
		auto_free char *last = NULL;

		while (n && lines[n - 1] == '\n')
			n--;
		last = xasprintf("%.*s", (int)n, lines);
		if (parse_i64("value", strrchr(last, '\n') ? strrchr(last, '\n') + 1 : last,
			      INT64_MIN + 1, INT64_MAX, &v, e) < 0) {
			(void)err_rekind(e, ERR_TARGET);
			return err_wrap(e, "load '%s'", l->name);
		}
		runner_add_number(rn, prefix, v);
	}
	return 0;
}

/* A disk that hardly writes for a while. */
struct hiccup {
	nsec_t at_ns, until_ns; /* 0 = none, or over */
	bool is_on;
};

static int serve_hiccup(struct runner *rn, struct hiccup *h, struct err *e)
{
	nsec_t now_ns = waiter_now(rn->w);
	int r;

	if (!h->at_ns)
		return 0;
	if (!h->is_on && now_ns >= h->at_ns) {
		runner_phase(rn, "trial %u: disk '%s' hardly writes", rn->trial->number,
			     rn->sc->hiccup.disk);
		r = rig_throttle_disk(rn->rig, rn->sc->hiccup.disk, rn->sc->hiccup.write_iops, e);
		if (r < 0)
			return r;
		h->is_on = true;
	}
	if (h->is_on && now_ns >= h->until_ns) {
		h->at_ns = 0;
		return rig_throttle_disk(rn->rig, rn->sc->hiccup.disk, 0, e);
	}
	return 0;
}

/* Until the load has ended; its last words to ret. */
static int await_load(struct runner *rn, struct hiccup *h, nsec_t deadline_ns, struct strbuf *ret,
		      struct err *e)
{
	char state[32];
	int r;

	for (;;) {
		r = waiter_sleep(rn->w, LOOK_NS, e);
		if (r == 0)
			r = serve_hiccup(rn, h, e);
		if (r == 0)
			r = link_call(rig_link(rn->rig), CALL_NS, ret, e, "load");
		if (r < 0)
			return r;
		if (!reply_text(strbuf_str(ret), "state", state, sizeof(state)))
			return err_set(e, ERR_TARGET, EPROTO, "agent: no 'state=' of the load");
		if (strcmp(state, "running") != 0 || runner_has_crash(rn))
			return 0;
		if (waiter_now(rn->w) >= deadline_ns) {
			r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "kill-load");
			return r < 0 ? r
				     : err_set(e, ERR_TARGET, ETIMEDOUT,
					       "it did not end and was killed");
		}
	}
}

static int run_load(struct runner *rn, const struct scenario_load *l, unsigned jobs, struct err *e)
{
	auto_strbuf struct strbuf request = STRBUF_INIT;
	auto_strbuf struct strbuf before = STRBUF_INIT;
	auto_strbuf struct strbuf lines = STRBUF_INIT;
	auto_strbuf struct strbuf words = STRBUF_INIT;
	auto_free char *prefix = number_prefix(l, jobs);
	struct hiccup hiccup = {0};
	struct err late = {0};
	nsec_t now_ns;
	char text[300];
	int r = 0;

	if (l->before)
		r = run_command(rn, l->before, SETUP_NS, &before, e);
	if (r < 0)
		return err_wrap(e, "load '%s': before", l->name);
	runner_phase(rn, "trial %u: load %s, %u job%s", rn->trial->number, l->name, jobs,
		     jobs == 1 ? "" : "s");
	build_request(l, jobs, &request);
	strbuf_addf(&rn->load_words, "%s\n", strbuf_str(&request));
	now_ns = waiter_now(rn->w);
	if (rn->sc->hiccup.disk && strcmp(rn->sc->hiccup.load, l->name) == 0) {
		hiccup.at_ns = now_ns + rn->sc->hiccup.after_ms * NSEC_PER_MSEC;
		hiccup.until_ns = hiccup.at_ns + rn->sc->hiccup.for_ms * NSEC_PER_MSEC;
	}
	r = profiling_open(rn, e);
	if (r == 0)
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "%s", strbuf_str(&request));
	if (r == 0)
		r = await_load(rn, &hiccup, now_ns + l->seconds * NSEC_PER_SEC + GRACE_NS, &words,
			       e);
	/* the disk must not stay slow for what comes after */
	if (hiccup.is_on && hiccup.at_ns &&
	    rig_throttle_disk(rn->rig, rn->sc->hiccup.disk, 0, &late) < 0 && r == 0) {
		*e = late;
		r = -late.code;
	}
	if (r == 0 && !runner_has_crash(rn))
		r = profiling_close(rn, prefix, e);
	if (r < 0)
		return err_wrap(e, "load '%s', %u jobs", l->name, jobs);
	strbuf_adds(&rn->load_words, strbuf_str(&words));
	if (runner_has_crash(rn))
		return 0;
	if (strstr(strbuf_str(&words), "state=ended") == NULL) {
		if (!reply_text(strbuf_str(&words), "message", text, sizeof(text)))
			(void)snprintf(text, sizeof(text), "it did not end well");
		return err_set(e, ERR_TARGET, EIO, "load '%s', %u jobs: %s", l->name, jobs, text);
	}
	r = link_call(rig_link(rn->rig), CALL_NS, &lines, e, "load-lines");
	if (r < 0)
		return r;
	strbuf_adds(&rn->load_words, strbuf_str(&lines));
	/* the last line is that of the reply itself */
	lines.data[lines.len - 1] = '\0';
	if (strrchr(lines.data, '\n'))
		*strrchr(lines.data, '\n') = '\0';
	else
		lines.data[0] = '\0';
	return take_result(rn, l, jobs, strbuf_str(&words), lines.data, e);
}

/* What was asked and answered, word by word, beside the trial's other facts. */
static int record_words(struct runner *rn, struct err *e)
{
	auto_free char *path = xasprintf("%s/trial-%u-loads.txt", rn->dir, rn->trial->number);
	int r = file_write_atomic(path, strbuf_str(&rn->load_words), rn->load_words.len, e);

	strbuf_reset(&rn->load_words);
	return r < 0 ? err_rekind(e, ERR_STORE) : 0;
}

int step_loads(struct runner *rn, struct err *e)
{
	struct err late = {0};
	int r;

	rn->obs.n_numbers = 0;
	r = profiling_begin(rn, e);
	for (unsigned i = 0; r == 0 && i < rn->sc->loads_count; i++) {
		const struct scenario_load *l = &rn->sc->loads[i];

		for (unsigned k = 0; r == 0 && k < l->jobs_count && !runner_has_crash(rn); k++) {
			r = run_load(rn, l, l->jobs[k], e);
			rn->obs.loads_done += r == 0 && !runner_has_crash(rn);
		}
	}
	if (r == 0 && !runner_has_crash(rn))
		r = profiling_end(rn, e);
	if (record_words(rn, &late) < 0 && r == 0) {
		*e = late;
		return -late.code;
	}
	if (r < 0)
		return r;
	return evidence_reach(&rn->obs, OBSERVED_LOADS) ? STEP_GO : STEP_OVER;
}
