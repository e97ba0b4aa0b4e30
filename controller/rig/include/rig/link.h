/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - the controller's end of the agent link (frames: base/frame.h, protocol:
 * docs/protocol.md).
 */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"

struct link;

/*
 * Speaks over fd (connected, non-blocking; not owned). Registers itself with the waiter.
 */
int link_open(struct waiter *w, int fd, struct link **ret, struct err *e) must_check;
/*
 * A link inside another stream of bytes, like the console: what comes there is handed to
 * link_feed(), frames and anything else, and frames leave through io.
 */
struct link_io {
	/* Sends a whole frame or, if that is not possible now, nothing: it will be repeated. True
	   if it was sent. Must not wait. */
	bool (*send)(void *self, const char *frame, size_t n);
	void *self;
};

struct link *link_new_over(struct waiter *w, const struct link_io *io);
void link_feed(struct link *l, const void *bytes, size_t n);
/* Accepts NULL. */
void link_close(struct link *l);
DEFINE_AUTO(link, struct link *, link_close)
#define auto_link AUTO(link)

/*
 * Repeats "hello" with a new session name until the agent answers or deadline_ns. What an earlier
 * session left running on the target is ended by that. ERR_TARGET.
 */
int link_hello(struct link *l, nsec_t deadline_ns, struct err *e) must_check;

/*
 * One request: verb and arguments as a printf format of space-separated words that are already
 * encoded (frame_encode_word()). Retransmits until the reply came or timeout_ns is over; the
 * waiter's sources are served meanwhile. ret (may be NULL) is emptied and gets the data lines of
 * the reply and then one line with its "ok" words, each with '\n'. The ok words stay encoded, so
 * that parse_pair() finds them even if a value holds blanks; decode such a value with
 * frame_decode_word(). "truncated=1" among them: the agent had more lines than it can keep.
 *
 * ERR_TARGET: the agent said no (its errno and text), did not answer (-ETIMEDOUT: timeout_ns, or
 * silent for LINK_SILENCE_NS), or the link is gone (-EPIPE). ERR_INTERNAL/-EMSGSIZE: the request
 * does not fit into a frame. A call that ended without an answer is aborted on the target before
 * the next one. One call at a time: not from a waiter callback while another is running (-EBUSY).
 */
int link_call(struct link *l, nsec_t timeout_ns, struct strbuf *ret, struct err *e, const char *fmt,
	      ...) printf_like(5, 6) must_check;

/* An agent that works on a request answers each repetition of it; silence this long is death. */
#define LINK_SILENCE_NS (30 * NSEC_PER_SEC)

struct link_stats {
	uint64_t frames_sent;
	uint64_t frames_received;
	uint64_t retransmits;
	uint64_t bad_frames; /* CRC or syntax */
};
const struct link_stats *link_stats(const struct link *l);
