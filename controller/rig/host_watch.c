/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_watch.c - run delay of an emulator's threads over time. */
#include "host_watch.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define PROC_FILE_MAX (1u << 20) /* /proc/stat has a number for each interrupt */

struct thread_wait {
	int64_t tid;
	int64_t ns; /* as its schedstat said last */
};

struct host_watch {
	struct waiter *w; /* not owned */
	struct waiter_timer timer;
	pid_t pid;
	struct thread_wait threads[HOST_WATCH_THREADS_MAX]; /* those of the last look */
	size_t n_threads;
	int64_t steal_ticks;
	int64_t waited_ns; /* of all threads, those that have ended too */
	bool is_known;
	struct host_looks looks;
};

void host_looks_add(struct host_looks *l, nsec_t at_ns, int64_t waited_us)
{
	if (l->n == HOST_LOOKS_MAX) {
		for (size_t i = 0; i < HOST_LOOKS_MAX / 2; i++)
			l->looks[i] = l->looks[2 * i];
		l->n = HOST_LOOKS_MAX / 2;
	}
	l->looks[l->n++] = (struct host_look){at_ns, waited_us};
}

int64_t host_looks_worst_us(const struct host_looks *l, int64_t stretch_us)
{
	int64_t worst_us = 0;

	/* a stretch begins between looks i and i + 1 */
	for (size_t i = 0, behind = 1; i + 1 < l->n; i++) {
		const nsec_t end_ns = l->looks[i + 1].at_ns + stretch_us * NSEC_PER_USEC;
		int64_t us;

		while (behind + 1 < l->n && l->looks[behind].at_ns < end_ns)
			behind++;
		us = l->looks[behind].waited_us - l->looks[i].waited_us;
		if (us > worst_us)
			worst_us = us;
	}
	return worst_us;
}

/* The first line of a file of /proc as blank-separated words; the n-th of them (from 0). */
static bool read_field(const char *path, unsigned n, int64_t *ret)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err ignored = {0};
	char *rest;

	if (file_read(path, PROC_FILE_MAX, &text, &ignored) < 0 || !text.len)
		return false;
	text.data[strcspn(text.data, "\n")] = '\0';
	rest = text.data;
	for (char *word; (word = strsep(&rest, " "));) {
		if (*word && n-- == 0)
			return parse_i64("field", word, 0, INT64_MAX, ret, NULL) == 0;
	}
	return false;
}

/* Of a thread since the last look; one that was not there then has waited all that it says. */
static int64_t newly_waited_ns(const struct host_watch *hw, int64_t tid, int64_t ns)
{
	for (size_t i = 0; i < hw->n_threads; i++)
		if (hw->threads[i].tid == tid && hw->threads[i].ns <= ns)
			return ns - hw->threads[i].ns;
	return ns;
}

static bool read_threads(struct host_watch *hw)
{
	auto_free char *folder = xasprintf("/proc/%ld/task", (long)hw->pid);
	struct thread_wait now[HOST_WATCH_THREADS_MAX];
	DIR *tasks = opendir(folder);
	bool is_known = tasks != NULL;
	size_t n = 0;

	if (!tasks)
		return false;
	for (const struct dirent *d; is_known && (d = readdir(tasks));) {
		auto_free char *path = xasprintf("%s/%s/schedstat", folder, d->d_name);
		struct thread_wait t;

		if (parse_i64("thread", d->d_name, 1, INT64_MAX, &t.tid, NULL) < 0)
			continue;
		if (!read_field(path, 1, &t.ns)) {
			/* one that has ended in the meantime is not there */
			is_known = access(path, F_OK) < 0;
			continue;
		}
		is_known = n < ARRAY_SIZE(now);
		if (is_known) {
			hw->waited_ns += newly_waited_ns(hw, t.tid, t.ns);
			now[n++] = t;
		}
	}
	(void)closedir(tasks);
	memcpy(hw->threads, now, n * sizeof(*now));
	hw->n_threads = n;
	return is_known && n > 0;
}

static bool read_steal(struct host_watch *hw)
{
	const long ticks_per_s = sysconf(_SC_CLK_TCK);
	int64_t ticks;

	/* "cpu user nice system idle iowait irq softirq steal …" */
	if (ticks_per_s <= 0 || !read_field("/proc/stat", 8, &ticks))
		return false;
	if (ticks > hw->steal_ticks)
		hw->waited_ns += (ticks - hw->steal_ticks) * (NSEC_PER_SEC / ticks_per_s);
	hw->steal_ticks = ticks;
	return true;
}

static void look(struct host_watch *hw)
{
	hw->is_known = hw->is_known && read_threads(hw) && read_steal(hw);
	host_looks_add(&hw->looks, waiter_now(hw->w), hw->waited_ns / NSEC_PER_USEC);
}

static void on_timer(void *self)
{
	struct host_watch *hw = self;
	struct err ignored = {0};

	look(hw);
	hw->timer.at_ns = waiter_now(hw->w) + HOST_WATCH_SLICE_MS * NSEC_PER_MSEC;
	/* there was room for it before */
	if (hw->is_known && waiter_timer_set(hw->w, &hw->timer, &ignored) < 0)
		hw->is_known = false;
}

int host_watch_start(struct waiter *w, pid_t pid, struct host_watch **ret, struct err *e)
{
	struct host_watch *hw = xcalloc(1, sizeof(*hw));
	int r;

	*hw = (struct host_watch){.w = w, .pid = pid, .is_known = true};
	hw->timer = (struct waiter_timer){
		.at_ns = waiter_now(w) + HOST_WATCH_SLICE_MS * NSEC_PER_MSEC,
		.fire = on_timer,
		.self = hw,
	};
	r = waiter_timer_set(w, &hw->timer, e);
	if (r < 0) {
		free(hw);
		return r;
	}
	look(hw);
	*ret = hw;
	return 0;
}

void host_watch_free(struct host_watch *hw)
{
	if (!hw)
		return;
	waiter_timer_cancel(hw->w, &hw->timer);
	free(hw);
}

int64_t host_watch_worst_us(struct host_watch *hw, int64_t stretch_us)
{
	look(hw);
	return hw->is_known ? host_looks_worst_us(&hw->looks, stretch_us) : -1;
}
