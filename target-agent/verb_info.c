/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_info.c - what the kernel says about itself: info, clock, log level, log, marks, files. */
#include "agent.h"
#include "base/crc32c.h"
#include "base/parse.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#define FILE_MAX ((size_t)64 << 10)

static bool proc_value(const char *text, const char *key, uint64_t *ret)
{
	const char *p = strstr(text, key);
	char digits[24];

	if (!p)
		return false;
	p += strlen(key);
	p += strspn(p, " \t");
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)strspn(p, "0123456789"), p);
	return parse_u64(key, digits, 0, UINT64_MAX, ret, NULL) == 0;
}

/* The word in parentheses of "none (voluntary) full". */
static bool chosen(const char *text, char *ret, size_t cap)
{
	const char *from = strchr(text, '(');
	const char *to = from ? strchr(from, ')') : NULL;

	if (!to || (size_t)(to - from) > cap)
		return false;
	(void)snprintf(ret, cap, "%.*s", (int)(to - from - 1), from + 1);
	return true;
}

/* The coarse clock advances with the tick, and its resolution is the tick's length. */
static int64_t tick_hz(void)
{
	struct timespec res;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &res) < 0 || res.tv_sec || res.tv_nsec <= 0)
		return 0;
	return (1000000000 + res.tv_nsec / 2) / res.tv_nsec;
}

