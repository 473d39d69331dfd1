/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that run beside sampling: those that see memory being unmapped, for logs, and those that
 * publish mappings, for the walk of stacks.  Both take tracefs; without it sampling works, and what
 * is missing is reported once.
 */
#ifndef PMCBPF_SAMPLE_NEEDS_H
#define PMCBPF_SAMPLE_NEEDS_H

#include <stdbool.h>

struct engine;
struct pmc;

/* The sampling PMCs' common part. */
struct sample_needs {
	struct engine *engine;
	const int *unwind;		/* kern.hwpmc.unwind, which may change */
	unsigned int nsystem;		/* sampling PMCs of system scope */
	bool no_unmaps, no_mappings;	/* that is reported */
};

/* What one PMC holds. */
struct sample_need {
	bool logged;			/* its samples are logged: unmappings are of interest */
	bool unmaps;			/* NEED_UNMAP */
	bool mappings;			/* NEED_MAPPINGS: its stacks are unwound by tables */
};

/* `chains`: it has chains of user code. */
void sample_needs_take(struct sample_needs *all, struct sample_need *n, const struct pmc *p,
		       bool logged, bool chains);
void sample_needs_give(struct sample_needs *all, struct sample_need *n, const struct pmc *p);

#endif
