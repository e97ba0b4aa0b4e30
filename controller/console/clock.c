/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.c - the fastest lines and the line below them. */
#include "console/clock.h"

#include <string.h>

#define NS_PER_US    1000
#define BIN_FIRST_NS ((int64_t)10000000)
/* Each of these parts of the time must have a point near the line, or the error grows. */
#define PARTS 8

void console_clock_init(struct console_clock *c, int64_t transport_ns)
{
	memset(c, 0, sizeof(*c));
	c->width_ns = BIN_FIRST_NS;
	c->transport_ns = transport_ns;
}

/* Which of two lines was faster, but for the skew within a bin, which is small. */
static bool is_faster(const struct console_clock_point *a, const struct console_clock_point *b)
{
	return a->host_ns - a->kernel_ns < b->host_ns - b->kernel_ns;
}

static void widen(struct console_clock *c)
{
	for (size_t i = 0; i < CONSOLE_CLOCK_BINS / 2; i++) {
		size_t a = 2 * i;
		size_t b = 2 * i + 1;
		size_t best =
			!c->has[a] || (c->has[b] && is_faster(&c->bins[b], &c->bins[a])) ? b : a;

		c->has[i] = c->has[a] || c->has[b];
		c->bins[i] = c->bins[best];
	}
	for (size_t i = CONSOLE_CLOCK_BINS / 2; i < CONSOLE_CLOCK_BINS; i++)
		c->has[i] = false;
	c->width_ns *= 2;
}

static void choose_bin(struct console_clock *c, int64_t kernel_ns)
{
	while ((kernel_ns - c->first_ns) / c->width_ns >= CONSOLE_CLOCK_BINS)
		widen(c);
	c->bin = (size_t)((kernel_ns - c->first_ns) / c->width_ns);
	c->bin_end_ns = c->first_ns + (int64_t)(c->bin + 1) * c->width_ns;
}

void console_clock_add(struct console_clock *c, int64_t kernel_us, int64_t host_ns)
{
	struct console_clock_point point = {kernel_us, host_ns};
	struct console_clock_point *best;

	if (kernel_us < 0 || kernel_us > INT64_MAX / 8 / NS_PER_US || host_ns > INT64_MAX / 4 ||
	    host_ns < INT64_MIN / 4)
		return;
	point.kernel_ns = kernel_us * NS_PER_US;
	if (c->n > 0 && point.kernel_ns < c->last_ns)
		return;
	if (c->n == 0)
		c->first_ns = point.kernel_ns;
	if (point.kernel_ns >= c->bin_end_ns)
		choose_bin(c, point.kernel_ns);
	best = &c->bins[c->bin];
	if (!c->has[c->bin] || is_faster(&point, best))
		*best = point;
	c->has[c->bin] = true;
	c->last_ns = point.kernel_ns;
	c->n++;
}

/* Vertical distance of a point to the line through ref, ns. */
static double distance(const struct console_clock_point *point,
		       const struct console_clock_point *ref, double slope)
{
	double x = (double)(point->kernel_ns - ref->kernel_ns);
	double y = (double)(point->host_ns - ref->host_ns);

	return y - x * (1.0 + slope);
}

/* True if b lies on or above the line from a to c. */
static bool is_above(const struct console_clock_point *a, const struct console_clock_point *b,
		     const struct console_clock_point *c)
{
	__int128 ab_x = b->kernel_ns - a->kernel_ns;
	__int128 ab_y = b->host_ns - a->host_ns;
	__int128 ac_x = c->kernel_ns - a->kernel_ns;
	__int128 ac_y = c->host_ns - a->host_ns;

	return ab_x * ac_y - ab_y * ac_x <= 0;
}

static size_t lower_hull(const struct console_clock *c,
			 struct console_clock_point ret[CONSOLE_CLOCK_BINS])
{
	size_t n = 0;

	for (size_t i = 0; i < CONSOLE_CLOCK_BINS; i++) {
		if (!c->has[i])
			continue;
		while (n >= 2 && is_above(&ret[n - 2], &ret[n - 1], &c->bins[i]))
			n--;
		ret[n++] = c->bins[i];
	}
	return n;
}

