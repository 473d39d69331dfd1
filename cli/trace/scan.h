/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's entries in an image of a whole machine.  Neither symbols nor page tables are needed:
 * each entry and each format identifies itself, with its CPU and number, wherever its page is.
 */
#ifndef PMCBPF_CLI_TRACE_SCAN_H
#define PMCBPF_CLI_TRACE_SCAN_H

#include "elf.h"
#include "rings.h"

struct scan;

/*
 * Reads the machine's memory from a file: the segments of an ELF file, or all of it.  0 or -errno.
 */
int scan_image(struct memory *mem, struct memory *file, const struct elf *elf);

/* Reads a machine's memory by gdb's protocol.  0, or an exit code after a line with the reason. */
int scan_remote(struct memory *mem, const char *host_port);

/* Whether entries without a header begin here, as in a log written entry by entry. */
bool scan_probe(struct memory *mem);

/* Scans all memory.  0, or an exit code after a line with the reason. */
int scan_open(struct scan **scan, struct memory *mem, const char *name);

/* The entries that were found, as rings. */
int scan_rings(struct scan *scan, struct rings *rings);
void scan_close(struct scan *scan);

#endif
