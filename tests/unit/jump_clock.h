/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jump_clock.h - for a waiter: real file descriptors, but a clock that jumps to whatever is waited
   for when none of them is ready. self is an nsec_t, the time. */
#pragma once

#include "base/waiter.h"

static nsec_t jump_clock_now(void *self)
{
	return *(nsec_t *)self;
}

static int jump_clock_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	int r = poll(fds, n, 0);

	if (r == 0 && until_ns > *(nsec_t *)self)
		*(nsec_t *)self = until_ns;
	return r;
}
