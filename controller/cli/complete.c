/* SPDX-License-Identifier: GPL-2.0-or-later */
/* complete.c - completion scripts for bash, zsh and fish out of the tables. */
#include "cli/complete.h"

#include "cli/cmd.h"

#include <string.h>

/* What is asked for the names of a type; NULL = nothing to ask. */
static const char *names_command(enum opt_type type)
{
	switch (type) {
	case OPT_RIG:
		return "stallrig rig list --names";
	case OPT_SCENARIO:
		return "stallrig scenario list --names";
	case OPT_KERNEL:
		return "stallrig kernel list --names";
	case OPT_FLAG:
	case OPT_TEXT:
	case OPT_COUNT:
	case OPT_CHOICE:
	case OPT_PATH:
	case OPT_DIR:
	case OPT_COMMAND:
		break;
	}
	return NULL;
}

static bool takes_files(enum opt_type type)
{
	return type == OPT_PATH || type == OPT_RIG || type == OPT_SCENARIO;
}

/* Words separated by blanks. */
static void add_choices(struct strbuf *out, const char *const *choices)
{
	for (size_t i = 0; choices && choices[i]; i++)
		strbuf_addf(out, "%s%s", i ? " " : "", choices[i]);
}

/* The first words of all commands, each once. */
static void add_first_words(struct strbuf *out)
{
	const char *last = "";

	for (const struct cmd *const *c = cmd_table; *c; c++) {
		size_t len = strcspn((*c)->name, " ");

		/* the table keeps the commands of a group together */
		if (strncmp(last, (*c)->name, len) == 0 && last[len] == ' ')
			continue;
		strbuf_addf(out, "%s%.*s", out->len && out->data[out->len - 1] != '"' ? " " : "",
			    (int)len, (*c)->name);
		last = (*c)->name;
	}
}

/* True if this is the first command of its group. */
static bool begins_group(const struct cmd *const *c)
{
	const char *space = strchr((*c)->name, ' ');
	size_t len = space ? (size_t)(space - (*c)->name) + 1 : 0;

	return space && (c == cmd_table || strncmp(c[-1]->name, (*c)->name, len) != 0);
}

static void add_group_words(struct strbuf *out, const struct cmd *const *c)
{
	const char *first = (*c)->name;
	size_t len = strcspn(first, " ") + 1;

	for (bool is_first = true; *c && strncmp((*c)->name, first, len) == 0; c++) {
		strbuf_addf(out, "%s%s", is_first ? "" : " ", (*c)->name + len);
		is_first = false;
	}
}

/* ---- bash ---- */

/* The statement that fills COMPREPLY with what is possible for a value. */
static void add_bash_values(struct strbuf *out, enum opt_type type, const char *const *choices)
{
	if (names_command(type))
		strbuf_addf(out, "_stallrig_words \"$(%s 2>/dev/null)\"", names_command(type));
	else if (choices || type == OPT_COMMAND) {
		strbuf_adds(out, "_stallrig_words \"");
		if (choices)
			add_choices(out, choices);
		else
			add_first_words(out);
		strbuf_adds(out, "\"");
	} else if (type == OPT_DIR)
		strbuf_adds(out, "_stallrig_files -d");
	else if (!takes_files(type))
		strbuf_adds(out, ":");
	if (takes_files(type))
		strbuf_addf(out, "%s_stallrig_files -f", names_command(type) ? "; " : "");
}

static void add_bash_command(struct strbuf *out, const struct cmd *cmd)
{
	strbuf_addf(out, "\t\"%s\")\n\t\tcase \"$before\" in\n", cmd->name);
	for (const struct opt *o = cmd->options; o && o->name; o++) {
		if (o->type == OPT_FLAG || o->is_arg_optional)
			continue;
		strbuf_addf(out, "\t\t--%s", o->name);
		if (o->letter)
			strbuf_addf(out, "|-%c", o->letter);
		strbuf_adds(out, ")\n\t\t\t");
		add_bash_values(out, o->type, o->choices);
		strbuf_adds(out, "\n\t\t\treturn\n\t\t\t;;\n");
	}
	strbuf_adds(out, "\t\tesac\n\t\tif [[ $cur == -* ]]; then\n\t\t\t_stallrig_words \"");
	for (const struct opt *o = cmd->options; o && o->name; o++)
		strbuf_addf(out, "--%s ", o->name);
	strbuf_adds(out, "--help\"\n\t\telse\n\t\t\t");
	if (cmd->positional.name)
		add_bash_values(out, cmd->positional.type, cmd->positional.choices);
	else
		strbuf_adds(out, ":");
	strbuf_adds(out, "\n\t\tfi\n\t\t;;\n");
}

