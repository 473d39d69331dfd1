/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of .eh_frame: CIEs, what functions have in common, and FDEs, one for each function. */
#ifndef PMCBPF_UNWIND_CFI_H
#define PMCBPF_UNWIND_CFI_H

#include "cfi_cursor.h"
#include "unwind.h"

struct cfi_section {
	const uint8_t *data;
	size_t size;			/* at most UNWIND_FRAME_MAX */
	uint64_t address;		/* of its first byte in the file's address space */
	enum unwind_arch arch;
	bool terminated;		/* ends at the first entry of length 0, not with its size */
};

struct cfi_entry {
	uint32_t offset;		/* in the section */
	bool is_cie;
	uint32_t cie;			/* offset of an FDE's CIE */
	struct cfi_cursor body;		/* behind the id */
};

struct cfi_cie {
	size_t size;			/* of the entry, also of one that is refused */
	bool augmented;			/* its FDEs have augmentation data */
	bool signal;			/* its functions are called by the kernel, for signals */
	uint8_t encoding;		/* of addresses: DW_EH_PE_… */
	uint8_t ra;			/* the register that stands for the return address */
	uint64_t code_align;
	int64_t data_align;
	struct cfi_cursor program;	/* instructions at the start of each of its functions */
};

struct cfi_fde {
	const struct cfi_cie *cie;
	uint64_t start, size;
	struct cfi_cursor program;
};

/* Reads the entry at *offset, and moves it behind it.  1; 0: there is no more; -EBADMSG. */
int cfi_entry_next(const struct cfi_section *s, uint32_t *offset, struct cfi_entry *e);
/* False: of a version or with an encoding that is not supported, or damaged. */
bool cfi_cie_read(const struct cfi_section *s, uint32_t offset, struct cfi_cie *cie);
bool cfi_fde_read(const struct cfi_section *s, const struct cfi_entry *e,
		  const struct cfi_cie *cie, struct cfi_fde *fde);
/*
 * An encoded address, as the section's own headers have them; a bad cursor for unsupported
 * encodings.
 */
uint64_t cfi_address(struct cfi_cursor *c, const struct cfi_section *s, uint8_t encoding);

#endif
