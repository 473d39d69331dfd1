/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks the symbols that a library exports: all others are compiled with -fvisibility=hidden. */
#ifndef PMCBPF_BASE_EXPORT_H
#define PMCBPF_BASE_EXPORT_H

#define PMC_API_PUBLIC __attribute__((visibility("default")))

#endif
