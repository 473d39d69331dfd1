/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of symbols, which nm(1) prints behind the name: "malloc@@GLIBC_2.2.5". */
#ifndef PMCBPF_EVENT_ELF_VERSION_H
#define PMCBPF_EVENT_ELF_VERSION_H

#include <stdbool.h>
#include <stddef.h>

#include "elf_file.h"

struct elf_versions {
	uint16_t *of;			/* by the symbol's number; NULL: no symbol has a version */
	uint64_t n;
	char *defined, *names;		/* Elf64_Verdef…, and their strings */
	uint64_t defined_size, names_size;
};

/* Reads those of the symbols in a section, if there are any.  elf_version_end() in any case. */
void elf_version_begin(struct elf_versions *v, const struct elf_file *f, unsigned int symbols);
void elf_version_end(struct elf_versions *v);

/* The version that the file defines for a symbol, or "".  `standard`: the one for new programs. */
const char *elf_version_name(const struct elf_versions *v, uint64_t symbol, bool *standard);

#endif
