/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verb_random.c - random reads or writes past the page cache by a number of processes, or by fio:
 * IOPS, the worst second, latencies.
 */
#include "base/parse.h"
#include "base/rng.h"
#include "fio.h"
#include "hist.h"
#include "team.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define SECONDS_MAX 600
#define GRACE_NS    ((int64_t)10 * 1000000000) /* for the last I/O of each */
#define ERRORS_MAX  100                        /* a job that meets so many gives up */

/* What one job counts; in memory that the parent sees too. */
struct job_count {
	struct hist hist;
	uint64_t ios, errors;
	int first_errno;
	int64_t cpu_ns;
	int64_t ended_ns; /* CLOCK_MONOTONIC; 0 = it never did */
	uint32_t per_s[SECONDS_MAX + 1];
};

struct random_load {
	const char *path;
	bool is_write;
	size_t block_bytes;
	uint64_t n_blocks;
	uint64_t seed;
	int64_t length_ns;
	int flags;
	struct job_count *counts; /* one a job */
};

static void note_error(struct job_count *c, int code)
{
	if (!c->errors++)
		c->first_errno = code;
}

static int64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* One job, from the moment at which the gate opens. */
static void run_job(void *arg, unsigned index)
{
	const struct random_load *l = arg;
	struct job_count *c = &l->counts[index];
	int64_t start_ns, end_ns, before_ns, cpu_before_ns;
	struct rng rng;
	void *buf;
	int fd;

	buf = mmap(NULL, l->block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	fd = open(l->path, l->flags | O_CLOEXEC);
	if (fd < 0 || buf == MAP_FAILED) {
		note_error(c, errno);
		return;
	}
	rng_init(&rng, l->seed + index);
	memset(buf, (int)(l->seed + index) & 0xff, l->block_bytes);
	cpu_before_ns = cpu_ns();
	start_ns = before_ns = clock_ns(CLOCK_MONOTONIC);
	end_ns = start_ns + l->length_ns;
	while (before_ns < end_ns && c->errors < ERRORS_MAX) {
		off_t at = (off_t)(rng_below(&rng, l->n_blocks) * l->block_bytes);
		ssize_t n = l->is_write ? pwrite(fd, buf, l->block_bytes, at)
					: pread(fd, buf, l->block_bytes, at);
		int64_t now_ns;
		int64_t second;

		if (n != (ssize_t)l->block_bytes) {
			note_error(c, n < 0 ? errno : EIO);
			before_ns = clock_ns(CLOCK_MONOTONIC);
			continue;
		}
		now_ns = clock_ns(CLOCK_MONOTONIC);
		hist_add(&c->hist, (uint64_t)(now_ns - before_ns) / 1000);
		second = (now_ns - start_ns) / 1000000000;
		c->per_s[second < SECONDS_MAX ? second : SECONDS_MAX]++;
		c->ios++;
		before_ns = now_ns;
	}
	c->cpu_ns = cpu_ns() - cpu_before_ns;
	c->ended_ns = before_ns;
	(void)close(fd);
}

/* Of a file or a block device. */
static int size_of(const char *path, int flags, uint64_t *ret, struct err *e)
{
	auto_fd int fd = open(path, flags | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, ERR_TARGET, errno, "random: %s", path);
	*ret = (uint64_t)st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(fd, BLKGETSIZE64, ret) < 0)
		return err_errno(e, ERR_TARGET, errno, "random: %s: size", path);
	return 0;
}

/* The fewest I/Os of all jobs in one whole second of the load. */
static uint64_t worst_second(const struct random_load *l, unsigned jobs, unsigned seconds)
{
	uint64_t worst = UINT64_MAX;

	for (unsigned s = 0; s < seconds; s++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < jobs; i++)
			sum += l->counts[i].per_s[s];
		if (sum < worst)
			worst = sum;
	}
	return worst;
}

