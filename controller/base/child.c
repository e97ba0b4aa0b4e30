/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child.c - start, watch and end other programs. */
#include "base/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct child {
	pid_t pid;
	int pidfd;
	bool has_ended;
	int status;
};

/* glibc 2.36 has no wrapper that takes an arbitrary pid before reaping safely on all kernels */
static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int dup_onto(int fd, int target)
{
	if (fd < 0) {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -1;
	}
	/* dup2 onto itself would keep O_CLOEXEC */
	if (fd == target)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, target);
}

/* In the child. Returns only on failure, with errno set. */
static void exec_in_child(const struct child_cfg *cfg, pid_t parent)
{
	waiter_restore_signals_in_child();
	(void)signal(SIGPIPE, SIG_DFL);
	(void)setpgid(0, 0);
	if (cfg->dies_with_parent) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			return;
		/* the parent may have died before the prctl */
		if (getppid() != parent)
			_exit(1);
	}
	if (dup_onto(cfg->stdin_fd, 0) < 0 || dup_onto(cfg->stdout_fd, 1) < 0 ||
	    dup_onto(cfg->stderr_fd, 2) < 0)
		return;
	if (cfg->cwd && chdir(cfg->cwd) < 0)
		return;
	for (const char *const *v = cfg->env; v && *v; v++)
		(void)putenv(xstrdup(*v));
	execvp(cfg->argv[0], (char *const *)(uintptr_t)cfg->argv);
}

