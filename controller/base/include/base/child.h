/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child.h - other programs: run one to its end, or keep one running and end it by its pid. */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"

#include <sys/types.h>

struct child;

struct child_cfg {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated */
	const char *cwd;         /* NULL = this process's */
	const char *const *env;  /* extra "NAME=value" strings, NULL-terminated; may be NULL */
	int stdin_fd;            /* -1 = /dev/null */
	int stdout_fd;           /* -1 = /dev/null */
	int stderr_fd;           /* -1 = /dev/null */
	bool dies_with_parent;   /* PR_SET_PDEATHSIG(SIGKILL): no orphan even after kill -9 */
};

/*
 * Starts the program in a process group of its own. -ENOENT names a program that is not
 * installed (kind ERR_RIG). Must be called from the thread that lives as long as the process.
 */
int child_start(const struct child_cfg *cfg, struct child **ret, struct err *e) must_check;
pid_t child_pid(const struct child *c);
/* Readable (POLLIN) once the child has ended; belongs to the child. */
int child_pidfd(const struct child *c);
/* True once ended; *ret_status (may be NULL) is as from waitpid(2). Does not block. */
bool child_has_ended(struct child *c, int *ret_status);
/* Waits until the child has ended (1) or until_ns has come (0). Negative: waiter_until()'s. */
int child_wait(struct child *c, struct waiter *w, nsec_t until_ns, struct err *e) must_check;
/* Sends sig to the child's process group. */
void child_kill(struct child *c, int sig);
/* SIGTERM, up to grace_ns of waiting, then SIGKILL; always reaps. Returns the wait status. */
int child_stop(struct child *c, struct waiter *w, nsec_t grace_ns);
/* SIGKILL if still running, reap, free. Accepts NULL. */
void child_free(struct child *c);
DEFINE_AUTO(child, struct child *, child_free)
#define auto_child AUTO(child)

/* "exit status 2", "killed by signal 9 (Killed)". Caller frees. */
char *child_status_text(int status);

/* What child_run() keeps of each stream; the rest is read and thrown away. */
#define CHILD_OUTPUT_MAX (16u << 20)

/*
 * Runs the program to its end within timeout_ns while the waiter's sources go on being served.
 * cfg's stdout_fd and stderr_fd are ignored: stdout goes to ret_out (may be NULL), the last
 * lines of stderr into the error text. What the program leaves running may keep both: they are read
 * for a second after its end. Returns 0 only for exit status 0; a program that ended
 * otherwise gives -ECHILD with kind ERR_INTERNAL, a time-out -ETIMEDOUT with what it said so far.
 */
int child_run(struct waiter *w, const struct child_cfg *cfg, nsec_t timeout_ns,
	      struct strbuf *ret_out, struct err *e) must_check;
/*
 * child_run() of a program whose exit status is an answer: returns it, 0 to 255; if it is not 0, e
 * is what child_run() would say of it. Negative as child_run(), -ECHILD for an end by a signal.
 */
int child_ask(struct waiter *w, const struct child_cfg *cfg, nsec_t timeout_ns,
	      struct strbuf *ret_out, struct err *e) must_check;
