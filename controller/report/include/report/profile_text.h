/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_text.h - a trial's profile for people: the most frequent functions, flame graphs. Names
   of functions are hostile input. */
#pragma once

#include "base/strbuf.h"
#include "trial/profile.h"

/*
 * A flame graph as an SVG document of its own: a box for each function of a call chain, as wide as
 * its share of the window's samples, callers below. No script and no outside resource; a pointer
 * that rests on a box shows name, samples and share. Boxes below 1/1000 are left out, and so is
 * what lies beyond FLAME_BOXES_MAX boxes.
 */
void flame_svg(struct strbuf *out, const struct profile *p, const struct profile_window *w);
#define FLAME_BOXES_MAX 5000

/* For `stallrig show`: of each window the samples and its first functions; nothing without a
   profile. A profile that cannot be read is said so in its place. */
void profile_text_add(struct strbuf *out, const struct run *r, const struct trial *t);
/* The same as part of an HTML page, with the flame graphs. */
void profile_text_add_html(struct strbuf *out, const struct run *r, const struct trial *t);
