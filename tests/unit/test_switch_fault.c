/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "jump_clock.h"
#include "rig/faults.h"
#include "unit.h"

/* The true state of the stick. */
struct toy {
	struct waiter *w;
	enum switch_state state;
	unsigned sets, closes;
};

static int toy_set(void *self, enum switch_state state, nsec_t deadline_ns,
		   struct switch_change *ret, struct err *e)
{
	struct toy *t = self;

	(void)deadline_ns;
	(void)e;
	/* QEMU would refuse a second plug or unplug */
	assert_int_not_equal(t->state, state);
	t->sets++;
	t->state = state;
	ret->asked_ns = ret->applied_ns = waiter_now(t->w);
	ret->is_sensed = true;
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

static const struct switch_ops toy_ops = {.driver = "toy",
					  .caps = SWITCH_CAN_SENSE | SWITCH_IS_TIMED,
					  .set = toy_set,
					  .get = toy_get,
					  .sense = toy_get,
					  .close = toy_close};

struct fixture {
	nsec_t now;
	struct waiter *w;
	struct toy toy;
	const struct switch_ops *ops;
	void *self;
	struct switch_faults faults;
	struct switch_fault_state state;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	const struct waiter_ops ops = {
		.now = jump_clock_now, .poll = jump_clock_poll, .self = &f->now};

	f->now = NSEC_PER_SEC;
	f->w = waiter_new(&ops);
	f->toy = (struct toy){.w = f->w, .state = SWITCH_ON};
	f->ops = &toy_ops;
	f->self = &f->toy;
	*state = f;
	return 0;
}

static void wrap(struct fixture *f, const char *text)
{
	struct rig_faults all;
	struct err e = {0};

	if (rig_faults_parse(text, &all, &e) < 0)
		fail_msg("%s", e.text);
	f->faults = all.stick_switch;
	switch_fault_init(&f->state, &f->faults);
	switch_fault_wrap(&f->ops, &f->self, &f->faults, &f->state, f->w);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->ops->close(f->self);
	assert_int_equal(f->toy.closes, 1);
	waiter_free(f->w);
	free(f);
	return 0;
}

static int set(struct fixture *f, enum switch_state to, struct switch_change *ret)
{
	struct err e = {0};

	return f->ops->set(f->self, to, NSEC_FOREVER, ret, &e);
}

static void test_without_faults_everything_is_passed_on(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "seed=1");
	assert_string_equal(f->ops->driver, "toy");
	assert_int_equal(f->ops->caps, toy_ops.caps);

	assert_int_equal(set(f, SWITCH_OFF, &change), 0);
	assert_int_equal(f->toy.state, SWITCH_OFF);
	assert_true(change.is_sensed);
	assert_int_equal(f->state.sets, 1);
	assert_int_equal(f->state.failed + f->state.lied + f->state.late, 0);
}

static void test_a_lie_claims_the_change_and_sense_tells_the_truth(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "lie=1");
	assert_int_equal(set(f, SWITCH_OFF, &change), 0);

	assert_int_equal(change.applied_ns, NSEC_PER_SEC);
	assert_false(change.is_sensed);
	assert_int_equal(f->ops->get(f->self), SWITCH_OFF);
	assert_int_equal(f->ops->sense(f->self), SWITCH_ON);
	assert_int_equal(f->toy.sets, 0);
	assert_int_equal(f->state.lied, 1);

	/* honest again: the stick was never out, so there is nothing to plug in */
	f->faults.lie = 0;
	assert_int_equal(set(f, SWITCH_ON, &change), 0);
	assert_int_equal(f->toy.sets, 0);
	assert_int_equal(f->ops->get(f->self), SWITCH_ON);
}

static void test_a_failure_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "fail=1.0");
	assert_int_equal(set(f, SWITCH_OFF, &change), -EIO);

	assert_int_equal(f->ops->get(f->self), SWITCH_ON);
	assert_int_equal(f->toy.sets, 0);
	assert_int_equal(f->state.failed, 1);
}

