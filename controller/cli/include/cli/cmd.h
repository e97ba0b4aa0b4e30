/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd.h - the commands of stallrig as data, and what they run in. */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"
#include "cli/opt.h"

#include <stdio.h>

/* Where a command's words go; tests hand in memory streams. */
struct cli {
	FILE *out; /* results */
	FILE *log; /* errors and progress */
	bool is_out_tty;
	bool is_log_tty;
	bool is_log_journal; /* a line may begin with its priority, as "<3>" */
	unsigned columns;    /* of the terminal behind log */
	struct waiter *w;
	int out_error; /* errno of the first write to out that failed, 0 = none */
};

struct cmd {
	const char *name; /* one or two words: "run", "kernel fetch" */
	const char *summary;
	const char *details; /* further lines for --help and the man page; NULL = none */
	struct positional positional;
	const struct opt *options; /* ends with a row whose name is NULL; may be NULL */
	/* The exit status, or a negative error. */
	int (*run)(struct cli *cli, const struct args *a, struct err *e);
};

/* All commands in the order of the documentation; ends with NULL. */
extern const struct cmd *const cmd_table[];

extern const struct cmd cmd_kernel_fetch, cmd_kernel_add, cmd_kernel_build, cmd_kernel_mutations,
	cmd_kernel_list, cmd_kernel_show, cmd_kernel_remove, cmd_run, cmd_report, cmd_compare,
	cmd_nightly, cmd_show, cmd_rig_list, cmd_rig_show, cmd_rig_wear, cmd_scenario_list,
	cmd_scenario_check, cmd_scenario_explain, cmd_judge, cmd_completion, cmd_help, cmd_version;
extern const struct cmd cmd_console, cmd_switch_on, cmd_switch_off, cmd_switch_cycle,
	cmd_switch_status, cmd_switch_safe;
extern const struct cmd cmd_serve, cmd_selftest, cmd_check;
extern const struct cmd cmd_stick_prepare, cmd_stick_verify;
extern const struct cmd cmd_submit, cmd_queue, cmd_cancel, cmd_rigs, cmd_lock, cmd_unlock,
	cmd_worker, cmd_job_run, cmd_store_copy, cmd_store_keep, cmd_store_fetch;
extern const struct cmd cmd_bisect_start, cmd_bisect_status, cmd_bisect_result, cmd_bisect_log,
	cmd_bisect_resume, cmd_bisect_tell, cmd_bisect_stop, cmd_bisect_step;

#define CLI_EXIT_USAGE  129 /* bad input or set-up */
#define CLI_EXIT_BROKEN 130 /* the bench, the store, this program, or a signal */

/*
 * Finds the command that argv begins with and how many words name it. ERR_USAGE with the nearest
 * name for an unknown one.
 */
int cmd_find(int argc, char *const *argv, const struct cmd **ret, int *ret_words,
	     struct err *e) must_check;

/* Prints the error on cli->log, as cli_run() does for one that a command returns. */
void cli_say_error(struct cli *cli, const struct err *e);

/* The exit status that an error means: CLI_EXIT_USAGE or CLI_EXIT_BROKEN. */
int cli_exit_of_error(const struct err *e);

/*
 * Everything behind main(): argv without the program's name. Returns the exit status; the error is
 * on cli->log. Flushes cli->out and treats a write error there as an error.
 */
int cli_run(struct cli *cli, int argc, char *const *argv);

/*
 * Writes text to a file, or to cli->out if path is "-". A file that is there and begins otherwise
 * than text, so is no earlier result of the kind, is left alone: ERR_USAGE.
 */
int cli_write(struct cli *cli, const char *path, const struct strbuf *text,
	      struct err *e) must_check;
