/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state.h - the bisect's state as one JSON object, for `bisect status --json` and the result. */
#pragma once

#include "bisect/core.h"

#include <jansson.h>

#define BISECT_STATE_CANDIDATES 5u /* likeliest commits that are listed */

/*
 * {"state","culprit","probability","answer":[commit],"candidates":[{"commit","probability"}],
 * "tests":[{"commit","trials","boots","over","p_bad","median_ms","verdict"}],"untestable":[commit],
 * "next":{"commit","why","boots","trials_per_boot","p_bad","info_bits","build_s","cost_s",
 * "p_untestable"},"used":{"builds","boots","trials"},
 * "estimate":{"entropy_bits","builds","boots","trials","hours"},
 * "rates":{"over_good","over_good_low","over_good_high","over_bad","over_bad_low","over_bad_high",
 * "boot_correlation_good","boot_correlation_bad","p_ends_differ"},"commits","target","reason"}
 *
 * Keys whose value is unknown are absent: "culprit" without a single commit named at the target,
 * "next" and "estimate" in final states, "median_ms" without a measured delay, "reason" (the
 * sentence of struct bisect_next) outside final states. "verdict" of a test is the likelier of
 * "good" and "bad" if that has a probability of the target or more, "told-good" or "told-bad" if
 * somebody said so and no trial was made, else "undecided". Commits are names; the good end is
 * "good end". The caller owns the object (json_decref) and may add keys. Never NULL.
 */
json_t *bisect_state_json(const struct bisect_core *b);

/*
 * The same for people, a few lines: what is known, the likeliest commits, what is next and why,
 * what is still to come. The caller frees.
 */
char *bisect_state_text(const struct bisect_core *b);

/*
 * "16 commits between the ends: about 9 builds, 60 boots, 60 trials, 1.5 h to 99 %." Before the
 * first event this is the price of the bisect. The caller frees.
 */
char *bisect_estimate_text(const struct bisect_core *b);
