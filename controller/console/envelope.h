/* SPDX-License-Identifier: GPL-2.0-or-later */
/* envelope.h - what stands around a kernel message on one line. Room-internal, pure. */
#pragma once

#include "base/util.h"

#include <stdbool.h>

enum envelope_kind {
	ENVELOPE_NONE,   /* bare text: user space, firmware, or a kernel without printk.time */
	ENVELOPE_STAMP,  /* "[ 1558.625517]", with or without "<3>", caller, syslog prefix */
	ENVELOPE_KMSG,   /* "6,16632,40311382141,-;text" of /dev/kmsg and extended netconsole */
	ENVELOPE_DATE,   /* "[Wed Jun  5 03:14:35 2013]" of dmesg -T */
	ENVELOPE_DELTA,  /* "[  +0.000021]" or "[<    0.000021>]" of dmesg --reltime and -d */
	ENVELOPE_SYSLOG, /* "host kernel: text" without a kernel time */
	ENVELOPE_PRI,    /* "<6>text" without a time */
	ENVELOPE_BROKEN  /* was a stamp before bytes got lost */
};

struct envelope {
	enum envelope_kind kind;
	size_t start;      /* first byte that belongs to it */
	size_t text;       /* first byte of the message */
	int64_t t_us;      /* INT64_MIN if it has none */
	int64_t seq;       /* of ENVELOPE_KMSG; INT64_MIN else */
	bool is_canonical; /* the seconds have the padding that the kernel gives them */
};

/*
 * The usual case, quickly: a stamp in the kernel's own format at the first byte. Callers go on
 * with envelope_find() if it is false.
 */
bool envelope_leading(const char *s, size_t len, struct envelope *ret);

/*
 * The next stamp at or after `from`, wherever it stands in the line: records get glued together
 * when line ends are lost. *ret_broken counts the ends of stamps on the way whose beginning is
 * missing.
 */
bool envelope_find(const char *s, size_t len, size_t from, struct envelope *ret,
		   unsigned *ret_broken);

/* The envelopes that only a line's beginning can have. ENVELOPE_NONE (text 0) if there is none. */
void envelope_begin(const char *s, size_t len, struct envelope *ret);

/* True if s[0..len) ends in what syslog puts before a kernel message: "… kernel: ". */
bool envelope_is_syslog_prefix(const char *s, size_t len);
