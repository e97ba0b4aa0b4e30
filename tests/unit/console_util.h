/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_util.h - collects what the console parser says, for its tests. */
#pragma once

#include "base/strbuf.h"
#include "console/console.h"

#include <inttypes.h>
#include <string.h>

#define EVENTS_KEPT 256

struct kept_event {
	struct console_event ev; /* text and title point into this struct */
	char text[512];
	char title[160];
};

struct events {
	struct kept_event rows[EVENTS_KEPT];
	size_t n; /* may be larger than EVENTS_KEPT */
	struct strbuf digest;
};

static inline void events_add(void *self, const struct console_event *ev)
{
	struct events *es = self;

	strbuf_addf(&es->digest, "%s @%" PRIu64 "-%" PRIu64 " k%" PRId64 " b%u %c%c '%s' <%.*s>\n",
		    console_class_name(ev->cls), ev->offset, ev->end, ev->t_kernel_us, ev->boot,
		    ev->is_suspect ? 's' : '-', ev->is_detail ? 'd' : '-', ev->title,
		    (int)ev->text_len, ev->text);
	if (es->n < EVENTS_KEPT) {
		struct kept_event *k = &es->rows[es->n];

		k->ev = *ev;
		(void)snprintf(k->text, sizeof(k->text), "%.*s", (int)ev->text_len, ev->text);
		(void)snprintf(k->title, sizeof(k->title), "%s", ev->title);
		k->ev.text = k->text;
		k->ev.title = k->title;
	}
	es->n++;
}

static inline void events_reset(struct events *es)
{
	es->n = 0;
	strbuf_reset(&es->digest);
}

/* Parses n bytes in pieces of `piece` bytes (0: all at once). */
static inline struct console_integrity events_of(struct events *es, const void *bytes, size_t n,
						 size_t piece)
{
	struct console_parser *p = console_parser_new(events_add, es);
	struct console_integrity in;
	const char *s = bytes;

	events_reset(es);
	if (piece == 0)
		piece = n ? n : 1;
	for (size_t at = 0; at < n; at += piece)
		console_parser_feed(p, s + at, n - at < piece ? n - at : piece, (int64_t)at);
	console_parser_finish(p);
	in = *console_parser_integrity(p);
	console_parser_free(p);
	return in;
}

static inline struct console_integrity events_of_text(struct events *es, const char *text)
{
	return events_of(es, text, strlen(text), 0);
}

/* How many events of a class there are; suspects and details are not counted. */
static inline size_t events_count(const struct events *es, enum console_class cls)
{
	size_t n = 0;

	for (size_t i = 0; i < es->n && i < EVENTS_KEPT; i++)
		n += es->rows[i].ev.cls == cls && !es->rows[i].ev.is_suspect &&
		     !es->rows[i].ev.is_detail;
	return n;
}

static inline const struct console_event *events_first(const struct events *es,
						       enum console_class cls)
{
	for (size_t i = 0; i < es->n && i < EVENTS_KEPT; i++) {
		if (es->rows[i].ev.cls == cls)
			return &es->rows[i].ev;
	}
	return NULL;
}
