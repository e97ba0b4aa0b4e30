/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verb_dds.c - real dd in any number: all start together, each again and again until the time is
 * over. Each has a process of the agent that looks after it.
 */
#include "program.h"
#include "team.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define SECONDS_MAX 3600
/* a dd that is to stop says first how far it is; of hundreds on two CPUs each waits for its turn */
#define SAY_NS   ((int64_t)10000 * 1000000)
#define GRACE_NS ((int64_t)20000 * 1000000)

struct dd_count {
	uint64_t runs, records, bytes;
	uint64_t failed; /* runs that ended with another status than 0 */
	uint64_t cut;    /* 1: the last run was stopped because the time was over */
	uint64_t silent; /* 1: that one did not say how far it was */
	int exit_code;   /* of the last one that failed */
	int64_t ended_ns;
	char message[128]; /* of that one */
};

struct dds_load {
	const char *const *argv;
	bool is_once;
	int64_t length_ns;
	struct dd_count *counts;
};

/* Reads what dd says until it has said all (or all that it says when asked); false at until_ns. */
static bool follow(const struct program *p, struct dd_report *rep, bool is_asked, int64_t until_ns)
{
	char buf[512];
	ssize_t n;

	while ((n = program_read(p, buf, sizeof(buf), until_ns)) > 0) {
		dd_report_feed(rep, buf, (size_t)n);
		if (is_asked && rep->has_in && rep->has_out)
			break;
	}
	return n >= 0;
}

/* One dd, to its end or until the time is over. False: do not start another one. */
static bool run_dd(const struct dds_load *l, struct dd_count *c, int64_t end_ns)
{
	struct dd_report rep = {.elapsed_us = -1};
	struct program p = {.pid = -1, .out_fd = -1};
	bool is_cut = false;
	struct err e = {0};
	int status = 0;

	if (program_start(l->argv, STDERR_FILENO, &p, &e) < 0) {
		c->failed++;
		c->exit_code = 127;
		(void)snprintf(c->message, sizeof(c->message), "%.120s", e.text);
		return false;
	}
	c->runs++;
	if (!follow(&p, &rep, false, end_ns)) {
		is_cut = true;
		(void)kill(p.pid, SIGUSR1);
		c->silent = !follow(&p, &rep, true, clock_ns(CLOCK_MONOTONIC) + SAY_NS);
		c->ended_ns = clock_ns(CLOCK_MONOTONIC);
		(void)kill(p.pid, SIGKILL);
	}
	(void)close(p.out_fd);
	(void)waitpid(p.pid, &status, 0);
	if (!is_cut)
		c->ended_ns = clock_ns(CLOCK_MONOTONIC);
	c->records += rep.in_full + rep.in_part;
	if (rep.has_bytes)
		c->bytes += rep.bytes;
	c->cut += is_cut;
	if (!is_cut && status) {
		c->failed++;
		c->exit_code = program_exit_code(status);
		(void)snprintf(c->message, sizeof(c->message), "%.120s", rep.last);
		return false;
	}
	return !is_cut && !l->is_once;
}

static void run_job(void *arg, unsigned index)
{
	const struct dds_load *l = arg;
	struct dd_count *c = &l->counts[index];
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + l->length_ns;

	while (run_dd(l, c, end_ns) && clock_ns(CLOCK_MONOTONIC) < end_ns)
		;
}

static void answer_sums(struct answer *a, const struct dds_load *l, unsigned jobs, int64_t start_ns)
{
	struct dd_count sum = {0};
	const char *message = NULL;
	int64_t last_ns = start_ns;

	for (unsigned i = 0; i < jobs; i++) {
		const struct dd_count *c = &l->counts[i];
		int64_t ended_ns = c->ended_ns ? c->ended_ns : clock_ns(CLOCK_MONOTONIC);

		sum.runs += c->runs;
		sum.records += c->records;
		sum.bytes += c->bytes;
		sum.failed += c->failed;
		sum.cut += c->cut;
		sum.silent += c->silent;
		if (c->failed && !message)
			message = c->message;
		if (ended_ns > last_ns)
			last_ns = ended_ns;
		answer_linef(a,
			     "job=%u runs=%" PRIu64 " records=%" PRIu64 " failed=%" PRIu64
			     " cut=%" PRIu64 " exit=%d",
			     i, c->runs, c->records, c->failed, c->cut, c->exit_code);
	}
	answer_word(a, "runs", "%" PRIu64, sum.runs);
	answer_word(a, "records", "%" PRIu64, sum.records);
	answer_word(a, "elapsed_ms", "%" PRId64, (last_ns - start_ns) / 1000000);
	answer_word(a, "iops", "%" PRIu64,
		    last_ns > start_ns
			    ? (uint64_t)((double)sum.records * 1e9 / (double)(last_ns - start_ns))
			    : 0);
	/* not each busybox says bytes, and one that was cut counts only records */
	if (sum.bytes && !sum.cut)
		answer_word(a, "bytes", "%" PRIu64, sum.bytes);
	answer_word(a, "failed", "%" PRIu64, sum.failed);
	answer_word(a, "cut", "%" PRIu64, sum.cut);
	answer_word(a, "silent", "%" PRIu64, sum.silent);
	if (message)
		answer_word(a, "message", "%s", message);
}

int verb_dds(struct request *rq, struct err *e)
{
	static const char *const own_keys[] = {"jobs=", "seconds=", "once=", "bg="};
	static struct team team; /* too large for a stack, and there is one load a worker */
	const char *argv[FRAME_WORDS_MAX + 3] = {"dd"};
	uint64_t jobs, seconds, is_once;
	struct dds_load l = {.argv = argv};
	const char *in = NULL;
	int64_t start_ns;
	size_t n = 1;
	int r;

	r = request_need(rq, "if", &in, e);
	if (r == 0)
		r = request_u64(rq, "jobs", 1, TEAM_MAX, 1, &jobs, e);
	if (r == 0)
		r = request_u64(rq, "seconds", 1, SECONDS_MAX, 5, &seconds, e);
	if (r == 0)
		r = request_u64(rq, "once", 0, 1, 0, &is_once, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rq->frame->n_words; i++) {
		bool is_own = false;

		for (size_t k = 0; k < ARRAY_SIZE(own_keys); k++)
			is_own |=
				strncmp(rq->frame->words[i], own_keys[k], strlen(own_keys[k])) == 0;
		if (!is_own)
			argv[n++] = rq->frame->words[i];
	}
	if (!request_get(rq, "of"))
		argv[n++] = "of=/dev/null";
	argv[n] = NULL;
	l.is_once = is_once;
	l.length_ns = (int64_t)seconds * 1000000000;
	l.counts = mmap(NULL, jobs * sizeof(*l.counts), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l.counts == MAP_FAILED)
		return err_errno(e, ERR_TARGET, errno, "dds: memory for %" PRIu64 " jobs", jobs);
	r = team_start(&team, (unsigned)jobs, run_job, &l, e);
	if (r < 0) {
		(void)munmap(l.counts, jobs * sizeof(*l.counts));
		return err_wrap(e, "dds");
	}
	start_ns = team_go(&team);
	team_wait(&team, start_ns + l.length_ns + GRACE_NS);
	answer_sums(rq->answer, &l, (unsigned)jobs, start_ns);
	team_answer(&team, rq->answer);
	(void)munmap(l.counts, jobs * sizeof(*l.counts));
	return 0;
}
