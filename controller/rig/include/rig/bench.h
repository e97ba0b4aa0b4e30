/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench.h - a rig's switch by hand, without its target: what `stallrig switch` does. */
#pragma once

#include "rig/rig.h"

struct bench;

/*
 * Takes the rig's lock as rig_open() does and opens its switch; changes nothing. cfg must live
 * longer. ERR_USAGE for a switch that only exists while its target runs (-ENOTSUP).
 */
int bench_open(const struct rig_cfg *cfg, struct waiter *w, nsec_t lock_wait_ns, struct bench **ret,
	       struct err *e) must_check;
/* Leaves the safe state, or with switch_keep() the state as it is. Accepts NULL. */
void bench_close(struct bench *b);
DEFINE_AUTO(bench, struct bench *, bench_close)
#define auto_bench AUTO(bench)
/* Belongs to the bench. */
struct stick_switch *bench_switch(struct bench *b);
