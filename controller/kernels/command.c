/* SPDX-License-Identifier: GPL-2.0-or-later */
/* command.c - programs that build: their output in a log, and a user's own command for all of it.
 */
#include "base/child.h"
#include "base/fdio.h"
#include "kernels/private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define BUILD_NS    (12 * 3600 * NSEC_PER_SEC)
#define LOOK_NS     (5 * NSEC_PER_SEC) /* how often the progress line is renewed */
#define SKIP_STATUS 125                /* of a build command: as for git bisect run */

static bool has_ended(void *arg)
{
	return child_has_ended(arg, NULL);
}

/* The log's last line, "" if there is none yet or no log. */
static void last_line(int fd, char *ret, size_t cap)
{
	char tail[4096];
	struct stat st;
	off_t from;
	ssize_t n;
	char *at;

	*ret = '\0';
	if (fstat(fd, &st) < 0)
		return;
	from = st.st_size > (off_t)sizeof(tail) - 1 ? st.st_size - ((off_t)sizeof(tail) - 1) : 0;
	n = pread(fd, tail, sizeof(tail) - 1, from);
	while (n > 0 && tail[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	tail[n] = '\0';
	at = strrchr(tail, '\n');
	at = at ? at + 1 : tail;
	(void)snprintf(ret, cap, "%s", at + strspn(at, " "));
}

static int pidfd_ready(void *self, short revents, struct err *e)
{
	(void)self;
	(void)revents;
	(void)e;
	return 0;
}

int kernels_run_logged(const struct kernels_ctx *ctx, const struct child_cfg *program,
		       const char *name, const char *log, nsec_t timeout_ns, int *ret_status,
		       struct err *e)
{
	auto_fd int fd = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	struct child_cfg cfg = *program;
	nsec_t until = waiter_now(ctx->w) + timeout_ns;
	struct waiter_source src = {.events = POLLIN, .ready = pidfd_ready};
	auto_child struct child *child = NULL;
	char shown[200] = "";
	char line[200];
	int status = 0;
	int r;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", log);
	cfg.stdin_fd = -1;
	cfg.stdout_fd = fd;
	cfg.stderr_fd = fd;
	cfg.dies_with_parent = true;
	r = child_start(&cfg, &child, e);
	if (r < 0)
		return r;
	src.fd = child_pidfd(child);
	r = waiter_add(ctx->w, &src, e);
	if (r < 0)
		return r;
	do {
		nsec_t look = waiter_now(ctx->w) + LOOK_NS;

		r = waiter_until(ctx->w, look < until ? look : until, has_ended, child, e);
		last_line(fd, line, sizeof(line));
		if (r == 0 && strcmp(line, shown) != 0) {
			kernels_progress(ctx, "building %s: %s", name, line);
			memcpy(shown, line, sizeof(shown));
		}
	} while (r == 0 && waiter_now(ctx->w) < until);
	waiter_remove(ctx->w, src.fd);
	if (r < 0) {
		(void)child_stop(child, ctx->w, NSEC_PER_SEC);
		return r;
	}
	if (!child_has_ended(child, &status)) {
		(void)child_stop(child, ctx->w, NSEC_PER_SEC);
		return err_set(e, ERR_INTERNAL, ETIMEDOUT, "%s: not done within %lld s",
			       cfg.argv[0], (long long)(timeout_ns / NSEC_PER_SEC));
	}
	if (ret_status)
		*ret_status = status;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, ERR_KERNEL, ECHILD, "%s failed", cfg.argv[0]);
}

/* ---- a user's own command ---- */

static int run_command(const struct kernels_ctx *ctx, const struct kernel_command_cfg *cfg,
		       int *ret_status, struct err *e)
{
	const char *const argv[] = {"sh", "-c", cfg->command, NULL};
	auto_free char *commit = xasprintf("STALLRIG_COMMIT=%s", cfg->commit);
	auto_free char *name = xasprintf("STALLRIG_NAME=%s", cfg->name);
	auto_free char *out = xasprintf("STALLRIG_OUT=%s", cfg->out);
	auto_free char *config = xasprintf("STALLRIG_CONFIG=%s", cfg->config ? cfg->config : "");
	const char *const env[] = {commit, name, out, config, NULL};
	const struct child_cfg child = {.argv = argv, .cwd = cfg->tree, .env = env};

	(void)unlink(cfg->log);
	return kernels_run_logged(ctx, &child, cfg->name, cfg->log, BUILD_NS, ret_status, e);
}

/* The last line of the log is what a command says about its own failure. */
static int explain_failure(const char *log, struct err *e)
{
	auto_fd int fd = open(log, O_RDONLY | O_CLOEXEC);
	char line[161];

	last_line(fd, line, sizeof(line));
	if (!*line)
		return err_set(e, ERR_KERNEL, ECHILD, "the build command failed (its output: %s)",
			       log);
	return err_set(e, ERR_KERNEL, ECHILD, "the build command failed: %s (all of it: %s)", line,
		       log);
}

static int judge_status(const struct kernel_command_cfg *cfg, int status, struct err *e)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	if (code >= 128)
		return err_set(e, ERR_USAGE, ECANCELED,
			       "the build command wants all to stop (status %d), see %s", code,
			       cfg->log);
	if (code == SKIP_STATUS)
		return err_set(e, ERR_KERNEL, ECHILD, "the build command skips it (125)");
	return explain_failure(cfg->log, e);
}

int kernel_build_by_command(const struct kernels_ctx *ctx, const struct kernel_command_cfg *cfg,
			    struct kernel_build **ret, struct err *e)
{
	const char *paths[] = {cfg->out};
	const struct kernel_add_cfg add = {.name = cfg->name, .paths = paths, .n_paths = 1};
	auto_kernel_build struct kernel_build *k = NULL;
	int status = 0;
	int r;

	r = dir_remove(cfg->out, e);
	if (r >= 0)
		r = dir_make(cfg->out, e);
	if (r >= 0)
		r = run_command(ctx, cfg, &status, e);
	if (r == -ECHILD)
		return judge_status(cfg, status, e);
	if (r < 0)
		return r;
	/* made in the tree itself if nothing was put into $STALLRIG_OUT */
	if (rmdir(cfg->out) == 0)
		paths[0] = cfg->tree;
	r = kernel_add(ctx, &add, &k, e);
	if (r < 0)
		return err_wrap(e, "the build command left no kernel");
	free(k->commit);
	k->commit = xstrdup(cfg->commit);
	r = kernel_build_save(k, k->dir, e);
	if (r >= 0)
		r = kernel_probe_ensure(ctx, k, e);
	if (r < 0 && e->kind == ERR_KERNEL) {
		struct err ignored = {0};

		/* what cannot be tested does not stay */
		(void)!kernel_remove(ctx, cfg->name, &ignored);
	}
	if (r < 0)
		return r;
	*ret = take(k);
	return 0;
}
