/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd.c - the table of commands, and everything behind main(). */
#include "cli/cmd.h"

#include "base/fdio.h"
#include "base/log.h"
#include "cli/help.h"
#include "report/text.h"

#include <string.h>
#include <sys/stat.h>

/* clang-format off: one a line, so that a new command is a line of its own */
const struct cmd *const cmd_table[] = {
	&cmd_run,
	&cmd_report,
	&cmd_compare,
	&cmd_nightly,
	&cmd_show,
	&cmd_judge,
	&cmd_selftest,
	&cmd_serve,
	&cmd_bisect_start,
	&cmd_bisect_status,
	&cmd_bisect_result,
	&cmd_bisect_log,
	&cmd_bisect_resume,
	&cmd_bisect_tell,
	&cmd_bisect_stop,
	&cmd_bisect_step,
	&cmd_kernel_fetch,
	&cmd_kernel_add,
	&cmd_kernel_build,
	&cmd_kernel_mutations,
	&cmd_kernel_list,
	&cmd_kernel_show,
	&cmd_kernel_remove,
	&cmd_rig_list,
	&cmd_rig_show,
	&cmd_rig_wear,
	&cmd_stick_prepare,
	&cmd_stick_verify,
	&cmd_check,
	&cmd_console,
	&cmd_switch_on,
	&cmd_switch_off,
	&cmd_switch_cycle,
	&cmd_switch_status,
	&cmd_switch_safe,
	&cmd_scenario_list,
	&cmd_scenario_check,
	&cmd_scenario_explain,
	&cmd_submit,
	&cmd_queue,
	&cmd_cancel,
	&cmd_rigs,
	&cmd_lock,
	&cmd_unlock,
	&cmd_worker,
	&cmd_job_run,
	&cmd_store_copy,
	&cmd_store_keep,
	&cmd_store_fetch,
	&cmd_completion,
	&cmd_help,
	&cmd_version,
	NULL,
};
/* clang-format on */

#define COMMANDS_MAX 64

/* True if the command's name is these words; *ret_words says how many. */
static bool is_named(const struct cmd *cmd, int argc, char *const *argv, int *ret_words)
{
	const char *space = strchr(cmd->name, ' ');

	if (!space) {
		*ret_words = 1;
		return strcmp(cmd->name, argv[0]) == 0;
	}
	*ret_words = 2;
	return argc > 1 && strlen(argv[0]) == (size_t)(space - cmd->name) &&
	       strncmp(cmd->name, argv[0], (size_t)(space - cmd->name)) == 0 &&
	       strcmp(space + 1, argv[1]) == 0;
}

/* The second words of the commands whose first word this is. */
static size_t list_group(const char *first, const char **ret_names)
{
	size_t len = strlen(first);
	size_t n = 0;

	for (const struct cmd *const *c = cmd_table; *c; c++)
		if (strncmp((*c)->name, first, len) == 0 && (*c)->name[len] == ' ')
			ret_names[n++] = (*c)->name + len + 1;
	return n;
}

static int unknown_in_group(const char *first, const char *second, const char *const *names,
			    size_t n, struct err *e)
{
	auto_strbuf struct strbuf all = STRBUF_INIT;
	auto_strbuf struct strbuf typed = STRBUF_INIT;
	const char *near = second ? opt_nearest(second, names, n) : NULL;

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	if (!second)
		return err_set(e, ERR_USAGE, EINVAL, "'%s' needs one of: %s", first,
			       strbuf_str(&all));
	text_add_visible(&typed, second, strlen(second), 80);
	if (near)
		return err_set(e, ERR_USAGE, EINVAL,
			       "'%s' has no command '%s', did you mean '%s %s'?", first,
			       strbuf_str(&typed), first, near);
	return err_set(e, ERR_USAGE, EINVAL, "'%s' has no command '%s', there are: %s", first,
		       strbuf_str(&typed), strbuf_str(&all));
}

