/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "../../controller/rig/guard.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* A switch in memory that all processes share, so that it shows what the guardian did to it. */
struct pin {
	volatile enum switch_state state;
	volatile unsigned sets, opens, closes;
	volatile bool is_held, is_broken, is_slow, refuses_to_open;
};

static struct pin *pin;

static int pin_set(void *self, enum switch_state state, nsec_t deadline_ns,
		   struct switch_change *ret, struct err *e)
{
	struct waiter *w = self;

	pin->sets++;
	ret->asked_ns = waiter_now(w);
	if (pin->is_slow && state == SWITCH_ON) {
		int r = waiter_until(w, deadline_ns, NULL, NULL, e);

		if (r < 0)
			return r;
	}
	if (pin->is_broken)
		return err_set(e, ERR_RIG, EIO, "does not click");
	pin->state = state;
	ret->applied_ns = waiter_now(w);
	return 0;
}

static enum switch_state pin_get(void *self)
{
	(void)self;
	return pin->state;
}

static enum switch_state pin_sense(void *self)
{
	(void)self;
	return pin->state == SWITCH_ON ? SWITCH_OFF : SWITCH_ON; /* tells them apart */
}

static void pin_close(void *self)
{
	(void)self;
	pin->closes++;
	pin->is_held = false;
}

static const struct switch_ops pin_ops = {
	.driver = "pin",
	.caps = SWITCH_CAN_SENSE,
	.set = pin_set,
	.get = pin_get,
	.sense = pin_sense,
	.close = pin_close,
};

static int pin_open(const struct switch_cfg *cfg, struct waiter *w,
		    const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	(void)cfg;
	if (pin->refuses_to_open)
		return err_set(e, ERR_RIG, ENODEV, "there is no pin");
	pin->opens++;
	pin->is_held = true;
	*ret_ops = &pin_ops;
	*ret_self = w;
	return 0;
}

static const struct switch_cfg cfg = {.driver = (char *)(uintptr_t) "pin"};

struct fixture {
	struct waiter *w;
	const struct switch_ops *ops;
	void *self;
	struct err e;
};

static void open_guard(struct fixture *f)
{
	f->w = waiter_new(NULL);
	assert_int_equal(guard_open(pin_open, &cfg, SWITCH_OFF, -1, f->w, &f->ops, &f->self, &f->e),
			 0);
}

static int set(struct fixture *f, enum switch_state state)
{
	struct switch_change change = {0};

	f->e = (struct err){0};
	return f->ops->set(f->self, state, waiter_now(f->w) + 5 * NSEC_PER_SEC, &change, &f->e);
}

static int setup(void **state)
{
	(void)state;
	pin = mmap(NULL, sizeof(*pin), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pin, MAP_FAILED);
	pin->state = SWITCH_OFF;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(pin, sizeof(*pin));
}

/* Waits until the guardian has let go; how long that took. A busy machine is allowed for. */
static nsec_t wait_for_release(void)
{
	struct waiter *w = waiter_new(NULL);
	const nsec_t since_ns = waiter_now(w);
	struct err e = {0};
	nsec_t took_ns;

	while (pin->is_held && waiter_now(w) < since_ns + 20 * NSEC_PER_SEC)
		assert_int_equal(waiter_sleep(w, 5 * NSEC_PER_MSEC, &e), 0);
	took_ns = waiter_now(w) - since_ns;
	waiter_free(w);
	assert_false(pin->is_held);
	return took_ns;
}

