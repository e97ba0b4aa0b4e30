/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_catalog.c - the table agrees with itself and with what the parser does. */
#include "console/catalog.h"
#include "console_util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct events es;

static void test_every_class_has_a_name_that_parses_back(void **state)
{
	(void)state;
	for (int i = 0; i < CONSOLE_CLASS_MAX; i++) {
		enum console_class cls = CONSOLE_CLASS_MAX;

		assert_true(console_class_parse(console_class_name((enum console_class)i), &cls));
		assert_int_equal(cls, i);
	}
}

static void test_unknown_class_names_are_refused(void **state)
{
	enum console_class cls;

	(void)state;
	assert_false(console_class_parse("", &cls));
	assert_false(console_class_parse("oops ", &cls));
	assert_string_equal(console_class_name(CONSOLE_CLASS_MAX), "unknown");
}

static void test_a_stall_is_worse_than_what_an_unplug_brings(void **state)
{
	(void)state;
	assert_int_equal(console_class_severity(CONSOLE_PANIC), CONSOLE_FATAL);
	assert_int_equal(console_class_severity(CONSOLE_WORKQUEUE_LOCKUP), CONSOLE_STALL);
	assert_int_equal(console_class_severity(CONSOLE_IO_ERROR), CONSOLE_EXPECTED);
	assert_int_equal(console_class_severity(CONSOLE_PRINTK_DROPPED), CONSOLE_INTEGRITY);
	assert_int_equal(console_class_severity(CONSOLE_USB_NEW), CONSOLE_INFO);
}

static void test_every_anchor_is_literal_text_of_its_pattern(void **state)
{
	(void)state;
	for (size_t i = 0; i < console_rule_count(); i++) {
		const struct console_rule *rule = console_rule(i);

		if (!strstr(rule->pattern, rule->anchor))
			fail_msg("rule '%s': anchor '%s' is not in it", rule->pattern,
				 rule->anchor);
		if (strchr(rule->anchor, '%'))
			fail_msg("rule '%s': anchor '%s' has a field", rule->pattern, rule->anchor);
		if (strlen(rule->anchor) < 5)
			fail_msg("rule '%s': anchor '%s' is shorter than 5", rule->pattern,
				 rule->anchor);
	}
}

/* Wraps the example in what its rule needs around it and gives the first event of it. */
static void parse_example(const struct console_rule *rule)
{
	char line[1024];
	bool is_bare = rule->flags & CONSOLE_RULE_BARE;

	(void)snprintf(line, sizeof(line), "[    1.000000] a kernel ran\r\n%s%s%s\r\n",
		       rule->flags & CONSOLE_RULE_CRASH ? "[    2.000000] Oops: 0002 [#1]\r\n" : "",
		       is_bare ? "" : "[    2.000001] ", rule->example);
	(void)events_of_text(&es, line);
}

static void test_every_example_gives_an_event_of_its_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < console_rule_count(); i++) {
		const struct console_rule *rule = console_rule(i);
		const struct console_event *last;

		parse_example(rule);
		if (rule->flags & CONSOLE_RULE_COUNTED) {
			assert_int_equal(es.n, 0);
			continue;
		}
		if (es.n == 0)
			fail_msg("rule '%s': nothing found in '%s'", rule->pattern, rule->example);
		last = &es.rows[es.n - 1].ev;
		if (last->cls != rule->cls || last->is_suspect)
			fail_msg("rule '%s': '%s' is %s%s", rule->pattern, rule->example,
				 console_class_name(last->cls),
				 last->is_suspect ? " (suspect)" : "");
		assert_string_equal(last->text, rule->example);
		assert_int_equal(last->is_detail, (rule->flags & CONSOLE_RULE_DETAIL) != 0);
	}
}

static void test_no_rule_is_hidden_by_an_earlier_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < console_rule_count(); i++) {
		for (size_t k = i + 1; k < console_rule_count(); k++) {
			if (strcmp(console_rule(i)->pattern, console_rule(k)->pattern) == 0)
				fail_msg("pattern '%s' stands twice", console_rule(i)->pattern);
		}
	}
}

