/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core.c - the agent's loop: link, session, the one command at a time, its kept answer. */
#include "agent.h"
#include "base/parse.h"
#include "profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#define MSEC 1000000

/* --- link ---------------------------------------------------------------------------------- */

static bool is_fixed_link(const struct agent *ag)
{
	return strcmp(ag->link_name, "stdio") == 0 || strncmp(ag->link_name, "fd:", 3) == 0;
}

/* A virtio port by its name, for a target without udev's links in /dev/virtio-ports. */
static int open_port_by_name(const char *name)
{
	static const char class_dir[] = "/sys/class/virtio-ports";
	DIR *dir = opendir(class_dir);
	struct dirent *de;
	int fd = -1;

	if (!dir)
		return -1;
	while (fd < 0 && (de = readdir(dir))) {
		char path[SYSFILE_PATH_MAX];
		char word[128];

		if (de->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/name", class_dir, de->d_name);
		if (!sysfile_word("", path, word, sizeof(word)) || strcmp(word, name) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", de->d_name);
		fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	}
	(void)closedir(dir);
	return fd;
}

static void set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Opens a link given by path. In_fd stays -1 if that is not possible now. */
static void open_path(struct agent *ag)
{
	static const char ports[] = "/dev/virtio-ports/";
	struct termios tio;
	int fd = open(ag->link_name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && strncmp(ag->link_name, ports, strlen(ports)) == 0)
		fd = open_port_by_name(ag->link_name + strlen(ports));
	if (fd < 0)
		return;
	if (isatty(fd) && tcgetattr(fd, &tio) == 0) {
		cfmakeraw(&tio);
		tio.c_cflag |= CLOCAL | CREAD;
		(void)tcsetattr(fd, TCSANOW, &tio);
	}
	ag->in_fd = fd;
	ag->out_fd = fd;
}

static void close_link(struct agent *ag)
{
	if (!is_fixed_link(ag) && ag->in_fd >= 0)
		(void)close(ag->in_fd);
	ag->in_fd = -1;
	ag->out_fd = -1;
}

/*
 * Nobody is at the other end. What was on its way is void: the controller asks again. A port whose
 * host side is away gives end-of-file until it is back, so a path is first only left alone and
 * then opened anew.
 */
static void link_lost(struct agent *ag, bool is_broken)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	frame_reader_reset(&ag->reader);
	ag->out_len = 0;
	ag->reply.sent = ag->reply.len;
	if (is_fixed_link(ag)) {
		ag->is_over = true;
		return;
	}
	if (!ag->eof_since_ns)
		ag->eof_since_ns = now_ns;
	if (is_broken || now_ns - ag->eof_since_ns >= (int64_t)1000 * MSEC) {
		close_link(ag);
		ag->eof_since_ns = 0;
	}
	ag->retry_ns = now_ns + (int64_t)100 * MSEC;
}

static bool is_linked(const struct agent *ag)
{
	return ag->in_fd >= 0 && !ag->retry_ns && !ag->is_over;
}

/* --- frames out ---------------------------------------------------------------------------- */

/* Moves whole frames of the kept answer into the out buffer. */
static void pump(struct agent *ag)
{
	struct reply *rep = &ag->reply;

	if (!is_linked(ag))
		rep->sent = rep->len;
	while (rep->sent < rep->len && ag->out_len + FRAME_MAX <= sizeof(ag->out)) {
		const char *from = rep->buf + rep->sent;
		const char *end = memchr(from, '\n', rep->len - rep->sent);
		size_t n = (size_t)(end - from) + 1;

		memcpy(ag->out + ag->out_len, from, n);
		ag->out_len += n;
		rep->sent += n;
	}
}

static void flush(struct agent *ag)
{
	pump(ag);
	while (ag->out_len && is_linked(ag)) {
		ssize_t n = write(ag->out_fd, ag->out, ag->out_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			link_lost(ag, true);
			return;
		}
		memmove(ag->out, ag->out + n, ag->out_len - (size_t)n);
		ag->out_len -= (size_t)n;
		pump(ag);
	}
}

/* A frame that is not kept. Dropped if there is no room: its request will come again. */
static void send_now(struct agent *ag, uint32_t seq, const char *fmt, ...) printf_like(3, 4);
static void send_now(struct agent *ag, uint32_t seq, const char *fmt, ...)
{
	char body[FRAME_MAX];
	va_list ap;
	size_t n;

	if (ag->out_len + FRAME_MAX > sizeof(ag->out))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	n = frame_build(seq, body, ag->out + ag->out_len, sizeof(ag->out) - ag->out_len);
	ag->out_len += n;
}

static void refuse(struct agent *ag, uint32_t seq, const char *code, const char *fmt, ...)
	printf_like(4, 5);
static void refuse(struct agent *ag, uint32_t seq, const char *code, const char *fmt, ...)
{
	char encoded[3 * 256];
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)frame_encode_word(text, encoded, sizeof(encoded));
	send_now(ag, seq, "err %s %s", code, encoded);
}