static int unknown_command(const char *word, struct err *e)
{
	auto_strbuf struct strbuf typed = STRBUF_INIT;
	char firsts[COMMANDS_MAX][24];
	const char *names[COMMANDS_MAX];
	const char *near;
	size_t n = 0;

	for (const struct cmd *const *c = cmd_table; *c && n < COMMANDS_MAX; c++, n++) {
		(void)snprintf(firsts[n], sizeof(firsts[n]), "%.*s", (int)strcspn((*c)->name, " "),
			       (*c)->name);
		names[n] = firsts[n];
	}
	near = opt_nearest(word, names, n);
	text_add_visible(&typed, word, strlen(word), 80);
	if (near)
		return err_set(e, ERR_USAGE, EINVAL, "unknown command '%s', did you mean '%s'?",
			       strbuf_str(&typed), near);
	return err_set(e, ERR_USAGE, EINVAL, "unknown command '%s', see 'stallrig help'",
		       strbuf_str(&typed));
}

int cmd_find(int argc, char *const *argv, const struct cmd **ret, int *ret_words, struct err *e)
{
	const char *names[COMMANDS_MAX];
	const char *second = NULL;
	size_t n;

	for (const struct cmd *const *c = cmd_table; *c; c++) {
		if (is_named(*c, argc, argv, ret_words)) {
			*ret = *c;
			return 0;
		}
	}
	n = list_group(argv[0], names);
	if (argc > 1 && argv[1][0] != '-')
		second = argv[1];
	if (n)
		return unknown_in_group(argv[0], second, names, n, e);
	return unknown_command(argv[0], e);
}

/* Not there, not permitted, held, not able: how it was set up. All else broke on the way. */
static bool is_set_up(int code)
{
	static const int codes[] = {ENOENT, EACCES,  EPERM,    EBUSY,
				    EINVAL, ENOEXEC, ENOTUNIQ, ENOTSUP};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

int cli_exit_of_error(const struct err *e)
{
	/* no room on the disk, no store there: for the user to put right, like a wrong word */
	if (e->code == ENOSPC || e->code == EDQUOT)
		return CLI_EXIT_USAGE;
	switch (e->kind) {
	case ERR_USAGE:
	case ERR_CONFIG:
	case ERR_KERNEL: /* a package cut short, an image that is none */
		return CLI_EXIT_USAGE;
	case ERR_RIG: /* a program that is missing; a switch that does not click */
		return is_set_up(e->code) ? CLI_EXIT_USAGE : CLI_EXIT_BROKEN;
	case ERR_STORE:
		return e->code == ENOENT || e->code == ENOTSUP ? CLI_EXIT_USAGE : CLI_EXIT_BROKEN;
	case ERR_NONE:
	case ERR_TARGET:
	case ERR_INTERNAL:
	case ERR_STOPPED:
	case ERR_KIND_MAX:
		break;
	}
	return CLI_EXIT_BROKEN;
}

/* Any JSON is a result; the "[" of a console's time stamp has a blank or a digit behind it. */
static bool is_json_begin(const char *two)
{
	return (two[0] == '{' || two[0] == '[') && two[1] && strchr("\"{}[]\n", two[1]);
}

/*
 * "--json console.log" is soon typed, and a recording cannot be made again: only a file that begins
 * as the new text does, an earlier result, is replaced.
 */
static int check_replaceable(const char *path, const struct strbuf *text, struct err *e)
{
	char old[2];
	size_t n = 0;
	struct stat st;
	FILE *f;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || text->len < sizeof(old))
		return 0;
	f = fopen(path, "re");
	if (f) {
		n = fread(old, 1, sizeof(old), f);
		(void)fclose(f);
	}
	if (n == 0 ||
	    (n == sizeof(old) && (memcmp(old, strbuf_str(text), n) == 0 ||
				  (is_json_begin(old) && is_json_begin(strbuf_str(text))))))
		return 0;
	return err_set(e, ERR_USAGE, EEXIST,
		       "%s: is not an earlier result of this kind and stays as it is; "
		       "remove it, or name another file to write to",
		       path);
}

