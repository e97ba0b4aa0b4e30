/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario.h - what is done to the target, what is measured and with which limit. Described in
 * hil/scenarios/NAME.yaml, see stallrig-scenario(5).
 */
#pragma once

#include "base/err.h"
#include "base/fdio.h"
#include "rig/rig.h"

#include <stdbool.h>

#define SCENARIO_LOADS_MAX 64 /* and as many job counts each */

/* Something that keeps the target busy and is measured; once for each number of jobs. */
struct scenario_load {
	char *name;
	char *kind;    /* "random-read", "random-write", "dd", "walk", "sh" */
	char *path;    /* what is read, written or walked through; NULL for sh */
	char *to;      /* dd: of=; NULL = /dev/null */
	char *command; /* sh */
	char *before;  /* command that is run before and not measured; NULL = none */
	unsigned *jobs;
	unsigned jobs_count;
	unsigned seconds;          /* how long; for walk and sh at most */
	unsigned block_kib, count; /* dd: count 0 = to the end of the file */
	unsigned seed;
	char *program;              /* random-…: "fio"; NULL = the agent itself */
	char *iflag, *oflag, *conv; /* dd; NULL = none */
	bool is_value;              /* sh: its last line is a number, which is what it measures */
};

/* A limit on a number that the loads give. */
struct scenario_limit {
	char *name; /* of the number; '*' stands for any text */
	int64_t *min, *max;
	unsigned min_baseline_pct, max_baseline_pct; /* 0 = not limited */
};

/* Functions that stand for one thing, as the waiting for a lock. */
struct scenario_symbols {
	char *name;
	char **functions; /* patterns of their names */
	unsigned functions_count;
	char **releases; /* patterns of the kernel releases that this row is for; none = all */
	unsigned releases_count;
};

struct scenario {
	char *path; /* of the YAML file */
	char sha256[SHA256_HEX_SIZE];
	char *name;
	char *title;
	char *kind; /* "unplug" or "load" */
	struct {
		char **kernel_modules;
		unsigned kernel_modules_count;
		char **programs; /* of this machine, for the target */
		unsigned programs_count;
		struct rig_disk *disks;
		unsigned disks_count;
	} needs;
	struct {
		unsigned console_loglevel;
		struct {
			char *match; /* text in /proc/interrupts */
			unsigned cpu;
		} irq;
		char *mount;  /* "ro", "rw": mounted; "none": read from the device itself */
		bool hold;    /* keep the device open from before the load until after the cut */
		char **setup; /* of a load scenario: commands, once a boot */
		unsigned setup_count;
	} prepare;
	/* of a load scenario; empty in one that unplugs */
	struct scenario_load *loads;
	unsigned loads_count;
	struct scenario_limit *limits;
	unsigned limits_count;
	char **invalid_if; /* texts on the console that say that the machine is broken */
	unsigned invalid_if_count;
	/* a disk that hardly writes for a while, in one of the loads; disk NULL = none */
	struct {
		char *disk, *load;
		unsigned write_iops, after_ms, for_ms;
	} hiccup;
	/* where the CPUs spend their time, during the loads or from the cut on; hz 0 = not wanted
	 */
	struct {
		unsigned hz;
		char *event; /* "cycles", "cpu-clock"; NULL = what the target has */
		struct scenario_symbols *sets;
		unsigned sets_count;
	} profile;
	struct {
		char *kind; /* "dd" */
		unsigned block_kib;
		unsigned timeout_s;
		unsigned cache_floor_pct;
		bool drop_cache;   /* drop the page cache again after the load (negative control) */
		bool keep_reading; /* read the device past the page cache while it is cut */
		bool neighbour;    /* read the rig's second stick into the page cache, too */
		unsigned
			dirty_mib; /* then write so much, which stays in the page cache; 0 = none */
	} load;
	struct {
		char *cpus;   /* "all" or a CPU list as "0-1,3" */
		char **count; /* probes that are judged */
		unsigned count_count;
		char **watch; /* probes that are the negative control */
		unsigned watch_count;
		unsigned period_us, threshold_us;
	} probe;
	struct {
		unsigned stall_ms, stall_tolerance_ms, noise_max_ms;
	} controls;
	struct {
		char *kind;         /* "unplug" */
		bool unmount_first; /* unmount just before the cut (negative control) */
		unsigned apply_timeout_ms, seen_timeout_ms;
	} stimulus;
	struct {
		unsigned min_ms, max_ms, attribution_ms;
	} window;
	struct {
		unsigned max_ms, tolerated_over_pct, confidence_pct;
	} limit;
	struct {
		unsigned valid, per_boot, max_invalid;
		unsigned baseline; /* valid ones of a run that others are held against; 0 = valid */
	} trials;
};

/* True if its trials are loads that are measured, false if a stick is unplugged. */
bool scenario_is_load(const struct scenario *sc);

/* True if a limit of it is a share of a baseline's number. */
bool scenario_needs_baseline(const struct scenario *sc);
/* How many valid trials a run gets that others are held against. */
unsigned scenario_baseline_trials(const struct scenario *sc);

/* Gives the run the scenario's limits on numbers, in place of those that it has. */
struct run;
void scenario_set_limits(const struct scenario *sc, struct run *r);

/*
 * Loads "unplug-read" ($STALLRIG_SCENARIOS or path_data("hil/scenarios")) or a path to a YAML file.
 * ERR_CONFIG with file:line:column for what is wrong in it; ERR_USAGE for a name that does not
 * exist, with the names that do.
 */
int scenario_load(const char *name_or_path, struct scenario **ret, struct err *e) must_check;
/* Accepts NULL. */
void scenario_free(struct scenario *sc);
DEFINE_AUTO(scenario, struct scenario *, scenario_free)
#define auto_scenario AUTO(scenario)
