/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.c - the guardian and the controller's end of it. */
#include "guard.h"

#include "base/fdio.h"
#include "base/log.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define OPEN_NS     (10 * NSEC_PER_SEC)
#define ASK_NS      (5 * NSEC_PER_SEC) /* get and sense */
#define GRACE_NS    (2 * NSEC_PER_SEC) /* beyond a change's own deadline */
#define SAFE_TRY_NS (800 * NSEC_PER_MSEC)
#define SAFE_TRIES  20
#define SAFE_AGAIN  (200 * NSEC_PER_MSEC)

enum guard_op { GUARD_SET, GUARD_GET, GUARD_SENSE, GUARD_LEAVE };

/* Both ends are one program: structures can be sent as they are. */
struct request {
	uint64_t seq;
	enum guard_op op;
	enum switch_state state;
	nsec_t deadline_ns;
};

struct reply {
	uint64_t seq; /* of the request; 0 = opened, or given up */
	int r;
	enum switch_state state;
	struct switch_change change;
	unsigned caps;
	struct err err; /* if r < 0 */
};

/* ---- the guardian's process ---- */

struct guardian {
	int fd;
	pid_t controller;
	struct waiter *w;
	const struct switch_ops *ops;
	void *self;
	enum switch_state safe;
	bool has_request, is_alone, is_stopped, must_leave;
	struct request request;
	struct waiter_timer look;
	nsec_t stopped_since_ns; /* 0 = it runs */
};

