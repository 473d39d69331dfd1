/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of a file that .eh_frame describes, by address. */
#ifndef PMCBPF_UNWIND_FDES_H
#define PMCBPF_UNWIND_FDES_H

#include "cfi.h"
#include "image.h"

/* Pseudo entries, in fde.entry. */
#define FDE_END	   UINT32_MAX		/* code that has no caller */
#define FDE_SIGNAL (UINT32_MAX - 1)	/* the kernel's sigreturn trampoline */
#define FDE_KNOWN  (FDE_SIGNAL - IMAGE_STACKS) /* + enum image_stack: a part of a known section */
#define FDE_PSEUDO FDE_KNOWN		/* the first of them */

#define FDES_CIES 64u

struct fde {
	uint32_t start, size;		/* from the image's base */
	uint32_t entry;			/* offset in the section */
};

struct fdes {
	const struct image *image;
	struct fde *list;		/* sorted by start; none is empty */
	uint32_t n, room;
	uint32_t nskipped;
	struct cie_slot {		/* CIEs read last */
		uint32_t offset;
		bool read, good;
		struct cfi_cie cie;
	} cies[FDES_CIES];
	uint64_t work;			/* bytes looked at so far */
};

/* 0, -EBADMSG, -E2BIG or -ENOMEM; fdes_free() in every case. */
int fdes_read(struct fdes *fs, const struct image *image, struct reason *why);
void fdes_free(struct fdes *fs);

/* The entry behind an element that is no pseudo entry.  0, or -E2BIG: enough has been read. */
int fdes_entry(struct fdes *fs, const struct fde *f, struct cfi_fde *out, struct reason *why);

#endif