void complete_bash(struct strbuf *out)
{
	strbuf_adds(out, "# bash completion of stallrig, printed by 'stallrig completion bash'\n"
			 "_stallrig_words()\n{\n"
			 "\tlocal word\n\n"
			 "\twhile IFS= read -r word; do\n"
			 "\t\tCOMPREPLY+=(\"$word\")\n"
			 "\tdone < <(compgen -W \"$1\" -- \"$cur\")\n}\n\n"
			 "_stallrig_files()\n{\n"
			 "\tlocal word\n\n"
			 "\tcompopt -o filenames 2>/dev/null\n"
			 "\twhile IFS= read -r word; do\n"
			 "\t\tCOMPREPLY+=(\"$word\")\n"
			 "\tdone < <(compgen \"$1\" -- \"$cur\")\n}\n\n"
			 "_stallrig()\n{\n"
			 "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
			 "\tlocal before=${COMP_WORDS[COMP_CWORD - 1]}\n"
			 "\tlocal cmd=${COMP_WORDS[1]}\n\n"
			 "\tCOMPREPLY=()\n"
			 "\t# bash splits --name=value at the sign\n"
			 "\tif [[ $cur == \"=\" ]]; then\n\t\tcur=\n"
			 "\telif [[ $before == \"=\" ]]; then\n"
			 "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
			 "\tif ((COMP_CWORD == 1)); then\n\t\t_stallrig_words \"");
	add_first_words(out);
	strbuf_adds(out, "\"\n\t\treturn\n\tfi\n\tcase $cmd in\n");
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		if (!begins_group(c))
			continue;
		strbuf_addf(out,
			    "\t%.*s)\n\t\tif ((COMP_CWORD == 2)); then\n\t\t\t_stallrig_words \"",
			    (int)strcspn((*c)->name, " "), (*c)->name);
		add_group_words(out, c);
		strbuf_adds(out,
			    "\"\n\t\t\treturn\n\t\tfi\n\t\tcmd+=\" ${COMP_WORDS[2]}\"\n\t\t;;\n");
	}
	strbuf_adds(out, "\tesac\n\tcase $cmd in\n");
	for (const struct cmd *const *c = cmd_table; *c; c++)
		add_bash_command(out, *c);
	strbuf_adds(out, "\tesac\n}\n\ncomplete -F _stallrig stallrig\n");
}

/* ---- zsh ---- */

/* Text inside '…' and inside a spec, where : [ ] have a meaning. */
static void add_zsh_text(struct strbuf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			strbuf_adds(out, "'\\''");
		else if (strchr(":[]\\", *p))
			strbuf_addf(out, "\\%c", *p);
		else
			strbuf_add(out, p, 1);
	}
}

/* ":message:action" of a value. */
static void add_zsh_action(struct strbuf *out, const char *arg, enum opt_type type,
			   const char *const *choices)
{
	strbuf_addf(out, ":%s:", arg);
	if (names_command(type)) {
		strbuf_addf(out,
			    "{local -a names; names=(${(f)\"$(%s 2>/dev/null)\"}); "
			    "compadd -a names",
			    names_command(type));
		strbuf_adds(out, takes_files(type) ? "; _files}" : "}");
	} else if (choices || type == OPT_COMMAND) {
		strbuf_adds(out, "(");
		if (choices)
			add_choices(out, choices);
		else {
			auto_strbuf struct strbuf words = STRBUF_INIT;

			add_first_words(&words);
			strbuf_adds(out, strbuf_str(&words));
		}
		strbuf_adds(out, ")");
	} else if (type == OPT_DIR) {
		strbuf_adds(out, "_files -/");
	} else if (takes_files(type)) {
		strbuf_adds(out, "_files");
	} else {
		strbuf_adds(out, " ");
	}
}

