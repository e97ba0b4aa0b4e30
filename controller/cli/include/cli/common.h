/* SPDX-License-Identifier: GPL-2.0-or-later */
/* common.h - what several commands need. */
#pragma once

#include "cli/cmd.h"
#include "kernels/kernels.h"
#include "store/store.h"

/* Options that several commands have; used as rows of their tables. */
#define OPT_ROW_STORE                                                                    \
	{                                                                                \
		.name = "store", .type = OPT_PATH, .arg = "STORE",                       \
		.absent = "$STALLRIG_STORE, or results.db in the state folder",          \
		.help = "SQLite file with the results, or postgres://USER@HOST/DATABASE" \
	}
#define OPT_ROW_NAMES                                                               \
	{                                                                           \
		.name = "names", .type = OPT_FLAG, .help = "names only, one a line" \
	}
#define OPT_ROW_JSON_FILE                                                                                 \
	{                                                                                                 \
		.name = "json", .type = OPT_PATH, .arg = "FILE",                                          \
		.help = "write the runs as JSON to FILE, \"-\" for the standard output without the table" \
	}
#define OPT_ROW_END          \
	{                    \
		.name = NULL \
	}

/* The store that --store names, or else STALLRIG_STORE. */
int cli_store_open(const struct args *a, enum store_mode mode, struct store **ret,
		   struct err *e) must_check;

/* The same location; NULL = the default one. */
const char *cli_store_location(const struct args *a);

/*
 * Progress for a person on cli->log: the line of what goes on now is overwritten on a terminal and
 * printed elsewhere; a line that stays is printed in both.
 */
void progress_now(struct cli *cli, const char *text);
void progress_stays(struct cli *cli, const char *text);
/* Takes the overwritten line away, before anything else is printed. */
void progress_clear(struct cli *cli);

/* A context that reports progress of the kernel store to cli. */
void cli_kernels_ctx(struct cli *cli, struct kernels_ctx *ret);

/* Adds "name      value" with unsafe characters made visible; nothing if there is no value. */
void fact_add(struct strbuf *out, const char *name, const char *fmt, ...) printf_like(3, 4);
