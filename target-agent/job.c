/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - verbs that may block run in a forked worker; their answers come through a pipe. */
#include "agent.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* In the worker: "<kind><body>\n", whole lines only. */
static void write_piece(void *self, enum answer_kind kind, const char *body)
{
	const int *fd = self;
	char line[FRAME_MAX];
	int n = snprintf(line, sizeof(line), "%c%s\n", (char)kind, body);

	for (int at = 0; at < n;) {
		ssize_t w = write(*fd, line + at, (size_t)(n - at));

		if (w < 0 && errno != EINTR)
			_exit(1);
		if (w > 0)
			at += (int)w;
	}
}

/* A standard stream stays open, or the next file would take its number. */
static void let_go(int fd)
{
	int null_fd;

	if (fd > STDERR_FILENO) {
		(void)close(fd);
		return;
	}
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)dup2(null_fd, fd);
	(void)close(null_fd);
}

static void work(const struct verb *v, const struct frame *f, const char *root, int fd)
{
	struct answer a = {.sink = write_piece, .self = &fd};
	struct request rq = {.frame = f, .root = root, .answer = &a};
	struct err e = {0};
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	answer_end(&a, v->run(&rq, &e), &e);
}

int job_start(struct job *j, const struct verb *v, const struct frame *f, const char *root,
	      const int *close_fds, size_t n, struct err *e)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(e, ERR_TARGET, errno, "%s: pipe", v->name);
	pid = fork();
	if (pid < 0) {
		int code = errno;

		(void)close(fds[0]);
		(void)close(fds[1]);
		return err_errno(e, ERR_TARGET, code, "%s: fork", v->name);
	}
	if (pid == 0) {
		(void)close(fds[0]);
		for (size_t i = 0; i < n; i++)
			if (close_fds[i] >= 0)
				let_go(close_fds[i]);
		work(v, f, root, fds[1]);
		_exit(0);
	}
	(void)close(fds[1]);
	/* also here: a kill must not come before the worker has its group */
	(void)setpgid(pid, pid);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	j->pid = pid;
	j->fd = fds[0];
	j->has_answered = false;
	j->len = 0;
	return 0;
}

void job_kill(struct job *j)
{
	if (!j->pid)
		return;
	(void)kill(-j->pid, SIGKILL);
	/* a worker that hangs in the kernel ends when the kernel lets it: core.c reaps it then */
	(void)close(j->fd);
	j->pid = 0;
	j->fd = -1;
}

/* A complete line of the worker. */
static void take_line(struct job *j, answer_sink_fn sink, void *self)
{
	enum answer_kind kind = (enum answer_kind)j->line[0];

	j->line[j->len] = '\0';
	j->len = 0;
	if (kind == ANSWER_OK || kind == ANSWER_ERR)
		j->has_answered = true;
	sink(self, kind, j->line + 1);
}

static void ended_silently(int status, answer_sink_fn sink, void *self)
{
	char text[128];
	char body[512];
	size_t n;

	if (WIFSIGNALED(status))
		(void)snprintf(text, sizeof(text), "the worker was killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(text, sizeof(text), "the worker ended without an answer");
	n = (size_t)snprintf(body, sizeof(body), "ECHILD ");
	(void)frame_encode_word(text, body + n, sizeof(body) - n);
	sink(self, ANSWER_ERR, body);
}

bool job_serve(struct job *j, answer_sink_fn sink, void *self)
{
	char buf[4096];
	int status = 0;
	ssize_t n;

	n = read(j->fd, buf, sizeof(buf));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] == '\n')
			take_line(j, sink, self);
		else if (j->len < sizeof(j->line) - 1)
			j->line[j->len++] = buf[i];
	}
	if (n > 0)
		return false;

	(void)waitpid(j->pid, &status, 0);
	(void)close(j->fd);
	j->pid = 0;
	j->fd = -1;
	if (!j->has_answered)
		ended_silently(status, sink, self);
	return true;
}
