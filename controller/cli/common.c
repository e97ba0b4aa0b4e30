/* SPDX-License-Identifier: GPL-2.0-or-later */
/* common.c - what several commands need. */
#include "cli/common.h"

#include "base/fdio.h"
#include "lab/worker.h"
#include "report/text.h"
#include "store/queue.h"
#include "store/recordings.h"

#include <stdarg.h>
#include <string.h>

#define FACT_NAME_COLUMNS 18
#define RIG_LOOK_NS       (2 * NSEC_PER_SEC)

const char *cli_store_location(const struct args *a)
{
	const char *location = args_text(a, "store");

	if (!location)
		location = getenv("STALLRIG_STORE");
	return location && *location ? location : NULL;
}

int cli_store_open(const struct args *a, enum store_mode mode, struct store **ret, struct err *e)
{
	return store_open(cli_store_location(a), mode, ret, e);
}

int cli_run_folder(struct store *st, const char *run_id, char **ret, struct err *e)
{
	auto_free char *cache = path_cache("recordings");
	auto_run struct run *run = NULL;
	const char *path, *slash;
	int r;

	r = store_find_run(st, run_id, &run, e);
	if (r >= 0 && !run)
		r = err_set(e, ERR_USAGE, ENOENT, "%s: there is no run '%s'", store_location(st),
			    run_id);
	if (r >= 0)
		r = store_recording_locate(st, path_shared_recordings(), cache, run, e);
	if (r < 0)
		return r;
	path = run->n_boots ? run->boots[0].recording : "";
	slash = strrchr(path, '/');
	if (!slash || access(path, F_OK) < 0)
		return err_set(e, ERR_STORE, ENODATA,
			       "the recording of run '%s' is not on this host and was not kept for "
			       "others",
			       run_id);
	*ret = xasprintf("%.*s", (int)(slash - path), path);
	return 0;
}

int cli_rig_await(struct cli *cli, struct store *st, const char *rig, bool may_wait, struct err *e)
{
	nsec_t until_ns = waiter_now(cli->w) + (may_wait ? CLI_RIG_WAIT_NS : 0);
	bool was_said = false;
	char who[256];

	lab_who(who, sizeof(who));
	for (;;) {
		int r = store_rig_for(st, rig, who, e);

		if (r != -EBUSY || e->kind != ERR_USAGE || waiter_now(cli->w) >= until_ns)
			return r;
		if (!was_said) {
			auto_free char *text = xasprintf("waiting: %s", e->text);

			progress_stays(cli, text);
			was_said = true;
		}
		err_clear(e);
		r = waiter_sleep(cli->w, RIG_LOOK_NS, e);
		if (r < 0)
			return r;
	}
}

void progress_clear(struct cli *cli)
{
	if (cli->is_log_tty)
		fputs("\r\033[K", cli->log);
}

static void print_line(struct cli *cli, const char *text, size_t max_columns, const char *end)
{
	auto_strbuf struct strbuf shown = STRBUF_INIT;

	text_add_visible(&shown, text, strlen(text), max_columns);
	progress_clear(cli);
	fprintf(cli->log, "%s%s", strbuf_str(&shown), end);
	(void)fflush(cli->log);
}

void progress_now(struct cli *cli, const char *text)
{
	if (cli->is_log_tty)
		print_line(cli, text, cli->columns > 2 ? cli->columns - 2 : 1, "");
	else
		print_line(cli, text, 0, "\n");
}

void progress_stays(struct cli *cli, const char *text)
{
	print_line(cli, text, 0, "\n");
}

static void kernels_progress(void *self, const char *text)
{
	progress_now(self, text);
}

void cli_kernels_ctx(struct cli *cli, struct kernels_ctx *ret)
{
	*ret = (struct kernels_ctx){.w = cli->w, .progress = kernels_progress, .self = cli};
}

void fact_add(struct strbuf *out, const char *name, const char *fmt, ...)
{
	char *value = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (n > 0) {
		text_add_padded(out, name, FACT_NAME_COLUMNS, false);
		text_add_visible(out, value, (size_t)n, 0);
		strbuf_adds(out, "\n");
	}
	if (n >= 0)
		free(value);
}
