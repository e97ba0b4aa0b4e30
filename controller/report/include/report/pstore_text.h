/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pstore_text.h - a run's pstore records in words. What a target calls them is hostile input. */
#pragma once

#include "base/strbuf.h"
#include "trial/pstore.h"

/* "3 records of boot 1, 1 of an earlier boot"; nothing without records. */
void pstore_text_add_counts(struct strbuf *out, const struct pstore *p);
/* A line for each record of a boot (0 = of all), its file and size, and for each note of the run.
 */
void pstore_text_add(struct strbuf *out, const struct pstore *p, unsigned boot);
