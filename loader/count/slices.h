/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs that are counted in slices. */
#ifndef PMCBPF_SLICES_H
#define PMCBPF_SLICES_H

#include "count_state.h"

/* Sum of the slices that the programs have credited at its position since it was assigned. */
uint64_t slices_sum(const struct count *c);
/* The page's part of a PMC whose count is at its position; see struct backend. */
void slices_fill(struct count *c, struct wire_page_pmc *p);
/* The source that its slices read: in a group, that of the first PMC that counts the same. */
static inline int slices_source(const struct count *c)
{
	return c->lender && c->lender->source >= 0 ? c->lender->source : c->source;
}

/* Start, stop and read a group at one instant; one PMC is a group of its own. */
void slices_start_all(struct count *const *list, unsigned int n);
void slices_stop_all(struct count *const *list, unsigned int n);
int slices_read_all(struct count *const *list, unsigned int n, uint64_t *raw,
		    unsigned int *failed, struct reason *why);
/* Clears the mark of missed slices at its position. */
void slices_forget(struct count *c);

#endif
