/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fio.c - fio as the program that makes random reads and writes. */
#include "fio.h"

#include "base/parse.h"
#include "program.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* from its time to its end: it starts its jobs and sums up */
#define GRACE_NS ((int64_t)20000 * 1000000)

#define LINE_MAX_BYTES 4096 /* a result has some 1,000 */

/*
 * Fields of a line, counted from 0: some of the whole, then 41 of reads, the same 41 of writes,
 * then the CPU time. Of these the percentiles are "50.000000%=17", in the order that was asked for.
 */
enum {
	FIELD_VERSION = 0,
	FIELD_ERROR = 4,
	FIELD_READS = 5,
	FIELD_WRITES = FIELD_READS + 41,
	FIELD_CPU_USER = FIELD_WRITES + 41,
	FIELD_CPU_SYSTEM,
	FIELDS,
	/* within reads or writes */
	AT_KIB = 0,
	AT_IOPS = 2,
	AT_RUNTIME_MS = 3,
	AT_P50 = 12,
	AT_P99 = 13,
	AT_MAX_US = 33,
};

/* "50.000000%=17" */
static bool take_percentile(const char *field, uint64_t *ret)
{
	const char *equals = strchr(field, '=');

	return equals && parse_u64("percentile", equals + 1, 0, UINT64_MAX, ret, NULL) == 0;
}

/* "12.345678%" as parts of 1e8. */
static bool take_ratio(const char *field, uint64_t *ret)
{
	char whole[24], part[7] = "000000";
	const size_t n = strspn(field, "0123456789");
	uint64_t high, low;

	if (!n || n >= sizeof(whole))
		return false;
	(void)snprintf(whole, sizeof(whole), "%.*s", (int)n, field);
	field += n;
	if (*field == '.')
		for (size_t i = 0; *++field >= '0' && *field <= '9'; i++)
			if (i < sizeof(part) - 1)
				part[i] = *field;
	if (strcmp(field, "%") != 0 || parse_u64("ratio", whole, 0, 1000000, &high, NULL) < 0 ||
	    parse_u64("ratio", part, 0, 999999, &low, NULL) < 0)
		return false;
	*ret = high * 1000000 + low;
	return true;
}

bool fio_report_parse(const char *line, const struct fio_load *l, struct fio_report *ret)
{
	char copy[LINE_MAX_BYTES];
	const char *const *io;
	const char *fields[FIELDS];
	char *rest = copy;
	uint64_t kib, code, user, system;

	(void)snprintf(copy, sizeof(copy), "%s", line);
	for (size_t i = 0; i < FIELDS; i++) {
		fields[i] = strsep(&rest, ";");
		if (!fields[i])
			return false;
	}
	io = fields + (l->is_write ? FIELD_WRITES : FIELD_READS);
	if (strcmp(fields[FIELD_VERSION], "3") != 0 ||
	    parse_u64("error", fields[FIELD_ERROR], 0, 4095, &code, NULL) < 0 ||
	    parse_u64("KiB", io[AT_KIB], 0, UINT64_MAX / 1024, &kib, NULL) < 0 ||
	    parse_u64("IOPS", io[AT_IOPS], 0, UINT64_MAX, &ret->iops, NULL) < 0 ||
	    parse_u64("runtime", io[AT_RUNTIME_MS], 0, UINT32_MAX, &ret->elapsed_ms, NULL) < 0 ||
	    parse_u64("max", io[AT_MAX_US], 0, UINT64_MAX, &ret->max_us, NULL) < 0 ||
	    !take_percentile(io[AT_P50], &ret->p50_us) ||
	    !take_percentile(io[AT_P99], &ret->p99_us) ||
	    !take_ratio(fields[FIELD_CPU_USER], &user) ||
	    !take_ratio(fields[FIELD_CPU_SYSTEM], &system))
		return false;
	ret->ios = kib / l->block_kib;
	/* its shares are of the time of all jobs together */
	ret->cpu_us = (uint64_t)((double)(user + system) * (double)ret->elapsed_ms * l->jobs / 1e5);
	ret->first_errno = (int)code;
	return true;
}

/* Until fio has closed its output, or until_ns; false then. last: of its lines that are no result.
 */
