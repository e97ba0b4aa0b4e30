/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yaml.h - YAML files through a libcyaml schema, with complaints that name
 * "file:line:column: key: 'value': why".
 *
 * A key path is written "boot.cpus" or "sticks[0].switch.port"; "" is the whole document.
 */
#pragma once

#include "base/err.h"

#include <cyaml/cyaml.h>

#include <stdbool.h>

#define YAML_FILE_MAX (64u << 10) /* bytes; larger files are refused */

/*
 * An optional bool: true or false and nothing else. (libcyaml's own takes any word that is not one
 * of its words for false as true.)
 */
extern const cyaml_strval_t yaml_bool_words[2];
#define YAML_FIELD_BOOL_OPTIONAL(key, type, member)                                  \
	CYAML_FIELD_ENUM(key, CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT, type, member, \
			 yaml_bool_words, ARRAY_SIZE(yaml_bool_words))

/* Where everything stands in a loaded file. */
struct yaml_doc;

/*
 * Loads a file. On success *ret_data is the loaded structure (free with yaml_data_free() and the
 * same schema) and *ret_doc the positions for checks of the caller's own (yaml_doc_free()).
 * ERR_CONFIG: unreadable, too large, no YAML, empty, more than one document, aliases, unknown,
 * missing and repeated keys, wrong types.
 */
int yaml_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
	      struct yaml_doc **ret_doc, struct err *e) must_check;
/* Accepts NULL. */
void yaml_data_free(const cyaml_schema_value_t *schema, void *data);

/* Accepts NULL. */
void yaml_doc_free(struct yaml_doc *doc);
DEFINE_AUTO(yaml_doc, struct yaml_doc *, yaml_doc_free)
#define auto_yaml_doc AUTO(yaml_doc)

/* Where the value of a key starts, counted from 1. False if the file does not have the key. */
bool yaml_position(const struct yaml_doc *doc, const char *key, unsigned *ret_line,
		   unsigned *ret_column);

/*
 * Fills e with ERR_CONFIG and "file:line:column: key: 'value': why"; the value only if it is a
 * scalar. Without such a key: the position of the nearest mapping around it. Returns -EINVAL.
 */
int yaml_complain(const struct yaml_doc *doc, const char *key, struct err *e, const char *fmt, ...)
	printf_like(4, 5);
