/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.c - runs that go on, as server-sent events. */
#include "live.h"

#include "console/console.h"
#include "dashboard/dashboard.h"
#include "report/json.h"
#include "report/json_put.h"
#include "report/text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define READ_MAX     (64u << 10) /* of a recording in one poll */
#define LINE_MAX_    (8u << 10)  /* a longer line is sent in parts */
#define HEARTBEAT_NS (10 * NSEC_PER_SEC)
#define STORE_NS     (100 * NSEC_PER_MSEC)

struct live_viewer {
	struct live *live;
	struct live_viewer *next;
	uint64_t pos; /* in the stream of events */
	bool is_parked;
	void (*park)(void *connection);
	void (*wake)(void *connection);
	void *connection;
};

struct live {
	struct live_set *set;
	struct live *next;
	char *run_id; /* owned */
	/* the console that is being read */
	unsigned boot;
	int fd;
	uint64_t offset; /* read so far */
	struct strbuf line;
	uint64_t line_offset; /* of line's first byte */
	bool is_continued;    /* a part of this line was sent */
	bool is_idle;         /* nothing came since the last poll */
	struct console_parser *parser;
	/* what is in the store about it */
	nsec_t asked_ns;
	unsigned n_trials;
	struct strbuf head;
	/* ready to be sent */
	struct strbuf events;
	uint64_t base; /* of the first byte in events */
	nsec_t sent_ns;
	bool is_over;
	struct live_viewer *viewers;
};

struct live_set {
	struct store *store;
	const char *recordings_dir;
	struct live *lives;
	size_t n_lives;
	size_t n_viewers;
};

struct live_set *live_set_new(struct store *st, const char *recordings_dir)
{
	struct live_set *set = xcalloc(1, sizeof(*set));

	set->store = st;
	set->recordings_dir = recordings_dir;
	return set;
}

static void live_free(struct live *l)
{
	if (l->fd >= 0)
		close(l->fd);
	console_parser_free(l->parser);
	strbuf_release(&l->line);
	strbuf_release(&l->head);
	strbuf_release(&l->events);
	free(l->run_id);
	free(l);
}

void live_set_free(struct live_set *set)
{
	if (!set)
		return;
	while (set->lives) {
		struct live *l = set->lives;

		set->lives = l->next;
		live_free(l);
	}
	free(set);
}

bool live_is_full(const struct live_set *set)
{
	return set->n_viewers >= DASHBOARD_VIEWERS_MAX;
}

size_t live_viewers(const struct live_set *set)
{
	return set->n_viewers;
}

/* ---- events ---- */

static void send_event(struct live *l, const char *name, json_t *data)
{
	strbuf_addf(&l->events, "event: %s\ndata: ", name);
	report_add_value(&l->events, data);
	strbuf_adds(&l->events, "\n\n");
	if (l->events.len > LIVE_KEPT_BYTES) {
		size_t excess = l->events.len - LIVE_KEPT_BYTES;
		const char *end =
			memmem(l->events.data + excess, l->events.len - excess, "\n\n", 2);
		size_t drop = end ? (size_t)(end - l->events.data) + 2 : l->events.len;

		strbuf_consume(&l->events, drop);
		l->base += drop;
	}
}

static void on_event(void *self, const struct console_event *ev)
{
	struct live *l = self;
	json_t *obj = json_object();

	if (ev->cls == CONSOLE_DELAY) {
		int64_t us =
			ev->u.delay.us == CONSOLE_UNKNOWN ? ev->u.delay.ms * 1000 : ev->u.delay.us;

		set(obj, "ms", json_real((double)us / 1000.0));
		if (ev->u.delay.cpu >= 0)
			set(obj, "cpu", json_integer(ev->u.delay.cpu));
		set_text(obj, "probe", ev->u.delay.probe);
		if (ev->t_kernel_us != CONSOLE_UNKNOWN)
			set(obj, "t_kernel_s", json_real((double)ev->t_kernel_us / 1e6));
		set(obj, "live", json_boolean(ev->u.delay.is_live));
		send_event(l, "delay", obj);
	} else if (ev->cls > CONSOLE_BOOT && ev->cls != CONSOLE_USB_NEW && !ev->is_detail) {
		set_text(obj, "class", console_class_name(ev->cls));
		set_text(obj, "title", ev->title);
		if (ev->t_kernel_us != CONSOLE_UNKNOWN)
			set(obj, "t_kernel_s", json_real((double)ev->t_kernel_us / 1e6));
		send_event(l, "incident", obj);
	} else {
		json_decref(obj);
	}
}

