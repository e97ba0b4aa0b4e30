/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline.h - the run of a named kernel build that others are held against, on the same rig.
 *
 * A job of kind "run" says so by the parameter {"baseline": "<build>"}.
 */
#pragma once

#include "base/err.h"
#include "store/store.h"
#include "trial/trial.h"

/*
 * The newest run of the build that has ended and has a valid trial, without additions to its
 * command line, on that rig and with that scenario. except: id of a run that it must not be; NULL =
 * none. *ret_id is NULL if there is none. Caller frees.
 */
int lab_baseline_find(struct store *st, const char *build, const char *rig, const char *scenario,
		      const char *except, char **ret_id, struct err *e) must_check;
