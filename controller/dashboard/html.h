/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.h - the frame of a page, links that work on a server and in files, and small pieces. */
#pragma once

#include "report/text.h"
#include "request.h"
#include "trial/trial.h"

enum page_nav {
	NAV_NONE,
	NAV_FRONT,
	NAV_TRENDS,
	NAV_COMPARE,
	NAV_BISECTS,
	NAV_RIGS,
	NAV_KERNELS,
	NAV_INCIDENTS,
	NAV_JOBS,
};

/* Up to <main>; scripts: the page has charts or a live view. */
void page_begin(struct strbuf *out, const struct request *rq, enum page_nav nav, const char *title,
		bool has_charts);
void page_end(struct strbuf *out, const struct request *rq);
/* The value of an argument in a URL. */
void html_query(struct strbuf *out, const char *s);
/* JSON in the page, for its script. */
void html_data(struct strbuf *out, const char *json);

/*
 * The URL of a page below the root, as in page_url(out, rq, "runs/", id, NULL): the words up to
 * NULL, each percent-encoded but its '/'. Relative to rq's own page, so that it works behind any
 * prefix of a proxy and in files.
 */
void page_url(struct strbuf *out, const struct request *rq, ...) __attribute__((sentinel));
/* The same for an answer of the API, below "api/v1/". */
void page_api_url(struct strbuf *out, const struct request *rq, ...) __attribute__((sentinel));
/* For what has no other name in files: "../" up to the root. */
void page_root(struct strbuf *out, const struct request *rq);

/* text_add_html(), nothing for NULL. */
void html_text(struct strbuf *out, const char *s);
/* "812 ms", "4.9 ms", above 10 s "12.3 s". */
void html_ms(struct strbuf *out, int64_t us);
/* Where a delay lies between 0.1 ms and 10 s on a logarithmic axis, in per cent. */
double html_log_pct(int64_t us);
/* <time> of a wall time, "2026-11-30 11:17". */
void html_time(struct strbuf *out, int64_t wall_ns);
/* <dt> and <dd> of a list of facts; nothing if value is NULL or empty. */
void html_fact(struct strbuf *out, const char *name, const char *value);
/* The verdict as sign and word in its colour; NULL-verdict text for a run that goes on. */
void html_verdict(struct strbuf *out, enum verdict v);
/* "pass", "fail", …: the verdict as name of a CSS class. */
const char *html_verdict_class(enum verdict v);
/* "✓" etc: what tells verdicts apart without colour. */
const char *html_verdict_sign(enum verdict v);
/* False for a page that is not among the files of the site. Those of trials come with their run. */
bool page_is_there(const struct request *rq, const char *folder, const char *name);
/* A link to a page: <a href=…>text</a>; only the text if there is no such page. */
void html_link(struct strbuf *out, const struct request *rq, const char *folder, const char *name,
	       const char *text);