static void test_calls_go_through_and_the_hardware_is_in_another_process(void **state)
{
	struct fixture f = {0};

	(void)state;
	open_guard(&f);
	assert_true(f.ops->caps & SWITCH_IS_GUARDED);
	assert_true(f.ops->caps & SWITCH_CAN_SENSE);
	assert_int_not_equal(guard_pid(f.self), getpid());

	assert_int_equal(set(&f, SWITCH_ON), 0);
	assert_int_equal(f.ops->get(f.self), SWITCH_ON);
	assert_int_equal(f.ops->sense(f.self), SWITCH_OFF);
	pin->is_broken = true;
	assert_int_equal(set(&f, SWITCH_OFF), -EIO);
	assert_string_equal(f.e.text, "does not click");
	pin->is_broken = false;
	assert_int_equal(set(&f, SWITCH_ON), 0);

	/* close() lets go of what is: the safe state is the facade's business */
	f.ops->close(f.self);
	assert_int_equal(pin->state, SWITCH_ON);
	assert_int_equal(pin->closes, 1);
	waiter_free(f.w);
}

static void test_an_error_of_opening_comes_through(void **state)
{
	struct fixture f = {.w = waiter_new(NULL)};

	(void)state;
	pin->refuses_to_open = true;
	assert_int_equal(guard_open(pin_open, &cfg, SWITCH_OFF, -1, f.w, &f.ops, &f.self, &f.e),
			 -ENODEV);
	assert_string_equal(f.e.text, "there is no pin");
	assert_int_equal(f.e.kind, ERR_RIG);
	waiter_free(f.w);
}

/* The controller as a process of its own: opens, switches on, says so, and stays. */
static pid_t start_controller(bool is_slow)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct fixture f = {0};

		open_guard(&f);
		close(ready[0]);
		pin->is_slow = is_slow;
		if (is_slow)
			(void)!write(ready[1], "!", 1);
		(void)set(&f, SWITCH_ON);
		(void)!write(ready[1], "!", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void test_the_death_of_the_controller_makes_it_safe(void **state)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGQUIT, SIGHUP};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		pid_t pid = start_controller(false);
		nsec_t took_ns;

		assert_int_equal(pin->state, SWITCH_ON);
		assert_int_equal(kill(pid, signals[i]), 0);
		took_ns = wait_for_release();
		(void)waitpid(pid, NULL, 0);
		assert_int_equal(pin->state, SWITCH_OFF);
		print_message("signal %d: safe after %.1f ms\n", signals[i],
			      (double)took_ns / (double)NSEC_PER_MSEC);
	}
}

/* The controller gets the signal while its change of 5 s goes on. */
static void assert_safe_after_signal_in_a_change(int signal)
{
	pid_t pid = start_controller(true);
	unsigned sets;

	while (!pin->sets)
		usleep(1000);
	sets = pin->sets;
	assert_int_equal(kill(pid, signal), 0);
	/* well before the 5 s that the change would have taken */
	assert_true(wait_for_release() < 4 * NSEC_PER_SEC);
	assert_int_equal(pin->state, SWITCH_OFF);
	assert_true(pin->sets > sets);
	/* one that is gone already is a zombie until it is waited for */
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)waitpid(pid, NULL, 0);
}

static void test_death_in_the_middle_of_a_change_makes_it_safe(void **state)
{
	(void)state;
	assert_safe_after_signal_in_a_change(SIGKILL);
}

static void test_a_controller_that_stands_still_loses_its_switch(void **state)
{
	pid_t pid = start_controller(false);
	nsec_t took_ns;

	(void)state;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	took_ns = wait_for_release();
	assert_int_equal(pin->state, SWITCH_OFF);
	assert_true(took_ns >= SWITCH_STOP_MAX_NS - 2 * SWITCH_LOOK_NS);
	print_message("stopped: safe after %.1f ms\n", (double)took_ns / (double)NSEC_PER_MSEC);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)waitpid(pid, NULL, 0);
}

static void test_standing_still_in_the_middle_of_a_change_loses_the_switch_too(void **state)
{
	(void)state;
	assert_safe_after_signal_in_a_change(SIGSTOP);
}

