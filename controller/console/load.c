/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - the serial line as a queue. */
#include "console/load.h"

#include <string.h>

#define NS_PER_S ((int64_t)1000000000)

/* One burst of more than this (an hour at 9600 baud) is a mistake of the caller's. */
#define BYTES_MAX ((uint64_t)1 << 32)

void console_load_init(struct console_load *l, int64_t baud)
{
	memset(l, 0, sizeof(*l));
	l->baud = baud > 0 ? baud : 0;
	l->bits_per_char = CONSOLE_LOAD_BITS_PER_CHAR;
}

static struct console_load_span *last(struct console_load *l)
{
	return &l->spans[(l->first + l->n - 1) % CONSOLE_LOAD_SPANS];
}

void console_load_add(struct console_load *l, int64_t t_ns, uint64_t n_bytes)
{
	__int128 units;
	int64_t took;

	if (l->baud == 0 || n_bytes == 0)
		return;
	if (n_bytes > BYTES_MAX)
		n_bytes = BYTES_MAX;
	units = (__int128)n_bytes * l->bits_per_char * NS_PER_S + l->bits_left;
	took = (int64_t)(units / l->baud);
	l->bits_left = (int64_t)(units % l->baud);
	if (l->n > 0 && t_ns <= last(l)->to_ns) {
		last(l)->to_ns += took;
		return;
	}
	if (l->n == CONSOLE_LOAD_SPANS) {
		l->first = (l->first + 1) % CONSOLE_LOAD_SPANS;
		l->n--;
		l->has_lost = true;
	}
	l->n++;
	*last(l) = (struct console_load_span){t_ns, t_ns + took};
}

static void measure(const struct console_load *l, int64_t from_ns, int64_t to_ns, int64_t *ret_sum,
		    int64_t *ret_longest)
{
	*ret_sum = 0;
	*ret_longest = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct console_load_span *s = &l->spans[(l->first + i) % CONSOLE_LOAD_SPANS];
		int64_t a = s->from_ns > from_ns ? s->from_ns : from_ns;
		int64_t b = s->to_ns < to_ns ? s->to_ns : to_ns;

		if (b <= a)
			continue;
		*ret_sum += b - a;
		if (b - a > *ret_longest)
			*ret_longest = b - a;
	}
}

int64_t console_load_busy_ns(const struct console_load *l, int64_t from_ns, int64_t to_ns)
{
	int64_t sum;
	int64_t longest;

	measure(l, from_ns, to_ns, &sum, &longest);
	return sum;
}

int64_t console_load_longest_ns(const struct console_load *l, int64_t from_ns, int64_t to_ns)
{
	int64_t sum;
	int64_t longest;

	measure(l, from_ns, to_ns, &sum, &longest);
	return longest;
}

double console_load_pct(const struct console_load *l, int64_t from_ns, int64_t to_ns)
{
	if (to_ns <= from_ns)
		return 0;
	return 100.0 * (double)console_load_busy_ns(l, from_ns, to_ns) / (double)(to_ns - from_ns);
}

bool console_load_explains(const struct console_load *l, int64_t due_ns, int64_t delay_ns)
{
	if (delay_ns <= 0)
		return false;
	return console_load_longest_ns(l, due_ns, due_ns + delay_ns) >= (delay_ns + 1) / 2;
}
