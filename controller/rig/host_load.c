/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_load.c - how much of the time tasks of this host waited for a processor. */
#include "host_load.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX      4096
#define PROC_FILE_MAX (1u << 20) /* /proc/stat has a number for each interrupt */

int64_t host_load_wait_us(void)
{
	const char *path = getenv("STALLRIG_HOST_LOAD");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err ignored = {0};
	int64_t us;

	if (!path || !*path)
		path = "/proc/pressure/cpu";
	if (file_read(path, FILE_MAX, &text, &ignored) < 0)
		return -1;
	/* "some avg10=… avg60=… avg300=… total=US", then a line "full …" */
	if (strncmp(strbuf_str(&text), "some ", 5) != 0)
		return -1;
	text.data[strcspn(text.data, "\n")] = '\0';
	return parse_pair_i64(text.data, "total", &us) && us >= 0 ? us : -1;
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

int64_t host_load_process_wait_us(pid_t pid)
{
	auto_free char *folder = xasprintf("/proc/%ld/task", (long)pid);
	const long ticks_per_s = sysconf(_SC_CLK_TCK);
	int64_t stolen_ticks, waited_ns = 0;
	DIR *tasks;

	/* "cpu user nice system idle iowait irq softirq steal …" */
	if (ticks_per_s <= 0 || !read_field("/proc/stat", 8, &stolen_ticks))
		return -1;
	tasks = opendir(folder);
	if (!tasks)
		return -1;
	for (const struct dirent *d; waited_ns >= 0 && (d = readdir(tasks));) {
		auto_free char *path = xasprintf("%s/%s/schedstat", folder, d->d_name);
		int64_t ns;

		if (d->d_name[0] == '.')
			continue;
		if (read_field(path, 1, &ns))
			waited_ns += ns;
		else if (access(path, F_OK) == 0)
			waited_ns = -1; /* one that has ended in the meantime is not there */
	}
	(void)closedir(tasks);
	if (waited_ns < 0)
		return -1;
	return waited_ns / NSEC_PER_USEC + stolen_ticks * (1000000 / ticks_per_s);
}

int host_load_pct(int64_t before_us, int64_t now_us, nsec_t elapsed_ns)
{
	const int64_t elapsed_us = elapsed_ns / NSEC_PER_USEC;
	int64_t waited_us = now_us - before_us;

	if (before_us < 0 || now_us < before_us || elapsed_us <= 0)
		return -1;
	if (waited_us > elapsed_us)
		waited_us = elapsed_us;
	return (int)(waited_us / (elapsed_us / 100 + 1));
}

int host_load_blame(int pct, struct err *e)
{
	auto_free char *said = NULL;

	if (pct < HOST_LOAD_MAX_PCT || (e->kind != ERR_KERNEL && e->kind != ERR_TARGET))
		return -e->code;
	said = xstrdup(e->text);
	return err_set(e, ERR_RIG, EAGAIN,
		       "host overloaded (in %d %% of this boot a task waited for a processor): %s",
		       pct, said);
}
