/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.h - runs and trials for people and programs. Nothing here prints: text goes to a strbuf.
 */
#pragma once

#include "base/strbuf.h"
#include "trial/trial.h"

/* The verdict table: one line a run, columns aligned, ready for a terminal. */
void report_table(struct strbuf *out, struct run *const *runs, size_t n, bool has_colour);

/* {"runs":[…]} of the design, section 9; ends with a line end. */
void report_json(struct strbuf *out, struct run *const *runs, size_t n);

/* One self-contained HTML page: verdict table, per run the trials with evidence and an inline SVG
   of the delays against the limit. No script, no outside resource. */
void report_html(struct strbuf *out, struct run *const *runs, size_t n, const char *title);

/*
 * `stallrig show`: timeline, evidence, numbers, incidents, and the console lines around the cut
 * read from the recording. A recording that is gone is said so in its place.
 */
void report_trial(struct strbuf *out, const struct run *r, const struct trial *t, bool has_colour);
void report_trial_json(struct strbuf *out, const struct run *r, const struct trial *t);
