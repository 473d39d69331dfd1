/* SPDX-License-Identifier: BSD-2-Clause */
/* What a library exports: everything else is compiled with -fvisibility=hidden. */
#ifndef PMCBPF_BASE_EXPORT_H
#define PMCBPF_BASE_EXPORT_H

#define PMC_API_PUBLIC __attribute__((visibility("default")))

#endif
