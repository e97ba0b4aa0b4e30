/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log_source.h - console logs from anywhere: files (plain, or compressed by gzip, xz or zstd),
 * recordings of `run`, folders of these, and the standard input.
 */
#pragma once

#include "base/waiter.h"
#include "report/console_log.h"

/*
 * Feeds what `path` names to log ("-" is stdin_fd). A folder gives its files and its subfolders'
 * in the order of their names, down to LOG_SOURCE_DEPTH; a folder with console.raw is a recording
 * and is played with its times. Timing files and names that begin with a dot are left out.
 *
 * ERR_USAGE names the file that cannot be read, is compressed and damaged, or is nothing like a
 * console log. Memory does not depend on the size of what is read.
 */
int log_source_feed(struct console_log *log, const char *path, int stdin_fd, struct waiter *w,
		    struct err *e) must_check;

#define LOG_SOURCE_DEPTH 3

/*
 * Feeds a growing file or stdin ("-") until it is stopped (ERR_STOPPED) or stdin ends (0).
 * after_each is called whenever all that was there has been fed.
 */
int log_source_follow(struct console_log *log, const char *path, int stdin_fd, struct waiter *w,
		      void (*after_each)(void *self), void *self, struct err *e) must_check;
