/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_exec.c - a lab's own commands switch. */
#include "base/child.h"
#include "lab_command.h"
#include "switch_driver.h"

#include <sys/wait.h>

struct switch_exec {
	const struct switch_cfg *cfg; /* not owned */
	struct switch_ops ops;
	struct waiter *w;
	enum switch_state state; /* what was done last */
};

static int run(struct switch_exec *s, const char *key, char *const *words, unsigned n,
	       nsec_t deadline_ns, struct err *e)
{
	nsec_t timeout_ns = s->cfg->timeout_ms * NSEC_PER_MSEC;

	if (deadline_ns - waiter_now(s->w) < timeout_ns)
		timeout_ns = deadline_ns - waiter_now(s->w);
	return lab_command_run(s->w, key, words, n, NULL, timeout_ns, e);
}

static int switch_exec_set(void *self, enum switch_state state, nsec_t deadline_ns,
			   struct switch_change *ret, struct err *e)
{
	struct switch_exec *s = self;
	const struct switch_cfg *c = s->cfg;
	int r;

	*ret = (struct switch_change){.asked_ns = waiter_now(s->w)};
	/* until the command has said what it did, nobody knows */
	s->state = SWITCH_UNKNOWN;
	r = state == SWITCH_ON ? run(s, "turn_on", c->turn_on, c->turn_on_count, deadline_ns, e)
			       : run(s, "turn_off", c->turn_off, c->turn_off_count, deadline_ns, e);
	ret->applied_ns = waiter_now(s->w);
	if (r < 0)
		return r;
	s->state = state;
	if (c->status_count && s->ops.get(s) != state)
		return err_set(e, ERR_RIG, EIO, "status: '%s' does not say '%s' afterwards",
			       c->status[0], switch_state_name(state));
	return 0;
}

/* The status command ends with 0 for on and 1 for off; anything else is no answer. */
static enum switch_state switch_exec_get(void *self)
{
	struct switch_exec *s = self;
	const struct switch_cfg *c = s->cfg;
	auto_free const char **argv = xcalloc(c->status_count + 1, sizeof(*argv));
	const struct child_cfg cfg = {
		.argv = argv,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.dies_with_parent = true,
	};
	auto_child struct child *child = NULL;
	struct err ignored = {0};
	int status = 0;

	if (!c->status_count)
		return s->state;
	for (unsigned i = 0; i < c->status_count; i++)
		argv[i] = c->status[i];
	if (child_start(&cfg, &child, &ignored) < 0 ||
	    child_wait(child, s->w, waiter_now(s->w) + c->timeout_ms * NSEC_PER_MSEC, &ignored) !=
		    1)
		return SWITCH_UNKNOWN;
	(void)child_has_ended(child, &status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return SWITCH_UNKNOWN;
	return WEXITSTATUS(status) == 0 ? SWITCH_ON : SWITCH_OFF;
}

static void switch_exec_close(void *self)
{
	free(self);
}

int switch_exec_open(const struct switch_cfg *cfg, struct waiter *w,
		     const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	struct switch_exec *s = xcalloc(1, sizeof(*s));

	(void)e;
	s->cfg = cfg;
	s->w = w;
	s->state = SWITCH_UNKNOWN;
	s->ops = (struct switch_ops){
		.driver = "exec",
		.caps = cfg->status_count ? SWITCH_CAN_READBACK | SWITCH_PER_PORT : SWITCH_PER_PORT,
		.set = switch_exec_set,
		.get = switch_exec_get,
		.close = switch_exec_close,
	};
	*ret_ops = &s->ops;
	*ret_self = s;
	return 0;
}