static void test_a_line_with_only_a_trace_is_suspect(void **state)
{
	(void)state;
	for (size_t i = 0; i < console_trace_count(); i++) {
		const struct console_trace *trace = console_trace(i);
		char line[256];

		(void)snprintf(line, sizeof(line), "[    1.000000] xx%sxx\r\n", trace->text);
		(void)events_of_text(&es, line);
		if (es.n != 1 || !es.rows[0].ev.is_suspect || es.rows[0].ev.cls != trace->cls)
			fail_msg("trace '%s': %zu events: %s", trace->text, es.n,
				 strbuf_str(&es.digest));
	}
}

static void test_examples_survive_in_text_without_envelope_where_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < console_rule_count(); i++) {
		const struct console_rule *rule = console_rule(i);
		char line[1024];

		if (rule->flags & (CONSOLE_RULE_STAMPED | CONSOLE_RULE_BARE | CONSOLE_RULE_COUNTED |
				   CONSOLE_RULE_CRASH))
			continue;
		(void)snprintf(line, sizeof(line), "%s\n", rule->example);
		(void)events_of_text(&es, line);
		if (es.n != 1 || es.rows[0].ev.cls != rule->cls)
			fail_msg("rule '%s': '%s' without a stamp gives %zu events", rule->pattern,
				 rule->example, es.n);
		assert_true(es.rows[0].ev.t_kernel_us == CONSOLE_UNKNOWN);
	}
}

/* The table of docs/console.md. A bar would end a cell. */
static void add_cell(struct strbuf *sb, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			strbuf_adds(sb, "\\");
		strbuf_add(sb, text, 1);
	}
}

static void make_table(struct strbuf *sb)
{
	static const char *const severities[] = {"info", "integrity", "expected", "stall", "fatal"};

	strbuf_adds(sb, "| class | severity | kernels | message |\n|---|---|---|---|\n");
	for (size_t i = 0; i < console_rule_count(); i++) {
		const struct console_rule *rule = console_rule(i);

		strbuf_addf(sb, "| %s%s | %s | ", console_class_name(rule->cls),
			    rule->flags & CONSOLE_RULE_DETAIL    ? " (detail)"
			    : rule->flags & CONSOLE_RULE_COUNTED ? " (only counted)"
								 : "",
			    severities[console_class_severity(rule->cls)]);
		add_cell(sb, rule->kernels);
		strbuf_adds(sb, " | `");
		add_cell(sb, rule->example);
		strbuf_adds(sb, "` |\n");
	}
}

static void test_the_documentation_has_the_table_of_the_catalogue(void **state)
{
	auto_strbuf struct strbuf table = STRBUF_INIT;
	auto_strbuf struct strbuf doc = STRBUF_INIT;
	auto_file FILE *f = fopen(STALLRIG_SOURCE_DIR "/docs/console.md", "re");
	char buf[4096];
	size_t n;

	(void)state;
	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&doc, buf, n);
	make_table(&table);
	if (!strstr(strbuf_str(&doc), strbuf_str(&table)))
		fail_msg(
			"docs/console.md is not up to date: test_console_catalog --table prints the "
			"table that belongs there");
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--table") == 0) {
		auto_strbuf struct strbuf table = STRBUF_INIT;

		make_table(&table);
		(void)fputs(strbuf_str(&table), stdout);
		return 0;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_class_has_a_name_that_parses_back),
		cmocka_unit_test(test_unknown_class_names_are_refused),
		cmocka_unit_test(test_a_stall_is_worse_than_what_an_unplug_brings),
		cmocka_unit_test(test_the_documentation_has_the_table_of_the_catalogue),
		cmocka_unit_test(test_every_anchor_is_literal_text_of_its_pattern),
		cmocka_unit_test(test_every_example_gives_an_event_of_its_class),
		cmocka_unit_test(test_no_rule_is_hidden_by_an_earlier_one),
		cmocka_unit_test(test_a_line_with_only_a_trace_is_suspect),
		cmocka_unit_test(test_examples_survive_in_text_without_envelope_where_allowed),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	strbuf_release(&es.digest);
	return r;
}