/* --- the kept answer ----------------------------------------------------------------------- */

static void reply_begin(struct reply *rep, uint32_t seq)
{
	rep->seq = seq;
	rep->state = REPLY_WORKING;
	rep->len = 0;
	rep->sent = 0;
	rep->n_lines = 0;
	rep->is_cut = false;
}

/* answer_sink_fn of the command. The last frame always finds room. */
static void reply_add(void *self, enum answer_kind kind, const char *body)
{
	struct reply *rep = &((struct agent *)self)->reply;
	char text[FRAME_MAX];

	if (rep->state != REPLY_WORKING)
		return;
	if (kind == ANSWER_DATA || kind == ANSWER_PART) {
		if (rep->n_lines == FRAME_LINES_MAX ||
		    rep->len + (size_t)2 * FRAME_MAX > sizeof(rep->buf)) {
			rep->is_cut = true;
			return;
		}
		(void)snprintf(text, sizeof(text), "%s %u %s",
			       kind == ANSWER_DATA ? "data" : "part", rep->n_lines++, body);
	} else {
		rep->state = REPLY_DONE;
		if (kind == ANSWER_OK)
			(void)snprintf(text, sizeof(text), "ok lines=%u%s%s%s", rep->n_lines,
				       rep->is_cut ? " truncated=1" : "", *body ? " " : "", body);
		else
			(void)snprintf(text, sizeof(text), "err %s", body);
	}
	rep->len += frame_build(rep->seq, text, rep->buf + rep->len, sizeof(rep->buf) - rep->len);
}

/* Appends what fits as a whole. */
static void keep_line(struct agent *ag, const char *text, const char *end)
{
	size_t n = strlen(text) + strlen(end);

	if (n >= sizeof(ag->load_lines) - ag->load_lines_len)
		return;
	ag->load_lines_len +=
		(size_t)sprintf(ag->load_lines + ag->load_lines_len, "%s%s", text, end);
}

/* How a background worker ended. */
static void note_end(struct background *b, enum answer_kind kind, const char *body)
{
	int n = (int)strcspn(body, " ");

	b->state = kind == ANSWER_OK ? "ended" : "failed";
	if (kind == ANSWER_OK)
		(void)snprintf(b->result, sizeof(b->result), "%s", body);
	else
		(void)snprintf(b->result, sizeof(b->result), "error=%.*s message=%s", n, body,
			       body[n] ? body + n + 1 : "%");
}

/* Its newest line; one of a program's own words is no progress. */
static void note_progress(struct background *b, const char *text)
{
	struct answer words = {0};

	answer_pairs(&words, text);
	(void)snprintf(b->result, sizeof(b->result), "%s", words.ok);
}

