/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.c - the library's encoder and decoder on a growing buffer. */
#include "base/base64.h"

#include <nettle/base64.h>

#include <string.h>

void strbuf_add_base64(struct strbuf *sb, const void *bytes, size_t n)
{
	auto_free char *text = xcalloc(BASE64_ENCODE_RAW_LENGTH(n) + 1, 1);

	base64_encode_raw(text, n, bytes);
	strbuf_adds(sb, text);
}

bool strbuf_add_from_base64(struct strbuf *sb, const char *text)
{
	const size_t n = strlen(text);
	auto_free uint8_t *bytes = xcalloc(BASE64_DECODE_LENGTH(n) + 1, 1);
	size_t len = BASE64_DECODE_LENGTH(n) + 1;
	struct base64_decode_ctx ctx;
	bool is_good;

	base64_decode_init(&ctx);
	is_good = base64_decode_update(&ctx, &len, bytes, n, text);
	strbuf_add(sb, bytes, is_good ? len : 0);
	return is_good && base64_decode_final(&ctx);
}
