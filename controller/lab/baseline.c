/* SPDX-License-Identifier: GPL-2.0-or-later */
/* baseline.c - finds the run that others are held against. */
#include "lab/baseline.h"

#include <string.h>

int lab_baseline_find(struct store *st, const char *build, const char *rig, const char *scenario,
		      const char *except, char **ret_id, struct err *e)
{
	const struct store_filter filter = {.kernel = build, .rig = rig, .scenario = scenario};
	struct run **runs = NULL;
	size_t n = 0;
	int r = store_runs(st, &filter, false, &runs, &n, e);

	*ret_id = NULL;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct run *b = runs[i];

		if (!*ret_id && strcmp(b->kernel, build) == 0 && !*b->append && b->result.valid &&
		    b->ended_wall_ns && !(except && strcmp(b->id, except) == 0))
			*ret_id = xstrdup(b->id);
		run_free(runs[i]);
	}
	free(runs);
	return r;
}