/* answer_sink_fn of the load: its lines are kept, and its newest one or its end as its result. */
static void load_note(void *self, enum answer_kind kind, const char *body)
{
	struct agent *ag = self;
	char text[FRAME_MAX];

	if (kind != ANSWER_DATA && kind != ANSWER_PART) {
		note_end(&ag->load, kind, body);
	} else if (frame_decode_word(body, strlen(body), text, sizeof(text))) {
		keep_line(ag, text, kind == ANSWER_DATA ? "\n" : "");
		if (kind == ANSWER_DATA)
			note_progress(&ag->load, text);
	}
}

/* answer_sink_fn of the sampler. */
static void profile_note(void *self, enum answer_kind kind, const char *body)
{
	struct agent *ag = self;
	char text[FRAME_MAX];

	if (kind != ANSWER_DATA && kind != ANSWER_PART)
		note_end(&ag->profile, kind, body);
	else if (frame_decode_word(body, strlen(body), text, sizeof(text)))
		note_progress(&ag->profile, text);
}

/* --- requests ------------------------------------------------------------------------------ */

static void end_background(struct background *b, const char *state)
{
	job_kill(&b->job);
	b->state = state;
	b->result[0] = '\0';
}

static void forget_session(struct agent *ag)
{
	job_kill(&ag->command);
	end_background(&ag->load, "none");
	end_background(&ag->profile, "none");
	ag->load_lines[0] = '\0';
	ag->load_lines_len = 0;
	ag->reply.state = REPLY_NONE;
	ag->reply.len = 0;
	ag->reply.sent = 0;
	ag->last_seq = 0;
}

static void on_hello(struct agent *ag, const struct frame *f)
{
	const char *session = f->n_words > 0 ? f->words[0] : "";
	uint32_t version = 0;

	if (f->n_words != 2 || !parse_is_name(session) || strlen(session) >= sizeof(ag->session) ||
	    parse_u32("version", f->words[1], 0, UINT32_MAX, &version, NULL) < 0) {
		refuse(ag, f->seq, "EINVAL", "hello: takes a session name and a version");
		return;
	}
	if (version != FRAME_PROTOCOL) {
		refuse(ag, f->seq, "EPROTONOSUPPORT",
		       "hello: this agent speaks version %d, not %" PRIu32, FRAME_PROTOCOL,
		       version);
		return;
	}
	if (strcmp(session, ag->session) != 0) {
		forget_session(ag);
		(void)snprintf(ag->session, sizeof(ag->session), "%s", session);
	}
	send_now(ag, f->seq, "ok lines=0 version=%d agent=" STALLRIG_VERSION " session=%s",
		 FRAME_PROTOCOL, ag->session);
}

static void on_abort(struct agent *ag, const struct frame *f)
{
	uint32_t seq = ag->reply.seq;

	if (f->n_words > 1 ||
	    (f->n_words && parse_u32("seq", f->words[0], 1, UINT32_MAX, &seq, NULL) < 0)) {
		refuse(ag, f->seq, "EINVAL", "abort: takes the seq of a command or nothing");
		return;
	}
	if (ag->reply.state != REPLY_WORKING || seq != ag->reply.seq) {
		send_now(ag, f->seq, "ok lines=0 aborted=0");
		return;
	}
	job_kill(&ag->command);
	reply_add(ag, ANSWER_ERR, "ECANCELED aborted");
	send_now(ag, f->seq, "ok lines=0 aborted=%" PRIu32, seq);
}

static int start_job(struct agent *ag, struct job *j, const struct verb *v, const struct frame *f,
		     struct err *e)
{
	const int fds[] = {ag->in_fd,       ag->out_fd == ag->in_fd ? -1 : ag->out_fd,
			   ag->sigchld_fd,  ag->command.fd,
			   ag->load.job.fd, ag->profile.job.fd};

	return job_start(j, v, f, ag->root, fds, ARRAY_SIZE(fds), e);
}

static void power_down(struct agent *ag, const char *how)
{
	ag->power_how = how;
	ag->power_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)500 * MSEC;
}

static void answer_state(const struct background *b, struct answer *a)
{
	answer_word(a, "state", "%s", b->state);
	answer_encoded(a, b->result);
}

