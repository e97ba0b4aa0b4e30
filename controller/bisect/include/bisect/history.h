/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.h - the commits of good..bad out of git, and what git does for a bisect. */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"
#include "bisect/core.h"

#define HISTORY_SHA_SIZE  65 /* SHA-256 repositories too */
#define HISTORY_FILE_MAX  (1024u << 20)
#define HISTORY_SHORT_LEN 12

struct history_commit {
	char *sha;
	char *subject;
	char **parent_shas; /* all parents, candidates or not */
	uint32_t *parents;  /* those that are candidates, as indexes */
	unsigned n_parent_shas, n_parents;
	double weight;
};

struct history {
	char *good, *bad; /* full names of the ends */
	struct history_commit *v;
	size_t n;
};
void history_release(struct history *h);

/*
 * Asks git for good..bad in topological order and weighs each commit: what touches `paths` counts
 * 20 times as much as what does not; without paths, the parts of a kernel that can stall count 4
 * times as much as others; what touches only documentation, tools or samples counts a fiftieth, a
 * merge a fifth. ERR_USAGE if good is not an ancestor of bad (the merge base is named) or if they
 * are the same.
 */
int history_load(struct waiter *w, const char *repo, const char *good, const char *bad,
		 const char *const *paths, size_t n_paths, const char *tmp_dir, struct history *ret,
		 struct err *e) must_check;

/* To and from a file, so that a bisect goes on whatever becomes of the repository. */
int history_save(const struct history *h, const char *path, struct err *e) must_check;
int history_read(const char *path, struct history *ret, struct err *e) must_check;

/*
 * Index of the commit that sha (or at least 4 digits of it) begins, BISECT_GOOD_END for the good
 * end. -ENOENT, or -EEXIST if it is not unique (ERR_USAGE).
 */
int history_find(const struct history *h, const char *sha, uint32_t *ret, struct err *e) must_check;
/* Full name of a candidate or of the good end. */
const char *history_sha(const struct history *h, uint32_t commit);
const char *history_subject(const struct history *h, uint32_t commit);
