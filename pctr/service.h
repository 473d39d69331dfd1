/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of pmcbpfd's, through libpmc-compat: pctrd is one of its clients. */
#ifndef PMCBPF_PCTR_SERVICE_H
#define PMCBPF_PCTR_SERVICE_H

#include "core.h"

extern const struct source service_source;

#endif
