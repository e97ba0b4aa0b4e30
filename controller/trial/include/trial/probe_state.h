/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_state.h - what latency-mon says of itself: its debugfs file "state", as the agent hands it
 * over. Format: docs/latency-mon.md.
 */
#pragma once

#include "trial/trial.h"

#include <stdbool.h>

#define PROBE_ROWS_MAX 1024
#define PROBE_NAME_MAX 16

struct probe_row {
	int cpu; /* -1: not bound to a CPU */
	char probe[PROBE_NAME_MAX];
	int64_t beats;      /* samples completed */
	int64_t missed;     /* periods without a sample because the one before was pending */
	int64_t over;       /* delays at or over the threshold since the reset */
	int64_t max_us;     /* longest delay since the reset */
	int64_t max_due_ns; /* when that one was due, printk clock */
	int64_t self; /* delays put down to the module's own printing: not in over and max_us */
	int64_t pending_us; /* age of work that is queued and has not run; 0 = none */
};

struct probe_state {
	int64_t version, period_us, threshold_us, hz, seq, events, clock_ns;
	struct probe_row rows[PROBE_ROWS_MAX];
	size_t n_rows;
};

/* ERR_TARGET names the line that is wrong. */
int probe_state_parse(const char *text, struct probe_state *ret, struct err *e) must_check;
/*
 * Adds what the agent's probe-samples says, lines "<probe>;<low ns>,<end ns>,<count>;…" (others
 * are passed over), to the histograms of a trial. ERR_TARGET names the line that is wrong; the
 * trial has no histograms then.
 */
int probe_samples_parse(const char *text, struct trial *t, struct err *e) must_check;
/* NULL if there is none. */
const struct probe_row *probe_state_find(const struct probe_state *st, int cpu, const char *probe);
