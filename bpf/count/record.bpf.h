/* SPDX-License-Identifier: GPL-2.0 */
/* Copies the record of a tracepoint's hit into the values of its sample. */
#ifndef PMCBPF_RECORD_BPF_H
#define PMCBPF_RECORD_BPF_H

#include "bpf/log/sample.bpf.h"
#include "record_abi.h"

const volatile struct abi_record_shape record_shape = {};

#define RECORD_HIDDEN 8u	/* the first bytes, where a program finds a pointer */

/* The bytes of the whole record. */
static __always_inline u64 record_size(void *record)
{
	u64 size = record_shape.bytes;

	for (u32 i = 0; i < ABI_RECORD_WORDS && i < record_shape.n; i++) {
		u32 at = record_shape.word[i], word = 0;
		u64 end, more;

		bpf_probe_read_kernel(&word, sizeof(word), record + at);
		end = (word & 0xffff) + (word >> 16);
		if (record_shape.behind >> i & 1)
			end += at + sizeof(word);
		more = is_less(size, end);
		size = end * more + size * (more ^ 1);
	}
	return size;
}

/* Returns the bytes to be sent.  Nothing of an earlier sample may be among them. */
static __always_inline u32 record_copy(struct abi_values *v, void *record)
{
	u64 size = record_size(record), n = size, words;

	if (n > ABI_RAW)
		n = ABI_RAW;
	v->values = 1ull << ABI_VALUE_RAW;
	v->word[ABI_VALUE_RAW] = size << 32 | n;
	v->raw[0] = 0;
	v->raw[(n - 1) / 8 & (ABI_RAW / 8 - 1)] = 0;
	n -= RECORD_HIDDEN;
	barrier_var(n);
	if (n > ABI_RAW - RECORD_HIDDEN)
		return 0;
	if (bpf_probe_read_kernel(v->raw + RECORD_HIDDEN / 8, n, record + RECORD_HIDDEN))
		v->word[ABI_VALUE_RAW] = size << 32;
	words = (n + RECORD_HIDDEN + 7) / 8;
	barrier_var(words);	/* so that the verifier knows its bound */
	return offsetof(struct abi_values, raw) + words * 8;
}

#endif
