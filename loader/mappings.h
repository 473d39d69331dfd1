/* SPDX-License-Identifier: BSD-2-Clause */
/* Executable mappings that exist already, as MAP_IN records. */
#ifndef PMCBPF_MAPPINGS_H
#define PMCBPF_MAPPINGS_H

#include <sys/types.h>

#include "logfile.h"

/* Where a file's beginning lies, also if only its text is mapped. */
void mappings_of_process(struct logfile *l, pid_t pid);
/* Every process with its threads, then its mappings. */
void mappings_of_all(struct logfile *l);
/* The kernel and its modules, pid -1.  False: it hides its addresses, and nothing is told. */
bool mappings_of_kernel(struct logfile *l);

#endif
