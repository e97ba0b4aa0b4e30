/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_console.c - a rig's console for a person: to watch, or to type at. */
#include "base/fdio.h"
#include "cli/common.h"
#include "rig/rig_console.h"
#include "trial/recording.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <termios.h>

#define ESCAPE    0x1d /* Ctrl-] */
#define FOLLOW_NS (100 * NSEC_PER_MSEC)

static const struct opt options[] = {
	{.name = "tail", .type = OPT_FLAG, .help = "only watch, whatever is typed"},
	OPT_ROW_END,
};

/* One invocation. */
struct session {
	struct cli *cli;
	const char *rig;
	struct recording *rec; /* NULL = nothing came yet */
	struct rig_console *console;
	bool is_raw; /* the terminal is; before holds how it was */
	struct termios before;
	bool is_escaped; /* the last byte typed was the escape key */
	bool wants_break;
	bool is_over;
	bool is_lost;    /* the port; told to the person */
	unsigned losses; /* of the port: bytes may be missing in the recording */
	struct err err;  /* of a recording that could not be written, or of sending */
};

static void put(struct session *s, const void *bytes, size_t n)
{
	/* a write error shows when the command ends */
	(void)fwrite(bytes, 1, n, s->cli->out);
	(void)fflush(s->cli->out);
}

/* A line to the person; in raw mode a line end needs its carriage return. */
static void tell(struct session *s, const char *text)
{
	fprintf(s->cli->log, "%sstallrig: %s%s\n", s->is_raw ? "\r\n" : "", text,
		s->is_raw ? "\r" : "");
	(void)fflush(s->cli->log);
}

/* ---- the rig is free: its port is opened ---- */

/* At the first byte, which may come while the port is being opened, or once that is open. */
static int begin_recording(struct session *s, struct err *e)
{
	auto_free char *base = path_state("recordings");
	auto_free char *when = wall_format(wall_now());
	auto_free char *dir = NULL;
	auto_free char *text = NULL;
	int r;

	if (s->rec)
		return 0;
	dir = xasprintf("%s/console-%s-%s-%jd", base, s->rig, when, (intmax_t)getpid());
	r = recording_create(dir, waiter_now(s->cli->w), &s->rec, e);
	if (r < 0)
		return r;
	text = xasprintf("recording to %s", dir);
	tell(s, text);
	return 0;
}

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct session *s = self;

	/* on disk first, as in a run */
	if (begin_recording(s, &s->err) < 0 ||
	    recording_add(s->rec, bytes, n, t_host_ns, &s->err) < 0) {
		s->is_over = true;
		return;
	}
	put(s, bytes, n);
}

static void send_bytes(struct session *s, const void *bytes, size_t n)
{
	struct err e = {0};

	if (rig_console_send(s->console, bytes, n, &e) < 0)
		tell(s, e.text);
}

/* What follows the escape key. */
static void on_escaped(struct session *s, char c)
{
	if (c == 'b') {
		s->wants_break = true;
	} else if (c == 'q' || c == '.') {
		s->is_over = true;
	} else if (c == ESCAPE) {
		send_bytes(s, &c, 1);
	} else {
		tell(s, "after Ctrl-]: q leaves, b sends a break, Ctrl-] sends itself");
	}
}

static int on_typed(void *self, short revents, struct err *e)
{
	struct session *s = self;
	char bytes[256];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	(void)revents;
	(void)e;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		s->is_over = true;
		waiter_remove(s->cli->w, STDIN_FILENO);
		return 0;
	}
	for (ssize_t i = 0; i < n && !s->is_over; i++) {
		if (!s->is_escaped && bytes[i] == ESCAPE) {
			s->is_escaped = true;
			continue;
		}
		if (s->is_escaped)
			on_escaped(s, bytes[i]);
		else
			send_bytes(s, &bytes[i], 1);
		s->is_escaped = false;
	}
	return 0;
}

static void set_raw(struct session *s)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &s->before) < 0)
		return;
	raw = s->before;
	cfmakeraw(&raw);
	s->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static bool has_news(void *arg)
{
	const struct session *s = arg;

	return s->is_over || s->wants_break ||
	       rig_console_is_connected(s->console, NULL) == s->is_lost;
}