int cli_write(struct cli *cli, const char *path, const struct strbuf *text, struct err *e)
{
	if (strcmp(path, "-") != 0) {
		int r = check_replaceable(path, text, e);

		return r < 0 ? r : file_write_atomic(path, strbuf_str(text), text->len, e);
	}
	/* the stream keeps the fact of a write error for cli_run(), but not its reason */
	errno = 0;
	if (fwrite(strbuf_str(text), 1, text->len, cli->out) < text->len && !cli->out_error)
		cli->out_error = errno;
	return 0;
}

void cli_say_error(struct cli *cli, const struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *priority = cli->is_log_journal ? "<3>" : ""; /* an error, see sd-daemon(3) */
	const char *p = e->text;

	/* a message may have several lines (a compiler's first error): they stay lines */
	while (*p) {
		size_t len = strcspn(p, "\n");

		strbuf_addf(&text, "%s%s", priority, p == e->text ? "stallrig: " : "");
		text_add_visible(&text, p, len, 0);
		strbuf_adds(&text, "\n");
		p += len;
		p += *p == '\n';
	}
	fputs(text.len ? strbuf_str(&text) : "stallrig: unknown error\n", cli->log);
}

static int run_command(struct cli *cli, int argc, char *const *argv, struct err *e)
{
	auto_args struct args a = {0};
	const struct cmd *cmd;
	int words;
	int r;

	r = cmd_find(argc, argv, &cmd, &words, e);
	if (r < 0)
		return r;
	r = args_parse(cmd, argc - words, argv + words, &a, e);
	if (r < 0)
		return r;
	if (a.wants_help) {
		auto_strbuf struct strbuf text = STRBUF_INIT;

		help_command(&text, cmd);
		return cli_write(cli, "-", &text, e);
	}
	return cmd->run(cli, &a, e);
}

/* Returns the exit status with what writing the results has to say about it. */
static int finish(struct cli *cli, int status)
{
	bool has_failed = ferror(cli->out) != 0;
	int code;

	errno = 0;
	has_failed |= fflush(cli->out) != 0;
	code = cli->out_error ? cli->out_error : errno;
	if (!has_failed || code == EPIPE) /* `| head` has seen enough: not an error */
		return status;
	fprintf(cli->log, "stallrig: cannot write to the standard output: %s\n",
		strerror(code ? code : EIO));
	return code == ENOSPC ? CLI_EXIT_USAGE : CLI_EXIT_BROKEN;
}

static void debug_sink(void *self, enum log_category cat, const char *text)
{
	struct cli *cli = self;
	auto_strbuf struct strbuf shown = STRBUF_INIT;

	text_add_visible(&shown, text, strlen(text), 0);
	fprintf(cli->log, "debug %s: %s\n", log_category_name(cat), strbuf_str(&shown));
}

int cli_run(struct cli *cli, int argc, char *const *argv)
{
	static char help_word[] = "help";
	static char version_word[] = "version";
	static char *const help_argv[] = {help_word, NULL};
	static char *const version_argv[] = {version_word, NULL};
	const char *debug = getenv("STALLRIG_DEBUG");
	struct err e = {0};
	int r = 0;

	log_set_sink(debug_sink, cli);
	if (!log_enable(debug))
		r = err_set(&e, ERR_USAGE, EINVAL, "STALLRIG_DEBUG: unknown category in '%s'",
			    debug);
	else if (argc == 0)
		r = err_set(&e, ERR_USAGE, EINVAL, "a command is needed, see 'stallrig help'");
	else if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		r = run_command(cli, 1, help_argv, &e);
	else if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0)
		r = run_command(cli, 1, version_argv, &e);
	else
		r = run_command(cli, argc, argv, &e);
	log_set_sink(NULL, NULL);
	if (r < 0) {
		(void)fflush(cli->out);
		cli_say_error(cli, &e);
		r = cli_exit_of_error(&e);
	}
	return finish(cli, r);
}
