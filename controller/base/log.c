/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.c - debug messages by category. */
#include "base/log.h"

#include <stdarg.h>
#include <string.h>

static const char *const names[LOG_CATEGORY_MAX] = {
	[LOG_RIG] = "rig",         [LOG_QMP] = "qmp",         [LOG_LINK] = "link",
	[LOG_CONSOLE] = "console", [LOG_KERNELS] = "kernels", [LOG_TRIAL] = "trial",
	[LOG_STORE] = "store",
};

static bool is_enabled[LOG_CATEGORY_MAX];
static log_sink_fn the_sink;
static void *the_self;

void log_set_sink(log_sink_fn sink, void *self)
{
	the_sink = sink;
	the_self = self;
}

const char *log_category_name(enum log_category cat)
{
	return (unsigned)cat < LOG_CATEGORY_MAX ? names[cat] : "unknown";
}

bool log_enable(const char *categories)
{
	const char *p = categories ? categories : "";

	while (*p) {
		size_t n = strcspn(p, ",");
		bool is_all = n == 3 && memcmp(p, "all", 3) == 0;
		bool is_known = is_all;

		for (int i = 0; i < LOG_CATEGORY_MAX; i++) {
			if (is_all || (strlen(names[i]) == n && memcmp(p, names[i], n) == 0)) {
				is_enabled[i] = true;
				is_known = true;
			}
		}
		if (!is_known)
			return false;
		p += n;
		p += *p == ',';
	}
	return true;
}

void log_debug(enum log_category cat, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!the_sink || (unsigned)cat >= LOG_CATEGORY_MAX || !is_enabled[cat])
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	the_sink(the_self, cat, text);
}
