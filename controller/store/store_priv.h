/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_priv.h - what the files of this room share. */
#pragma once

#include "base/parse.h"
#include "db.h"

/* Within a transaction: what changes of a run while it goes on, and its end. -ENOENT if it is not
   there. */
int store_write_run(struct db *db, const struct run *r, struct err *e) must_check;

/* Within a transaction: the key of the run with this id. -ENOENT if it is not there. */
int store_require_run(struct db *db, const char *id, int64_t *ret, struct err *e) must_check;

/* What store_read_run() takes, of runs JOIN rigs JOIN kernel_builds. */
#define STORE_RUN_COLUMNS                                                                          \
	"run, id, rigs.name, class, arch, kernel_builds.name, release, version,"                   \
	" config_sha256, image_sha256, kernel_label, append, scenario, scenario_sha256,"           \
	" started_wall_ns, limit_us, planned_valid, tolerated_over, confidence, ended_wall_ns,"    \
	" rig_fault, untestable, verdict, reason, strength, valid, over, invalid, crashes, boots," \
	" boots_over, is_clustered, worst_us, p50_us, p99_us, over_low, over_high"

/* The head and verdict of the row; *ret_key is its key in runs. -EBADMSG if a value cannot be. */
int store_read_run(struct query *q, struct run *r, int64_t *ret_key, struct err *e) must_check;

/* Something in the queue or about a rig has changed. */
#define STORE_QUEUE_CHANNEL "stallrig_queue"

struct store {
	struct db *db;
	char *location; /* without a password */
	int schema_version;
};
