/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig_console.c - the console port of a rig whose target is left alone. */
#include "rig/rig_console.h"

#include "lock.h"
#include "port.h"

struct rig_console {
	struct rig_lock *lock;
	struct port *port;
};

int rig_console_open(const struct rig_cfg *cfg, struct waiter *w, rig_console_fn fn, void *self,
		     struct rig_console **ret, struct err *e)
{
	auto_rig_console struct rig_console *c = xcalloc(1, sizeof(*c));
	struct port_cfg port;
	int r;

	r = lock_rig(cfg->name, w, 0, &c->lock, e);
	if (r < 0)
		return r;
	if (rig_is_qemu(cfg))
		return err_set(e, ERR_USAGE, ENOTSUP,
			       "rig '%s': a target in QEMU has a console only while a run goes on",
			       cfg->name);
	port = port_cfg_of(cfg);
	r = port_open(w, &port, fn, self, &c->port, e);
	if (r < 0)
		return err_wrap(e, "rig '%s'", cfg->name);
	*ret = take(c);
	return 0;
}

void rig_console_close(struct rig_console *c)
{
	if (!c)
		return;
	port_close(c->port);
	lock_release(c->lock);
	util_free(c);
}

int rig_console_send(struct rig_console *c, const void *bytes, size_t n, struct err *e)
{
	return port_write(c->port, bytes, n, e);
}

int rig_console_break(struct rig_console *c, struct err *e)
{
	return port_break(c->port, e);
}

bool rig_console_is_connected(const struct rig_console *c, const char **ret_why)
{
	return port_is_connected(c->port, ret_why);
}
