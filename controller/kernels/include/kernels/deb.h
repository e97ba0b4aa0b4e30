/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deb.h - .deb files, and getting them from the machine's own package registry. */
#pragma once

#include "kernels/private.h"

#include <stdbool.h>

/*
 * Checks that the archive is as long as its members say: an ar(5) file whose members are
 * debian-binary, control and data, see deb(5). ERR_CONFIG with what was expected and got.
 */
int deb_check(const char *path, struct err *e) must_check;
/* Unpacks the files of the package under dir, which exists. Checks it first. */
int deb_unpack(const struct kernels_ctx *ctx, const char *path, const char *dir,
	       struct err *e) must_check;
/* A field of the package's control file, "" if absent. Caller frees. */
int deb_field(const struct kernels_ctx *ctx, const char *path, const char *field, char **ret,
	      struct err *e) must_check;

/* One version of one package, as the registry's index describes it. */
struct deb_pkg {
	char *name, *version, *arch, *depends;
	uint64_t size_bytes;
	char *sha256;
};
void deb_pkg_release(struct deb_pkg *p);
static inline void auto_cleanup_deb_pkg(struct deb_pkg *p)
{
	deb_pkg_release(p);
}
#define auto_deb_pkg __attribute__((cleanup(auto_cleanup_deb_pkg)))

/*
 * Calls fn for each stanza of `apt-cache show` output that has all that struct deb_pkg needs (an
 * installed package's stanza has no SHA256). Returns how many there were.
 */
size_t deb_each_stanza(const char *text, void (*fn)(void *self, const struct deb_pkg *p),
		       void *self);

/*
 * First alternatives of a Depends field whose name starts with prefix, without version or arch
 * qualifier; NULL when there are no more. *pos starts as depends. Caller frees.
 */
char *deb_next_dependency(const char **pos, const char *prefix);

struct apt;

/*
 * Private apt state for one architecture ("x86_64", "arm64") in path_cache("apt-ARCH"), over the
 * machine's own sources and keys. Locked until apt_close(). Nothing is fetched yet.
 */
int apt_open(const struct kernels_ctx *ctx, const char *arch, struct apt **ret,
	     struct err *e) must_check;
void apt_close(struct apt *a);
DEFINE_AUTO(apt, struct apt *, apt_close)
#define auto_apt AUTO(apt)

/*
 * Newest version of the package. The index is fetched if it is older than 6 hours or does not know
 * the package. -ENOENT (ERR_USAGE) if the registry does not have it.
 */
int apt_find(struct apt *a, const char *name, struct deb_pkg *ret, struct err *e) must_check;
/* Newest version over all kernel image packages that deb_kernel_matches() the spec. */
int apt_find_kernel(struct apt *a, const char *spec, struct deb_pkg *ret, struct err *e) must_check;
/*
 * The package's file in path_cache("downloads"), fetched unless it is there whole; size and SHA-256
 * are those of the index or it is an error. Caller frees *ret_path.
 */
int apt_download(struct apt *a, const struct deb_pkg *p, char **ret_path, struct err *e) must_check;

/* ---- foreign.c ---- */

#define PROGRAM_MAX (32u << 20) /* bytes of a program or library in an initramfs */

/*
 * Paths of the libraries that a program of this machine needs, one a line, as the loader finds
 * them: each line of ldd(1) that has a path, "name => /path (0x…)" or "/path (0x…)". A static
 * program has none. ERR_RIG/-ENOENT if one is missing.
 */
int program_libraries(const struct kernels_ctx *ctx, const char *program, struct strbuf *ret,
		      struct err *e) must_check;
/* Newest version of a package, unpacked under dir, which exists. */
int package_unpack(const struct kernels_ctx *ctx, struct apt *a, const char *name, const char *dir,
		   struct err *e) must_check;
/*
 * What a program of this machine is on another arch, with its libraries: the files of the same
 * packages (dpkg-query -S) for that arch, fetched once and kept in path_cache("programs/ARCH").
 * What the program needs there and does not need here is not found. *ret: folder with the files as
 * the target has them and their names in "files", one a line; caller frees. ERR_RIG.
 */
int foreign_program_ensure(const struct kernels_ctx *ctx, const char *arch, const char *program,
			   char **ret, struct err *e) must_check;
