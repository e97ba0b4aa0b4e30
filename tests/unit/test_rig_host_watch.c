/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_rig_host_watch.c - when the host kept an emulator waiting. */
/* ctest: rig */
#include "../../controller/rig/host_watch.h"
#include "base/rng.h"
#include "unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#define BUSY_US 50000

struct rivals {
	pthread_barrier_t begin, end, gone;
	int cpu;
};

static int64_t own_cpu_us(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *be_busy(void *arg)
{
	struct rivals *r = arg;
	cpu_set_t set;
	int64_t until_us;

	CPU_ZERO(&set);
	CPU_SET((unsigned)r->cpu, &set);
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), 0);
	(void)pthread_barrier_wait(&r->begin);
	until_us = own_cpu_us() + BUSY_US;
	while (own_cpu_us() < until_us)
		;
	(void)pthread_barrier_wait(&r->end);
	(void)pthread_barrier_wait(&r->gone);
	return NULL;
}

/* Of two threads on one processor one waits while the other runs, whatever else this host does. */
static void test_what_threads_wait_for_each_other_is_counted(void **state)
{
	struct rivals r = {.cpu = sched_getcpu()};
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct host_watch *hw = NULL;
	struct err e = {0};
	pthread_t threads[2];
	int64_t us;

	(void)state;
	assert_int_equal(host_watch_start(w, getpid(), &hw, &e), 0);
	assert_int_equal(pthread_barrier_init(&r.begin, NULL, 2), 0);
	assert_int_equal(pthread_barrier_init(&r.end, NULL, 3), 0);
	assert_int_equal(pthread_barrier_init(&r.gone, NULL, 3), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, be_busy, &r), 0);
	(void)pthread_barrier_wait(&r.end);
	us = host_watch_worst_us(hw, 0);
	(void)pthread_barrier_wait(&r.gone);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	/* threads that have ended have waited nevertheless */
	assert_int_equal(waiter_sleep(w, 3 * HOST_WATCH_SLICE_MS * NSEC_PER_MSEC, &e), 0);
	if (us < 0)
		skip(); /* this kernel does not say */
	assert_true(us >= BUSY_US * 9 / 10);
	assert_true(host_watch_worst_us(hw, INT64_C(3600000000)) >= us);
	host_watch_free(hw);
}

static void test_a_process_that_is_not_there_is_unknown(void **state)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	struct host_watch *hw = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(host_watch_start(w, 0x7ffffff0, &hw, &e), 0);
	assert_int_equal(host_watch_worst_us(hw, 1000), -1);
	host_watch_free(hw);
	host_watch_free(NULL);
}

static struct host_looks *looks_of(const int64_t (*at_ms_waited_ms)[2], size_t n)
{
	struct host_looks *l = xcalloc(1, sizeof(*l));

	for (size_t i = 0; i < n; i++)
		host_looks_add(l, at_ms_waited_ms[i][0] * NSEC_PER_MSEC,
			       at_ms_waited_ms[i][1] * 1000);
	return l;
}

static void test_the_worst_stretch_counts_and_not_the_sum(void **state)
{
	static const int64_t busy[][2] = {{0, 0},    {100, 30}, {200, 30},  {300, 70},
					  {400, 90}, {500, 90}, {700, 190}, {800, 190}};
	/* a stretch may begin just before a look: one more on each side of it */
	static const struct {
		int64_t stretch_ms, worst_ms;
	} cases[] = {{0, 100},   {1, 100},   {100, 100}, {101, 120},
		     {200, 120}, {300, 160}, {700, 190}, {9000, 190}};
	auto_free struct host_looks *l = looks_of(busy, ARRAY_SIZE(busy));
	auto_free struct host_looks *none = looks_of(NULL, 0);
	auto_free struct host_looks *one = looks_of(busy + 1, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(host_looks_worst_us(l, cases[i].stretch_ms * 1000),
				 cases[i].worst_ms * 1000);
	assert_int_equal(host_looks_worst_us(none, 1000), 0);
	assert_int_equal(host_looks_worst_us(one, 1000), 0);
}

/* Whatever was waited when, and whatever was forgotten: no stretch had more than is said. */
static void test_no_stretch_has_more_than_the_bound(void **state)
{
	const uint64_t seed = (uint64_t)time(NULL);
	struct rng rng;
	enum { MS = 3 * HOST_LOOKS_MAX };
	auto_free int64_t *waited_us = xcalloc(MS + 1, sizeof(*waited_us));
	auto_free struct host_looks *l = xcalloc(1, sizeof(*l));

	(void)state;
	print_message("seed %" PRIu64 "\n", seed);
	rng_init(&rng, seed);
	for (size_t t = 0; t <= MS; t++) {
		/* now and then it waits for a while; looks come when they come */
		if (t > 0)
			waited_us[t] = waited_us[t - 1];
		if (t > 0 && rng_below(&rng, 50) == 0)
			waited_us[t] += 1000 * (int64_t)rng_below(&rng, 9);
		if (t == 0 || t == MS || rng_below(&rng, 2))
			host_looks_add(l, (nsec_t)t * NSEC_PER_MSEC, waited_us[t]);
	}
	assert_true(l->n <= HOST_LOOKS_MAX);
	for (int i = 0; i < 2000; i++) {
		size_t from = rng_below(&rng, MS + 1);
		size_t to = from + rng_below(&rng, MS + 1 - from);

		assert_true(waited_us[to] - waited_us[from] <=
			    host_looks_worst_us(l, (int64_t)(to - from) * 1000));
	}
	assert_int_equal(host_looks_worst_us(l, INT64_C(3600000000)), waited_us[MS]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_threads_wait_for_each_other_is_counted),
		cmocka_unit_test(test_a_process_that_is_not_there_is_unknown),
		cmocka_unit_test(test_the_worst_stretch_counts_and_not_the_sum),
		cmocka_unit_test(test_no_stretch_has_more_than_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
