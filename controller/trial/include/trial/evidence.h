/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evidence.h - from what was observed in a trial to its evidence and its result. Pure: the runner
 * observes, this decides, so that every rule can be tested without a rig.
 *
 * A trial is a function of the observation and the console's events, nothing else: a recording with
 * its observation judges to the same result at any later time (rejudge.h).
 */
#pragma once

#include "console/console.h"
#include "trial/event_log.h"
#include "trial/probe_state.h"
#include "trial/scenario.h"
#include "trial/trial.h"

#define OBSERVATION_CPUS_MAX 256

/* Interrupts that the controller of the stick has raised, per CPU. */
struct irq_counts {
	int64_t per_cpu[OBSERVATION_CPUS_MAX];
	size_t n_cpus;
};

/* How far a trial came: what was observed for each group of rules. */
enum observed {
	OBSERVED_BUILD = 1 << 0,
	OBSERVED_MARK = 1 << 1,
	OBSERVED_COVERAGE = 1 << 2,
	OBSERVED_CONTROL = 1 << 3,
	OBSERVED_CACHE = 1 << 4,
	OBSERVED_CUT = 1 << 5,
	OBSERVED_DISCONNECT = 1 << 6,
	OBSERVED_WINDOW = 1 << 7,
	OBSERVED_REPLUG = 1 << 8,
	OBSERVED_ENVIRONMENT = 1 << 9,
	OBSERVED_LOADS = 1 << 10
};

struct observation {
	const struct scenario *scenario;
	const struct event_log *log;
	unsigned reached;        /* bits of enum observed */
	size_t log_from;         /* first event of the trial */
	size_t log_armed;        /* first event after the probe was reset */
	size_t log_window;       /* events of the window end here */
	size_t log_end;          /* events of the trial end here */
	enum evidence_id failed; /* a step met an error: this evidence is missing … */
	const char *failed_why;  /* … because of this; NULL = no error */

	struct {
		const char *release, *version;             /* of the kernel build */
		const char *banner;                        /* console, "" = none seen */
		const char *agent_release, *agent_version; /* uname of the target */
	} build;

	const char *usb_path;              /* port on which the stick must be */
	const char *mark_start, *mark_end; /* nonces, NULL = not sent */
	int64_t console_loglevel;

	struct {
		size_t log_from, log_to; /* events between the probe's reset and its reading */
		int cpu;
		int64_t actual_us;        /* as wq-stall measured itself */
		struct probe_state state; /* after the injected stall */
	} control;

	int64_t cached_bytes, file_bytes;
	int64_t neighbour_bytes; /* cached of the second stick's file, which is as large */
	int64_t dirty_kib;       /* of all files together */
	nsec_t cut_asked_ns, cut_applied_ns;
	bool is_cut_sensed; /* the switch measured it, not only claimed it */
	bool is_cut_blind;  /* the switch cannot measure it: its word is taken */
	bool is_cut_soft;   /* the target closed its port, nothing was unplugged */
	nsec_t end_ns;      /* when the last probe state was read */
	struct probe_state before, after;
	struct irq_counts irq_before, irq_after;
	struct console_integrity integrity_before, integrity_after;
	int64_t console_losses_before, console_losses_after; /* of the port, in this boot */
	/* how long the host kept the target waiting between the probe's reset and its reading, at
	   most in any stretch of evidence_longest_us(); of an emulated target whose host says it */
	bool is_host_wait_known;
	int64_t host_wait_us;
	const char *environment_before, *environment_after;
	const char *replug_path; /* where the stick came back */
	int64_t replug_ms;
	const char *worst_func; /* what held the pool during the worst delay; NULL = unknown */
	/* the agent's probe-samples of the judged probes, at the window's end; NULL = not read */
	const char *samples;
	/* of loads, and of the profile in any scenario; they belong to whoever observes */
	const struct trial_number *numbers;
	size_t n_numbers;
	unsigned loads_done, loads_planned;
	const char *machine_broken; /* a line on the console that says so; NULL or "" = none */
	int64_t load_ms;            /* from mount to the end of dd; 0 = not loaded */
	/* how far dd was: words "MS:BYTES", milliseconds since load_started_ns; NULL = unknown */
	const char *load_progress;
	nsec_t load_started_ns;
};

/*
 * Applies every rule for which o->reached has something, in the order of the steps, and notes a
 * crash. Also fills delays, numbers, incidents, worst_us and the moments. Call it once a trial.
 */
void evidence_judge(struct trial *t, const struct observation *o);

/*
 * The same rules while the trial runs: applies the one group of rules named by a single bit, adds
 * it to o->reached, and says whether what it demands is there.
 */
bool evidence_reach(struct observation *o, enum observed what);

/* True once the console shows the injected stall as the probe saw it. */
bool evidence_control_is_heard(const struct observation *o);

/* The longest judged delay in o->after, finished or still pending; -1 if no judged probe is there.
 */
int64_t evidence_worst_us(const struct observation *o);
/* The longest delay of any probe that is judged or watched; 0 without one. */
int64_t evidence_longest_us(const struct observation *o);

/* True once the console shows all that the module said up to o->after; lines may still be coming.
 */
bool evidence_console_is_complete(const struct observation *o);

/* True if a probe name is in the scenario's list. */
bool scenario_counts_probe(const struct scenario *sc, const char *probe);
bool scenario_watches_probe(const struct scenario *sc, const char *probe);
