/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of an ELF file that unwinding needs: where its code is, and its .eh_frame. */
#ifndef PMCBPF_UNWIND_IMAGE_H
#define PMCBPF_UNWIND_IMAGE_H

#include "cfi.h"

struct image {
	enum unwind_arch arch;
	struct unwind_code code[UNWIND_CODE_MAX];	/* sorted */
	uint32_t ncode;
	uint64_t base;			/* of the first page with code */
	uint32_t npages;
	uint64_t entry;			/* where the kernel starts the program; 0: nowhere */
	uint64_t trampoline;		/* the vdso's for signals, without information; 0: none */
	uint32_t trampoline_size;
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
