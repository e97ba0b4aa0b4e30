/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assets.c - the assembler puts the files into the program as they are. */
#include "assets.h"

#include "base/fdio.h"

#include <stdint.h>
#include <string.h>

/* clang-format off */
#define EMBED(symbol, file)                                            \
	__asm__(".pushsection .rodata\n"                               \
		".global " #symbol "\n" #symbol ":\n"                  \
		".incbin \"" STALLRIG_ASSETS_DIR "/" file "\"\n"       \
		".global " #symbol "_end\n" #symbol "_end:\n"          \
		".byte 0\n.popsection\n");                             \
	extern const char symbol[], symbol##_end[]
/* clang-format on */

EMBED(asset_app_css, "app.css");
EMBED(asset_app_js, "app.js");
EMBED(asset_uplot_js, "uPlot-1.6.32.iife.min.js");
EMBED(asset_uplot_css, "uPlot-1.6.32.min.css");
EMBED(asset_icon, "icon.svg");
EMBED(asset_openapi, "../../../docs/openapi.json");

static struct asset assets[] = {
	{.name = "app.css", .type = "text/css; charset=utf-8", .bytes = asset_app_css},
	{.name = "app.js", .type = "text/javascript; charset=utf-8", .bytes = asset_app_js},
	{.name = "uplot.js", .type = "text/javascript; charset=utf-8", .bytes = asset_uplot_js},
	{.name = "uplot.css", .type = "text/css; charset=utf-8", .bytes = asset_uplot_css},
	{.name = "icon.svg", .type = "image/svg+xml", .bytes = asset_icon},
	{.name = "openapi.json", .type = "application/json", .bytes = asset_openapi},
};

static const char *const ends[] = {
	asset_app_css_end,   asset_app_js_end, asset_uplot_js_end,
	asset_uplot_css_end, asset_icon_end,   asset_openapi_end,
};

static unsigned hex_value(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Base64 of the 32 bytes that the hex digits stand for. */
static void base64_of_hex(const char *hex, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *p = ret;

	for (size_t i = 0; i < 64; i += 6) {
		uint32_t v = 0;

		for (size_t k = 0; k < 6; k++)
			v = v << 4 | (i + k < 64 ? hex_value(hex[i + k]) : 0);
		for (int k = 3; k >= 0; k--)
			*p++ = digits[v >> (6 * k) & 63];
	}
	/* 32 bytes leave two in the last group */
	p[-1] = '=';
	*p = '\0';
}

static void prepare(void)
{
	static bool is_done;

	if (is_done)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++) {
		struct asset *a = &assets[i];
		char hex[SHA256_HEX_SIZE];
		const char *dot = strchr(a->name, '.');

		a->n = (size_t)(ends[i] - a->bytes);
		sha256_bytes(a->bytes, a->n, hex);
		(void)snprintf(a->url_name, sizeof(a->url_name), "%.*s.%.12s%s",
			       (int)(dot - a->name), a->name, hex, dot);
		(void)snprintf(a->integrity, sizeof(a->integrity), "sha256-");
		base64_of_hex(hex, a->integrity + strlen(a->integrity));
	}
	is_done = true;
}

const struct asset *assets_all(size_t *ret_n)
{
	prepare();
	*ret_n = ARRAY_SIZE(assets);
	return assets;
}

const struct asset *asset(const char *name)
{
	prepare();
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++)
		if (strcmp(assets[i].name, name) == 0)
			return &assets[i];
	abort();
}

const struct asset *asset_by_url(const char *url_name)
{
	prepare();
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++)
		if (strcmp(assets[i].url_name, url_name) == 0)
			return &assets[i];
	return NULL;
}
