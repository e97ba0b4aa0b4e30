/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recordings.h - the recordings of runs by their hashes, so that a verdict can be recomputed on any
 * host of a lab. The store knows each file's path in the run's folder, size and SHA-256; the bytes
 * lie in the store itself, or in a folder that all hosts share, as <folder>/<2 digits>/<hash>,
 * each content once. Errors and blocking as in store.h; what a folder does is ERR_STORE and names
 * the file.
 */
#pragma once

#include "store/store.h"

#define RECORDING_FILES_MAX 4096          /* of a run */
#define RECORDING_FILE_MAX  (256ll << 20) /* bytes of one; a console at 115200 baud: 6 hours */

/*
 * Keeps what a verdict is made of: run.json, scenario.yaml, trial-<n>.json, each boot's console,
 * and logs. dir: the run's folder. folder NULL = into the store. What is there already stays. The
 * run must be in the store (-ENOENT). -E2BIG, -EFBIG beyond the limits above.
 */
int store_recording_keep(struct store *st, const char *run_id, const char *dir, const char *folder,
			 struct err *e) must_check;

/*
 * Puts them into dir (made if need be), each checked by its hash (-EBADMSG). Where bytes are
 * neither in the store nor in folder (may be NULL), -ENOENT names the file; -ENODATA: nothing was
 * kept of this run.
 */
int store_recording_fetch(struct store *st, const char *run_id, const char *folder, const char *dir,
			  struct err *e) must_check;

/*
 * Makes the recordings of a run readable here: boots whose folder is not on this host are fetched
 * into <cache>/<run id>, once, and their `recording` says so. A run of which nothing was kept stays
 * as it is (0).
 */
int store_recording_locate(struct store *st, const char *folder, const char *cache, struct run *r,
			   struct err *e) must_check;
