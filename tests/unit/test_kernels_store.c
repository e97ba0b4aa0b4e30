/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/* test_kernels_store.c - list, find, remove, lock, what a dead process left behind, kernel.json. */
#include "kernels_unit.h"

#include <sys/wait.h>

static void free_build(struct kernel_build **k)
{
	kernel_build_free(*k);
	*k = NULL;
}

static int empty_store(void **state)
{
	struct err e = {0};

	(void)state;
	ku_said[0] = '\0';
	return dir_remove(ku_store, &e);
}

static void test_the_newest_release_is_listed_first(void **state)
{
	static const char *const releases[] = {"6.9.0-1-amd64", "6.12.9", "6.1.0-57-amd64",
					       "6.12.117+deb12-amd64"};
	struct kernel_list l = {0};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
		kernel_build_free(ku_add(releases[i], releases[i]));
	assert_int_equal(kernel_list(&ku_ctx, &l, &e), 0);
	assert_int_equal(l.n, 4);
	assert_string_equal(l.builds[0]->release, "6.12.117+deb12-amd64");
	assert_string_equal(l.builds[1]->release, "6.12.9");
	assert_string_equal(l.builds[2]->release, "6.9.0-1-amd64");
	assert_string_equal(l.builds[3]->release, "6.1.0-57-amd64");
	kernel_list_release(&l);
}

static void test_an_empty_store_is_an_empty_list(void **state)
{
	struct kernel_list l = {0};
	struct kernel_build *k = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_list(&ku_ctx, &l, &e), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(kernel_find(&ku_ctx, "debian:6.1", NULL, &k, &e), -ENOENT);
	ku_expect_error(&e, ERR_USAGE,
			"kernel 'debian:6.1' is not in the store, which has nothing");
}

static void test_identity_survives_the_round_trip(void **state)
{
	auto_kernel_build struct kernel_build *k = ku_add("6.5.0", "mine");
	struct kernel_build *again = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_find(&ku_ctx, "mine", "x86_64", &again, &e), 0);
	assert_string_equal(again->name, "mine");
	assert_string_equal(again->release, "6.5.0");
	assert_string_equal(again->version, "#1 SMP test");
	assert_string_equal(again->arch, "x86_64");
	assert_string_equal(again->origin, "add");
	assert_string_equal(again->package_version, "");
	assert_string_equal(again->preempt, "voluntary");
	assert_string_equal(again->config_sha256, k->config_sha256);
	assert_string_equal(again->image_sha256, k->image_sha256);
	assert_int_equal(again->hz, 250);
	assert_int_equal(again->cpu_intensive_thresh_us, 10000);
	assert_true(again->added_wall_ns == k->added_wall_ns && again->added_wall_ns > 0);
	free_build(&again);

	assert_int_equal(kernel_find(&ku_ctx, k->dir, NULL, &again, &e), 0);
	assert_string_equal(again->name, "mine");
	free_build(&again);
	assert_int_equal(kernel_find(&ku_ctx, k->dir, "arm64", &again, &e), -ENOENT);
	ku_expect_error(&e, ERR_USAGE, "is for x86_64, not for arm64");
	assert_int_equal(kernel_find(&ku_ctx, "mine", "arm64", &again, &e), -ENOENT);
	ku_expect_error(&e, ERR_USAGE,
			"kernel 'mine' for arm64 is not in the store, which has mine");
	assert_int_equal(kernel_find(&ku_ctx, "/nowhere", NULL, &again, &e), -ENOENT);
	ku_expect_error(&e, ERR_USAGE, "kernel '/nowhere'");
}

/* Writes kernel.json of the build "broken" with one line replaced. */
static void expect_broken(const char *from, const char *to, const char *text)
{
	auto_kernel_build struct kernel_build *k = ku_add("6.5.0", "broken");
	auto_free char *path = xasprintf("%s/kernel.json", k->dir);
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	auto_strbuf struct strbuf changed = STRBUF_INIT;
	struct kernel_list l = {0};
	struct err e = {0};
	const char *at;

	assert_int_equal(file_read(path, 65536, &sb, &e), 0);
	at = strstr(strbuf_str(&sb), from);
	assert_non_null(at);
	strbuf_add(&changed, sb.data, (size_t)(at - sb.data));
	strbuf_adds(&changed, to);
	strbuf_adds(&changed, at + strlen(from));
	assert_int_equal(file_write_atomic(path, changed.data, changed.len, &e), 0);
	assert_true(kernel_list(&ku_ctx, &l, &e) < 0);
	ku_expect_error(&e, ERR_CONFIG, text);
	ku_expect_error(&e, ERR_CONFIG, path);
	assert_int_equal(dir_remove(k->dir, &e), 0);
}

