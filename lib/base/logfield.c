/* SPDX-License-Identifier: BSD-2-Clause */
/* See logfield.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "logfield.h"
#include "logvalues.h"

const uint8_t *logfield_bytes(const uint64_t *at, const struct pmclog_ev_field *f, size_t *size)
{
	const uint8_t *record = (const uint8_t *)(at + 1);
	size_t here = (uint32_t)at[0], from = f->pl_offset, n = f->pl_size;
	uint32_t word;

	if (f->pl_flags & PMCLOG_FIELD_ELSEWHERE) {
		if (from > here || here - from < sizeof(word))
			return NULL;
		memcpy(&word, record + from, sizeof(word));
		n = word >> 16;
		from = (f->pl_flags & PMCLOG_FIELD_BEHIND ? from + sizeof(word) : 0) +
		       (word & 0xffff);
	}
	if (from > here || here - from < n)
		return NULL;
	*size = n;
	return record + from;
}

static bool size_is_number(size_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static uint64_t number_get(const uint8_t *from, size_t size, bool is_signed)
{
	uint8_t one;
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (size) {
	case 1:
		memcpy(&one, from, 1);
		return is_signed ? (uint64_t)(int8_t)one : one;
	case 2:
		memcpy(&two, from, 2);
		return is_signed ? (uint64_t)(int16_t)two : two;
	case 4:
		memcpy(&four, from, 4);
		return is_signed ? (uint64_t)(int32_t)four : four;
	default:
		memcpy(&eight, from, 8);
		return eight;
	}
}

static void number_put(struct buf *out, const struct pmclog_ev_field *f, const uint8_t *from,
		       size_t size, bool hexadecimal)
{
	bool is_signed = f->pl_flags & PMCLOG_FIELD_SIGNED;
	uint64_t value = number_get(from, size, is_signed);

	/* An address of the kernel has the type of a number now and then. */
	if (hexadecimal || (!is_signed && value >> 63))
		buf_printf(out, "0x%" PRIx64, value);
	else if (is_signed)
		buf_printf(out, "%" PRId64, (int64_t)value);
	else
		buf_printf(out, "%" PRIu64, value);
}

static void bytes_put(struct buf *out, const uint8_t *from, size_t size)
{
	char digits[2 * LOGVALUE_RAW_MAX + 1];

	buf_hex(from, size, digits);
	buf_add(out, digits, 2 * size);
}

static void array_put(struct buf *out, const struct pmclog_ev_field *f, const uint8_t *from,
		      size_t size)
{
	size_t element = f->pl_element;

	for (size_t at = 0; at < size; at += element) {
		if (at)
			buf_add(out, ",", 1);
		number_put(out, f, from + at, element, !(f->pl_flags & PMCLOG_FIELD_SIGNED));
	}
}

void logfield_text(struct buf *out, const struct pmclog_ev_field *f, const uint8_t *from,
		   size_t size)
{
	size_t element = f->pl_element;

	if (f->pl_flags & PMCLOG_FIELD_TEXT)
		buf_add(out, (const char *)from, strnlen((const char *)from, size));
	else if (!(f->pl_flags & PMCLOG_FIELD_ARRAY) && size_is_number(size))
		number_put(out, f, from, size, f->pl_flags & PMCLOG_FIELD_ADDRESS);
	else if (f->pl_flags & PMCLOG_FIELD_ARRAY && element > 1 && size_is_number(element) &&
		 size % element == 0)
		array_put(out, f, from, size);
	else
		bytes_put(out, from, size);
}
