/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiter.c - clock, ppoll loop and stop signals. */
#include "base/waiter.h"

#include <signal.h>
#include <string.h>
#include <time.h>

struct waiter {
	struct waiter_ops ops;
	struct waiter_source sources[WAITER_SOURCES_MAX];
	size_t n;
	struct waiter_timer *timers[WAITER_TIMERS_MAX]; /* not owned */
	size_t n_timers;
};

static volatile sig_atomic_t stop_flag;
static bool is_catching;
static sigset_t mask_before;

static nsec_t to_nsec(const struct timespec *ts)
{
	return (nsec_t)ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
}

static nsec_t real_now(void *self)
{
	struct timespec ts;

	(void)self;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return to_nsec(&ts);
}

static int real_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	nsec_t left = until_ns - real_now(self);
	struct timespec ts;
	int r;

	if (left < 0)
		left = 0;
	ts.tv_sec = (time_t)(left / NSEC_PER_SEC);
	ts.tv_nsec = (long)(left % NSEC_PER_SEC);
	r = ppoll(fds, n, until_ns == NSEC_FOREVER ? NULL : &ts, is_catching ? &mask_before : NULL);
	return r < 0 ? -errno : r;
}

struct waiter *waiter_new(const struct waiter_ops *ops)
{
	static const struct waiter_ops real = {.now = real_now, .poll = real_poll, .self = NULL};
	struct waiter *w = xcalloc(1, sizeof(*w));

	w->ops = ops ? *ops : real;
	return w;
}

void waiter_free(struct waiter *w)
{
	util_free(w);
}

nsec_t waiter_now(const struct waiter *w)
{
	return w->ops.now(w->ops.self);
}

static struct waiter_source *find(struct waiter *w, int fd)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->sources[i].fd == fd)
			return &w->sources[i];
	return NULL;
}

int waiter_add(struct waiter *w, const struct waiter_source *src, struct err *e)
{
	if (w->n == WAITER_SOURCES_MAX)
		return err_set(e, ERR_INTERNAL, ENOSPC, "waiter: more than %d sources",
			       WAITER_SOURCES_MAX);
	if (find(w, src->fd))
		return err_set(e, ERR_INTERNAL, EEXIST, "waiter: fd %d is already a source",
			       src->fd);
	w->sources[w->n++] = *src;
	return 0;
}

void waiter_set_events(struct waiter *w, int fd, short events)
{
	struct waiter_source *src = find(w, fd);

	if (src)
		src->events = events;
}

void waiter_remove(struct waiter *w, int fd)
{
	struct waiter_source *src = find(w, fd);

	if (!src)
		return;
	*src = w->sources[--w->n];
}

int waiter_timer_set(struct waiter *w, struct waiter_timer *t, struct err *e)
{
	for (size_t i = 0; i < w->n_timers; i++)
		if (w->timers[i] == t)
			return 0;
	if (w->n_timers == WAITER_TIMERS_MAX)
		return err_set(e, ERR_INTERNAL, ENOSPC, "waiter: more than %d timers",
			       WAITER_TIMERS_MAX);
	w->timers[w->n_timers++] = t;
	return 0;
}

void waiter_timer_cancel(struct waiter *w, const struct waiter_timer *t)
{
	for (size_t i = 0; i < w->n_timers; i++) {
		if (w->timers[i] != t)
			continue;
		w->timers[i] = w->timers[--w->n_timers];
		return;
	}
}

/* When the next timer is due, or until_ns if that is sooner. */
static nsec_t next_due(const struct waiter *w, nsec_t until_ns)
{
	for (size_t i = 0; i < w->n_timers; i++)
		if (w->timers[i]->at_ns < until_ns)
			until_ns = w->timers[i]->at_ns;
	return until_ns;
}

/* Fires what is due now, each timer once: one that sets itself again waits for the next turn. */
static void fire_timers(struct waiter *w)
{
	struct waiter_timer *due[WAITER_TIMERS_MAX];
	const nsec_t now_ns = waiter_now(w);
	size_t n = 0;

	for (size_t i = 0; i < w->n_timers; i++)
		if (w->timers[i]->at_ns <= now_ns)
			due[n++] = w->timers[i];
	for (size_t i = 0; i < n; i++) {
		/* an earlier one may have cancelled or moved it */
		for (size_t k = 0; k < w->n_timers; k++) {
			if (w->timers[k] != due[i] || due[i]->at_ns > now_ns)
				continue;
			waiter_timer_cancel(w, due[i]);
			due[i]->fire(due[i]->self);
			break;
		}
	}
}

static int stopped(struct err *e)
{
	return err_set(e, ERR_STOPPED, EINTR, "stopped by a signal");
}

/* One poll and the calls that follow from it. */
static int serve(struct waiter *w, nsec_t until_ns, struct err *e)
{
	struct pollfd fds[WAITER_SOURCES_MAX];
	size_t n = w->n;
	int r;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = w->sources[i].fd, .events = w->sources[i].events};
	r = w->ops.poll(w->ops.self, fds, n, until_ns);
	if (r == -EINTR)
		return 0;
	if (r < 0)
		return err_errno(e, ERR_INTERNAL, -r, "ppoll");
	for (size_t i = 0; r > 0 && i < n; i++) {
		struct waiter_source *src;

		if (!fds[i].revents)
			continue;
		/* an earlier callback may have removed it */
		src = find(w, fds[i].fd);
		if (!src)
			continue;

		int s = src->ready(src->self, fds[i].revents, e);

		if (s < 0)
			return s;
	}
	return 0;
}

int waiter_until(struct waiter *w, nsec_t until_ns, bool (*done)(void *arg), void *arg,
		 struct err *e)
{
	for (;;) {
		bool is_due;
		int r;

		if (stop_flag)
			return stopped(e);
		if (done && done(arg))
			return 1;
		is_due = waiter_now(w) >= until_ns;

		r = serve(w, is_due ? 0 : next_due(w, until_ns), e);
		if (r < 0)
			return r;
		fire_timers(w);
		if (is_due)
			return done && done(arg) ? 1 : 0;
	}
}

int waiter_sleep(struct waiter *w, nsec_t duration_ns, struct err *e)
{
	return waiter_until(w, waiter_now(w) + duration_ns, NULL, NULL, e);
}

static void on_stop(int sig)
{
	(void)sig;
	stop_flag = 1;
}

void waiter_catch_stop_signals(void)
{
	struct sigaction sa = {.sa_handler = on_stop};
	sigset_t block;

	if (is_catching)
		return;
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGINT);
	(void)sigaddset(&block, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &block, &mask_before);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	is_catching = true;
}

void waiter_restore_signals_in_child(void)
{
	if (is_catching)
		(void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

bool waiter_is_stopped(void)
{
	return stop_flag != 0;
}

void waiter_clear_stop(void)
{
	stop_flag = 0;
}

nsec_t wall_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return to_nsec(&ts);
}

char *wall_format(nsec_t wall_ns)
{
	time_t t = (time_t)(wall_ns / NSEC_PER_SEC);
	char text[32];
	struct tm tm;

	(void)gmtime_r(&t, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return xstrdup(text);
}

void wall_night(nsec_t wall_ns, nsec_t now_wall_ns, char ret[11])
{
	const nsec_t half_day_ns = 12 * 3600 * NSEC_PER_SEC;
	auto_free char *night = wall_format(wall_ns - half_day_ns);
	auto_free char *now = wall_format(now_wall_ns);

	(void)snprintf(ret, 11, "%.10s", strncmp(night, now, 5) == 0 ? night + 5 : night);
	if (strncmp(night, now, 5) == 0)
		ret[5] = '\0';
}
