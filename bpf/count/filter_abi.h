/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A tracepoint's filter, as a program evaluates it (filter.bpf.h): conditions in the order of the
 * expression, each with the next one for either result, as the kernel's own evaluation has them.
 * loader/kernel/hit_filter.c compiles it.
 */
#ifndef PMCBPF_FILTER_ABI_H
#define PMCBPF_FILTER_ABI_H

#include "bpf/log/log_abi.h"

#define ABI_CONDITIONS	  32u		/* of a filter; a power of two */
#define ABI_CONDITION_TEXT 512u		/* of all its texts; a power of two */
#define ABI_PATTERN	  128u		/* characters of one; a power of two */
#define ABI_GLOBS	  4u		/* patterns that lib/glob.c compares; a power of two */
#define ABI_GLOB	  63u		/* of each: characters, "?" and "[…]" */
#define ABI_USER_TEXT	  1023u		/* characters of a program's text, as the kernel reads */

/* The value that a condition compares. */
enum abi_operand {
	ABI_OPERAND_FIELD,		/* a number in the record */
	ABI_OPERAND_CPU,
	ABI_OPERAND_PID,		/* of the thread: the kernel's number */
	ABI_OPERAND_TEXT,		/* `size` bytes of the record, or up to a NUL */
	ABI_OPERAND_DATA,		/* a word has the text's place and length */
	ABI_OPERAND_REL,		/* … its place from behind this word on */
	ABI_OPERAND_USER,		/* a field has the text's address in the program */
	ABI_OPERAND_COMM,
};
enum abi_comparison {
	ABI_COMPARE_EQ,
	ABI_COMPARE_LT,
	ABI_COMPARE_LE,
	ABI_COMPARE_GT,
	ABI_COMPARE_GE,
	ABI_COMPARE_BITS,		/* any of these */
	/* Texts: */
	ABI_COMPARE_WHOLE,
	ABI_COMPARE_BEGIN,
	ABI_COMPARE_END,
	ABI_COMPARE_INSIDE,
	ABI_COMPARE_GLOB,		/* `text` is the number of the glob, `length` its places */
	ABI_COMPARE_FAILED,		/* no condition's: a text that differs */
};

/* Behind the last condition. */
#define ABI_FILTER_HIT	  254u
#define ABI_FILTER_NO_HIT 255u

struct abi_condition {
	__u64 value;			/* cut to the size, and extended as the field's type is */
	__u16 offset, size;		/* bytes */
	__u16 text, length;		/* the pattern's place in the filter's text */
	__u8 operand, comparison;
	__u8 is_signed;
	__u8 yes, no;			/* the next condition */
	__u8 is_not;			/* USER: inverted, but false if it cannot be read */
	__u8 pad[2];
};

/*
 * All ways to match are followed at once: bit i of a state is set if the text so far matches the
 * first i places of the pattern.
 */
struct abi_glob {
	__u64 stars;			/* bit i: before place i any characters may come */
	__u64 takes[256];		/* of each character: bit i: place i takes it */
};

struct abi_filter {
	__u32 n;			/* conditions; 0: every hit counts */
	__u32 globs;
	struct abi_condition condition[ABI_CONDITIONS];
	char text[ABI_CONDITION_TEXT];
	/* For each character of a pattern, how much of it may still match if the next differs. */
	__u8 again[ABI_CONDITION_TEXT];
	struct abi_glob glob[ABI_GLOBS];
};

_Static_assert(sizeof(struct abi_condition) == 24, "abi");

#endif
