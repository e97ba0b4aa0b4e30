/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: kernels */
/*
 * test_kernels_fetch.c - the real apt against a registry in a folder, with packages of a few
 * kilobytes: which one is taken, what is left of it, and what happens when it goes wrong.
 */
#include "kernels/deb.h"
#include "kernels_unit.h"

#include <sys/mount.h>
#include <sys/wait.h>

#define NEW_RELEASE "9.1.0-10-amd64"

static struct strbuf packages;

static void add_to_registry(const char *root, const char *package, const char *version,
			    const char *arch, const char *depends)
{
	auto_free char *file = xasprintf("repo/%s_%s.deb", package, arch);
	auto_free char *path = ku_path(file);
	char sha256[SHA256_HEX_SIZE];
	struct err e = {0};
	struct stat st;

	ku_make_deb(root, file, package, version, arch, depends);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(sha256_file(path, sha256, &e), 0);
	strbuf_addf(&packages,
		    "Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: n\nDescription: t\n"
		    "%s%s%sFilename: ./%s_%s.deb\nSize: %lld\nSHA256: %s\n\n",
		    package, version, arch, *depends ? "Depends: " : "", depends,
		    *depends ? "\n" : "", package, arch, (long long)st.st_size, sha256);
	ku_put("repo/Packages", packages.data, packages.len);
}

static void add_kernel(const char *release, const char *version)
{
	auto_free char *root = xasprintf("pkg-%s", release);
	auto_free char *package = xasprintf("linux-image-%s", release);

	ku_put_kernel(root, release);
	add_to_registry(root, package, version, "amd64", "kmod");
}

static void add_headers(const char *release, const char *version)
{
	auto_free char *package = xasprintf("linux-headers-%s", release);
	auto_free char *common = xasprintf("%s-common", package);
	auto_free char *makefile = xasprintf("%s/usr/src/%s/Makefile", package, package);
	auto_free char *common_makefile = xasprintf("%s/usr/src/%s/Makefile", common, common);
	auto_free char *include = xasprintf("include /usr/src/%s/Makefile\n", common);
	auto_free char *depends =
		xasprintf("%s (= %s), linux-kbuild-9.1 (>= %s), gcc-12", common, version, version);

	ku_puts(makefile, include);
	ku_puts(common_makefile, "all:\n\t@echo made in $(CURDIR)\n");
	ku_puts("kbuild/usr/lib/linux-kbuild-9.1/scripts/x", "");
	add_to_registry(package, package, version, "amd64", depends);
	add_to_registry(common, common, version, "all", "");
	add_to_registry("kbuild", "linux-kbuild-9.1", version, "amd64", "");
}

static int set_up(void **state)
{
	auto_free char *conf = NULL;
	auto_free char *text = NULL;
	auto_free char *sources = NULL;

	if (ku_set_up(state) < 0)
		return -1;
	conf = ku_path("apt.conf");
	text = xasprintf("Dir::Etc::SourceList \"%s/sources.list\";\n"
			 "Dir::Etc::SourceParts \"/dev/null\";\n",
			 ku_dir);
	sources = xasprintf("deb [trusted=yes] copy:%s/repo ./\n", ku_dir);
	ku_puts("apt.conf", text);
	ku_puts("sources.list", sources);
	ku_puts("repo/Packages", "");
	setenv("APT_CONFIG", conf, 1);
	add_kernel("9.1.0-9-amd64", "9.1.77-1");
	add_kernel(NEW_RELEASE, "9.1.80-1~deb12u1");
	add_kernel("9.1.0-11-rt-amd64", "9.1.99-1");
	add_kernel("9.10.3-amd64", "9.10.3-1");
	add_headers(NEW_RELEASE, "9.1.80-1~deb12u1");
	ku_puts("meta/usr/x", "");
	add_to_registry("meta", "linux-image-9.1-amd64", "9.1.99-1", "amd64", "");
	return 0;
}

static int tear_down(void **state)
{
	strbuf_release(&packages);
	return ku_tear_down(state);
}

static int empty_store(void **state)
{
	struct err e = {0};

	(void)state;
	ku_said[0] = '\0';
	return dir_remove(ku_store, &e);
}

