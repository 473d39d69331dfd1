/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as DWARF encodes them.  All return false if the section ends within the number. */
#ifndef PMCBPF_CLI_PROFILE_BYTES_H
#define PMCBPF_CLI_PROFILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool bytes_uleb(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	unsigned int shift = 0;

	for (*value = 0; *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static inline bool bytes_sleb(const uint8_t **at, const uint8_t *end, int64_t *value)
{
	const uint8_t *from = *at;
	uint64_t raw;
	size_t bits;

	if (!bytes_uleb(at, end, &raw))
		return false;
	bits = 7 * (size_t)(*at - from);
	if (bits < 64 && (*at)[-1] & 0x40)
		raw |= ~(uint64_t)0 << bits;
	*value = (int64_t)raw;
	return true;
}

/* Little-endian. */
static inline bool bytes_number(const uint8_t **at, const uint8_t *end, size_t size,
				uint64_t *value)
{
	if ((size_t)(end - *at) < size)
		return false;
	*value = 0;
	for (size_t i = 0; i < size; i++)
		*value = *value << 8 | (*at)[size - 1 - i];
	*at += size;
	return true;
}

#endif
