/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's functions by address: what /proc/kallsyms says at a moment, with modules and BPF
 * programs.  It does not say where a function ends.
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
 * -ENOMEM, or why the file cannot be read.
 */
int ksyms_read(struct ksyms **out, const char *path);
void ksyms_free(struct ksyms *k);

/*
 * Where the kernel begins, from the first lines of the file.  -EPERM: the kernel hides its
 * addresses; -ENODATA: the file is empty, as where a sandbox has put another one in its place; or
 * why the file cannot be read.
 */
int ksyms_start(const char *path, uint64_t *start);

/* False: the address is in no function.  Valid until ksyms_free(). */
bool ksyms_find(const struct ksyms *k, uint64_t address, struct ksym *sym);

#endif
