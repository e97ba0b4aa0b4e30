/* SPDX-License-Identifier: GPL-2.0-or-later */
/* git.c - git as a program. */
#include "kernels/git.h"

#include "base/child.h"

#include <string.h>

#define GIT_NS (3600 * NSEC_PER_SEC)

int git_ask(struct waiter *w, const char *dir, const char *const *args, struct strbuf *ret_out,
	    struct err *e)
{
	static const char *const env[] = {"LC_ALL=C", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0",
					  NULL};
	const char *argv[64] = {"git", "-C", dir};
	struct child_cfg cfg = {
		.argv = argv,
		.env = env,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.dies_with_parent = true,
	};
	size_t n = 3;

	while (*args && n < ARRAY_SIZE(argv) - 1)
		argv[n++] = *args++;
	return child_ask(w, &cfg, GIT_NS, ret_out, e);
}

int git_run(struct waiter *w, const char *dir, const char *const *args, struct strbuf *ret_out,
	    struct err *e)
{
	int r = git_ask(w, dir, args, ret_out, e);

	return r > 0 ? -ECHILD : r;
}

int git_commit_of(struct waiter *w, const char *repo, const char *rev, char **ret, struct err *e)
{
	auto_free char *what = xasprintf("%s^{commit}", rev);
	const char *const args[] = {"rev-parse", "--verify", "--end-of-options", what, NULL};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	int r;

	r = git_run(w, repo, args, &out, e);
	if (r == -ECHILD) {
		auto_free char *why = xstrdup(e->text);

		return err_set(e, ERR_USAGE, ENOENT, "'%s' is no commit of %s (%s)", rev, repo,
			       why);
	}
	if (r < 0)
		return r;
	*ret = xasprintf("%.*s", (int)strcspn(strbuf_str(&out), "\n"), strbuf_str(&out));
	return 0;
}

int git_is_ancestor(struct waiter *w, const char *repo, const char *a, const char *b, struct err *e)
{
	const char *const args[] = {"merge-base", "--is-ancestor", a, b, NULL};
	int r;

	r = git_ask(w, repo, args, NULL, e);
	if (r > 1)
		return -ECHILD;
	if (r == 1)
		err_clear(e);
	return r < 0 ? r : r == 0;
}

int git_check_out(struct waiter *w, const char *tree, const char *commit, struct err *e)
{
	const char *const checkout[] = {"checkout", "--force", "--quiet", "--detach", commit, NULL};
	const char *const clean[] = {"clean", "-f", "-d", "-q", "-e", ".obj-*", NULL};
	int r;

	r = git_run(w, tree, checkout, NULL, e);
	return r < 0 ? r : git_run(w, tree, clean, NULL, e);
}
