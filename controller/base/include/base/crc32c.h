/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc32c.h - CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, start and final XOR ~0), as in
 * RFC 3720 appendix B.4; "123456789" gives e3069283. Used in link frames and DELAY lines. Header
 * only, because the target agent uses it too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint32_t crc32c(const void *bytes, size_t n)
{
	const uint8_t *p = (const uint8_t *)bytes;
	uint32_t crc = ~0u;

	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1u)));
	}
	return ~crc;
}
