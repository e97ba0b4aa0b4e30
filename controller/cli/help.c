/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.c - what the tables say, as text and as source of the manual page. */
#include "cli/help.h"

#include "report/text.h"

#include <string.h>

#define HELP_COLUMNS 80
#define HELP_INDENT  26 /* where the words beside an option begin, */
#define CMD_INDENT   28 /* and those beside a command */

void help_add_positional(struct strbuf *out, const struct cmd *cmd)
{
	const struct positional *p = &cmd->positional;

	if (!p->name)
		return;
	strbuf_addf(out, p->min ? "%s%s" : "[%s%s]", p->name, p->max > 1 ? "…" : "");
}

void help_add_wrapped(struct strbuf *out, const char *text, size_t at, size_t indent)
{
	const char *p = text;
	bool is_first = true;

	while (*p) {
		size_t len = strcspn(p, " \n");
		auto_free char *word = strndup(p, len);
		size_t width = text_width(word ? word : "");

		if (!is_first && at + 1 + width > HELP_COLUMNS) {
			strbuf_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!is_first) {
			strbuf_adds(out, " ");
			at++;
		}
		strbuf_add(out, p, len);
		at += width;
		is_first = false;
		p += len;
		p += strspn(p, " \n");
	}
	strbuf_adds(out, "\n");
}

/* help, and what holds without the option. */
static void add_words(struct strbuf *out, const struct opt *o)
{
	strbuf_adds(out, o->help);
	if (o->is_list)
		strbuf_adds(out, "; may be given several times");
	if (o->type == OPT_COUNT)
		strbuf_addf(out, "; %u to %u", o->min, o->max);
	if (o->choices) {
		strbuf_adds(out, ": ");
		for (size_t i = 0; o->choices[i]; i++)
			strbuf_addf(out, "%s%s", i ? ", " : "", o->choices[i]);
	}
	if (o->is_required)
		strbuf_adds(out, " (required)");
	if (o->absent)
		strbuf_addf(out, " (default: %s)", o->absent);
}

static void add_option(struct strbuf *out, const struct opt *o)
{
	auto_strbuf struct strbuf left = STRBUF_INIT;
	auto_strbuf struct strbuf words = STRBUF_INIT;

	if (o->letter)
		strbuf_addf(&left, "  -%c, --%s", o->letter, o->name);
	else
		strbuf_addf(&left, "      --%s", o->name);
	if (o->type != OPT_FLAG)
		strbuf_addf(&left, o->is_arg_optional ? "[=%s]" : "=%s", o->arg);
	add_words(&words, o);
	strbuf_adds(out, strbuf_str(&left));
	if (text_width(strbuf_str(&left)) + 2 > HELP_INDENT)
		strbuf_addf(out, "\n%*s", HELP_INDENT, "");
	else
		strbuf_addf(out, "%*s", HELP_INDENT - (int)text_width(strbuf_str(&left)), "");
	help_add_wrapped(out, strbuf_str(&words), HELP_INDENT, HELP_INDENT);
}

void help_command(struct strbuf *out, const struct cmd *cmd)
{
	strbuf_addf(out, "Usage: stallrig %s", cmd->name);
	for (const struct opt *o = cmd->options; o && o->name; o++)
		if (o->is_required)
			strbuf_addf(out, " --%s=%s", o->name, o->arg);
	strbuf_adds(out, " [options]");
	if (cmd->positional.name)
		strbuf_adds(out, " ");
	help_add_positional(out, cmd);
	strbuf_adds(out, "\n\n");
	help_add_wrapped(out, cmd->summary, 0, 0);
	if (cmd->details) {
		strbuf_adds(out, "\n");
		help_add_wrapped(out, cmd->details, 0, 0);
	}
	strbuf_adds(out, "\nOptions:\n");
	for (const struct opt *o = cmd->options; o && o->name; o++)
		add_option(out, o);
	for (const struct opt *o = opt_common; o->name; o++)
		add_option(out, o);
}

void help_overview(struct strbuf *out)
{
	strbuf_adds(out, "Usage: stallrig COMMAND [options]\n\n"
			 "Finds kernel stalls: boots a kernel build, pulls a USB stick out of it,\n"
			 "listens, and says PASS, FAIL, or why it cannot say.\n\nCommands:\n");
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		auto_strbuf struct strbuf left = STRBUF_INIT;

		strbuf_addf(&left, "  %s ", (*c)->name);
		help_add_positional(&left, *c);
		text_add_padded(out, strbuf_str(&left), CMD_INDENT, false);
		help_add_wrapped(out, (*c)->summary, CMD_INDENT, CMD_INDENT);
	}
	strbuf_adds(out, "\n'stallrig help COMMAND' or 'stallrig COMMAND --help' tells more,\n"
			 "stallrig(1) everything.\n");
}

/* In scdoc, _ and * mark text and \ escapes. */
static void add_escaped(struct strbuf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (strchr("_*\\#", *p))
			strbuf_adds(out, "\\");
		strbuf_add(out, p, 1);
	}
}

static void add_scdoc_option(struct strbuf *out, const struct opt *o)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;

	if (o->letter)
		strbuf_addf(out, "*-%c*, ", o->letter);
	strbuf_addf(out, "*--%s*", o->name);
	if (o->type != OPT_FLAG)
		strbuf_addf(out, o->is_arg_optional ? "[=_%s_]" : "=_%s_", o->arg);
	strbuf_adds(out, "\n\t");
	add_words(&words, o);
	add_escaped(out, strbuf_str(&words));
	strbuf_adds(out, "\n\n");
}

void help_scdoc(struct strbuf *out)
{
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		auto_strbuf struct strbuf positional = STRBUF_INIT;

		help_add_positional(&positional, *c);
		strbuf_addf(out, "## %s", (*c)->name);
		if (positional.len)
			strbuf_addf(out, " %s", strbuf_str(&positional));
		strbuf_adds(out, "\n\n");
		add_escaped(out, (*c)->summary);
		strbuf_adds(out, ".");
		if ((*c)->details) {
			strbuf_adds(out, " ");
			add_escaped(out, (*c)->details);
		}
		strbuf_adds(out, "\n\n");
		for (const struct opt *o = (*c)->options; o && o->name; o++)
			add_scdoc_option(out, o);
	}
}
