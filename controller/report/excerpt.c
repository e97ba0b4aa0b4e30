/* SPDX-License-Identifier: GPL-2.0-or-later */
/* excerpt.c - lines out of a boot's recording. */
#include "report/excerpt.h"

#include "base/parse.h"
#include "base/waiter.h"
#include "report/text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Walks console.timing: at which time did the byte at an offset come? Offsets only grow. */
struct timing {
	FILE *f;
	char *path; /* owned */
	unsigned line;
	uint64_t end; /* bytes covered so far */
	int64_t t_ns; /* when the newest covered bytes came */
};

static void timing_release(struct timing *t)
{
	if (t->f)
		fclose(t->f);
	util_free(t->path);
}

/* "<seconds>.<fraction>" into ns; the fraction may have any number of digits. */
static bool parse_seconds(const char *text, int64_t *ret_ns)
{
	const char *p = text;
	int64_t ns = 0;
	int64_t unit = NSEC_PER_SEC;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(ns, 10, &ns) ||
		    __builtin_add_overflow(ns, *p - '0', &ns))
			return false;
	}
	if (p == text || __builtin_mul_overflow(ns, NSEC_PER_SEC, &ns))
		return false;
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++) {
			unit /= 10;
			if (__builtin_add_overflow(ns, (*p - '0') * unit, &ns))
				return false;
		}
	}
	*ret_ns = ns;
	return *p == '\0';
}

static int timing_bad(const struct timing *t, const char *text, struct err *e)
{
	auto_strbuf struct strbuf shown = STRBUF_INIT;

	text_add_visible(&shown, text, strlen(text), 40);
	return err_set(e, ERR_STORE, EINVAL, "%s:%u: '%s' is not '<seconds> <bytes>'", t->path,
		       t->line, strbuf_str(&shown));
}

static int timing_seek(struct timing *t, uint64_t offset, int64_t *ret_ns, struct err *e)
{
	char row[80];

	while (t->end <= offset && fgets(row, sizeof(row), t->f)) {
		char *space = strchr(row, ' ');
		int64_t delta_ns;
		uint64_t bytes;

		t->line++;
		row[strcspn(row, "\r\n")] = '\0';
		if (!space)
			return timing_bad(t, row, e);
		*space = '\0';
		if (!parse_seconds(row, &delta_ns) ||
		    parse_u64("bytes", space + 1, 0, INT64_MAX, &bytes, NULL) < 0 ||
		    __builtin_add_overflow(t->t_ns, delta_ns, &t->t_ns) ||
		    __builtin_add_overflow(t->end, bytes, &t->end)) {
			*space = ' ';
			return timing_bad(t, row, e);
		}
	}
	*ret_ns = t->t_ns;
	return 0;
}

static int read_range(const char *path, uint64_t from, uint64_t to, struct strbuf *ret,
		      bool *ret_is_cut, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t want = to > from ? to - from : 0;
	char buf[65536];

	*ret_is_cut = want > EXCERPT_BYTES_MAX;
	if (fd < 0)
		return err_errno(e, ERR_STORE, errno, "%s", path);
	if (*ret_is_cut)
		want = EXCERPT_BYTES_MAX;
	while (ret->len < want) {
		size_t room = want - ret->len < sizeof(buf) ? want - ret->len : sizeof(buf);
		ssize_t n = pread(fd, buf, room, (off_t)(from + ret->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_STORE, errno, "%s", path);
		if (n == 0)
			break;
		strbuf_add(ret, buf, (size_t)n);
	}
	return 0;
}

/* One line of the bytes read, without its line end. */
struct span {
	const char *begin;
	size_t n;
	size_t end; /* index just past its line end */
};

/* The next line that is not empty, from index *pos on. */
static bool next_line(const struct strbuf *raw, size_t *pos, struct span *ret)
{
	while (*pos < raw->len) {
		const char *begin = raw->data + *pos;
		const char *nl = memchr(begin, '\n', raw->len - *pos);
		size_t n = nl ? (size_t)(nl - begin) : raw->len - *pos;

		*pos += n + (nl != NULL);
		while (n && begin[n - 1] == '\r')
			n--;
		if (n) {
			*ret = (struct span){.begin = begin, .n = n, .end = *pos};
			return true;
		}
	}
	return false;
}

/* How many lines lie before the one with the anchor; SIZE_MAX if none has it. */
static size_t find_anchor(const struct strbuf *raw, size_t pos, const char *anchor,
			  size_t *ret_n_lines)
{
	size_t at = SIZE_MAX;
	struct span line;

	*ret_n_lines = 0;
	for (; next_line(raw, &pos, &line); ++*ret_n_lines)
		if (at == SIZE_MAX && memmem(line.begin, line.n, anchor, strlen(anchor)))
			at = *ret_n_lines;
	return at;
}

/* The first line that is kept: a little before the anchor, or so that the end is kept. */
static size_t first_kept(const struct excerpt_size *size, size_t at, size_t n_lines)
{
	if (at != SIZE_MAX)
		return at < size->lines_before ? 0 : at - size->lines_before;
	return n_lines < size->lines ? 0 : n_lines - size->lines;
}

static void add_line(struct excerpt *x, const struct excerpt_size *size, const struct span *line,
		     uint64_t offset, int64_t t_ns)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	if (size->is_clean)
		text_add_console(&text, line->begin, line->n, size->columns);
	else
		text_add_visible(&text, line->begin, line->n, size->columns);
	if ((x->n & (x->n - 1)) == 0) /* room is doubled */
		x->lines = xrealloc(x->lines, x->n ? 2 * x->n : 1, sizeof(*x->lines));
	x->lines[x->n++] = (struct excerpt_line){
		.t_ns = t_ns,
		.offset = offset,
		.text = strbuf_take(&text),
	};
}

