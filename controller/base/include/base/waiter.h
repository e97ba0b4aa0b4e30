/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waiter.h - the one place where time is read and where the process waits.
 *
 * Everything that can bring news (console, QMP, agent link, a child's pidfd) is registered as a
 * source. Whoever needs something calls waiter_until() with a predicate; while it waits, all
 * sources are served, so the console is recorded no matter what the caller waits for. Tests hand
 * in their own clock and poll.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC unless a name says wall_.
 */
#pragma once

#include "base/err.h"

#include <poll.h>
#include <stdbool.h>

typedef int64_t nsec_t;

#define NSEC_PER_USEC ((nsec_t)1000)
#define NSEC_PER_MSEC ((nsec_t)1000000)
#define NSEC_PER_SEC  ((nsec_t)1000000000)
#define NSEC_FOREVER  INT64_MAX

struct waiter;

struct waiter_ops {
	nsec_t (*now)(void *self);
	/* As ppoll(2): number of ready fds, 0 at until_ns, -errno (-EINTR allowed). */
	int (*poll)(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns);
	void *self;
};

struct waiter_source {
	int fd;       /* not owned */
	short events; /* POLLIN, POLLOUT */
	/* Called with the fd's revents. May add and remove sources. A negative return ends the
	   running waiter_until() with that error. */
	int (*ready)(void *self, short revents, struct err *e);
	void *self;
};

#define WAITER_SOURCES_MAX 64

/* Something to be done at a time, whoever waits for whatever. Owned by its user. */
struct waiter_timer {
	nsec_t at_ns;
	/* Called once, from inside a wait, when at_ns has come; may set the timer again. */
	void (*fire)(void *self);
	void *self;
};

#define WAITER_TIMERS_MAX 16

/* ops NULL = the machine's clock and ppoll(). */
struct waiter *waiter_new(const struct waiter_ops *ops);
void waiter_free(struct waiter *w);
DEFINE_AUTO(waiter, struct waiter *, waiter_free)
#define auto_waiter AUTO(waiter)

nsec_t waiter_now(const struct waiter *w);

/* One source per fd; -ENOSPC beyond WAITER_SOURCES_MAX, -EEXIST for a known fd (ERR_INTERNAL). */
int waiter_add(struct waiter *w, const struct waiter_source *src, struct err *e) must_check;
/* Changes the events of a known fd; unknown fds are ignored. */
void waiter_set_events(struct waiter *w, int fd, short events);
/* Forgets the fd; unknown fds are ignored. */
void waiter_remove(struct waiter *w, int fd);

/* Sets the timer to t->at_ns, anew if it was set. -ENOSPC beyond WAITER_TIMERS_MAX (ERR_INTERNAL).
 */
int waiter_timer_set(struct waiter *w, struct waiter_timer *t, struct err *e) must_check;
/* A timer that is not set is ignored. */
void waiter_timer_cancel(struct waiter *w, const struct waiter_timer *t);

/*
 * Serves the sources until done(arg) is true (returns 1) or until_ns has come (returns 0).
 * done may be NULL: then it waits for the time alone. Negative: a source's error, or
 * ERR_STOPPED/-EINTR once a stop was asked for. done is asked before the first wait.
 */
int waiter_until(struct waiter *w, nsec_t until_ns, bool (*done)(void *arg), void *arg,
		 struct err *e) must_check;
/* waiter_until() for a duration, without a predicate. 0 or negative. */
int waiter_sleep(struct waiter *w, nsec_t duration_ns, struct err *e) must_check;

/*
 * Routes SIGINT and SIGTERM to a flag that ends every wait with ERR_STOPPED. The signals stay
 * blocked except inside ppoll(), so none is lost between a check and a wait. Once per process.
 */
void waiter_catch_stop_signals(void);
/* Signal mask that was in force before waiter_catch_stop_signals(): children must restore it. */
void waiter_restore_signals_in_child(void);
/* True once a stop signal came. */
bool waiter_is_stopped(void);
/* Clean-up after a stop needs to wait too: forgets the stop until the next signal. */
void waiter_clear_stop(void);

/* Wall clock, for names and report headers only. */
nsec_t wall_now(void);
/* "2026-11-30T11:17:54Z" of a wall time. */
char *wall_format(nsec_t wall_ns);
/* The night in which wall_ns lies begins at noon UTC of "11-28" (with the year if it is not now's).
   ret has room for 11 bytes. */
void wall_night(nsec_t wall_ns, nsec_t now_wall_ns, char ret[11]);
