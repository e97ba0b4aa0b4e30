/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export.h - runs in the formats that other programs read. A new format is a file of its own and a
 * row in export_formats[].
 *
 * A run is the unit everywhere: its verdict is the claim, its trials are what the claim rests on.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "trial/trial.h"

#include <stdbool.h>

struct export_options {
	const char *origin; /* KCIDB: who submits, [a-z0-9_]+ */
};

struct export_format {
	const char *name;
	const char *summary; /* for help, no capital at its begin */
	/* The runs hold their trials. Text goes to out; fails for what the format cannot say
	   (ERR_USAGE). */
	int (*write)(struct strbuf *out, struct run *const *runs, size_t n,
		     const struct export_options *o, struct err *e);
};

/* Ends with a row whose name is NULL. */
extern const struct export_format export_formats[];

/* Their names, ends with NULL. */
extern const char *const export_names[];

/* NULL if there is none of that name. */
const struct export_format *export_find(const char *name);

/* ---- the formats ---- */

/* JUnit XML as CI servers read it: a suite a run with one case "verdict"; FAIL is a failure, what
   is neither PASS nor FAIL an error; numbers are properties, trials the case's output. */
int export_junit(struct strbuf *out, struct run *const *runs, size_t n,
		 const struct export_options *o, struct err *e) must_check;

/* Linux' Documentation/dev-tools/ktap.rst, version 1: a test a run, its trials nested in it. What
   is neither PASS nor FAIL is "not ok … # ERROR"; invalid trials are skipped. */
int export_ktap(struct strbuf *out, struct run *const *runs, size_t n,
		const struct export_options *o, struct err *e) must_check;

/* LAVA's shell signals, one a run, to print from a test definition. Inconclusive results and rig
   faults are "unknown", untestable builds "skip". */
int export_lava(struct strbuf *out, struct run *const *runs, size_t n,
		const struct export_options *o, struct err *e) must_check;

/*
 * KCIDB schema 5.3: a checkout and a build per kernel build, a test a run, with ids that are made
 * from what they stand for, so that sending twice adds nothing. Needs o->origin.
 */
int export_kcidb(struct strbuf *out, struct run *const *runs, size_t n,
		 const struct export_options *o, struct err *e) must_check;

/* Gauges for Prometheus (text format and OpenMetrics alike, for node_exporter's textfile
   collector): the newest ended run of each rig and scenario. */
int export_openmetrics(struct strbuf *out, struct run *const *runs, size_t n,
		       const struct export_options *o, struct err *e) must_check;

/* RFC 4180 with a header line: a record a trial, and one for a run without trials. */
int export_csv(struct strbuf *out, struct run *const *runs, size_t n,
	       const struct export_options *o, struct err *e) must_check;
