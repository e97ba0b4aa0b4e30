/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare_text.h - a comparison of two runs for people and programs. */
#pragma once

#include "base/strbuf.h"
#include "judge/compare.h"
#include "trial/trial.h"

/* A few lines for a terminal, the conclusion first. */
void compare_text(struct strbuf *out, const struct run *base, const struct run *new_run,
		  const struct compare_result *r, double confidence);

/* One object; bounds that are not known are absent. Ends with a line end. */
void compare_json(struct strbuf *out, const struct run *base, const struct run *new_run,
		  const struct compare_result *r, double confidence);
