/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario.h - what is done to the target, what is measured and with which limit. Described in
 * hil/scenarios/NAME.yaml, see stallrig-scenario(5).
 */
#pragma once

#include "base/err.h"
#include "base/fdio.h"

#include <stdbool.h>

struct scenario {
	char *path; /* of the YAML file */
	char sha256[SHA256_HEX_SIZE];
	char *name;
	char *title;
	struct {
		char **kernel_modules;
		unsigned kernel_modules_count;
	} needs;
	struct {
		unsigned console_loglevel;
		struct {
			char *match; /* text in /proc/interrupts */
			unsigned cpu;
		} irq;
		char *mount; /* "ro": mounted read-only; "none": read from the device itself */
		bool hold;   /* keep the device open from before the load until after the cut */
	} prepare;
	struct {
		char *kind; /* "dd" */
		unsigned block_kib;
		unsigned timeout_s;
		unsigned cache_floor_pct;
		bool drop_cache;   /* drop the page cache again after the load (negative control) */
		bool keep_reading; /* read the device past the page cache while it is cut */
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
	} trials;
};

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
