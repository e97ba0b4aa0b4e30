/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export.c - the list of formats. */
#include "report/export.h"

#include <string.h>

const struct export_format export_formats[] = {
	{"csv", "a record a trial, for spreadsheets", export_csv},
	{"junit", "JUnit XML, for CI servers", export_junit},
	{"kcidb", "KCIDB 5.3 JSON, for the kernel community's results database", export_kcidb},
	{"ktap", "KTAP, the kernel's own test format", export_ktap},
	{"lava", "LAVA test signals", export_lava},
	{"openmetrics", "gauges for Prometheus", export_openmetrics},
	{NULL, NULL, NULL},
};

const char *const export_names[] = {"csv", "junit", "kcidb", "ktap", "lava", "openmetrics", NULL};

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}
