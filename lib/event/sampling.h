/* SPDX-License-Identifier: BSD-2-Clause */
/* Qualifiers of sampling, which are the same for all classes: pmc.perf(3). */
#ifndef PMCBPF_EVENT_SAMPLING_H
#define PMCBPF_EVENT_SAMPLING_H

#include "evspec.h"

/* Takes them out of the specifier into the request, whose mode is set.  -EINVAL with the reason. */
int sampling_take(struct evspec *spec, struct wire_allocate_req *req, struct reason *why);

#endif
