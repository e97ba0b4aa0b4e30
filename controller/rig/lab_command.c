/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_command.c - words of a rig's file as a program that runs to its end. */
#include "lab_command.h"

#include "base/child.h"

int lab_command_run(struct waiter *w, const char *key, char *const *words, unsigned n,
		    const char *const *env, nsec_t timeout_ns, struct err *e)
{
	auto_free const char **argv = xcalloc(n + 1, sizeof(*argv));
	const struct child_cfg child = {
		.argv = argv, .env = env, .stdin_fd = -1, .dies_with_parent = true};
	int r;

	if (!n)
		return 0;
	for (unsigned i = 0; i < n; i++)
		argv[i] = words[i];
	r = child_run(w, &child, timeout_ns, NULL, e);
	if (r < 0) {
		(void)err_wrap(e, "%s", key);
		if (e->kind == ERR_INTERNAL)
			(void)err_rekind(e, ERR_RIG);
	}
	return r;
}
