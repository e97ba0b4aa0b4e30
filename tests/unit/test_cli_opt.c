/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cli_opt.c - options and other words of a command line. */
/* ctest: cli */
#include "cli/cmd.h"
#include "unit.h"

static const char *const colours[] = {"red", "green", NULL};

static const struct opt options[] = {
	{.name = "rig",
	 .letter = 'r',
	 .type = OPT_RIG,
	 .arg = "RIG",
	 .is_required = true,
	 .help = "rig"},
	{.name = "trials",
	 .letter = 'n',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .min = 1,
	 .max = 100,
	 .help = "trials"},
	{.name = "kernel",
	 .letter = 'k',
	 .type = OPT_KERNEL,
	 .arg = "K",
	 .is_list = true,
	 .help = "kernel"},
	{.name = "colour", .type = OPT_CHOICE, .arg = "C", .choices = colours, .help = "colour"},
	{.name = "last",
	 .letter = 'l',
	 .type = OPT_COUNT,
	 .arg = "N",
	 .is_arg_optional = true,
	 .min = 1,
	 .max = 9,
	 .help = "last"},
	{.name = "append", .letter = 'A', .type = OPT_TEXT, .arg = "TEXT", .help = "append"},
	{.name = "quiet", .letter = 'q', .type = OPT_FLAG, .help = "quiet"},
	{.name = NULL},
};

static const struct cmd cmd = {
	.name = "test",
	.summary = "Test",
	.positional = {.name = "FILE", .type = OPT_PATH, .min = 1, .max = 2},
	.options = options,
};

#define WORDS_MAX 40

static int parse(const char *const *words, struct args *a, struct err *e)
{
	static char copies[WORDS_MAX][80];
	char *argv[WORDS_MAX];
	int n = 0;

	for (; words[n]; n++) {
		(void)snprintf(copies[n], sizeof(copies[n]), "%s", words[n]);
		argv[n] = copies[n];
	}
	return args_parse(&cmd, n, argv, a, e);
}

static void test_values_come_in_every_usual_spelling(void **state)
{
	static const char *const spellings[][12] = {
		{"--rig=a", "--trials=7", "--quiet", "file"},
		{"--rig", "a", "--trials", "7", "--quiet", "file"},
		{"-r", "a", "-n", "7", "-q", "file"},
		{"-ra", "-n7", "-q", "file"},
		{"file", "-qn7", "-ra"},
		{"-qn", "7", "file", "-r", "a"},
		{"-n3", "-n7", "--rig=b", "--rig=a", "-q", "file"}, /* the last one counts */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		auto_args struct args a = {0};
		struct err e = {0};

		assert_int_equal(parse(spellings[i], &a, &e), 0);
		assert_string_equal(args_text(&a, "rig"), "a");
		assert_int_equal(args_count(&a, "trials", 1), 7);
		assert_true(args_has(&a, "quiet"));
		assert_int_equal(a.n_positional, 1);
		assert_string_equal(a.positional[0], "file");
	}
}

static void test_what_is_absent_says_so(void **state)
{
	static const char *const words[] = {"-ra", "f", NULL};
	auto_args struct args a = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(words, &a, &e), 0);
	assert_false(args_has(&a, "quiet"));
	assert_null(args_text(&a, "append"));
	assert_int_equal(args_count(&a, "trials", 42), 42);
	assert_int_equal(args_list(&a, "kernel")->n, 0);
}

static void test_an_optional_value_needs_the_equals_sign(void **state)
{
	static const char *const with[] = {"-ra", "--last=3", "f", NULL};
	static const char *const without[] = {"-ra", "--last", "f", NULL};
	static const char *const letter[] = {"-ra", "-l", "f", NULL};
	auto_args struct args a = {0};
	auto_args struct args b = {0};
	auto_args struct args c = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(with, &a, &e), 0);
	assert_int_equal(args_count(&a, "last", 1), 3);
	assert_int_equal(parse(without, &b, &e), 0);
	assert_true(args_has(&b, "last"));
	assert_int_equal(args_count(&b, "last", 1), 1);
	assert_string_equal(b.positional[0], "f");
	assert_int_equal(parse(letter, &c, &e), 0);
	assert_true(args_has(&c, "last"));
}

static void test_two_dashes_end_the_options_and_one_is_a_word(void **state)
{
	static const char *const words[] = {"-ra", "-", "--", "--quiet", NULL};
	auto_args struct args a = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(words, &a, &e), 0);
	assert_int_equal(a.n_positional, 2);
	assert_string_equal(a.positional[0], "-");
	assert_string_equal(a.positional[1], "--quiet");
	assert_false(args_has(&a, "quiet"));
}

