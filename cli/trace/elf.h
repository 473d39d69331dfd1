/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files as decoding needs them: segments, the section of trace points, notes.  libelf reads and
 * checks the headers.  Files are untrusted; only their headers are kept in memory.
 */
#ifndef PMCBPF_CLI_TRACE_ELF_H
#define PMCBPF_CLI_TRACE_ELF_H

#include <gelf.h>

#include "memory.h"

#define ELF_BUILD_ID 20u	/* bytes that are compared */

struct elf {
	struct memory *mem;	/* the file's bytes */
	Elf *file;
	uint16_t type;		/* ET_… */
	GElf_Phdr *headers;
	size_t nheaders;
	uint64_t sites, sites_end;	/* section ktr_sites, addresses in the file */
	uint8_t build_id[ELF_BUILD_ID];
	uint32_t build_id_size;	/* 0: none */
};

/* 0; -ENOEXEC: not an ELF file of 64 bits and this byte order; -ENODATA: truncated; or -errno. */
int elf_open(struct elf *elf, struct memory *mem);
void elf_close(struct elf *elf);

/* The build id of a file that was loaded at `base`.  Returns its size, 0 if there is none. */
uint32_t elf_loaded_build(struct memory *mem, uint64_t base, uint8_t id[ELF_BUILD_ID]);

/* Bytes, or a string, at an address of the file.  As memory_get() and memory_string(). */
int elf_get(const struct elf *elf, uint64_t address, void *to, size_t len);
int elf_string(const struct elf *elf, uint64_t address, char *to, size_t size);

/* The content of the first such note, at any alignment, valid until the file is closed; or NULL. */
const void *elf_note(const struct elf *elf, const char *name, uint32_t type, size_t *size);

/* Whether two build ids are equal; one of them may be cut. */
bool elf_same_build(const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb);

#endif
