/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_text.h - how runs and trials are put into words and groups, the same in every format. */
#pragma once

#include "base/strbuf.h"
#include "report/excerpt.h"
#include "trial/trial.h"

/*
 * The sentence beside a verdict: the strength where the verdict speaks for itself, else the reason
 * and the strength. Says so if the run has not ended. Unsafe characters are made visible.
 */
void run_text_add_outcome(struct strbuf *out, const struct run *r);

/* "valid", "valid, over the limit", "invalid: cache-loaded", "crash: …". */
void run_text_add_trial(struct strbuf *out, const struct run *r, const struct trial *t);

/* "<run id>.<number>": what `stallrig show` takes. */
void run_text_add_trial_id(struct strbuf *out, const struct run *r, const struct trial *t);

/* "scenario unplug-read on virtual rigs, limit 50 ms" of the group that r belongs to. */
void run_text_add_group(struct strbuf *out, const struct run *r);

/*
 * Only numbers of one rig class, scenario and limit may stand beside each other. Sorts the runs'
 * indexes so that each group's lie together, groups and their members in the order given.
 * ret_order and ret_group have room for n; returns the number of groups.
 */
size_t run_text_group(struct run *const *runs, size_t n, size_t *ret_order, size_t *ret_group);

/* The boot of that number; NULL if the run does not have it. */
const struct trial_boot *run_text_boot(const struct run *r, unsigned number);

/* "✓", "✗", "–", "·" for ok, missing, not needed, not reached. */
const char *run_text_mark(enum evidence_state s);

/*
 * The console lines around the trial's cut, and (if *ret_has_cut) when the cut was asked for on
 * the recording's clock: the console's "USB disconnect" ties the two clocks together. size as for
 * excerpt_read().
 */
int run_text_excerpt(const struct trial *t, const struct trial_boot *b,
		     const struct excerpt_size *size, struct excerpt *ret, bool *ret_has_cut,
		     int64_t *ret_cut_ns, struct err *e) must_check;
