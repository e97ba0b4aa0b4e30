/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link.c - the controller's end of the agent link: requests, repetition, answers put together. */
#include "rig/link.h"

#include "base/frame.h"
#include "base/log.h"
#include "base/parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#define RESEND_FIRST_NS (250 * NSEC_PER_MSEC)
#define RESEND_MAX_NS   (2 * NSEC_PER_SEC)
#define OUT_MAX         ((size_t)4 * FRAME_MAX)

enum final { FINAL_NONE, FINAL_OK, FINAL_ERR };

/* A data or part frame of the answer. */
struct piece {
	char *text; /* owned; NULL = not here yet */
	bool ends_line;
};

/* The request that is running. */
struct call {
	uint32_t seq; /* 0 = none */
	bool is_sent;
	bool is_acked;   /* the agent has it: repetitions only ask whether it still lives */
	bool is_news;    /* is_acked has just become true */
	nsec_t heard_ns; /* when the agent last said anything about it */
	enum final final;
	unsigned n_lines;      /* pieces that the answer has, once final */
	unsigned n_have;       /* pieces that are here */
	struct piece *pieces;  /* FRAME_LINES_MAX of them */
	size_t n_bytes;        /* of text in pieces */
	bool is_too_long;      /* the peer broke a limit */
	char words[FRAME_MAX]; /* encoded words of "ok" */
	int code;              /* errno of "err" */
	char text[ERR_TEXT_MAX];
	char session[64]; /* hello: must come back */
};

struct link {
	struct waiter *w;
	int fd; /* -1: bytes go over io */
	struct link_io io;
	bool is_gone;
	uint32_t seq;            /* of the last request */
	uint32_t unfinished_seq; /* a call that got no answer; 0 = none */
	struct frame_reader reader;
	char out[OUT_MAX];
	size_t out_len;
	struct call call;
	struct link_stats stats;
};

static void gone(struct link *l)
{
	if (l->is_gone)
		return;
	log_debug(LOG_LINK, "the other end is gone");
	l->is_gone = true;
	if (l->fd >= 0)
		waiter_remove(l->w, l->fd);
}

/* --- answers ------------------------------------------------------------------------------- */

static void add_piece(struct call *c, const struct frame *f, bool ends_line)
{
	uint32_t i;

	if (f->n_words != 2 ||
	    parse_u32("index", f->words[0], 0, FRAME_LINES_MAX - 1, &i, NULL) < 0) {
		c->is_too_long = true;
		return;
	}
	if (c->pieces[i].text)
		return;
	c->n_bytes += strlen(f->words[1]) + 1;
	if (c->n_bytes > FRAME_REPLY_MAX) {
		c->is_too_long = true;
		return;
	}
	c->pieces[i].text = xstrdup(f->words[1]);
	c->pieces[i].ends_line = ends_line;
	c->n_have++;
}

/* The words of "ok" after lines=<n>, encoded again so that blanks in values stay visible. */
static void take_ok(struct call *c, const struct frame *f)
{
	char encoded[FRAME_MAX];
	size_t len = 0;
	int64_t lines;

	if (f->n_words < 1 || !parse_pair_i64(f->words[0], "lines", &lines) || lines < 0 ||
	    lines > FRAME_LINES_MAX)
		return;
	if (*c->session) {
		bool is_ours = false;

		for (size_t i = 1; i < f->n_words; i++)
			if (strncmp(f->words[i], "session=", 8) == 0 &&
			    strcmp(f->words[i] + 8, c->session) == 0)
				is_ours = true;
		if (!is_ours)
			return;
	}
	c->words[0] = '\0';
	for (size_t i = 1; i < f->n_words; i++) {
		size_t n = frame_encode_word(f->words[i], encoded, sizeof(encoded));

		/* cannot happen: they came in one frame */
		if (len + n + 2 > sizeof(c->words))
			break;
		if (len)
			c->words[len++] = ' ';
		memcpy(c->words + len, encoded, n + 1);
		len += n;
	}
	c->n_lines = (unsigned)lines;
	c->final = FINAL_OK;
}

