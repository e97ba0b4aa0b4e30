/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.h - a bisect as the store keeps it, for the dashboard. */
#pragma once

#include "bisect/driver.h"
#include "store/query.h"

/*
 * How the bisect stands. Its id, "NAME-YYYYMMDD-HHMMSS" with the time of its start, is the same
 * whenever it is asked for. state is that of the core, or "confirming", or "stopped" if is_stopped
 * says that nobody carries it on. A test is a boot (trials of it, its run), a commit that cannot be
 * built ("UNTESTABLE") or what somebody told; its verdict is PASS, FAIL, INCONCLUSIVE or UNTESTABLE
 * by what is believed of the commit now. Never NULL; store_bisects_free(rows, 1).
 */
struct store_bisect *bisect_rows(const struct bisect *b, bool is_stopped);
