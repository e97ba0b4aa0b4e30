/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines.c - the order of lines. */
#include "lines.h"

#include "base/log.h"

struct lines {
	struct switch_ops ops; /* what the outside sees */
	const struct line_ops *line_ops;
	void *lines;
	bool has[LINE_ROLE_MAX];
	nsec_t lead_ns, discharge_ns, sense_timeout_ns;
	struct waiter *w;
	nsec_t tripped_ns; /* 0 = no over-current since the last set(OFF) */
};

struct sense_wait {
	struct lines *l;
	enum switch_state state;
};

static int put(struct lines *l, enum line_role role, bool is_active, struct err *e)
{
	return l->has[role] ? l->line_ops->set(l->lines, role, is_active, e) : 0;
}

static int pause_for(struct lines *l, nsec_t duration_ns, struct err *e)
{
	return duration_ns ? waiter_sleep(l->w, duration_ns, e) : 0;
}

static bool is_sensed(void *arg)
{
	struct sense_wait *s = arg;

	return s->l->tripped_ns || s->l->line_ops->sense(s->l->lines) == s->state;
}

/* Waits until VBUS has followed. */
static int follow(struct lines *l, enum switch_state state, nsec_t deadline_ns,
		  struct switch_change *ret, struct err *e)
{
	struct sense_wait wait = {.l = l, .state = state};
	nsec_t until_ns = ret->applied_ns + l->sense_timeout_ns;
	nsec_t t_ns;
	int r;

	if (!l->line_ops->sense)
		return 0;
	if (until_ns > deadline_ns)
		until_ns = deadline_ns;
	r = waiter_until(l->w, until_ns, is_sensed, &wait, e);
	if (r < 0)
		return r;
	if (l->tripped_ns && state == SWITCH_ON)
		return err_set(e, ERR_RIG, EOVERFLOW, "over-current on VBUS: it was cut");
	if (r == 0)
		return err_set(e, ERR_RIG, ETIMEDOUT,
			       "VBUS is still %s %lld ms after the line changed",
			       state == SWITCH_ON ? "off" : "on",
			       (long long)((waiter_now(l->w) - ret->applied_ns) / NSEC_PER_MSEC));
	t_ns = l->line_ops->sensed_ns(l->lines);
	/* it may have been there before: then the command is the later of the two */
	if (t_ns > ret->applied_ns)
		ret->applied_ns = t_ns;
	ret->is_sensed = true;
	return 0;
}

/* All lines are tried even if one fails: half a cut is worse than a late one. */
static int cut(struct lines *l, nsec_t deadline_ns, struct switch_change *ret, struct err *e)
{
	struct err late = {0};
	int data, vbus, r;

	ret->asked_ns = waiter_now(l->w);
	data = put(l, LINE_DATA, false, e);
	if (data == 0 && l->has[LINE_DATA])
		data = pause_for(l, l->lead_ns, e);
	vbus = put(l, LINE_VBUS, false, data < 0 ? &late : e);
	ret->applied_ns = waiter_now(l->w);
	if (vbus < 0)
		return data < 0 ? data : vbus;
	if (data < 0)
		return data;
	l->tripped_ns = 0;
	r = put(l, LINE_DISCHARGE, true, e);
	if (r == 0)
		r = follow(l, SWITCH_OFF, deadline_ns, ret, e);
	if (r == 0 && l->has[LINE_DISCHARGE])
		r = pause_for(l, l->discharge_ns, e);
	/* a resistor that stays on VBUS would load the next plug */
	if (put(l, LINE_DISCHARGE, false, r < 0 ? &late : e) < 0 && r == 0)
		r = -e->code;
	return r;
}

