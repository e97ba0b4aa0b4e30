/* SPDX-License-Identifier: GPL-2.0-or-later */
/* yaml.c - libcyaml's complaints turned into errors that name the place. */
#include "rig/yaml.h"

#include "base/fdio.h"

#include <stdarg.h>
#include <string.h>
#include <yaml.h>

#define KEY_PATH_MAX 256
#define FRAMES_MAX   16

const cyaml_strval_t yaml_bool_words[2] = {{"false", 0}, {"true", 1}};

struct yaml_doc {
	char *path;
	yaml_document_t *tree; /* owned */
};

void yaml_doc_free(struct yaml_doc *doc)
{
	if (!doc)
		return;
	yaml_document_delete(doc->tree);
	util_free(doc->tree);
	util_free(doc->path);
	util_free(doc);
}

/*
 * The last pair of that name: a repeated key is what is complained about, and its second place is
 * the interesting one.
 */
static const yaml_node_pair_t *find_pair(const struct yaml_doc *doc, const yaml_node_t *map,
					 const char *name, size_t len)
{
	const yaml_node_pair_t *found = NULL;

	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = yaml_document_get_node(doc->tree, p->key);

		if (key && key->type == YAML_SCALAR_NODE && key->data.scalar.length == len &&
		    memcmp(key->data.scalar.value, name, len) == 0)
			found = p;
	}
	return found;
}

struct place {
	const yaml_node_t *key;    /* NULL for entries of a sequence and the root */
	const yaml_node_t *value;  /* NULL: the document does not have it */
	const yaml_node_t *around; /* deepest node on the way that exists */
};

static struct place find_place(const struct yaml_doc *doc, const char *key)
{
	struct place at = {.value = yaml_document_get_root_node(doc->tree)};
	const char *p = key;

	at.around = at.value;
	while (*p && at.value) {
		if (*p == '[') {
			char *end;
			unsigned long i = strtoul(p + 1, &end, 10);
			const yaml_node_item_t *item = NULL;

			if (at.value->type == YAML_SEQUENCE_NODE &&
			    i < (size_t)(at.value->data.sequence.items.top -
					 at.value->data.sequence.items.start))
				item = at.value->data.sequence.items.start + i;
			at.key = NULL;
			at.value = item ? yaml_document_get_node(doc->tree, *item) : NULL;
			p = *end == ']' ? end + 1 : end;
		} else {
			size_t len = strcspn(p, ".[");
			const yaml_node_pair_t *pair = NULL;

			if (at.value->type == YAML_MAPPING_NODE)
				pair = find_pair(doc, at.value, p, len);
			at.key = pair ? yaml_document_get_node(doc->tree, pair->key) : NULL;
			at.value = pair ? yaml_document_get_node(doc->tree, pair->value) : NULL;
			p += len;
		}
		p += *p == '.';
		if (at.value)
			at.around = at.value;
	}
	return at;
}

bool yaml_position(const struct yaml_doc *doc, const char *key, unsigned *ret_line,
		   unsigned *ret_column)
{
	struct place at = find_place(doc, key);

	if (!at.value)
		return false;
	*ret_line = (unsigned)at.value->start_mark.line + 1;
	*ret_column = (unsigned)at.value->start_mark.column + 1;
	return true;
}

/* at_key: the key itself is what is wrong, not its value. */
static int complain(const struct yaml_doc *doc, const char *key, bool at_key, const char *why,
		    struct err *e)
{
	struct place at = find_place(doc, key);
	const yaml_node_t *node = at_key && at.key ? at.key : at.value ? at.value : at.around;
	yaml_mark_t mark = node ? node->start_mark : (yaml_mark_t){0};
	char value[64] = "";

	if (!at_key && at.value && at.value->type == YAML_SCALAR_NODE)
		(void)snprintf(value, sizeof(value),
			       "'%.50s': ", (const char *)at.value->data.scalar.value);
	return err_set(e, ERR_CONFIG, EINVAL, "%s:%zu:%zu: %s%s%s%s", doc->path, mark.line + 1,
		       mark.column + 1, key, *key ? ": " : "", value, why);
}