static void test_an_empty_text_is_a_value_and_an_empty_name_is_none(void **state)
{
	static const char *const text[] = {"-ra", "--append=", "f", NULL};
	static const char *const name[] = {"--rig=", "f", NULL};
	auto_args struct args a = {0};
	auto_args struct args b = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(text, &a, &e), 0);
	assert_string_equal(args_text(&a, "append"), "");
	assert_int_equal(parse(name, &b, &e), -EINVAL);
	assert_string_equal(e.text, "'test': --rig: the value is empty");
}

static void test_a_list_keeps_its_order_up_to_the_limit(void **state)
{
	const char *words[OPT_LIST_MAX + 4] = {"-ra", "f"};
	auto_args struct args full = {0};
	auto_args struct args over = {0};
	struct err e = {0};

	(void)state;
	for (int i = 0; i < OPT_LIST_MAX; i++)
		words[2 + i] = i == 0 ? "-kfirst" : "-kother";
	assert_int_equal(parse(words, &full, &e), 0);
	assert_int_equal(args_list(&full, "kernel")->n, OPT_LIST_MAX);

	words[2 + OPT_LIST_MAX] = "-kmore";
	assert_int_equal(parse(words, &over, &e), -E2BIG);
	assert_contains(e.text, "--kernel: given more than 16 times");
}

static void test_help_wins_over_what_is_missing(void **state)
{
	static const char *const words[] = {"--help", NULL};
	auto_args struct args a = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(words, &a, &e), 0);
	assert_true(a.wants_help);
}

static void test_errors_name_the_option_the_value_and_what_would_be_right(void **state)
{
	static const struct {
		const char *words[5];
		const char *text;
	} cases[] = {
		{{"f"}, "'test' needs --rig=RIG"},
		{{"-ra"}, "'test' needs a FILE, see 'stallrig help test'"},
		{{"-ra", "1", "2", "3"}, "'test': unexpected word '3'"},
		{{"-ra", ""}, "'test': FILE is empty"},
		{{"-ra", "f", "--trials=0"}, "'test': --trials: 0 is outside 1..100"},
		{{"-ra", "f", "--trials=101"}, "'test': --trials: 101 is outside 1..100"},
		{{"-ra", "f", "--trials=7x"}, "'test': --trials: '7x' is not a decimal number"},
		{{"-ra", "f", "--trials"}, "'test': --trials needs a value: --trials=N"},
		{{"-ra", "f", "-n"}, "'test': -n needs a value: -n N"},
		{{"-ra", "f", "--quiet=1"}, "'test': --quiet takes no value"},
		{{"-ra", "f", "--colour=blue"},
		 "'test': --colour: 'blue' is not one of: red, green"},
		{{"-ra", "f", "--trails=3"},
		 "'test' has no option '--trails', did you mean '--trials'?"},
		{{"-ra", "f", "--hepl"}, "'test' has no option '--hepl', did you mean '--help'?"},
		{{"-ra", "f", "--xyzzy"},
		 "'test' has no option '--xyzzy', see 'stallrig help test'"},
		{{"-ra", "f", "-x"}, "'test' has no option '-x', see 'stallrig help test'"},
		{{"-ra", "f", "--\033[2J"},
		 "'test' has no option '--\\x1b[2J', see 'stallrig help test'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_args struct args a = {0};
		struct err e = {0};

		assert_true(parse(cases[i].words, &a, &e) < 0);
		assert_string_equal(e.text, cases[i].text);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void test_the_nearest_name_is_near(void **state)
{
	static const char *const names[] = {"run", "report", "show", "judge", "kernel"};
	static const struct {
		const char *typed;
		const char *nearest;
	} cases[] = {
		{"rnu", "run"},       {"reprot", "report"},
		{"rep", "report"},    {"kernle", "kernel"},
		{"kern", "kernel"},   {"judgement", NULL},
		{"x", NULL},          {"", NULL},
		{"frobnicate", NULL}, {"a-word-that-is-far-longer-than-any-command-can-be", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *near = opt_nearest(cases[i].typed, names, ARRAY_SIZE(names));

		if (cases[i].nearest)
			assert_string_equal(near ? near : "(none)", cases[i].nearest);
		else
			assert_null(near);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_come_in_every_usual_spelling),
		cmocka_unit_test(test_what_is_absent_says_so),
		cmocka_unit_test(test_an_optional_value_needs_the_equals_sign),
		cmocka_unit_test(test_two_dashes_end_the_options_and_one_is_a_word),
		cmocka_unit_test(test_an_empty_text_is_a_value_and_an_empty_name_is_none),
		cmocka_unit_test(test_a_list_keeps_its_order_up_to_the_limit),
		cmocka_unit_test(test_help_wins_over_what_is_missing),
		cmocka_unit_test(test_errors_name_the_option_the_value_and_what_would_be_right),
		cmocka_unit_test(test_the_nearest_name_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
