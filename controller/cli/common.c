/* SPDX-License-Identifier: GPL-2.0-or-later */
/* common.c - what several commands need. */
#include "cli/common.h"

#include "base/fdio.h"
#include "report/text.h"

#include <stdarg.h>
#include <string.h>

#define FACT_NAME_COLUMNS 18

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
