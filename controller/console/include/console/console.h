/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console.h - from console bytes to events. Pure: no I/O, no clock, bounded memory.
 *
 * Bytes go in with the host time at which they came; events come out through a callback, in the
 * order of their first byte. Any split of the same bytes gives the same events (host times aside).
 * Every event carries the byte offset of its line, so that it can be traced into the recording.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

/* What an event is. The names of the classes (console_class_name) are stable API. */
enum console_class {
	CONSOLE_DELAY, /* a latency-mon line */
	CONSOLE_MARK,  /* a marker that the agent wrote into the kernel log */
	CONSOLE_BOOT,  /* a boot's first line: banner or "Booting Linux"; starts a new boot */
	/* incident classes, in the order of the design, section 9 */
	CONSOLE_WORKQUEUE_LOCKUP,
	CONSOLE_WORKQUEUE_HOG,
	CONSOLE_SOFT_LOCKUP,
	CONSOLE_HARD_LOCKUP,
	CONSOLE_RCU_STALL,
	CONSOLE_HUNG_TASK,
	CONSOLE_RT_THROTTLED,
	CONSOLE_WARNING,
	CONSOLE_BUG,
	CONSOLE_OOPS,
	CONSOLE_PANIC,
	CONSOLE_SANITIZER,
	CONSOLE_LOCKDEP,
	CONSOLE_USB_DISCONNECT,
	CONSOLE_USB_NEW, /* enumeration of a device began: not an incident */
	CONSOLE_USB_ENUMERATION,
	CONSOLE_USB_OVER_CURRENT,
	CONSOLE_IO_ERROR,
	CONSOLE_FS_ERROR,
	CONSOLE_PRINTK_DROPPED,
	CONSOLE_INPUT_OVERRUN,
	CONSOLE_REBOOT,
	CONSOLE_CLOCK_UNSTABLE,
	CONSOLE_CLASS_MAX
};

/* How bad a class is for the kernel under test (notes: FATAL > STALL > EXPECTED > INFO). */
enum console_severity {
	CONSOLE_INFO,      /* no judgement */
	CONSOLE_INTEGRITY, /* says that the log itself is incomplete or wrong */
	CONSOLE_EXPECTED,  /* normal after an unplug, on the unplugged device */
	CONSOLE_STALL,     /* lockup of a workqueue, RCU stall, hung task */
	CONSOLE_FATAL      /* panic, oops, BUG, soft and hard lockup, WARNING, sanitizer */
};

/* "workqueue-lockup". Never NULL. */
const char *console_class_name(enum console_class cls);
/* False for a name that is no class. */
bool console_class_parse(const char *name, enum console_class *ret);
enum console_severity console_class_severity(enum console_class cls);

#define CONSOLE_UNKNOWN INT64_MIN /* a number that the line does not have */

struct console_event {
	enum console_class cls;
	uint64_t offset;     /* of the line's first byte in everything fed so far */
	uint64_t end;        /* offset just past the line's last byte (its line end included) */
	int64_t t_host_ns;   /* when the line's last byte came */
	int64_t t_kernel_us; /* printk time stamp, or CONSOLE_UNKNOWN */
	unsigned boot;       /* 0 before the first banner, then 1, 2, … */
	bool is_suspect;     /* looks mangled: must not be counted, must not be ignored */
	/* more about an incident that began before (the second line of a crash, the function where
	   it happened as title): not a new one */
	bool is_detail;
	const char *text; /* message after the envelope, without line end; valid in the callback */
	size_t text_len;
	/* a short name of the incident for reports and grouping, e.g. the device, the function, the
	   task or the signature of a crash; "" if none. Valid in the callback. */
	const char *title;

