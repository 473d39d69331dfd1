/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of a tracepoint's record, which a sample's values may contain: enum pmclog_field_flag. */
#ifndef PMCBPF_LOGFIELD_H
#define PMCBPF_LOGFIELD_H

#include <stddef.h>
#include <stdint.h>

#include <pmclog.h>

#include "buf.h"

/*
 * The bytes of a field in a record whose value begins at `at` (logvalues.h), and their number.
 * NULL: they are not there, as in a record that is cut.
 */
const uint8_t *logfield_bytes(const uint64_t *at, const struct pmclog_ev_field *f, size_t *size);

/*
 * Appends a field as text: decimal, but hexadecimal if it is an address, an unsigned element of an
 * array, or unsigned and 1 << 63 or more; bytes in pairs of digits; a text as it is.
 */
void logfield_text(struct buf *out, const struct pmclog_ev_field *f, const uint8_t *from,
		   size_t size);

#endif
