/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "jump_clock.h"
#include "rig/switch.h"
#include "unit.h"

/* A switch that does what it is told, after 5 ms. */
struct toy {
	struct waiter *w;
	enum switch_state state;
	unsigned sets;
	unsigned closes;
	bool is_broken;
};

static int toy_set(void *self, enum switch_state state, nsec_t deadline_ns,
		   struct switch_change *ret, struct err *e)
{
	struct toy *t = self;

	(void)deadline_ns;
	assert_int_equal(t->closes, 0);
	t->sets++;
	if (t->is_broken)
		return err_set(e, ERR_RIG, EIO, "does not click");
	assert_int_equal(waiter_sleep(t->w, 5 * NSEC_PER_MSEC, e), 0);
	t->state = state;
	ret->applied_ns = waiter_now(t->w);
	return 0;
}

static enum switch_state toy_get(void *self)
{
	return ((struct toy *)self)->state;
}

static void toy_close(void *self)
{
	((struct toy *)self)->closes++;
}

static const struct switch_ops toy_ops = {
	.driver = "toy", .set = toy_set, .get = toy_get, .sense = NULL, .close = toy_close};

struct fixture {
	nsec_t now;
	struct waiter *w;
	struct toy toy;
	struct stick_switch *sw;
};

static const struct switch_limits limits = {
	.min_off_ns = 200 * NSEC_PER_MSEC,
	.settle_ns = 30 * NSEC_PER_MSEC,
	.max_cycles = 2,
	.safe = SWITCH_UNKNOWN,
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	const struct waiter_ops ops = {
		.now = jump_clock_now, .poll = jump_clock_poll, .self = &f->now};

	f->now = NSEC_PER_SEC;
	f->w = waiter_new(&ops);
	f->toy = (struct toy){.w = f->w, .state = SWITCH_ON};
	f->sw = switch_new("stick0", &toy_ops, &f->toy, &limits, f->w);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	switch_close(f->sw);
	assert_int_equal(f->toy.closes, 1);
	waiter_free(f->w);
	free(f);
	return 0;
}

static void test_a_change_reports_its_times_and_settles(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};
	struct err e = {0};

	assert_int_equal(switch_set(f->sw, SWITCH_OFF, NSEC_FOREVER, &change, &e), 0);

	assert_int_equal(change.asked_ns, NSEC_PER_SEC);
	assert_int_equal(change.applied_ns, NSEC_PER_SEC + 5 * NSEC_PER_MSEC);
	assert_false(change.is_sensed);
	assert_int_equal(f->now, NSEC_PER_SEC + 35 * NSEC_PER_MSEC);
	assert_int_equal(switch_get(f->sw), SWITCH_OFF);
	assert_int_equal(switch_cycles(f->sw), 1);
}

static void test_a_state_that_is_there_already_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {.applied_ns = 1};
	struct err e = {0};

	assert_int_equal(switch_set(f->sw, SWITCH_ON, NSEC_FOREVER, &change, &e), 0);
	assert_int_equal(change.applied_ns, 0);
	assert_int_equal(f->toy.sets, 0);
	assert_int_equal(f->now, NSEC_PER_SEC);

	/* an unknown state is no state that is there already */
	f->toy.state = SWITCH_UNKNOWN;
	assert_int_equal(switch_set(f->sw, SWITCH_ON, NSEC_FOREVER, NULL, &e), 0);
	assert_int_equal(f->toy.sets, 1);
}

static void test_switching_on_waits_for_the_minimum_off_time(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};
	struct err e = {0};

	assert_int_equal(switch_set(f->sw, SWITCH_OFF, NSEC_FOREVER, NULL, &e), 0);
	assert_int_equal(switch_set(f->sw, SWITCH_ON, NSEC_FOREVER, &change, &e), 0);

	/* off since 1.005 s; the settle time counts into the off time */
	assert_int_equal(change.asked_ns, NSEC_PER_SEC + 205 * NSEC_PER_MSEC);
}

static void test_a_deadline_inside_the_off_time_is_refused_at_once(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	assert_int_equal(switch_set(f->sw, SWITCH_OFF, NSEC_FOREVER, NULL, &e), 0);
	assert_int_equal(switch_set(f->sw, SWITCH_ON, f->now + NSEC_PER_MSEC, NULL, &e),
			 -ETIMEDOUT);

	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "switch 'stick0' on: ");
	assert_contains(e.text, "minimum off time of 200 ms");
	assert_int_equal(f->toy.sets, 1);
	assert_int_equal(f->now, NSEC_PER_SEC + 35 * NSEC_PER_MSEC);
}

