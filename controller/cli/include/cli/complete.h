/* SPDX-License-Identifier: GPL-2.0-or-later */
/* complete.h - completion scripts out of the tables. */
#pragma once

#include "base/strbuf.h"

void complete_bash(struct strbuf *out);
void complete_zsh(struct strbuf *out);
void complete_fish(struct strbuf *out);
