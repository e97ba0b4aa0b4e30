/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_store.c - what can happen to an SQLite file; the rest is tests/contract's. */
/* ctest: store */
#include "store_util.h"

#include <sqlite3.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	(void)snprintf(f->path, sizeof(f->path), "%s/results.db", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void put_file(const char *path, const void *bytes, size_t n, off_t at)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
}

/* Changes a store behind its back. */
static void tamper(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* ---- files that are not what they should be ---- */

static void test_reading_what_is_not_there_says_so_and_makes_nothing(void **state)
{
	struct fixture *f = *state;
	char missing[128];

	expect_open_fails(f, f->path, STORE_READ, ENOENT, "No such file");
	assert_int_equal(access(f->path, F_OK), -1);
	(void)snprintf(missing, sizeof(missing), "%s/no/results.db", f->dir);
	expect_open_fails(f, missing, STORE_WRITE, ENOENT, "No such file");
	expect_open_fails(f, f->dir, STORE_WRITE, EINVAL, "not a regular file");
	expect_open_fails(f, f->dir, STORE_READ, EINVAL, "not a regular file");

	struct store *st = NULL;

	assert_int_equal(store_open("", STORE_WRITE, &st, &f->e), -EINVAL);
	assert_int_equal(f->e.kind, ERR_USAGE);
}

static void test_files_that_are_no_store_are_refused_and_left_alone(void **state)
{
	static const char text[] =
		"This is a file with some text in it, and it is long enough to be "
		"taken for the header of a database of one hundred bytes or more.\n";
	struct fixture *f = *state;
	auto_strbuf struct strbuf before = STRBUF_INIT;
	auto_strbuf struct strbuf after = STRBUF_INIT;

	put_file(f->path, text, sizeof(text), 0);
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "not an SQLite database");
	expect_open_fails(f, f->path, STORE_READ, EBADMSG, "not an SQLite database");

	(void)unlink(f->path);
	tamper(f->path, "CREATE TABLE shopping (item)");
	assert_ok(f, file_read(f->path, 1 << 20, &before, &f->e));
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "not one of stallrig");
	expect_open_fails(f, f->path, STORE_READ, EBADMSG, "not one of stallrig");
	assert_ok(f, file_read(f->path, 1 << 20, &after, &f->e));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void test_an_empty_file_becomes_a_store_only_for_a_writer(void **state)
{
	struct fixture *f = *state;
	struct store *st;

	put_file(f->path, "", 0, 0);
	expect_open_fails(f, f->path, STORE_READ, EBADMSG, "it is empty");
	st = open_store(f, STORE_WRITE);
	assert_int_equal(store_schema_version(st), 6);
	assert_string_equal(store_location(st), f->path);
	store_close(st);
	st = open_store(f, STORE_READ);
	assert_int_equal(store_schema_version(st), 6);
	store_close(st);
}

static void test_a_damaged_file_is_called_damaged(void **state)
{
	struct fixture *f = *state;
	struct run **runs = NULL;
	struct store *store;
	char junk[4096];
	struct stat sb;
	size_t n = 0;

	auto_run struct run *r = make_run(SEED, "r", 9, 30);

	store = open_store(f, STORE_WRITE);
	write_run(f, store, r);
	store_close(store);
	memset(junk, 0xA5, sizeof(junk));
	assert_int_equal(stat(f->path, &sb), 0);
	/* the schema lies in the first half */
	for (off_t at = sb.st_size / 2 / 4096 * 4096; at < sb.st_size; at += 4096)
		put_file(f->path, junk, sizeof(junk), at);

	auto_store struct store *st = open_store(f, STORE_READ);

	assert_int_equal(store_runs(st, NULL, true, &runs, &n, &f->e), -EBADMSG);
	assert_int_equal(f->e.kind, ERR_STORE);
	assert_contains(f->e.text, f->path);
	assert_contains(f->e.text, "damaged");

	/* and one that lost its end */
	assert_int_equal(truncate(f->path, 5000), 0);
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "damaged");
}

static void become_nobody(struct fixture *f)
{
	if (geteuid() == 0)
		child_expect(f, setresuid(65534, 65534, 65534) == 0);
}

static void child_opens_read_only(struct fixture *f)
{
	struct store *st = NULL;

	become_nobody(f);
	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == -EROFS);
	child_expect(f, strstr(f->e.text, f->path) && strstr(f->e.text, "read-only"));

	/* WAL needs its files beside the store even for reading; the message has to say so */
	child_expect(f, store_open(f->path, STORE_READ, &st, &f->e) == -EACCES);
	child_expect(f, strstr(f->e.text, f->path) && strstr(f->e.text, "-shm"));
}

