/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nightly_kernels.h - from a plan's entry to builds of the kernel store; of nightly_expand.c. */
#pragma once

#include "lab/nightly.h"

/* A build of an entry for one arch, or why there is none. Strings are owned. */
struct candidate {
	char *kernel;
	char *left_out;   /* NULL = fine */
	bool is_settling; /* left out because it may still be being written */
};

struct candidates {
	struct candidate *list; /* owned */
	size_t n;
};

void candidates_release(struct candidates *c);

/*
 * What the entry comes to for this arch. NIGHTLY_DRY changes nothing. What is wrong with one kernel
 * leaves it out; errors are what ends a night: ERR_STOPPED, ERR_INTERNAL, a folder that is not
 * there, a build that is named and not in the store.
 */
int find_kernels(const struct plan *p, const struct plan_kernel *k, const struct kernels_ctx *ctx,
		 const char *arch, enum nightly_look look, struct candidates *ret,
		 struct err *e) must_check;