/* EIO for a name that this machine does not know. */
static int errno_of(const char *name)
{
	enum { ERRNO_MAX = 4095 };

	for (int code = 1; code <= ERRNO_MAX; code++) {
		const char *known = strerrorname_np(code);

		if (known && strcmp(known, name) == 0)
			return code;
	}
	return EIO;
}

static void take_err(struct call *c, const struct frame *f)
{
	if (f->n_words < 1)
		return;
	c->code = errno_of(f->words[0]);
	if (f->n_words > 1)
		(void)snprintf(c->text, sizeof(c->text), "%s", f->words[1]);
	else
		(void)snprintf(c->text, sizeof(c->text), "%s", f->words[0]);
	c->final = FINAL_ERR;
}

/* A terminal that echoes sends our own requests back. */
static bool is_answer(const struct frame *f)
{
	static const char *const verbs[] = {"ack", "data", "part", "ok", "err"};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(f->verb, verbs[i]) == 0)
			return true;
	return false;
}

static void on_frame(void *self, const struct frame *f)
{
	struct link *l = self;
	struct call *c = &l->call;

	if (!is_answer(f))
		return;
	l->stats.frames_received++;
	/* late copies of answers to earlier requests */
	if (!c->seq || f->seq != c->seq)
		return;
	c->heard_ns = waiter_now(l->w);
	c->is_news = c->is_news || !c->is_acked;
	c->is_acked = true;
	if (strcmp(f->verb, "data") == 0)
		add_piece(c, f, true);
	else if (strcmp(f->verb, "part") == 0)
		add_piece(c, f, false);
	else if (strcmp(f->verb, "ok") == 0)
		take_ok(c, f);
	else if (strcmp(f->verb, "err") == 0)
		take_err(c, f);
}

/* --- bytes --------------------------------------------------------------------------------- */

static ssize_t put_bytes(int fd, const void *bytes, size_t n)
{
	ssize_t r = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	return r < 0 && errno == ENOTSOCK ? write(fd, bytes, n) : r;
}

static void flush(struct link *l)
{
	while (l->out_len && !l->is_gone) {
		ssize_t n = put_bytes(l->fd, l->out, l->out_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			gone(l);
			return;
		}
		memmove(l->out, l->out + n, l->out_len - (size_t)n);
		l->out_len -= (size_t)n;
	}
	waiter_set_events(l->w, l->fd, (short)(POLLIN | (l->out_len ? POLLOUT : 0)));
}

void link_feed(struct link *l, const void *bytes, size_t n)
{
	frame_reader_feed(&l->reader, bytes, n, on_frame, l);
	l->stats.bad_frames = l->reader.n_bad;
}

static int on_ready(void *self, short revents, struct err *e)
{
	struct link *l = self;
	char buf[4096];
	ssize_t n;

	(void)e;
	if (revents & POLLOUT)
		flush(l);
	if (l->is_gone || !(revents & (POLLIN | POLLHUP | POLLERR)))
		return 0;
	n = read(l->fd, buf, sizeof(buf));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		gone(l);
		return 0;
	}
	link_feed(l, buf, (size_t)n);
	return 0;
}

/* Queues a frame; without room for it the agent has not even taken the last ones. */
static void send_frame(struct link *l, const char *frame, size_t n)
{
	if (l->fd < 0) {
		l->stats.frames_sent += l->io.send(l->io.self, frame, n);
		return;
	}
	if (l->is_gone || l->out_len + n > sizeof(l->out))
		return;
	memcpy(l->out + l->out_len, frame, n);
	l->out_len += n;
	l->stats.frames_sent++;
	flush(l);
}

/* --- calls --------------------------------------------------------------------------------- */

static void call_begin(struct link *l)
{
	struct call *c = &l->call;
	struct piece *pieces = c->pieces;

	memset(c, 0, sizeof(*c));
	c->pieces = pieces;
	if (++l->seq == 0)
		l->seq = 1;
	c->seq = l->seq;
	c->heard_ns = waiter_now(l->w);
}

