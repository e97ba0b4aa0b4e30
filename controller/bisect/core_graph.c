/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_graph.c - sums over the ancestors of every commit in one pass over the history. */
#include "core_priv.h"

#include <string.h>

enum colour { OF_BASE = 1, OF_OTHER = 2 };

/* True if the node is known to be an ancestor of another parent, and not of the base so far. */
static bool is_open(uint8_t colour)
{
	return colour == OF_OTHER;
}

/*
 * Ancestors of c that its base does not have, into g->found; returns their number. Goes down the
 * indexes from the highest parent: when a node is reached all its descendants are coloured, so its
 * colour is final. Ends when no node that only another parent reaches is left.
 */
static size_t walk_delta(const struct graph *g, uint32_t c)
{
	size_t n_touched = 0, n_found = 0, n_open = 0;
	uint32_t at = 0;

	for (uint32_t k = g->parents_at[c]; k < g->parents_at[c + 1]; k++) {
		uint32_t p = g->parents[k];

		if (g->colour[p])
			continue; /* the same parent twice */
		g->colour[p] = p == g->base[c] ? OF_BASE : OF_OTHER;
		n_open += is_open(g->colour[p]);
		g->touched[n_touched++] = p;
		if (p > at)
			at = p;
	}
	for (; n_open; at--) {
		uint8_t mine = g->colour[at];

		if (!mine)
			continue;
		if (is_open(mine)) {
			g->found[n_found++] = at;
			n_open--;
		}
		for (uint32_t k = g->parents_at[at]; k < g->parents_at[at + 1]; k++) {
			uint32_t p = g->parents[k];
			uint8_t was = g->colour[p];

			if (!was)
				g->touched[n_touched++] = p;
			g->colour[p] = was | mine;
			n_open -= is_open(was);
			n_open += is_open(g->colour[p]);
		}
	}
	while (n_touched)
		g->colour[g->touched[--n_touched]] = 0;
	return n_found;
}

static const uint32_t *delta_of(const struct graph *g, uint32_t c, size_t *ret_n)
{
	if (g->is_walked[c]) {
		*ret_n = walk_delta(g, c);
		return g->found;
	}
	*ret_n = g->delta_at[c + 1] - g->delta_at[c];
	return g->delta + g->delta_at[c];
}

static int copy_parents(struct graph *g, const struct bisect_commit *commits, size_t *ret_bad)
{
	size_t total = 0;

	for (size_t c = 0; c < g->n; c++) {
		*ret_bad = c;
		if (commits[c].n_parents > BISECT_PARENTS_MAX)
			return -EINVAL;
		for (unsigned k = 0; k < commits[c].n_parents; k++)
			if (commits[c].parents[k] >= c)
				return -EINVAL;
		total += commits[c].n_parents;
	}
	g->parents = xcalloc(total + 1, sizeof(*g->parents));
	total = 0;
	for (size_t c = 0; c < g->n; c++) {
		g->parents_at[c] = (uint32_t)total;
		for (unsigned k = 0; k < commits[c].n_parents; k++)
			g->parents[total++] = commits[c].parents[k];
	}
	g->parents_at[g->n] = (uint32_t)total;
	return 0;
}

int graph_init(struct graph *g, const struct bisect_commit *commits, size_t n, size_t delta_budget,
	       size_t *ret_bad)
{
	size_t total = 0, cap = 0;
	int r;

	memset(g, 0, sizeof(*g));
	g->n = n;
	g->parents_at = xcalloc(n + 1, sizeof(*g->parents_at));
	g->base = xcalloc(n, sizeof(*g->base));
	g->count = xcalloc(n, sizeof(*g->count));
	g->delta_at = xcalloc(n + 1, sizeof(*g->delta_at));
	g->is_walked = xcalloc(n, 1);
	g->colour = xcalloc(n, 1);
	g->touched = xcalloc(n, sizeof(*g->touched));
	g->found = xcalloc(n, sizeof(*g->found));
	r = copy_parents(g, commits, ret_bad);
	if (r < 0) {
		graph_release(g);
		return r;
	}

	for (uint32_t c = 0; c < n; c++) {
		size_t found = 0;

		g->base[c] = GRAPH_NONE;
		for (uint32_t k = g->parents_at[c]; k < g->parents_at[c + 1]; k++) {
			uint32_t p = g->parents[k];

			if (g->base[c] == GRAPH_NONE || g->count[p] > g->count[g->base[c]])
				g->base[c] = p;
		}
		if (g->parents_at[c + 1] - g->parents_at[c] > 1)
			found = walk_delta(g, c);
		g->count[c] = 1 + (uint32_t)found;
		if (g->base[c] != GRAPH_NONE)
			g->count[c] += g->count[g->base[c]];
		if (found > delta_budget - total) {
			g->is_walked[c] = 1;
		} else if (found) {
			if (total + found > cap) {
				cap = 2 * (total + found);
				g->delta = xrealloc(g->delta, cap, sizeof(*g->delta));
			}
			memcpy(g->delta + total, g->found, found * sizeof(*g->delta));
			total += found;
		}
		g->delta_at[c + 1] = total;
	}
	return 0;
}

void graph_release(struct graph *g)
{
	util_free(g->parents_at);
	util_free(g->parents);
	util_free(g->base);
	util_free(g->count);
	util_free(g->delta_at);
	util_free(g->delta);
	util_free(g->is_walked);
	util_free(g->colour);
	util_free(g->touched);
	util_free(g->found);
	memset(g, 0, sizeof(*g));
}

void graph_sum_ancestors(const struct graph *g, const double *value, double *ret)
{
	for (uint32_t c = 0; c < g->n; c++) {
		double sum = value[c];

		if (g->base[c] != GRAPH_NONE)
			sum += ret[g->base[c]];
		if (g->is_walked[c] || g->delta_at[c + 1] != g->delta_at[c]) {
			size_t n;
			const uint32_t *delta = delta_of(g, c, &n);

			for (size_t k = 0; k < n; k++)
				sum += value[delta[k]];
		}
		ret[c] = sum;
	}
}

/*
 * The same linear map, transposed: what commit c adds to its own sum also goes to all of its base's
 * sum and to each of its delta. value[c] gathers what belongs to the whole ancestry of c.
 */
void graph_sum_descendants(const struct graph *g, uint64_t *value, uint64_t *ret)
{
	memset(ret, 0, g->n * sizeof(*ret));
	for (uint32_t c = (uint32_t)g->n; c-- > 0;) {
		uint64_t v = value[c];

		ret[c] += v;
		if (g->base[c] != GRAPH_NONE)
			value[g->base[c]] += v;
		if (g->is_walked[c] || g->delta_at[c + 1] != g->delta_at[c]) {
			size_t n;
			const uint32_t *delta = delta_of(g, c, &n);

			for (size_t k = 0; k < n; k++)
				ret[delta[k]] += v;
		}
	}
}

size_t graph_bits_words(const struct graph *g)
{
	return (g->n + 63) / 64;
}

void graph_ancestor_bits(const struct graph *g, uint32_t c, uint64_t *bits)
{
	bits[c / 64] |= UINT64_C(1) << (c % 64);
	for (uint32_t i = c + 1; i-- > 0;) {
		if (!graph_bit(bits, i))
			continue;
		for (uint32_t k = g->parents_at[i]; k < g->parents_at[i + 1]; k++)
			bits[g->parents[k] / 64] |= UINT64_C(1) << (g->parents[k] % 64);
	}
}
