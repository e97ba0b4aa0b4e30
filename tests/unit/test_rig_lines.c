/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "../../controller/rig/lines.h"
#include "unit.h"

/* A clock that jumps to whatever is waited for, and is told of each jump. */
struct bench {
	nsec_t now;
	struct waiter *w;
	struct strbuf log; /* "D0@1000 V0@1002 " in ms */
	enum switch_state at[LINE_ROLE_MAX];
	unsigned fails_at; /* the set() that fails, from 1; 0 = none */
	unsigned sets;
	/* VBUS as it is measured follows after this time; < 0 = never */
	nsec_t follows_ns;
	nsec_t changed_ns;
	enum switch_state measured, before;
	bool trips_on_power; /* over-current as soon as it is on */
	bool is_over_current;
	unsigned closes;
	const struct switch_ops *ops;
	void *self;
};

static nsec_t clock_now(void *self)
{
	return ((struct bench *)self)->now;
}

/* In steps of a millisecond, so that a predicate is asked meanwhile as with real events. */
static int clock_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	struct bench *b = self;

	(void)fds;
	(void)n;
	if (until_ns > b->now)
		b->now = until_ns - b->now > NSEC_PER_MSEC ? b->now + NSEC_PER_MSEC : until_ns;
	return until_ns > b->now ? -EINTR : 0;
}

static int bench_set(void *self, enum line_role role, bool is_active, struct err *e)
{
	static const char names[] = {'V', 'D', 'X'};
	struct bench *b = self;

	if (++b->sets == b->fails_at)
		return err_set(e, ERR_RIG, EIO, "line %c is stuck", names[role]);
	strbuf_addf(&b->log, "%c%d@%lld ", names[role], is_active,
		    (long long)(b->now / NSEC_PER_MSEC));
	b->at[role] = is_active ? SWITCH_ON : SWITCH_OFF;
	if (role == LINE_VBUS) {
		b->changed_ns = b->now;
		if (is_active && b->trips_on_power)
			lines_trip(b->self);
	}
	return 0;
}

static enum switch_state bench_get(void *self, enum line_role role)
{
	return ((struct bench *)self)->at[role];
}

static enum switch_state bench_sense(void *self)
{
	struct bench *b = self;

	if (b->follows_ns >= 0 && b->now >= b->changed_ns + b->follows_ns)
		b->measured = b->at[LINE_VBUS];
	return b->measured;
}

static nsec_t bench_sensed_ns(void *self)
{
	struct bench *b = self;

	return b->changed_ns + b->follows_ns;
}

static bool bench_is_over_current(void *self)
{
	return ((struct bench *)self)->is_over_current;
}

static void bench_close(void *self)
{
	((struct bench *)self)->closes++;
}

static const struct line_ops plain = {
	.driver = "bench", .set = bench_set, .get = bench_get, .close = bench_close};

static const struct line_ops sensing = {
	.driver = "bench",
	.caps = SWITCH_CAN_SENSE,
	.set = bench_set,
	.get = bench_get,
	.sense = bench_sense,
	.sensed_ns = bench_sensed_ns,
	.is_over_current = bench_is_over_current,
	.close = bench_close,
};

/* lines: "V", "VD", "VDX". */
static void open_bench(struct bench *b, const char *lines, const struct line_ops *ops)
{
	const struct switch_cfg cfg = {.lead_ms = 2, .discharge_ms = 50, .sense_timeout_ms = 100};
	const struct waiter_ops clock = {.now = clock_now, .poll = clock_poll, .self = b};
	const bool has[LINE_ROLE_MAX] = {
		[LINE_VBUS] = true,
		[LINE_DATA] = strchr(lines, 'D') != NULL,
		[LINE_DISCHARGE] = strchr(lines, 'X') != NULL,
	};

	b->now = NSEC_PER_SEC;
	b->w = waiter_new(&clock);
	b->at[LINE_VBUS] = b->at[LINE_DATA] = b->measured = SWITCH_OFF;
	lines_new(ops, b, has, &cfg, b->w, &b->ops, &b->self);
}

static void close_bench(struct bench *b)
{
	b->ops->close(b->self);
	assert_int_equal(b->closes, 1);
	waiter_free(b->w);
	strbuf_release(&b->log);
}

static int set(struct bench *b, enum switch_state state, struct switch_change *ret, struct err *e)
{
	strbuf_reset(&b->log);
	*e = (struct err){0};
	return b->ops->set(b->self, state, NSEC_FOREVER, ret, e);
}