static void test_a_late_change_happens_late(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "late=1,late_ms=250");
	assert_int_equal(set(f, SWITCH_OFF, &change), 0);

	assert_int_equal(change.asked_ns, NSEC_PER_SEC);
	assert_int_equal(change.applied_ns, NSEC_PER_SEC + 250 * NSEC_PER_MSEC);
	assert_int_equal(f->toy.state, SWITCH_OFF);
	assert_int_equal(f->state.late, 1);
}

static void test_a_short_change_is_undone_at_once(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "short=1");
	assert_int_equal(set(f, SWITCH_OFF, &change), 0);
	assert_int_equal(f->toy.sets, 2);
	assert_int_equal(f->ops->get(f->self), SWITCH_OFF);
	assert_int_equal(f->ops->sense(f->self), SWITCH_ON);
	assert_int_equal(f->state.shorn, 1);

	f->faults.shorn = 0;
	assert_int_equal(set(f, SWITCH_ON, &change), 0);
	assert_int_equal(f->toy.sets, 2);
	assert_int_equal(f->ops->get(f->self), SWITCH_ON);
}

static void test_a_stuck_switch_takes_the_whole_time(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};
	struct err e = {0};

	wrap(f, "stuck=1");
	assert_int_equal(f->ops->set(f->self, SWITCH_OFF, 9 * NSEC_PER_SEC, &change, &e),
			 -ETIMEDOUT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_int_equal(f->now, 9 * NSEC_PER_SEC);
	assert_int_equal(f->toy.sets, 0);
	assert_int_equal(f->ops->get(f->self), SWITCH_ON);
	assert_int_equal(f->state.stuck, 1);
}

static void test_a_flood_of_changes_ends_where_it_should(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "flood=1");
	assert_int_equal(set(f, SWITCH_OFF, &change), 0);
	assert_int_equal(f->toy.sets, 2 * SWITCH_FLOOD_BOUNCES + 1);
	assert_int_equal(f->ops->sense(f->self), SWITCH_OFF);
	assert_int_equal(f->ops->get(f->self), SWITCH_OFF);
	assert_int_equal(f->state.flooded, 1);
}

static void test_nothing_is_injected_while_it_is_not_armed(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};

	wrap(f, "fail=1");
	f->state.is_armed = false;
	assert_int_equal(set(f, SWITCH_OFF, &change), 0);
	assert_int_equal(f->toy.state, SWITCH_OFF);
	assert_int_equal(f->state.sets, 0);
}

static void test_the_same_seed_gives_the_same_faults(void **state)
{
	struct fixture *f = *state;
	struct switch_change change = {0};
	uint64_t first = 0, second = 0, other = 0;
	uint64_t *const results[] = {&first, &second, &other};

	wrap(f, "fail=0.5,seed=42");
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		f->faults.seed = i == 2 ? 43 : 42;
		switch_fault_init(&f->state, &f->faults);
		for (int bit = 0; bit < 64; bit++) {
			enum switch_state to = f->toy.state == SWITCH_ON ? SWITCH_OFF : SWITCH_ON;

			if (set(f, to, &change) < 0)
				*results[i] |= UINT64_C(1) << bit;
		}
		assert_int_equal(f->state.failed, __builtin_popcountll(*results[i]));
	}
	assert_true(first == second);
	assert_true(first != other);
	assert_in_range(__builtin_popcountll(first), 16, 48);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_faults_everything_is_passed_on),
		TEST(test_a_lie_claims_the_change_and_sense_tells_the_truth),
		TEST(test_a_failure_changes_nothing),
		TEST(test_a_late_change_happens_late),
		TEST(test_a_short_change_is_undone_at_once),
		TEST(test_a_stuck_switch_takes_the_whole_time),
		TEST(test_a_flood_of_changes_ends_where_it_should),
		TEST(test_nothing_is_injected_while_it_is_not_armed),
		TEST(test_the_same_seed_gives_the_same_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
