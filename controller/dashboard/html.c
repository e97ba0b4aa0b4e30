/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.c - the frame of a page, links, and small pieces. */
#include "html.h"

#include "assets.h"
#include "base/waiter.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void html_text(struct strbuf *out, const char *s)
{
	if (s)
		text_add_html(out, s);
}

void html_ms(struct strbuf *out, int64_t us)
{
	if (us >= 10 * 1000 * 1000)
		strbuf_addf(out, "%.1f\u00a0s", (double)us / 1e6);
	else if (us < 0)
		strbuf_adds(out, TEXT_UNKNOWN);
	else if (us < 9950)
		strbuf_addf(out, "%.1f\u00a0ms", (double)us / 1000.0);
	else
		strbuf_addf(out, "%.0f\u00a0ms", (double)us / 1000.0);
}

double html_log_pct(int64_t us)
{
	double at = (log10((double)(us > 0 ? us : 1)) - 2.0) / 5.0;

	return at < 0 ? 0 : at > 1 ? 100 : at * 100;
}

void html_time(struct strbuf *out, int64_t wall_ns)
{
	auto_free char *iso = NULL;

	if (!wall_ns) {
		strbuf_adds(out, TEXT_UNKNOWN);
		return;
	}
	iso = wall_format(wall_ns);
	strbuf_addf(out, "<time datetime=\"%s\">%.10s %.5s</time>", iso, iso, iso + 11);
}

void html_fact(struct strbuf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(out, "<dt>%s<dd>", name);
	html_text(out, value);
}

const char *html_verdict_class(enum verdict v)
{
	static const char *const names[VERDICT_MAX] = {
		[VERDICT_PASS] = "pass",           [VERDICT_FAIL] = "fail",
		[VERDICT_INCONCLUSIVE] = "unsure", [VERDICT_UNTESTABLE] = "untestable",
		[VERDICT_RIG_FAULT] = "rigfault",
	};

	return v < VERDICT_MAX ? names[v] : "unsure";
}

const char *html_verdict_sign(enum verdict v)
{
	static const char *const signs[VERDICT_MAX] = {
		[VERDICT_PASS] = "✓",       [VERDICT_FAIL] = "✗",      [VERDICT_INCONCLUSIVE] = "?",
		[VERDICT_UNTESTABLE] = "∅", [VERDICT_RIG_FAULT] = "⚠",
	};

	return v < VERDICT_MAX ? signs[v] : "?";
}

void html_verdict(struct strbuf *out, enum verdict v)
{
	strbuf_addf(out, "<span class=\"chip %s\"><span aria-hidden=true>%s</span> %s</span>",
		    html_verdict_class(v), html_verdict_sign(v), verdict_name(v));
}

/* ---- links ---- */

/* plain: what stays as it is beside letters and digits. */
static void add_encoded(struct strbuf *out, const char *s, const char *plain)
{
	for (; *s; s++) {
		if (isalnum((unsigned char)*s) || strchr(plain, *s))
			strbuf_add(out, s, 1);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*s);
	}
}

void html_query(struct strbuf *out, const char *s)
{
	add_encoded(out, s, "-._~");
}

void page_root(struct strbuf *out, const struct request *rq)
{
	for (const char *p = rq->path + 1; (p = strchr(p, '/')) != NULL; p++)
		strbuf_adds(out, "../");
}

static void add_words(struct strbuf *out, va_list ap)
{
	const char *word;

	while ((word = va_arg(ap, const char *)) != NULL)
		add_encoded(out, word, "-._~/+@:,=");
}

void page_url(struct strbuf *out, const struct request *rq, ...)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;
	size_t before = out->len;
	va_list ap;

	va_start(ap, rq);
	add_words(&words, ap);
	va_end(ap);
	page_root(out, rq);
	if (words.len)
		strbuf_addf(out, "%s%s", strbuf_str(&words), rq->is_static ? ".html" : "");
	else if (rq->is_static)
		strbuf_adds(out, "index.html");
	else if (out->len == before)
		strbuf_adds(out, ".");
}

void page_api_url(struct strbuf *out, const struct request *rq, ...)
{
	va_list ap;

	page_root(out, rq);
	strbuf_adds(out, "api/v1/");
	va_start(ap, rq);
	add_words(out, ap);
	va_end(ap);
	if (rq->is_static)
		strbuf_adds(out, ".json");
}

static int by_path(const void *key, const void *path)
{
	return strcmp(key, *(char *const *)path);
}

bool page_is_there(const struct request *rq, const char *folder, const char *name)
{
	bool is_trial = strcmp(folder, "trials/") == 0;
	const char *dot = is_trial ? strrchr(name, '.') : NULL;
	auto_free char *path = xasprintf("%s%.*s", is_trial ? "runs/" : folder,
					 dot ? (int)(dot - name) : (int)strlen(name), name);

	return !rq->pages || !*name ||
	       bsearch(path, rq->pages->paths, rq->pages->n, sizeof(char *), by_path);
}