static bool follow(const struct program *p, const struct fio_load *l, int64_t until_ns,
		   struct fio_report *rep, bool *ret_has_report, char *last, size_t cap)
{
	char line[LINE_MAX_BYTES];
	char buf[1024];
	size_t len = 0;
	ssize_t n;

	while ((n = program_read(p, buf, sizeof(buf), until_ns)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (!program_line_add(line, sizeof(line), &len, buf[i]))
				continue;
			if (fio_report_parse(line, l, rep))
				*ret_has_report = true;
			else if (*line)
				(void)snprintf(last, cap, "%s", line);
		}
	}
	return n == 0;
}

/* A colon in a file name separates files. False if the word has no room. */
static bool put_file_name(const char *path, char *word, size_t cap)
{
	size_t n = (size_t)snprintf(word, cap, "--filename=");

	for (; *path && n + 3 <= cap; path++) {
		if (*path == ':')
			word[n++] = '\\';
		word[n++] = *path;
	}
	word[n] = '\0';
	return !*path;
}

#define WORD_SIZE 48

int fio_run(struct request *rq, const struct fio_load *l, struct err *e)
{
	char file[2048];
	char bs[WORD_SIZE], size[WORD_SIZE], jobs[WORD_SIZE], runtime[WORD_SIZE], seed[WORD_SIZE];
	const char *const argv[] = {
		"fio", "--name=random", file, l->is_write ? "--rw=randwrite" : "--rw=randread", bs,
		size, jobs, runtime, seed, l->is_direct ? "--direct=1" : "--direct=0",
		/* one I/O at a time, each block as likely each time, as verb_random.c does it */
		"--ioengine=psync", "--time_based", "--norandommap", "--allow_file_create=0",
		/* processes of its own would leave the worker's group and outlive it */
		"--thread", "--group_reporting", "--percentile_list=50:99", "--eta=never",
		"--output-format=terse", "--terse-version=3", NULL};
	struct fio_report rep = {0};
	struct program p = {.pid = -1, .out_fd = -1};
	struct answer *a = rq->answer;
	bool has_report = false, has_ended;
	char last[256] = "it said nothing";
	int status = 0;
	int r;

	if (!put_file_name(l->path, file, sizeof(file)))
		return err_set(e, ERR_TARGET, ENAMETOOLONG, "fio: '%.64s…' is too long", l->path);
	(void)snprintf(bs, sizeof(bs), "--bs=%uk", l->block_kib);
	(void)snprintf(size, sizeof(size), "--size=%" PRIu64 "k", l->n_blocks * l->block_kib);
	(void)snprintf(jobs, sizeof(jobs), "--numjobs=%u", l->jobs);
	(void)snprintf(runtime, sizeof(runtime), "--runtime=%u", l->seconds);
	(void)snprintf(seed, sizeof(seed), "--randseed=%" PRIu64, l->seed);
	r = program_start(argv, STDOUT_FILENO, &p, e);
	if (r < 0)
		return r;
	has_ended = follow(&p, l,
			   clock_ns(CLOCK_MONOTONIC) + (int64_t)l->seconds * 1000000000 + GRACE_NS,
			   &rep, &has_report, last, sizeof(last));
	if (!has_ended)
		(void)kill(p.pid, SIGKILL);
	(void)close(p.out_fd);
	(void)waitpid(p.pid, &status, 0);
	if (has_ended && !has_report)
		return err_set(e, ERR_TARGET, EIO, "fio: exit %d: %s", program_exit_code(status),
			       last);

	answer_word(a, "ios", "%" PRIu64, rep.ios);
	answer_word(a, "elapsed_ms", "%" PRIu64, rep.elapsed_ms);
	answer_word(a, "iops", "%" PRIu64, rep.iops);
	answer_word(a, "p50_us", "%" PRIu64, rep.p50_us);
	answer_word(a, "p99_us", "%" PRIu64, rep.p99_us);
	answer_word(a, "max_us", "%" PRIu64, rep.max_us);
	answer_word(a, "cpu_us", "%" PRIu64, rep.cpu_us);
	answer_word(a, "errors", "%d", rep.first_errno != 0);
	if (rep.first_errno) {
		const char *name = strerrorname_np(rep.first_errno);

		answer_word(a, "first_error", "%s", name ? name : "unknown");
	}
	answer_word(a, "killed", "%d", !has_ended);
	answer_word(a, "stuck", "0");
	return 0;
}