static int restore(struct lines *l, nsec_t deadline_ns, struct switch_change *ret, struct err *e)
{
	int r;

	ret->asked_ns = waiter_now(l->w);
	if (l->tripped_ns)
		return err_set(e, ERR_RIG, EOVERFLOW,
			       "over-current on VBUS %lld ms ago; switch off before on again",
			       (long long)((ret->asked_ns - l->tripped_ns) / NSEC_PER_MSEC));
	r = put(l, LINE_DISCHARGE, false, e);
	/* data must not be connected while VBUS rises, whatever was before */
	if (r == 0)
		r = put(l, LINE_DATA, false, e);
	if (r == 0 && l->line_ops->is_over_current)
		(void)l->line_ops->is_over_current(l->lines); /* of the time before */
	if (r == 0)
		r = put(l, LINE_VBUS, true, e);
	ret->applied_ns = waiter_now(l->w);
	if (r == 0)
		r = follow(l, SWITCH_ON, deadline_ns, ret, e);
	if (r == 0 && l->has[LINE_DATA])
		r = pause_for(l, l->lead_ns, e);
	/* a line that says it from the beginning has no edge */
	if (r == 0 && !l->tripped_ns && l->line_ops->is_over_current &&
	    l->line_ops->is_over_current(l->lines))
		l->tripped_ns = waiter_now(l->w);
	if (r == 0 && l->tripped_ns)
		r = err_set(e, ERR_RIG, EOVERFLOW, "over-current on VBUS: it was cut");
	if (r == 0)
		r = put(l, LINE_DATA, true, e);
	if (r < 0) {
		struct err ignored = {0};

		(void)!put(l, LINE_DATA, false, &ignored);
		(void)!put(l, LINE_VBUS, false, &ignored);
		return r;
	}
	if (l->has[LINE_DATA] && !ret->is_sensed)
		ret->applied_ns = waiter_now(l->w);
	return 0;
}

static int lines_set(void *self, enum switch_state state, nsec_t deadline_ns,
		     struct switch_change *ret, struct err *e)
{
	struct lines *l = self;

	*ret = (struct switch_change){0};
	return state == SWITCH_OFF ? cut(l, deadline_ns, ret, e) : restore(l, deadline_ns, ret, e);
}

static enum switch_state lines_get(void *self)
{
	struct lines *l = self;
	enum switch_state vbus = l->line_ops->get(l->lines, LINE_VBUS);
	enum switch_state data;

	/* neither on nor off: set(OFF) must come through and end it */
	if (l->tripped_ns)
		return SWITCH_UNKNOWN;
	if (!l->has[LINE_DATA])
		return vbus;
	data = l->line_ops->get(l->lines, LINE_DATA);
	/* half is neither: set() must act */
	return vbus == data ? vbus : SWITCH_UNKNOWN;
}

static enum switch_state lines_sense(void *self)
{
	struct lines *l = self;

	return l->line_ops->sense(l->lines);
}

static void lines_close(void *self)
{
	struct lines *l = self;

	l->line_ops->close(l->lines);
	free(l);
}

void lines_trip(void *self)
{
	struct lines *l = self;
	struct err ignored = {0};

	if (l->line_ops->get(l->lines, LINE_VBUS) == SWITCH_OFF || l->tripped_ns)
		return;
	l->tripped_ns = waiter_now(l->w);
	if (put(l, LINE_DATA, false, &ignored) < 0 || put(l, LINE_VBUS, false, &ignored) < 0)
		log_debug(LOG_RIG, "over-current: %s", ignored.text);
}

void lines_new(const struct line_ops *ops, void *lines, const bool has[LINE_ROLE_MAX],
	       const struct switch_cfg *cfg, struct waiter *w, const struct switch_ops **ret_ops,
	       void **ret_self)
{
	struct lines *l = xcalloc(1, sizeof(*l));

	l->line_ops = ops;
	l->lines = lines;
	for (size_t i = 0; i < LINE_ROLE_MAX; i++)
		l->has[i] = has[i];
	l->lead_ns = cfg->lead_ms * NSEC_PER_MSEC;
	l->discharge_ns = cfg->discharge_ms * NSEC_PER_MSEC;
	l->sense_timeout_ns = cfg->sense_timeout_ms * NSEC_PER_MSEC;
	l->w = w;
	l->ops = (struct switch_ops){
		.driver = ops->driver,
		.caps = ops->caps | SWITCH_PER_PORT | (has[LINE_DATA] ? SWITCH_CUTS_DATA : 0),
		.set = lines_set,
		.get = lines_get,
		.sense = ops->sense ? lines_sense : NULL,
		.close = lines_close,
	};
	*ret_ops = &l->ops;
	*ret_self = l;
}
