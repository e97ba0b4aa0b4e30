/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verb_profile.c - where the CPUs spend their time: samples of all of them with the kernel's call
 * chain, by perf_event_open(2).
 */
#include "base/parse.h"
#include "kallsyms.h"
#include "profile.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* Of each ring, a power of two: half a second at 199 Hz with the longest call chains. */
#define RING_PAGES 32
#define CPUS_MAX   256
#define LOOK_MS    100

/* What is counted beside the samples that are kept. */
struct sampler {
	int64_t start_ns;
	pid_t self, agent;
	uint64_t samples; /* kept */
	uint64_t idle, own, dropped, lost, throttled;
};

/* --- records of the kernel ----------------------------------------------------------------- */

/* As the kernel writes it for the sample_type below. */
struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t n_chain;
	uint64_t chain[];
};

static void take_sample(struct sampler *s, const struct sample *rec)
{
	uint64_t n = rec->n_chain;
	uint64_t chain[PROFILE_DEPTH_MAX];
	bool is_kernel = false;
	uint32_t depth = 0;

	if (rec->header.size < sizeof(*rec) ||
	    n > (rec->header.size - sizeof(*rec)) / sizeof(rec->chain[0]))
		return;
	if (rec->pid == 0) {
		s->idle++;
		return;
	}
	if ((pid_t)rec->pid == s->self || (pid_t)rec->pid == s->agent) {
		s->own++;
		return;
	}
	for (uint64_t i = 0; i < n && depth < PROFILE_DEPTH_MAX; i++) {
		if (rec->chain[i] >= (uint64_t)PERF_CONTEXT_MAX)
			is_kernel = rec->chain[i] == (uint64_t)PERF_CONTEXT_KERNEL;
		else if (is_kernel)
			chain[depth++] = rec->chain[i];
	}
	/* a chain that could not be walked still has its leaf */
	if (!depth && (rec->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		chain[depth++] = rec->ip;
	if (profile_add_sample(((int64_t)rec->time_ns - s->start_ns) / 1000, rec->cpu, chain,
			       depth))
		s->samples++;
	else
		s->dropped++;
}

static void take_record(struct sampler *s, const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_SAMPLE) {
		take_sample(s, (const struct sample *)(const void *)h);
	} else if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*h) + 16) {
		uint64_t lost;

		memcpy(&lost, (const char *)h + sizeof(*h) + 8, sizeof(lost));
		s->lost += lost;
	} else if (h->type == PERF_RECORD_THROTTLE) {
		s->throttled++;
	}
}

/* --- one event a CPU ----------------------------------------------------------------------- */

struct event {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool rests; /* counts nothing while the CPU is idle; not each counter takes exclude_idle */
};

/* In the order of preference. */
static const struct event events[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false},
};

struct ring {
	int fd;
	int cpu;
	void *map;
};

struct rings {
	struct ring r[CPUS_MAX];
	unsigned n;
	size_t page_bytes;
	const struct event *event;
};

static size_t map_bytes(const struct rings *rs)
{
	return rs->page_bytes * (RING_PAGES + 1);
}

static void close_rings(struct rings *rs)
{
	while (rs->n) {
		struct ring *r = &rs->r[--rs->n];

		if (r->map)
			(void)munmap(r->map, map_bytes(rs));
		(void)close(r->fd);
	}
}

