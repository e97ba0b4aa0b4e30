/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp.c - QMP over a stream socket: one JSON object a line, both ways. */
#include "qmp.h"

#include "base/log.h"
#include "base/strbuf.h"

#include <string.h>
#include <sys/socket.h>

struct qmp {
	struct waiter *w;
	int fd; /* not owned */
	bool is_connected;
	char why[128]; /* why it is not connected */
	struct strbuf in;
	size_t scanned; /* bytes of in that hold no line end */
	struct strbuf out;
	bool has_greeting;
	json_int_t last_id;
	json_t *reply; /* to last_id */
	struct qmp_event events[QMP_EVENTS_MAX];
	uint64_t next_seq;
	uint64_t oldest_seq;
};

static void disconnect(struct qmp *q, const char *why)
{
	if (!q->is_connected)
		return;
	q->is_connected = false;
	(void)snprintf(q->why, sizeof(q->why), "%s", why);
	waiter_remove(q->w, q->fd);
}

static void event_release(struct qmp_event *ev)
{
	free(ev->name);
	json_decref(ev->data);
	*ev = (struct qmp_event){0};
}

static void keep_event(struct qmp *q, const json_t *msg)
{
	struct qmp_event *ev = &q->events[q->next_seq % QMP_EVENTS_MAX];
	const char *name = json_string_value(json_object_get(msg, "event"));

	if (q->next_seq - q->oldest_seq == QMP_EVENTS_MAX)
		q->oldest_seq++;
	event_release(ev);
	ev->seq = q->next_seq++;
	ev->t_ns = waiter_now(q->w);
	ev->name = xstrdup(name ? name : "");
	ev->data = json_incref(json_object_get(msg, "data"));
}

/* A line without an object in it means that the peer is no QEMU: nothing after it is trusted. */
static void take_line(struct qmp *q, const char *line, size_t len)
{
	json_error_t why;
	json_t *msg;

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (len == 0)
		return;
	log_debug(LOG_QMP, "< %.*s", (int)(len < 900 ? len : 900), line);
	msg = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(msg)) {
		disconnect(q, "QEMU's control socket sent something that is no JSON object");
	} else if (json_object_get(msg, "event")) {
		keep_event(q, msg);
	} else if (json_object_get(msg, "QMP")) {
		q->has_greeting = true;
	} else {
		const json_t *id = json_object_get(msg, "id");

		/* the reply to a command that was given up on has an older id */
		if (json_is_integer(id) && json_integer_value(id) == q->last_id && !q->reply)
			q->reply = json_incref(msg);
	}
	json_decref(msg);
}

static void take_lines(struct qmp *q)
{
	size_t start = 0;
	size_t len = 0;

	while (q->is_connected) {
		char *end = memchr(q->in.data + q->scanned, '\n', q->in.len - q->scanned);

		if (!end) {
			q->scanned = q->in.len;
			break;
		}
		len = (size_t)(end - (q->in.data + start));
		if (len > QMP_LINE_MAX)
			break;
		take_line(q, q->in.data + start, len);
		start = (size_t)(end - q->in.data) + 1;
		q->scanned = start;
	}
	strbuf_consume(&q->in, start);
	q->scanned -= start;
	if (len > QMP_LINE_MAX || q->in.len > QMP_LINE_MAX)
		disconnect(q, "QEMU's control socket sent a message that is too long");
}

/* One read. True if there may be more. */
static bool read_some(struct qmp *q)
{
	/* small, so that what comes in one read fits the ring of events */
	char bytes[4096];
	ssize_t n = recv(q->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		disconnect(q, "QEMU closed its control socket");
		return false;
	}
	strbuf_add(&q->in, bytes, (size_t)n);
	take_lines(q);
	return q->is_connected;
}

