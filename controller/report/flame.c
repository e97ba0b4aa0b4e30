/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flame.c - flame graphs: call chains, merged from the outermost function inwards, as boxes. */
#include "report/profile_text.h"
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

#define WIDTH_PX   1200.0
#define ROW_PX     17
#define HEAD_PX    30
#define CHAR_PX    6.6  /* of the 11 px monospace font, rounded up */
#define SHARE_LEFT 1000 /* a box with less than one in so many samples is left out */

/* A box that is still growing: one for each level, since chains come sorted. */
struct box {
	const char *function;
	uint64_t from, samples;
};

struct flame {
	struct strbuf *out;
	uint64_t all;
	uint64_t at; /* samples to the left */
	struct box open[PROFILE_DEPTH_MAX + 1];
	size_t depth;
	size_t max_depth;
	size_t boxes, left_out;
	bool is_measuring; /* the first of two passes: how high it gets */
};

static double x_of(const struct flame *f, uint64_t samples)
{
	return (double)samples * WIDTH_PX / (double)f->all;
}

/* A colour of the warm ones, the same for the same name; user space and the unknown are grey. */
static void add_colour(struct strbuf *out, const char *function)
{
	uint32_t h = 2166136261u;

	for (const char *p = function; *p && *p != '.'; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	if (*function == '[')
		strbuf_adds(out, "#c3c7cc");
	else
		strbuf_addf(out, "#%02x%02x%02x", 205 + h % 50, 110 + (h >> 8) % 110,
			    45 + (h >> 16) % 55);
}

/* The name as far as it fits into the box. */
static void add_label(struct strbuf *out, const char *function, double width_px)
{
	size_t room = (size_t)((width_px - 4) / CHAR_PX);
	size_t n = strlen(function);
	auto_free char *part = NULL;

	if (width_px < 4 || room < 3)
		return;
	part = xasprintf("%.*s", (int)(n <= room ? n : room - 1), function);
	text_add_html(out, part);
	if (n > room)
		strbuf_adds(out, "…");
}

static void close_box(struct flame *f)
{
	const struct box *b = &f->open[--f->depth];
	double x = x_of(f, b->from);
	double width = x_of(f, b->samples);
	size_t y = HEAD_PX + (f->max_depth - 1 - f->depth) * ROW_PX;

	if (b->samples * SHARE_LEFT < f->all || f->boxes == FLAME_BOXES_MAX) {
		f->left_out++;
		return;
	}
	if (f->is_measuring) {
		if (f->depth + 1 > f->max_depth)
			f->max_depth = f->depth + 1;
		return;
	}
	f->boxes++;
	strbuf_adds(f->out, "<g><title>");
	text_add_html(f->out, b->function);
	strbuf_addf(f->out, ": %" PRIu64 " samples, %.2f %%</title>", b->samples,
		    100.0 * (double)b->samples / (double)f->all);
	strbuf_addf(f->out, "<rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
		    width, ROW_PX - 1);
	add_colour(f->out, b->function);
	strbuf_addf(f->out, "\"/><text x=\"%.2f\" y=\"%zu\">", x + 3, y + 12);
	add_label(f->out, b->function, width);
	strbuf_adds(f->out, "</text></g>\n");
}

static void take_chain(void *self, const char *const *functions, size_t depth, uint64_t samples)
{
	struct flame *f = self;
	size_t same = 0;

	while (same < depth && same < f->depth &&
	       strcmp(f->open[same].function, functions[same]) == 0)
		same++;
	while (f->depth > same)
		close_box(f);
	while (f->depth < depth) {
		f->open[f->depth] = (struct box){functions[f->depth], f->at, 0};
		f->depth++;
	}
	for (size_t i = 0; i < f->depth; i++)
		f->open[i].samples += samples;
	f->at += samples;
}

/* Chains are walked twice; their functions are the profile's and stay. */
static void walk(struct flame *f, const struct profile *p, const struct profile_window *w)
{
	f->at = 0;
	profile_chains(p, w, take_chain, f);
	while (f->depth)
		close_box(f);
}

void flame_svg(struct strbuf *out, const struct profile *p, const struct profile_window *w)
{
	struct flame f = {.out = out, .all = profile_samples(p, w), .is_measuring = true};
	const struct profile_head *h = profile_head(p);

	if (f.all)
		walk(&f, p, w);
	f.is_measuring = false;
	f.left_out = 0;
	strbuf_addf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %zu\" "
		    "width=\"100%%\" font-family=\"monospace\" font-size=\"11\" role=\"img\">\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		    "<text x=\"3\" y=\"18\" font-size=\"13\">",
		    WIDTH_PX, HEAD_PX + f.max_depth * ROW_PX + 6);
	text_add_html(out, w->name);
	strbuf_addf(out, ": %" PRIu64 " samples of %u CPUs in %.1f s, %u Hz, ", f.all, h->cpus,
		    (double)(w->to_us - w->from_us) / 1e6, h->hz);
	text_add_html(out, h->event);
	strbuf_adds(out, "</text>\n");
	if (f.all)
		walk(&f, p, w);
	strbuf_addf(out, "<!-- %zu boxes, %zu left out -->\n</svg>\n", f.boxes, f.left_out);
}
