/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waivers.c - reads a file of waived incidents. */
#include "trial/waivers.h"

#include "rig/yaml.h"

#include <string.h>

#define TEXT_MAX 200

struct row {
	char *cls;
	char *match;
	char *release; /* NULL: any */
	char *reason;
};

struct file {
	struct row *rows;
	unsigned rows_count;
};

struct waivers {
	struct file *file;
	struct console_waiver *list;
};

static const cyaml_schema_field_t row_fields[] = {
	CYAML_FIELD_STRING_PTR("class", CYAML_FLAG_POINTER, struct row, cls, 1, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("match", CYAML_FLAG_POINTER, struct row, match, 1, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("release", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct row,
			       release, 1, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("reason", CYAML_FLAG_POINTER, struct row, reason, 1, TEXT_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t row_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct row, row_fields)};

static const cyaml_schema_field_t file_fields[] = {
	CYAML_FIELD_SEQUENCE("waivers", CYAML_FLAG_POINTER, struct file, rows, &row_schema, 0,
			     WAIVERS_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t file_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file, file_fields)};

static int fill(const struct row *row, unsigned i, const struct yaml_doc *doc,
		struct console_waiver *ret, struct err *e)
{
	auto_free char *key = xasprintf("waivers[%u].class", i);

	if (!console_class_parse(row->cls, &ret->cls))
		return yaml_complain(doc, key, e, "no class of incidents");
	if (console_class_severity(ret->cls) < CONSOLE_STALL)
		return yaml_complain(doc, key, e,
				     "condemns no kernel, so there is nothing to waive");
	ret->pattern = row->match;
	ret->release = row->release;
	ret->reason = row->reason;
	return 0;
}

int waivers_load(const char *path, struct waivers **ret, struct err *e)
{
	auto_waivers struct waivers *w = xcalloc(1, sizeof(*w));
	auto_yaml_doc struct yaml_doc *doc = NULL;
	void *data = NULL;
	int r;

	r = yaml_load(path, &file_schema, &data, &doc, e);
	if (r < 0)
		return r;
	w->file = data;
	w->list = xcalloc(w->file->rows_count + 1, sizeof(*w->list));
	for (unsigned i = 0; i < w->file->rows_count; i++) {
		r = fill(&w->file->rows[i], i, doc, &w->list[i], e);
		if (r < 0)
			return r;
	}
	*ret = take(w);
	return 0;
}

void waivers_free(struct waivers *w)
{
	if (!w)
		return;
	util_free(w->list);
	yaml_data_free(&file_schema, w->file);
	util_free(w);
}

const struct console_waiver *waivers_list(const struct waivers *w, size_t *ret_n)
{
	*ret_n = w->file->rows_count;
	return w->list;
}