static void test_a_short_stop_is_forgiven_and_a_long_one_explained(void **state)
{
	struct fixture f = {0};
	pid_t helper;

	(void)state;
	open_guard(&f);
	assert_int_equal(set(&f, SWITCH_ON), 0);

	/* this process is the controller: somebody else must stop it and wake it up again */
	helper = fork();
	if (helper == 0) {
		(void)kill(getppid(), SIGSTOP);
		usleep(100000);
		(void)kill(getppid(), SIGCONT);
		_exit(0);
	}
	(void)waitpid(helper, NULL, 0);
	assert_int_equal(set(&f, SWITCH_ON), 0);
	assert_true(pin->is_held);

	helper = fork();
	if (helper == 0) {
		(void)kill(getppid(), SIGSTOP);
		while (pin->is_held)
			usleep(1000);
		(void)kill(getppid(), SIGCONT);
		_exit(0);
	}
	(void)waitpid(helper, NULL, 0);
	assert_int_equal(pin->state, SWITCH_OFF);
	assert_int_equal(set(&f, SWITCH_ON), -ETIMEDOUT);
	assert_contains(f.e.text, "the controller stood still for more than 500 ms");
	f.ops->close(f.self);
	waiter_free(f.w);
}

static void test_the_safe_state_is_tried_until_it_works(void **state)
{
	pid_t pid = start_controller(false);

	(void)state;
	pin->is_broken = true;
	pin->sets = 0;
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)waitpid(pid, NULL, 0);
	while (pin->sets < 2)
		usleep(1000);
	pin->is_broken = false;
	(void)wait_for_release();
	assert_int_equal(pin->state, SWITCH_OFF);
}

static void test_without_its_guardian_the_controller_makes_it_safe(void **state)
{
	struct fixture f = {0};

	(void)state;
	open_guard(&f);
	assert_int_equal(set(&f, SWITCH_ON), 0);
	assert_int_equal(kill(guard_pid(f.self), SIGTERM), 0); /* it does not care for that one */
	assert_int_equal(f.ops->get(f.self), SWITCH_ON);
	assert_int_equal(kill(guard_pid(f.self), SIGKILL), 0);

	assert_int_equal(set(&f, SWITCH_OFF), -EPIPE);
	assert_int_equal(f.e.kind, ERR_RIG);
	assert_contains(f.e.text, "was killed");
	assert_int_equal(f.ops->get(f.self), SWITCH_UNKNOWN);
	assert_int_equal(pin->state, SWITCH_ON);
	f.ops->close(f.self);
	assert_int_equal(pin->state, SWITCH_OFF);
	assert_int_equal(pin->opens, 2);
	waiter_free(f.w);
}

static void test_the_guardian_keeps_the_descriptor_that_it_is_given(void **state)
{
	struct fixture f = {.w = waiter_new(NULL)};
	int keep[2], other[2];
	char c;

	(void)state;
	assert_int_equal(pipe(keep), 0);
	assert_int_equal(pipe(other), 0);
	assert_int_equal(
		guard_open(pin_open, &cfg, SWITCH_OFF, keep[1], f.w, &f.ops, &f.self, &f.e), 0);
	close(keep[1]);
	close(other[1]);
	/* an end of file: the guardian does not have it */
	assert_int_equal(read(other[0], &c, 1), 0);
	assert_int_equal(fcntl(keep[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(keep[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	f.ops->close(f.self);
	assert_int_equal(read(keep[0], &c, 1), 0);
	close(keep[0]);
	close(other[0]);
	waiter_free(f.w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_calls_go_through_and_the_hardware_is_in_another_process),
		TEST(test_an_error_of_opening_comes_through),
		TEST(test_the_death_of_the_controller_makes_it_safe),
		TEST(test_death_in_the_middle_of_a_change_makes_it_safe),
		TEST(test_a_controller_that_stands_still_loses_its_switch),
		TEST(test_standing_still_in_the_middle_of_a_change_loses_the_switch_too),
		TEST(test_a_short_stop_is_forgiven_and_a_long_one_explained),
		TEST(test_the_safe_state_is_tried_until_it_works),
		TEST(test_without_its_guardian_the_controller_makes_it_safe),
		TEST(test_the_guardian_keeps_the_descriptor_that_it_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