/* ---- the console ---- */

static char *console_path(const struct live *l, unsigned boot)
{
	return xasprintf("%s/%s/boot-%u/console.raw", l->set->recordings_dir, l->run_id, boot);
}

static bool open_boot(struct live *l, unsigned boot, bool is_tail)
{
	auto_free char *path = console_path(l, boot);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return false;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = fd;
	l->boot = boot;
	l->offset = 0;
	if (is_tail && fstat(fd, &st) == 0 && st.st_size > LIVE_TAIL_BYTES)
		l->offset = (uint64_t)st.st_size - LIVE_TAIL_BYTES;
	l->line_offset = l->offset;
	l->is_continued = false;
	strbuf_reset(&l->line);
	console_parser_free(l->parser);
	l->parser = console_parser_new(on_event, l);
	return true;
}

/* The newest boot that has a console; the boots of a run are numbered without holes. */
static void open_newest(struct live *l)
{
	while (l->boot < UINT32_MAX && open_boot(l, l->boot + 1, true))
		;
}

static void add_line(struct live *l, json_t *lines, size_t n)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	json_t *obj = json_object();

	text_add_console(&text, strbuf_str(&l->line), n, 0);
	set_count(obj, "offset", l->line_offset);
	if (l->is_continued)
		set(obj, "continues", json_true());
	set(obj, "text", text_value(strbuf_str(&text), text.len));
	append(lines, obj);
}

/* Whole lines, and the rest too if nothing followed it for a while or it is long. */
static void send_lines(struct live *l)
{
	json_t *lines = json_array();
	json_t *obj;

	for (;;) {
		const char *nl = l->line.len ? memchr(l->line.data, '\n', l->line.len) : NULL;
		size_t n = nl ? (size_t)(nl - l->line.data) : l->line.len;
		size_t used = n + (nl != NULL);

		if (!used || (!nl && !l->is_idle && n < LINE_MAX_))
			break;
		while (n && l->line.data[n - 1] == '\r')
			n--;
		if (n || l->is_continued)
			add_line(l, lines, n);
		strbuf_consume(&l->line, used);
		l->line_offset += used;
		l->is_continued = nl == NULL;
	}
	if (json_array_size(lines) == 0) {
		json_decref(lines);
		return;
	}
	obj = json_object();
	set_count(obj, "boot", l->boot);
	set(obj, "lines", lines);
	send_event(l, "console", obj);
}

static void read_console(struct live *l, nsec_t now_ns)
{
	char buf[READ_MAX];
	ssize_t n = l->fd >= 0 ? pread(l->fd, buf, sizeof(buf), (off_t)l->offset) : 0;

	if (n > 0) {
		l->is_idle = false;
		strbuf_add(&l->line, buf, (size_t)n);
		l->offset += (uint64_t)n;
		send_lines(l);
		console_parser_feed(l->parser, buf, (size_t)n, now_ns);
		return;
	}
	if (!l->is_idle) {
		l->is_idle = true;
		send_lines(l);
	}
	(void)open_boot(l, l->boot + 1, false);
}

/* ---- the store ---- */

static void send_trials(struct live *l)
{
	struct store_filter f = {.run_id = l->run_id};
	struct run **runs = NULL;
	struct err e = {0};
	size_t n = 0;

	if (store_runs(l->set->store, &f, true, &runs, &n, &e) < 0)
		return; /* the next poll asks again */
	for (size_t i = 0; i < n; i++) {
		for (; l->n_trials < runs[i]->n_trials; l->n_trials++)
			send_event(l, "trial",
				   report_trial_head_value(runs[i], runs[i]->trials[l->n_trials]));
		run_free(runs[i]);
	}
	free(runs);
}

