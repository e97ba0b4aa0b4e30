/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_session.h - runs that a command makes: into the store first, then told to the user. */
#pragma once

#include "cli/cmd.h"
#include "store/store.h"
#include "trial/runner.h"

/*
 * runner_run() with its hooks: each step is stored before it is shown. If another run holds the rig
 * and may_wait is set it is waited for, up to an hour. cfg's hooks, self and lock_wait_ns are set
 * here. *ret may be set also after an error, see runner_run().
 */
int run_session(struct cli *cli, struct store *store, struct runner_cfg *cfg, bool may_wait,
		struct run **ret, struct err *e) must_check;
