/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.h - trees of kernel source that builds are made of, and edits to them. */
#pragma once

#include "kernels/private.h"

struct source {
	char *label; /* "linux-source-6.1_6.1.192-3", or the user's folder */
	char *dir;   /* top of the tree that is built; its .obj-ARCH holds what the build makes */
	char *home; /* folder in the cache with the lock and the untouched files; NULL = in place */
	char *commit;
	int lock;
};

/*
 * spec: "debian:PACKAGE" or a folder. Gets, unpacks or copies what is not there yet and locks the
 * tree until source_close(). A folder is copied by rsync each time (only what changed), so that
 * the user's tree is never written to; is_in_place takes it as it is and without a lock.
 */
int source_open(const struct kernels_ctx *ctx, const char *spec, bool is_in_place,
		struct source **ret, struct err *e) must_check;
void source_close(struct source *s);
DEFINE_AUTO(source, struct source *, source_close)
#define auto_source AUTO(source)

/*
 * What source_open() would call the source "debian:PACKAGE": its name and newest version. ERR_USAGE
 * for a folder, whose name says nothing about what is in it. Caller frees.
 */
int source_label(const struct kernels_ctx *ctx, const char *spec, char **ret,
		 struct err *e) must_check;

/*
 * Brings the tree back to what it was before the last mutations (also if a build was killed
 * meanwhile) and then applies these. ERR_USAGE: there is no such mutation, or it does not fit
 * this source. Not for trees in place.
 */
int source_mutate(const struct kernels_ctx *ctx, const struct source *s, const char *const *names,
		  size_t n, struct err *e) must_check;

/* ---- mutation.c ---- */

/* ERR_USAGE/-ENOENT with the names that there are. kernel_mutation_release() afterwards. */
int kernel_mutation_find(const char *name, struct kernel_mutation *ret, struct err *e) must_check;
void kernel_mutation_release(struct kernel_mutation *m);

#define MUTATION_FILES_MAX 16
#define MUTATION_TEXT_MAX  (256u << 10)

/*
 * The files that a patch changes, relative to the top of the tree, out of its "+++ b/" lines.
 * ERR_CONFIG: none, more than MUTATION_FILES_MAX, or one outside the tree. Caller frees each.
 */
int patch_files(const char *path, char *ret[MUTATION_FILES_MAX], size_t *ret_n,
		struct err *e) must_check;

/* ---- compile.c ---- */

/*
 * Appends the options of these configs (see struct kernel_compile_cfg), one file after the other; a
 * later line wins over an earlier one. ERR_USAGE names one that is not there.
 */
int kernel_configs_join(const char *const *configs, size_t n, const char *arch, struct strbuf *ret,
			struct err *e) must_check;