static void ask_store(struct live *l, nsec_t now_ns)
{
	struct store_filter f = {.run_id = l->run_id};
	struct run **runs = NULL;
	struct err e = {0};
	size_t n = 0;

	l->asked_ns = now_ns;
	if (store_runs(l->set->store, &f, false, &runs, &n, &e) < 0)
		return;
	if (n) {
		auto_strbuf struct strbuf head = STRBUF_INIT;
		const struct judge_result *j = &runs[0]->result;

		if (j->valid + j->invalid + j->crashes > l->n_trials)
			send_trials(l);
		report_add_value(&head, report_run_value(runs[0]));
		if (strcmp(strbuf_str(&head), strbuf_str(&l->head)) != 0) {
			strbuf_reset(&l->head);
			strbuf_adds(&l->head, strbuf_str(&head));
			send_event(l, "run", report_run_value(runs[0]));
		}
		l->is_over = runs[0]->ended_wall_ns != 0;
		run_free(runs[0]);
	}
	free(runs);
	if (l->is_over || n == 0) {
		l->is_over = true;
		send_event(l, "end", json_object());
	}
}

/* ---- viewers ---- */

struct live *live_find(struct live_set *set, const char *run_id)
{
	struct live *l;

	for (l = set->lives; l; l = l->next)
		if (strcmp(l->run_id, run_id) == 0 && !l->is_over)
			return l;
	if (set->n_lives == LIVE_RUNS_MAX)
		return NULL;
	l = xcalloc(1, sizeof(*l));
	l->set = set;
	l->run_id = xstrdup(run_id);
	l->fd = -1;
	l->next = set->lives;
	set->lives = l;
	set->n_lives++;
	open_newest(l);
	return l;
}

static void drop_unwatched(struct live_set *set)
{
	for (struct live **at = &set->lives; *at;) {
		struct live *l = *at;

		if (l->viewers) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		set->n_lives--;
		live_free(l);
	}
}

static void wake_viewers(struct live *l)
{
	for (struct live_viewer *v = l->viewers; v; v = v->next)
		if (v->is_parked) {
			v->is_parked = false;
			v->wake(v->connection);
		}
}

void live_poll(struct live_set *set, nsec_t now_ns)
{
	drop_unwatched(set);
	for (struct live *l = set->lives; l; l = l->next) {
		uint64_t end = l->base + l->events.len;

		if (l->is_over)
			continue;
		read_console(l, now_ns);
		if (now_ns - l->asked_ns >= STORE_NS)
			ask_store(l, now_ns);
		if (end == l->base + l->events.len && now_ns - l->sent_ns >= HEARTBEAT_NS)
			strbuf_adds(&l->events,
				    ":\n\n"); /* so that a viewer that went is noticed */
		if (end == l->base + l->events.len)
			continue;
		l->sent_ns = now_ns;
		wake_viewers(l);
	}
}

void live_end(struct live_set *set)
{
	for (struct live *l = set->lives; l; l = l->next) {
		l->is_over = true;
		wake_viewers(l);
	}
}

struct live_viewer *live_viewer_open(struct live *l, void (*park)(void *connection),
				     void (*wake)(void *connection), void *connection)
{
	struct live_viewer *v = xcalloc(1, sizeof(*v));

	v->live = l;
	v->pos = l->base;
	v->park = park;
	v->wake = wake;
	v->connection = connection;
	v->next = l->viewers;
	l->viewers = v;
	l->set->n_viewers++;
	return v;
}

void live_viewer_close(struct live_viewer *v)
{
	for (struct live_viewer **at = &v->live->viewers; *at; at = &(*at)->next)
		if (*at == v) {
			*at = v->next;
			break;
		}
	v->live->set->n_viewers--;
	free(v);
}

ssize_t live_viewer_read(struct live_viewer *v, char *buf, size_t max)
{
	/* the blank line ends the event that this viewer has half of */
	static const char gap[] = "\n\nevent: gap\ndata: {}\n\n";
	struct live *l = v->live;
	uint64_t end = l->base + l->events.len;
	size_t n;

	if (v->pos < l->base && max >= sizeof(gap)) {
		memcpy(buf, gap, sizeof(gap) - 1);
		v->pos = l->base;
		return sizeof(gap) - 1;
	}
	n = (size_t)(end - v->pos) < max ? (size_t)(end - v->pos) : max;
	if (n) {
		memcpy(buf, l->events.data + (v->pos - l->base), n);
		v->pos += n;
		return (ssize_t)n;
	}
	if (l->is_over)
		return -1;
	v->is_parked = true;
	v->park(v->connection);
	return 0;
}
