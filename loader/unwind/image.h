/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of an ELF file that unwinding needs: where its code is, and its .eh_frame. */
#ifndef PMCBPF_UNWIND_IMAGE_H
#define PMCBPF_UNWIND_IMAGE_H

#include "cfi.h"

#define IMAGE_KNOWN	  5u
#define IMAGE_KNOWN_PARTS 3u

/* The words that code without information has pushed since it was called. */
enum image_stack {
	IMAGE_CALLED,			/* none */
	IMAGE_PUSHED,			/* x86-64: one word; arm64: return address and x16 */
	IMAGE_PUSHED_TWO,		/* two words */
	IMAGE_PLT,			/* one from byte 11 of each 16 on … */
	IMAGE_PLT_PAD,			/* … or from byte 9 on */
	IMAGE_STACKS
};

struct image {
	enum unwind_arch arch;
	struct unwind_code code[UNWIND_CODE_MAX];	/* sorted */
	uint32_t ncode;
	uint64_t base;			/* of the first page with code */
	uint32_t npages;
	uint64_t entry;			/* where the kernel starts the program; 0: nowhere */
	uint64_t trampoline;		/* the vdso's for signals, without information; 0: none */
	uint32_t trampoline_size;
	/*
	 * Code without information that is always the same: procedure linkage tables of arm64 and
	 * of the linker lld, and x86-64's .init and .fini.
	 */
	struct image_known {
		uint64_t start, size;
		struct image_part {	/* one behind the other, `size` bytes in all */
			uint64_t size;
			enum image_stack stack;
		} parts[IMAGE_KNOWN_PARTS];
	} known[IMAGE_KNOWN];
	uint32_t nknown;
	struct cfi_section frame;
	uint8_t *owned;			/* its memory */
};

/* Errors are those of unwind_table_build(); image_free() in every case. */
int image_read(struct image *image, const struct unwind_input *in, struct reason *why);
void image_free(struct image *image);

/*
 * How much of `size` bytes at `start` is in the executable segment that has `start`; 0: none has.
 */
uint64_t image_clip(const struct image *image, uint64_t start, uint64_t size);

#endif