static void answer(struct guardian *g, const struct reply *reply)
{
	/* a controller that is gone does not hear it */
	(void)!send(g->fd, reply, sizeof(*reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int stood_still(struct err *e)
{
	return err_set(e, ERR_RIG, ETIMEDOUT,
		       "the guardian has made it safe, because the controller stood still for more "
		       "than %lld ms",
		       (long long)(SWITCH_STOP_MAX_NS / NSEC_PER_MSEC));
}

/* A negative return ends whatever the driver waits for: nobody is interested any more. */
static int on_message(void *self, short revents, struct err *e)
{
	struct guardian *g = self;
	ssize_t n;

	(void)revents;
	n = recv(g->fd, &g->request, sizeof(g->request), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(g->request)) {
		g->has_request = true;
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	waiter_remove(g->w, g->fd);
	if (g->is_stopped)
		return stood_still(e);
	g->is_alone = true;
	return err_set(e, ERR_RIG, EPIPE, "the controller is gone");
}

/* The state letter after the last ')': the name before it may hold anything. */
static bool stands_still(pid_t pid)
{
	auto_free char *path = xasprintf("/proc/%ld/stat", (long)pid);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *p;

	if (file_read(path, 4096, &text, NULL) < 0)
		return false; /* its end shows on the socket */
	p = strrchr(strbuf_str(&text), ')');
	return p && p[1] == ' ' && (p[2] == 'T' || p[2] == 't');
}

/* A timer, because the driver may be waiting: for VBUS to follow, for a command to end. */
static void look_at_controller(void *self)
{
	struct guardian *g = self;
	const nsec_t now_ns = waiter_now(g->w);

	if (!stands_still(g->controller))
		g->stopped_since_ns = 0;
	else if (!g->stopped_since_ns)
		g->stopped_since_ns = now_ns;
	else if (now_ns - g->stopped_since_ns >= SWITCH_STOP_MAX_NS)
		g->is_stopped = true;
	if (g->is_stopped) {
		/* an end of file for on_message(), which ends the driver's wait */
		(void)shutdown(g->fd, SHUT_RD);
		return;
	}
	g->look.at_ns = now_ns + SWITCH_LOOK_NS;
	/* the only timer but those of a driver: there is room */
	(void)!waiter_timer_set(g->w, &g->look, NULL);
}

static void serve(struct guardian *g)
{
	struct reply reply = {.seq = g->request.seq, .state = SWITCH_UNKNOWN};

	g->has_request = false;
	switch (g->request.op) {
	case GUARD_SET:
		reply.r = g->ops->set(g->self, g->request.state, g->request.deadline_ns,
				      &reply.change, &reply.err);
		break;
	case GUARD_GET:
		reply.state = g->ops->get(g->self);
		break;
	case GUARD_SENSE:
		reply.state = g->ops->sense ? g->ops->sense(g->self) : SWITCH_UNKNOWN;
		break;
	case GUARD_LEAVE:
		g->must_leave = true;
		break;
	}
	answer(g, &reply);
}

static bool has_news(void *arg)
{
	struct guardian *g = arg;

	return g->has_request || g->is_alone || g->is_stopped;
}

/* As often as it takes: a hub may be busy with what the controller left it in. */
static void make_safe(struct guardian *g)
{
	waiter_remove(g->w, g->fd); /* nothing from there may end this */
	for (unsigned i = 0; i < SAFE_TRIES; i++) {
		struct switch_change change;
		struct err e = {0};

		if (g->ops->set(g->self, g->safe, waiter_now(g->w) + SAFE_TRY_NS, &change, &e) >= 0)
			return;
		err_clear(&e);
		(void)!waiter_sleep(g->w, SAFE_AGAIN, &e);
	}
}

static void guardian_serve(struct guardian *g)
{
	look_at_controller(g);
	while (!g->is_alone && !g->is_stopped && !g->must_leave) {
		struct err ignored = {0};

		(void)!waiter_until(g->w, NSEC_FOREVER, has_news, g, &ignored);
		if (g->has_request && !g->is_alone && !g->is_stopped)
			serve(g);
	}
	if (g->must_leave)
		return;
	make_safe(g);
	if (g->is_stopped) {
		struct reply reply = {0};

		reply.r = stood_still(&reply.err);
		answer(g, &reply);
	}
}

/* Not SIG_IGN: that would be inherited by the commands of an exec switch. */
static void do_nothing(int sig)
{
	(void)sig;
}

/* Best effort: lowering it is not permitted to everybody. */
static void set_oom_score(const char *text)
{
	auto_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* Closes everything but a and b (-1 = none). */
static void keep_only(int a, int b)
{
	const int kept[] = {a < b ? a : b, a < b ? b : a};
	int null = open("/dev/null", O_RDWR);
	int from = 3;

	/* a pipeline that reads our output must not wait for the guardian */
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		if (fd != a && fd != b)
			(void)dup2(null, fd);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (kept[i] < from)
			continue;
		if (kept[i] > from)
			(void)close_range((unsigned)from, (unsigned)kept[i] - 1, 0);
		from = kept[i] + 1;
	}
	(void)close_range((unsigned)from, ~0u, 0);
}

static _Noreturn void guardian_run(int fd, int keep_fd, pid_t controller, switch_open_fn open_fn,
				   const struct switch_cfg *cfg, enum switch_state safe)
{
	static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
				      SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2};
	struct guardian g = {.fd = fd,
			     .controller = controller,
			     .safe = safe,
			     .look = {.fire = look_at_controller, .self = &g}};
	const struct waiter_source source = {
		.fd = fd, .events = POLLIN, .ready = on_message, .self = &g};
	struct reply opened = {0};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], do_nothing);
	waiter_clear_stop();
	(void)setsid();
	(void)prctl(PR_SET_NAME, "sr-guardian");
	keep_only(fd, keep_fd);
	/* it is small, and what it would free is what keeps the lines safe: never this one */
	set_oom_score("-1000");
	log_set_sink(NULL, NULL);

	g.w = waiter_new(NULL);
	opened.r = open_fn(cfg, g.w, &g.ops, &g.self, &opened.err);
	if (opened.r >= 0)
		opened.r = waiter_add(g.w, &source, &opened.err);
	if (opened.r >= 0)
		opened.caps = g.ops->caps;
	answer(&g, &opened);
	if (opened.r >= 0) {
		guardian_serve(&g);
		g.ops->close(g.self);
	}
	_exit(0);
}

/* ---- the controller's end ---- */

struct guard {
	struct switch_ops ops; /* what the outside sees */
	switch_open_fn open_fn;
	const struct switch_cfg *cfg;
	struct waiter *w;
	int fd;
	pid_t pid;
	uint64_t seq;
	bool is_waiting; /* for a reply: a call out of a waiter's source must not send another */
	bool has_reply, is_gone;
	struct reply reply;
	struct err why; /* it is gone */
	enum switch_state safe;
	bool is_set_broken; /* the last change failed */
};

static int on_reply(void *self, short revents, struct err *e)
{
	struct guard *g = self;
	struct reply reply;
	ssize_t n;

	(void)revents;
	(void)e;
	n = recv(g->fd, &reply, sizeof(reply), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(reply)) {
		if (reply.seq == 0 && g->seq) {
			g->why = reply.err;
		} else if (reply.seq == g->seq) {
			g->reply = reply;
			g->has_reply = true;
		}
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!g->why.code)
		(void)err_set(&g->why, ERR_RIG, EPIPE, "its guardian (process %ld) was killed",
			      (long)g->pid);
	g->is_gone = true;
	waiter_remove(g->w, g->fd);
	return 0;
}

static bool has_answer(void *arg)
{
	struct guard *g = arg;

	return g->has_reply || g->is_gone;
}

static int wait_reply(struct guard *g, nsec_t until_ns, struct err *e)
{
	int r;

	g->is_waiting = true;
	r = waiter_until(g->w, until_ns, has_answer, g, e);
	g->is_waiting = false;
	if (r < 0)
		return r;
	if (g->has_reply) {
		if (g->reply.r < 0 && e)
			*e = g->reply.err;
		return g->reply.r;
	}
	if (g->is_gone) {
		if (e)
			*e = g->why;
		return -g->why.code;
	}
	return err_set(e, ERR_RIG, ETIMEDOUT, "no answer from its guardian (process %ld)",
		       (long)g->pid);
}

static int ask(struct guard *g, enum guard_op op, enum switch_state state, nsec_t deadline_ns,
	       nsec_t until_ns, struct err *e)
{
	const struct request request = {
		.seq = ++g->seq, .op = op, .state = state, .deadline_ns = deadline_ns};

	if (g->is_waiting)
		return err_set(e, ERR_INTERNAL, EBUSY, "the guardian is at work");
	g->has_reply = false;
	if (!g->is_gone && send(g->fd, &request, sizeof(request), MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		return err_errno(e, ERR_INTERNAL, errno, "guardian");
	return wait_reply(g, until_ns, e);
}

static int guard_set(void *self, enum switch_state state, nsec_t deadline_ns,
		     struct switch_change *ret, struct err *e)
{
	struct guard *g = self;
	int r;

	r = ask(g, GUARD_SET, state, deadline_ns, deadline_ns + GRACE_NS, e);
	g->is_set_broken = r < 0;
	if (r >= 0)
		*ret = g->reply.change;
	return r;
}

static enum switch_state look(struct guard *g, enum guard_op op)
{
	struct err ignored = {0};

	if (g->is_waiting)
		return SWITCH_UNKNOWN;
	return ask(g, op, SWITCH_UNKNOWN, 0, waiter_now(g->w) + ASK_NS, &ignored) < 0
		       ? SWITCH_UNKNOWN
		       : g->reply.state;
}

static enum switch_state guard_get(void *self)
{
	return look(self, GUARD_GET);
}

static enum switch_state guard_sense(void *self)
{
	return look(self, GUARD_SENSE);
}

/* The guardian was killed: nobody holds the hardware, so it can be taken once more. */
static void make_safe_without(struct guard *g)
{
	const struct switch_ops *ops;
	struct switch_change change;
	struct err e = {0};
	void *self;

	if (g->open_fn(g->cfg, g->w, &ops, &self, &e) >= 0) {
		(void)!ops->set(self, g->safe, waiter_now(g->w) + SWITCH_SAFE_NS, &change, &e);
		ops->close(self);
	}
	if (e.code)
		log_debug(LOG_RIG, "no safe state: %s", e.text);
}

static void guard_free(struct guard *g)
{
	if (g->fd >= 0) {
		waiter_remove(g->w, g->fd);
		close(g->fd);
	}
	if (g->pid > 0)
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(g);
}

static void guard_close(void *self)
{
	struct guard *g = self;
	struct err ignored = {0};
	int saved = errno;

	if (g->is_gone)
		make_safe_without(g);
	else if (!g->is_set_broken)
		/* whoever opened it has switched to what is to stay; otherwise the guardian finds
		   itself alone and goes on trying */
		(void)!ask(g, GUARD_LEAVE, SWITCH_UNKNOWN, 0, waiter_now(g->w) + ASK_NS, &ignored);
	guard_free(g);
	errno = saved;
}

pid_t guard_pid(const void *self)
{
	return ((const struct guard *)self)->pid;
}

int guard_open(switch_open_fn open_fn, const struct switch_cfg *cfg, enum switch_state safe,
	       int keep_fd, struct waiter *w, const struct switch_ops **ret_ops, void **ret_self,
	       struct err *e)
{
	struct guard *g = xcalloc(1, sizeof(*g));
	struct waiter_source source = {.events = POLLIN, .ready = on_reply, .self = g};
	pid_t controller = getpid();
	int pair[2];
	int r;

	*g = (struct guard){.open_fn = open_fn, .cfg = cfg, .w = w, .fd = -1, .safe = safe};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = err_errno(e, ERR_INTERNAL, errno, "guardian: socket");
		guard_free(g);
		return r;
	}
	g->fd = pair[0];
	g->pid = fork();
	if (g->pid == 0)
		guardian_run(pair[1], keep_fd, controller, open_fn, cfg, safe);
	close(pair[1]);
	source.fd = g->fd;
	r = g->pid < 0 ? err_errno(e, ERR_INTERNAL, errno, "guardian: fork")
		       : waiter_add(w, &source, e);
	if (r >= 0)
		r = wait_reply(g, waiter_now(w) + OPEN_NS, e);
	if (r < 0) {
		guard_free(g);
		return r;
	}
	/* raising it is permitted: when memory is out, this one goes and the guardian stays */
	set_oom_score("300");
	g->ops = (struct switch_ops){
		.driver = cfg->driver,
		.caps = g->reply.caps | SWITCH_IS_GUARDED,
		.set = guard_set,
		.get = guard_get,
		.sense = g->reply.caps & SWITCH_CAN_SENSE ? guard_sense : NULL,
		.close = guard_close,
	};
	*ret_ops = &g->ops;
	*ret_self = g;
	return 0;
}
