/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - what a bisect has seen: JSON objects, one a line, appended and synced one by one, so
 * that a process killed at any point loses at most what it was just doing. The state of a bisect is
 * a function of its journal.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>

#include <stdbool.h>

#define JOURNAL_RECORDS_MAX 200000u
#define JOURNAL_FILE_MAX    (256u << 20)
#define JOURNAL_LINE_MAX    (64u << 10)

struct journal;

/*
 * Reads path, which is made if it is missing and is_writer. A last line that was cut short by a
 * crash is dropped (and, for a writer, cut off the file); any other line that is no JSON object is
 * ERR_STORE/-EBADMSG with its number. A writer holds a lock on path.lock until journal_close():
 * -EBUSY (ERR_USAGE) names the process that has it.
 */
int journal_open(const char *path, bool is_writer, struct journal **ret, struct err *e) must_check;
void journal_close(struct journal *j);
DEFINE_AUTO(journal, struct journal *, journal_close)
#define auto_journal AUTO(journal)

/*
 * Takes the object over (also on error), gives it "seq" and "wall" (ISO 8601), and returns only
 * once it is on the disk. -ENOSPC: nothing was added and the file is as before.
 */
int journal_append(struct journal *j, json_t *record, struct err *e) must_check;

size_t journal_n(const struct journal *j);
/* Belongs to the journal. */
const json_t *journal_at(const struct journal *j, size_t i);

/* Process that holds the lock of this path, 0 = nobody. */
pid_t journal_holder(const char *path);
