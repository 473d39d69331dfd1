/* SPDX-License-Identifier: BSD-2-Clause */
/* How the call chains of a log ended: sums, and words for them. */
#ifndef PMCBPF_CLI_LOG_CHAINS_H
#define PMCBPF_CLI_LOG_CHAINS_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/chain_end.h"

struct chains {
	uint64_t samples;
	uint64_t cut;			/* chains that lack callers … */
	uint64_t cuts[CHAIN_ENDS];	/* … by enum pmc_chain_end; WHOLE: in the kernel's part */
	uint64_t ended;			/* chains whose end is recorded … */
	uint64_t whole;			/* … and that lack no caller */
	uint64_t pointers;		/* chains that frame pointers led through in part */
};

/* `flags`: the cpuflags of a CALLCHAIN; 0 for a sample without a chain. */
void chains_add(struct chains *c, uint32_t flags);

/*
 * "99.61 %, cut: no table yet 0.30 %, limit of frames 0.09 %": the share of whole chains, of those
 * whose end is recorded, and the reasons of the others, most chains first.
 */
void chains_put_share(struct buf *out, const struct chains *c);

/* The next reason: with fewer chains than `last` (first: CHAIN_ENDS); CHAIN_ENDS: no more. */
uint32_t chains_next(const struct chains *c, uint32_t last);

/* Warns of chains that lack callers and could have them; `log` is its name. */
void chains_note_cut(const char *log, const struct chains *c);

#endif
