/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_log.h - the console events of one boot, kept for as long as its trials need them. */
#pragma once

#include "base/waiter.h"
#include "console/console.h"
#include "console/load.h"
#include "console/waiver.h"

#define EVENT_LOG_MAX 20000 /* a console that says more is cut off and the log says so */

struct seen_event {
	struct console_event ev; /* text and title point into this row */
	char title[160];
	char text[512];
	bool is_printing; /* a delay that sending on the serial line may have made by itself */
	int64_t at_bytes; /* the console had given so much when the event was told */
};

/* The console has ended: what the parser still tells belongs to nothing after it. */
#define EVENT_LOG_ENDED INT64_MAX

struct event_log {
	struct seen_event *rows;
	size_t n;
	size_t cap;
	uint64_t lost;             /* events beyond EVENT_LOG_MAX */
	int64_t bytes;             /* of the console so far; set before the parser gets them */
	struct console_load *load; /* for the boot's parser; NULL: a console without a rate */
	/* incidents that condemn nobody on a kernel of this release; neither is owned */
	const struct console_waiver *waivers;
	size_t n_waivers;
	const char *release;
};

/* An empty log of a boot on a line of that rate; 0: none. */
void event_log_init(struct event_log *log, int64_t baud);
void event_log_release(struct event_log *log);
/* Copies the event. Rows move when one is added: keep indexes, not pointers. */
void event_log_add(struct event_log *log, const struct console_event *ev);

/*
 * An index as a place in the console, in bytes, and back: a parser that tells more or less than the
 * one before still finds the same place. The place of i is where event i - 1 was told, of 0 it is
 * 0; the index of a place is how many events had been told there.
 */
int64_t event_log_place(const struct event_log *log, size_t i);
size_t event_log_index(const struct event_log *log, int64_t place_bytes);

/* First clean (not suspect) event at or after index `from`; NULL if there is none. */
const struct seen_event *event_log_find(const struct event_log *log, size_t from,
					enum console_class cls);
const struct seen_event *event_log_find_mark(const struct event_log *log, size_t from,
					     const char *nonce);
const struct seen_event *event_log_find_disconnect(const struct event_log *log, size_t from,
						   const char *port);
/* First event that condemns the kernel: severity STALL or FATAL and not waived. Suspect ones count
   and cannot be waived: a mangled panic is a panic. */
const struct seen_event *event_log_find_crash(const struct event_log *log, size_t from);
/* The waiver that covers this row, or NULL. Not for rows that only add a detail. */
const struct console_waiver *event_log_waiver_of(const struct event_log *log,
						 const struct seen_event *row);
/* The last "Linux version …" line. */
const struct seen_event *event_log_find_banner(const struct event_log *log);