static void drain(struct sampler *s, const struct rings *rs, const struct ring *r)
{
	static union {
		struct perf_event_header header;
		char bytes[65536];
	} whole; /* a record that goes on at the ring's beginning, in one piece */
	struct perf_event_mmap_page *meta = r->map;
	const char *data = (const char *)r->map + rs->page_bytes;
	const uint64_t cap = rs->page_bytes * RING_PAGES;
	uint64_t head = __atomic_load_n(&meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = meta->data_tail;

	while (tail < head) {
		uint64_t at = tail % cap;
		uint64_t first;
		uint16_t size;

		/* headers never wrap: records have multiples of 8 bytes */
		memcpy(&size, data + at + offsetof(struct perf_event_header, size), sizeof(size));
		if (size < sizeof(struct perf_event_header))
			break;
		first = size < cap - at ? size : cap - at;
		memcpy(whole.bytes, data + at, first);
		memcpy(whole.bytes + first, data, size - first);
		take_record(s, &whole.header);
		tail += size;
	}
	__atomic_store_n(&meta->data_tail, head, __ATOMIC_RELEASE);
}

static int open_event(const struct event *event, uint64_t hz, int cpu, size_t ring_bytes)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.sample_freq = hz,
		.freq = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.exclude_idle = !event->rests,
		.exclude_callchain_user = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(ring_bytes / 4),
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The CPUs that are on: "0-3,6". Returns how many, at most CPUS_MAX. */
static unsigned online_cpus(const char *root, int *ret)
{
	char list[1024];
	const char *p = list;
	unsigned n = 0;

	if (!sysfile_word(root, "/sys/devices/system/cpu/online", list, sizeof(list))) {
		ret[0] = 0;
		return 1;
	}
	while (*p >= '0' && *p <= '9') {
		int from = 0;
		int to;

		for (; *p >= '0' && *p <= '9' && from < 100000; p++)
			from = from * 10 + (*p - '0');
		to = from;
		if (*p == '-')
			for (p++, to = 0; *p >= '0' && *p <= '9' && to < 100000; p++)
				to = to * 10 + (*p - '0');
		for (; from <= to && n < CPUS_MAX; from++)
			ret[n++] = from;
		p += *p == ',';
	}
	return n;
}

static int open_rings(struct rings *rs, const char *root, const struct event *event, uint64_t hz,
		      struct err *e)
{
	int cpus[CPUS_MAX];
	unsigned n = online_cpus(root, cpus);

	rs->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	rs->event = event;
	for (; rs->n < n; rs->n++) {
		struct ring *r = &rs->r[rs->n];

		*r = (struct ring){.cpu = cpus[rs->n]};
		r->fd = open_event(event, hz, r->cpu, rs->page_bytes * RING_PAGES);
		if (r->fd >= 0)
			r->map = mmap(NULL, map_bytes(rs), PROT_READ | PROT_WRITE, MAP_SHARED,
				      r->fd, 0);
		if (r->fd < 0 || r->map == MAP_FAILED) {
			int code = errno;

			if (r->fd >= 0)
				(void)close(r->fd);
			close_rings(rs);
			return err_errno(
				e, ERR_TARGET, code, "event %s at %" PRIu64 " Hz on CPU %d%s",
				event->name, hz, r->cpu,
				code == EINVAL
					? " (kernel.perf_event_max_sample_rate, or Linux before 4.1?)"
					: "");
		}
	}
	return 0;
}

/* --- the verb ------------------------------------------------------------------------------ */

static volatile sig_atomic_t is_asked_to_stop;

static void on_stop(int sig)
{
	(void)sig;
	is_asked_to_stop = 1;
}

static void sample_until(struct sampler *s, const struct rings *rs, int64_t end_ns)
{
	struct pollfd fds[CPUS_MAX];

	for (unsigned i = 0; i < rs->n; i++)
		fds[i] = (struct pollfd){.fd = rs->r[i].fd, .events = POLLIN};
	while (!is_asked_to_stop && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		int64_t left_ms = (end_ns - clock_ns(CLOCK_MONOTONIC)) / 1000000 + 1;

		(void)poll(fds, rs->n, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
		for (unsigned i = 0; i < rs->n; i++)
			drain(s, rs, &rs->r[i]);
	}
	for (unsigned i = 0; i < rs->n; i++) {
		(void)ioctl(rs->r[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		drain(s, rs, &rs->r[i]);
	}
}

static bool stop_at_once(void *arg, const struct kallsyms_function *f)
{
	(void)arg;
	(void)f;
	return false;
}

int verb_profile(struct request *rq, struct err *e)
{
	static struct rings rs; /* one profile a worker */
	static struct sampler s;
	const char *event = request_get(rq, "event");
	struct sigaction sa = {.sa_handler = on_stop};
	uint64_t hz, seconds;
	int64_t end_ns;
	int r;

	r = request_u64(rq, "hz", 1, PROFILE_HZ_MAX, 199, &hz, e);
	if (r == 0)
		r = request_u64(rq, "seconds", 1, PROFILE_SECONDS_MAX, PROFILE_SECONDS_MAX,
				&seconds, e);
	if (r < 0)
		return r;
	if (event && strcmp(event, events[0].name) != 0 && strcmp(event, events[1].name) != 0)
		return err_set(e, ERR_TARGET, EINVAL,
			       "profile: event '%.32s' is not cycles or cpu-clock", event);
	r = kallsyms_each(rq->root, stop_at_once, NULL, e);
	if (r < 0)
		return err_wrap(e, "profile");
	memset(&s, 0, sizeof(s));
	is_asked_to_stop = 0;
	(void)sigaction(SIGTERM, &sa, NULL);
	r = -1;
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(events); i++) {
		if (event && strcmp(event, events[i].name) != 0)
			continue;
		err_clear(e);
		r = open_rings(&rs, rq->root, &events[i], hz, e);
	}
	if (r < 0)
		return err_wrap(e, "profile");

	s.self = getpid();
	s.agent = getppid();
	s.start_ns = clock_ns(CLOCK_MONOTONIC);
	end_ns = s.start_ns + (int64_t)seconds * 1000000000;
	profile_begin(rs.event->name, (unsigned)hz, rs.n, s.start_ns);
	for (unsigned i = 0; i < rs.n; i++)
		(void)ioctl(rs.r[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	answer_linef(rq->answer, "sampling=1 event=%s cpus=%u clock_ns=%" PRId64, rs.event->name,
		     rs.n, s.start_ns);
	sample_until(&s, &rs, end_ns);
	end_ns = clock_ns(CLOCK_MONOTONIC);
	close_rings(&rs);
	r = profile_name_addresses(rq->root, e);
	if (r < 0)
		return err_wrap(e, "profile");
	answer_word(rq->answer, "event", "%s", rs.event->name);
	answer_word(rq->answer, "elapsed_ms", "%" PRId64, (end_ns - s.start_ns) / 1000000);
	answer_word(rq->answer, "samples", "%" PRIu64, s.samples);
	answer_word(rq->answer, "lost", "%" PRIu64, s.lost);
	answer_word(rq->answer, "dropped", "%" PRIu64, s.dropped);
	answer_word(rq->answer, "throttled", "%" PRIu64, s.throttled);
	answer_word(rq->answer, "idle", "%" PRIu64, s.idle);
	answer_word(rq->answer, "own", "%" PRIu64, s.own);
	return 0;
}

/* --- its records --------------------------------------------------------------------------- */

/* Records on one line of the answer, which is not much longer than this. */
#define PACK_MAX 1500

int verb_profile_read(struct request *rq, struct err *e)
{
	size_t len;
	const char *text = profile_text(&len);
	char line[PACK_MAX + PROFILE_LINE_MAX];
	size_t n_line = 0;
	uint64_t from;
	size_t at;
	int r;

	r = request_u64(rq, "from", 0, len, 0, &from, e);
	if (r < 0)
		return r;
	at = from;
	while (at < len && at - from < PROFILE_READ_MAX) {
		size_t n = (size_t)((const char *)memchr(text + at, '\n', len - at) - (text + at));

		memcpy(line + n_line, text + at, n);
		n_line += n;
		at += n + 1;
		line[n_line++] = ';';
		if (n_line < PACK_MAX && at < len && at - from < PROFILE_READ_MAX)
			continue;
		line[n_line - 1] = '\0';
		answer_line(rq->answer, line);
		n_line = 0;
	}
	answer_word(rq->answer, "next", "%zu", at);
	answer_word(rq->answer, "bytes", "%zu", len);
	return 0;
}