static void write_some(struct qmp *q)
{
	ssize_t n;

	if (!q->out.len)
		return;
	n = send(q->fd, q->out.data, q->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		strbuf_consume(&q->out, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		disconnect(q, "QEMU closed its control socket");
	if (q->is_connected)
		waiter_set_events(q->w, q->fd, q->out.len ? POLLIN | POLLOUT : POLLIN);
}

static int on_ready(void *self, short revents, struct err *e)
{
	struct qmp *q = self;

	/* trouble is kept for who asks next: this wait may be about something else */
	(void)e;
	if (revents & POLLOUT)
		write_some(q);
	if (q->is_connected && (revents & ~POLLOUT))
		(void)read_some(q);
	return 0;
}

void qmp_drain(struct qmp *q)
{
	while (q->is_connected && read_some(q))
		continue;
}

static bool is_greeted(void *self)
{
	struct qmp *q = self;

	return q->has_greeting || !q->is_connected;
}

static bool is_answered(void *self)
{
	struct qmp *q = self;

	return q->reply || !q->is_connected;
}

static int gone(const struct qmp *q, const char *what, struct err *e)
{
	return err_set(e, ERR_RIG, EPIPE, "QMP %s: %s", what, q->why);
}

static int refused(const char *command, const json_t *error, struct err *e)
{
	const char *class = json_string_value(json_object_get(error, "class"));
	const char *desc = json_string_value(json_object_get(error, "desc"));
	int code = EIO;

	if (class && strcmp(class, "DeviceNotFound") == 0)
		code = ENODEV;
	else if (desc && strncmp(desc, "Duplicate ", 10) == 0)
		code = EEXIST;
	return err_set(e, ERR_RIG, code, "QMP %s: %s", command, desc ? desc : "error without text");
}

int qmp_execute(struct qmp *q, nsec_t deadline_ns, const char *command, json_t *arguments,
		json_t **ret_value, struct err *e)
{
	json_t *msg = json_pack("{s:s, s:I}", "execute", command, "id", ++q->last_id);
	json_t *reply;
	char *text;
	int r;

	if (arguments)
		(void)json_object_set_new(msg, "arguments", arguments);
	text = json_dumps(msg, JSON_COMPACT);
	json_decref(msg);
	if (!text)
		return err_set(e, ERR_INTERNAL, EINVAL, "QMP %s: arguments cannot be written",
			       command);
	json_decref(q->reply);
	q->reply = NULL;
	log_debug(LOG_QMP, "> %s", text);
	strbuf_adds(&q->out, text);
	strbuf_adds(&q->out, "\n");
	free(text);
	if (!q->is_connected)
		return gone(q, command, e);
	write_some(q);

	r = waiter_until(q->w, deadline_ns, is_answered, q, e);
	if (r < 0)
		return r;
	if (!q->reply && !q->is_connected)
		return gone(q, command, e);
	if (!q->reply)
		return err_set(e, ERR_RIG, ETIMEDOUT, "QMP %s: QEMU does not answer", command);
	reply = take(q->reply);
	r = 0;
	if (json_object_get(reply, "error"))
		r = refused(command, json_object_get(reply, "error"), e);
	else if (ret_value)
		*ret_value = json_incref(json_object_get(reply, "return"));
	json_decref(reply);
	return r;
}

int qmp_open(struct waiter *w, int fd, nsec_t deadline_ns, struct qmp **ret, struct err *e)
{
	struct qmp *q = xcalloc(1, sizeof(*q));
	const struct waiter_source src = {.fd = fd, .events = POLLIN, .ready = on_ready, .self = q};
	int r;

	q->w = w;
	q->fd = fd;
	r = waiter_add(w, &src, e);
	if (r < 0)
		goto fail;
	q->is_connected = true;

	r = waiter_until(w, deadline_ns, is_greeted, q, e);
	if (r < 0)
		goto fail;
	if (!q->has_greeting) {
		r = q->is_connected ? err_set(e, ERR_RIG, ETIMEDOUT, "QMP: QEMU does not greet")
				    : gone(q, "greeting", e);
		goto fail;
	}
	r = qmp_execute(q, deadline_ns, "qmp_capabilities", NULL, NULL, e);
	if (r < 0)
		goto fail;
	*ret = q;
	return 0;

fail:
	qmp_close(q);
	return r;
}

void qmp_close(struct qmp *q)
{
	int saved = errno;

	if (!q)
		return;
	disconnect(q, "closed");
	for (size_t i = 0; i < QMP_EVENTS_MAX; i++)
		event_release(&q->events[i]);
	json_decref(q->reply);
	strbuf_release(&q->in);
	strbuf_release(&q->out);
	free(q);
	errno = saved;
}

uint64_t qmp_next_seq(const struct qmp *q)
{
	return q->next_seq;
}

const struct qmp_event *qmp_find_event(const struct qmp *q, uint64_t since, const char *name,
				       const char *device)
{
	for (uint64_t s = since > q->oldest_seq ? since : q->oldest_seq; s < q->next_seq; s++) {
		const struct qmp_event *ev = &q->events[s % QMP_EVENTS_MAX];
		const char *of = json_string_value(json_object_get(ev->data, "device"));

		if (strcmp(ev->name, name) == 0 && (!device || (of && strcmp(of, device) == 0)))
			return ev;
	}
	return NULL;
}

uint64_t qmp_forgotten_events(const struct qmp *q)
{
	return q->oldest_seq;
}

bool qmp_is_connected(const struct qmp *q, const char **ret_why)
{
	if (ret_why)
		*ret_why = q->is_connected ? NULL : q->why;
	return q->is_connected;
}
