/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_target_port.c - the target unplugs its stick by itself. */
#include "switch_target_port.h"

#include "base/parse.h"

#include <string.h>

struct target_port {
	struct link *link; /* not owned */
	struct waiter *w;
	char *usb_path;
	const struct switch_ops *plug_ops; /* NULL = nothing left to plug in */
	void *plug;
	bool is_plugged;
	enum switch_state
		state; /* what the target's kernel said last; ports are open after a boot */
};

static int plug_in(struct target_port *t, nsec_t deadline_ns, struct switch_change *ret,
		   struct err *e)
{
	int r;

	r = t->plug_ops->set(t->plug, SWITCH_ON, deadline_ns, ret, e);
	if (r >= 0) {
		t->is_plugged = true;
		t->state = SWITCH_ON;
	}
	return r;
}

static int target_port_set(void *self, enum switch_state state, nsec_t deadline_ns,
			   struct switch_change *ret, struct err *e)
{
	struct target_port *t = self;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	const char *word = switch_state_name(state);
	nsec_t now_ns = waiter_now(t->w);
	char said[16];
	int r;

	if (!t->is_plugged)
		return state == SWITCH_ON ? plug_in(t, deadline_ns, ret, e) : 0;
	*ret = (struct switch_change){.asked_ns = now_ns};
	t->state = SWITCH_UNKNOWN;
	r = link_call(t->link, deadline_ns > now_ns ? deadline_ns - now_ns : 0, &reply, e,
		      "usb-port path=%s state=%s", t->usb_path, word);
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	if (!parse_pair(strbuf_str(&reply), "state", said, sizeof(said)))
		return err_set(e, ERR_RIG, EPROTO, "target port %s: no state in the answer",
			       t->usb_path);
	if (strcmp(said, word) != 0)
		return err_set(e, ERR_RIG, EIO,
			       "target port %s: its kernel says that it is still %s", t->usb_path,
			       said);
	ret->applied_ns = waiter_now(t->w);
	t->state = state;
	return 0;
}

static enum switch_state target_port_get(void *self)
{
	return ((struct target_port *)self)->state;
}

static void target_port_close(void *self)
{
	struct target_port *t = self;

	if (t->plug_ops)
		t->plug_ops->close(t->plug);
	free(t->usb_path);
	free(t);
}

static const struct switch_ops target_port_ops = {
	.driver = "target-port",
	.caps = SWITCH_CAN_READBACK | SWITCH_PER_PORT | SWITCH_IS_SOFT,
	.set = target_port_set,
	.get = target_port_get,
	.close = target_port_close,
};

void switch_target_port_new(struct link *link, const char *usb_path,
			    const struct switch_ops *plug_ops, void *plug, struct waiter *w,
			    const struct switch_ops **ret_ops, void **ret_self)
{
	struct target_port *t = xcalloc(1, sizeof(*t));

	t->link = link;
	t->w = w;
	t->usb_path = xstrdup(usb_path);
	t->plug_ops = plug_ops;
	t->plug = plug;
	t->is_plugged = plug_ops == NULL;
	t->state = t->is_plugged ? SWITCH_ON : SWITCH_OFF;
	*ret_ops = &target_port_ops;
	*ret_self = t;
}
