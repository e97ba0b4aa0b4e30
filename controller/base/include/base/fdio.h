/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fdio.h - whole reads, whole writes, and files that appear complete or not at all. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

/* Writes all n bytes (blocking fds), restarting after EINTR. 0 or -errno. */
int fd_write_all(int fd, const void *bytes, size_t n) must_check;

/*
 * Reads a whole file of at most max bytes. ERR_INTERNAL names the path; -EFBIG if it is larger.
 */
int file_read(const char *path, size_t max, struct strbuf *ret, struct err *e) must_check;

/* Writes path.tmp, syncs it and renames it over path. */
int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *e) must_check;

/* mkdir -p with mode 0755. */
int dir_make(const char *path, struct err *e) must_check;
/* rm -rf; a missing path is fine. Does not follow symbolic links. */
int dir_remove(const char *path, struct err *e) must_check;

/* Copies a file's bytes (copy_file_range or read/write), mode 0644. */
int file_copy(const char *from, const char *to, struct err *e) must_check;

/* Lower-case hex SHA-256 of a file / of bytes into ret (65 bytes). */
#define SHA256_HEX_SIZE 65
int sha256_file(const char *path, char ret[SHA256_HEX_SIZE], struct err *e) must_check;
void sha256_bytes(const void *bytes, size_t n, char ret[SHA256_HEX_SIZE]);

/*
 * Where things lie. $STALLRIG_CACHE or $XDG_CACHE_HOME/stallrig or ~/.cache/stallrig holds what can
 * be fetched or built again; $STALLRIG_STATE or $XDG_STATE_HOME/stallrig or ~/.local/state/stallrig
 * holds results. Caller frees.
 */
char *path_cache(const char *sub);
char *path_state(const char *sub);
/* $STALLRIG_RECORDINGS: folder of recordings that the hosts of a lab share; NULL = none. Not the
   caller's. */
const char *path_shared_recordings(void);
/* Folder of the running program, without '/' at its end. Caller frees. */
char *path_program(void);
/* Shared files of the project: $STALLRIG_DATA, else what was installed with the running program,
   else what the build was configured with. Caller frees. */
char *path_data(const char *sub);
