/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - host time against kernel time, for one boot.
 *
 * A line reaches the host some time after its stamp was taken, never before: the points (stamp,
 * arrival) lie above the line that is looked for, and the fastest lines lie close to it. So of each
 * piece of time only the fastest line is kept, and the fit is the edge over the middle of the lower
 * hull of these: queueing on the serial line or in the host does not move it. Pure, bounded.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

#define CONSOLE_CLOCK_BINS 128

struct console_clock_point {
	int64_t kernel_ns;
	int64_t host_ns;
};

struct console_clock {
	struct console_clock_point bins[CONSOLE_CLOCK_BINS]; /* the fastest line of each */
	bool has[CONSOLE_CLOCK_BINS];
	int64_t width_ns; /* of a bin; doubles when the time does not fit any more */
	int64_t first_ns;
	int64_t last_ns;
	size_t bin; /* of last_ns */
	int64_t bin_end_ns;
	uint64_t n; /* points taken */
	int64_t transport_ns;
};

/* Two clocks without a common source: what may be assumed of them without measuring. */
#define CONSOLE_CLOCK_SKEW_MAX_PPM 500.0
/* Less time or fewer lines cannot tell skew from the delay of single lines. */
#define CONSOLE_CLOCK_SPAN_MIN_NS ((int64_t)10000000000)
#define CONSOLE_CLOCK_LINES_MIN   64

struct console_clock_fit {
	int64_t kernel_ref_us;
	int64_t host_ref_ns;   /* host time of kernel_ref_us */
	double skew_ppm;       /* by how much the host clock is faster; 0 if not measurable */
	double skew_error_ppm; /* half width */
	int64_t error_ns;      /* half width inside [first, last] */
	int64_t first_us;
	int64_t last_us;
	uint64_t n;
};

/*
 * transport_ns: the longest time that the fastest line may have taken (sending it, USB adapter,
 * scheduling of the reader). It cannot be measured from one side and is part of every error.
 */
void console_clock_init(struct console_clock *c, int64_t transport_ns);
/* Stamps that go back are ignored. */
void console_clock_add(struct console_clock *c, int64_t kernel_us, int64_t host_ns);

/* The same, at less cost for lines that came together. */
static inline void console_clock_add_quickly(struct console_clock *c, int64_t kernel_us,
					     int64_t host_ns)
{
	struct console_clock_point *fastest = &c->bins[c->bin];
	int64_t kernel_ns = kernel_us < INT64_MAX / 8 / 1000 ? kernel_us * 1000 : INT64_MAX;

	/* of lines that came at one time the newest took the shortest */
	if (fastest->host_ns == host_ns && kernel_ns >= c->last_ns && kernel_ns < c->bin_end_ns) {
		fastest->kernel_ns = kernel_ns;
		c->last_ns = kernel_ns;
		c->n++;
		return;
	}
	console_clock_add(c, kernel_us, host_ns);
}
/* False with less than two points. */
bool console_clock_fit(const struct console_clock *c, struct console_clock_fit *ret);
/*
 * Host time of a kernel time and back. *ret_error_ns (may be NULL) is the half width of the stated
 * error, growing with the distance to what was measured.
 */
int64_t console_clock_to_host_ns(const struct console_clock_fit *f, int64_t kernel_us,
				 int64_t *ret_error_ns);
int64_t console_clock_to_kernel_us(const struct console_clock_fit *f, int64_t host_ns,
				   int64_t *ret_error_ns);