static void add_zsh_option(struct strbuf *out, const struct opt *o)
{
	const char *value = o->type == OPT_FLAG ? "" : o->is_arg_optional ? "=-" : "=";

	strbuf_adds(out, " \\\n\t\t\t'");
	if (o->is_list)
		strbuf_adds(out, "*");
	strbuf_addf(out, "--%s%s[", o->name, value);
	add_zsh_text(out, o->help);
	strbuf_adds(out, "]");
	if (o->type != OPT_FLAG) {
		if (o->is_arg_optional)
			strbuf_adds(out, ":");
		add_zsh_action(out, o->arg, o->type, o->choices);
	}
	strbuf_adds(out, "'");
}

static void add_zsh_command(struct strbuf *out, const struct cmd *cmd)
{
	strbuf_addf(out, "\t\"%s\")\n\t\t_arguments -s", cmd->name);
	for (const struct opt *o = cmd->options; o && o->name; o++)
		add_zsh_option(out, o);
	for (const struct opt *o = opt_common; o->name; o++)
		add_zsh_option(out, o);
	if (cmd->positional.name) {
		strbuf_addf(out, " \\\n\t\t\t'%s", cmd->positional.max > 1 ? "*" : "1");
		add_zsh_action(out, cmd->positional.name, cmd->positional.type,
			       cmd->positional.choices);
		strbuf_adds(out, "'");
	}
	strbuf_adds(out, "\n\t\t;;\n");
}

static void add_zsh_words(struct strbuf *out, const char *name, const char *group)
{
	size_t len = strlen(group);

	strbuf_addf(out, "\t\t\t%s=(\n", name);
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		bool is_in_group =
			len && strncmp((*c)->name, group, len) == 0 && (*c)->name[len] == ' ';

		if (len ? !is_in_group : strchr((*c)->name, ' ') && !begins_group(c))
			continue;
		if (!len && begins_group(c)) {
			auto_strbuf struct strbuf words = STRBUF_INIT;

			add_group_words(&words, c);
			strbuf_addf(out, "\t\t\t\t'%.*s:%s'\n", (int)strcspn((*c)->name, " "),
				    (*c)->name, strbuf_str(&words));
			continue;
		}
		strbuf_addf(out, "\t\t\t\t'%s:", (*c)->name + (len ? len + 1 : 0));
		add_zsh_text(out, (*c)->summary);
		strbuf_adds(out, "'\n");
	}
	strbuf_adds(out, "\t\t\t)\n");
}

void complete_zsh(struct strbuf *out)
{
	strbuf_adds(out, "#compdef stallrig\n"
			 "# zsh completion of stallrig, printed by 'stallrig completion zsh'\n"
			 "_stallrig()\n{\n\tlocal -a words_here\n\tlocal cmd=$words[2]\n\n"
			 "\tif ((CURRENT == 2)); then\n");
	add_zsh_words(out, "words_here", "");
	strbuf_adds(out, "\t\t\t_describe command words_here\n\t\t\treturn\n\tfi\n"
			 "\tcase $cmd in\n");
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		auto_free char *group = NULL;

		if (!begins_group(c))
			continue;
		group = strndup((*c)->name, strcspn((*c)->name, " "));
		strbuf_addf(out, "\t%s)\n\t\tif ((CURRENT == 3)); then\n", group);
		add_zsh_words(out, "words_here", group ? group : "");
		strbuf_adds(out, "\t\t\t_describe command words_here\n\t\t\treturn\n\t\tfi\n"
				 "\t\tcmd+=\" $words[3]\"\n\t\tshift words\n\t\t((CURRENT--))\n"
				 "\t\t;;\n");
	}
	strbuf_adds(out, "\tesac\n\tshift words\n\t((CURRENT--))\n\tcase $cmd in\n");
	for (const struct cmd *const *c = cmd_table; *c; c++)
		add_zsh_command(out, *c);
	strbuf_adds(out, "\tesac\n}\n\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
			 "\t_stallrig \"$@\"\nelse\n\tcompdef _stallrig stallrig\nfi\n");
}

