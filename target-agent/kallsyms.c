/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kallsyms.c - /proc/kallsyms: "<address> <type> <name>[\t[<module>]]", some MiB of it. */
#include "kallsyms.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>

#define LINE_SIZE 1024 /* KSYM_NAME_LEN is 512 at most */

struct reading {
	bool (*fn)(void *arg, const struct kallsyms_function *f);
	void *arg;
	bool has_function; /* at an address that is not hidden */
	bool is_over;
};

/* What separates fields of a record must not be in a name. */
static void copy_name(const char *from, size_t n, char *to, size_t cap)
{
	size_t len = 0;

	for (size_t i = 0; i < n && len < cap - 1; i++)
		to[len++] = (from[i] > ' ' && from[i] < 0x7f && from[i] != ',' && from[i] != ';')
				    ? from[i]
				    : '?';
	to[len] = '\0';
}

static void take_line(struct reading *rd, char *line)
{
	struct kallsyms_function f = {0};
	const char *p = line;
	const char *name;
	size_t n;

	for (; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
		f.addr = f.addr << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	if (p == line || p[0] != ' ' || !p[1] || !strchr("tTwW", p[1]) || p[2] != ' ')
		return;
	f.is_global = p[1] == 'T' || p[1] == 'W';
	name = p + 3;
	n = strcspn(name, "\t \n");
	/* marks of the assembler, not functions */
	if (!f.addr || !n || name[0] == '$' || strncmp(name, ".L", 2) == 0)
		return;
	copy_name(name, n, f.name, sizeof(f.name));
	p = strchr(name + n, '[');
	if (p)
		copy_name(p + 1, strcspn(p + 1, "]\n"), f.module, sizeof(f.module));
	rd->has_function = true;
	rd->is_over = !rd->fn(rd->arg, &f);
}

int kallsyms_each(const char *root, bool (*fn)(void *arg, const struct kallsyms_function *f),
		  void *arg, struct err *e)
{
	static char buf[32768];
	struct reading rd = {.fn = fn, .arg = arg};
	char path[SYSFILE_PATH_MAX];
	char line[LINE_SIZE];
	size_t len = 0;
	ssize_t n = 0;
	int code = 0;
	int fd;
	int r;

	r = sysfile_path(root, "/proc/kallsyms", path, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "/proc/kallsyms");
	while (!rd.is_over && (n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			code = errno;
			break;
		}
		for (ssize_t i = 0; i < n && !rd.is_over; i++) {
			if (buf[i] != '\n') {
				if (len < sizeof(line) - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			len = 0;
			take_line(&rd, line);
		}
	}
	(void)close(fd);
	if (code)
		return err_errno(e, ERR_TARGET, code, "/proc/kallsyms");
	if (!rd.has_function)
		return err_set(e, ERR_TARGET, EACCES,
			       "/proc/kallsyms: it hides the addresses (kernel.kptr_restrict?)");
	return 0;
}

/* --- addresses ----------------------------------------------------------------------------- */

struct resolving {
	struct kallsyms_place *places;
	size_t n;
};

/* The first place at or after addr. */
static size_t first_from(const struct resolving *rs, uint64_t addr)
{
	size_t low = 0, high = rs->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rs->places[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Notes the function at the first place that it may hold; the places behind that one get it in the
 * end. Of two names for one address the global one is kept, else the first.
 */
static bool note_function(void *arg, const struct kallsyms_function *f)
{
	const struct resolving *rs = arg;
	size_t i = first_from(rs, f->addr);
	struct kallsyms_place *p = &rs->places[i];

	if (i == rs->n || f->addr < p->start ||
	    (f->addr == p->start && (p->is_global || !f->is_global)))
		return true;
	p->start = f->addr;
	p->is_global = f->is_global;
	memcpy(p->name, f->name, sizeof(p->name));
	memcpy(p->module, f->module, sizeof(p->module));
	return true;
}

int kallsyms_resolve(const char *root, struct kallsyms_place *places, size_t n, struct err *e)
{
	struct resolving rs = {.places = places, .n = n};
	int r;

	for (size_t i = 0; i < n; i++) {
		places[i].start = 0;
		places[i].is_global = false;
		places[i].name[0] = places[i].module[0] = '\0';
	}
	r = kallsyms_each(root, note_function, &rs, e);
	if (r < 0)
		return r;
	for (size_t i = 1; i < n; i++)
		if (places[i].start < places[i - 1].start) {
			const struct kallsyms_place p = places[i];

			places[i] = places[i - 1];
			places[i].addr = p.addr;
			places[i].number = p.number;
		}
	for (size_t i = 0; i < n; i++)
		if (places[i].addr - places[i].start >= KALLSYMS_FUNCTION_MAX) {
			places[i].start = 0;
			places[i].name[0] = places[i].module[0] = '\0';
		}
	return 0;
}

/* --- the verb symbols ---------------------------------------------------------------------- */

struct matching {
	char patterns[FRAME_MAX]; /* each with a NUL behind it, an empty one last */
	uint64_t found;
	char first[KALLSYMS_NAME_MAX];
};

static bool match_function(void *arg, const struct kallsyms_function *f)
{
	struct matching *m = arg;
	char bare[KALLSYMS_NAME_MAX];

	/* parts that the compiler has made of a function: .isra.0, .constprop.0, .cold */
	(void)snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(f->name, "."), f->name);
	for (const char *p = m->patterns; *p; p += strlen(p) + 1)
		if (fnmatch(p, f->name, 0) == 0 || fnmatch(p, bare, 0) == 0) {
			if (!m->found++)
				(void)snprintf(m->first, sizeof(m->first), "%s", f->name);
			break;
		}
	return true;
}

int verb_symbols(struct request *rq, struct err *e)
{
	static struct matching m;
	const char *match = NULL;
	size_t len = 0;
	int r;

	r = request_need(rq, "match", &match, e);
	if (r < 0)
		return r;
	memset(&m, 0, sizeof(m));
	while (*match) {
		size_t n = strcspn(match, ",");

		if (n) {
			memcpy(m.patterns + len, match, n);
			len += n + 1;
		}
		match += n + (match[n] == ',');
	}
	r = kallsyms_each(rq->root, match_function, &m, e);
	if (r < 0)
		return err_wrap(e, "symbols");
	answer_word(rq->answer, "functions", "%llu", (unsigned long long)m.found);
	if (m.found)
		answer_word(rq->answer, "first", "%s", m.first);
	return 0;
}
