/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pstore.h - what crashed kernels left in the target's persistent store, as a later boot of the run
 * brought it in. The bytes of a record are boot-<n>/pstore-<name>.raw in the run's folder, where n
 * is the boot that left it; where that cannot be told, boot-<n>/pstore-earlier-<name>.raw, where n
 * is the boot that brought it in. pstore.json in the run's folder lists them.
 */
#pragma once

#include "base/fdio.h"
#include "trial/trial.h"

#define PSTORE_RECORD_MAX  (64 << 10) /* bytes of a record that are kept; the rest is gone then */
#define PSTORE_ALL_MAX     (1 << 20)  /* … and of all that one boot brings in, */
#define PSTORE_RECORDS_MAX 64         /* which are so many; what is beyond stays on the target */

/* Texts are owned. */
struct pstore_record {
	char *name; /* as on the target, "dmesg-erst-7578413…" */
	char *file; /* path in the run's folder */
	char sha256[SHA256_HEX_SIZE];
	int64_t bytes;         /* on the target */
	int64_t kept_bytes;    /* fewer if it was cut */
	unsigned boot;         /* that left it; 0 = an earlier one, nobody can tell which */
	unsigned collected_in; /* the boot that brought it in */
};

struct pstore {
	struct pstore_record *records; /* owned */
	size_t n;
	char **notes; /* what was not brought in and why, a sentence each; owned */
	size_t n_notes;
};

void pstore_release(struct pstore *p);
#define auto_pstore __attribute__((cleanup(pstore_release)))

/* Adds an empty record; its texts are the caller's to set. */
struct pstore_record *pstore_add(struct pstore *p);
/* Adds a note; a text that is there already is not repeated. */
void pstore_add_note(struct pstore *p, const char *text);

/*
 * Of the run whose recordings lie in dir; *ret is empty if it has none. ERR_STORE if the list is
 * damaged.
 */
int pstore_read(const char *dir, struct pstore *ret, struct err *e) must_check;
int pstore_write(const char *dir, const struct pstore *p, struct err *e) must_check;
/* pstore_read() for a run whose recordings may be here; empty if they are not. */
int pstore_of_run(const struct run *r, struct pstore *ret, struct err *e) must_check;

/* How many of n records of these sizes, from the first on, are brought in at once. */
size_t pstore_fitting(const int64_t *bytes, size_t n);

/* Whether the record is listed with that boot: the one that left it, else the one that brought it
 * in.
 */
bool pstore_is_of_boot(const struct pstore_record *rec, unsigned boot);
