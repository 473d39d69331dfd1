/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon gives up capabilities, the ways to gain new ones, and core files. */
#ifndef PMCBPF_CONFINE_H
#define PMCBPF_CONFINE_H

#include <stdint.h>

/*
 * Reduces the calling thread, and the threads and processes that it makes from then on, to these
 * sets of capabilities, as far as it has them: `effective` is part of `permitted`, which bounds
 * everything; nothing is inheritable or ambient, and an exec grants nothing.  0 or -errno.
 */
int confine_capabilities(uint64_t permitted, uint64_t effective);

/* Sets the soft limit of core files to 0: a core has data of all users.  prlimit(1) raises it. */
void confine_core(void);

#endif
