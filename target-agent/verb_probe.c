/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_probe.c - the modules: load and unload them, latency_mon's files, an injected stall. */
#include "agent.h"
#include "base/parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define MON_DIR   "/sys/kernel/debug/latency_mon/"
#define STALL_DIR "/sys/kernel/debug/wq_stall/"

/* The usual reason for a missing file in debugfs. */
static int explain(int r, const char *verb, const char *module, struct err *e)
{
	if (r == -ENOENT)
		return err_wrap(e, "%s: module %s is not loaded", verb, module);
	return err_wrap(e, "%s", verb);
}

/* The words from the first one on with single spaces between them. */
static int join_words(const struct request *rq, size_t first, char *ret, size_t cap, struct err *e)
{
	size_t len = 0;

	*ret = '\0';
	for (size_t i = first; i < rq->frame->n_words; i++) {
		int n = snprintf(ret + len, cap - len, "%s%s", len ? " " : "", rq->frame->words[i]);

		if (n < 0 || (size_t)n >= cap - len)
			return err_set(e, ERR_TARGET, E2BIG, "%s: text longer than %zu bytes",
				       rq->frame->verb, cap - 1);
		len += (size_t)n;
	}
	return 0;
}

int verb_load_module(struct request *rq, struct err *e)
{
	const char *path = rq->frame->words[0];
	char params[FRAME_MAX];
	auto_fd int fd = -1;
	int r;

	r = join_words(rq, 1, params, sizeof(params), e);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "load-module: %s", path);
	if (syscall(SYS_finit_module, fd, params, 0) < 0)
		return err_errno(e, ERR_TARGET, errno, "load-module: %s %s", path, params);
	return 0;
}

int verb_unload(struct request *rq, struct err *e)
{
	const char *name = rq->frame->words[0];
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 2000000000;

	while (syscall(SYS_delete_module, name, O_NONBLOCK) < 0) {
		if ((errno != EAGAIN && errno != EBUSY) || clock_ns(CLOCK_MONOTONIC) >= until_ns)
			return err_errno(e, ERR_TARGET, errno, "unload: %s", name);
		sleep_ms(50);
	}
	return 0;
}

int verb_probe_read(struct request *rq, struct err *e)
{
	static const char *const sections[] = {"state", "events", "worst", "hist", "snapshot"};
	static char text[((size_t)256 << 10) + 1];
	const char *section = request_get(rq, "section");
	char path[SYSFILE_PATH_MAX];
	bool is_cut;
	size_t i;
	ssize_t n;
	int r;

	if (!section)
		section = sections[0];
	for (i = 0; i < ARRAY_SIZE(sections); i++)
		if (strcmp(sections[i], section) == 0)
			break;
	if (i == ARRAY_SIZE(sections))
		return err_set(
			e, ERR_TARGET, EINVAL,
			"probe-read: section '%.40s' is none of state, events, worst, hist, snapshot",
			section);
	r = sysfile_debugfs(rq->root, e);
	if (r < 0)
		return r;

	(void)snprintf(path, sizeof(path), MON_DIR "%s", section);
	n = sysfile_read(rq->root, path, text, sizeof(text), &is_cut, e);
	if (n < 0)
		return explain((int)n, "probe-read", "latency_mon", e);
	answer_text(rq->answer, text);
	if (is_cut)
		answer_word(rq->answer, "truncated", "1");
	return 0;
}

/* ---- all samples of a probe ---- */

#define BUCKETS_MAX 2048 /* latency_mon has 1184 */
#define RECORDS_MAX 1000 /* bytes of a line */

struct bucket {
	int64_t low_ns, end_ns, count;
};

struct samples {
	struct bucket buckets[BUCKETS_MAX]; /* ascending */
	size_t n;
	int64_t count;
};

/* False if there is no room, or a number is none. */
static bool add_bucket(struct samples *s, const char *line)
{
	struct bucket b;
	size_t at = s->n;

	if (!parse_pair_i64(line, "low_ns", &b.low_ns) ||
	    !parse_pair_i64(line, "end_ns", &b.end_ns) ||
	    !parse_pair_i64(line, "count", &b.count) || b.count > INT64_MAX - s->count)
		return false;
	while (at > 0 && s->buckets[at - 1].low_ns >= b.low_ns)
		at--;
	s->count += b.count;
	if (at < s->n && s->buckets[at].low_ns == b.low_ns) {
		s->buckets[at].count += b.count;
		return true;
	}
	if (s->n == BUCKETS_MAX)
		return false;
	memmove(s->buckets + at + 1, s->buckets + at, (s->n - at) * sizeof(b));
	s->buckets[at] = b;
	s->n++;
	return true;
}

/* The file is longer than any reply on a machine of many CPUs: line by line. */
static int read_samples(FILE *f, const char *probe, struct samples *s, struct err *e)
{
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		char name[32];

		line[strcspn(line, "\n")] = '\0';
		if (!parse_pair(line, "probe", name, sizeof(name)) || strcmp(name, probe) != 0)
			continue;
		if (!add_bucket(s, line))
			return err_set(e, ERR_TARGET, EBADMSG, MON_DIR "hist: no bucket in '%s'",
				       line);
	}
	return ferror(f) ? err_set(e, ERR_TARGET, EIO, MON_DIR "hist: read") : 0;
}

