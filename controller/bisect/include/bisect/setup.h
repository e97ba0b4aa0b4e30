/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setup.h - what the user asked for, to and from the journal's first record. */
#pragma once

#include "bisect/driver.h"

/* A new object with "type": "start". */
json_t *bisect_setup_to_json(const struct bisect_setup *s);
/* ERR_STORE names a key that is missing. Caller releases. */
int bisect_setup_from_json(const json_t *o, struct bisect_setup *ret, struct err *e) must_check;
/* What stands for what is not given. */
void bisect_setup_default(struct bisect_setup *ret);
