/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiver.c - which incidents are waived. */
#include "console/waiver.h"

bool console_waiver_glob(const char *pattern, const char *text)
{
	const char *star = NULL;
	const char *retry = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

const struct console_waiver *console_waiver_find(const struct console_waiver *list, size_t n,
						 const struct console_incident *in,
						 const char *release)
{
	for (size_t i = 0; i < n; i++) {
		const struct console_waiver *w = &list[i];

		if (w->cls != in->cls)
			continue;
		if (w->release && (!release || !console_waiver_glob(w->release, release)))
			continue;
		if (console_waiver_glob(w->pattern, in->title) ||
		    console_waiver_glob(w->pattern, in->text))
			return w;
	}
	return NULL;
}