static void answer_samples(struct answer *a, const char *probe, const struct samples *s)
{
	char line[RECORDS_MAX + 80];
	size_t len = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct bucket *b = &s->buckets[i];

		if (!len)
			len = (size_t)snprintf(line, sizeof(line), "%.32s", probe);
		len += (size_t)snprintf(line + len, sizeof(line) - len,
					";%" PRId64 ",%" PRId64 ",%" PRId64, b->low_ns, b->end_ns,
					b->count);
		if (len > RECORDS_MAX || i + 1 == s->n) {
			answer_line(a, line);
			len = 0;
		}
	}
	answer_word(a, "samples", "%" PRId64, s->count);
}

int verb_probe_samples(struct request *rq, struct err *e)
{
	static struct samples s;
	const char *probe = request_get(rq, "probe");
	char path[SYSFILE_PATH_MAX];
	FILE *f;
	int r;

	if (!probe)
		return err_set(e, ERR_TARGET, EINVAL, "probe-samples: 'probe=' is missing");
	r = sysfile_debugfs(rq->root, e);
	if (r >= 0)
		r = sysfile_path(rq->root, MON_DIR "hist", path, e);
	if (r < 0)
		return r;
	s.n = 0;
	s.count = 0;
	f = fopen(path, "re");
	if (!f)
		return explain(err_errno(e, ERR_TARGET, errno, MON_DIR "hist"), "probe-samples",
			       "latency_mon", e);
	r = read_samples(f, probe, &s, e);
	(void)fclose(f);
	if (r >= 0)
		answer_samples(rq->answer, probe, &s);
	return r;
}

int verb_probe_control(struct request *rq, struct err *e)
{
	char text[FRAME_MAX];
	int r;

	r = join_words(rq, 0, text, sizeof(text), e);
	if (r < 0)
		return r;
	r = sysfile_debugfs(rq->root, e);
	if (r < 0)
		return r;

	r = sysfile_write(rq->root, MON_DIR "control", text, e);
	if (r < 0)
		return explain(r, "probe-control", "latency_mon", e);
	return 0;
}

struct stall_state {
	char text[1024];
	int64_t running;
	int64_t done; /* spins that have ended, also those that ran on another CPU than asked */
};

static int stall_read(struct request *rq, struct stall_state *ret, struct err *e)
{
	int64_t strayed = 0;
	ssize_t n;

	n = sysfile_read(rq->root, STALL_DIR "state", ret->text, sizeof(ret->text), NULL, e);
	if (n < 0)
		return explain((int)n, "stall", "wq_stall", e);
	if (!parse_pair_i64(ret->text, "injected", &ret->done) ||
	    !parse_pair_i64(ret->text, "running", &ret->running))
		return err_set(e, ERR_TARGET, EBADMSG,
			       "stall: " STALL_DIR "state has no injected= and running=");
	if (parse_pair_i64(ret->text, "strayed", &strayed))
		ret->done += strayed;
	return 0;
}

int verb_stall(struct request *rq, struct err *e)
{
	static const char *const passed_on[] = {"cpu", "pool", "us", "mode", "count", "gap_us"};
	uint64_t cpu, us, count, gap_us;
	struct stall_state before, now;
	const char *needed = NULL;
	int64_t until_ns;
	char text[256];
	size_t len = 0;
	int r;

	r = request_need(rq, "cpu", &needed, e);
	if (r < 0)
		return r;
	r = request_need(rq, "us", &needed, e);
	if (r < 0)
		return r;
	r = request_u64(rq, "cpu", 0, 4095, 0, &cpu, e);
	if (r < 0)
		return r;
	r = request_u64(rq, "us", 1, 60000000, 0, &us, e);
	if (r < 0)
		return r;
	r = request_u64(rq, "count", 1, 1000, 1, &count, e);
	if (r < 0)
		return r;
	r = request_u64(rq, "gap_us", 0, 60000000, 20000, &gap_us, e);
	if (r < 0)
		return r;
	r = sysfile_debugfs(rq->root, e);
	if (r < 0)
		return r;
	r = stall_read(rq, &before, e);
	if (r < 0)
		return r;

	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
		const char *value = request_get(rq, passed_on[i]);

		if (value)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%.32s",
						len ? " " : "", passed_on[i], value);
	}
	r = sysfile_write(rq->root, STALL_DIR "inject", text, e);
	if (r < 0)
		return explain(r, "stall", "wq_stall", e);

	/* twice the spinning itself, since a busy target stretches it, and time to get going */
	until_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)((2 * us + gap_us) * count) * 1000 +
		   5000000000;
	for (;;) {
		r = stall_read(rq, &now, e);
		if (r < 0)
			return r;
		if (now.running == 0 && now.done >= before.done + (int64_t)count)
			break;
		if (clock_ns(CLOCK_MONOTONIC) >= until_ns)
			return err_set(e, ERR_TARGET, ETIMEDOUT,
				       "stall: %" PRIu64 " us each: ended %" PRId64 " of %" PRIu64
				       ", running %" PRId64,
				       us, now.done - before.done, count, now.running);
		sleep_ms(10);
	}
	answer_pairs(rq->answer, now.text);
	return 0;
}
