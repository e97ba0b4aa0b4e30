/* SPDX-License-Identifier: GPL-2.0-or-later */
/* incidents.c - grouping of events. */
#include "console/incidents.h"

#include <string.h>

void console_incidents_init(struct console_incidents *is)
{
	is->n = 0;
	is->overflow = 0;
}

static bool is_incident(enum console_class cls)
{
	return cls > CONSOLE_BOOT && cls < CONSOLE_CLASS_MAX && cls != CONSOLE_USB_NEW;
}

static bool has_seconds(enum console_class cls)
{
	return cls >= CONSOLE_WORKQUEUE_LOCKUP && cls <= CONSOLE_HUNG_TASK &&
	       cls != CONSOLE_WORKQUEUE_HOG;
}

static struct console_incident *find(struct console_incidents *is, const struct console_event *ev)
{
	/* the newest first: it is the likeliest */
	for (size_t i = is->n; i > 0; i--) {
		struct console_incident *in = &is->rows[i - 1];

		if (in->boot == ev->boot && in->cls == ev->cls &&
		    strncmp(in->title, ev->title, sizeof(in->title) - 1) == 0)
			return in;
	}
	return NULL;
}

static bool is_crash(enum console_class cls)
{
	return cls == CONSOLE_OOPS || cls == CONSOLE_BUG || cls == CONSOLE_PANIC;
}

static void copy_text(char *ret, size_t cap, const char *s, size_t len)
{
	if (len >= cap)
		len = cap - 1;
	memcpy(ret, s, len);
	ret[len] = '\0';
}

static void add_length(struct console_incident *in, const struct console_event *ev)
{
	if (has_seconds(ev->cls) && ev->u.stall.seconds > in->worst_s)
		in->worst_s = ev->u.stall.seconds;
	if (ev->cls == CONSOLE_RCU_STALL && ev->u.stall.jiffies > in->worst_jiffies)
		in->worst_jiffies = ev->u.stall.jiffies;
}

/* An RCU stall says its length some lines behind its head: it is that of the newest one. */
static void add_rcu_detail(struct console_incidents *is, const struct console_event *ev)
{
	struct console_incident *newest = NULL;

	for (size_t i = 0; i < is->n; i++) {
		struct console_incident *in = &is->rows[i];

		if (in->boot == ev->boot && in->cls == CONSOLE_RCU_STALL &&
		    (!newest || in->last_offset > newest->last_offset))
			newest = in;
	}
	if (newest)
		add_length(newest, ev);
}

/* A detail has a title if it names the function where it happened. */
static void add_detail(struct console_incidents *is, const struct console_event *ev)
{
	if (ev->cls == CONSOLE_RCU_STALL) {
		add_rcu_detail(is, ev);
		return;
	}
	for (size_t i = is->n; i > 0; i--) {
		struct console_incident *in = &is->rows[i - 1];

		if (in->boot != ev->boot || !is_crash(in->cls))
			continue;
		if (in->place[0] == '\0')
			copy_text(in->place, sizeof(in->place), ev->title, strlen(ev->title));
		return;
	}
}

void console_incidents_add(struct console_incidents *is, const struct console_event *ev)
{
	struct console_incident *in;

	if (!is_incident(ev->cls))
		return;
	if (ev->is_detail) {
		add_detail(is, ev);
		return;
	}
	in = find(is, ev);
	if (!in) {
		if (is->n == CONSOLE_INCIDENTS_MAX) {
			is->overflow++;
			return;
		}
		in = &is->rows[is->n++];
		memset(in, 0, sizeof(*in));
		in->cls = ev->cls;
		in->boot = ev->boot;
		copy_text(in->title, sizeof(in->title), ev->title, strlen(ev->title));
		copy_text(in->text, sizeof(in->text), ev->text, ev->text_len);
		in->t_first_us = ev->t_kernel_us;
		in->t_last_us = ev->t_kernel_us;
		in->t_first_host_ns = ev->t_host_ns;
		in->first_offset = ev->offset;
		in->worst_s = CONSOLE_UNKNOWN;
		in->worst_jiffies = CONSOLE_UNKNOWN;
	}
	if (ev->is_suspect)
		in->suspects++;
	else
		in->count++;
	if (ev->t_kernel_us != CONSOLE_UNKNOWN) {
		if (in->t_first_us == CONSOLE_UNKNOWN)
			in->t_first_us = ev->t_kernel_us;
		in->t_last_us = ev->t_kernel_us;
	}
	in->last_offset = ev->offset;
	add_length(in, ev);
	if (ev->cls == CONSOLE_PRINTK_DROPPED || ev->cls == CONSOLE_INPUT_OVERRUN)
		in->total += ev->u.lost.count > 0 ? ev->u.lost.count : 0;
}

enum console_severity console_incidents_worst(const struct console_incidents *is)
{
	enum console_severity worst = CONSOLE_INFO;

	for (size_t i = 0; i < is->n; i++) {
		enum console_severity s = console_class_severity(is->rows[i].cls);

		if (is->rows[i].count > 0 && s > worst)
			worst = s;
	}
	return worst;
}