static void test_a_broken_kernel_json_is_named_with_its_key(void **state)
{
	(void)state;
	expect_broken("\"format\": 1", "\"format\": 2", "written by a newer stallrig");
	expect_broken("\"hz\": 250", "\"hz\": 0", "'hz' is 0, not in 1..100000");
	expect_broken("\"hz\": 250", "\"hz\": \"250\"", "'hz' is missing or not a number");
	expect_broken("\"arch\"", "\"arhc\"", "'arch' is missing or not a text");
	expect_broken("\"config_sha256\": \"", "\"config_sha256\": \"0", "'config_sha256'");
	expect_broken("{", "", "kernel.json:2:");
	expect_broken("\"hz\": 250", "\"hz\": 250, \"hz\": 300", "duplicate");
}

static void test_a_removed_build_is_gone_and_a_bad_name_is_refused(void **state)
{
	auto_kernel_build struct kernel_build *k = ku_add("6.5.0", "mine");
	struct err e = {0};

	(void)state;
	assert_int_equal(kernel_remove(&ku_ctx, "mine", &e), 0);
	assert_int_equal(access(k->dir, F_OK), -1);
	assert_int_equal(ku_count(ku_store, ".tmp-"), 0);
	assert_int_equal(kernel_remove(&ku_ctx, "mine", &e), -ENOENT);
	assert_int_equal(kernel_remove(&ku_ctx, "../store", &e), -EINVAL);
	assert_int_equal(kernel_remove(&ku_ctx, "", &e), -EINVAL);
	assert_int_equal(access(ku_store, F_OK), 0);
}

static void test_what_a_dead_process_left_is_removed_and_of_a_living_one_kept(void **state)
{
	auto_free char *living = ku_path("store/.tmp-1/x");
	auto_free char *odd = ku_path("store/.tmp-notapid");
	auto_free char *dead = NULL;
	auto_free char *tmp = NULL;
	struct err e = {0};
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	dead = xasprintf("%s/.tmp-%ld/x", ku_store, (long)pid);
	assert_int_equal(dir_make(living, &e), 0);
	assert_int_equal(dir_make(odd, &e), 0);
	assert_int_equal(dir_make(dead, &e), 0);
	assert_int_equal(kernels_tmp_dir(ku_store, &tmp, &e), 0);
	assert_int_equal(access(living, F_OK), 0);
	assert_int_equal(access(odd, F_OK), 0);
	assert_int_equal(access(dead, F_OK), -1);
	kernels_tmp_remove(tmp);
	assert_int_equal(access(tmp, F_OK), -1);
	kernels_tmp_remove(NULL);
}

static void test_the_second_waits_for_the_lock_and_says_for_whom(void **state)
{
	auto_free char *path = ku_path("lock");
	auto_free char *expected = NULL;
	auto_fd int fd = -1;
	int ready[2];
	struct err e = {0};
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (kernels_lock(&ku_ctx, path, &fd, &e) < 0)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		/* holds it until the other one has begun to wait */
		(void)!waiter_sleep(ku_ctx.w, 300 * NSEC_PER_MSEC, &e);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(kernels_lock(&ku_ctx, path, &fd, &e), 0);
	expected = xasprintf("waiting for process %ld, which holds %s\n", (long)pid, path);
	assert_string_equal(ku_said, expected);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
}

static void test_a_missing_program_is_named(void **state)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	struct err e = {0};

	(void)state;
	assert_int_equal(kernels_run(&ku_ctx, argv, NULL, NULL, NSEC_PER_SEC, NULL, &e), -ENOENT);
	ku_expect_error(&e, ERR_RIG, "program 'no-such-program-here' is not installed");
	assert_null(kernels_find_program("no-such-program-here"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_newest_release_is_listed_first, empty_store),
		cmocka_unit_test_setup(test_an_empty_store_is_an_empty_list, empty_store),
		cmocka_unit_test_setup(test_identity_survives_the_round_trip, empty_store),
		cmocka_unit_test_setup(test_a_broken_kernel_json_is_named_with_its_key,
				       empty_store),
		cmocka_unit_test_setup(test_a_removed_build_is_gone_and_a_bad_name_is_refused,
				       empty_store),
		cmocka_unit_test_setup(
			test_what_a_dead_process_left_is_removed_and_of_a_living_one_kept,
			empty_store),
		cmocka_unit_test_setup(test_the_second_waits_for_the_lock_and_says_for_whom,
				       empty_store),
		cmocka_unit_test_setup(test_a_missing_program_is_named, empty_store),
	};

	return cmocka_run_group_tests(tests, ku_set_up, ku_tear_down);
}
