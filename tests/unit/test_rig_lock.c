/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "../../controller/rig/lock.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>

struct fixture {
	char *dir;
	char *path;
	struct waiter *w;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	f->path = xasprintf("%s/locks/r1", f->dir);
	f->w = waiter_new(NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	waiter_free(f->w);
	free(f->path);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

/* A process that takes the lock, reports it and keeps it until it is killed. */
static pid_t start_holder(const struct fixture *f)
{
	char byte = 0;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rig_lock *lock = NULL;

		if (lock_take(f->path, "rig 'r1'", f->w, 0, &lock, NULL) == 0)
			(void)!write(p[1], "x", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	close(p[0]);
	close(p[1]);
	return pid;
}

static void test_a_held_lock_names_its_holder(void **state)
{
	struct fixture *f = *state;
	auto_lock struct rig_lock *lock = NULL;
	pid_t pid = start_holder(f);
	auto_free char *who = xasprintf("rig 'r1' is in use by pid %ld since 2", (long)pid);
	struct err e = {0};

	assert_int_equal(lock_take(f->path, "rig 'r1'", f->w, 0, &lock, &e), -EBUSY);
	assert_null(lock);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.text, who);
	assert_contains(e.text, "test_rig_lock");

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_the_lock_is_free_after_its_holder_was_killed(void **state)
{
	struct fixture *f = *state;
	auto_lock struct rig_lock *lock = NULL;
	pid_t pid = start_holder(f);
	struct err e = {0};

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	assert_int_equal(lock_take(f->path, "rig 'r1'", f->w, 0, &lock, &e), 0);
}

static void test_a_waiting_process_gets_the_lock_when_its_holder_ends(void **state)
{
	struct fixture *f = *state;
	auto_lock struct rig_lock *lock = NULL;
	pid_t holder = start_holder(f);
	struct err e = {0};
	pid_t killer;

	killer = fork();
	assert_true(killer >= 0);
	if (killer == 0) {
		(void)usleep(150000);
		(void)kill(holder, SIGKILL);
		_exit(0);
	}
	assert_int_equal(lock_take(f->path, "rig 'r1'", f->w, 30 * NSEC_PER_SEC, &lock, &e), 0);

	assert_int_equal(waitpid(killer, NULL, 0), killer);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
}

struct fake {
	nsec_t now;
	unsigned waits;
};

static nsec_t fake_now(void *self)
{
	return ((struct fake *)self)->now;
}

static int fake_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	struct fake *clock = self;

	(void)fds;
	(void)n;
	if (until_ns > clock->now) {
		clock->now = until_ns;
		clock->waits++;
	}
	return 0;
}

static void test_waiting_ends_at_its_limit(void **state)
{
	struct fixture *f = *state;
	struct fake clock = {.now = 1};
	const struct waiter_ops ops = {.now = fake_now, .poll = fake_poll, .self = &clock};
	auto_waiter struct waiter *w = waiter_new(&ops);
	auto_lock struct rig_lock *first = NULL;
	struct rig_lock *second = NULL;
	struct err e = {0};

	assert_int_equal(lock_take(f->path, "rig 'r1'", w, 0, &first, &e), 0);
	assert_int_equal(clock.waits, 0);

	assert_int_equal(lock_take(f->path, "rig 'r1'", w, 950 * NSEC_PER_MSEC, &second, &e),
			 -EBUSY);
	assert_int_equal(clock.now, 1 + 950 * NSEC_PER_MSEC);
	assert_int_equal(clock.waits, 10);
}

static void test_a_folder_that_cannot_be_made_is_named(void **state)
{
	struct fixture *f = *state;
	struct rig_lock *lock = NULL;
	struct err e = {0};

	assert_int_equal(lock_take("/proc/no/r1", "rig 'r1'", f->w, 0, &lock, &e), -ENOENT);
	assert_contains(e.text, "/proc/no");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_held_lock_names_its_holder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_lock_is_free_after_its_holder_was_killed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_waiting_process_gets_the_lock_when_its_holder_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waiting_ends_at_its_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_folder_that_cannot_be_made_is_named, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
