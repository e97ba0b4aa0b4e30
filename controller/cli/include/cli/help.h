/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.h - what the tables say, as text for a terminal and as source of the manual page. */
#pragma once

#include "base/strbuf.h"
#include "cli/cmd.h"

/* `stallrig help`: the commands in groups. */
void help_overview(struct strbuf *out);
/* `stallrig help CMD`. */
void help_command(struct strbuf *out, const struct cmd *cmd);
/* The commands of the manual page in scdoc(5); docs/man/stallrig.1.scd holds this very text. */
void help_scdoc(struct strbuf *out);

/* "SPEC", "PATH…", "[NAME]", "" for none: how the usage line shows the command's other words. */
void help_add_positional(struct strbuf *out, const struct cmd *cmd);

/*
 * Adds the words of text, wrapped for a terminal, and a line end: the first line begins at column
 * `at`, `indent` blanks stand before each further one.
 */
void help_add_wrapped(struct strbuf *out, const char *text, size_t at, size_t indent);
