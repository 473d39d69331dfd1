/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames of a stack in a row, with those of inlined functions. */
#ifndef PMCBPF_CLI_REPORT_CHAIN_H
#define PMCBPF_CLI_REPORT_CHAIN_H

#include "report.h"

/* A frame of a stack and the place it is at. */
struct link {
	const struct frame *frame;
	const struct place *place;
};

struct chain {
	struct link *links;	/* the outermost caller first, inlined functions behind their own */
	size_t n, room;
};

/* 0 or -ENOMEM.  A chain may be filled again; chain_free() after the last time. */
int chain_fill(struct chain *chain, const struct profile *p, uint32_t stack);
void chain_free(struct chain *chain);

#endif
