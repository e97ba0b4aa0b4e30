/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_priv.h - what the files of this room share. */
#pragma once

#include "base/parse.h"
#include "db.h"

struct store {
	struct db *db;
	char *location; /* without a password */
	int schema_version;
};
