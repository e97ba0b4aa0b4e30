/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_help.c - help, version and completion: what the tables say. */
#include "cli/complete.h"
#include "cli/help.h"

#include <string.h>

/* ---- help ---- */

static const struct opt help_options[] = {
	{.name = "scdoc",
	 .type = OPT_FLAG,
	 .help = "the commands of stallrig(1) as source of the manual page"},
	{.name = NULL},
};

static int run_help(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	char *words[2] = {NULL, NULL};
	const struct cmd *cmd;
	int n_words;
	int r;

	if (args_has(a, "scdoc")) {
		help_scdoc(&text);
		return cli_write(cli, "-", &text, e);
	}
	if (a->n_positional == 0) {
		help_overview(&text);
		return cli_write(cli, "-", &text, e);
	}
	for (size_t i = 0; i < a->n_positional; i++)
		words[i] = xstrdup(a->positional[i]);
	r = cmd_find((int)a->n_positional, words, &cmd, &n_words, e);
	free(words[0]);
	free(words[1]);
	if (r < 0)
		return r;
	if ((size_t)n_words < a->n_positional)
		return err_set(e, ERR_USAGE, E2BIG, "'help': '%s' has no command '%s'",
			       a->positional[0], a->positional[1]);
	help_command(&text, cmd);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "Show the commands, or the options of one command",
	.positional = {.name = "COMMAND", .type = OPT_COMMAND, .min = 0, .max = 2},
	.options = help_options,
	.run = run_help,
};

/* ---- version ---- */

static int run_version(struct cli *cli, const struct args *a, struct err *e)
{
	(void)a;
	(void)e;
	fprintf(cli->out, "stallrig %s\n", STALLRIG_VERSION);
	return 0;
}

const struct cmd cmd_version = {
	.name = "version",
	.summary = "Show the version",
	.run = run_version,
};

/* ---- completion ---- */

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int run_completion(struct cli *cli, const struct args *a, struct err *e)
{
	static void (*const makers[])(struct strbuf *) = {complete_bash, complete_zsh,
							  complete_fish};
	auto_strbuf struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
		if (strcmp(shells[i], a->positional[0]) == 0)
			makers[i](&text);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_completion = {
	.name = "completion",
	.summary = "Print a completion script for a shell",
	.details = "For bash: stallrig completion bash > "
		   "~/.local/share/bash-completion/completions/stallrig",
	.positional = {.name = "SHELL", .type = OPT_CHOICE, .choices = shells, .min = 1, .max = 1},
	.run = run_completion,
};
