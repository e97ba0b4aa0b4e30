/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_store.c - a whole store into another one, and recordings by hash. */
#include "base/fdio.h"
#include "cli/common.h"
#include "store/copy.h"
#include "store/recordings.h"

#include <string.h>

static void on_table(void *self, const char *table, int64_t rows, bool is_check)
{
	auto_free char *text = xasprintf("%s %s: %lld rows", is_check ? "compared" : "copied",
					 table, (long long)rows);

	progress_now(self, text);
}

static int run_copy(struct cli *cli, const struct args *a, struct err *e)
{
	const struct store_copy_hooks hooks = {.table = on_table, .self = cli};
	auto_store struct store *from = NULL;
	auto_store struct store *to = NULL;
	int64_t rows = 0;
	int r;

	if (strcmp(a->positional[0], a->positional[1]) == 0)
		return err_set(e, ERR_USAGE, EINVAL, "'store copy': FROM and TO are both '%s'",
			       a->positional[0]);
	r = store_open(a->positional[0], STORE_READ, &from, e);
	if (r >= 0)
		r = store_open(a->positional[1], STORE_WRITE, &to, e);
	if (r >= 0)
		r = store_copy(from, to, &hooks, &rows, e);
	progress_clear(cli);
	if (r < 0)
		return r;
	fprintf(cli->out, "%lld rows copied from %s to %s and compared: they are the same\n",
		(long long)rows, store_location(from), store_location(to));
	return 0;
}

const struct cmd cmd_store_copy = {
	.name = "store copy",
	.summary = "Copy all results, jobs and rigs of a store into an empty one",
	.details = "FROM and TO are SQLite files or postgres://USER@HOST/DATABASE. Afterwards each "
		   "row is read from both and compared. Recordings stay where they are.",
	.positional = {.name = "FROM TO", .type = OPT_PATH, .min = 2, .max = 2},
	.run = run_copy,
};

/* ---- recordings ---- */

static const struct opt recording_options[] = {
	OPT_ROW_STORE,
	OPT_ROW_END,
};

#define RUNS                                                            \
	{                                                               \
		.name = "RUN", .type = OPT_TEXT, .min = 1, .max = 10000 \
	}

static int run_keep(struct cli *cli, const struct args *a, struct err *e)
{
	const char *folder = path_shared_recordings();
	auto_store struct store *st = NULL;
	int r;

	r = cli_store_open(a, STORE_WRITE, &st, e);
	for (size_t i = 0; r >= 0 && i < a->n_positional; i++) {
		auto_free char *dir = NULL;

		r = cli_run_folder(st, a->positional[i], &dir, e);
		if (r >= 0)
			r = store_recording_keep(st, a->positional[i], dir, folder, e);
		if (r >= 0)
			fprintf(cli->out, "%s kept in %s\n", a->positional[i],
				folder ? folder : store_location(st));
	}
	return r;
}

const struct cmd cmd_store_keep = {
	.name = "store keep",
	.summary = "Keep the recordings of runs for other hosts",
	.details = "By their hashes, in the folder $STALLRIG_RECORDINGS that all hosts share, or "
		   "else in the store. Workers do it by themselves where the store is shared.",
	.positional = RUNS,
	.options = recording_options,
	.run = run_keep,
};

static int run_fetch(struct cli *cli, const struct args *a, struct err *e)
{
	auto_store struct store *st = NULL;
	int r;

	r = cli_store_open(a, STORE_READ, &st, e);
	for (size_t i = 0; r >= 0 && i < a->n_positional; i++) {
		auto_free char *dir = NULL;

		r = cli_run_folder(st, a->positional[i], &dir, e);
		if (r >= 0)
			fprintf(cli->out, "%s\n", dir);
	}
	return r;
}

const struct cmd cmd_store_fetch = {
	.name = "store fetch",
	.summary = "Get the recordings of runs that other hosts kept; prints their folders",
	.positional = RUNS,
	.options = recording_options,
	.run = run_fetch,
};