static void test_the_cycle_budget_is_exact(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(switch_set(f->sw, SWITCH_OFF, NSEC_FOREVER, NULL, &e), 0);
		assert_int_equal(switch_set(f->sw, SWITCH_ON, NSEC_FOREVER, NULL, &e), 0);
	}
	assert_int_equal(switch_set(f->sw, SWITCH_OFF, NSEC_FOREVER, NULL, &e), -EDQUOT);

	assert_string_equal(e.text, "switch 'stick0' off: worn out: the switch was cut 2 times, "
				    "max_cycles is 2");
	assert_int_equal(switch_cycles(f->sw), 2);
	assert_int_equal(switch_get(f->sw), SWITCH_ON);
}

static void test_cycles_of_former_uses_count(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	for (uint64_t before = 0; before <= 4; before++) {
		struct switch_limits l = {
			.max_cycles = 3, .cycles_before = before, .worn = "stick 'S1'"};
		struct toy toy = {.w = f->w, .state = SWITCH_ON};
		struct stick_switch *sw = switch_new("s", &toy_ops, &toy, &l, f->w);

		while (switch_set(sw, SWITCH_OFF, NSEC_FOREVER, NULL, &e) >= 0)
			assert_int_equal(switch_set(sw, SWITCH_ON, NSEC_FOREVER, NULL, &e), 0);
		assert_int_equal(e.kind, ERR_RIG);
		assert_int_equal(e.code, EDQUOT);
		assert_int_equal(switch_cycles(sw), before < 3 ? 3 - before : 0);
		assert_contains(e.text, before == 4
						? "stick 'S1' was cut 4 times, max_cycles is 3"
						: "stick 'S1' was cut 3 times, max_cycles is 3");
		l.safe = SWITCH_UNKNOWN;
		switch_keep(sw);
		switch_close(sw);
	}
}

static void test_a_failed_cut_counts_as_a_cycle(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {.applied_ns = 7};
	struct err e = {0};

	f->toy.is_broken = true;
	assert_int_equal(switch_set(f->sw, SWITCH_OFF, NSEC_FOREVER, &change, &e), -EIO);

	assert_string_equal(e.text, "switch 'stick0' off: does not click");
	assert_int_equal(change.applied_ns, 7);
	assert_int_equal(switch_cycles(f->sw), 1);
}

static void test_what_is_no_state_is_refused(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	assert_int_equal(switch_set(f->sw, SWITCH_UNKNOWN, NSEC_FOREVER, NULL, &e), -EINVAL);
	assert_int_equal(f->toy.sets, 0);
}

static void test_a_driver_without_sense_senses_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(switch_sense(f->sw), SWITCH_UNKNOWN);
	assert_string_equal(switch_name(f->sw), "stick0");
	assert_ptr_equal(switch_driver(f->sw), &toy_ops);
	switch_close(NULL);
}

static void test_closing_leaves_the_safe_state_whatever_the_limits(void **state)
{
	static const struct {
		enum switch_state safe, before;
		bool is_kept;
		unsigned sets;
		enum switch_state after;
	} cases[] = {
		{SWITCH_OFF, SWITCH_ON, false, 1, SWITCH_OFF},
		{SWITCH_OFF, SWITCH_OFF, false, 0, SWITCH_OFF},
		{SWITCH_OFF, SWITCH_UNKNOWN, false, 1, SWITCH_OFF},
		{SWITCH_ON, SWITCH_OFF, false, 1, SWITCH_ON},
		{SWITCH_UNKNOWN, SWITCH_ON, false, 0, SWITCH_ON},
		{SWITCH_OFF, SWITCH_ON, true, 0, SWITCH_ON},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct switch_limits l = {.min_off_ns = NSEC_PER_SEC, .safe = cases[i].safe};
		struct toy toy = {.w = f->w, .state = cases[i].before};
		struct stick_switch *sw = switch_new("s", &toy_ops, &toy, &l, f->w);

		if (cases[i].is_kept)
			switch_keep(sw);
		switch_close(sw);
		assert_int_equal(toy.sets, cases[i].sets);
		assert_int_equal(toy.state, cases[i].after);
		assert_int_equal(toy.closes, 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_change_reports_its_times_and_settles),
		TEST(test_a_state_that_is_there_already_is_left_alone),
		TEST(test_switching_on_waits_for_the_minimum_off_time),
		TEST(test_a_deadline_inside_the_off_time_is_refused_at_once),
		TEST(test_the_cycle_budget_is_exact),
		TEST(test_cycles_of_former_uses_count),
		TEST(test_a_failed_cut_counts_as_a_cycle),
		TEST(test_what_is_no_state_is_refused),
		TEST(test_a_driver_without_sense_senses_nothing),
		TEST(test_closing_leaves_the_safe_state_whatever_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
