/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wqdump.h - the kernel's list of busy workqueues ("Showing busy workqueues and worker pools:"), as
 * printed after a workqueue lockup and by sysrq-t, read into structure. Formats of 4.x to 7.x.
 * Pure; one dump is at most the size of struct wqdump, whatever comes.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

#define WQDUMP_PWQS_MAX   192
#define WQDUMP_POOLS_MAX  96
#define WQDUMP_WORKS_MAX  768
#define WQDUMP_TRACES_MAX 24
#define WQDUMP_FRAMES_MAX 12
#define WQDUMP_NAME_MAX   64

struct wqdump_attrs {
	char cpus[32]; /* "0", "0-3"; "" unknown */
	int node;      /* -1: unbound to a node, or unknown */
	unsigned flags;
	int nice;   /* -20: highpri */
	bool is_bh; /* a bottom-half pool, 6.9+ */
};

enum wqdump_work_kind { WQDUMP_IN_FLIGHT, WQDUMP_PENDING, WQDUMP_INACTIVE };

struct wqdump_work {
	enum wqdump_work_kind kind;
	size_t pwq;                 /* index */
	char func[WQDUMP_NAME_MAX]; /* "BAR" for a flush barrier */
	int64_t count;              /* 15*func counts 15, func printed 15 times is 15 works of 1 */
	int pid;         /* of an in-flight work's worker, or a barrier's waiter; -1 none */
	int64_t seconds; /* "for 72s" of 7.0+; INT64_MIN if not printed */
	bool is_rescuer;
};

struct wqdump_pwq {
	char wq[WQDUMP_NAME_MAX];
	unsigned wq_flags;
	int pool; /* id */
	struct wqdump_attrs attrs;
	int active;
	int max_active; /* -1: not printed (6.9+) */
	int refcnt;     /* -1: not printed (< 4.19) */
	bool is_mayday;
	int64_t in_flight; /* works of each kind, counted from the lists */
	int64_t pending;
	int64_t inactive;
};

struct wqdump_pool {
	int pool; /* id */
	struct wqdump_attrs attrs;
	int64_t hung_s; /* INT64_MIN: not printed */
	int workers;
	int manager; /* pid; -1 none */
	int idle;    /* how many idle workers are listed */
};

struct wqdump_trace {
	int pool; /* id; -1 unknown */
	char comm[WQDUMP_NAME_MAX];
	int pid;                                         /* -1 unknown */
	char frames[WQDUMP_FRAMES_MAX][WQDUMP_NAME_MAX]; /* innermost first */
	size_t n_frames;
};

struct wqdump {
	struct wqdump_pwq pwqs[WQDUMP_PWQS_MAX];
	size_t n_pwqs;
	struct wqdump_pool pools[WQDUMP_POOLS_MAX];
	size_t n_pools;
	struct wqdump_work works[WQDUMP_WORKS_MAX];
	size_t n_works;
	struct wqdump_trace traces[WQDUMP_TRACES_MAX];
	size_t n_traces;
	bool is_truncated; /* there was more than fits, or a name was cut */

	/* where the reader is */
	char wq[WQDUMP_NAME_MAX];
	unsigned wq_flags;
	enum { WQDUMP_AT_NONE, WQDUMP_AT_PWQ, WQDUMP_AT_LIST, WQDUMP_AT_POOL } at;
	enum wqdump_work_kind list;
	bool has_pwq; /* the last pwq is stored; false when there was no room for it */
	bool in_traces;
	int trace_pool;
};

/* An empty dump; rows at and behind the counters stay undefined. */
void wqdump_init(struct wqdump *d);
/*
 * Reads one message text (without envelope). False if it is no part of a dump; such lines may
 * stand between. The head line itself is not part of it.
 */
bool wqdump_line(struct wqdump *d, const char *text, size_t len);
/* True for a text that starts a dump. */
bool wqdump_is_head(const char *text, size_t len);

/* The in-flight work that most likely holds up the pool, or NULL: of the pool with that id. */
const struct wqdump_work *wqdump_culprit(const struct wqdump *d, int pool);