	union {
		struct {
			int64_t ms;     /* may be negative in the historic module */
			int64_t us;     /* CONSOLE_UNKNOWN in classic lines */
			int cpu;        /* -1 unknown */
			char probe[16]; /* "" unknown */
			int64_t seq;    /* CONSOLE_UNKNOWN in classic lines */
			int64_t due_ns; /* printk clock, or CONSOLE_UNKNOWN */
			bool is_live;   /* still pending when printed */
			bool has_crc; /* a CRC was there and right (a wrong one makes it suspect) */
		} delay;
		struct {
			char nonce[33];
		} mark;
		struct {
			char release[65]; /* "" if the line has none ("Booting Linux on …") */
		} boot;
		struct {
			char port[32]; /* "2-1", "1-1.4" */
			int devnum;    /* -1 unknown */
		} usb;
		struct {
			/* "stuck for", "blocked for"; of an RCU stall only if the log says HZ */
			int64_t seconds; /* CONSOLE_UNKNOWN if not known */
			int64_t jiffies; /* of an RCU stall; CONSOLE_UNKNOWN as above */
			int cpu;         /* -1 unknown */
		} stall;
		struct {
			int64_t count; /* dropped messages, overruns, suppressed callbacks */
		} lost;
	} u;
};

typedef void (*console_event_fn)(void *self, const struct console_event *ev);

/* What may be wrong with the log itself. */
struct console_integrity {
	uint64_t bytes;
	uint64_t lines;
	uint64_t records;          /* lines or parts of lines with a kernel envelope */
	uint64_t dropped_messages; /* "** N printk messages dropped **" */
	uint64_t suppressed;       /* "N callbacks suppressed" */
	uint64_t overruns;         /* "input overrun(s)" */
	/* DELAY or marker lines that are mangled; records that begin almost as a grave message */
	uint64_t suspect_lines;
	uint64_t delay_seq_gaps;  /* numbers missing in the seq= of extended DELAY lines */
	uint64_t garbage_bytes;   /* NUL, 0xFF and other bytes that no console text has */
	uint64_t truncated_lines; /* longer than CONSOLE_LINE_MAX */
	uint64_t broken_stamps;   /* time stamps with bytes missing */
	uint64_t kmsg_seq_gaps;   /* numbers missing in /dev/kmsg or extended netconsole records */
	/* stack dumps that follow no known incident: its first line was lost or is unknown */
	uint64_t unclassified_dumps;
};

#define CONSOLE_LINE_MAX 4096

struct console_parser;

struct console_parser *console_parser_new(console_event_fn fn, void *self);
/* Accepts NULL. */
void console_parser_free(struct console_parser *p);
/* Forgets all input, as if new; callbacks and options stay. Cheaper than a new parser. */
void console_parser_reset(struct console_parser *p);
/* t_host_ns: when these bytes came. Calls fn for what is complete. */
void console_parser_feed(struct console_parser *p, const void *bytes, size_t n, int64_t t_host_ns);
/* No byte came for a while: an unfinished last line is looked at as it is (and again in whole if
   it goes on, without reporting the same event twice). */
void console_parser_idle(struct console_parser *p);
/* End of input. */
void console_parser_finish(struct console_parser *p);
const struct console_integrity *console_parser_integrity(const struct console_parser *p);
/*
 * Options, to be set before the first feed. The parser hands every finished workqueue dump to fn
 * (valid in the call), and every stamp with its host time to the clock, which it restarts (with the
 * same transport time) at each boot. NULL turns either off. Neither is owned.
 */
struct wqdump;
struct console_clock;
typedef void (*console_dump_fn)(void *self, const struct wqdump *dump, unsigned boot);
void console_parser_on_dump(struct console_parser *p, console_dump_fn fn, void *self);
void console_parser_use_clock(struct console_parser *p, struct console_clock *clock);
/*
 * Adds every line with its length at its kernel time (that of the newest stamp if it has none) to
 * the load, which the parser restarts with the same baud rate at each boot. Not owned; NULL: off.
 * A line's event is told before the line itself is added.
 */
struct console_load;
void console_parser_use_load(struct console_parser *p, struct console_load *load);

/* The newest time stamp seen in this boot, µs, or CONSOLE_UNKNOWN. */
int64_t console_parser_last_kernel_us(const struct console_parser *p);

/*
 * Markers are kernel log lines "stallrig-mark <nonce> crc=<crc32c of "stallrig-mark <nonce>">",
 * nonce: 1 to 32 of [0-9a-z-].
 */
