/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fio.h - fio as the program that makes random reads and writes. */
#pragma once

#include "agent.h"

/* What is asked of it. */
struct fio_load {
	const char *path;
	bool is_write, is_direct;
	unsigned jobs, seconds, block_kib;
	uint64_t n_blocks; /* of path */
	uint64_t seed;
};

/* What it says of itself; latencies are those of whole I/Os. */
struct fio_report {
	uint64_t ios, iops, elapsed_ms;
	uint64_t p50_us, p99_us, max_us;
	uint64_t cpu_us; /* of all jobs together */
	int first_errno; /* 0 = none; a job ends at its first error */
};

/*
 * Reads a line of fio's terse output, version 3 (the fields are described in fio(1)), of a run
 * whose jobs are reported as one. False if it is none.
 */
bool fio_report_parse(const char *line, const struct fio_load *l, struct fio_report *ret);

/*
 * Runs fio to its end and answers in the words of `random`, but those that fio does not have
 * (worst_s_iops, the lines of each job). One that has not ended some time after its seconds is
 * killed, and said to be. -ENOENT if the target has no fio; -EIO with its words if it says no
 * result.
 */
int fio_run(struct request *rq, const struct fio_load *l, struct err *e) must_check;