/* ---- fish ---- */

static void add_fish_text(struct strbuf *out, const char *text)
{
	strbuf_adds(out, "'");
	for (const char *p = text; *p; p++) {
		if (*p == '\'' || *p == '\\')
			strbuf_adds(out, "\\");
		strbuf_add(out, p, 1);
	}
	strbuf_adds(out, "'");
}

/* "-x -a '…'" of a value; -r where a file may stand. */
static void add_fish_values(struct strbuf *out, enum opt_type type, const char *const *choices,
			    bool is_option)
{
	const char *names = names_command(type);

	if (is_option)
		strbuf_adds(out, takes_files(type) ? " -rF" : " -x");
	else if (takes_files(type))
		strbuf_adds(out, " -F");
	if (names)
		strbuf_addf(out, " -a '(%s 2>/dev/null)'", names);
	else if (choices) {
		strbuf_adds(out, " -a '");
		add_choices(out, choices);
		strbuf_adds(out, "'");
	} else if (type == OPT_COMMAND) {
		auto_strbuf struct strbuf words = STRBUF_INIT;

		add_first_words(&words);
		strbuf_addf(out, " -a '%s'", strbuf_str(&words));
	} else if (type == OPT_DIR)
		strbuf_adds(out, " -a '(__fish_complete_directories)'");
}

/* "-n '<the command line is of this command>'". */
static void add_fish_condition(struct strbuf *out, const struct cmd *cmd)
{
	strbuf_addf(out, "complete -c stallrig -n '__stallrig_is %s'", cmd->name);
}

static void add_fish_command(struct strbuf *out, const struct cmd *cmd)
{
	const char *space = strchr(cmd->name, ' ');

	if (space)
		strbuf_addf(out, "complete -c stallrig -n '__stallrig_is_group %.*s' -a %s -d ",
			    (int)(space - cmd->name), cmd->name, space + 1);
	else
		strbuf_addf(out, "complete -c stallrig -n __fish_use_subcommand -a %s -d ",
			    cmd->name);
	add_fish_text(out, cmd->summary);
	strbuf_adds(out, "\n");
	for (const struct opt *o = cmd->options; o && o->name; o++) {
		add_fish_condition(out, cmd);
		strbuf_addf(out, " -l %s", o->name);
		if (o->letter)
			strbuf_addf(out, " -s %c", o->letter);
		if (o->type != OPT_FLAG && !o->is_arg_optional)
			add_fish_values(out, o->type, o->choices, true);
		strbuf_adds(out, " -d ");
		add_fish_text(out, o->help);
		strbuf_adds(out, "\n");
	}
	if (cmd->positional.name) {
		add_fish_condition(out, cmd);
		add_fish_values(out, cmd->positional.type, cmd->positional.choices, false);
		strbuf_adds(out, "\n");
	}
}

void complete_fish(struct strbuf *out)
{
	strbuf_adds(out, "# fish completion of stallrig, printed by 'stallrig completion fish'\n"
			 "function __stallrig_is\n"
			 "    set -l words (commandline -opc)\n"
			 "    set -l last (math 1 + (count $argv))\n"
			 "    test (count $words) -ge $last; "
			 "and test \"$words[2..$last]\" = \"$argv\"\nend\n"
			 "function __stallrig_is_group\n"
			 "    set -l words (commandline -opc)\n"
			 "    test (count $words) -eq 2; and test $words[2] = $argv[1]\nend\n"
			 "complete -c stallrig -f\n"
			 "complete -c stallrig -s h -l help -d 'show help'\n");
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		if (begins_group(c)) {
			strbuf_addf(out,
				    "complete -c stallrig -n __fish_use_subcommand -a %.*s -d '",
				    (int)strcspn((*c)->name, " "), (*c)->name);
			add_group_words(out, c);
			strbuf_adds(out, "'\n");
		}
		add_fish_command(out, *c);
	}
}
