/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of registers that may be read or written: SYSCONFDIR/pmcbpf/msr.list.
 *
 *	register  read-mask  write-mask  vendor  who  name|-  source (the rest of the line)
 *
 * e.g.	0xe8  0xffffffffffffffff  0  x86  admin  APERF  Intel SDM vol. 4 table 2-2; AMD APM vol. 2
 *
 * vendor: x86, intel, amd or arm64; who: any, or admin (energy, frequency, and all that reveals
 * others' work); '#' starts a comment.  A register of another vendor's CPU is checked and left out.
 */
#ifndef PMCBPF_MSRLIST_H
#define PMCBPF_MSRLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/base/base.h"

/* The one list that may be absent. */
#define MSRLIST_FILE PMCBPF_SYSCONFDIR "/pmcbpf/msr.list"
#define MSRLIST_MAX  128u
#define MSRLIST_NAME 24u

struct msrlist_entry {
	uint32_t reg;
	uint64_t read, write;
	bool admin;
	char name[MSRLIST_NAME];	/* APERF; "" : 0xNNN */
};
struct msrlist {
	unsigned int n;			/* sorted by register */
	struct msrlist_entry entry[MSRLIST_MAX];
};

enum msr_vendor { MSR_INTEL, MSR_AMD, MSR_ARM64, MSR_OTHER };

/* -EINVAL: `why` names file, line, error and remedy; other errors: the file. */
int msrlist_text(const char *file, const char *text, size_t len, enum msr_vendor vendor,
		 struct msrlist *list, struct reason *why);
int msrlist_read(const char *path, enum msr_vendor vendor, struct msrlist *list,
		 struct reason *why);
const struct msrlist_entry *msrlist_find(const struct msrlist *list, uint32_t reg);

#endif