static void test_a_read_only_file_is_refused_for_writing(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	assert_int_equal(chmod(f->path, 0444), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	in_child(f, child_opens_read_only);
	assert_int_equal(chmod(f->dir, 0755), 0);
}

static void child_may_not_even_look(struct fixture *f)
{
	struct store *st = NULL;

	become_nobody(f);
	child_expect(f, store_open(f->path, STORE_READ, &st, &f->e) == -EACCES);
	child_expect(f, strstr(f->e.text, f->path) && strstr(f->e.text, "Permission denied"));
}

static void test_a_file_out_of_reach_is_refused(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	assert_int_equal(chmod(f->dir, 0), 0);
	in_child(f, child_may_not_even_look);
	assert_int_equal(chmod(f->dir, 0755), 0);
}

static void test_names_that_mean_something_to_sqlite_are_plain_files(void **state)
{
	static const char *const names[] = {":memory:", "file:x?mode=memory", "a b'c"};
	struct fixture *f = *state;
	int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(chdir(f->dir), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_store struct store *st = NULL;

		assert_ok(f, store_open(names[i], STORE_WRITE, &st, &f->e));
		assert_int_equal(access(names[i], F_OK), 0);
	}
	assert_int_equal(fchdir(back), 0);
	close(back);
}

static void test_the_default_store_lies_in_the_state_folder(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = NULL;
	char state_dir[96], path[128];

	(void)snprintf(state_dir, sizeof(state_dir), "%s/new/state", f->dir);
	(void)snprintf(path, sizeof(path), "%s/results.db", state_dir);
	assert_int_equal(setenv("STALLRIG_STATE", state_dir, 1), 0);

	assert_ok(f, store_open(NULL, STORE_WRITE, &st, &f->e));

	assert_string_equal(store_location(st), path);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unsetenv("STALLRIG_STATE"), 0);
}

/* ---- full disks ---- */

/* Adds trials until one fails; the code must be right and all before it must still be there. */
static void child_fills_the_store(struct fixture *f, struct store *st, struct run *r, int code)
{
	struct found found = {0};
	unsigned n = 0;
	int res = 0;

	while (res == 0 && n < 1000) {
		struct trial *t = make_trial(SEED, ++n, 50);

		res = store_trial_add(st, r, t, &f->e);
		trial_free(t);
	}
	child_expect(f, res == -code);
	child_expect(f, f->e.kind == ERR_STORE && strstr(f->e.text, store_location(st)));
	child_expect(f, store_runs(st, NULL, true, &found.runs, &found.n, &f->e) == 0);
	child_expect(f, found.n == 1 && found.runs[0]->n_trials == n - 1);
}

static void child_runs_into_the_file_size_limit(struct fixture *f)
{
	struct rlimit limit = {.rlim_cur = 600 << 10, .rlim_max = 600 << 10};
	struct run *r = make_run(SEED, "r", 0, 0);
	struct store *st = NULL;

	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_run_begin(st, r, &f->e) == 0);
	for (size_t i = 0; i < 2; i++)
		child_expect(f, store_boot_add(st, r, &r->boots[i], &f->e) == 0);
	child_expect(f, signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	child_expect(f, setrlimit(RLIMIT_FSIZE, &limit) == 0);
	child_fills_the_store(f, st, r, EIO);
	store_close(st);
}

static void test_a_file_that_may_not_grow_keeps_what_it_has(void **state)
{
	struct fixture *f = *state;

	in_child(f, child_runs_into_the_file_size_limit);

	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	assert_true(found.runs[0]->n_trials > 0);
}

static void child_runs_out_of_disk(struct fixture *f)
{
	struct run *r = make_run(SEED, "r", 0, 0);
	struct store *st = NULL;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", f->dir, "tmpfs", 0, "size=1m") < 0) {
		dprintf(STDERR_FILENO, "no right to mount a small file system: skipped\n");
		_exit(77);
	}

	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_run_begin(st, r, &f->e) == 0);
	for (size_t i = 0; i < 2; i++)
		child_expect(f, store_boot_add(st, r, &r->boots[i], &f->e) == 0);
	child_fills_the_store(f, st, r, ENOSPC);
	child_expect(f, strstr(f->e.text, "disk is full") || strstr(f->e.text, "No space left"));
	store_close(st);
}

static void test_a_full_disk_is_called_so_and_loses_no_finished_trial(void **state)
{
	in_child(*state, child_runs_out_of_disk);
}

/* ---- several processes ---- */

static void test_a_locked_store_is_reported_after_the_patience(void **state)
{
	struct fixture *f = *state;
	auto_run struct run *r = make_run(SEED, "late", 0, 0);
	sqlite3 *other;

	make_store(f);
	auto_store struct store *st = open_store(f, STORE_WRITE);

	assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	store_set_patience_ms(st, 20);

	assert_int_equal(store_run_begin(st, r, &f->e), -EBUSY);
	assert_contains(f->e.text, f->path);
	assert_contains(f->e.text, "more than 20 ms");

	/* readers do not care, and the writer goes on once the lock is gone */
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	assert_ok(f, store_run_begin(st, r, &f->e));
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_reading_what_is_not_there_says_so_and_makes_nothing),
		STORE_TEST(test_files_that_are_no_store_are_refused_and_left_alone),
		STORE_TEST(test_an_empty_file_becomes_a_store_only_for_a_writer),
		STORE_TEST(test_a_damaged_file_is_called_damaged),
		STORE_TEST(test_a_read_only_file_is_refused_for_writing),
		STORE_TEST(test_a_file_out_of_reach_is_refused),
		STORE_TEST(test_names_that_mean_something_to_sqlite_are_plain_files),
		STORE_TEST(test_the_default_store_lies_in_the_state_folder),
		STORE_TEST(test_a_file_that_may_not_grow_keeps_what_it_has),
		STORE_TEST(test_a_full_disk_is_called_so_and_loses_no_finished_trial),
		STORE_TEST(test_a_locked_store_is_reported_after_the_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
