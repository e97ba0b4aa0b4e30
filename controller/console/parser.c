/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parser.c - bytes to lines, lines to records, records to events.
 *
 * A line ends with CR* LF, or with CRs that no LF follows (progress output). What is longer than
 * CONSOLE_LINE_MAX is cut into pieces that are looked at one by one. Whole plain lines are taken
 * from the caller's buffer; everything else goes byte by byte through p->buf, to the same effect.
 *
 * A line is looked at closely only if it has an anchor of the catalogue or an odd byte. Both are
 * properties of the line alone, so it does not matter how the input was split.
 */
#include "console/catalog.h"
#include "console/clean.h"
#include "own.h"
#include "remains.h"
#include "state.h"

#include <string.h>

/* The same for all parsers; choosing the trigrams takes a millisecond. */
static const struct scan *shared_scan(void)
{
	static struct scan scan;

	if (scan.n_anchors > 0)
		return &scan;
	scan_init(&scan);
	remains_init();
	classify_init();
	for (size_t i = 0; own_anchors[i]; i++)
		scan_add(&scan, own_anchors[i], GROUP_OWN);
	for (size_t i = 0; classify_anchors[i]; i++)
		scan_add(&scan, classify_anchors[i], GROUP_CONTEXT);
	for (size_t i = 0; i < console_trace_count(); i++)
		scan_add(&scan, console_trace(i)->text, GROUP_TRACE);
	for (size_t i = 0; i < console_rule_count(); i++)
		scan_add(&scan, console_rule(i)->anchor, GROUP_RULE);
	for (size_t i = 0; remains_pieces[i]; i++)
		scan_add(&scan, remains_pieces[i], GROUP_PIECE);
	return &scan;
}

struct console_parser *console_parser_new(console_event_fn fn, void *self)
{
	struct console_parser *p = xcalloc(1, sizeof(*p));

	p->fn = fn;
	p->self = self;
	p->scan = shared_scan();
	console_parser_reset(p);
	return p;
}

void console_parser_reset(struct console_parser *p)
{
	size_t kept = offsetof(struct console_parser, integrity);

	memset((char *)p + kept, 0, sizeof(*p) - kept);
	p->max_us = CONSOLE_UNKNOWN;
	p->kmsg_seq = CONSOLE_UNKNOWN;
	p->delay_seq = CONSOLE_UNKNOWN;
	p->replay_until_us = CONSOLE_UNKNOWN;
}

void console_parser_free(struct console_parser *p)
{
	if (p)
		util_free(p->wqdump);
	util_free(p);
}

void console_parser_on_dump(struct console_parser *p, console_dump_fn fn, void *self)
{
	p->dump_fn = fn;
	p->dump_self = self;
}

void console_parser_use_clock(struct console_parser *p, struct console_clock *clock)
{
	p->clock = clock;
}

void console_parser_use_load(struct console_parser *p, struct console_load *load)
{
	p->load = load;
}

const struct console_integrity *console_parser_integrity(const struct console_parser *p)
{
	return &p->integrity;
}

int64_t console_parser_last_kernel_us(const struct console_parser *p)
{
	return p->max_us;
}

/* ---- lines ---- */

static void take_segment(struct console_parser *p, const struct line *line, struct segment *seg,
			 bool is_leading)
{
	const struct envelope *env = &seg->env;
	bool is_known = false;

	if (!(line->flags & LINE_PEEK)) {
		if (env->kind == ENVELOPE_BROKEN)
			p->integrity.broken_stamps++;
		if (env->kind != ENVELOPE_NONE)
			classify_count_record(p);
		if (env->kind == ENVELOPE_KMSG)
			classify_kmsg_seq(p, env->seq);
		if (is_leading && env->t_us != CONSOLE_UNKNOWN)
			classify_time(p, line, seg);
	}
	if (p->dump_fn && !(line->flags & LINE_PEEK) &&
	    (p->wqdump_left > 0 || (line->groups & GROUP_CONTEXT)))
		classify_wqdump(p, seg);
	while (seg->len > 0 && seg->text[seg->len - 1] == ' ')
		seg->len--;
	if (line->groups)
		is_known = classify_segment(p, line, seg);
	if (is_known || (line->flags & LINE_PEEK))
		return;
	/* user space says many things; a kernel's record with such a beginning was cut up */
	if ((env->kind != ENVELOPE_NONE && remains_are_grave(seg->text, seg->len)) ||
	    ((line->groups & GROUP_PIECE) && remains_have_piece(seg->text, seg->len)))
		p->integrity.suspect_lines++;
}

