/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_log.h - the console events of one boot, kept for as long as its trials need them. */
#pragma once

#include "base/waiter.h"
#include "console/console.h"

#define EVENT_LOG_MAX 20000 /* a console that says more is cut off and the log says so */

struct seen_event {
	struct console_event ev; /* text and title point into this row */
	char title[160];
	char text[512];
};

struct event_log {
	struct seen_event *rows;
	size_t n;
	size_t cap;
	uint64_t lost; /* events beyond EVENT_LOG_MAX */
};

void event_log_release(struct event_log *log);
/* Copies the event. Rows move when one is added: keep indexes, not pointers. */
void event_log_add(struct event_log *log, const struct console_event *ev);

/* First clean (not suspect) event at or after index `from`; NULL if there is none. */
const struct seen_event *event_log_find(const struct event_log *log, size_t from,
					enum console_class cls);
const struct seen_event *event_log_find_mark(const struct event_log *log, size_t from,
					     const char *nonce);
const struct seen_event *event_log_find_disconnect(const struct event_log *log, size_t from,
						   const char *port);
/* First event that condemns the kernel: severity STALL or FATAL. Suspect ones count: a mangled
   panic is a panic. */
const struct seen_event *event_log_find_crash(const struct event_log *log, size_t from);
/* The last "Linux version …" line. */
const struct seen_event *event_log_find_banner(const struct event_log *log);
