/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_probe.c - the modules: load and unload them, latency_mon's files, an injected stall. */
#include "agent.h"
#include "base/parse.h"
#include "snapshot.h"

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
	static const char *const sections[] = {"state", "events", "worst", "hist"};
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
		return err_set(e, ERR_TARGET, EINVAL,
			       "probe-read: section '%.40s' is none of state, events, worst, hist",
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

#define RECORDS_MAX 1000 /* bytes of a line */

static void answer_samples(struct answer *a, const char *probe, const struct snapshot_samples *s)
{
	char line[RECORDS_MAX + 80];
	size_t len = 0;

	for (uint32_t i = 0; i < s->n_buckets; i++) {
		if (!s->counts[i])
			continue;
		if (!len)
			len = (size_t)snprintf(line, sizeof(line), "%.32s", probe);
		len += (size_t)snprintf(line + len, sizeof(line) - len,
					";%" PRId64 ",%" PRId64 ",%" PRIu64, snapshot_low_ns(s, i),
					snapshot_low_ns(s, i + 1), s->counts[i]);
		if (len > RECORDS_MAX) {
			answer_line(a, line);
			len = 0;
		}
	}
	if (len)
		answer_line(a, line);
	answer_word(a, "samples", "%" PRId64, s->n);
}

int verb_probe_samples(struct request *rq, struct err *e)
{
	static struct snapshot_samples s;
	const char *probe = request_get(rq, "probe");
	int r;

	if (!probe)
		return err_set(e, ERR_TARGET, EINVAL, "probe-samples: 'probe=' is missing");
	r = sysfile_debugfs(rq->root, e);
	if (r < 0)
		return r;
	r = snapshot_samples(rq->root, probe, &s, e);
	if (r < 0)
		return explain(r, "probe-samples", "latency_mon", e);
	answer_samples(rq->answer, probe, &s);
	return 0;
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
