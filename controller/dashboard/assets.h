/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assets.h - files of the page that are part of the program. */
#pragma once

#include <stddef.h>

struct asset {
	const char *name; /* "app.js" */
	const char *type;
	const char *bytes;
	size_t n;
	/* The name with the beginning of the content's SHA-256 ("app.1f2e3d4c5b6a.js"): a page
	   always gets the file that it was made with. */
	char url_name[64];
	char integrity[64]; /* "sha256-<base64>" as in <script integrity> */
};

/* All of them; *ret_n says how many. Never NULL. */
const struct asset *assets_all(size_t *ret_n);
/* By its plain name: a name that is none is a bug. */
const struct asset *asset(const char *name);
/* By its url_name; NULL if there is none. */
const struct asset *asset_by_url(const char *url_name);
