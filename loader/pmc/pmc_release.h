/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of PMCs: their logs, their targets, their counts and their rows, in that order. */
#ifndef PMCBPF_PMC_RELEASE_H
#define PMCBPF_PMC_RELEASE_H

#include "pmc.h"

/* Undoes pmc_link(), releases all that the PMC has, and frees it. */
void pmc_release(struct row_table *rows, struct pmc *p);
void pmc_release_all(struct row_table *rows, struct owner *o);

#endif
