/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an allocation that concerns samples: their rate and values. */
#ifndef PMCBPF_OP_SAMPLING_H
#define PMCBPF_OP_SAMPLING_H

#include "request.h"

/*
 * After the class has planned the event: refuses a rate, a precision and values that the event, the
 * machine or the client cannot have, and completes the plan.
 */
int sampling_admit(struct request *rq, struct allocation *p);

#endif
