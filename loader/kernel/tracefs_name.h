/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of trace events. */
#ifndef PMCBPF_TRACEFS_NAME_H
#define PMCBPF_TRACEFS_NAME_H

#include <stdbool.h>

/* "SYSTEM:NAME" of letters, digits and "_", "-" and ".", which cannot lead to another file. */
bool tracefs_name_valid(const char *name);

#endif
