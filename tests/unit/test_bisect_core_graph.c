/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bisect_core_graph.c - sums over ancestors against a plain search of each commit's history.
 */
/* ctest: bisect */
#include "../../controller/bisect/core_priv.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>

#define N_MAX 300u

struct history {
	size_t n;
	uint32_t parents[N_MAX][4];
	struct bisect_commit commits[N_MAX];
};

/* Up to four parents each, near or far, some twice. */
static void make_history(struct rng *r, size_t n, double p_merge, struct history *h)
{
	h->n = n;
	for (uint32_t c = 0; c < n; c++) {
		unsigned n_parents = c == 0 ? 0 : rng_unit(r) < p_merge ? 2 : 1;

		if (n_parents == 2 && rng_unit(r) < 0.2)
			n_parents = 4;
		for (unsigned k = 0; k < n_parents; k++) {
			uint64_t back = rng_unit(r) < 0.7 ? rng_below(r, 4) : rng_below(r, c);

			h->parents[c][k] = back < c ? c - 1 - (uint32_t)back : 0;
		}
		h->commits[c] = (struct bisect_commit){
			.parents = h->parents[c], .n_parents = n_parents, .weight = 1};
	}
}

static void mark(const struct history *h, uint32_t c, bool *is_in)
{
	if (is_in[c])
		return;
	is_in[c] = true;
	for (unsigned k = 0; k < h->commits[c].n_parents; k++)
		mark(h, h->commits[c].parents[k], is_in);
}

static void check_history(const struct history *h, size_t budget)
{
	static double value[N_MAX], sum[N_MAX];
	static uint64_t number[N_MAX], kept[N_MAX], up[N_MAX], expected_up[N_MAX];
	uint64_t bits[(N_MAX + 63) / 64];
	struct graph g;
	size_t bad;

	assert_int_equal(graph_init(&g, h->commits, h->n, budget, &bad), 0);
	for (size_t c = 0; c < h->n; c++) {
		value[c] = (double)(c * 37 % 101);
		kept[c] = number[c] = UINT64_C(0x9E3779B97F4A7C15) * (c + 1);
		expected_up[c] = 0;
	}
	graph_sum_ancestors(&g, value, sum);
	graph_sum_descendants(&g, number, up);
	for (uint32_t c = 0; c < h->n; c++) {
		bool is_in[N_MAX] = {false};
		double expected = 0;
		unsigned count = 0;

		mark(h, c, is_in);
		memset(bits, 0, sizeof(bits));
		graph_ancestor_bits(&g, c, bits);
		for (uint32_t i = 0; i < h->n; i++) {
			assert_int_equal(graph_bit(bits, i), is_in[i]);
			if (!is_in[i])
				continue;
			expected += value[i];
			expected_up[i] += kept[c];
			count++;
		}
		assert_true(sum[c] == expected); /* whole numbers: exact */
		assert_int_equal(g.count[c], count);
	}
	assert_memory_equal(up, expected_up, h->n * sizeof(*up));
	graph_release(&g);
}

static void test_sums_equal_a_plain_search(void **state)
{
	static struct history h;
	struct rng r;

	(void)state;
	rng_init(&r, 20);
	for (unsigned i = 0; i < 60; i++) {
		make_history(&r, 1 + rng_below(&r, N_MAX - 1), rng_unit(&r) * 0.6, &h);
		check_history(&h, SIZE_MAX);
	}
}

static void test_sums_hold_when_the_lists_do_not_fit_their_budget(void **state)
{
	static struct history h;
	struct rng r;

	(void)state;
	rng_init(&r, 21);
	for (unsigned i = 0; i < 20; i++) {
		make_history(&r, 200, 0.5, &h);
		check_history(&h, rng_below(&r, 100));
		check_history(&h, 0);
	}
}

static void test_a_parent_that_comes_later_is_named(void **state)
{
	static const uint32_t later[] = {2}, before[] = {0};
	struct bisect_commit commits[] = {{.weight = 1},
					  {.parents = later, .n_parents = 1, .weight = 1},
					  {.parents = before, .n_parents = 1, .weight = 1}};
	struct graph g;
	size_t bad = 99;

	(void)state;
	assert_int_equal(graph_init(&g, commits, 3, SIZE_MAX, &bad), -EINVAL);
	assert_int_equal(bad, 1);
}

static void test_as_many_parents_as_the_limit_and_no_more(void **state)
{
	static uint32_t parents[BISECT_PARENTS_MAX + 1];
	static struct bisect_commit commits[BISECT_PARENTS_MAX + 2];
	struct graph g;
	size_t bad = 0, n = BISECT_PARENTS_MAX + 1;

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		parents[i] = i;
	commits[n].parents = parents;
	commits[n].n_parents = BISECT_PARENTS_MAX;
	assert_int_equal(graph_init(&g, commits, n + 1, SIZE_MAX, &bad), 0);
	assert_int_equal(g.count[n], BISECT_PARENTS_MAX + 1);
	graph_release(&g);
	commits[n].n_parents = BISECT_PARENTS_MAX + 1;
	assert_int_equal(graph_init(&g, commits, n + 1, SIZE_MAX, &bad), -EINVAL);
	assert_int_equal(bad, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_equal_a_plain_search),
		cmocka_unit_test(test_sums_hold_when_the_lists_do_not_fit_their_budget),
		cmocka_unit_test(test_a_parent_that_comes_later_is_named),
		cmocka_unit_test(test_as_many_parents_as_the_limit_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