static struct kernel_build *fetch(const char *spec)
{
	struct kernel_build *k = NULL;
	struct err e = {0};

	if (kernel_fetch(&ku_ctx, spec, "x86_64", &k, &e) < 0)
		fail_msg("%s", e.text);
	return k;
}

static void expect_failure(const char *spec, const char *arch, enum err_kind kind, const char *text)
{
	struct kernel_build *k = NULL;
	struct err e = {0};

	assert_true(kernel_fetch(&ku_ctx, spec, arch, &k, &e) < 0);
	ku_expect_error(&e, kind, text);
	assert_null(k);
	if (access(ku_store, F_OK) == 0) {
		assert_int_equal(ku_count(ku_store, ".tmp-"), 0);
		assert_int_equal(ku_count(ku_store, "debian-"), 0);
	}
}

static void test_the_newest_stock_kernel_of_the_series_is_taken(void **state)
{
	auto_kernel_build struct kernel_build *k = fetch("debian:9.1");
	auto_free char *image = xasprintf("%s/image", k->dir);
	auto_free char *builtin = xasprintf("%s/modules/modules.builtin", k->dir);

	(void)state;
	assert_string_equal(k->name, "debian-" NEW_RELEASE);
	assert_string_equal(k->release, NEW_RELEASE);
	assert_string_equal(k->package_version, "9.1.80-1~deb12u1");
	assert_string_equal(k->origin, "debian:9.1");
	assert_int_equal(access(image, R_OK), 0);
	assert_int_equal(access(builtin, R_OK), 0);
	assert_int_equal(ku_count(ku_store, ".tmp-"), 0);
}

static void test_the_headers_work_where_they_lie(void **state)
{
	auto_kernel_build struct kernel_build *k = fetch("debian:9.1");
	auto_free char *moved = ku_path("elsewhere");
	auto_free char *headers = xasprintf("%s/headers", moved);
	const char *const argv[] = {"make", "--no-print-directory", "-C", headers, NULL};
	auto_free char *said = NULL;

	(void)state;
	assert_int_equal(rename(k->dir, moved), 0);
	said = ku_run(argv);
	assert_non_null(strstr(said, "elsewhere/devel/usr/src/linux-headers-" NEW_RELEASE "\n"));
}

static void test_the_same_version_is_not_fetched_twice(void **state)
{
	auto_kernel_build struct kernel_build *a = fetch("debian:9.1");
	auto_kernel_build struct kernel_build *b = NULL;

	(void)state;
	ku_said[0] = '\0';
	b = fetch("debian:" NEW_RELEASE);
	assert_string_equal(a->dir, b->dir);
	assert_true(a->added_wall_ns == b->added_wall_ns);
	assert_string_equal(ku_said, "");
}

static void test_another_version_of_a_release_gets_a_name_of_its_own(void **state)
{
	auto_kernel_build struct kernel_build *a = fetch("debian:9.1");
	auto_kernel_build struct kernel_build *b = NULL;
	auto_free char *json = xasprintf("%s/kernel.json", a->dir);
	struct err e = {0};

	(void)state;
	free(a->package_version);
	a->package_version = xstrdup("9.1.79-1");
	assert_int_equal(kernel_build_save(a, a->dir, &e), 0);
	b = fetch("debian:9.1");
	assert_string_equal(b->name, "debian-" NEW_RELEASE "_9.1.80-1.deb12u1");
	assert_int_equal(access(json, F_OK), 0);
}

static void test_a_cached_file_that_was_cut_short_is_fetched_again(void **state)
{
	auto_free char *cached =
		ku_path("cache/downloads/linux-image-" NEW_RELEASE "_9.1.80-1~deb12u1_amd64.deb");
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *expected = NULL;
	struct stat st;

	(void)state;
	kernel_build_free(fetch("debian:9.1"));
	assert_int_equal(stat(cached, &st), 0);
	assert_int_equal(truncate(cached, 100), 0);
	assert_int_equal(empty_store(NULL), 0);
	k = fetch("debian:9.1");
	expected = xasprintf("%s: %lld bytes expected, got 100; fetching it again", cached,
			     (long long)st.st_size);
	if (!strstr(ku_said, expected))
		fail_msg("'%s' lacks '%s'", ku_said, expected);
}