static void call_end(struct link *l)
{
	struct call *c = &l->call;

	for (size_t i = 0; i < FRAME_LINES_MAX; i++) {
		free(c->pieces[i].text);
		c->pieces[i] = (struct piece){NULL, false};
	}
	c->seq = 0;
}

static bool is_complete(const struct call *c)
{
	return c->final == FINAL_ERR || (c->final == FINAL_OK && c->n_have >= c->n_lines);
}

/* Ends a wait: something has changed that exchange() must look at. */
static bool has_news(void *arg)
{
	const struct link *l = arg;
	const struct call *c = &l->call;

	return l->is_gone || c->is_too_long || c->is_news || c->final != FINAL_NONE;
}

struct how {
	const char *verb;
	nsec_t until_ns;
	bool may_be_silent;
};

/* Sends and repeats the frame until the call is complete. */
static int exchange(struct link *l, const char *frame, size_t n, const struct how *how,
		    struct err *e)
{
	const nsec_t start_ns = waiter_now(l->w);
	nsec_t gap_ns = RESEND_FIRST_NS;
	nsec_t sent_ns = start_ns;
	struct call *c = &l->call;
	bool is_due = true;

	for (;;) {
		nsec_t now_ns = waiter_now(l->w);
		int r;

		if (is_due) {
			l->stats.retransmits += c->is_sent;
			c->is_sent = true;
			c->final = FINAL_NONE;
			sent_ns = now_ns;
			send_frame(l, frame, n);
		}
		c->is_news = false;
		r = waiter_until(
			l->w, sent_ns + gap_ns < how->until_ns ? sent_ns + gap_ns : how->until_ns,
			has_news, l, e);
		if (r < 0)
			return r;
		if (is_complete(c))
			return 0;
		if (l->is_gone)
			return err_set(e, ERR_TARGET, EPIPE, "agent: %s: the link is gone",
				       how->verb);
		if (c->is_too_long)
			return err_set(e, ERR_TARGET, EMSGSIZE,
				       "agent: %s: the answer breaks the limits of a reply",
				       how->verb);
		now_ns = waiter_now(l->w);
		if (now_ns >= how->until_ns)
			return err_set(e, ERR_TARGET, ETIMEDOUT,
				       "agent: %s: no %sanswer within %" PRId64 " ms", how->verb,
				       c->is_acked ? "complete " : "",
				       (now_ns - start_ns) / NSEC_PER_MSEC);
		if (!how->may_be_silent && now_ns - c->heard_ns >= LINK_SILENCE_NS)
			return err_set(e, ERR_TARGET, ETIMEDOUT,
				       "agent: %s: silent for %" PRId64 " ms", how->verb,
				       (now_ns - c->heard_ns) / NSEC_PER_MSEC);
		/* an end with gaps before it: the whole answer has to come again, to fill them */
		is_due = c->final != FINAL_NONE || now_ns >= sent_ns + gap_ns;
		if (c->is_acked || gap_ns * 2 > RESEND_MAX_NS)
			gap_ns = RESEND_MAX_NS;
		else if (is_due)
			gap_ns *= 2;
	}
}

static void put_answer(const struct call *c, struct strbuf *ret)
{
	strbuf_reset(ret);
	for (unsigned i = 0; i < c->n_lines; i++) {
		strbuf_adds(ret, c->pieces[i].text ? c->pieces[i].text : "");
		if (c->pieces[i].ends_line)
			strbuf_adds(ret, "\n");
	}
	strbuf_addf(ret, "%s\n", c->words);
}

/* Runs the call that call_begin() has set up. */
static int run_call(struct link *l, const char *body, const struct how *how, struct strbuf *ret,
		    struct err *e)
{
	char frame[FRAME_MAX + 1];
	struct call *c = &l->call;
	struct frame check;
	size_t n;
	int r;