static void own_load(struct agent *ag, struct answer *a)
{
	answer_state(&ag->load, a);
}

static void own_load_lines(struct agent *ag, struct answer *a)
{
	answer_text(a, ag->load_lines);
}

static void own_kill_load(struct agent *ag, struct answer *a)
{
	answer_word(a, "killed", "%d", ag->load.job.pid ? 1 : 0);
	if (ag->load.job.pid)
		ag->load.state = "killed";
	job_kill(&ag->load.job);
}

static void own_profile_state(struct agent *ag, struct answer *a)
{
	answer_state(&ag->profile, a);
}

/* It ends by itself then, and names what it has seen. */
static void own_profile_stop(struct agent *ag, struct answer *a)
{
	bool is_running = ag->profile.job.pid && !ag->profile.job.has_answered;

	if (is_running)
		(void)kill(ag->profile.job.pid, SIGTERM);
	answer_word(a, "stopping", "%d", is_running);
}

static void own_poweroff(struct agent *ag, struct answer *a)
{
	(void)a;
	power_down(ag, "poweroff");
}

static void own_reboot(struct agent *ag, struct answer *a)
{
	(void)a;
	power_down(ag, "reboot");
}

/* The verbs that need the agent itself; none takes a word. */
static const struct {
	const char *name;
	void (*run)(struct agent *ag, struct answer *a);
} own_verbs[] = {
	{"kill-load", own_kill_load},
	{"load", own_load},
	{"load-lines", own_load_lines},
	{"poweroff", own_poweroff},
	{"profile-state", own_profile_state},
	{"profile-stop", own_profile_stop},
	{"reboot", own_reboot},
};

/* False: none of these. */
static bool own_verb(struct agent *ag, const struct frame *f, struct answer *a, int *ret,
		     struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_verbs); i++) {
		if (strcmp(f->verb, own_verbs[i].name) != 0)
			continue;
		*ret = f->n_words ? err_set(e, ERR_TARGET, EINVAL, "%s: takes no words", f->verb)
				  : 0;
		if (*ret == 0)
			own_verbs[i].run(ag, a);
		return true;
	}
	return false;
}

static int start_background(struct agent *ag, struct background *b, const struct verb *v,
			    const struct request *rq, struct err *e)
{
	const char *what = b == &ag->load ? "load" : "profile";
	int r;

	/* it has told its end, so the next one may begin; it is only not reaped yet */
	if (b->job.pid && b->job.has_answered)
		job_kill(&b->job);
	if (b->job.pid)
		return err_set(e, ERR_TARGET, EBUSY, "%s: a %s is running already", v->name, what);
	r = v->run == verb_profile ? profile_prepare(e) : 0;
	if (r == 0)
		r = start_job(ag, &b->job, v, rq->frame, e);
	if (r < 0)
		return r;
	b->state = "running";
	b->result[0] = '\0';
	if (b == &ag->load) {
		ag->load_lines[0] = '\0';
		ag->load_lines_len = 0;
	}
	return 0;
}

static void run_command(struct agent *ag, const struct frame *f)
{
	struct answer a = {.sink = reply_add, .self = ag};
	struct request rq = {.frame = f, .root = ag->root, .answer = &a};
	const struct verb *v = verb_find(f->verb);
	struct err e = {0};
	uint64_t is_bg = 0;
	int r = 0;

	reply_begin(&ag->reply, f->seq);
	if (own_verb(ag, f, &a, &r, &e)) {
		answer_end(&a, r, &e);
		return;
	}
	if (!v) {
		answer_end(&a, err_set(&e, ERR_TARGET, ENOSYS, "unknown verb '%.64s'", f->verb),
			   &e);
		return;
	}
	r = verb_check(v, f, &e);
	if (r == 0 && v->keys)
		r = request_u64(&rq, "bg", 0, 1, 0, &is_bg, &e);
	/* it has memory of its own, of which there is one */
	if (r == 0 && v->run == verb_profile && !is_bg)
		r = err_set(&e, ERR_TARGET, EINVAL, "profile: only with bg=1");
	if (r == 0 && is_bg) {
		r = start_background(ag, v->run == verb_profile ? &ag->profile : &ag->load, v, &rq,
				     &e);
	} else if (r == 0 && v->is_inline) {
		r = v->run(&rq, &e);
	} else if (r == 0) {
		r = start_job(ag, &ag->command, v, f, &e);
		if (r == 0) {
			send_now(ag, f->seq, "ack");
			return;
		}
	}
	answer_end(&a, r, &e);
}

