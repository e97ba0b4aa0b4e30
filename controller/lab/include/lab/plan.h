/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - what a nightly run is to do: which kernel builds under which scenarios on which rigs.
 * Described in hil/plans/NAME.yaml, see stallrig-plan(5).
 */
#pragma once

#include "base/err.h"
#include "base/fdio.h"

#include <stdbool.h>

/* Exactly one of the first four is set. */
struct plan_kernel {
	char *debian;   /* series: the newest build of it is fetched */
	char *build;    /* name of a build in the kernel store */
	char *folder;   /* watched: each kernel in it is added to the store once */
	char *git;      /* repository: its branch is built at its tip */
	char *branch;   /* only with git, and then always */
	char **configs; /* only with git: as of `kernel build`; {"virtual"} if nothing is said */
	unsigned configs_count;
	char *command;     /* only with git: builds it in place of make; NULL = make */
	char *append;      /* added kernel command line, "" = nothing */
	unsigned priority; /* of its jobs in the queue */
	bool new_only;     /* what was judged on an earlier night is left out */
	char *text;        /* plan_kernel_text() */
};

struct plan {
	char *path; /* of the YAML file */
	char sha256[SHA256_HEX_SIZE];
	char *name;
	char **rigs; /* names; "class:NAME", "tag:NAME" for each rig of that class or tag */
	unsigned rigs_count;
	char **scenarios;
	unsigned scenarios_count;
	struct plan_kernel *kernels; /* in the order of their priority */
	unsigned kernels_count;
	char *baseline;          /* "previous", or a build in the kernel store */
	unsigned trials;         /* valid trials of a run; 0 = the scenario's */
	unsigned budget_minutes; /* nothing is begun after that; 0 = no limit */
	unsigned retries;        /* further runs after a RIG-FAULT before the rig is quarantined */
	bool new_only;           /* for kernels that do not say themselves */
	unsigned priority; /* for kernels that do not say themselves; the highest goes first */
	unsigned settle_s; /* a dropped kernel is taken when nothing of it changed for that long */
	char *notify;      /* program that gets news as JSON on its standard input; "" = none */
};

/*
 * Loads "nightly" ($STALLRIG_PLANS or path_data("hil/plans")) or a path to a YAML file. ERR_CONFIG
 * with file:line:column for what is wrong in it; ERR_USAGE for a name that does not exist, with
 * the names that do. Whether rigs, scenarios and kernels exist is checked where they are used.
 */
int plan_load(const char *name_or_path, struct plan **ret, struct err *e) must_check;
/* Accepts NULL. */
void plan_free(struct plan *p);
DEFINE_AUTO(plan, struct plan *, plan_free)
#define auto_plan AUTO(plan)

/*
 * "debian:6.12", the build's name, the folder, "BRANCH of REPOSITORY" (as http_url_shown()): what a
 * person calls it. Never NULL.
 */
const char *plan_kernel_text(const struct plan_kernel *k);

/* True if runs are held against a build that the plan names, false if against earlier nights. */
bool plan_names_baseline(const struct plan *p);
/* True if that build, without additions to its command line, is the one that the plan names. */
bool plan_is_baseline(const struct plan *p, const char *kernel, const char *append);
