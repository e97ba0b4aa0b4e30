/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_log.c - console events of one boot. */
#include "trial/event_log.h"

#include <string.h>

void event_log_init(struct event_log *log, int64_t baud)
{
	memset(log, 0, sizeof(*log));
	if (baud > 0) {
		log->load = xcalloc(1, sizeof(*log->load));
		console_load_init(log->load, baud);
	}
}

void event_log_release(struct event_log *log)
{
	util_free(log->rows);
	util_free(log->load);
	memset(log, 0, sizeof(*log));
}

/* The copies' pointers must follow their row. */
static void repoint(struct seen_event *row)
{
	row->ev.text = row->text;
	row->ev.title = row->title;
}

/* The parser tells of a line before its own bytes are in the load. */
static bool is_printing(const struct event_log *log, const struct console_event *ev)
{
	int64_t us = ev->u.delay.us;
	int64_t due_ns = ev->u.delay.due_ns;

	return log->load && ev->cls == CONSOLE_DELAY && us > 0 && due_ns >= 0 &&
	       us < INT64_MAX / 4 / 1000 && due_ns < INT64_MAX / 4 &&
	       console_load_explains(log->load, due_ns, us * 1000);
}

void event_log_add(struct event_log *log, const struct console_event *ev)
{
	struct seen_event *row;
	size_t n;

	if (log->n == EVENT_LOG_MAX) {
		log->lost++;
		return;
	}
	if (log->n == log->cap) {
		log->cap = log->cap ? log->cap * 2 : 64;
		log->rows = xrealloc(log->rows, log->cap, sizeof(*log->rows));
		for (size_t i = 0; i < log->n; i++)
			repoint(&log->rows[i]);
	}
	row = &log->rows[log->n++];
	memset(row, 0, sizeof(*row));
	row->ev = *ev;
	n = ev->text_len < sizeof(row->text) - 1 ? ev->text_len : sizeof(row->text) - 1;
	memcpy(row->text, ev->text, n);
	row->ev.text_len = n;
	(void)snprintf(row->title, sizeof(row->title), "%s", ev->title);
	row->is_printing = is_printing(log, ev);
	row->at_bytes = log->bytes;
	repoint(row);
}

int64_t event_log_place(const struct event_log *log, size_t i)
{
	if (i > log->n)
		i = log->n;
	return i ? log->rows[i - 1].at_bytes : 0;
}

size_t event_log_index(const struct event_log *log, int64_t place_bytes)
{
	size_t n = 0;

	while (n < log->n && log->rows[n].at_bytes <= place_bytes)
		n++;
	return n;
}

const struct seen_event *event_log_find(const struct event_log *log, size_t from,
					enum console_class cls)
{
	for (size_t i = from; i < log->n; i++)
		if (log->rows[i].ev.cls == cls && !log->rows[i].ev.is_suspect)
			return &log->rows[i];
	return NULL;
}

const struct seen_event *event_log_find_mark(const struct event_log *log, size_t from,
					     const char *nonce)
{
	for (size_t i = from; i < log->n; i++)
		if (log->rows[i].ev.cls == CONSOLE_MARK && !log->rows[i].ev.is_suspect &&
		    strcmp(log->rows[i].ev.u.mark.nonce, nonce) == 0)
			return &log->rows[i];
	return NULL;
}

const struct seen_event *event_log_find_disconnect(const struct event_log *log, size_t from,
						   const char *port)
{
	for (size_t i = from; i < log->n; i++)
		if (log->rows[i].ev.cls == CONSOLE_USB_DISCONNECT && !log->rows[i].ev.is_suspect &&
		    strcmp(log->rows[i].ev.u.usb.port, port) == 0)
			return &log->rows[i];
	return NULL;
}

const struct seen_event *event_log_find_crash(const struct event_log *log, size_t from)
{
	bool is_waived = false; /* the incident that details belong to */

	for (size_t i = 0; i < log->n; i++) {
		const struct seen_event *row = &log->rows[i];

		if (console_class_severity(row->ev.cls) < CONSOLE_STALL)
			continue;
		if (!row->ev.is_detail)
			is_waived = event_log_waiver_of(log, row) != NULL;
		if (i >= from && !is_waived)
			return row;
	}
	return NULL;
}

const struct console_waiver *event_log_waiver_of(const struct event_log *log,
						 const struct seen_event *row)
{
	struct console_incident in = {.cls = row->ev.cls};

	if (log->n_waivers == 0 || row->ev.is_suspect)
		return NULL;
	(void)snprintf(in.title, sizeof(in.title), "%.*s", (int)sizeof(in.title) - 1, row->title);
	(void)snprintf(in.text, sizeof(in.text), "%.*s", (int)sizeof(in.text) - 1, row->text);
	return console_waiver_find(log->waivers, log->n_waivers, &in, log->release);
}

const struct seen_event *event_log_find_banner(const struct event_log *log)
{
	const struct seen_event *last = NULL;

	for (size_t i = 0; i < log->n; i++)
		if (log->rows[i].ev.cls == CONSOLE_BOOT &&
		    strncmp(log->rows[i].text, "Linux version", 13) == 0)
			last = &log->rows[i];
	return last;
}
