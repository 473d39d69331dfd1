/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of an ELF file that unwinding needs: where its code is, and its .eh_frame. */
#ifndef PMCBPF_UNWIND_IMAGE_H
#define PMCBPF_UNWIND_IMAGE_H

#include "cfi.h"

#define IMAGE_PLTS 2u

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
	 * arm64's procedure linkage tables have no information.  All of their code leaves SP and LR
	 * alone, but for the part of the first entry that follows its push of both.
	 */
	struct image_plt {
		uint64_t start, size;
		uint64_t pushed, pushed_size;	/* that part; size 0: there is none */
	} plt[IMAGE_PLTS];
	uint32_t nplt;
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
