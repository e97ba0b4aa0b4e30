/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: bisect */
#include "base/fdio.h"
#include "bisect/journal.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char dir[] = "/tmp/test-journal-XXXXXX";
static char *path;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	path = xasprintf("%s/journal.jsonl", dir);
	return 0;
}

static int tear_down(void **state)
{
	struct err e = {0};

	(void)state;
	free(path);
	return dir_remove(dir, &e);
}

static int fresh(void **state)
{
	(void)state;
	(void)unlink(path);
	return 0;
}

static struct journal *open_ok(bool is_writer)
{
	struct journal *j = NULL;
	struct err e = {0};

	if (journal_open(path, is_writer, &j, &e) < 0)
		fail_msg("%s", e.text);
	return j;
}

static void add(struct journal *j, int n)
{
	struct err e = {0};

	if (journal_append(j, json_pack("{s:i}", "n", n), &e) < 0)
		fail_msg("%s", e.text);
}

static void put(const char *text)
{
	struct err e = {0};

	assert_int_equal(file_write_atomic(path, text, strlen(text), &e), 0);
}

static void test_records_come_back_in_order_with_their_numbers(void **state)
{
	auto_journal struct journal *j = open_ok(true);
	auto_journal struct journal *k = NULL;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(j, i);
	k = open_ok(false);
	assert_int_equal(journal_n(k), 100);
	for (size_t i = 0; i < 100; i++) {
		const json_t *o = journal_at(k, i);

		assert_int_equal(json_integer_value(json_object_get(o, "n")), i);
		assert_int_equal(json_integer_value(json_object_get(o, "seq")), i + 1);
		assert_non_null(json_string_value(json_object_get(o, "wall")));
	}
}

static void test_a_line_cut_short_is_dropped_wherever_it_was_cut(void **state)
{
	static const char whole[] = "{\"n\":1}\n{\"n\":2}\n";

	(void)state;
	for (size_t cut = 8; cut < sizeof(whole) - 1; cut++) {
		auto_free char *text = xasprintf("%.*s", (int)cut, whole);
		auto_journal struct journal *j = NULL;
		auto_journal struct journal *again = NULL;

		put(text);
		j = open_ok(true);
		assert_int_equal(journal_n(j), 1);
		add(j, 3);
		journal_close(take(j));
		again = open_ok(false);
		assert_int_equal(journal_n(again), 2);
		assert_int_equal(json_integer_value(json_object_get(journal_at(again, 1), "n")), 3);
	}
}

static void test_a_damaged_line_in_the_middle_is_named(void **state)
{
	static const char *const bad[] = {"{\"n\":1}\n{\"n\":\n{\"n\":2}\n",
					  "{\"n\":1}\n[1]\n{\"n\":2}\n",
					  "{\"n\":1}\n\n{\"n\":2}\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct journal *j = NULL;
		struct err e = {0};

		put(bad[i]);
		assert_int_equal(journal_open(path, false, &j, &e), -EBADMSG);
		assert_int_equal(e.kind, ERR_STORE);
		assert_non_null(strstr(e.text, "journal.jsonl:2:"));
	}
}

static void test_one_writer_at_a_time_and_its_process_is_named(void **state)
{
	auto_journal struct journal *j = open_ok(true);
	struct journal *other = NULL;
	auto_free char *who = xasprintf("process %ld", (long)getpid());
	struct err e = {0};

	(void)state;
	assert_int_equal(journal_open(path, true, &other, &e), -EBUSY);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, who));
	assert_int_equal(journal_holder(path), getpid());
	journal_close(take(j));
	assert_int_equal(journal_holder(path), 0);
}

static void test_a_full_disk_adds_nothing(void **state)
{
	auto_journal struct journal *j = NULL;
	struct err e = {0};
	pid_t pid;
	int status = 0;

	(void)state;
	/* a limit of the process stands for the disk's; it cannot be taken back, hence the fork */
	j = open_ok(true);
	add(j, 1);
	journal_close(take(j));
	pid = fork();
	if (pid == 0) {
		struct rlimit limit = {40, 40};
		struct journal *k = NULL;

		(void)signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || journal_open(path, true, &k, &e) < 0)
			_exit(2);
		_exit(journal_append(k, json_pack("{s:i}", "n", 2), &e) == -EFBIG &&
				      journal_n(k) == 1
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	j = open_ok(true);
	assert_int_equal(journal_n(j), 1);
	add(j, 2);
	assert_int_equal(journal_n(j), 2);
}

static void test_a_record_that_is_too_long_is_refused(void **state)
{
	auto_journal struct journal *j = open_ok(true);
	auto_free char *text = xcalloc(JOURNAL_LINE_MAX + 1, 1);
	struct err e = {0};

	(void)state;
	memset(text, 'x', JOURNAL_LINE_MAX);
	assert_int_equal(journal_append(j, json_pack("{s:s}", "t", text), &e), -E2BIG);
	text[JOURNAL_LINE_MAX - 100] = '\0';
	assert_int_equal(journal_append(j, json_pack("{s:s}", "t", text), &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_records_come_back_in_order_with_their_numbers, fresh),
		cmocka_unit_test_setup(test_a_line_cut_short_is_dropped_wherever_it_was_cut, fresh),
		cmocka_unit_test_setup(test_a_damaged_line_in_the_middle_is_named, fresh),
		cmocka_unit_test_setup(test_one_writer_at_a_time_and_its_process_is_named, fresh),
		cmocka_unit_test_setup(test_a_full_disk_adds_nothing, fresh),
		cmocka_unit_test_setup(test_a_record_that_is_too_long_is_refused, fresh),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
