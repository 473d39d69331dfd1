/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words for the ends of call chains (enum pmc_chain_end), and the place where callers are missing.
 * `flags` are the cpuflags of a CALLCHAIN.  Numbers come from logs: any number is legal.
 */
#ifndef PMCBPF_CHAIN_END_H
#define PMCBPF_CHAIN_END_H

#include <stdint.h>

#define CHAIN_ENDS	16u		/* numbers that a record has room for */
#define CHAIN_FRAME_MAX 64u

/* For users, such as "no table yet"; and a key for programs, such as "table". */
const char *chain_end_text(uint32_t end);
const char *chain_end_key(uint32_t end);

/*
 * 0: no caller is missing.  i: callers are missing between addresses i - 1 and i; n: the outermost
 * ones are.  If the program's part of the chain is whole, the kernel's last address lacks callers.
 */
unsigned int chain_end_cut_at(uint32_t flags, const uintptr_t *pc, unsigned int n);

/*
 * The frame that stands for the missing callers: "[cut: no table yet]"; PMC_CHAIN_NOT_RECORDED:
 * "[cut]"; PMC_CHAIN_WHOLE: of the kernel's part.
 */
const char *chain_end_frame(uint32_t end, char room[static CHAIN_FRAME_MAX]);
/* Its reason alone, as text and as a key. */
const char *chain_end_cut_text(uint32_t end);
const char *chain_end_cut_key(uint32_t end);

#endif
