/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's functions by address: a snapshot of /proc/kallsyms, with modules and BPF programs,
 * or functions that were found one by one.  The file does not have the ends of functions.
 */
#ifndef PMCBPF_KSYMS_H
#define PMCBPF_KSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct ksyms;

struct ksym {
	uint64_t start;
	const char *image;		/* "[kernel.kallsyms]", or "" if it is part of the name */
	const char *name;		/* "schedule", "[nf_tables]nft_do_chain" */
};

/*
 * Reads the file, which takes a tenth of a second.  -EPERM: the kernel hides its addresses;
 * -ENOMEM, or the error of the file.
 */
int ksyms_read(struct ksyms **out, const char *path);
/* An empty table, for functions that are found one by one; NULL: no memory. */
struct ksyms *ksyms_new(void);
/* Adds a function, or replaces the one that begins there.  -ENOMEM. */
int ksyms_add(struct ksyms *k, uint64_t start, uint64_t size, const char *name);
void ksyms_free(struct ksyms *k);

/*
 * The kernel's first address, from the first lines of the file.  -EPERM: the kernel hides its
 * addresses; -ENODATA: the file is empty, as a sandbox may present it; or the error of the file.
 */
int ksyms_start(const char *path, uint64_t *start);

/* False: the address is in no function.  Valid until ksyms_free(). */
bool ksyms_find(const struct ksyms *k, uint64_t address, struct ksym *sym);

#endif
