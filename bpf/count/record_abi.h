/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The record of a tracepoint's hit, as a program copies it (record.bpf.h): a fixed part, and behind
 * it texts and arrays, whose places and lengths are in words of the fixed part.
 * loader/kernel/event_format.c has it from the event's format file.
 */
#ifndef PMCBPF_RECORD_ABI_H
#define PMCBPF_RECORD_ABI_H

#include "bpf/log/log_abi.h"

#define ABI_RECORD_WORDS 16u

struct abi_record_shape {
	__u32 bytes;			/* of the fixed part; 0: no record is copied */
	__u32 n;			/* words with a place (lower half) and a length … */
	__u16 word[ABI_RECORD_WORDS];	/* … are here … */
	__u32 behind;			/* … bit i: word i counts its place from its own end */
};

#endif