static void test_data_is_cut_before_vbus_and_restored_after_it(void **state)
{
	static const struct {
		const char *lines, *on, *off;
	} cases[] = {
		{"V", "V1@1000 ", "V0@1000 "},
		{"VD", "D0@1000 V1@1000 D1@1002 ", "D0@1002 V0@1004 "},
		{"VDX", "X0@1000 D0@1000 V1@1000 D1@1002 ", "D0@1002 V0@1004 X1@1004 X0@1054 "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b = {0};
		struct switch_change change;
		struct err e;

		open_bench(&b, cases[i].lines, &plain);
		assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
		assert_string_equal(strbuf_str(&b.log), cases[i].on);
		assert_int_equal(b.ops->get(b.self), SWITCH_ON);
		assert_int_equal(set(&b, SWITCH_OFF, &change, &e), 0);
		assert_string_equal(strbuf_str(&b.log), cases[i].off);
		assert_int_equal(b.ops->get(b.self), SWITCH_OFF);
		assert_false(change.is_sensed);
		assert_int_equal((b.ops->caps & SWITCH_CUTS_DATA) != 0,
				 strchr(cases[i].lines, 'D') != NULL);
		close_bench(&b);
	}
}

static void test_a_change_counts_when_vbus_has_followed(void **state)
{
	struct bench b = {.follows_ns = 7 * NSEC_PER_MSEC};
	struct switch_change change;
	struct err e;

	(void)state;
	open_bench(&b, "V", &sensing);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	assert_true(change.is_sensed);
	assert_int_equal(change.asked_ns, NSEC_PER_SEC);
	assert_int_equal(change.applied_ns, NSEC_PER_SEC + 7 * NSEC_PER_MSEC);
	assert_int_equal(b.ops->sense(b.self), SWITCH_ON);
	close_bench(&b);
}

static void test_vbus_that_does_not_follow_is_an_error(void **state)
{
	struct bench b = {.follows_ns = 0};
	struct switch_change change;
	struct err e;

	(void)state;
	open_bench(&b, "VDX", &sensing);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	b.follows_ns = -1;
	assert_int_equal(set(&b, SWITCH_OFF, &change, &e), -ETIMEDOUT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "VBUS is still on 100 ms after the line changed");
	/* the lines are cut all the same, and nothing pulls VBUS down for ever */
	assert_contains(strbuf_str(&b.log), "D0@");
	assert_contains(strbuf_str(&b.log), "V0@");
	assert_contains(strbuf_str(&b.log), "X0@");

	/* a stick without power is not connected either */
	assert_int_equal(set(&b, SWITCH_OFF, &change, &e), -ETIMEDOUT);
	b.measured = SWITCH_OFF;
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), -ETIMEDOUT);
	assert_contains(e.text, "VBUS is still off");
	assert_null(strstr(strbuf_str(&b.log), "D1@"));
	assert_int_equal(b.at[LINE_VBUS], SWITCH_OFF);
	close_bench(&b);
}

static void test_a_line_that_fails_does_not_keep_the_others_from_being_cut(void **state)
{
	struct bench b = {0};
	struct switch_change change;
	struct err e;

	(void)state;
	open_bench(&b, "VD", &plain);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	b.fails_at = b.sets + 1; /* data */
	assert_int_equal(set(&b, SWITCH_OFF, &change, &e), -EIO);
	assert_contains(e.text, "line D is stuck");
	assert_int_equal(b.at[LINE_VBUS], SWITCH_OFF);
	/* half cut is neither on nor off, so that the next set() acts */
	assert_int_equal(b.ops->get(b.self), SWITCH_UNKNOWN);

	b.fails_at = b.sets + 3; /* data, at the end of switching on */
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), -EIO);
	assert_int_equal(b.at[LINE_VBUS], SWITCH_OFF);
	assert_int_equal(b.at[LINE_DATA], SWITCH_OFF);
	close_bench(&b);
}

static void test_over_current_cuts_at_once_and_needs_an_off(void **state)
{
	struct bench b = {.follows_ns = 0};
	struct switch_change change;
	struct err e;

	(void)state;
	open_bench(&b, "VD", &sensing);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	lines_trip(b.self);
	assert_int_equal(b.at[LINE_VBUS], SWITCH_OFF);
	assert_int_equal(b.at[LINE_DATA], SWITCH_OFF);
	/* whoever asks before switching must not find "off" and leave it at that */
	assert_int_equal(b.ops->get(b.self), SWITCH_UNKNOWN);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), -EOVERFLOW);
	assert_contains(e.text, "over-current");
	assert_int_equal(b.at[LINE_VBUS], SWITCH_OFF);

	assert_int_equal(set(&b, SWITCH_OFF, &change, &e), 0);
	assert_int_equal(b.ops->get(b.self), SWITCH_OFF);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	assert_int_equal(set(&b, SWITCH_OFF, &change, &e), 0);

	/* a stick with a short circuit: it never gets as far as being connected */
	b.trips_on_power = true;
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), -EOVERFLOW);
	assert_null(strstr(strbuf_str(&b.log), "D1@"));
	assert_int_equal(b.at[LINE_VBUS], SWITCH_OFF);
	close_bench(&b);
}

static void test_a_line_that_says_over_current_from_the_beginning(void **state)
{
	struct bench b = {.follows_ns = 0, .is_over_current = true};
	struct switch_change change;
	struct err e;

	(void)state;
	open_bench(&b, "VD", &sensing);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), -EOVERFLOW);
	assert_string_equal(strbuf_str(&b.log), "D0@1000 V1@1000 D0@1002 V0@1002 ");
	b.is_over_current = false;
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), -EOVERFLOW);
	assert_int_equal(set(&b, SWITCH_OFF, &change, &e), 0);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	close_bench(&b);
}

static void test_a_trip_of_what_is_off_means_nothing(void **state)
{
	struct bench b = {0};
	struct switch_change change;
	struct err e;

	(void)state;
	open_bench(&b, "V", &plain);
	lines_trip(b.self);
	assert_int_equal(b.sets, 0);
	assert_int_equal(set(&b, SWITCH_ON, &change, &e), 0);
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_is_cut_before_vbus_and_restored_after_it),
		cmocka_unit_test(test_a_change_counts_when_vbus_has_followed),
		cmocka_unit_test(test_vbus_that_does_not_follow_is_an_error),
		cmocka_unit_test(test_a_line_that_fails_does_not_keep_the_others_from_being_cut),
		cmocka_unit_test(test_over_current_cuts_at_once_and_needs_an_off),
		cmocka_unit_test(test_a_line_that_says_over_current_from_the_beginning),
		cmocka_unit_test(test_a_trip_of_what_is_off_means_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