static void tell_connection(struct session *s)
{
	const char *why = NULL;
	const bool is_lost = !rig_console_is_connected(s->console, &why);
	auto_free char *text = NULL;

	if (is_lost == s->is_lost)
		return;
	s->is_lost = is_lost;
	if (is_lost) {
		s->losses++;
		text = xasprintf("the console is lost (%s) and looked for", why);
	} else {
		text = xstrdup("the console is back; what came meanwhile is missing");
	}
	tell(s, text);
}

/* A break takes its time, so it is not sent from where the key was read. */
static int serve(struct session *s, struct err *e)
{
	struct err failed = {0};
	int r;

	for (;;) {
		r = waiter_until(s->cli->w, NSEC_FOREVER, has_news, s, e);
		if (r < 0 || s->is_over)
			return r;
		tell_connection(s);
		if (!s->wants_break)
			continue;
		s->wants_break = false;
		if (rig_console_break(s->console, &failed) < 0)
			tell(s, failed.text);
	}
}

static int talk(struct session *s, bool may_type, struct err *e)
{
	const struct waiter_source keys = {
		.fd = STDIN_FILENO, .events = POLLIN, .ready = on_typed, .self = s};
	int r = 0;

	if (may_type) {
		r = waiter_add(s->cli->w, &keys, e);
		if (r < 0)
			return r;
		set_raw(s);
		tell(s, "Ctrl-] q leaves");
	}
	r = serve(s, e);
	if (s->is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	s->is_raw = false;
	if (may_type)
		waiter_remove(s->cli->w, STDIN_FILENO);
	if (s->losses) {
		auto_free char *text = xasprintf("the console was lost %u time%s: bytes are "
						 "missing in the recording",
						 s->losses, s->losses == 1 ? "" : "s");

		tell(s, text);
	}
	/* a stop signal is how one leaves */
	if (r < 0 && e->kind == ERR_STOPPED) {
		err_clear(e);
		r = 0;
	}
	if (s->err.kind != ERR_NONE) {
		*e = s->err;
		return -e->code;
	}
	return r < 0 ? r : 0;
}

/* ---- a run holds the rig: its recording is followed ---- */

static int follow(struct session *s, const struct rig_cfg *cfg, struct err *e)
{
	auto_free char *consoles = path_state("consoles");
	auto_free char *link = xasprintf("%s/%s/console.raw", consoles, cfg->name);
	auto_fd int fd = -1;
	struct stat was = {0};
	char bytes[16384];

	tell(s, "a run holds the rig: its recording is shown, Ctrl-C leaves");
	for (;;) {
		struct stat now;
		ssize_t n;
		int r;

		if (stat(link, &now) == 0 && (fd < 0 || now.st_ino != was.st_ino)) {
			/* the next boot; the rest of the last one was read below */
			if (fd >= 0)
				close(take_fd(fd));
			fd = open(link, O_RDONLY | O_CLOEXEC);
			was = now;
		}
		while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
			put(s, bytes, (size_t)n);
		r = waiter_sleep(s->cli->w, FOLLOW_NS, e);
		if (r < 0 && e->kind == ERR_STOPPED) {
			err_clear(e);
			return 0;
		}
		if (r < 0)
			return r;
	}
}

static int run_console(struct cli *cli, const struct args *a, struct err *e)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct session s = {.cli = cli};
	int r;

	waiter_catch_stop_signals();
	r = rig_cfg_load(a->positional[0], &cfg, e);
	if (r < 0)
		return r;
	s.rig = cfg->name;
	r = rig_console_open(cfg, cli->w, on_bytes, &s, &s.console, e);
	if (r == -EBUSY && e->kind == ERR_USAGE) {
		err_clear(e);
		return follow(&s, cfg, e);
	}
	if (r == 0)
		r = begin_recording(&s, e);
	if (r == 0)
		r = talk(&s, !args_has(a, "tail"), e);
	rig_console_close(s.console);
	recording_close(s.rec);
	return r;
}

const struct cmd cmd_console = {
	.name = "console",
	.summary = "Show a rig's console and type at it",
	.details =
		"While a run holds the rig, what it records is shown and nothing can be typed. "
		"Otherwise the port of a board's console is opened, everything is recorded, and "
		"what is typed is sent: Ctrl-] q leaves, Ctrl-] b sends a break, Ctrl-] Ctrl-] "
		"sends Ctrl-]. The rig is held meanwhile. A port that goes away, as an adapter that "
		"is pulled out, is looked for until it is back; how often is told at the end.",
	.positional = {.name = "RIG", .type = OPT_RIG, .min = 1, .max = 1},
	.options = options,
	.run = run_console,
};
