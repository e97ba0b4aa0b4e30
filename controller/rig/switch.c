/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch.c - the limits that hold for every switch, whatever drives it. */
#include "rig/switch.h"

#include "base/log.h"

struct stick_switch {
	char *name;
	const struct switch_ops *ops;
	void *self;
	struct switch_limits limits;
	struct waiter *w;
	nsec_t off_since_ns; /* 0 = not switched off yet */
	uint64_t cycles;     /* times switched off */
};

struct stick_switch *switch_new(const char *name, const struct switch_ops *ops, void *self,
				const struct switch_limits *limits, struct waiter *w)
{
	struct stick_switch *sw = xcalloc(1, sizeof(*sw));

	sw->name = xstrdup(name);
	sw->ops = ops;
	sw->self = self;
	sw->limits = *limits;
	sw->w = w;
	return sw;
}

const char *switch_state_name(enum switch_state state)
{
	return state == SWITCH_OFF ? "off" : state == SWITCH_ON ? "on" : "unknown";
}

void switch_close(struct stick_switch *sw)
{
	struct switch_change ignored_change;
	struct err ignored = {0};
	int saved = errno;

	if (!sw)
		return;
	if (sw->limits.safe != SWITCH_UNKNOWN && sw->ops->get(sw->self) != sw->limits.safe &&
	    sw->ops->set(sw->self, sw->limits.safe, waiter_now(sw->w) + SWITCH_SAFE_NS,
			 &ignored_change, &ignored) < 0)
		log_debug(LOG_RIG, "switch '%s': no safe state: %s", sw->name, ignored.text);
	sw->ops->close(sw->self);
	free(sw->name);
	free(sw);
	errno = saved;
}

void switch_keep(struct stick_switch *sw)
{
	sw->limits.safe = SWITCH_UNKNOWN;
}

const struct switch_ops *switch_driver(const struct stick_switch *sw)
{
	return sw->ops;
}

const char *switch_name(const struct stick_switch *sw)
{
	return sw->name;
}

/* Waits until the stick was off for long enough. */
static int keep_min_off(struct stick_switch *sw, nsec_t deadline_ns, struct err *e)
{
	const nsec_t until_ns = sw->off_since_ns + sw->limits.min_off_ns;
	int r;

	if (!sw->off_since_ns || until_ns <= waiter_now(sw->w))
		return 0;
	if (until_ns > deadline_ns)
		return err_set(e, ERR_RIG, ETIMEDOUT,
			       "the deadline comes before the minimum off time of %lld ms is over",
			       (long long)(sw->limits.min_off_ns / NSEC_PER_MSEC));
	r = waiter_until(sw->w, until_ns, NULL, NULL, e);
	return r < 0 ? r : 0;
}

static int keep_budget(const struct stick_switch *sw, struct err *e)
{
	const struct switch_limits *l = &sw->limits;
	const uint64_t cycles = l->cycles_before + sw->cycles;

	if (!l->max_cycles || cycles < l->max_cycles)
		return 0;
	return err_set(e, ERR_RIG, EDQUOT, "worn out: %s was cut %llu times, max_cycles is %llu",
		       l->worn ? l->worn : "the switch", (unsigned long long)cycles,
		       (unsigned long long)l->max_cycles);
}

static int change(struct stick_switch *sw, enum switch_state state, nsec_t deadline_ns,
		  struct switch_change *ret, struct err *e)
{
	int r;

	if (state != SWITCH_OFF && state != SWITCH_ON)
		return err_set(e, ERR_INTERNAL, EINVAL, "%d is no state to switch to", (int)state);
	if (sw->ops->get(sw->self) == state)
		return 0;
	if (state == SWITCH_OFF) {
		r = keep_budget(sw, e);
		if (r < 0)
			return r;
	}
	if (state == SWITCH_ON) {
		r = keep_min_off(sw, deadline_ns, e);
		if (r < 0)
			return r;
	}
	ret->asked_ns = waiter_now(sw->w);
	r = sw->ops->set(sw->self, state, deadline_ns, ret, e);
	if (state == SWITCH_OFF) {
		/* counted even if it failed: contacts may have moved, power may be gone */
		sw->cycles++;
		sw->off_since_ns = waiter_now(sw->w);
	}
	if (r < 0)
		return r;
	return waiter_sleep(sw->w, sw->limits.settle_ns, e);
}

int switch_set(struct stick_switch *sw, enum switch_state state, nsec_t deadline_ns,
	       struct switch_change *ret, struct err *e)
{
	struct switch_change done = {0};
	int r;

	r = change(sw, state, deadline_ns, &done, e);
	if (r < 0)
		return err_wrap(e, "switch '%s' %s", sw->name, state == SWITCH_ON ? "on" : "off");
	if (ret)
		*ret = done;
	return 0;
}

enum switch_state switch_get(struct stick_switch *sw)
{
	return sw->ops->get(sw->self);
}

enum switch_state switch_sense(struct stick_switch *sw)
{
	return sw->ops->sense ? sw->ops->sense(sw->self) : SWITCH_UNKNOWN;
}

uint64_t switch_cycles(const struct stick_switch *sw)
{
	return sw->cycles;
}
