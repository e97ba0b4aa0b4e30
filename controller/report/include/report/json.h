/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.h - runs and trials as JSON values, for those who build larger answers out of them. The keys
   are the design's, section 9; what is unknown is absent. The caller owns what it gets. */
#pragma once

#include "base/strbuf.h"
#include "store/queue.h"
#include "trial/trial.h"

#include <jansson.h>

/* What a run is of and its verdict, without its trials. */
json_t *report_run_value(const struct run *r);
/* With "boots" and "trials" (their heads). */
json_t *report_whole_run_value(const struct run *r);
json_t *report_trial_head_value(const struct run *r, const struct trial *t);
/* Everything about a trial; reads its console from the recording. */
json_t *report_trial_value(const struct run *r, const struct trial *t);
/* A job of the queue. */
json_t *report_job_value(const struct store_job *j);
/* Adds the value in the project's one form of JSON text, and drops it. */
void report_add_value(struct strbuf *out, json_t *value);
