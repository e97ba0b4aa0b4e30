/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_put.h - building JSON objects: what is unknown is left out, text becomes UTF-8, and a
 * failure can only be lack of memory.
 */
#pragma once

#include "base/waiter.h"
#include "report/text.h"

#include <jansson.h>

#include <math.h>
#include <string.h>

static inline void set(json_t *obj, const char *key, json_t *value)
{
	if (json_object_set_new_nocheck(obj, key, value) < 0)
		abort(); /* out of memory, as xcalloc() */
}

static inline void append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		abort();
}

static inline json_t *text_value(const char *s, size_t n)
{
	auto_strbuf struct strbuf clean = STRBUF_INIT;

	text_add_utf8(&clean, s, n);
	return json_stringn_nocheck(strbuf_str(&clean), clean.len);
}

/* Absent if empty. */
static inline void set_text_n(json_t *obj, const char *key, const char *s, size_t n)
{
	if (n)
		set(obj, key, text_value(s, n));
}

/* Absent if NULL or empty. */
static inline void set_text(json_t *obj, const char *key, const char *s)
{
	if (s)
		set_text_n(obj, key, s, strlen(s));
}

static inline void set_count(json_t *obj, const char *key, uint64_t n)
{
	set(obj, key, json_integer((json_int_t)n));
}

/* Absent if it is not a number. */
static inline void set_real(json_t *obj, const char *key, double v)
{
	if (isfinite(v))
		set(obj, key, json_real(v));
}

/* Adds value as text and a line end; takes value over. flags: of json_dumps(). */
static inline void add_json_line(struct strbuf *out, json_t *value, size_t flags)
{
	auto_free char *text = json_dumps(value, flags);

	if (!text)
		abort();
	strbuf_addf(out, "%s\n", text);
	json_decref(value);
}

/* Absent if 0. */
static inline void set_wall(json_t *obj, const char *key, int64_t wall_ns)
{
	auto_free char *text = wall_ns ? wall_format(wall_ns) : NULL;

	set_text(obj, key, text);
}
