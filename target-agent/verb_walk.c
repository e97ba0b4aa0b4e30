/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_walk.c - a metadata load: processes that share a folder tree read it and stat all in it. */
#include "team.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define DEPTH_MAX   64
#define SECONDS_MAX 3600

struct walk_count {
	uint64_t entries, errors;
	int64_t ended_ns;
};

struct walk_load {
	const char *dir;
	unsigned jobs;
	struct walk_count *counts;
};

/* Takes fd. Of the first level each job takes its share. */
static void walk(const struct walk_load *l, struct walk_count *c, int fd, unsigned depth,
		 unsigned index)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	unsigned n = 0;

	if (!d) {
		c->errors++;
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((de = readdir(d))) {
		struct stat st;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (depth == 0 && n++ % l->jobs != index)
			continue;
		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			c->errors++;
			continue;
		}
		c->entries++;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			walk(l, c,
			     openat(dirfd(d), de->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			     depth + 1, index);
	}
	(void)closedir(d);
}

static void run_job(void *arg, unsigned index)
{
	const struct walk_load *l = arg;
	struct walk_count *c = &l->counts[index];

	walk(l, c, open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, index);
	c->ended_ns = clock_ns(CLOCK_MONOTONIC);
}

int verb_walk(struct request *rq, struct err *e)
{
	static struct team team; /* too large for a stack, and there is one load a worker */
	uint64_t jobs, seconds, entries = 0, errors = 0;
	int64_t start_ns, last_ns;
	struct walk_load l = {0};
	struct stat st;
	int r;

	r = request_need(rq, "dir", &l.dir, e);
	if (r == 0)
		r = request_u64(rq, "jobs", 1, TEAM_MAX, 1, &jobs, e);
	if (r == 0)
		r = request_u64(rq, "seconds", 1, SECONDS_MAX, 60, &seconds, e);
	if (r < 0)
		return r;
	if (stat(l.dir, &st) < 0)
		return err_errno(e, ERR_TARGET, errno, "walk: %s", l.dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_TARGET, ENOTDIR, "walk: %s: not a folder", l.dir);
	l.jobs = (unsigned)jobs;
	l.counts = mmap(NULL, jobs * sizeof(*l.counts), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l.counts == MAP_FAILED)
		return err_errno(e, ERR_TARGET, errno, "walk: memory for %" PRIu64 " jobs", jobs);
	r = team_start(&team, l.jobs, run_job, &l, e);
	if (r < 0) {
		(void)munmap(l.counts, jobs * sizeof(*l.counts));
		return err_wrap(e, "walk");
	}
	start_ns = last_ns = team_go(&team);
	team_wait(&team, start_ns + (int64_t)seconds * 1000000000);
	for (unsigned i = 0; i < jobs; i++) {
		const struct walk_count *c = &l.counts[i];
		int64_t ended_ns = c->ended_ns ? c->ended_ns : clock_ns(CLOCK_MONOTONIC);

		entries += c->entries;
		errors += c->errors;
		if (ended_ns > last_ns)
			last_ns = ended_ns;
		answer_linef(rq->answer, "job=%u entries=%" PRIu64 " errors=%" PRIu64, i,
			     c->entries, c->errors);
	}
	answer_word(rq->answer, "entries", "%" PRIu64, entries);
	answer_word(rq->answer, "elapsed_ms", "%" PRId64, (last_ns - start_ns) / 1000000);
	answer_word(rq->answer, "entries_per_s", "%" PRIu64,
		    last_ns > start_ns
			    ? (uint64_t)((double)entries * 1e9 / (double)(last_ns - start_ns))
			    : 0);
	answer_word(rq->answer, "errors", "%" PRIu64, errors);
	team_answer(&team, rq->answer);
	(void)munmap(l.counts, jobs * sizeof(*l.counts));
	return 0;
}
