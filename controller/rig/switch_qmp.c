/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_qmp.c - plugs and unplugs QEMU's emulated stick, or the hub that it is behind.
 *
 * The reply to device_del says only that QEMU has heard. The stick is out when DEVICE_DELETED
 * comes for its id; then its id may still be in use for a moment.
 */
#include "switch_qmp.h"

#include <string.h>

#define SENSE_NS (2 * NSEC_PER_SEC)
#define RETRY_NS (5 * NSEC_PER_MSEC)

struct device {
	char *id, *driver, *bus, *port;
	char *node, *serial; /* NULL = a hub */
	bool is_in;          /* as far as QEMU was told */
};

struct switch_qmp {
	struct qmp *q; /* not owned */
	struct waiter *w;
	struct device devices[SWITCH_QMP_DEVICES_MAX];
	size_t n;
	const char *id; /* of what is cut */
	const char *port;
	enum switch_state state;
	uint64_t since; /* first event of the change at hand */
};

void *switch_qmp_new(struct qmp *q, const struct switch_qmp_cfg *cfg, struct waiter *w)
{
	struct switch_qmp *s = xcalloc(1, sizeof(*s));

	s->q = q;
	s->w = w;
	s->n = cfg->n;
	for (size_t i = 0; i < cfg->n; i++) {
		const struct switch_qmp_device *from = &cfg->devices[i];

		s->devices[i] = (struct device){
			.id = xstrdup(from->id),
			.driver = xstrdup(from->driver),
			.bus = xstrdup(from->bus),
			.port = xstrdup(from->port),
			.node = from->node ? xstrdup(from->node) : NULL,
			.serial = from->serial ? xstrdup(from->serial) : NULL,
		};
	}
	s->id = s->devices[cfg->cut].id;
	s->port = s->devices[cfg->cut].port;
	s->state = SWITCH_OFF;
	return s;
}

static bool has_outcome(void *self)
{
	struct switch_qmp *s = self;

	return qmp_find_event(s->q, s->since, "DEVICE_DELETED", s->id) ||
	       qmp_find_event(s->q, s->since, "DEVICE_UNPLUG_GUEST_ERROR", s->id) ||
	       !qmp_is_connected(s->q, NULL);
}

/* What is cut, and what is behind it. */
static void set_cut(struct switch_qmp *s, bool is_in)
{
	const size_t n = strlen(s->port);

	for (size_t i = 0; i < s->n; i++) {
		const char *port = s->devices[i].port;

		if (strncmp(port, s->port, n) == 0 && (port[n] == '\0' || port[n] == '.'))
			s->devices[i].is_in = is_in;
	}
}

static int unplug(struct switch_qmp *s, nsec_t deadline_ns, struct switch_change *ret,
		  struct err *e)
{
	const struct qmp_event *deleted;
	const char *why;
	int r;

	s->since = qmp_next_seq(s->q);
	ret->asked_ns = waiter_now(s->w);
	r = qmp_execute(s->q, deadline_ns, "device_del", json_pack("{s:s}", "id", s->id), NULL, e);
	if (r == -ENODEV && s->state == SWITCH_UNKNOWN) {
		/* an earlier attempt, whose end nobody saw, has worked */
		err_clear(e);
		ret->applied_ns = waiter_now(s->w);
		ret->is_sensed = true;
		s->state = SWITCH_OFF;
		return 0;
	}
	if (r < 0)
		return r;
	s->state = SWITCH_UNKNOWN;
	set_cut(s, false);
	r = waiter_until(s->w, deadline_ns, has_outcome, s, e);
	if (r < 0)
		return r;