	n = frame_build(c->seq, body, frame, sizeof(frame));
	if (!n || !frame_parse(frame, n, &check)) {
		call_end(l);
		return err_set(e, ERR_INTERNAL, EMSGSIZE,
			       "link: request '%.80s' does not make a frame", body);
	}
	r = exchange(l, frame, n, how, e);
	if (r < 0)
		l->unfinished_seq = c->seq;
	else if (c->final == FINAL_ERR)
		r = err_set(e, ERR_TARGET, c->code, "agent: %s: %s", how->verb, c->text);
	else if (ret)
		put_answer(c, ret);
	call_end(l);
	return r;
}

static int abort_unfinished(struct link *l, nsec_t until_ns, struct err *e)
{
	const struct how how = {"abort", until_ns, false};
	char body[32];
	int r;

	(void)snprintf(body, sizeof(body), "abort %" PRIu32, l->unfinished_seq);
	call_begin(l);
	r = run_call(l, body, &how, NULL, e);
	if (r == 0)
		l->unfinished_seq = 0;
	return r;
}

int link_call(struct link *l, nsec_t timeout_ns, struct strbuf *ret, struct err *e, const char *fmt,
	      ...)
{
	char body[FRAME_MAX];
	struct how how = {.may_be_silent = false};
	char verb[32];
	va_list ap;
	int n;
	int r;

	va_start(ap, fmt);
	n = vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(body))
		return err_set(e, ERR_INTERNAL, EMSGSIZE,
			       "link: request '%.80s…' does not make a frame", body);
	if (l->call.seq)
		return err_set(e, ERR_INTERNAL, EBUSY,
			       "link: '%.80s' was called while another call is running", body);
	(void)snprintf(verb, sizeof(verb), "%.*s", (int)strcspn(body, " "), body);
	how.verb = verb;
	how.until_ns = waiter_now(l->w) + timeout_ns;
	if (l->unfinished_seq) {
		r = abort_unfinished(l, how.until_ns, e);
		if (r < 0)
			return r;
	}

	call_begin(l);
	return run_call(l, body, &how, ret, e);
}

int link_hello(struct link *l, nsec_t deadline_ns, struct err *e)
{
	const struct how how = {"hello", deadline_ns, true};
	char body[128];

	if (l->call.seq)
		return err_set(e, ERR_INTERNAL, EBUSY,
			       "link: 'hello' was called while another call is running");
	call_begin(l);
	(void)snprintf(l->call.session, sizeof(l->call.session), "s%jd-%" PRId64 "-%" PRIu32,
		       (intmax_t)getpid(), waiter_now(l->w), l->seq);
	(void)snprintf(body, sizeof(body), "hello %s %d", l->call.session, FRAME_PROTOCOL);
	/* a new session ends what the old one left */
	l->unfinished_seq = 0;
	return run_call(l, body, &how, NULL, e);
}

/* --- lifecycle ----------------------------------------------------------------------------- */

static struct link *link_new(struct waiter *w, int fd)
{
	struct link *l = xcalloc(1, sizeof(*l));

	l->w = w;
	l->fd = fd;
	l->call.pieces = xcalloc(FRAME_LINES_MAX, sizeof(*l->call.pieces));
	/* answers to an earlier controller's requests must not fit ours */
	l->seq = (uint32_t)(waiter_now(w) / NSEC_PER_USEC) & 0x3fffffffu;
	return l;
}

struct link *link_new_over(struct waiter *w, const struct link_io *io)
{
	struct link *l = link_new(w, -1);

	l->io = *io;
	return l;
}

int link_open(struct waiter *w, int fd, struct link **ret, struct err *e)
{
	struct link *l = link_new(w, fd);
	const struct waiter_source src = {.fd = fd, .events = POLLIN, .ready = on_ready, .self = l};
	int r;

	r = waiter_add(w, &src, e);
	if (r < 0) {
		l->is_gone = true;
		link_close(l);
		return err_wrap(e, "link");
	}
	*ret = l;
	return 0;
}

void link_close(struct link *l)
{
	if (!l)
		return;
	if (!l->is_gone && l->fd >= 0)
		waiter_remove(l->w, l->fd);
	util_free(l->call.pieces);
	util_free(l);
}

const struct link_stats *link_stats(const struct link *l)
{
	return &l->stats;
}
