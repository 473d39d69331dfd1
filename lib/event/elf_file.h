/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files that are searched for places.  A file may be anybody's: each offset and length is
 * checked, and it is read, not mapped, because it may shrink meanwhile.
 */
#ifndef PMCBPF_EVENT_ELF_FILE_H
#define PMCBPF_EVENT_ELF_FILE_H

#include <elf.h>
#include <stdint.h>

#include "lib/base/reason.h"

struct elf_file {
	int fd;
	const char *path;		/* for messages */
	uint64_t size;
	Elf64_Phdr *segment;
	unsigned int nsegments;
	Elf64_Shdr *section;
	unsigned int nsections;
	unsigned int names;		/* the section of sections' names */
};

/* Reads the tables of a program or shared object of this machine.  elf_file_end() in any case. */
int elf_file_begin(struct elf_file *f, int fd, const char *path, struct reason *why);
void elf_file_end(struct elf_file *f);

int elf_file_read(const struct elf_file *f, void *buf, uint64_t len, uint64_t at);
/* A new copy of a part of the file, with a NUL behind it; NULL: it is not there, or no memory. */
void *elf_file_copy(const struct elf_file *f, uint64_t at, uint64_t len);

/* The segment with these PF_… that has the address in the file, or NULL. */
const Elf64_Phdr *elf_file_segment_at(const struct elf_file *f, uint64_t address, uint32_t flags);

#endif
