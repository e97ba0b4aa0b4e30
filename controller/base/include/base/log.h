/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - debug messages by category. Results never go through here. Rooms below cli/ only use
 * log_debug(); a sink (cli/) decides where it goes. STALLRIG_DEBUG=qmp,link or =all turns them on.
 */
#pragma once

#include "base/util.h"

#include <stdbool.h>

enum log_category {
	LOG_RIG,
	LOG_QMP,
	LOG_LINK,
	LOG_CONSOLE,
	LOG_KERNELS,
	LOG_TRIAL,
	LOG_STORE,
	LOG_CATEGORY_MAX
};

typedef void (*log_sink_fn)(void *self, enum log_category cat, const char *text);

void log_set_sink(log_sink_fn sink, void *self);
/* "qmp,link", "all" or NULL (nothing). Returns false at the first unknown name. */
bool log_enable(const char *categories);
const char *log_category_name(enum log_category cat);
void log_debug(enum log_category cat, const char *fmt, ...) printf_like(2, 3);