int verb_info(struct request *rq, struct err *e)
{
	static const char thresh[] = "/sys/module/workqueue/parameters/cpu_intensive_thresh_us";
	static const char source[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	/* leaves room for the other words even if each byte is encoded; "cat" gives all of it */
	enum { CMDLINE_MAX = 400 };
	struct answer *a = rq->answer;
	struct utsname u;
	char text[4096];
	char word[64];
	uint64_t kib;
	bool is_cut;

	if (uname(&u) < 0)
		return err_errno(e, ERR_TARGET, errno, "uname");
	answer_word(a, "sysname", "%s", u.sysname);
	answer_word(a, "release", "%s", u.release);
	answer_word(a, "version", "%s", u.version);
	answer_word(a, "machine", "%s", u.machine);
	if (tick_hz() > 0)
		answer_word(a, "hz", "%" PRId64, tick_hz());
	answer_word(a, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	answer_word(a, "uptime_ms", "%" PRId64, clock_ns(CLOCK_BOOTTIME) / 1000000);
	answer_word(a, "agent", "%s", STALLRIG_VERSION);
	if (sysfile_debugfs(rq->root, NULL) == 0 &&
	    sysfile_word(rq->root, "/sys/kernel/debug/sched/preempt", text, sizeof(text)) &&
	    chosen(text, word, sizeof(word)))
		answer_word(a, "preempt", "%s", word);
	if (sysfile_word(rq->root, thresh, word, sizeof(word)))
		answer_word(a, "cpu_intensive_thresh_us", "%s", word);
	if (sysfile_word(rq->root, "/proc/sys/kernel/random/boot_id", word, sizeof(word)))
		answer_word(a, "boot_id", "%s", word);
	if (sysfile_word(rq->root, "/proc/meminfo", text, sizeof(text)) &&
	    proc_value(text, "MemTotal:", &kib))
		answer_word(a, "mem_total_kib", "%" PRIu64, kib);
	if (sysfile_word(rq->root, source, word, sizeof(word)))
		answer_word(a, "clocksource", "%s", word);
	if (sysfile_read(rq->root, "/proc/cmdline", text, CMDLINE_MAX, &is_cut, NULL) >= 0) {
		text[strcspn(text, "\n")] = '\0';
		answer_word(a, "cmdline", "%s", text);
		if (is_cut)
			answer_word(a, "cmdline_truncated", "1");
	}
	return 0;
}

int verb_clock(struct request *rq, struct err *e)
{
	(void)e;
	answer_word(rq->answer, "clock_ns", "%" PRId64, clock_ns(CLOCK_MONOTONIC));
	answer_word(rq->answer, "boottime_ns", "%" PRId64, clock_ns(CLOCK_BOOTTIME));
	return 0;
}

int verb_mark(struct request *rq, struct err *e)
{
	const char *nonce = rq->frame->words[0];
	int64_t t_ns, boot_ns;
	char text[128];
	int r;

	if (!parse_is_name(nonce) || strlen(nonce) > 32)
		return err_set(e, ERR_TARGET, EINVAL,
			       "mark: nonce '%.40s' is not 1 to 32 letters, digits or ._+-", nonce);
	(void)snprintf(text, sizeof(text), "stallrig-mark %s", nonce);
	(void)snprintf(text, sizeof(text), "<2>stallrig-mark %s crc=%08" PRIx32 "\n", nonce,
		       crc32c(text, strlen(text)));
	t_ns = clock_ns(CLOCK_MONOTONIC);
	boot_ns = clock_ns(CLOCK_BOOTTIME);

	r = sysfile_write(rq->root, "/dev/kmsg", text, e);
	if (r < 0)
		return r;

	answer_word(rq->answer, "clock_ns", "%" PRId64, t_ns);
	answer_word(rq->answer, "boottime_ns", "%" PRId64, boot_ns);
	return 0;
}

int verb_dmesg_level(struct request *rq, struct err *e)
{
	static const char path[] = "/proc/sys/kernel/printk";
	static const char *const names[] = {"console", "default", "minimum"};
	uint64_t want = 0;
	char text[64];
	char *p = text;
	ssize_t n;
	int r;

	if (rq->frame->n_words) {
		char level[8];

		r = parse_u64("dmesg-level", rq->frame->words[0], 1, 15, &want, e);
		if (r < 0)
			return r;
		(void)snprintf(level, sizeof(level), "%" PRIu64 "\n", want);
		r = sysfile_write(rq->root, path, level, e);
		if (r < 0)
			return r;
	}
	n = sysfile_read(rq->root, path, text, sizeof(text), NULL, e);
	if (n < 0)
		return (int)n;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len;

		p += strspn(p, " \t\n");
		len = strspn(p, "0123456789");
		if (!len)
			return err_set(e, ERR_TARGET, EIO, "%s: no %s level in '%.40s'", path,
				       names[i], text);
		answer_word(rq->answer, names[i], "%.*s", (int)len, p);
		if (i == 0 && want && strtoul(p, NULL, 10) != want)
			return err_set(e, ERR_TARGET, EIO,
				       "%s: console level stayed at %.*s, not %" PRIu64, path,
				       (int)len, p, want);
		p += len;
	}
	return 0;
}

/* Bytes of the reply that a line takes: the encoded text and what is around it. */
static size_t reply_cost(const char *line)
{
	char encoded[(size_t)3 * FRAME_MAX];

	return frame_encode_word(line, encoded, sizeof(encoded)) + 48;
}

struct record {
	char line[FRAME_MAX];
	uint64_t t_us;
};

/*
 * The next record as "<level>,<seq>,<us>;<text>". 1, 0 at the end, -errno; records that were
 * overwritten meanwhile are skipped.
 */
static int next_record(int fd, struct record *ret, struct err *e)
{
	char raw[8192 + 1];
	uint64_t prio, seq;
	char *save = NULL;
	char *text, *p;
	ssize_t n;

	do
		n = read(fd, raw, sizeof(raw) - 1);
	while (n < 0 && (errno == EPIPE || errno == EINTR));
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 0)
		return err_errno(e, ERR_TARGET, errno, "/dev/kmsg: read");
	if (n == 0)
		return 0;
	raw[n] = '\0';

	text = strchr(raw, ';');
	if (!text)
		return err_set(e, ERR_TARGET, EBADMSG, "/dev/kmsg: record without ';'");
	*text++ = '\0';
	text[strcspn(text, "\n")] = '\0';
	p = strtok_r(raw, ",", &save);
	if (!p || parse_u64("priority", p, 0, UINT32_MAX, &prio, e) < 0)
		return err_set(e, ERR_TARGET, EBADMSG, "/dev/kmsg: record without a priority");
	p = strtok_r(NULL, ",", &save);
	if (!p || parse_u64("sequence", p, 0, UINT64_MAX, &seq, e) < 0)
		return err_set(e, ERR_TARGET, EBADMSG, "/dev/kmsg: record without a sequence");
	p = strtok_r(NULL, ",", &save);
	if (!p || parse_u64("time", p, 0, UINT64_MAX, &ret->t_us, e) < 0)
		return err_set(e, ERR_TARGET, EBADMSG, "/dev/kmsg: record without a time");
	(void)snprintf(ret->line, sizeof(ret->line), "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ";%s",
		       prio & 7, seq, ret->t_us, text);
	return 1;
}

