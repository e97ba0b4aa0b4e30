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
#define OPT_ROW_RIG                                                                               \
	{                                                                                         \
		.name = "rig", .letter = 'r', .type = OPT_RIG, .arg = "RIG", .is_required = true, \
		.help = "name of the rig, or its YAML file"                                       \
	}
#define OPT_ROW_SCENARIO                                                                    \
	{                                                                                   \
		.name = "scenario", .letter = 's', .type = OPT_SCENARIO, .arg = "SCENARIO", \
		.is_required = true, .help = "name of the scenario, or its YAML file"       \
	}
#define OPT_ROW_APPEND                                                            \
	{                                                                         \
		.name = "append", .letter = 'A', .type = OPT_TEXT, .arg = "TEXT", \
		.help = "add this to the kernel command line"                     \
	}
#define OPT_ROW_TRIALS                                                                    \
	{                                                                                 \
		.name = "trials", .letter = 'n', .type = OPT_COUNT, .arg = "N", .min = 1, \
		.max = 10000, .absent = "the scenario's",                                 \
		.help = "how many valid trials are wanted"                                \
	}
#define OPT_ROW_BOOTS                                                                    \
	{                                                                                \
		.name = "boots", .letter = 'b', .type = OPT_COUNT, .arg = "N", .min = 1, \
		.max = 10000, .absent = "by the scenario's trials.per_boot",             \
		.help = "spread the trials over N boots"                                 \
	}
#define OPT_ROW_JOBS                                                                         \
	{                                                                                    \
		.name = "jobs", .letter = 'j', .type = OPT_COUNT, .arg = "N", .min = 1,      \
		.max = 1024, .absent = "one a CPU", .help = "how many compilers run at once" \
	}
#define OPT_ROW_FAULTS                                                                               \
	{                                                                                            \
		.name = "faults", .type = OPT_TEXT, .arg = "SPEC",                                   \
		.help = "make the rig misbehave by chance, as in lie=1.0,seed=42: the switch (keys " \
			"fail, lie, late, late_ms, short, stuck, flood), the console (console.fail " \
			"and so on), the boot (boot.fail and so on); see FAULTS in stallrig(1)"      \
	}
/* how long commands wait for a rig that somebody else holds, without --no-wait */
#define CLI_RIG_WAIT_NS (3600 * NSEC_PER_SEC)
#define OPT_ROW_NO_WAIT_HOUR                                                                           \
	{                                                                                              \
		.name = "no-wait", .type = OPT_FLAG,                                                   \
		.help = "give up at once if somebody else holds the rig, else up to an hour is waited" \
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
 * Folder of a run's whole recording on this host: where it was recorded, or a copy in
 * path_cache("recordings") that is fetched if need be. ERR_USAGE/-ENOENT: there is no such run;
 * ERR_STORE/-ENODATA: it was recorded elsewhere and not kept. Caller frees.
 */
int cli_run_folder(struct store *st, const char *run_id, char **ret, struct err *e) must_check;

/*
 * Waits until nobody else holds the rig in the store ('stallrig lock', a worker's job), up to an
 * hour, and says for whom. ERR_USAGE/-EBUSY with who holds it: after that, or at once unless
 * may_wait. What the same user on the same host holds is free for its commands.
 */
int cli_rig_await(struct cli *cli, struct store *st, const char *rig, bool may_wait,
		  struct err *e) must_check;

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
