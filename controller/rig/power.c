/* SPDX-License-Identifier: GPL-2.0-or-later */
/* power.c - the switch of a board's power. */
#include "power.h"

#include "base/log.h"

int power_open(struct waiter *w, const struct rig_cfg *rig, int keep_fd, struct stick_switch **ret,
	       struct err *e)
{
	const struct switch_cfg *power = rig->power;
	struct switch_limits limits;
	const struct switch_ops *ops;
	void *self;
	int r;

	r = switch_cfg_open(power, keep_fd, w, &ops, &self, e);
	if (r < 0)
		return err_wrap(e, "power");
	switch_cfg_limits(power, &limits);
	*ret = switch_new(power->name, ops, self, &limits, w);
	return switch_set(*ret, SWITCH_OFF, waiter_now(w) + POWER_NS, NULL, e);
}

void power_cut(struct waiter *w, struct stick_switch *power)
{
	struct err ignored = {0};

	if (power && switch_set(power, SWITCH_OFF, waiter_now(w) + POWER_NS, NULL, &ignored) < 0)
		log_debug(LOG_RIG, "%s", ignored.text);
}

int power_blame(struct stick_switch *power, struct err *e)
{
	enum switch_state state;

	if (e->code != ETIMEDOUT)
		return -e->code;
	state = switch_get(power);
	if (state == SWITCH_ON)
		return -e->code;
	(void)err_wrap(e, "the board's power is %s, switched by nobody here",
		       switch_state_name(state));
	(void)err_rekind(e, ERR_RIG);
	return err_reason(e, "power-lost");
}
