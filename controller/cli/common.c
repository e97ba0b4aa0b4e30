/* SPDX-License-Identifier: GPL-2.0-or-later */
/* common.c - what several commands need. */
#include "cli/common.h"

#include "base/fdio.h"
#include "report/text.h"

#include <dirent.h>
#include <stdarg.h>
#include <string.h>

#define FACT_NAME_COLUMNS 18

int cli_store_open(const struct args *a, enum store_mode mode, struct store **ret, struct err *e)
{
	return store_open(args_text(a, "store"), mode, ret, e);
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

static int is_yaml(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && d->d_name[0] != '.' && strcmp(d->d_name + len - 5, ".yaml") == 0;
}

int names_in(const char *env_name, const char *sub, struct name_list *ret, struct err *e)
{
	auto_free char *shipped = path_data(sub);
	const char *own = getenv(env_name);
	const char *dir = own && *own ? own : shipped;
	struct dirent **rows = NULL;
	int n = scandir(dir, &rows, is_yaml, alphasort);

	if (n < 0)
		return err_errno(e, ERR_CONFIG, errno, "%s", dir);
	ret->names = xcalloc((size_t)n, sizeof(*ret->names));
	ret->n = (size_t)n;
	for (int i = 0; i < n; i++) {
		ret->names[i] =
			xasprintf("%.*s", (int)strlen(rows[i]->d_name) - 5, rows[i]->d_name);
		free(rows[i]);
	}
	free(rows);
	return 0;
}

void name_list_release(struct name_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		util_free(l->names[i]);
	util_free(l->names);
	l->names = NULL;
	l->n = 0;
}
