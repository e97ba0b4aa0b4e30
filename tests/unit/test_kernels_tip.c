/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_kernels_tip.c - branches of a real repository, built at their tip. */
/* ctest: kernels */
#include "kernels/git.h"
#include "kernels_unit.h"

/*
 * What a kernel's Makefile does in minutes, in a moment: an image that calls itself as it must. A
 * file `broken` is a commit that does not compile.
 */
static const char makefile[] =
	"allnoconfig:\n"
	"\t@mkdir -p $(O) && cp $(KCONFIG_ALLCONFIG) $(O)/.config\n"
	"bzImage:\n"
	"\t@if [ -e broken ]; then echo 'hub.c:1:1: error: no such thing'; exit 1; fi\n"
	"\t@echo built >>../made\n"
	"\t@mkdir -p $(O)/arch/x86/boot $(O)/include/generated\n"
	"\t@LC_ALL=C sed 's/6\\.1\\.0/6.1.0$(LOCALVERSION)/' image >$(O)/arch/x86/boot/bzImage\n"
	"\t@touch $(O)/System.map\n"
	"modules:\n\t@true\n"
	"modules_install:\n"
	"\t@mkdir -p $(INSTALL_MOD_PATH)/lib/modules/r\n"
	"\t@touch $(INSTALL_MOD_PATH)/lib/modules/r/modules.dep\n"
	"\t@touch $(INSTALL_MOD_PATH)/lib/modules/r/modules.builtin\n"
	"\t@echo x >$(INSTALL_MOD_PATH)/lib/modules/r/modules.builtin.modinfo\n";

/* The same by a command of the user's; the tree holds a kernel that is there already. */
#define COMMAND                                                                             \
	"echo \"$STALLRIG_COMMIT $STALLRIG_CONFIG\" >>../made; test ! -e broken || { echo " \
	"'no such thing'; exit 2; }; cp -r boot lib \"$STALLRIG_OUT\""

static void git(const char *words)
{
	auto_free char *text =
		xasprintf("cd repo && git -c user.name=t -c user.email=t@example.org "
			  "-c init.defaultBranch=main %s",
			  words);
	const char *const argv[] = {"sh", "-ec", text, NULL};

	free(ku_run(argv));
}

static void commit(void)
{
	git("add -A");
	git("commit -q --allow-empty -m next");
}

static int set_up(void **state)
{
	auto_free char *data = NULL;

	if (ku_set_up(state) < 0)
		return -1;
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
	data = ku_path("data");
	setenv("STALLRIG_DATA", data, 1);
	ku_puts("data/module/Makefile", "all:\n\t@touch latency-mon.ko wq-stall.ko\n");
	ku_puts("data/fixtures/kernels/tiny.config", KU_CONFIG);
	ku_puts("data/fixtures/kernels/other.config", "CONFIG_HZ=100\nCONFIG_PREEMPT_NONE=y\n");
	ku_puts("repo/Makefile", makefile);
	ku_puts("repo/Kconfig", "");
	ku_puts("repo/scripts/kconfig/x", "");
	ku_puts("repo/include/linux/x.h", "");
	ku_put_image("repo/image", "6.1.0");
	ku_put_kernel("repo", "6.1.0-own");
	ku_puts("repo/lib/modules/6.1.0-own/build/x", "");
	git("init -q");
	commit();
	return 0;
}

static char *head(void)
{
	auto_free char *repo = ku_path("repo");
	struct err e = {0};
	char *sha = NULL;

	if (git_commit_of(ku_ctx.w, repo, "HEAD", &sha, &e) < 0)
		fail_msg("%s", e.text);
	return sha;
}

/* Fills cfg for the branch of repo; repo is owned by the caller. */
static struct kernel_tip_cfg cfg_of(const char *repo, const char *branch, const char *command,
				    const char *const *config)
{
	return (struct kernel_tip_cfg){
		.repo = repo,
		.branch = branch,
		.configs = config,
		.n_configs = 1,
		.command = command,
		.arch = "x86_64",
		.jobs = 1,
	};
}

static struct kernel_build *ensure(const struct kernel_tip_cfg *cfg)
{
	struct kernel_build *k = NULL;
	struct err e = {0};

	if (kernel_tip_ensure(&ku_ctx, cfg, &k, &e) < 0)
		fail_msg("%s", e.text);
	return k;
}

static char *name_of(const struct kernel_tip_cfg *cfg)
{
	char *name = NULL;
	struct err e = {0};

	if (kernel_tip_name(&ku_ctx, cfg, &name, &e) < 0)
		fail_msg("%s", e.text);
	return name;
}

/* How often something was built in all. */
static unsigned n_made(void)
{
	const char *const argv[] = {"sh", "-c", "cat cache/sources/*/made 2>/dev/null | wc -l",
				    NULL};
	auto_free char *text = ku_run(argv);

	return (unsigned)atoi(text);
}

