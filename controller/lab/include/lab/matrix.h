/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * matrix.h - does each scenario find what it is made for? Kernels that have a failure, kernels that
 * do not, and what the verdicts were. Pure.
 */
#pragma once

#include "base/strbuf.h"
#include "kernels/kernels.h"
#include "trial/trial.h"

enum matrix_outcome {
	MATRIX_AS_EXPECTED,
	MATRIX_FALSE_PASS,   /* a failure was not found */
	MATRIX_FALSE_FAIL,   /* one was found that is not there */
	MATRIX_OTHER_REASON, /* the right verdict for a wrong reason */
	MATRIX_UNDECIDED,    /* INCONCLUSIVE, UNTESTABLE, RIG-FAULT */
	MATRIX_OUTCOME_MAX
};

/* "as_expected", "false_pass", … Never NULL. */
const char *matrix_outcome_name(enum matrix_outcome o);

/* A verdict with its reason, "FAIL over-limit", and how many runs of a cell had it. */
struct matrix_seen {
	char *what;
	unsigned n;
};

/* One kernel under one scenario. */
struct matrix_cell {
	char *scenario;
	char *kernel;    /* name in the kernel store */
	char *source;    /* of the kernel, as its mutation says it */
	char *mutations; /* that the kernel has, "a b"; "" = as the source is */
	char *append;    /* kernel command line, "" nothing */
	size_t plain; /* the cell of the same kernel without the mutation; its own if it is that */
	enum verdict expected;
	char *reason;                     /* that is expected */
	unsigned n[MATRIX_OUTCOME_MAX];   /* runs by what came out */
	unsigned n_trials;                /* valid ones */
	int64_t worst_us, least_worst_us; /* of the runs' worst delays; -1 none */
	nsec_t wall_ns;                   /* of all runs */
	struct matrix_seen *seen;         /* in the order in which they came */
	size_t n_seen;
};

struct matrix {
	struct matrix_cell *cells; /* owned */
	size_t n;
};

void matrix_release(struct matrix *m);

/*
 * Adds the two cells of a mutation: the kernel without it (name `plain`) and with it (`mutated`). A
 * cell that is there already is shared. ERR_CONFIG if the mutation has no scenario, its
 * expectations are no verdict and reason, or contradict those of a cell that is there.
 */
int matrix_add(struct matrix *m, const struct kernel_mutation *mutation, const char *source,
	       const char *plain, const char *mutated, struct err *e) must_check;

/* What a verdict means in this cell. */
enum matrix_outcome matrix_classify(const struct matrix_cell *c, enum verdict verdict,
				    const char *reason);
/* Counts a run that has ended. */
void matrix_note(struct matrix_cell *c, const struct run *run);
/* Counts a run that could not be made since the kernel does not build. */
void matrix_note_unbuilt(struct matrix_cell *c);
/* What was seen and not expected, "INCONCLUSIVE straddles-limit (2), PASS none-over". Appended. */
void matrix_add_unexpected(const struct matrix_cell *c, struct strbuf *out);

/* What a run was made of, beside what its cell says. */
struct matrix_origin {
	const char *rig; /* its name */
	const char *scenario_sha256, *image_sha256;
	unsigned trials; /* valid ones that were wanted */
};

/* Whether a run has ended and is one of this cell, made of the same. */
bool matrix_is_run_of(const struct matrix_cell *c, const struct matrix_origin *o,
		      const struct run *run);
unsigned matrix_cell_runs(const struct matrix_cell *c);
/* PASS: all runs of all cells as expected, and at least one in each. FAIL: a verdict was false, or
   right for a wrong reason. INCONCLUSIVE: what is left. */
enum verdict matrix_verdict(const struct matrix *m);
