/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.h - bytes as text (RFC 4648), without line ends. */
#pragma once

#include "base/strbuf.h"

void strbuf_add_base64(struct strbuf *sb, const void *bytes, size_t n);
/* The way back; false if text is not whole and proper base64: what could be read is added then. */
bool strbuf_add_from_base64(struct strbuf *sb, const char *text) must_check;