static void test_a_file_that_is_not_what_the_index_says_is_refused(void **state)
{
	auto_free char *deb = ku_path("repo/linux-image-9.10.3-amd64_amd64.deb");
	auto_free char *cached =
		ku_path("cache/downloads/linux-image-9.10.3-amd64_9.10.3-1_amd64.deb");
	struct stat st;

	(void)state;
	assert_int_equal(stat(deb, &st), 0);
	assert_int_equal(truncate(deb, st.st_size - 100), 0);
	expect_failure("debian:9.10", "x86_64", ERR_RIG,
		       "fetching linux-image-9.10.3-amd64_9.10.3-1_amd64.deb");
	assert_int_equal(access(cached, F_OK), -1);
}

static void test_a_missing_header_package_leaves_no_build(void **state)
{
	(void)state;
	expect_failure("debian:9.1.0-9-amd64", "x86_64", ERR_USAGE,
		       "the package registry has no package linux-headers-9.1.0-9-amd64 for amd64");
}

static void test_bad_specs_are_refused_with_what_they_are(void **state)
{
	(void)state;
	expect_failure("9.1", NULL, ERR_USAGE, "kernel '9.1': only debian:SERIES can be fetched");
	expect_failure("debian:", NULL, ERR_USAGE, "'' is not a kernel series");
	expect_failure("debian:new", NULL, ERR_USAGE, "'new' is not a kernel series");
	expect_failure("debian:6.1/../x", NULL, ERR_USAGE, "'6.1/../x' is not a kernel series");
	expect_failure("debian:9.1", "riscv64", ERR_USAGE, "arch 'riscv64'");
	expect_failure("debian:8.8", "x86_64", ERR_USAGE,
		       "the package registry has no kernel 8.8 for amd64");
}

static void test_a_registry_out_of_reach_is_said_to_be_the_reason(void **state)
{
	auto_free char *cache = ku_path("cache-offline");
	auto_free char *old = ku_path("cache");
	auto_free char *repo = ku_path("repo");
	auto_free char *away = ku_path("repo-away");

	(void)state;
	setenv("STALLRIG_CACHE", cache, 1);
	assert_int_equal(rename(repo, away), 0);
	expect_failure("debian:9.1", "x86_64", ERR_RIG, "its index could not be fetched");
	assert_int_equal(rename(away, repo), 0);
	setenv("STALLRIG_CACHE", old, 1);
}

/* The file of a package for arm64 with its own name as its content. */
static void put_foreign(const char *root, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", root, name);

	ku_puts(path, name);
}