void html_link(struct strbuf *out, const struct request *rq, const char *folder, const char *name,
	       const char *text)
{
	if (!page_is_there(rq, folder, name)) {
		html_text(out, text);
		return;
	}
	strbuf_adds(out, "<a href=\"");
	page_url(out, rq, folder, name, NULL);
	strbuf_adds(out, "\">");
	html_text(out, text);
	strbuf_adds(out, "</a>");
}

/* ---- the frame ---- */

static const struct {
	enum page_nav nav;
	const char *url;
	const char *name;
} nav_rows[] = {
	{NAV_FRONT, "", "Overview"},
	{NAV_TRENDS, "trends", "Trends"},
	{NAV_COMPARE, "compare", "Compare"},
	{NAV_BISECTS, "bisects", "Bisects"},
	{NAV_RIGS, "rigs", "Rigs"},
	{NAV_KERNELS, "kernels", "Kernels"},
	{NAV_INCIDENTS, "incidents", "Incidents"},
	{NAV_JOBS, "jobs", "Queue"},
};

static void add_asset_url(struct strbuf *out, const struct request *rq, const struct asset *a)
{
	page_root(out, rq);
	strbuf_addf(out, "assets/%s", a->url_name);
}

/* A browser that opens files from a disk takes none with a hash: there it cannot check one. */
static void add_integrity(struct strbuf *out, const struct request *rq, const struct asset *a)
{
	if (!rq->is_static)
		strbuf_addf(out, " integrity=\"%s\"", a->integrity);
}

static void add_style(struct strbuf *out, const struct request *rq, const char *name)
{
	strbuf_adds(out, "<link rel=stylesheet href=\"");
	add_asset_url(out, rq, asset(name));
	strbuf_adds(out, "\"");
	add_integrity(out, rq, asset(name));
	strbuf_adds(out, ">\n");
}

static void add_script(struct strbuf *out, const struct request *rq, const char *name)
{
	strbuf_adds(out, "<script defer src=\"");
	add_asset_url(out, rq, asset(name));
	strbuf_adds(out, "\"");
	add_integrity(out, rq, asset(name));
	strbuf_adds(out, "></script>\n");
}

void page_begin(struct strbuf *out, const struct request *rq, enum page_nav nav, const char *title,
		bool has_charts)
{
	strbuf_adds(out, "<!doctype html>\n<html lang=en data-root=\"");
	page_root(out, rq);
	strbuf_addf(out,
		    "\"%s>\n<head><meta charset=utf-8>"
		    "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
		    "<meta name=color-scheme content=\"light dark\">\n<title>",
		    rq->is_static ? " data-static" : "");
	html_text(out, title);
	strbuf_adds(out, " · stallrig</title>\n<link rel=icon href=\"");
	add_asset_url(out, rq, asset("icon.svg"));
	strbuf_adds(out, "\">\n");
	if (has_charts)
		add_style(out, rq, "uplot.css");
	add_style(out, rq, "app.css");
	if (has_charts)
		add_script(out, rq, "uplot.js");
	add_script(out, rq, "app.js");
	strbuf_adds(out, "</head>\n<body>\n<a class=skip href=\"#main\">Skip to the content</a>\n"
			 "<header class=top><a class=brand href=\"");
	page_url(out, rq, "", NULL);
	strbuf_adds(out, "\">stallrig</a><nav aria-label=Pages><ul>");
	for (size_t i = 0; i < ARRAY_SIZE(nav_rows); i++) {
		strbuf_adds(out, "<li><a href=\"");
		page_url(out, rq, nav_rows[i].url, NULL);
		strbuf_addf(out, "\"%s>%s</a>", nav_rows[i].nav == nav ? " aria-current=page" : "",
			    nav_rows[i].name);
	}
	strbuf_adds(out, "</ul></nav></header>\n<main id=main tabindex=-1>\n");
}

void html_data(struct strbuf *out, const char *json)
{
	strbuf_adds(out, "<script type=\"application/json\" class=data>");
	for (size_t n; *json; json += n + (json[n] == '<')) {
		n = strcspn(json, "<");
		strbuf_add(out, json, n);
		if (json[n])
			strbuf_adds(out, "\\u003c");
	}
	strbuf_adds(out, "</script>\n");
}

void page_end(struct strbuf *out, const struct request *rq)
{
	strbuf_adds(out, "</main>\n<footer>");
	if (rq->is_static) {
		auto_free char *now = wall_format(wall_now());

		strbuf_addf(out, "Written %.10s %.5s UTC. ", now, now + 11);
	} else {
		strbuf_adds(out, "<a href=\"");
		page_root(out, rq);
		strbuf_adds(out, "api/v1/openapi.json\">JSON API</a><span> · </span>");
	}
	strbuf_adds(out,
		    "stallrig " STALLRIG_VERSION ". Times are UTC.</footer>\n</body></html>\n");
}