/* Fills x from raw, which holds the recording's bytes from offset `start` on. */
static int keep_lines(struct excerpt *x, const struct strbuf *raw, size_t pos, uint64_t start,
		      const char *anchor, const struct excerpt_size *size, struct timing *timing,
		      struct err *e)
{
	size_t n_lines;
	size_t at = find_anchor(raw, pos, anchor, &n_lines);
	size_t first = first_kept(size, at, n_lines);
	struct span line;

	x->left_before = first;
	x->anchor = at == SIZE_MAX ? EXCERPT_NO_ANCHOR : at - first;
	for (size_t i = 0; next_line(raw, &pos, &line); i++) {
		int64_t t_ns = 0;
		int r;

		if (i < first)
			continue;
		if (x->n == size->lines) {
			x->left_after++;
			continue;
		}
		r = timing_seek(timing, start + line.end - 1, &t_ns, e);
		if (r < 0)
			return r;
		add_line(x, size, &line, start + (uint64_t)(line.begin - raw->data), t_ns);
	}
	return 0;
}

int excerpt_read(const char *dir, uint64_t from, uint64_t to, const char *anchor,
		 const struct excerpt_size *size, struct excerpt *ret, struct err *e)
{
	static const struct excerpt_size usual = {.lines = EXCERPT_LINES_MAX,
						  .lines_before = EXCERPT_LINES_BEFORE,
						  .columns = EXCERPT_COLUMNS_MAX};
	auto_free char *raw_path = xasprintf("%s/console.raw", dir);
	__attribute__((cleanup(timing_release))) struct timing timing = {
		.path = xasprintf("%s/console.timing", dir),
	};
	/* one byte more before the range tells whether a line begins at its first byte */
	uint64_t start = from ? from - 1 : 0;
	auto_strbuf struct strbuf raw = STRBUF_INIT;
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	size_t pos = 0;
	int r;

	r = read_range(raw_path, start, to, &raw, &x.is_cut, e);
	if (r < 0)
		return r;
	timing.f = fopen(timing.path, "re");
	if (!timing.f)
		return err_errno(e, ERR_STORE, errno, "%s", timing.path);
	if (from && raw.len) {
		const char *nl = memchr(raw.data, '\n', raw.len);

		pos = nl ? (size_t)(nl - raw.data) + 1 : raw.len;
	}
	r = keep_lines(&x, &raw, pos, start, anchor, size ? size : &usual, &timing, e);
	if (r < 0)
		return r;
	*ret = x;
	x = (struct excerpt)EXCERPT_INIT;
	return 0;
}

void excerpt_release(struct excerpt *x)
{
	for (size_t i = 0; i < x->n; i++)
		util_free(x->lines[i].text);
	util_free(x->lines);
	*x = (struct excerpt)EXCERPT_INIT;
}
