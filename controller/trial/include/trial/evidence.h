/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evidence.h - from what was observed in a trial to its evidence and its result. Pure: the runner
 * observes, this decides, so that every rule can be tested without a rig.
 *
 * Each evidence_check_*() sets one entry of t->evidence with the numbers behind it.
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

struct observation {
	const struct scenario *scenario;
	const struct event_log *log;
	size_t log_from;  /* first event of the trial */
	size_t log_armed; /* first event after the probe was reset */

	struct {
		const char *release, *version;             /* of the kernel build */
		const char *banner;                        /* console, "" = none seen */
		const char *agent_release, *agent_version; /* uname of the target */
	} build;

	const char *usb_path;              /* port on which the stick must be */
	const char *mark_start, *mark_end; /* nonces, NULL = not sent */
	int64_t console_loglevel;

	struct {
		size_t log_from; /* first event after the probe was reset for it */
		int cpu;
		int64_t actual_us;        /* as wq-stall measured itself */
		struct probe_state state; /* after the injected stall */
	} control;

	int64_t cached_bytes, file_bytes;
	nsec_t cut_asked_ns, cut_applied_ns;
	bool is_cut_sensed; /* the switch measured it, not only claimed it */
	nsec_t end_ns;      /* when the last probe state was read */
	struct probe_state before, after;
	struct irq_counts irq_before, irq_after;
	struct console_integrity integrity_before, integrity_after;
	const char *environment_before, *environment_after;
};

void evidence_set(struct trial *t, enum evidence_id id, bool is_there, const char *fmt, ...)
	printf_like(4, 5);

void evidence_check_booted_build(struct trial *t, const struct observation *o);
void evidence_check_console_audible(struct trial *t, const struct observation *o);
/* Early form of probe-on-cpu: only ever sets it to missing, when no judged probe watches this CPU.
 */
void evidence_check_probe_coverage(struct trial *t, const struct probe_state *st,
				   const struct scenario *sc, int cpu);
void evidence_check_control_positive(struct trial *t, const struct observation *o);
void evidence_check_cache_loaded(struct trial *t, const struct observation *o);
void evidence_check_cut_applied(struct trial *t, const struct observation *o);
void evidence_check_cut_seen(struct trial *t, const struct observation *o);
/* True once the console shows all that the module said up to o->after; lines may still be coming.
 */
bool evidence_console_is_complete(const struct observation *o);
/* All that can be said only when the window is over; also fills delays, numbers and worst_us. */
void evidence_check_window(struct trial *t, const struct observation *o);
void evidence_check_environment(struct trial *t, const struct observation *o);

/* Decides is_valid and missing from the evidence: the first one in order that is not there. */
void evidence_conclude(struct trial *t);

/* True if a probe name is in the scenario's list. */
bool scenario_counts_probe(const struct scenario *sc, const char *probe);
bool scenario_watches_probe(const struct scenario *sc, const char *probe);