int yaml_complain(const struct yaml_doc *doc, const char *key, struct err *e, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return complain(doc, key, /* at_key= */ false, why, e);
}

static int syntax_error(const char *path, const yaml_parser_t *parser, struct err *e)
{
	const char *what = parser->problem ? parser->problem : "not readable as YAML";

	return err_set(e, ERR_CONFIG, EINVAL, "%s:%zu:%zu: %s%s%s", path,
		       parser->problem_mark.line + 1, parser->problem_mark.column + 1, what,
		       parser->context ? " " : "", parser->context ? parser->context : "");
}

/* Reads the tree of the only document. */
static int load_tree(const char *path, const struct strbuf *text, struct yaml_doc **ret,
		     struct err *e)
{
	struct yaml_doc *doc = xcalloc(1, sizeof(*doc));
	const yaml_node_t *root;
	yaml_document_t second;
	yaml_parser_t parser;
	int r = 0;

	doc->path = xstrdup(path);
	doc->tree = xcalloc(1, sizeof(*doc->tree));
	if (!yaml_parser_initialize(&parser)) {
		yaml_doc_free(doc);
		return err_set(e, ERR_INTERNAL, ENOMEM, "%s: YAML parser", path);
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)strbuf_str(text), text->len);
	if (!yaml_parser_load(&parser, doc->tree)) {
		r = syntax_error(path, &parser, e);
		goto out;
	}
	if (!yaml_document_get_root_node(doc->tree)) {
		r = err_set(e, ERR_CONFIG, EINVAL, "%s:1:1: the file is empty", path);
		goto out;
	}
	if (!yaml_parser_load(&parser, &second)) {
		r = syntax_error(path, &parser, e);
		goto out;
	}
	root = yaml_document_get_root_node(&second);
	if (root)
		r = err_set(e, ERR_CONFIG, EINVAL, "%s:%zu:%zu: only one document is allowed", path,
			    root->start_mark.line + 1, root->start_mark.column + 1);
	yaml_document_delete(&second);
out:
	yaml_parser_delete(&parser);
	if (r < 0)
		yaml_doc_free(doc);
	else
		*ret = doc;
	return r;
}

/* What libcyaml says: one message, then a backtrace from the inside to the outside. */
struct said {
	char message[256];
	size_t frames;
	struct {
		char key[64]; /* "" for an entry of a sequence */
		unsigned long entry;
	} frame[FRAMES_MAX];
};

static printf_like(3, 0) void collect(cyaml_log_t level, void *ctx, const char *fmt, va_list ap)
{
	static const char in_field[] = "  in mapping field '";
	static const char in_entry[] = "  in sequence entry '";
	struct said *s = ctx;
	char line[256];

	(void)level;
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, in_field, sizeof(in_field) - 1) == 0 && s->frames < FRAMES_MAX) {
		const char *name = line + sizeof(in_field) - 1;

		(void)snprintf(s->frame[s->frames].key, sizeof(s->frame[0].key), "%.*s",
			       (int)strcspn(name, "'"), name);
		s->frames++;
	} else if (strncmp(line, in_entry, sizeof(in_entry) - 1) == 0 && s->frames < FRAMES_MAX) {
		s->frame[s->frames].key[0] = '\0';
		s->frame[s->frames].entry = strtoul(line + sizeof(in_entry) - 1, NULL, 10);
		s->frames++;
	} else if (strncmp(line, "Load: ", 6) == 0 && strcmp(line + 6, "Backtrace:") != 0 &&
		   !s->message[0]) {
		memcpy(s->message, line + 6, strlen(line + 6) + 1);
	}
}

/*
 * Builds the key path out of the frames [first, frames). An entry's number is that of the entries
 * begun so far, so the one at hand is one less.
 */
static void path_of_frames(const struct said *s, size_t first, char *ret)
{
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = s->frames; i > first && len < KEY_PATH_MAX; i--) {
		const char *key = s->frame[i - 1].key;
		unsigned long entry = s->frame[i - 1].entry;
		int n;

		if (*key)
			n = snprintf(ret + len, KEY_PATH_MAX - len, "%s%s", len ? "." : "", key);
		else
			n = snprintf(ret + len, KEY_PATH_MAX - len, "[%lu]", entry ? entry - 1 : 0);
		len += n > 0 ? (size_t)n : 0;
	}
}