int child_start(const struct child_cfg *cfg, struct child **ret, struct err *e)
{
	pid_t parent = getpid();
	struct child *c;
	int code = 0;
	int sync[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(sync, O_CLOEXEC) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: pipe", cfg->argv[0]);
	pid = fork();
	if (pid < 0) {
		code = errno;
		close(sync[0]);
		close(sync[1]);
		return err_errno(e, ERR_INTERNAL, code, "%s: fork", cfg->argv[0]);
	}
	if (pid == 0) {
		exec_in_child(cfg, parent);
		code = errno;
		(void)!write(sync[1], &code, sizeof(code));
		_exit(127);
	}
	close(sync[1]);
	do {
		n = read(sync[0], &code, sizeof(code));
	} while (n < 0 && errno == EINTR);
	close(sync[0]);
	if (n == (ssize_t)sizeof(code)) {
		(void)waitpid(pid, NULL, 0);
		/* EACCES: a folder of PATH that this user may not look into, and not in the others
		 */
		if (code == ENOENT || (code == EACCES && !strchr(cfg->argv[0], '/')))
			return err_set(e, ERR_RIG, ENOENT, "program '%s' is not installed",
				       cfg->argv[0]);
		return err_errno(e, ERR_RIG, code, "program '%s' cannot be started", cfg->argv[0]);
	}

	c = xcalloc(1, sizeof(*c));
	c->pid = pid;
	c->pidfd = open_pidfd(pid);
	if (c->pidfd < 0) {
		code = errno;
		child_free(c);
		return err_errno(e, ERR_INTERNAL, code, "%s: pidfd_open", cfg->argv[0]);
	}
	(void)fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
	*ret = c;
	return 0;
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

int child_pidfd(const struct child *c)
{
	return c->pidfd;
}

static void reap(struct child *c, int options)
{
	pid_t r;

	do {
		r = waitpid(c->pid, &c->status, options);
	} while (r < 0 && errno == EINTR);
	if (r != 0)
		c->has_ended = true;
}

bool child_has_ended(struct child *c, int *ret_status)
{
	if (!c->has_ended)
		reap(c, WNOHANG);
	if (c->has_ended && ret_status)
		*ret_status = c->status;
	return c->has_ended;
}

void child_kill(struct child *c, int sig)
{
	if (c->has_ended)
		return;
	/* the group may not exist yet when the child has not run so far */
	if (kill(-c->pid, sig) < 0)
		(void)kill(c->pid, sig);
}

static bool ended(void *arg)
{
	return child_has_ended(arg, NULL);
}

static int wake_only(void *self, short revents, struct err *e)
{
	(void)self;
	(void)revents;
	(void)e;
	return 0;
}

int child_wait(struct child *c, struct waiter *w, nsec_t until_ns, struct err *e)
{
	struct waiter_source src = {.fd = c->pidfd, .events = POLLIN, .ready = wake_only};
	int r;

	r = waiter_add(w, &src, e);
	if (r < 0)
		return r == -EEXIST ? waiter_until(w, until_ns, ended, c, e) : r;
	r = waiter_until(w, until_ns, ended, c, e);
	waiter_remove(w, c->pidfd);
	return r;
}

int child_stop(struct child *c, struct waiter *w, nsec_t grace_ns)
{
	struct err ignored = {0};

	if (!child_has_ended(c, NULL)) {
		child_kill(c, SIGTERM);
		if (child_wait(c, w, waiter_now(w) + grace_ns, &ignored) != 1)
			child_kill(c, SIGKILL);
		if (!c->has_ended)
			reap(c, 0);
	}
	return c->status;
}

void child_free(struct child *c)
{
	int saved = errno;

	if (!c)
		return;
	if (!child_has_ended(c, NULL)) {
		child_kill(c, SIGKILL);
		reap(c, 0);
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c);
	errno = saved;
}

char *child_status_text(int status)
{
	if (WIFSIGNALED(status))
		return xasprintf("killed by signal %d (%s)", WTERMSIG(status),
				 sigdescr_np(WTERMSIG(status)));
	return xasprintf("exit status %d", WEXITSTATUS(status));
}

struct drain {
	struct waiter *w;
	int fd;            /* owned; -1 after end of file */
	struct strbuf *sb; /* NULL = read and forget */
	size_t max;
	bool keeps_tail; /* when full, drop the oldest bytes and not the new ones */
};

static void drain_close(struct drain *d)
{
	if (d->fd < 0)
		return;
	waiter_remove(d->w, d->fd);
	close(d->fd);
	d->fd = -1;
}

static int drain_ready(void *self, short revents, struct err *e)
{
	struct drain *d = self;
	char bytes[8192];
	size_t keep;
	ssize_t n;

	(void)revents;
	n = read(d->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_errno(e, ERR_INTERNAL, errno, "read from a child");
	if (n == 0) {
		drain_close(d);
		return 0;
	}
	if (!d->sb)
		return 0;

	keep = (size_t)n;
	if (!d->keeps_tail && keep > d->max - d->sb->len)
		keep = d->max - d->sb->len;
	strbuf_add(d->sb, bytes, keep);
	if (d->sb->len > d->max)
		strbuf_consume(d->sb, d->sb->len - d->max);
	return 0;
}

static int drain_open(struct drain *d, int *ret_write_fd, struct err *e)
{
	struct waiter_source src = {.events = POLLIN, .ready = drain_ready, .self = d};
	int p[2];
	int r;

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "pipe");
	(void)fcntl(p[0], F_SETFL, O_NONBLOCK);
	src.fd = p[0];
	r = waiter_add(d->w, &src, e);
	if (r < 0) {
		close(p[0]);
		close(p[1]);
		return r;
	}
	d->fd = p[0];
	*ret_write_fd = p[1];
	return 0;
}

#define STDERR_TAIL_MAX 600
#define LEFTOVERS_NS    (1 * NSEC_PER_SEC) /* for streams that somebody else keeps open */

struct run_state {
	struct waiter *w;
	struct child *c;
	struct drain out;
	struct drain err;
};

/* A pidfd stays readable for ever: one report is enough. */
static int run_child_ended(void *self, short revents, struct err *e)
{
	struct run_state *st = self;

	(void)revents;
	(void)e;
	waiter_remove(st->w, child_pidfd(st->c));
	return 0;
}

static bool run_has_ended(void *arg)
{
	struct run_state *st = arg;

	return child_has_ended(st->c, NULL);
}

static bool run_is_read(void *arg)
{
	struct run_state *st = arg;

	return st->out.fd < 0 && st->err.fd < 0;
}

/* 1 = it has ended and all that it said was read, 0 = not in time. */
static int run_to_its_end(struct run_state *st, nsec_t until_ns, struct err *e)
{
	nsec_t read_ns;
	int r;

	r = waiter_until(st->w, until_ns, run_has_ended, st, e);
	if (r <= 0)
		return r;
	read_ns = waiter_now(st->w) + LEFTOVERS_NS;
	r = waiter_until(st->w, read_ns, run_is_read, st, e);
	return r < 0 ? r : 1;
}

/* "line one; line two" of what the program said last. */
static void join_lines(struct strbuf *sb)
{
	while (sb->len && (sb->data[sb->len - 1] == '\n' || sb->data[sb->len - 1] == ' '))
		sb->data[--sb->len] = '\0';
	for (size_t i = 0; i < sb->len; i++)
		if (sb->data[i] == '\n')
			sb->data[i] = ';';
}

int child_ask(struct waiter *w, const struct child_cfg *cfg, nsec_t timeout_ns,
	      struct strbuf *ret_out, struct err *e)
{
	struct waiter_source end = {.events = POLLIN, .ready = run_child_ended};
	auto_strbuf struct strbuf said = STRBUF_INIT;
	auto_child struct child *c = NULL;
	struct run_state st = {
		.w = w,
		.out = {.w = w, .fd = -1, .sb = ret_out, .max = CHILD_OUTPUT_MAX},
		.err = {.w = w, .fd = -1, .sb = &said, .max = STDERR_TAIL_MAX, .keeps_tail = true},
	};
	struct child_cfg piped = *cfg;
	auto_fd int out_fd = -1;
	auto_fd int err_fd = -1;
	auto_free char *how = NULL;
	int status = 0;
	int r;

	r = drain_open(&st.out, &out_fd, e);
	if (r < 0)
		return err_wrap(e, "%s", cfg->argv[0]);
	r = drain_open(&st.err, &err_fd, e);
	if (r < 0)
		goto out;
	piped.stdout_fd = out_fd;
	piped.stderr_fd = err_fd;
	r = child_start(&piped, &c, e);
	if (r < 0)
		goto out;
	close(out_fd);
	out_fd = -1;
	close(err_fd);
	err_fd = -1;

	st.c = c;
	end.fd = child_pidfd(c);
	end.self = &st;
	r = waiter_add(w, &end, e);
	if (r < 0)
		goto out;
	r = run_to_its_end(&st, waiter_now(w) + timeout_ns, e);
	waiter_remove(w, end.fd);
	if (r < 0)
		goto out;
	if (r == 0) {
		join_lines(&said);
		r = err_set(e, ERR_INTERNAL, ETIMEDOUT, "%s: not done within %lld s%s%s",
			    cfg->argv[0], (long long)(timeout_ns / NSEC_PER_SEC),
			    said.len ? ": " : "", strbuf_str(&said));
		goto out;
	}
	(void)child_has_ended(c, &status);
	r = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		join_lines(&said);
		how = child_status_text(status);
		r = err_set(e, ERR_INTERNAL, ECHILD, "%s: %s: %s", cfg->argv[0], how,
			    said.len ? strbuf_str(&said) : "no message");
	}
	if (WIFEXITED(status))
		r = WEXITSTATUS(status);
out:
	drain_close(&st.out);
	drain_close(&st.err);
	return r;
}

int child_run(struct waiter *w, const struct child_cfg *cfg, nsec_t timeout_ns,
	      struct strbuf *ret_out, struct err *e)
{
	int r = child_ask(w, cfg, timeout_ns, ret_out, e);

	return r > 0 ? -ECHILD : r;
}
