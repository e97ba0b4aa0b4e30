/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.c - what the server counts about itself. */
#include "metrics.h"

#include <inttypes.h>

static const struct {
	nsec_t ns;
	const char *seconds;
} bounds[METRICS_BUCKETS] = {
	{1 * NSEC_PER_MSEC, "0.001"},  {5 * NSEC_PER_MSEC, "0.005"}, {10 * NSEC_PER_MSEC, "0.01"},
	{25 * NSEC_PER_MSEC, "0.025"}, {50 * NSEC_PER_MSEC, "0.05"}, {100 * NSEC_PER_MSEC, "0.1"},
	{250 * NSEC_PER_MSEC, "0.25"}, {1000 * NSEC_PER_MSEC, "1"},  {NSEC_FOREVER, "+Inf"},
};

void metrics_count(struct metrics *m, unsigned status, nsec_t took_ns)
{
	size_t i = 0;

	m->by_status[status / 100 < ARRAY_SIZE(m->by_status) ? status / 100 : 0]++;
	while (took_ns > bounds[i].ns)
		i++;
	m->buckets[i]++;
	m->total_ns += took_ns;
}

void metrics_add_text(struct strbuf *out, const struct metrics *m)
{
	uint64_t n = 0;

	strbuf_adds(out, "# HELP stallrig_http_responses_total Answers by class of status.\n"
			 "# TYPE stallrig_http_responses_total counter\n");
	for (unsigned i = 2; i < ARRAY_SIZE(m->by_status); i++)
		strbuf_addf(out, "stallrig_http_responses_total{class=\"%uxx\"} %" PRIu64 "\n", i,
			    m->by_status[i]);
	strbuf_adds(out,
		    "# HELP stallrig_http_response_seconds From a request's head to its answer.\n"
		    "# TYPE stallrig_http_response_seconds histogram\n");
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		n += m->buckets[i];
		strbuf_addf(out, "stallrig_http_response_seconds_bucket{le=\"%s\"} %" PRIu64 "\n",
			    bounds[i].seconds, n);
	}
	strbuf_addf(out,
		    "stallrig_http_response_seconds_sum %.6f\n"
		    "stallrig_http_response_seconds_count %" PRIu64 "\n",
		    (double)m->total_ns / 1e9, n);
	strbuf_addf(out,
		    "# HELP stallrig_http_connections Open connections.\n"
		    "# TYPE stallrig_http_connections gauge\n"
		    "stallrig_http_connections %" PRIu64 "\n"
		    "# HELP stallrig_http_cut_off_total Connections ended because of a deadline.\n"
		    "# TYPE stallrig_http_cut_off_total counter\n"
		    "stallrig_http_cut_off_total %" PRIu64 "\n",
		    m->connections, m->cut_off);
}
