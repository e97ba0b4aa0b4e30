/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rejudge.h - a run's verdict again, from what was recorded and nothing else.
 *
 * The folder of a run holds
 *   run.json          what was asked for: build, rig, scenario, numbers of the plan
 *   scenario.yaml     the scenario as it was
 *   waivers.yaml      the waived incidents, if there are any
 *   trial-<n>.json    what was observed beside the console (facts.h)
 *   boot-<n>/         console.raw and console.timing
 */
#pragma once

#include "trial/trial.h"

/* True if the folder has a run.json. */
bool rejudge_is_run(const char *dir);

/*
 * Parses the recorded consoles again, applies the rules of evidence and judges. *ret is a run as
 * runner_run() gives it. ERR_STORE names the file that is
 * missing or broken.
 */
int rejudge_run(const char *dir, struct run **ret, struct err *e) must_check;
