/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs that are counted in slices. */
#ifndef PMCBPF_SLICES_H
#define PMCBPF_SLICES_H

#include "count_state.h"

/* The slices that the programs have credited at its place since it got that. */
uint64_t slices_sum(const struct count *c);
/* What was missed at its place is forgotten. */
void slices_forget(struct count *c);

#endif