static void on_command(struct agent *ag, const struct frame *f)
{
	struct reply *rep = &ag->reply;
	int32_t age = (int32_t)(f->seq - ag->last_seq);

	if (!*ag->session) {
		refuse(ag, f->seq, "ENOTCONN", "%.64s: no session: say hello first", f->verb);
		return;
	}
	if (rep->state != REPLY_NONE && f->seq == rep->seq) {
		/* an answer that is still leaving is not begun anew, or a slow link would never
		   see its end */
		if (rep->state == REPLY_WORKING || rep->sent < rep->len)
			send_now(ag, f->seq, "ack");
		else
			rep->sent = 0;
		return;
	}
	/* a late copy of a command that was answered before the last one */
	if (ag->last_seq && age < 0)
		return;
	if (rep->state == REPLY_WORKING || (ag->last_seq && age == 0)) {
		ag->last_seq = f->seq;
		refuse(ag, f->seq, "EBUSY", "%.64s: another command is running", f->verb);
		return;
	}
	ag->last_seq = f->seq;
	run_command(ag, f);
}

static void on_frame(void *self, const struct frame *f)
{
	struct agent *ag = self;

	if (strcmp(f->verb, "hello") == 0)
		on_hello(ag, f);
	else if (strcmp(f->verb, "ping") == 0)
		send_now(ag, f->seq, "ok lines=0");
	else if (strcmp(f->verb, "abort") == 0)
		on_abort(ag, f);
	else
		on_command(ag, f);
}

/* --- loop ---------------------------------------------------------------------------------- */

int agent_init(struct agent *ag, const char *link_name, const char *root,
	       void (*power)(const char *how), struct err *e)
{
	sigset_t chld;
	uint32_t fd;
	int r;

	memset(ag, 0, sizeof(*ag));
	ag->link_name = link_name;
	ag->root = root;
	ag->power = power;
	ag->in_fd = ag->out_fd = ag->sigchld_fd = ag->command.fd = -1;
	ag->load.job.fd = ag->profile.job.fd = -1;
	ag->load.state = ag->profile.state = "none";
	if (strcmp(link_name, "stdio") == 0) {
		ag->in_fd = STDIN_FILENO;
		ag->out_fd = STDOUT_FILENO;
	} else if (strncmp(link_name, "fd:", 3) == 0) {
		r = parse_u32("link fd", link_name + 3, 0, INT32_MAX, &fd, e);
		if (r < 0)
			return r;
		if (fcntl((int)fd, F_GETFD) < 0)
			return err_errno(e, ERR_USAGE, errno, "link %s", link_name);
		ag->in_fd = ag->out_fd = (int)fd;
	} else if (*link_name != '/') {
		return err_set(e, ERR_USAGE, EINVAL, "link '%s' is not stdio, fd:N or /a/path",
			       link_name);
	}
	if (is_fixed_link(ag)) {
		set_nonblocking(ag->in_fd);
		set_nonblocking(ag->out_fd);
	}

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	ag->sigchld_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (ag->sigchld_fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "signalfd");
	return 0;
}

void agent_release(struct agent *ag)
{
	job_kill(&ag->command);
	job_kill(&ag->load.job);
	job_kill(&ag->profile.job);
	close_link(ag);
	if (ag->sigchld_fd >= 0)
		(void)close(ag->sigchld_fd);
	ag->sigchld_fd = -1;
}

