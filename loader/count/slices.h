/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs that are counted in slices. */
#ifndef PMCBPF_SLICES_H
#define PMCBPF_SLICES_H

#include "count_state.h"

/* Sum of the slices that the programs have credited at its position since it was assigned. */
uint64_t slices_sum(const struct count *c);
/* Clears the mark of missed slices at its position. */
void slices_forget(struct count *c);

#endif
