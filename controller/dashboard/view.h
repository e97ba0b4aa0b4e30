/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.h - what runs say side by side: who got worse, and the matrix of kernels and rigs. Pure. */
#pragma once

#include "trial/trial.h"

/* Newest first, as the store gives them; owned. */
struct run_list {
	struct run **runs;
	size_t n;
};

void run_list_release(struct run_list *l);

static inline void auto_cleanup_run_list(struct run_list *l)
{
	run_list_release(l);
}
#define auto_run_list __attribute__((cleanup(auto_cleanup_run_list)))

/*
 * What of a kernel tells it from its neighbours: "6.1.192-3" of "… Debian 6.1.192-3 (2026-11-26)",
 * else the release; with what was added to the command line. Caller frees.
 */
char *view_kernel_name(const struct run *r);
/* The same without what was added to the command line. Caller frees. */
char *view_kernel_version(const struct run *r);
/* "board/unplug-read/rig": which trend has the run. Caller frees. */
char *view_trend_name(const struct run *r);

/*
 * A series is what may be compared over time: the same scenario, limit, rig, kernel series
 * (the first two numbers of the release, the flavour behind it) and command line.
 */
bool view_is_same_series(const struct run *a, const struct run *b);
/* The same on whatever rig. */
bool view_is_same_kernel_series(const struct run *a, const struct run *b);

enum change_kind {
	CHANGE_WORSE,  /* FAIL now, PASS before */
	CHANGE_BETTER, /* PASS now, FAIL before */
	CHANGE_BAD,    /* FAIL now and as long as is known */
};

/* What the newest judged run of a series (PASS or FAIL) says beside the ones before it. */
struct change {
	enum change_kind kind;
	const struct run *now;   /* newest judged run */
	const struct run *since; /* first run of the unbroken row of this verdict */
	const struct run *was;   /* last judged run before it; NULL for CHANGE_BAD */
};

struct change_list {
	struct change *changes; /* by kind, in it the newest `since` first */
	size_t n;
};

/* runs: newest first. ret's entries point into it; caller frees ret->changes. */
void view_changes(const struct run_list *runs, struct change_list *ret);

/* The newest runs that have ended, of one scenario, limit and rig class. */
struct matrix {
	const struct run *of; /* has the scenario, limit and class */
	/* a run of each kernel: first the newest build of each series, then the older ones; each
	   part newest first */
	const struct run **rows;
	size_t n_rows;
	size_t n_newest;   /* rows of the first part */
	const char **cols; /* names of rigs, sorted */
	size_t n_cols;
	const struct run **cells; /* [row * n_cols + col]; NULL = not tested */
};

struct matrix_list {
	struct matrix *matrices;
	size_t n;
};

void view_matrices(const struct run_list *runs, struct matrix_list *ret);
void matrix_list_release(struct matrix_list *l);

static inline void auto_cleanup_matrix_list(struct matrix_list *l)
{
	matrix_list_release(l);
}
#define auto_matrix_list __attribute__((cleanup(auto_cleanup_matrix_list)))

/* The same kernel build and command line. */
bool view_is_same_kernel(const struct run *a, const struct run *b);
