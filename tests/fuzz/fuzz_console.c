/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_console.c - console bytes to events: no crash, nothing outside of the limits, and the same
 * events however the bytes are cut, and as a parser has that looks closely at every line, byte by
 * byte. The first two bytes of an input choose the cuts.
 *
 * Built twice: with libFuzzer (clang, STALLRIG_FUZZ), and as a plain program with fuzz_main.c that
 * runs a corpus and seeded changes of it.
 */
#include "../../controller/console/state.h"
#include "console/clock.h"
#include "console/console.h"
#include "console/incidents.h"
#include "console/wqdump.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct seen {
	uint64_t hash;
	uint64_t last_offset;
	uint64_t size;
	struct console_parser *parser;
	struct console_incidents incidents;
	struct console_clock clock;
};

#define CHECK(cond)                                                                \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)

static void mix(struct seen *s, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n; i++)
		s->hash = (s->hash ^ b[i]) * 0x100000001b3u;
}

static void on_event(void *self, const struct console_event *ev)
{
	struct seen *s = self;

	CHECK(ev->cls < CONSOLE_CLASS_MAX);
	CHECK(ev->offset < ev->end && ev->end <= s->size);
	CHECK(ev->offset >= s->last_offset);
	CHECK(ev->text_len <= CONSOLE_LINE_MAX);
	CHECK(strlen(ev->title) <= CONSOLE_LINE_MAX);
	s->last_offset = ev->offset;
	mix(s, &ev->cls, sizeof(ev->cls));
	mix(s, &ev->offset, sizeof(ev->offset));
	mix(s, &ev->end, sizeof(ev->end));
	mix(s, &ev->t_kernel_us, sizeof(ev->t_kernel_us));
	mix(s, &ev->boot, sizeof(ev->boot));
	mix(s, ev->text, ev->text_len);
	mix(s, ev->title, strlen(ev->title));
	mix(s, &ev->is_suspect, 1);
	mix(s, &ev->is_detail, 1);
	if (ev->cls == CONSOLE_DELAY)
		mix(s, &ev->u.delay.ms, sizeof(ev->u.delay.ms));
	console_incidents_add(&s->incidents, ev);
}

static void on_dump(void *self, const struct wqdump *d, unsigned boot)
{
	struct seen *s = self;

	CHECK(d->n_pwqs <= WQDUMP_PWQS_MAX && d->n_works <= WQDUMP_WORKS_MAX);
	CHECK(d->n_pools <= WQDUMP_POOLS_MAX && d->n_traces <= WQDUMP_TRACES_MAX);
	for (size_t i = 0; i < d->n_works; i++)
		CHECK(d->works[i].pwq < d->n_pwqs);
	mix(s, &boot, sizeof(boot));
	mix(s, &d->n_works, sizeof(d->n_works));
}

/* piece 0: all at once. */
static void run(struct seen *s, const uint8_t *bytes, size_t n, size_t piece, bool is_plain,
		struct console_integrity *ret)
{
	struct console_parser *p = s->parser;
	struct console_clock_fit fit;

	/* kept for the life of the process: making one costs more than most inputs */
	if (!p) {
		p = s->parser = console_parser_new(on_event, s);
		console_parser_on_dump(p, on_dump, s);
		console_parser_use_clock(p, &s->clock);
	}
	console_parser_reset(p);
	/*
	 * Not those of own lines: a byte written into a bare "DELAY:" leaves forms that can be seen
	 * for what they are but have no anchor.
	 */
	p->groups_always = is_plain ? GROUP_ALL & ~(unsigned)GROUP_OWN : 0;
	s->hash = 0xcbf29ce484222325u;
	s->last_offset = 0;
	s->size = n;
	console_incidents_init(&s->incidents);
	console_clock_init(&s->clock, 0);
	if (piece == 0)
		piece = n ? n : 1;
	for (size_t at = 0; at < n; at += piece)
		console_parser_feed(p, bytes + at, n - at < piece ? n - at : piece, 1000);
	console_parser_finish(p);
	(void)console_clock_fit(&s->clock, &fit);
	*ret = *console_parser_integrity(p);
	CHECK(ret->bytes == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static struct seen whole;
	static struct seen cut;
	static struct seen plain;
	struct console_integrity a;
	struct console_integrity b;
	struct console_integrity c;
	size_t piece;

	if (n < 2)
		return 0;
	piece = 1 + (size_t)(bytes[0] | bytes[1] << 8) % 300;
	bytes += 2;
	n -= 2;
	run(&whole, bytes, n, 0, false, &a);
	run(&cut, bytes, n, piece, false, &b);
	run(&plain, bytes, n, 0, true, &c);
	CHECK(whole.hash == cut.hash);
	CHECK(memcmp(&a, &b, sizeof(a)) == 0);
	CHECK(whole.hash == plain.hash);
	CHECK(memcmp(&a, &c, sizeof(a)) == 0);
	return 0;
}
