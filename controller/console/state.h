/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - what the parser knows, and how its two halves meet: parser.c makes lines and records
 * out of bytes, classify.c says what records mean. Room-internal.
 */
#pragma once

#include "console/clock.h"
#include "console/console.h"
#include "console/load.h"
#include "console/wqdump.h"
#include "envelope.h"
#include "scan.h"

#define SEEN_MAX     512
#define REPORTED_MAX 16

enum line_flag {
	LINE_ENDED = 1 << 0, /* a line end followed */
	LINE_PEEK = 1 << 1,  /* not complete yet: only look for what may not wait */
	LINE_DIRTY = 1 << 2, /* had garbage in it */
};

/* What a line has anchors of. */
enum group {
	GROUP_OWN = 1 << 0,
	GROUP_CONTEXT = 1 << 1,
	GROUP_TRACE = 1 << 2,
	GROUP_RULE = 1 << 3,
	GROUP_PIECE = 1 << 4,
	GROUP_ALL = GROUP_OWN | GROUP_CONTEXT | GROUP_TRACE | GROUP_RULE | GROUP_PIECE
};

struct line {
	const char *s;
	size_t len;
	uint64_t offset;
	uint64_t end;
	unsigned flags;
	unsigned groups; /* 0: nothing to look for */
};

/* One record, or what stands between records. */
struct segment {
	const char *text;
	size_t len;
	size_t at; /* in the line */
	struct envelope env;
	bool is_ended;
};

enum crash_state { CRASH_NONE, CRASH_HEAD, CRASH_PLACE_KNOWN };

struct console_parser {
	/* set once */
	console_event_fn fn;
	void *self;
	const struct scan *scan;
	unsigned groups_always; /* for tests: as if every line had an anchor of these */
	console_dump_fn dump_fn;
	void *dump_self;
	struct wqdump *wqdump;          /* NULL: none came yet */
	struct console_clock *clock;    /* not owned; NULL: nobody wants it */
	struct console_load *load;      /* not owned; NULL: nobody wants it */
	char buf[CONSOLE_LINE_MAX + 1]; /* with room for the line feed that the scan needs */
	char clean[CONSOLE_LINE_MAX + 1];

	/* from here on everything starts at zero, but see console_parser_reset() */
	struct console_integrity integrity;

	/* framing */
	size_t len;
	bool has_cr;          /* a CR came behind buf: an LF may follow */
	uint64_t offset;      /* of the next byte of input */
	uint64_t line_offset; /* of buf[0] */
	int64_t t_host_ns;

	/* what an early look at the unfinished line has already told */
	struct {
		size_t at;
		enum console_class cls;
	} reported[REPORTED_MAX];
	size_t n_reported;

	/* boots */
	unsigned boot;
	bool has_banner;
	bool has_booting;
	bool is_reboot_told;
	bool has_stamps; /* of this boot */
	int64_t max_us;
	bool is_back_pending;
	int64_t kmsg_seq;
	int64_t delay_seq;
	int64_t hz; /* jiffies in a second, as the boot told; 0: it did not */

	/* replay of old records: after the switch from a boot console, or by dmesg */
	uint64_t replay_hint_until;
	int64_t replay_until_us; /* CONSOLE_UNKNOWN: no replay */
	uint64_t seen[SEEN_MAX];
	size_t n_seen;

	/* context: until which number of records it holds */
	enum crash_state crash;
	uint64_t crash_until;
	uint64_t dump_until;
	uint64_t cut_until;   /* 0: no cut-here line waits for its head */
	unsigned wqdump_left; /* 0: no dump is being read */
};

/* To be called before anything else of classify.c; again is no harm. */
void classify_init(void);
/* A record that is complete passes; everything below counts in records. */
void classify_count_record(struct console_parser *p);
/* The stamp of a record at a line's beginning. May tell a reboot. */
void classify_time(struct console_parser *p, const struct line *line, const struct segment *seg);
/* The same for a stamp that does not go back, outside of replays. */
void classify_time_forward(struct console_parser *p, const struct envelope *env);
void classify_kmsg_seq(struct console_parser *p, int64_t seq);
/* Looks for everything that the line's groups announce. True if the text is a known one. */
bool classify_segment(struct console_parser *p, const struct line *line, const struct segment *seg);
/* Collects a workqueue dump, if one is being read or begins here. */
void classify_wqdump(struct console_parser *p, const struct segment *seg);
/* End of input: hands over what is unfinished. */
void classify_finish(struct console_parser *p);

/* Texts of lines that are no event but a hint; NULL ends the list. */
extern const char *const classify_anchors[];
