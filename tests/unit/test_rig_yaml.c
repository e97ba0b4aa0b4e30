/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "rig/yaml.h"
#include "unit.h"

struct part {
	char *name;
	unsigned size;
};

struct thing {
	char *name;
	struct {
		unsigned cpus;
		char **words;
		unsigned words_count;
	} boot;
	struct part *parts;
	unsigned parts_count;
};

typedef __typeof__(((struct thing *)0)->boot) boot_type;

static const cyaml_schema_value_t word = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 8)};

static const cyaml_schema_field_t boot_fields[] = {
	CYAML_FIELD_UINT("cpus", CYAML_FLAG_DEFAULT, boot_type, cpus),
	CYAML_FIELD_SEQUENCE("words", CYAML_FLAG_POINTER, boot_type, words, &word, 0, 3),
	CYAML_FIELD_END};

static const cyaml_schema_field_t part_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct part, name, 1, 8),
	CYAML_FIELD_UINT("size", CYAML_FLAG_DEFAULT, struct part, size), CYAML_FIELD_END};

static const cyaml_schema_value_t part = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct part, part_fields)};

static const cyaml_schema_field_t thing_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct thing, name, 1, 8),
	CYAML_FIELD_MAPPING("boot", CYAML_FLAG_DEFAULT, struct thing, boot, boot_fields),
	CYAML_FIELD_SEQUENCE("parts", CYAML_FLAG_POINTER, struct thing, parts, &part, 1, 2),
	CYAML_FIELD_END};

static const cyaml_schema_value_t schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct thing, thing_fields)};

#define GOOD_BOOT  "boot: {cpus: 2, words: [a, b]}\n"
#define GOOD_PARTS "parts:\n  - {name: x, size: 3}\n"
#define GOOD       "name: a\n" GOOD_BOOT GOOD_PARTS

/* Loads the text as a file; 0 frees everything again. */
static int load(const char *text, size_t n, struct err *e)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/f.yaml", dir);
	auto_yaml_doc struct yaml_doc *doc = NULL;
	void *data = NULL;
	int r;

	*e = (struct err){0};
	assert_int_equal(file_write_atomic(path, text, n, e), 0);
	r = yaml_load(path, &schema, &data, &doc, e);
	if (r == 0)
		yaml_data_free(&schema, data);
	else
		assert_null(data);
	unit_rmdir(dir);
	return r;
}

static void test_a_good_file_is_loaded_and_its_places_are_known(void **state)
{
	static const char text[] = GOOD "  - name: y\n    size: 4\n";
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/f.yaml", dir);
	auto_yaml_doc struct yaml_doc *doc = NULL;
	unsigned line = 0, column = 0;
	struct err e = {0};
	struct thing *t;
	void *data = NULL;

	(void)state;
	unit_write(dir, "f.yaml", text);

	assert_int_equal(yaml_load(path, &schema, &data, &doc, &e), 0);

	t = data;
	assert_string_equal(t->name, "a");
	assert_int_equal(t->boot.words_count, 2);
	assert_int_equal(t->parts[1].size, 4);
	assert_true(yaml_position(doc, "parts[1].size", &line, &column));
	assert_int_equal(line, 6);
	assert_int_equal(column, 11);
	assert_true(yaml_position(doc, "boot.words[1]", &line, &column));
	assert_int_equal(line, 2);
	assert_int_equal(column, 28);
	assert_false(yaml_position(doc, "parts[2].size", &line, &column));
	assert_false(yaml_position(doc, "name.x", &line, &column));
	assert_false(yaml_position(doc, "nope", &line, &column));

	assert_int_equal(yaml_complain(doc, "parts[1].size", &e, "outside %d..%d", 1, 3), -EINVAL);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_contains(e.text, "f.yaml:6:11: parts[1].size: '4': outside 1..3");

	/* a key that is not there: where it would have to be */
	(void)yaml_complain(doc, "parts[1].colour", &e, "why not");
	assert_contains(e.text, "f.yaml:5:5: parts[1].colour: why not");

	yaml_data_free(&schema, data);
	unit_rmdir(dir);
}

