/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32C (Castagnoli), reflected, start and final xor ~0. Pure: also builds in user space. */
#ifndef LM_CRC32C_H
#define LM_CRC32C_H

#include <linux/types.h>

/*
 * Bit by bit on purpose: a console line costs 1 us, and the kernel's own crc32c() is, by release, a
 * separate module or has another name, which the initramfs of a target would have to follow.
 */
static inline __u32 lm_crc32c_add(__u32 state, const void *data, __kernel_size_t len)
{
	const __u8 *p = data;
	unsigned int bit;

	while (len--) {
		state ^= *p++;
		for (bit = 0; bit < 8; bit++)
			state = (state >> 1) ^ (0x82f63b78u & (0u - (state & 1u)));
	}

	return state;
}

static inline __u32 lm_crc32c(const void *data, __kernel_size_t len)
{
	return ~lm_crc32c_add(~0u, data, len);
}

#endif
