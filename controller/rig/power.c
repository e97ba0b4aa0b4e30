/* SPDX-License-Identifier: GPL-2.0-or-later */
/* power.c - opens the switch of a board's power. */
#include "power.h"

int power_open(struct waiter *w, const struct boot_cfg *cfg, struct stick_switch **ret,
	       struct err *e)
{
	const struct switch_cfg *power = cfg->rig->power;
	struct switch_limits limits;
	const struct switch_ops *ops;
	void *self;
	int r;

	r = switch_cfg_open(power, cfg->keep_fd, w, &ops, &self, e);
	if (r < 0)
		return err_wrap(e, "power");
	switch_cfg_limits(power, &limits);
	*ret = switch_new(power->name, ops, self, &limits, w);
	return switch_set(*ret, SWITCH_OFF, waiter_now(w) + POWER_NS, NULL, e);
}
