/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.c - the library's encoder on a growing buffer. */
#include "base/base64.h"

#include <nettle/base64.h>

void strbuf_add_base64(struct strbuf *sb, const void *bytes, size_t n)
{
	auto_free char *text = xcalloc(BASE64_ENCODE_RAW_LENGTH(n) + 1, 1);

	base64_encode_raw(text, n, bytes);
	strbuf_adds(sb, text);
}
