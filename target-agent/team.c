/* SPDX-License-Identifier: GPL-2.0-or-later */
/* team.c - processes that start together. */
#include "team.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define STUCK_NS ((int64_t)5000 * 1000000)
#define LOOK_MS  20

static void kill_all(struct team *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!t->m[i].has_ended) {
			(void)kill(t->m[i].pid, SIGKILL);
			t->m[i].is_killed = true;
		}
}

/* How many have not ended yet. */
static unsigned look(struct team *t)
{
	unsigned left = 0;

	for (unsigned i = 0; i < t->n; i++) {
		struct team_member *m = &t->m[i];

		if (!m->has_ended && waitpid(m->pid, &m->status, WNOHANG) == m->pid)
			m->has_ended = true;
		left += !m->has_ended;
	}
	return left;
}

int team_start(struct team *t, unsigned n, void (*work)(void *arg, unsigned index), void *arg,
	       struct err *e)
{
	const pid_t parent = getpid();

	memset(t, 0, sizeof(*t));
	if (n < 1 || n > TEAM_MAX)
		return err_set(e, ERR_TARGET, ERANGE, "%u processes: 1 to %d are possible", n,
			       TEAM_MAX);
	if (pipe2(t->gate_fds, O_CLOEXEC) < 0)
		return err_errno(e, ERR_TARGET, errno, "pipe");
	for (; t->n < n; t->n++) {
		pid_t pid = fork();
		char c;

		if (pid < 0) {
			int code = errno;

			kill_all(t);
			team_wait(t, 0);
			(void)close(t->gate_fds[0]);
			(void)close(t->gate_fds[1]);
			return err_errno(e, ERR_TARGET, code, "fork of process %u", t->n + 1);
		}
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			(void)close(t->gate_fds[1]);
			while (read(t->gate_fds[0], &c, 1) < 0 && errno == EINTR)
				;
			work(arg, t->n);
			_exit(0);
		}
		t->m[t->n].pid = pid;
	}
	(void)close(t->gate_fds[0]);
	return 0;
}

int64_t team_go(struct team *t)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	/* end of file is what they wait for */
	(void)close(t->gate_fds[1]);
	return now_ns;
}

void team_wait(struct team *t, int64_t deadline_ns)
{
	while (look(t) && clock_ns(CLOCK_MONOTONIC) < deadline_ns)
		sleep_ms(LOOK_MS);
	if (!look(t))
		return;
	kill_all(t);
	deadline_ns = clock_ns(CLOCK_MONOTONIC) + STUCK_NS;
	while (look(t) && clock_ns(CLOCK_MONOTONIC) < deadline_ns)
		sleep_ms(LOOK_MS);
}

void team_answer(const struct team *t, struct answer *a)
{
	unsigned killed = 0, stuck = 0;

	for (unsigned i = 0; i < t->n; i++) {
		killed += t->m[i].is_killed;
		stuck += !t->m[i].has_ended;
	}
	answer_word(a, "killed", "%u", killed);
	answer_word(a, "stuck", "%u", stuck);
}
