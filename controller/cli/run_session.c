/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_session.c - runs that a command makes. */
#include "cli/run_session.h"

#include "cli/common.h"
#include "report/run_text.h"
#include "report/text.h"
#include "store/queue.h"

struct run_session {
	struct cli *cli;
	struct store *store;
	const struct rig_cfg *rig;
	const struct run *begun; /* its head row is in the store */
};

static void on_phase(void *self, const struct run *r, const char *text)
{
	struct run_session *s = self;

	(void)r;
	progress_now(s->cli, text);
}

static int on_run(void *self, const struct run *r, struct err *e)
{
	struct run_session *s = self;

	if (s->begun == r)
		return store_run_update(s->store, r, e);
	s->begun = r;
	return store_run_begin(s->store, r, e);
}

static int on_boot(void *self, const struct run *r, const struct trial_boot *b, struct err *e)
{
	struct run_session *s = self;

	return store_boot_add(s->store, r, b, e);
}

static int on_wear(void *self, struct switch_wear *ret, struct err *e)
{
	struct run_session *s = self;

	return store_wear_of(s->store, s->rig->name, switch_cfg_worn_part(&s->rig->stick_switch),
			     s->rig->stick.serial, &ret->switch_cycles, &ret->stick_cycles, e);
}

static int on_trial(void *self, const struct run *r, const struct trial *t, struct err *e)
{
	struct run_session *s = self;
	auto_strbuf struct strbuf line = STRBUF_INIT;
	int ret;

	ret = store_trial_end(s->store, r, t, switch_cfg_worn_part(&s->rig->stick_switch),
			      s->rig->stick.serial, e);
	if (ret < 0)
		return ret;
	strbuf_addf(&line, "trial %u, boot %u: ", t->number, t->boot);
	if (t->worst_us >= 0) {
		text_add_ms(&line, t->worst_us);
		strbuf_adds(&line, ", ");
	}
	run_text_add_trial(&line, r, t);
	if (!t->is_valid && !t->is_crash && t->evidence[t->missing].detail[0])
		strbuf_addf(&line, " (%s)", t->evidence[t->missing].detail);
	progress_stays(s->cli, strbuf_str(&line));
	return 0;
}

static const struct runner_hooks hooks = {
	.phase = on_phase,
	.run = on_run,
	.wear = on_wear,
	.boot = on_boot,
	.trial = on_trial,
};

int run_session(struct cli *cli, struct store *store, struct runner_cfg *cfg, bool may_wait,
		struct run **ret, struct err *e)
{
	struct run_session s = {.cli = cli, .store = store, .rig = cfg->rig};
	auto_free char *text = NULL;
	int r;

	cfg->hooks = &hooks;
	cfg->self = &s;
	cfg->lock_wait_ns = 0;
	r = runner_run(cfg, ret, e);
	if (r != -EBUSY || *ret || !may_wait)
		return r;
	text = xasprintf("waiting: %s", e->text);
	progress_stays(cli, text);
	err_clear(e);
	cfg->lock_wait_ns = CLI_RIG_WAIT_NS;
	return runner_run(cfg, ret, e);
}
