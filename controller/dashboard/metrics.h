/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.h - what the server counts about itself. Pure. */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"

#define METRICS_BUCKETS 9

struct metrics {
	uint64_t by_status[6]; /* of the hundreds: [2] is 2xx */
	uint64_t buckets[METRICS_BUCKETS];
	nsec_t total_ns;
	uint64_t connections; /* open now */
	uint64_t cut_off;     /* ended because of a deadline */
};

/* An answer of that status was ready took_ns after the request's head. */
void metrics_count(struct metrics *m, unsigned status, nsec_t took_ns);
/* In the text format of Prometheus 0.0.4. */
void metrics_add_text(struct strbuf *out, const struct metrics *m);
