/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err.c - errors with a kind and a complete sentence. */
#include "base/err.h"

#include <stdarg.h>
#include <string.h>

static const char *const kind_names[ERR_KIND_MAX] = {
	[ERR_NONE] = "none",   [ERR_USAGE] = "usage",       [ERR_CONFIG] = "config",
	[ERR_RIG] = "rig",     [ERR_TARGET] = "target",     [ERR_KERNEL] = "kernel",
	[ERR_STORE] = "store", [ERR_INTERNAL] = "internal", [ERR_STOPPED] = "stopped",
};

const char *err_kind_name(enum err_kind kind)
{
	if ((unsigned)kind >= ERR_KIND_MAX)
		return "unknown";
	return kind_names[kind];
}

static printf_like(2, 0) void format_into(char *text, const char *fmt, va_list ap)
{
	(void)vsnprintf(text, ERR_TEXT_MAX, fmt, ap);
}

int err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -code;

	e->kind = kind;
	e->code = code;
	e->reason = NULL;
	va_start(ap, fmt);
	format_into(e->text, fmt, ap);
	va_end(ap);
	return -code;
}

int err_errno(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!e)
		return -code;

	e->kind = kind;
	e->code = code;
	e->reason = NULL;
	va_start(ap, fmt);
	format_into(e->text, fmt, ap);
	va_end(ap);
	len = strlen(e->text);
	(void)snprintf(e->text + len, sizeof(e->text) - len, ": %s", strerrordesc_np(code));
	return -code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char outer[ERR_TEXT_MAX];
	char inner[ERR_TEXT_MAX];
	va_list ap;
	size_t len;

	if (!e)
		return -EIO;

	va_start(ap, fmt);
	format_into(outer, fmt, ap);
	va_end(ap);
	memcpy(inner, e->text, sizeof(inner));
	len = strlen(outer);
	memcpy(e->text, outer, len + 1);
	(void)snprintf(e->text + len, sizeof(e->text) - len, ": %s", inner);
	return -e->code;
}

int err_reason(struct err *e, const char *reason)
{
	if (!e)
		return -EIO;
	e->reason = reason;
	return -e->code;
}

int err_rekind(struct err *e, enum err_kind kind)
{
	if (!e)
		return -EIO;
	e->kind = kind;
	return -e->code;
}

void err_clear(struct err *e)
{
	if (!e)
		return;
	e->kind = ERR_NONE;
	e->code = 0;
	e->reason = NULL;
	e->text[0] = '\0';
}
