/* SPDX-License-Identifier: BSD-2-Clause */
/* Beginnings of functions in ELF files without symbols. */
#ifndef PMCBPF_EVENT_ELF_FRAME_H
#define PMCBPF_EVENT_ELF_FRAME_H

#include "elf_file.h"

/*
 * 0: unwind tables have a range of code that begins at the address; `length` is the distance to the
 * next one.  -ENOENT: none does.
 */
int elf_frame_find(const struct elf_file *f, uint64_t address, uint64_t *length);

#endif
