/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kgmon(8): controls and dumps the kernel's profile, which pmcbpfd keeps.
 *
 * kgmon.c reads the options and sends requests.  For a dump, kernel.c reads the kernel's names,
 * dump.c writes gmon.out (layouts of cli/report/gmon.h), and symbols.c writes gmon.kernel, an ELF
 * file with the names that gprof(1) needs.  Single-threaded.
 */
#ifndef PMCBPF_CLI_KGMON_H
#define PMCBPF_CLI_KGMON_H

#include <pmc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

#define KERNEL_LIST   "/proc/kallsyms"
#define KERNEL_ITSELF UINT32_MAX

/* Of the kernel's code, by address; one for each address. */
struct kernel_name {
	uint64_t start;
	uint32_t size;			/* upper bound */
	uint32_t name;			/* in kernel_names.text */
	uint32_t module;		/* the module's name there; or KERNEL_ITSELF */
	uint32_t line;			/* of the list */
	bool wanted;			/* it has samples, or the gap behind it */
};

struct kernel_names {
	struct kernel_name *list;
	size_t n, room;
	uint64_t lowest;		/* sample below all of them; 0: none */
	struct buf text;
};

/* From /proc/kallsyms, or from a file of that format for this boot.  0 or an exit code. */
int kernel_names_read(struct kernel_names *names, const char *system);
/* The last function that begins at the address or below it, or NULL. */
struct kernel_name *kernel_names_find(const struct kernel_names *names, uint64_t address);
void kernel_names_free(struct kernel_names *names);

/* Writes an ELF file of the wanted names into an empty file.  0 or -errno. */
int symbols_write(const struct kernel_names *names, int fd);

/* Writes gmon.out and gmon.kernel to the current folder.  0 or an exit code. */
int dump_write(const struct pmc_kgmon *profile, int dump, struct kernel_names *names);

#endif
