/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cli_help.c - the tables themselves, help, and the manual pages. */
/* ctest: cli */
#include "cli/help.h"
#include "report/text.h"
#include "rig/rig.h"
#include "trial/scenario.h"
#include "unit.h"

#include <ctype.h>

static char *read_page(const char *name)
{
	auto_free char *path = xasprintf("%s/docs/man/%s", STALLRIG_SOURCE_DIR, name);
	struct strbuf sb = STRBUF_INIT;
	struct err e = {0};

	if (file_read(path, 1 << 20, &sb, &e) < 0)
		fail_msg("%s", e.text);
	return strbuf_take(&sb);
}

static void test_every_table_is_complete_and_without_doubles(void **state)
{
	(void)state;
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		size_t n = 0;

		assert_non_null((*c)->run);
		assert_true(isupper((unsigned char)(*c)->summary[0]));
		assert_true((*c)->summary[strlen((*c)->summary) - 1] != '.');
		for (const struct cmd *const *other = cmd_table; other < c; other++)
			assert_string_not_equal((*other)->name, (*c)->name);
		for (const struct opt *o = (*c)->options; o && o->name; o++, n++) {
			assert_non_null(o->help);
			assert_false(isupper((unsigned char)o->help[0]) &&
				     strncmp(o->help, "SQL", 3) != 0);
			assert_true(o->help[strlen(o->help) - 1] != '.');
			assert_true((o->type == OPT_FLAG) == (o->arg == NULL));
			assert_true((o->type == OPT_CHOICE) == (o->choices != NULL));
			assert_true(o->type != OPT_COUNT || o->min <= o->max);
			assert_string_not_equal(o->name, "help");
			assert_true(o->letter != 'h');
			for (const struct opt *p = (*c)->options; p < o; p++) {
				assert_string_not_equal(p->name, o->name);
				assert_true(!o->letter || p->letter != o->letter);
			}
		}
		assert_true(n <= OPT_TABLE_MAX);
		assert_true(!(*c)->positional.name || (*c)->positional.min <= (*c)->positional.max);
	}
}

static void test_help_fits_a_terminal_and_names_every_option(void **state)
{
	(void)state;
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		auto_strbuf struct strbuf text = STRBUF_INIT;
		auto_free char *copy = NULL;

		help_command(&text, *c);
		copy = xstrdup(strbuf_str(&text));
		for (char *rest = copy, *line = strsep(&rest, "\n"); line;
		     line = strsep(&rest, "\n"))
			if (text_width(line) > 80 && strncmp(line, "Usage", 5) != 0)
				fail_msg("%s: '%s' is %zu columns wide", (*c)->name, line,
					 text_width(line));
		for (const struct opt *o = (*c)->options; o && o->name; o++) {
			auto_free char *name = xasprintf("--%s", o->name);

			assert_contains(strbuf_str(&text), name);
		}
	}
}

static void test_the_overview_names_every_command(void **state)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	(void)state;
	help_overview(&text);
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		auto_free char *row = xasprintf("\n  %s ", (*c)->name);

		assert_contains(strbuf_str(&text), row);
	}
}

static void test_the_manual_page_holds_what_the_tables_say(void **state)
{
	auto_free char *page = read_page("stallrig.1.scd");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	char *begin = strstr(page, "prints; a test compares them.\n");
	char *end = strstr(page, "; end of 'stallrig help --scdoc'\n");

	(void)state;
	help_scdoc(&text);
	assert_non_null(begin);
	assert_non_null(end);
	begin = strchr(begin, '\n') + 2; /* an empty line follows the comment */
	*end = '\0';
	/* if this fails: put the output of `stallrig help --scdoc` between the two comments */
	assert_string_equal(begin, strbuf_str(&text));
}

/* The YAML between the ``` lines after "# EXAMPLE", as a file. */
static void write_example(const char *page_name, const char *dir)
{
	auto_free char *page = read_page(page_name);
	char *begin = strstr(page, "# EXAMPLE\n\n```\n");
	char *end;

	assert_non_null(begin);
	begin += strlen("# EXAMPLE\n\n```\n");
	end = strstr(begin, "```\n");
	assert_non_null(end);
	*end = '\0';
	unit_write(dir, "example.yaml", begin);
}

static void test_the_examples_of_the_manual_pages_are_right(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/example.yaml", dir);
	auto_scenario struct scenario *sc = NULL;
	auto_rig_cfg struct rig_cfg *rig = NULL;
	struct err e = {0};

	(void)state;
	write_example("stallrig-scenario.5.scd", dir);
	if (scenario_load(path, &sc, &e) < 0)
		fail_msg("%s", e.text);
	write_example("stallrig-rig.5.scd", dir);
	if (rig_cfg_load(path, &rig, &e) < 0)
		fail_msg("%s", e.text);
	unit_rmdir(dir);
}

/* Every key of a shipped YAML file must be in the manual page as *key*. */
static void assert_keys_documented(const char *yaml_path, const char *page_name)
{
	auto_free char *page = read_page(page_name);
	auto_free char *path = xasprintf("%s/%s", STALLRIG_SOURCE_DIR, yaml_path);
	struct strbuf sb = STRBUF_INIT;
	struct err e = {0};
	auto_free char *yaml = NULL;

	assert_int_equal(file_read(path, 1 << 20, &sb, &e), 0);
	yaml = strbuf_take(&sb);
	for (char *rest = yaml, *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		char *key = line + strspn(line, " -");
		size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");
		auto_free char *bold = xasprintf("*%.*s*", (int)n, key);
		auto_free char *part = xasprintf("## %.*s\n", (int)n, key);

		if (!n || key[n] != ':')
			continue;
		if (!strstr(page, bold) && !strstr(page, part))
			fail_msg("%s: key '%.*s' is not in %s", yaml_path, (int)n, key, page_name);
	}
}

static void test_the_manual_pages_name_every_key_of_the_shipped_files(void **state)
{
	(void)state;
	assert_keys_documented("hil/scenarios/unplug-read.yaml", "stallrig-scenario.5.scd");
	assert_keys_documented("hil/scenarios/unplug-reading.yaml", "stallrig-scenario.5.scd");
	assert_keys_documented("hil/scenarios/unplug-unmounted.yaml", "stallrig-scenario.5.scd");
	assert_keys_documented("hil/scenarios/unplug-raw.yaml", "stallrig-scenario.5.scd");
	assert_keys_documented("hil/scenarios/iops-floor.yaml", "stallrig-scenario.5.scd");
	assert_keys_documented("fixtures/rigs/virtual-x86.yaml", "stallrig-rig.5.scd");
	assert_keys_documented("fixtures/rigs/virtual-arm64.yaml", "stallrig-rig.5.scd");
	assert_keys_documented("fixtures/rigs/virtual-uboot.yaml", "stallrig-rig.5.scd");
	assert_keys_documented("fixtures/rigs/rcar-h3-starter-kit.yaml", "stallrig-rig.5.scd");
	assert_keys_documented("fixtures/rigs/rcar-m3-starter-kit.yaml", "stallrig-rig.5.scd");
	assert_keys_documented("fixtures/rigs/pi4-host.yaml", "stallrig-rig.5.scd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_table_is_complete_and_without_doubles),
		cmocka_unit_test(test_help_fits_a_terminal_and_names_every_option),
		cmocka_unit_test(test_the_overview_names_every_command),
		cmocka_unit_test(test_the_manual_page_holds_what_the_tables_say),
		cmocka_unit_test(test_the_examples_of_the_manual_pages_are_right),
		cmocka_unit_test(test_the_manual_pages_name_every_key_of_the_shipped_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