static void answer_sums(struct answer *a, const struct random_load *l, unsigned jobs,
			unsigned seconds, int64_t start_ns)
{
	static struct hist all; /* of a worker that ends after this answer */
	uint64_t ios = 0, errors = 0;
	int64_t cpu = 0, last_ns = start_ns;

	for (unsigned i = 0; i < jobs; i++) {
		const struct job_count *c = &l->counts[i];
		/* one that was killed had until now */
		int64_t ended_ns = c->ended_ns ? c->ended_ns : clock_ns(CLOCK_MONOTONIC);

		hist_merge(&all, &c->hist);
		ios += c->ios;
		errors += c->errors;
		cpu += c->cpu_ns;
		if (ended_ns > last_ns)
			last_ns = ended_ns;
		answer_linef(a,
			     "job=%u ios=%" PRIu64 " errors=%" PRIu64 " p50_us=%" PRIu64
			     " max_us=%" PRIu64,
			     i, c->ios, c->errors, hist_quantile_us(&c->hist, 500), c->hist.max_us);
	}
	answer_word(a, "ios", "%" PRIu64, ios);
	answer_word(a, "elapsed_ms", "%" PRId64, (last_ns - start_ns) / 1000000);
	answer_word(a, "iops", "%" PRIu64,
		    last_ns > start_ns
			    ? (uint64_t)((double)ios * 1e9 / (double)(last_ns - start_ns))
			    : 0);
	answer_word(a, "worst_s_iops", "%" PRIu64, worst_second(l, jobs, seconds));
	answer_word(a, "p50_us", "%" PRIu64, hist_quantile_us(&all, 500));
	answer_word(a, "p99_us", "%" PRIu64, hist_quantile_us(&all, 990));
	answer_word(a, "max_us", "%" PRIu64, all.max_us);
	answer_word(a, "cpu_us", "%" PRId64, cpu / 1000);
	answer_word(a, "errors", "%" PRIu64, errors);
}

int verb_random(struct request *rq, struct err *e)
{
	uint64_t jobs, seconds, block_kib, seed, is_direct, size;
	static struct team team; /* too large for a stack, and there is one load a worker */
	struct random_load l = {0};
	const char *op = NULL;
	const char *program = request_get(rq, "program");
	size_t map_bytes;
	int64_t start_ns;
	int r;

	r = request_need(rq, "path", &l.path, e);
	if (r == 0)
		r = request_need(rq, "op", &op, e);
	if (r == 0)
		r = request_u64(rq, "jobs", 1, TEAM_MAX, 1, &jobs, e);
	if (r == 0)
		r = request_u64(rq, "seconds", 1, SECONDS_MAX, 5, &seconds, e);
	if (r == 0)
		r = request_u64(rq, "block_kib", 1, 1024, 4, &block_kib, e);
	if (r == 0)
		r = request_u64(rq, "seed", 0, UINT64_MAX, 1, &seed, e);
	if (r == 0)
		r = request_u64(rq, "direct", 0, 1, 1, &is_direct, e);
	if (r < 0)
		return r;
	if (strcmp(op, "read") != 0 && strcmp(op, "write") != 0)
		return err_set(e, ERR_TARGET, EINVAL, "random: op '%.32s' is not read or write",
			       op);
	if (program && strcmp(program, "fio") != 0)
		return err_set(e, ERR_TARGET, EINVAL, "random: program '%.32s' is not fio",
			       program);
	l.is_write = strcmp(op, "write") == 0;
	l.flags = (l.is_write ? O_WRONLY : O_RDONLY) | (is_direct ? O_DIRECT : 0);
	l.block_bytes = block_kib * 1024;
	l.seed = seed;
	l.length_ns = (int64_t)seconds * 1000000000;
	r = size_of(l.path, l.flags, &size, e);
	if (r < 0)
		return r;
	l.n_blocks = size / l.block_bytes;
	if (!l.n_blocks)
		return err_set(e, ERR_TARGET, EINVAL,
			       "random: %s: %" PRIu64 " bytes hold no block of %" PRIu64 " KiB",
			       l.path, size, block_kib);
	if (program) {
		const struct fio_load by_fio = {.path = l.path,
						.is_write = l.is_write,
						.is_direct = is_direct,
						.jobs = (unsigned)jobs,
						.seconds = (unsigned)seconds,
						.block_kib = (unsigned)block_kib,
						.n_blocks = l.n_blocks,
						.seed = seed};

		return fio_run(rq, &by_fio, e);
	}

	map_bytes = jobs * sizeof(*l.counts);
	l.counts = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l.counts == MAP_FAILED)
		return err_errno(e, ERR_TARGET, errno, "random: %zu bytes", map_bytes);
	r = team_start(&team, (unsigned)jobs, run_job, &l, e);
	if (r < 0) {
		(void)munmap(l.counts, map_bytes);
		return err_wrap(e, "random");
	}
	start_ns = team_go(&team);
	team_wait(&team, start_ns + l.length_ns + GRACE_NS);
	answer_sums(rq->answer, &l, (unsigned)jobs, (unsigned)seconds, start_ns);
	for (unsigned i = 0; i < jobs; i++)
		if (l.counts[i].first_errno) {
			const char *name = strerrorname_np(l.counts[i].first_errno);

			answer_word(rq->answer, "first_error", "%s", name ? name : "unknown");
			break;
		}
	team_answer(&team, rq->answer);
	(void)munmap(l.counts, map_bytes);
	return 0;
}