/* The argument after a fixed beginning, or NULL. */
static const char *after(const char *message, const char *beginning)
{
	size_t n = strlen(beginning);

	return strncmp(message, beginning, n) == 0 ? message + n : NULL;
}

static void append_key(char *path, const char *key)
{
	size_t len = strlen(path);

	(void)snprintf(path + len, KEY_PATH_MAX - len, "%s%s", len ? "." : "", key);
}

static const char *plain_words(const char *message)
{
	static const struct {
		const char *beginning;
		const char *words;
	} table[] = {
		{"Invalid uint64_t value", "not a whole number"},
		{"Invalid int64_t value", "not a whole number"},
		{"Invalid UINT value", "not a whole number, or too large or too small"},
		{"Invalid INT value", "not a whole number, or too large or too small"},
		{"Invalid double value", "not a number"},
		{"Invalid float value", "not a number"},
		{"Invalid BOOL value", "not true or false"},
		{"STRING length < ", "a text is needed"},
		{"STRING length > ", "the text is too long"},
		{"Expecting MAPPING", "keys with values are needed here"},
		{"Expecting SEQUENCE", "a list is needed here"},
		{"Expecting", "a single value is needed here"},
		{"Insufficient entries", "too few entries in this list"},
		{"Excessive entries", "too many entries in this list"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (after(message, table[i].beginning))
			return table[i].words;
	return message;
}

/* The mapping that has, or would have, the key at this path; NULL if none can. */
static const cyaml_schema_field_t *fields_around(const cyaml_schema_value_t *schema,
						 const char *path)
{
	while (*path) {
		const size_t len = strcspn(path, ".[");
		const cyaml_schema_field_t *f;

		if (*path == '[') {
			if (schema->type != CYAML_SEQUENCE)
				return NULL;
			schema = schema->sequence.entry;
			path += strcspn(path, "]");
			path += *path == ']';
			path += *path == '.';
			continue;
		}
		if (schema->type != CYAML_MAPPING)
			return NULL;
		for (f = schema->mapping.fields; f->key; f++)
			if (strlen(f->key) == len && memcmp(f->key, path, len) == 0)
				break;
		if (!f->key)
			return schema->mapping.fields;
		schema = &f->value;
		path += len;
		path += *path == '.';
	}
	return NULL;
}

static int unknown_key(const struct yaml_doc *doc, const cyaml_schema_value_t *schema,
		       const char *path, struct err *e)
{
	const cyaml_schema_field_t *f = fields_around(schema, path);
	auto_strbuf struct strbuf why = STRBUF_INIT;

	strbuf_adds(&why, "unknown key");
	for (size_t i = 0; f && f[i].key; i++)
		strbuf_addf(&why, "%s%s", i ? ", " : "; there are ", f[i].key);
	return complain(doc, path, true, strbuf_str(&why), e);
}

static int translate(const struct yaml_doc *doc, const cyaml_schema_value_t *schema, struct said *s,
		     cyaml_err_t code, struct err *e)
{
	const bool is_about_list = code == CYAML_ERR_SEQUENCE_ENTRIES_MIN ||
				   code == CYAML_ERR_SEQUENCE_ENTRIES_MAX ||
				   code == CYAML_ERR_SEQUENCE_FIXED_COUNT;
	/* the deepest frame is an entry that does not exist (yet) */
	const bool skips_entry = is_about_list && s->frames && !s->frame[0].key[0];
	char path[KEY_PATH_MAX];
	const char *key;

	key = after(s->message, "Missing required mapping field: ");
	if (key) {
		char why[128];

		/* libcyaml's deepest field is the last one that it read in that mapping */
		path_of_frames(s, s->frames && s->frame[0].key[0] ? 1 : 0, path);
		(void)snprintf(why, sizeof(why), "the key '%s' is missing", key);
		return complain(doc, path, false, why, e);
	}
	key = after(s->message, "Unexpected key: ");
	if (key) {
		path_of_frames(s, 0, path);
		append_key(path, key);
		return unknown_key(doc, schema, path, e);
	}
	path_of_frames(s, skips_entry ? 1 : 0, path);
	if (after(s->message, "Mapping field already seen"))
		return complain(doc, path, true, "this key is there twice", e);
	if (code == CYAML_ERR_ALIAS)
		return complain(doc, path, false, "aliases are not allowed", e);
	return complain(doc, path, false,
			s->message[0] ? plain_words(s->message) : cyaml_strerror(code), e);
}

/* Whether all of the text is a number: libcyaml takes "5s" for 5. */
static bool is_number(const yaml_node_t *node, bool may_be_broken)
{
	const char *text = (const char *)node->data.scalar.value;
	char *end = NULL;

	errno = 0;
	if (may_be_broken)
		(void)strtod(text, &end);
	else
		(void)strtoll(text, &end, 0);
	return end != text && strlen(text) == node->data.scalar.length && *end == '\0';
}

/* That every number in the file is one to its end. key: of node; it is appended to and restored. */
static int check_numbers(const struct yaml_doc *doc, const cyaml_schema_value_t *schema,
			 const yaml_node_t *node, char key[KEY_PATH_MAX], struct err *e)
{
	const size_t len = strlen(key);
	int r = 0;

	if (node->type == YAML_SCALAR_NODE) {
		const bool is_float = schema->type == CYAML_FLOAT;

		if (!is_float && schema->type != CYAML_INT && schema->type != CYAML_UINT)
			return 0;
		return is_number(node, is_float)
			       ? 0
			       : complain(
					 doc, key, false,
					 is_float
						 ? "not a number"
						 : "not a whole number (the key's name has the unit)",
					 e);
	}
	if (node->type == YAML_MAPPING_NODE && schema->type == CYAML_MAPPING) {
		const cyaml_schema_field_t *f = schema->mapping.fields;

		for (; f->key && r >= 0; f++) {
			const yaml_node_pair_t *pair = find_pair(doc, node, f->key, strlen(f->key));

			if (!pair)
				continue;
			append_key(key, f->key);
			r = check_numbers(doc, &f->value,
					  yaml_document_get_node(doc->tree, pair->value), key, e);
			key[len] = '\0';
		}
	} else if (node->type == YAML_SEQUENCE_NODE && schema->type == CYAML_SEQUENCE) {
		const yaml_node_item_t *first = node->data.sequence.items.start;

		for (const yaml_node_item_t *i = first; i < node->data.sequence.items.top && r >= 0;
		     i++) {
			(void)snprintf(key + len, KEY_PATH_MAX - len, "[%td]", i - first);
			r = check_numbers(doc, schema->sequence.entry,
					  yaml_document_get_node(doc->tree, *i), key, e);
			key[len] = '\0';
		}
	}
	return r;
}

int yaml_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
	      struct yaml_doc **ret_doc, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_yaml_doc struct yaml_doc *doc = NULL;
	struct said said = {0};
	const cyaml_config_t cfg = {
		.log_fn = collect,
		.log_ctx = &said,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	char key[KEY_PATH_MAX] = "";
	cyaml_data_t *data = NULL;
	cyaml_err_t code;
	int r;

	r = file_read(path, YAML_FILE_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	r = load_tree(path, &text, &doc, e);
	if (r < 0)
		return r;
	code = cyaml_load_data((const uint8_t *)strbuf_str(&text), text.len, &cfg, schema, &data,
			       NULL);
	if (code == CYAML_ERR_OOM || code == CYAML_ERR_BAD_PARAM_NULL_DATA)
		return err_set(e, ERR_INTERNAL, ENOMEM, "%s: %s", path, cyaml_strerror(code));
	if (code != CYAML_OK)
		return translate(doc, schema, &said, code, e);
	r = check_numbers(doc, schema, yaml_document_get_root_node(doc->tree), key, e);
	if (r < 0) {
		yaml_data_free(schema, data);
		return r;
	}
	*ret_data = data;
	*ret_doc = take(doc);
	return 0;
}

void yaml_data_free(const cyaml_schema_value_t *schema, void *data)
{
	const cyaml_config_t cfg = {.mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
	int saved = errno;

	if (data)
		(void)cyaml_free(&cfg, schema, data, 0);
	errno = saved;
}
