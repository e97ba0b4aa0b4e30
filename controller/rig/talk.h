/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * talk.h - a conversation over the console with whatever answers there: a boot loader, a login, a
 * shell. Private to the rig room.
 *
 * What is received is kept as text for comparing: without '\r', NUL and escape sequences (colours,
 * bracketed paste). The recording of the console is not touched by any of this.
 */
#pragma once

#include "port.h"

/* Text that is kept while nothing of it is asked for: the newest. */
#define TALK_TEXT_MAX 65536

struct talk;

/* Listens on the port from now on. */
int talk_open(struct waiter *w, struct port *p, struct talk **ret, struct err *e) must_check;
/* Accepts NULL. Must come before port_close(). */
void talk_close(struct talk *t);
DEFINE_AUTO(talk, struct talk *, talk_close)
#define auto_talk AUTO(talk)

/* Queues text to be sent as it is; ERR_RIG. */
int talk_send(struct talk *t, const char *text, struct err *e) must_check;
/*
 * Waits until one of the n texts (of plain characters; '\n' for a line end) has come. Returns the
 * index of the one that begins first; it and everything before it are consumed, and ret_before (may
 * be NULL) gets what stood before it. -ETIMEDOUT (ERR_RIG) quotes the last line that came. -EPIPE:
 * the port was lost meanwhile and is not back by the deadline.
 */
int talk_expect(struct talk *t, const char *const *texts, size_t n, nsec_t deadline_ns,
		struct strbuf *ret_before, struct err *e) must_check;
/* Waits until anything has come that was not consumed: 1, or 0 at the deadline. */
int talk_hear(struct talk *t, nsec_t deadline_ns, struct err *e) must_check;
/* Types text and waits for its echo; -EIO (ERR_RIG) with what came instead. */
int talk_type(struct talk *t, const char *text, nsec_t deadline_ns, struct err *e) must_check;
/* Forgets what has come and was not consumed. */
void talk_forget(struct talk *t);
/* What has come and was not consumed. Valid until the next wait. */
const char *talk_text(const struct talk *t);
/* The last line of text that says something, without blanks around it; "" if there is none. */
void talk_last_line(const char *text, char *ret, size_t cap);
/*
 * Finds "sr-<status>-<n>", what `echo sr-$?-<n>` has printed; its echo has "$?" there. ret_at:
 * where it begins in text.
 */
bool talk_find_status(const char *text, unsigned n, unsigned *ret_status, size_t *ret_at);
