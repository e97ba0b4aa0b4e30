/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_compare.h - one run held against another that was measured under the same conditions. Pure.
 */
#pragma once

#include "judge/compare.h"
#include "trial/trial.h"

/*
 * What differs between the conditions of two runs, and so forbids to compare them: rig class,
 * architecture, scenario, and on the target HZ, preemption, the CPU-intensive threshold (where both
 * kernels have one), CPUs, clock source, the stick, its size and its link's speed. Appends the
 * differences in words; returns how many there are. A run without a boot that came up differs in
 * nothing that is known.
 */
size_t run_differences(const struct run *base, const struct run *new_run, struct strbuf *ret_words);

/*
 * compare_builds() over the worst delays of the valid trials, with their boots. -ENODATA if a run
 * has no valid trial; else as compare_builds(). Does not look at the conditions.
 */
int run_compare(const struct run *base, const struct run *new_run, const struct compare_config *c,
		struct compare_result *ret) must_check;
