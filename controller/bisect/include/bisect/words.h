/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.h - a bisect for people, for scripts, and for git. Texts may hold any byte of a subject. */
#pragma once

#include "bisect/driver.h"

#include <jansson.h>

/* What is to be done, before anything is: commits, expected builds, boots, trials, hours. */
void bisect_plan_text(const struct bisect *b, struct strbuf *out);
/* Where it stands: the likeliest commits, what comes next and why, what is left. */
void bisect_status_text(const struct bisect *b, struct strbuf *out);
/*
 * The report that can be mailed: the commit with its probability and `git show --stat`, delays of
 * culprit and parents side by side, the confirmation, how to do it again.
 */
void bisect_result_text(struct waiter *w, const struct bisect *b, struct strbuf *out);
/* {"state","culprit","probability","candidates","tests","untestable",…}, one line. */
int bisect_json(const struct bisect *b, struct strbuf *out, struct err *e) must_check;
/* The journal, a line a record. */
void bisect_log_text(const struct bisect *b, struct strbuf *out);
/* As `git bisect log` prints it; `git bisect replay` takes it. */
void bisect_git_log(const struct bisect *b, struct strbuf *out);

/* [{"commit","subject","probability"}] of the likeliest, at most 20. Caller releases. */
json_t *bisect_candidates_json(const struct bisect *b);
/* "PASS", "FAIL", "INCONCLUSIVE" or "UNTESTABLE": what is believed of the commit now. */
const char *bisect_verdict_of(const struct bisect *b, uint32_t commit);
/* The text, with '?' for each byte above ASCII if it is not UTF-8. Caller frees. */
char *words_utf8(const char *s);