static void expect_foreign(const char *dir, const char *name, const char *content)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err e = {0};

	if (file_read(path, 4096, &text, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(strbuf_str(&text), content);
}

/* With this machine's own ldd and dpkg; env and libc are on each Debian. */
static void make_env_for_arm64(void)
{
	static const char env[] = "/usr/bin/env";
	static const char libc[] = "lib/aarch64-linux-gnu/libc.so.6";
	static const char loader[] = "lib/ld-linux-aarch64.so.1";
	auto_free char *own = ku_path("own/env");
	auto_free char *all = xasprintf("bin/env\n%s\n%s\n", libc, loader);
	auto_free char *programs = ku_path("cache/programs/arm64");
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	char *first = NULL, *again = NULL;
	struct err e = {0};

	put_foreign("coreutils-arm64", "usr/bin/env");
	put_foreign("libc6-arm64", libc);
	put_foreign("libc6-arm64", loader);
	add_to_registry("coreutils-arm64", "coreutils", "9.1-1", "arm64", "libc6");
	add_to_registry("libc6-arm64", "libc6", "2.36-9", "arm64", "");

	if (foreign_program_ensure(&ku_ctx, "arm64", env, &first, &e) < 0)
		fail_msg("%s", e.text);
	expect_foreign(first, "files", all);
	expect_foreign(first, "bin/env", "usr/bin/env");
	expect_foreign(first, libc, libc);
	expect_foreign(first, loader, loader);

	ku_said[0] = '\0';
	assert_int_equal(foreign_program_ensure(&ku_ctx, "arm64", env, &again, &e), 0);
	assert_string_equal(again, first);
	assert_string_equal(ku_said, "");
	free(first);
	free(again);

	/* somebody's own program is in no package */
	assert_int_equal(file_read(env, PROGRAM_MAX, &bytes, &e), 0);
	strbuf_adds(&bytes, "\n"); /* another digest */
	ku_put("own/env", bytes.data, bytes.len);
	assert_int_equal(chmod(own, 0755), 0);
	assert_int_equal(foreign_program_ensure(&ku_ctx, "arm64", own, &first, &e), -ENOENT);
	ku_expect_error(&e, ERR_RIG, "program '/");
	ku_expect_error(&e, ERR_RIG, "' is not in the packages that this machine has it from");
	assert_int_equal(ku_count(programs, ".tmp-"), 0);
	assert_int_equal(ku_count(programs, "env-"), 1);
}

static void test_a_program_for_another_arch_is_out_of_the_same_packages(void **state)
{
	(void)state;
	if (strcmp(kernels_host_arch(), "x86_64") != 0)
		skip();
	make_env_for_arm64();
}

static void test_two_fetches_at_once_make_one_build(void **state)
{
	pid_t pids[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct kernel_build *k = NULL;
			struct err e = {0};
			int r = kernel_fetch(&ku_ctx, "debian:9.1", "x86_64", &k, &e);

			_exit(r < 0 || strcmp(k->name, "debian-" NEW_RELEASE) != 0);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(ku_count(ku_store, "debian-"), 1);
	assert_int_equal(ku_count(ku_store, ".tmp-"), 0);
}

static void test_a_full_disk_is_named_and_leaves_nothing(void **state)
{
	auto_free char *small = ku_path("small");
	auto_free char *store = ku_path("small/store");
	const struct kernels_ctx ctx = {.store = store, .w = ku_ctx.w};
	struct kernel_build *k = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(dir_make(small, &e), 0);
	/* 16 KiB hold the folders, not the files; needs the right to mount */
	if (mount("tmpfs", small, "tmpfs", 0, "size=16k") < 0) {
		assert_int_equal(errno, EPERM);
		/* skip() leaves by longjmp: what cleans up by itself must be gone before */
		free(take(small));
		free(take(store));
		skip();
	}
	assert_true(kernel_fetch(&ctx, "debian:9.1", "x86_64", &k, &e) < 0);
	if (ku_count(store, "debian-") || ku_count(store, ".tmp-"))
		e.kind = ERR_NONE;
	assert_int_equal(umount(small), 0);
	ku_expect_error(&e, ERR_INTERNAL, "no space left on the disk of");
	ku_expect_error(&e, ERR_INTERNAL, "linux-image-" NEW_RELEASE);
	assert_int_equal(e.code, ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_newest_stock_kernel_of_the_series_is_taken,
				       empty_store),
		cmocka_unit_test_setup(test_the_headers_work_where_they_lie, empty_store),
		cmocka_unit_test_setup(test_the_same_version_is_not_fetched_twice, empty_store),
		cmocka_unit_test_setup(test_another_version_of_a_release_gets_a_name_of_its_own,
				       empty_store),
		cmocka_unit_test_setup(test_a_cached_file_that_was_cut_short_is_fetched_again,
				       empty_store),
		cmocka_unit_test_setup(test_a_file_that_is_not_what_the_index_says_is_refused,
				       empty_store),
		cmocka_unit_test_setup(test_a_missing_header_package_leaves_no_build, empty_store),
		cmocka_unit_test_setup(test_bad_specs_are_refused_with_what_they_are, empty_store),
		cmocka_unit_test_setup(test_a_registry_out_of_reach_is_said_to_be_the_reason,
				       empty_store),
		cmocka_unit_test(test_a_program_for_another_arch_is_out_of_the_same_packages),
		cmocka_unit_test_setup(test_two_fetches_at_once_make_one_build, empty_store),
		cmocka_unit_test_setup(test_a_full_disk_is_named_and_leaves_nothing, empty_store),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