static void read_link(struct agent *ag)
{
	char buf[4096];
	ssize_t n = read(ag->in_fd, buf, sizeof(buf));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		link_lost(ag, n < 0);
		return;
	}
	ag->eof_since_ns = 0;
	frame_reader_feed(&ag->reader, buf, (size_t)n, on_frame, ag);
}

/* Killed workers and what they left; a running job's status belongs to job_serve(). */
static void reap(struct agent *ag)
{
	struct signalfd_siginfo info;
	siginfo_t si;

	while (read(ag->sigchld_fd, &info, sizeof(info)) > 0)
		;
	for (;;) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == 0 ||
		    si.si_pid == ag->command.pid || si.si_pid == ag->load.job.pid ||
		    si.si_pid == ag->profile.job.pid)
			return;
		(void)waitpid(si.si_pid, NULL, 0);
	}
}

/* Milliseconds until t_ns, rounded up; the smaller of that and timeout_ms (-1 = none). */
static int sooner(int timeout_ms, int64_t t_ns)
{
	int64_t left = t_ns - clock_ns(CLOCK_MONOTONIC);
	int ms = left <= 0 ? 0 : (int)(left / MSEC) + 1;

	return timeout_ms < 0 || ms < timeout_ms ? ms : timeout_ms;
}

int agent_step(struct agent *ag, int timeout_ms, struct err *e)
{
	enum { IN, OUT, CHILD, COMMAND, LOAD, PROFILE, N };
	struct pollfd fds[N];
	bool is_sent;

	if (ag->retry_ns && clock_ns(CLOCK_MONOTONIC) >= ag->retry_ns)
		ag->retry_ns = 0;
	if (ag->in_fd < 0 && !ag->retry_ns) {
		open_path(ag);
		if (ag->in_fd < 0)
			ag->retry_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)100 * MSEC;
	}
	flush(ag);
	is_sent = !ag->out_len && ag->reply.sent == ag->reply.len;
	if (ag->power_how && (is_sent || clock_ns(CLOCK_MONOTONIC) >= ag->power_ns)) {
		const char *how = ag->power_how;

		ag->power_how = NULL;
		ag->power(how);
	}
	if (ag->retry_ns)
		timeout_ms = sooner(timeout_ms, ag->retry_ns);
	if (ag->power_how)
		timeout_ms = sooner(timeout_ms, ag->power_ns);

	fds[IN] = (struct pollfd){.fd = is_linked(ag) ? ag->in_fd : -1, .events = POLLIN};
	fds[OUT] = (struct pollfd){.fd = is_linked(ag) && ag->out_len ? ag->out_fd : -1,
				   .events = POLLOUT};
	fds[CHILD] = (struct pollfd){.fd = ag->sigchld_fd, .events = POLLIN};
	fds[COMMAND] = (struct pollfd){.fd = ag->command.fd, .events = POLLIN};
	fds[LOAD] = (struct pollfd){.fd = ag->load.job.fd, .events = POLLIN};
	fds[PROFILE] = (struct pollfd){.fd = ag->profile.job.fd, .events = POLLIN};
	if (poll(fds, N, timeout_ms) < 0) {
		if (errno == EINTR)
			return 0;
		return err_errno(e, ERR_INTERNAL, errno, "poll");
	}
	/* the workers first: a request that comes at the same time may kill them */
	if (fds[COMMAND].revents)
		(void)job_serve(&ag->command, reply_add, ag);
	if (fds[LOAD].revents)
		(void)job_serve(&ag->load.job, load_note, ag);
	if (fds[PROFILE].revents)
		(void)job_serve(&ag->profile.job, profile_note, ag);
	if (fds[CHILD].revents)
		reap(ag);
	if (fds[IN].revents)
		read_link(ag);
	flush(ag);
	return 0;
}

int agent_run(struct agent *ag, struct err *e)
{
	while (!ag->is_over) {
		int r = agent_step(ag, -1, e);

		if (r < 0)
			return r;
	}
	return 0;
}
