/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles the call frame information of ELF files into tables by which a program in the kernel can
 * unwind stacks (bpf/unwind/unwind_abi.h).
 *
 * Files are other users' and may say anything: every read is bounded (cfi_cursor.h), and memory and
 * time have limits.  A file that is no ELF file for x86-64 or arm64, that is damaged or exceeds a
 * limit is refused as a whole; information of a form that has no rule becomes UNWIND_BAD for the
 * addresses that it covers, and the rest of the file counts.  A malicious table can make frames of
 * the processes that run the file wrong, and has no other effect.
 *
 * The order of the work: image.c finds the code and .eh_frame, fdes.c lists the functions' entries
 * by address, cfi.c reads entries and runs their instructions, cfi_rule.c makes a rule of each
 * state, and table.c collects rows.
 */
#ifndef PMCBPF_UNWIND_H
#define PMCBPF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/python/python_abi.h"
#include "bpf/unwind/unwind_abi.h"
#include "lib/base/reason.h"

#define UNWIND_FRAME_MAX   (64u << 20)	/* bytes of .eh_frame */
#define UNWIND_FDES_MAX	   (4u << 20)	/* entries */
#define UNWIND_ROWS_MAX	   (8u << 20)
#define UNWIND_PAGES_MAX   65535u	/* 4 GB of addresses */
#define UNWIND_CODE_MAX	   16u		/* executable segments */
#define UNWIND_STEPS_MAX   65536u	/* instructions of an entry */
#define UNWIND_WORK_MAX	   (256u << 20)	/* bytes of entries and instructions read, repeatedly too */

enum unwind_arch { UNWIND_X86_64, UNWIND_ARM64 };

/* An ELF file: a descriptor, or if that is -1, memory. */
struct unwind_input {
	int fd;
	const uint8_t *memory;
	uint64_t size;			/* of the memory */
	bool vdso;			/* the kernel's own: look for its sigreturn trampoline */
};

/* An executable segment: its addresses, and where it is in the file. */
struct unwind_code {
	uint64_t start, end, offset;
};

struct unwind_table {
	enum unwind_arch arch;
	struct unwind_code code[UNWIND_CODE_MAX];	/* sorted */
	uint32_t ncode;
	uint64_t base;			/* address of the first page */
	struct unwind_page *pages;
	uint32_t *rows;
	struct unwind_rule *rules;
	uint32_t npages, nrows, nrules;
	uint32_t nfdes;			/* functions with information */
	uint32_t nskipped;		/* entries of a version or encoding that is not supported */
	struct python_process python;	/* if the file is a Python interpreter, else zeroes */
};

/*
 * 0, or: -ENOEXEC, no 64-bit ELF file of a supported machine; -ENODATA, it has no .eh_frame;
 * -EBADMSG, it is damaged; -E2BIG, it exceeds a limit; -EIO, -ENOMEM.
 */
int unwind_table_build(struct unwind_table *t, const struct unwind_input *in, struct reason *why);
void unwind_table_free(struct unwind_table *t);

/* The address of the code at an offset in the file; 0: there is none. */
uint64_t unwind_table_address(const struct unwind_table *t, uint64_t offset);
/* The number of the rule for an address, as the walker finds it. */
uint32_t unwind_table_rule(const struct unwind_table *t, uint64_t address);

#endif