/* What stands in front of the first stamp, or a line without any. */
static void take_bare(struct console_parser *p, const struct line *line, size_t len, bool is_ended)
{
	struct segment seg = {.is_ended = is_ended};
	size_t blank = 0;

	envelope_begin(line->s, len, &seg.env);
	if (seg.env.kind == ENVELOPE_NONE) {
		while (blank < len && line->s[blank] == ' ')
			blank++;
		if (blank == len)
			return;
	}
	seg.at = seg.env.text;
	seg.text = line->s + seg.env.text;
	seg.len = len - seg.env.text;
	take_segment(p, line, &seg, true);
}

static bool find_stamp(struct console_parser *p, const struct line *line, size_t from,
		       struct envelope *ret)
{
	unsigned broken;
	bool is_found = envelope_find(line->s, line->len, from, ret, &broken);

	if (!(line->flags & LINE_PEEK))
		p->integrity.broken_stamps += broken;
	return is_found;
}

static void take_line(struct console_parser *p, const struct line *line)
{
	bool is_ended = (line->flags & LINE_ENDED) != 0;
	bool is_leading = true;
	struct envelope env;
	struct envelope next;
	bool has_next;

	if (!envelope_leading(line->s, line->len, &env)) {
		struct envelope begin;

		envelope_begin(line->s, line->len, &begin);
		if (begin.kind == ENVELOPE_KMSG || !find_stamp(p, line, 0, &env)) {
			take_bare(p, line, line->len, is_ended);
			return;
		}
		if (env.start > 0 && !envelope_is_syslog_prefix(line->s, env.start)) {
			take_bare(p, line, env.start, false);
			is_leading = false;
		}
	}
	do {
		struct segment seg = {.at = env.text, .env = env};

		has_next = find_stamp(p, line, env.text, &next);
		seg.text = line->s + env.text;
		seg.len = (has_next ? next.start : line->len) - env.text;
		seg.is_ended = !has_next && is_ended;
		take_segment(p, line, &seg, is_leading);
		is_leading = false;
		env = next;
	} while (has_next);
}

/* ---- framing ---- */

static void note_load(struct console_parser *p, uint64_t n_bytes)
{
	if (p->load && p->max_us >= 0 && p->max_us < INT64_MAX / 4 / 1000 &&
	    p->replay_until_us == CONSOLE_UNKNOWN)
		console_load_add(p->load, p->max_us * 1000, n_bytes);
}

/* The line in p->buf is complete, or is looked at early. end: offset behind its line end. */
static void take_buffered(struct console_parser *p, uint64_t end, unsigned flags)
{
	struct line line = {p->buf, p->len, p->line_offset, end, flags, 0};
	char *text = p->buf;
	uint64_t garbage = 0;

	if (p->len == 0)
		return;
	if (!(flags & LINE_PEEK))
		p->integrity.lines++;
	for (size_t i = 0; i < p->len; i++) {
		unsigned char c = (unsigned char)p->buf[i];

		if ((c < 0x20 && c != '\t') || c >= 0x7f) {
			line.len = clean_text(p->buf, p->len, p->clean, &garbage);
			text = p->clean;
			break;
		}
	}
	if (garbage > 0) {
		line.flags |= LINE_DIRTY;
		if (!(flags & LINE_PEEK))
			p->integrity.garbage_bytes += garbage;
	}
	text[line.len] = '\n';
	line.s = text;
	line.groups = scan_groups(p->scan, text, 0, line.len + 1) | p->groups_always;
	take_line(p, &line);
	if (!(flags & LINE_PEEK))
		note_load(p, end - p->line_offset);
}

static void end_buffered(struct console_parser *p, unsigned flags)
{
	take_buffered(p, p->offset, flags);
	p->len = 0;
	p->has_cr = false;
	p->n_reported = 0;
	p->line_offset = p->offset;
}

