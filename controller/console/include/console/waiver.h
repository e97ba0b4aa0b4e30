/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiver.h - known incidents that somebody decided to live with, each with a reason. Pure. */
#pragma once

#include "console/incidents.h"

struct console_waiver {
	enum console_class cls;
	/* matched against the whole title, else against the whole first message: '*' is any text,
	   '?' one byte, everything else itself */
	const char *pattern;
	const char *release; /* same language, against the boot's release; NULL = any */
	const char *reason;
};

/* '*' and '?' as above. Time is in the order of the product of the lengths. */
bool console_waiver_glob(const char *pattern, const char *text);

/* The first waiver that covers the incident, or NULL. release may be NULL (not known). */
const struct console_waiver *console_waiver_find(const struct console_waiver *list, size_t n,
						 const struct console_incident *in,
						 const char *release);
