/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cli_complete.c - completion scripts, run by the shells themselves. */
/* ctest: cli */
#include "base/child.h"
#include "cli/cmd.h"
#include "cli/complete.h"
#include "unit.h"

static bool has_program(const char *name)
{
	auto_free char *cmd = xasprintf("command -v %s >/dev/null 2>&1", name);

	return system(cmd) == 0;
}

/* What a shell prints for a script; fails the test if it does not end well. */
static char *run_shell(const char *shell, const char *script)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	const char *const argv[] = {shell, script, NULL};
	const struct child_cfg cfg = {
		.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
	struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	if (child_run(w, &cfg, 20 * NSEC_PER_SEC, &out, &e) < 0)
		fail_msg("%s", e.text);
	return strbuf_take(&out);
}

/*
 * Completes the words with bash; the last one is what is being typed. `stallrig` itself is a
 * function that gives fixed names.
 */
static char *complete_with_bash(const char *words)
{
	char *dir = unit_tmpdir();
	auto_strbuf struct strbuf script = STRBUF_INIT;
	auto_free char *path = xasprintf("%s/script", dir);
	char *out;

	complete_bash(&script);
	strbuf_addf(&script,
		    "stallrig() { echo name-of-$1-1; echo name-of-$1-2; }\n"
		    "COMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_stallrig\n"
		    "echo \"${COMPREPLY[*]}\"\n",
		    words);
	unit_write(dir, "script", strbuf_str(&script));
	out = run_shell("bash", path);
	unit_rmdir(dir);
	return out;
}

static void test_bash_completes_commands_options_and_values(void **state)
{
	static const struct {
		const char *words;
		const char *expected;
	} cases[] = {
		{"stallrig re", "report\n"},
		{"stallrig kernel ''", "fetch add build mutations list show remove\n"},
		{"stallrig kernel f", "fetch\n"},
		{"stallrig run --ke", "--kernel --keep-going\n"},
		{"stallrig run --kernel ''", "name-of-kernel-1 name-of-kernel-2\n"},
		{"stallrig run -k name-of-kernel-2", "name-of-kernel-2\n"},
		{"stallrig run --kernel = ''", "name-of-kernel-1 name-of-kernel-2\n"},
		{"stallrig run --kernel =", "name-of-kernel-1 name-of-kernel-2\n"},
		{"stallrig kernel fetch --arch ''", "x86_64 arm64\n"},
		{"stallrig kernel show ''", "name-of-kernel-1 name-of-kernel-2\n"},
		{"stallrig completion z", "zsh\n"},
		{"stallrig help ker", "kernel\n"},
		{"stallrig run --trials ''", "\n"},
	};

	(void)state;
	if (!has_program("bash"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *out = complete_with_bash(cases[i].words);

		assert_string_equal(out, cases[i].expected);
	}
}

static void test_bash_knows_every_option_of_every_command(void **state)
{
	(void)state;
	if (!has_program("bash"))
		skip();
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		auto_free char *words = xasprintf("stallrig %s --", (*c)->name);
		auto_free char *out = complete_with_bash(words);

		for (const struct opt *o = (*c)->options; o && o->name; o++) {
			auto_free char *name = xasprintf("--%s", o->name);

			assert_contains(out, name);
		}
		assert_contains(out, "--help");
	}
}

static void check_syntax(const char *shell, void (*make)(struct strbuf *))
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/script", dir);
	auto_free char *cmd = xasprintf("%s -n %s", shell, path);
	auto_strbuf struct strbuf script = STRBUF_INIT;

	make(&script);
	unit_write(dir, "script", strbuf_str(&script));
	assert_int_equal(system(cmd), 0);
	unit_rmdir(dir);
}

static void test_zsh_reads_its_script(void **state)
{
	(void)state;
	if (!has_program("zsh"))
		skip();
	check_syntax("zsh", complete_zsh);
}

static void test_fish_completes_commands_options_and_values(void **state)
{
	static const struct {
		const char *line;
		const char *part;
	} cases[] = {
		{"stallrig rep", "report\t"},
		{"stallrig kernel f", "fetch\t"},
		{"stallrig run --ke", "--kernel\t"},
		{"stallrig run --kernel ", "name-of-kernel-1"},
		{"stallrig kernel fetch --arch ", "arm64"},
		{"stallrig completion z", "zsh"},
	};
	char *dir;

	(void)state;
	if (!has_program("fish"))
		skip();
	check_syntax("fish", complete_fish);
	dir = unit_tmpdir();
	setenv("HOME", dir, 1); /* fish keeps files there */
	setenv("XDG_CONFIG_HOME", dir, 1);
	setenv("XDG_DATA_HOME", dir, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *path = xasprintf("%s/script", dir);
		auto_strbuf struct strbuf script = STRBUF_INIT;
		auto_free char *out = NULL;

		strbuf_adds(&script, "function stallrig; echo name-of-$argv[1]-1; end\n");
		complete_fish(&script);
		strbuf_addf(&script, "complete -C '%s'\n", cases[i].line);
		unit_write(dir, "script", strbuf_str(&script));
		out = run_shell("fish", path);
		assert_contains(out, cases[i].part);
	}
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bash_completes_commands_options_and_values),
		cmocka_unit_test(test_bash_knows_every_option_of_every_command),
		cmocka_unit_test(test_zsh_reads_its_script),
		cmocka_unit_test(test_fish_completes_commands_options_and_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