/* Takes bytes up to and with the first line end. Returns how many. */
static size_t push(struct console_parser *p, const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		char c = s[i];
		size_t run;

		if (c == '\n') {
			p->offset++;
			end_buffered(p, LINE_ENDED);
			return i + 1;
		}
		if (c == '\r') {
			p->has_cr = true;
			p->offset++;
			i++;
			continue;
		}
		if (p->has_cr) {
			end_buffered(p, LINE_ENDED);
			return i;
		}
		if (p->len == CONSOLE_LINE_MAX) {
			p->integrity.truncated_lines++;
			end_buffered(p, 0);
		}
		run = i;
		while (run < n && run - i < CONSOLE_LINE_MAX - p->len && s[run] != '\n' &&
		       s[run] != '\r')
			run++;
		run -= i;
		memcpy(p->buf + p->len, s + i, run);
		p->len += run;
		p->offset += run;
		i += run;
	}
	return n;
}

/*
 * The quick way for most lines: one whole record without an anchor, of which only the time counts.
 * Does what take_line() would do, or nothing and returns false. lf: of the line end; stamps: marks
 * of the window that begins at s, from the line's first one on.
 */
static inline bool take_quickly(struct console_parser *p, const uint16_t *stamps,
				const struct line *line, size_t at, size_t lf)
{
	struct envelope env;

	if (p->wqdump_left > 0 || !envelope_leading(line->s, line->len, &env) ||
	    env.t_us < p->max_us || p->max_us == CONSOLE_UNKNOWN ||
	    p->replay_until_us != CONSOLE_UNKNOWN)
		return false;
	/* no second stamp: see envelope_find() */
	while (*stamps < at + env.text)
		stamps++;
	if (*stamps < lf || remains_may_begin(line->s + env.text, line->len - env.text))
		return false;
	classify_count_record(p);
	classify_time_forward(p, &env);
	return true;
}

/*
 * Takes whole plain lines out of s[0..n) without copying them. Stops before a line that is not
 * plain. Returns the number of bytes taken, which may be less than there are.
 */
static size_t take_plain_lines(struct console_parser *p, const char *s, size_t n)
{
	struct scan_marks marks;
	size_t at = 0;
	size_t end;
	size_t anchor;
	const uint16_t *stamps = marks.stamps;

	(void)p->scan->marks(s, n < SCAN_WINDOW ? n : SCAN_WINDOW, &marks);
	end = marks.n_ends > 0 ? marks.ends[marks.n_ends - 1] + 1u : 0;
	anchor = scan_anchor(p->scan, s, 0, end);
	for (size_t i = 0; i < marks.n_ends; i++) {
		size_t lf = marks.ends[i];
		struct line line = {
			.s = s + at, .len = lf - at, .offset = p->offset, .flags = LINE_ENDED};

		if (line.len > 0 && s[lf - 1] == '\r')
			line.len--;
		if (line.len > CONSOLE_LINE_MAX)
			break;
		if (anchor < at)
			anchor = scan_anchor(p->scan, s, at, end);
		while (*stamps < at)
			stamps++;
		p->offset += lf + 1 - at;
		line.end = p->offset;
		if (line.len > 0) {
			p->integrity.lines++;
			if (anchor <= lf)
				line.groups = scan_groups(p->scan, s, at, lf + 1);
			if (line.groups > 0 || !take_quickly(p, stamps, &line, at, lf))
				take_line(p, &line);
			note_load(p, line.end - line.offset);
		}
		at = lf + 1;
	}
	p->line_offset = p->offset;
	return at;
}

void console_parser_feed(struct console_parser *p, const void *bytes, size_t n, int64_t t_host_ns)
{
	const char *s = bytes;
	size_t at = 0;

	if (n == 0)
		return;
	p->t_host_ns = t_host_ns;
	p->integrity.bytes += n;
	while (at < n) {
		bool is_at_line = p->len == 0 && !p->has_cr && !p->groups_always;
		size_t taken = is_at_line ? take_plain_lines(p, s + at, n - at) : 0;

		at += taken > 0 ? taken : push(p, s + at, n - at);
	}
}

void console_parser_idle(struct console_parser *p)
{
	take_buffered(p, p->offset, LINE_PEEK);
}

void console_parser_finish(struct console_parser *p)
{
	end_buffered(p, p->has_cr ? LINE_ENDED : 0);
	classify_finish(p);
}
