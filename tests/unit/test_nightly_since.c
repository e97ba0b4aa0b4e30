/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_nightly_since.c - since which night a series is at its level. */
/* ctest: lab */
#include "lab/nightly.h"
#include "sample_run.h"
#include "unit.h"

#define DAY_NS (86400 * NSEC_PER_SEC)
#define NIGHTS 14

struct bench {
	char *dir;
	struct store *st;
	struct run *runs[NIGHTS];
};

/* One run a night on the rig; from night `worse` on with another build and a worse delay. */
static void fill(struct bench *b, const char *rig, unsigned worse, int64_t before_us,
		 int64_t after_us)
{
	struct err e = {0};

	for (unsigned i = 0; i < NIGHTS; i++) {
		struct run *r = sample_run("debian 6.1", rig, "board");
		int64_t level_us = i < worse ? before_us : after_us;

		free(r->id);
		r->id = xasprintf("202611%02u-110000-%.4s", i + 1, rig);
		r->started_wall_ns = SAMPLE_WALL_NS + i * DAY_NS;
		r->ended_wall_ns = r->started_wall_ns + 90 * NSEC_PER_SEC;
		if (i >= worse) {
			free(r->kernel);
			r->kernel = xstrdup("debian-6.1.0-58-amd64");
			free(r->kernel_release);
			r->kernel_release = xstrdup("6.1.0-58-amd64");
			free(r->kernel_image_sha256);
			r->kernel_image_sha256 = xstrdup("cafe");
		}
		r->planned_valid = 1;
		(void)sample_add_boot(r, "/nowhere");
		(void)sample_add_trial(r, 1, level_us + level_us / 100 * (i * 7 % 5));
		assert_int_equal(store_run_begin(b->st, r, &e), 0);
		assert_int_equal(store_boot_add(b->st, r, &r->boots[0], &e), 0);
		assert_int_equal(store_trial_add(b->st, r, r->trials[0], &e), 0);
		run_judge(r);
		assert_int_equal(store_run_update(b->st, r, &e), 0);
		run_free(b->runs[i]);
		b->runs[i] = r;
	}
}

static int set_up(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	auto_free char *path = NULL;
	struct err e = {0};

	b->dir = unit_tmpdir();
	path = xasprintf("%s/lab.db", b->dir);
	assert_int_equal(store_open(path, STORE_WRITE, &b->st, &e), 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < NIGHTS; i++)
		run_free(b->runs[i]);
	store_close(b->st);
	unit_rmdir(b->dir);
	free(b);
	return 0;
}

static void test_it_is_the_first_run_of_the_level_that_holds(void **state)
{
	struct bench *b = *state;
	struct news_since since;
	struct err e = {0};

	fill(b, "flat", NIGHTS, 4000, 4000);
	fill(b, "bench", 9, 4000, 900000);
	if (nightly_since(b->st, b->runs[13], &since, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(since.run_id, b->runs[9]->id);
	assert_string_equal(since.kernel, "debian-6.1.0-58-amd64");
	assert_int_equal(since.started_wall_ns, b->runs[9]->started_wall_ns);
	assert_in_range(since.before_us, 4000, 4200);
	assert_in_range(since.after_us, 900000, 945000);
	news_since_release(&since);

	/* what came after the run says nothing about it */
	assert_int_equal(nightly_since(b->st, b->runs[8], &since, &e), 0);
	assert_null(since.run_id);
}

static void test_a_series_that_stays_where_it_was_has_no_such_night(void **state)
{
	struct bench *b = *state;
	struct news_since since;
	struct err e = {0};

	fill(b, "bench", NIGHTS, 4000, 4000);
	assert_int_equal(nightly_since(b->st, b->runs[13], &since, &e), 0);
	assert_null(since.run_id);
}

static void test_another_rig_or_a_run_that_is_not_there_says_nothing(void **state)
{
	struct bench *b = *state;
	auto_run struct run *other = sample_run("debian 6.1", "elsewhere", "board");
	struct news_since since;
	struct err e = {0};

	fill(b, "bench", 9, 4000, 900000);
	assert_int_equal(nightly_since(b->st, other, &since, &e), 0);
	assert_null(since.run_id);
	free(other->rig);
	other->rig = xstrdup("bench");
	assert_int_equal(nightly_since(b->st, other, &since, &e), 0);
	assert_null(since.run_id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_it_is_the_first_run_of_the_level_that_holds,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_series_that_stays_where_it_was_has_no_such_night, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_another_rig_or_a_run_that_is_not_there_says_nothing, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