/* How far the fastest line of any part of the time is above the fitted one. */
static double worst_part(const struct console_clock *c, const struct console_clock_point *ref,
			 double slope)
{
	double worst = 0;
	size_t bins = (size_t)((c->last_ns - c->first_ns) / c->width_ns) + 1;

	for (size_t part = 0; part < PARTS; part++) {
		double least = -1;

		for (size_t i = part * bins / PARTS; i < (part + 1) * bins / PARTS; i++) {
			double d = c->has[i] ? distance(&c->bins[i], ref, slope) : -1;

			if (c->has[i] && d < 0)
				d = 0;
			if (d >= 0 && (least < 0 || d < least))
				least = d;
		}
		if (least > worst)
			worst = least;
	}
	return worst;
}

bool console_clock_fit(const struct console_clock *c, struct console_clock_fit *ret)
{
	struct console_clock_point hull[CONSOLE_CLOCK_BINS];
	int64_t span = c->last_ns - c->first_ns;
	double slope = 0;
	double worst;
	bool has_slope;
	size_t edge = 0;
	size_t n;

	if (c->n < 2 || span == 0)
		return false;
	n = lower_hull(c, hull);
	has_slope = span >= CONSOLE_CLOCK_SPAN_MIN_NS && c->n >= CONSOLE_CLOCK_LINES_MIN && n >= 2;
	if (has_slope) {
		while (edge + 2 < n && hull[edge + 1].kernel_ns < c->first_ns + span / 2)
			edge++;
		slope = distance(&hull[edge + 1], &hull[edge], 0) /
			(double)(hull[edge + 1].kernel_ns - hull[edge].kernel_ns);
	} else {
		/* slope 1: the lowest point carries the line */
		for (size_t i = 1; i < n; i++) {
			if (is_faster(&hull[i], &hull[edge]))
				edge = i;
		}
	}
	worst = worst_part(c, &hull[edge], slope);
	ret->kernel_ref_us = hull[edge].kernel_ns / NS_PER_US;
	ret->host_ref_ns = hull[edge].host_ns;
	ret->skew_ppm = slope * 1e6;
	ret->error_ns = c->transport_ns + (int64_t)worst;
	if (has_slope) {
		ret->skew_error_ppm = 2e6 * (double)ret->error_ns / (double)span;
	} else {
		ret->skew_error_ppm = CONSOLE_CLOCK_SKEW_MAX_PPM;
		ret->error_ns += (int64_t)((double)span * CONSOLE_CLOCK_SKEW_MAX_PPM * 1e-6);
	}
	ret->first_us = c->first_ns / NS_PER_US;
	ret->last_us = c->last_ns / NS_PER_US;
	ret->n = c->n;
	return true;
}

static int64_t error_at(const struct console_clock_fit *f, int64_t kernel_us)
{
	int64_t outside_us = 0;

	if (kernel_us < f->first_us)
		outside_us = f->first_us - kernel_us;
	else if (kernel_us > f->last_us)
		outside_us = kernel_us - f->last_us;
	return f->error_ns + (int64_t)((double)outside_us * NS_PER_US * f->skew_error_ppm * 1e-6);
}

int64_t console_clock_to_host_ns(const struct console_clock_fit *f, int64_t kernel_us,
				 int64_t *ret_error_ns)
{
	int64_t rel_ns = (kernel_us - f->kernel_ref_us) * NS_PER_US;

	if (ret_error_ns)
		*ret_error_ns = error_at(f, kernel_us);
	return f->host_ref_ns + rel_ns + (int64_t)((double)rel_ns * f->skew_ppm * 1e-6);
}

int64_t console_clock_to_kernel_us(const struct console_clock_fit *f, int64_t host_ns,
				   int64_t *ret_error_ns)
{
	int64_t rel_ns = host_ns - f->host_ref_ns;
	int64_t kernel_ns = (int64_t)((double)rel_ns / (1.0 + f->skew_ppm * 1e-6));
	int64_t kernel_us = f->kernel_ref_us + kernel_ns / NS_PER_US;

	if (ret_error_ns)
		*ret_error_ns = error_at(f, kernel_us);
	return kernel_us;
}