/* The newest records that fit: one pass counts, the second skips what is too much. */
int verb_dmesg(struct request *rq, struct err *e)
{
	const size_t bytes_max = FRAME_REPLY_MAX - (size_t)4 * FRAME_MAX;
	uint64_t since_us, n_records = 0, n_skipped = 0;
	char path[SYSFILE_PATH_MAX];
	size_t n_bytes = 0;
	struct record rec = {.t_us = 0};
	auto_fd int fd = -1;
	int r;

	r = request_u64(rq, "since_us", 0, UINT64_MAX, 0, &since_us, e);
	if (r < 0)
		return r;
	r = sysfile_path(rq->root, "/dev/kmsg", path, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "/dev/kmsg");

	while ((r = next_record(fd, &rec, e)) > 0)
		if (rec.t_us >= since_us) {
			n_bytes += reply_cost(rec.line);
			n_records++;
		}
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, ERR_TARGET, errno, "/dev/kmsg: seek");

	while (n_records && (r = next_record(fd, &rec, e)) > 0) {
		if (rec.t_us < since_us)
			continue;
		if (n_bytes > bytes_max || n_records > FRAME_LINES_MAX - 8) {
			n_skipped++;
			n_bytes -= reply_cost(rec.line);
		} else {
			answer_line(rq->answer, rec.line);
		}
		n_records--;
	}
	if (r < 0)
		return r;
	answer_word(rq->answer, "skipped", "%" PRIu64, n_skipped);
	return 0;
}

int verb_cat(struct request *rq, struct err *e)
{
	static const char *const folders[] = {"/proc/", "/sys/", NULL};
	static char text[FILE_MAX + 1];
	const char *path = NULL;
	bool is_cut;
	ssize_t n;
	int r;

	r = request_need(rq, "path", &path, e);
	if (r < 0)
		return r;
	if (strncmp(path, "/sys/kernel/debug/", 18) == 0) {
		r = sysfile_debugfs(rq->root, e);
		if (r < 0)
			return r;
	}
	r = sysfile_allow(rq->root, path, folders, e);
	if (r < 0)
		return r;

	n = sysfile_read(rq->root, path, text, sizeof(text), &is_cut, e);
	if (n < 0)
		return (int)n;
	answer_text(rq->answer, text);
	answer_word(rq->answer, "bytes", "%zd", n);
	if (is_cut)
		answer_word(rq->answer, "truncated", "1");
	return 0;
}

int verb_write(struct request *rq, struct err *e)
{
	static const char *const folders[] = {"/proc/sys/", "/sys/", NULL};
	const char *path = NULL;
	const char *text = NULL;
	int r;

	r = request_need(rq, "path", &path, e);
	if (r < 0)
		return r;
	r = request_need(rq, "text", &text, e);
	if (r < 0)
		return r;
	r = sysfile_allow(rq->root, path, folders, e);
	if (r < 0)
		return r;

	return sysfile_write(rq->root, path, text, e);
}
