/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * team.h - a load made of processes that start together and are ended if they do not end. Used in a
 * forked worker of the agent, so it may block.
 */
#pragma once

#include "agent.h"

#define TEAM_MAX 512

struct team_member {
	pid_t pid;  /* 0 = none */
	int status; /* of wait(2), once it has ended */
	bool has_ended;
	bool is_killed; /* it had to be */
};

struct team {
	struct team_member m[TEAM_MAX];
	unsigned n;
	int gate_fds[2];
};

/*
 * Forks n processes that wait at a gate and then run work(arg, index) and end with status 0. All of
 * them wait when this returns. On an error none is left.
 */
int team_start(struct team *t, unsigned n, void (*work)(void *arg, unsigned index), void *arg,
	       struct err *e) must_check;
/* Opens the gate; returns when that was (CLOCK_MONOTONIC). */
int64_t team_go(struct team *t);
/*
 * Waits until all have ended. Those that have not at deadline_ns are killed, and left alone if the
 * kernel does not let them go within 5 s (they are stuck).
 */
void team_wait(struct team *t, int64_t deadline_ns);
/* killed=N stuck=N: N of them had to be killed; N of these are still there. */
void team_answer(const struct team *t, struct answer *a);