static void test_a_tip_is_built_once(void **state)
{
	static const char *const configs[] = {"tiny", "other"};
	auto_free char *repo = ku_path("repo");
	const struct kernel_tip_cfg cfg = cfg_of(repo, "main", NULL, &configs[0]);
	const struct kernel_tip_cfg other = cfg_of(repo, "main", NULL, &configs[1]);
	auto_free char *sha = head();
	auto_free char *before = name_of(&cfg);
	unsigned made = n_made();
	auto_kernel_build struct kernel_build *k = ensure(&cfg);
	auto_kernel_build struct kernel_build *again = ensure(&cfg);
	auto_kernel_build struct kernel_build *with_other = ensure(&other);
	auto_free char *status = NULL;
	const char *const argv[] = {"git",         "-C",        "repo", "status",
				    "--porcelain", "--ignored", NULL};

	(void)state;
	assert_string_equal(k->name, before);
	assert_string_equal(again->name, k->name);
	assert_string_equal(k->commit, sha);
	assert_string_equal(k->no_build, "");
	assert_int_equal(k->hz, 250);
	assert_memory_equal(k->name, "main-", 5);
	assert_memory_equal(k->name + 5, sha, 12);
	/* another config is another kernel of the same commit */
	assert_string_not_equal(with_other->name, k->name);
	assert_int_equal(with_other->hz, 100);
	assert_int_equal(n_made(), made + 2);
	/* the user's repository is only read */
	status = ku_run(argv);
	assert_string_equal(status, "");
}

static void test_the_branch_moves_on(void **state)
{
	static const char *const config = "tiny";
	auto_free char *repo = ku_path("repo");
	const struct kernel_tip_cfg cfg = cfg_of(repo, "main", COMMAND, &config);
	auto_free char *was = name_of(&cfg);
	auto_kernel_build struct kernel_build *old = ensure(&cfg);
	auto_kernel_build struct kernel_build *new = NULL;
	unsigned made = n_made();

	(void)state;
	assert_string_equal(old->name, was);
	assert_string_equal(old->release, "6.1.0-own");
	commit();
	new = ensure(&cfg);
	assert_string_not_equal(new->name, old->name);
	assert_int_equal(n_made(), made + 1);
}

static void test_what_does_not_build_is_kept_as_that(void **state)
{
	static const char *const config = "tiny";
	auto_free char *repo = ku_path("repo");
	const char *const commands[] = {NULL, COMMAND};
	const char *const says[] = {"hub.c:1:1: error: no such thing", "no such thing"};

	(void)state;
	git("checkout -q -b topic/broken");
	ku_puts("repo/broken", "");
	commit();
	git("checkout -q main");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct kernel_tip_cfg cfg =
			cfg_of(repo, "topic/broken", commands[i], &config);
		auto_kernel_build struct kernel_build *k = ensure(&cfg);
		auto_kernel_build struct kernel_build *found = NULL;
		unsigned made = n_made();
		struct err e = {0};

		assert_non_null(strstr(k->no_build, says[i]));
		assert_non_null(strstr(k->no_build, ".log"));
		assert_memory_equal(k->name, "broken-", 7);
		kernel_build_free(ensure(&cfg));
		assert_int_equal(n_made(), made);
		/* until it is removed */
		assert_int_equal(kernel_find(&ku_ctx, k->name, NULL, &found, &e), 0);
		assert_int_equal(kernel_remove(&ku_ctx, k->name, &e), 0);
		assert_int_equal(kernel_find(&ku_ctx, k->name, NULL, &found, &e), -ENOENT);
	}
}

static void test_a_tag_is_its_commit(void **state)
{
	static const char *const config = "tiny";
	auto_free char *repo = ku_path("repo");
	const struct kernel_tip_cfg cfg = cfg_of(repo, "refs/tags/v1", COMMAND, &config);
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *sha = head();
	auto_free char *name = NULL;

	(void)state;
	git("tag -a -m one v1");
	name = name_of(&cfg);
	k = ensure(&cfg);
	assert_string_equal(k->commit, sha);
	assert_string_equal(k->name, name);
}

static void test_what_is_not_there_is_named(void **state)
{
	static const char *const config = "tiny", *const no_config = "nosuch";
	auto_free char *repo = ku_path("repo");
	auto_free char *none = ku_path("none");
	const struct {
		struct kernel_tip_cfg cfg;
		enum err_kind kind;
		const char *says;
	} cases[] = {
		{cfg_of(repo, "nosuch", NULL, &config), ERR_CONFIG, "has no branch 'nosuch'"},
		{cfg_of(none, "main", NULL, &config), ERR_CONFIG, "/none: "},
		{cfg_of("http://ann:secret@127.0.0.1:1/x", "main", NULL, &config), ERR_CONFIG,
		 "branch 'main' of http://127.0.0.1:1/x: "},
		{cfg_of(repo, "main", NULL, &no_config), ERR_USAGE, "nosuch"},
		{cfg_of(repo, "main", "exit 130", &config), ERR_USAGE, "(status 130)"},
		{cfg_of(repo, "main", "true", &config), ERR_USAGE, "left no kernel"},
	};

	(void)state;
	/* the tree itself is where a command may leave its kernel */
	git("checkout -q -b bare");
	git("rm -q -r boot lib");
	commit();
	git("checkout -q main");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_tip_cfg cfg = cases[i].cfg;
		struct kernel_build *k = NULL;
		struct err e = {0};

		if (strstr(cases[i].says, "left no"))
			cfg.branch = "bare";
		if (kernel_tip_ensure(&ku_ctx, &cfg, &k, &e) >= 0)
			fail_msg("accepted: %zu", i);
		assert_null(strstr(e.text, "secret"));
		ku_expect_error(&e, cases[i].kind, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_tip_is_built_once),
		cmocka_unit_test(test_the_branch_moves_on),
		cmocka_unit_test(test_what_does_not_build_is_kept_as_that),
		cmocka_unit_test(test_a_tag_is_its_commit),
		cmocka_unit_test(test_what_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, ku_tear_down);
}
