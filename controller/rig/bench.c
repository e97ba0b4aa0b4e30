/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench.c - the switch of a rig whose target is left alone. */
#include "rig/bench.h"

#include "base/fdio.h"
#include "lock.h"

struct bench {
	struct rig_lock *lock;
	struct stick_switch *sw;
};

int bench_open(const struct rig_cfg *cfg, struct waiter *w, nsec_t lock_wait_ns, struct bench **ret,
	       struct err *e)
{
	auto_bench struct bench *b = xcalloc(1, sizeof(*b));
	const struct switch_ops *ops;
	struct switch_limits limits;
	void *self;
	int r;

	if (!switch_cfg_is_standalone(&cfg->stick_switch))
		return err_set(e, ERR_USAGE, ENOTSUP,
			       "rig '%s': its switch (%s) exists only while its target runs",
			       cfg->name, cfg->stick_switch.driver);
	r = lock_rig(cfg->name, w, lock_wait_ns, &b->lock, e);
	if (r < 0)
		return r;
	r = switch_cfg_open(&cfg->stick_switch, lock_fd(b->lock), w, &ops, &self, e);
	if (r < 0)
		return err_wrap(e, "rig '%s', switch '%s'", cfg->name, cfg->stick_switch.name);
	switch_cfg_limits(&cfg->stick_switch, &limits);
	b->sw = switch_new(cfg->stick_switch.name, ops, self, &limits, w);
	*ret = take(b);
	return 0;
}

void bench_close(struct bench *b)
{
	int saved = errno;

	if (!b)
		return;
	switch_close(b->sw);
	lock_release(b->lock);
	free(b);
	errno = saved;
}

struct stick_switch *bench_switch(struct bench *b)
{
	return b->sw;
}
