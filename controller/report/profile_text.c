/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_text.c - the most frequent functions of a trial's profile. */
#include "report/profile_text.h"

#include "report/text.h"

#include <inttypes.h>
#include <string.h>

#define ROWS_MAX   12    /* functions of a window */
#define CONFIDENCE 0.975 /* on both sides: 95 % */

struct share {
	double pct, low_pct, high_pct;
};

/* As if samples were independent of each other, which those of one long stall are not. */
static struct share share_of(uint64_t n, uint64_t all)
{
	unsigned k = (unsigned)n;
	unsigned m = (unsigned)all;

	return (struct share){100.0 * (double)n / (double)all,
			      100.0 * stats_binomial_low(k, m, CONFIDENCE),
			      100.0 * stats_binomial_high(k, m, CONFIDENCE)};
}

static void add_losses(struct strbuf *out, const struct profile_head *h)
{
	if (h->lost + h->dropped)
		strbuf_addf(out, "; %" PRIu64 " more were lost", h->lost + h->dropped);
	if (h->throttled)
		strbuf_addf(out, "; the kernel held the event back %" PRIu64 " times",
			    h->throttled);
}

static void add_window(struct strbuf *out, const struct profile *p, const struct profile_window *w)
{
	auto_free struct profile_row *rows = NULL;
	uint64_t all = profile_samples(p, w);
	size_t n = profile_top(p, w, &rows);

	strbuf_adds(out, "  ");
	text_add_visible(out, w->name, strlen(w->name), 0);
	strbuf_addf(out, ": %" PRIu64 " samples in %.1f s\n", all,
		    (double)(w->to_us - w->from_us) / 1e6);
	for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
		struct share s = share_of(rows[i].samples, all);

		strbuf_addf(out, "  %8" PRIu64 " %6.2f %% (%.2f to %.2f)  ", rows[i].samples, s.pct,
			    s.low_pct, s.high_pct);
		text_add_visible(out, rows[i].function, strlen(rows[i].function), 0);
		if (*rows[i].module) {
			strbuf_adds(out, " [");
			text_add_visible(out, rows[i].module, strlen(rows[i].module), 0);
			strbuf_adds(out, "]");
		}
		strbuf_adds(out, "\n");
	}
	if (n > ROWS_MAX)
		strbuf_addf(out, "  … %zu functions more\n", n - ROWS_MAX);
}

void profile_text_add(struct strbuf *out, const struct run *r, const struct trial *t)
{
	auto_profile struct profile *p = NULL;
	const struct profile_window *windows;
	struct err e = {0};
	size_t n;

	if (profile_of_trial(r, t, &p, &e) < 0) {
		strbuf_adds(out, "  cannot be shown: ");
		text_add_visible(out, e.text, strlen(e.text), 0);
		strbuf_adds(out, "\n");
		return;
	}
	if (!p)
		return;
	strbuf_addf(out, "  %u CPUs at %u Hz by ", profile_head(p)->cpus, profile_head(p)->hz);
	text_add_visible(out, profile_head(p)->event, strlen(profile_head(p)->event), 0);
	add_losses(out, profile_head(p));
	strbuf_adds(out, "; shares with 95 % intervals\n");
	n = profile_windows(p, &windows);
	for (size_t i = 0; i < n; i++)
		add_window(out, p, &windows[i]);
}

/* ---- HTML ---- */

static void add_window_html(struct strbuf *out, const struct profile *p,
			    const struct profile_window *w)
{
	auto_free struct profile_row *rows = NULL;
	uint64_t all = profile_samples(p, w);
	size_t n = profile_top(p, w, &rows);

	strbuf_adds(out, "<details><summary>Profile of <code>");
	text_add_html(out, w->name);
	strbuf_addf(out,
		    "</code>, %" PRIu64 " samples</summary><table><thead><tr><th class=num>samples"
		    "<th class=num>share<th class=num>95 %% interval<th>function</thead><tbody>\n",
		    all);
	for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
		struct share s = share_of(rows[i].samples, all);

		strbuf_addf(out,
			    "<tr><td class=num>%" PRIu64 "<td class=num>%.2f %%<td class=num>"
			    "%.2f to %.2f %%<td><code>",
			    rows[i].samples, s.pct, s.low_pct, s.high_pct);
		text_add_html(out, rows[i].function);
		if (*rows[i].module) {
			strbuf_adds(out, " [");
			text_add_html(out, rows[i].module);
			strbuf_adds(out, "]");
		}
		strbuf_adds(out, "</code>\n");
	}
	strbuf_adds(out, "</tbody></table>\n");
	flame_svg(out, p, w);
	strbuf_adds(out, "</details>\n");
}

void profile_text_add_html(struct strbuf *out, const struct run *r, const struct trial *t)
{
	auto_profile struct profile *p = NULL;
	const struct profile_window *windows;
	struct err e = {0};
	size_t n;

	if (profile_of_trial(r, t, &p, &e) < 0) {
		strbuf_adds(out, "<p>The profile cannot be shown: ");
		text_add_html(out, e.text);
		strbuf_adds(out, "</p>\n");
		return;
	}
	n = p ? profile_windows(p, &windows) : 0;
	for (size_t i = 0; i < n; i++)
		add_window_html(out, p, &windows[i]);
}