	deleted = qmp_find_event(s->q, s->since, "DEVICE_DELETED", s->id);
	if (deleted) {
		ret->applied_ns = deleted->t_ns;
		ret->is_sensed = true;
		s->state = SWITCH_OFF;
		return 0;
	}
	if (qmp_find_event(s->q, s->since, "DEVICE_UNPLUG_GUEST_ERROR", s->id)) {
		s->state = SWITCH_ON;
		set_cut(s, true);
		return err_set(e, ERR_RIG, EIO, "QEMU: the guest refused to let '%s' go", s->id);
	}
	if (!qmp_is_connected(s->q, &why))
		return err_set(e, ERR_RIG, EPIPE, "no DEVICE_DELETED for '%s': %s", s->id, why);
	return err_set(e, ERR_RIG, ETIMEDOUT, "no DEVICE_DELETED for '%s' in time", s->id);
}

static int add_device(struct switch_qmp *s, struct device *d, nsec_t deadline_ns, struct err *e)
{
	int r;

	for (;;) {
		/* jansson leaves out what is NULL */
		r = qmp_execute(s->q, deadline_ns, "device_add",
				json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*}", "driver", d->driver,
					  "id", d->id, "bus", d->bus, "port", d->port, "drive",
					  d->node, "serial", d->serial),
				NULL, e);
		if (r != -EEXIST || waiter_now(s->w) >= deadline_ns)
			break;
		r = waiter_sleep(s->w, RETRY_NS, e);
		if (r < 0)
			return r;
	}
	d->is_in = r >= 0;
	return r;
}

static int plug(struct switch_qmp *s, nsec_t deadline_ns, struct switch_change *ret, struct err *e)
{
	int r = 0;

	ret->asked_ns = waiter_now(s->w);
	for (size_t i = 0; i < s->n && r >= 0; i++)
		if (!s->devices[i].is_in)
			r = add_device(s, &s->devices[i], deadline_ns, e);
	if (r < 0)
		return r;
	/* no event tells of a new device: this is QEMU's word, sense() can ask */
	ret->applied_ns = waiter_now(s->w);
	ret->is_sensed = false;
	s->state = SWITCH_ON;
	return 0;
}

static int switch_qmp_set(void *self, enum switch_state state, nsec_t deadline_ns,
			  struct switch_change *ret, struct err *e)
{
	return state == SWITCH_OFF ? unplug(self, deadline_ns, ret, e)
				   : plug(self, deadline_ns, ret, e);
}

static enum switch_state switch_qmp_get(void *self)
{
	struct switch_qmp *s = self;

	return s->state;
}

/* Is it in the machine's object tree? */
static enum switch_state switch_qmp_sense(void *self)
{
	struct switch_qmp *s = self;
	enum switch_state found = SWITCH_OFF;
	struct err ignored = {0};
	json_t *list = NULL;
	json_t *item;
	size_t i;
	int r;

	r = qmp_execute(s->q, waiter_now(s->w) + SENSE_NS, "qom-list",
			json_pack("{s:s}", "path", "/machine/peripheral"), &list, &ignored);
	if (r < 0)
		return SWITCH_UNKNOWN;
	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name"));

		if (name && strcmp(name, s->id) == 0)
			found = SWITCH_ON;
	}
	json_decref(list);
	return found;
}

/* The safe state is reached with the end of the machine. */
static void switch_qmp_close(void *self)
{
	struct switch_qmp *s = self;

	for (size_t i = 0; i < s->n; i++) {
		free(s->devices[i].id);
		free(s->devices[i].driver);
		free(s->devices[i].bus);
		free(s->devices[i].port);
		free(s->devices[i].node);
		free(s->devices[i].serial);
	}
	free(s);
}

const struct switch_ops switch_qmp_ops = {
	.driver = "qmp",
	.caps = SWITCH_CAN_READBACK | SWITCH_CAN_SENSE | SWITCH_CUTS_DATA | SWITCH_PER_PORT |
		SWITCH_IS_TIMED,
	.set = switch_qmp_set,
	.get = switch_qmp_get,
	.sense = switch_qmp_sense,
	.close = switch_qmp_close,
};
