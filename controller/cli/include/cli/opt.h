/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opt.h - options as data. One table row drives parsing, --help, the man page, completion and the
 * hint after a typing error.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

/* What a value is: how it is checked and what completion offers for it. */
enum opt_type {
	OPT_FLAG,     /* no value */
	OPT_TEXT,     /* anything that is not empty */
	OPT_COUNT,    /* decimal, min..max */
	OPT_CHOICE,   /* one of `choices` */
	OPT_PATH,     /* file or folder */
	OPT_DIR,      /* folder */
	OPT_RIG,      /* name of a rig or a YAML file */
	OPT_SCENARIO, /* name of a scenario or a YAML file */
	OPT_KERNEL,   /* a kernel build in the store */
	OPT_COMMAND,  /* the name of a command, maybe of two words */
};

struct opt {
	const char *name; /* long name without dashes; NULL in the last row of a table */
	char letter;      /* 0 = none */
	enum opt_type type;
	const char *arg;      /* what --help calls the value; NULL for a flag */
	bool is_arg_optional; /* then a value can only be given as --name=VALUE */
	bool is_required;
	bool is_list;      /* may be given up to OPT_LIST_MAX times; else the last one counts */
	uint32_t min, max; /* OPT_COUNT */
	const char *const *choices; /* OPT_CHOICE, NULL-terminated */
	const char *
		absent; /* words for --help: what holds if it is not given; NULL = nothing to say */
	const char *help; /* no capital at its begin, no full stop at its end */
};

/* What may stand beside options. A command has at most one kind. */
struct positional {
	const char *name; /* "PATH"; NULL = the command takes none */
	enum opt_type type;
	const char *const *choices;
	unsigned min, max; /* how many */
};

#define OPT_TABLE_MAX 24 /* rows of a command's table */
#define OPT_LIST_MAX  16

struct cmd;

struct opt_value {
	unsigned n;                      /* how often it was given, capped for non-lists at 1 */
	const char *texts[OPT_LIST_MAX]; /* NULL for flags and optional values that are absent */
	uint32_t count;
};

struct args {
	const struct cmd *cmd;
	struct opt_value values[OPT_TABLE_MAX]; /* by the row of cmd->options */
	const char *const *positional;          /* owned; the strings are argv's */
	size_t n_positional;
	bool wants_help;
};

/*
 * Parses what follows the command's name. Options and other words may be mixed; "--" ends the
 * options. ERR_USAGE names the option, the value and what would be right. With --help the rest is
 * not checked. args_release() afterwards, also after an error.
 */
int args_parse(const struct cmd *cmd, int argc, char *const *argv, struct args *ret,
	       struct err *e) must_check;
void args_release(struct args *a);

static inline void auto_cleanup_args(struct args *a)
{
	args_release(a);
}
#define auto_args __attribute__((cleanup(auto_cleanup_args)))

/* The name must be in the command's table: anything else is a bug and aborts. */
bool args_has(const struct args *a, const char *name);
/* NULL if absent. */
const char *args_text(const struct args *a, const char *name);
uint32_t args_count(const struct args *a, const char *name, uint32_t if_absent);
const struct opt_value *args_list(const struct args *a, const char *name);

/* The options that every command has; ends with a row whose name is NULL. */
extern const struct opt opt_common[];

/*
 * The name nearest to `typed` if it is near enough for a typing error, else NULL. names has n
 * entries.
 */
const char *opt_nearest(const char *typed, const char *const *names, size_t n);
