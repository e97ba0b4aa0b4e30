/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program.h - programs of the target as load: how they are started, and what dd says of itself. */
#pragma once

#include "agent.h"

struct program {
	pid_t pid;
	int out_fd; /* reading end of the stream's pipe */
};

/*
 * Starts argv with one of its streams (1 or 2) on a pipe and the others on /dev/null; it dies with
 * its parent. An error names the program, which was not started then.
 */
int program_start(const char *const *argv, int stream, struct program *ret,
		  struct err *e) must_check;
/*
 * What the program says next: bytes read, 0 once it has closed its output, -ETIMEDOUT if it says
 * nothing until until_ns (CLOCK_MONOTONIC).
 */
ssize_t program_read(const struct program *p, char *buf, size_t n, int64_t until_ns);
/* Takes the next byte of a line, cut to its room; true = it was the line's end, and line is whole.
 */
bool program_line_add(char *line, size_t cap, size_t *len, char c);
/* From a status of wait(2): 0..255, or 128 + the signal. */
int program_exit_code(int status);

/* What dd says about itself at its end, or when it gets SIGUSR1. */
struct dd_report {
	bool has_in, has_out, has_bytes;
	uint64_t in_full, in_part, out_full, out_part, bytes;
	int64_t elapsed_us; /* -1 = it did not say */
	char last[256];     /* the last line that is none of these */
	size_t said;        /* bytes of all that */
	char line[512];     /* not yet complete */
	size_t len;
};

/* Takes what dd wrote to its standard error. */
void dd_report_feed(struct dd_report *rep, const char *bytes, size_t n);
