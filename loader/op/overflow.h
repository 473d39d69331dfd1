/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals of sampling PMCs with PMC_F_SIGNAL: the checks of other operations. */
#ifndef PMCBPF_OP_OVERFLOW_H
#define PMCBPF_OP_OVERFLOW_H

#include "request.h"

/* At the allocation, by its mode and flags, and when its event is planned. */
int overflow_check_flags(const struct allocation *p, struct reason *why);
int overflow_plan(struct allocation *p, struct reason *why);
/* At the start: the owner takes the signal. */
int overflow_check_start(struct request *rq, const struct pmc *p);

#endif
