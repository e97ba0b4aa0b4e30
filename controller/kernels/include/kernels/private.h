/* SPDX-License-Identifier: GPL-2.0-or-later */
/* private.h - what the files of this room share; not for other rooms. */
#pragma once

#include "base/strbuf.h"
#include "kernels/kernels.h"

struct child_cfg;

/* ---- store.c ---- */

/* The store's folder, made if missing. Caller frees. */
int kernels_store_dir(const struct kernels_ctx *ctx, char **ret, struct err *e) must_check;
void kernels_progress(const struct kernels_ctx *ctx, const char *fmt, ...) printf_like(2, 3);

/*
 * Takes an exclusive flock on path (made if missing) and holds it until *ret_fd is closed. Waits
 * as long as another process has it, with a line of progress that names that process.
 */
int kernels_lock(const struct kernels_ctx *ctx, const char *path, int *ret_fd,
		 struct err *e) must_check;

/*
 * Makes an empty <parent>/.tmp-<pid> and removes those of processes that are gone. The name starts
 * with '.', so that it is never taken for a build.
 */
int kernels_tmp_dir(const char *parent, char **ret, struct err *e) must_check;
/* Removes what kernels_tmp_dir() made, quietly; NULL is fine. */
void kernels_tmp_remove(const char *dir);

/* Syncs all of tmp to the disk and renames it to to, which must not exist. */
int kernels_commit_dir(const char *tmp, const char *to, struct err *e) must_check;

/* Path of a program in PATH, /usr/sbin or /sbin; NULL if it is not installed. Caller frees. */
char *kernels_find_program(const char *name);

/* What the names of arch's compiler and binutils begin with here: "" or "aarch64-linux-gnu-". */
const char *kernels_cross_prefix(const char *arch);

/*
 * child_run() with dies_with_parent and with /usr/sbin and /sbin in PATH. A failure while the disk
 * that holds `where` is full becomes -ENOSPC and says so.
 */
int kernels_run(const struct kernels_ctx *ctx, const char *const *argv, const char *cwd,
		const char *where, nsec_t timeout_ns, struct strbuf *ret_out,
		struct err *e) must_check;

/* ---- build.c ---- */

/* Reads dir/kernel.json. ERR_CONFIG names the file and the key. */
int kernel_build_load(const char *dir, struct kernel_build **ret, struct err *e) must_check;
/* Writes dir/kernel.json; name and dir come from where the folder lies and are not written. */
int kernel_build_save(const struct kernel_build *k, const char *dir, struct err *e) must_check;

/* ---- assemble.c ---- */

/* What lies unpacked, to become a build. Paths; NULL = there is none. */
struct assemble_cfg {
	const char *image;       /* vmlinuz, bzImage, Image, Image.gz: moved */
	const char *config;      /* moved */
	const char *system_map;  /* moved */
	const char *modules_dir; /* a folder as lib/modules/<release>: moved */
	const char *origin;
	const char *package_version;
	const char *name; /* NULL = prefix + release */
	const char *name_prefix;
};

/*
 * Fills the build folder dir (in the store's temporary folder) from what is unpacked, works out the
 * identity and writes kernel.json. The headers are put there by the caller.
 */
int kernel_assemble(const struct kernels_ctx *ctx, const struct assemble_cfg *cfg, const char *dir,
		    struct kernel_build **ret, struct err *e) must_check;

/*
 * Makes dir/headers out of dir/devel, where linux-headers packages were unpacked: paths that point
 * to /usr/src are made relative, so that the folder can lie anywhere. -ENOENT if there are none
 * for this release.
 */
int kernel_assemble_headers(const char *dir, const char *release, struct err *e) must_check;

/* First entry of dir whose name starts with prefix, in byte order; NULL if none. Caller frees. */
char *dir_find_prefix(const char *dir, const char *prefix);

/* ---- command.c ---- */

/*
 * Runs the program with what it writes at the end of the log; the log's last line is the progress
 * of `name`. ERR_KERNEL/-ECHILD: it ended with another status than 0, which *ret_status (may be
 * NULL) holds as from waitpid(2).
 */
int kernels_run_logged(const struct kernels_ctx *ctx, const struct child_cfg *program,
		       const char *name, const char *log, nsec_t timeout_ns, int *ret_status,
		       struct err *e) must_check;

/* ---- image.c ---- */

/* The agent's static program, without debug information; path NULL = the one built beside this
   program. ERR_RIG. */
int target_agent_read(const struct kernels_ctx *ctx, const char *path, const char *arch,
		      struct strbuf *ret, struct err *e) must_check;

/* ---- probe.c ---- */

#define PROBES 2
extern const char *const probe_names[PROBES]; /* "latency-mon.ko" */

/* A probe module of the build, without debug information: 1, or 0 if it was not built. */
int probe_read(const struct kernels_ctx *ctx, const struct kernel_build *k, const char *name,
	       struct strbuf *ret, struct err *e) must_check;