static void test_each_complaint_names_place_key_and_value(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"name: a\nboot:\n  cpuss: 2\n", "f.yaml:3:3: boot.cpuss: unknown key"},
		{"colour: red\n", "f.yaml:1:1: colour: unknown key"},
		{"name: a\nboot:\n  cpus: two\n",
		 "f.yaml:3:9: boot.cpus: 'two': not a whole number"},
		{"name: a\nboot:\n  cpus: -2\n", "f.yaml:3:9: boot.cpus: '-2': not a whole number"},
		{"name: a\nboot:\n  cpus: 99999999999\n", "f.yaml:3:9: boot.cpus: '99999999999': "},
		{"name: a\nboot:\n  cpus:\n", "boot.cpus: '': not a whole number"},
		{"name: a\nboot: {cpus: 2}\n" GOOD_PARTS,
		 "f.yaml:2:7: boot: the key 'words' is missing"},
		{GOOD_BOOT GOOD_PARTS, "f.yaml:1:1: the key 'name' is missing"},
		{"name: a\n" GOOD_BOOT "parts:\n - {name: x}\n",
		 "f.yaml:4:4: parts[0]: the key 'size' is missing"},
		{"name: a\n" GOOD_BOOT "parts:\n - {name: x, size: 1}\n - {name: y, size: z}\n",
		 "f.yaml:5:20: parts[1].size: 'z': not a whole number"},
		{"name: a\nname: b\n", "f.yaml:2:1: name: this key is there twice"},
		{"name: a\nboot: [1]\n", "f.yaml:2:7: boot: keys with values are needed here"},
		{"name: [a]\n", "f.yaml:1:7: name: a single value is needed here"},
		{"name: a\nboot: {cpus: 2, words: 3}\n",
		 "f.yaml:2:24: boot.words: '3': a list is needed here"},
		{"name: a\nboot: {cpus: 2, words: [a, {b: c}]}\n",
		 "f.yaml:2:28: boot.words[1]: a single value is needed here"},
		{"name: ''\n", "f.yaml:1:7: name: '': a text is needed"},
		{"name: toolongname\n", "f.yaml:1:7: name: 'toolongname': the text is too long"},
		{"name: a\nboot: {cpus: 2, words: [a, b, c, d]}\n",
		 "f.yaml:2:24: boot.words: too many entries"},
		{"name: a\n" GOOD_BOOT "parts: []\n", "f.yaml:3:8: parts: too few entries"},
		{"name: &n a\nboot: *n\n", "aliases are not allowed"},
		{"name: a\n boot: x\n", "f.yaml:2:6: mapping values are not allowed"},
		{"name: [\n", "f.yaml:2:1: "},
		{"", "f.yaml:1:1: the file is empty"},
		{"# only a comment\n", "f.yaml:1:1: the file is empty"},
		{GOOD "---\nname: b\n", "f.yaml:6:1: only one document is allowed"},
		{"[1]\n", "f.yaml:1:1: keys with values are needed here"},
		{"just words\n", "f.yaml:1:1: 'just words': keys with values are needed here"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e;

		if (load(cases[i].text, strlen(cases[i].text), &e) != -EINVAL)
			fail_msg("case %zu was accepted", i);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].want);
	}
}

static void test_files_that_cannot_be_read_are_named(void **state)
{
	struct yaml_doc *doc = NULL;
	void *data = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(yaml_load("/nonexistent/x.yaml", &schema, &data, &doc, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_contains(e.text, "/nonexistent/x.yaml");
}

static void test_the_size_limit_is_exact(void **state)
{
	char *text = xcalloc(YAML_FILE_MAX + 2, 1);
	size_t len = strlen(GOOD);
	struct err e;

	(void)state;
	memset(text, '#', YAML_FILE_MAX + 1);
	memcpy(text, GOOD, len);

	assert_int_equal(load(text, YAML_FILE_MAX, &e), 0);
	assert_int_equal(load(text, YAML_FILE_MAX + 1, &e), -EFBIG);
	assert_int_equal(e.kind, ERR_CONFIG);
	free(text);
}

static void test_bytes_and_nesting_that_no_yaml_has_are_refused(void **state)
{
	char *deep = xcalloc(5001, 1);
	struct err e;

	(void)state;
	assert_int_equal(load("name: \xff\xfe\n", 9, &e), -EINVAL);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_int_equal(load("name: a\0b\n", 10, &e), -EINVAL);

	memset(deep, '[', 5000);
	assert_int_equal(load(deep, 5000, &e), -EINVAL);
	free(deep);
}

static void test_destructors_take_null(void **state)
{
	(void)state;
	yaml_doc_free(NULL);
	yaml_data_free(&schema, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_file_is_loaded_and_its_places_are_known),
		cmocka_unit_test(test_each_complaint_names_place_key_and_value),
		cmocka_unit_test(test_files_that_cannot_be_read_are_named),
		cmocka_unit_test(test_the_size_limit_is_exact),
		cmocka_unit_test(test_bytes_and_nesting_that_no_yaml_has_are_refused),
		cmocka_unit_test(test_destructors_take_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
