/* SPDX-License-Identifier: BSD-2-Clause */
/* What a daemon gives up: capabilities, ways to gain some, and core files. */
#ifndef PMCBPF_CONFINE_H
#define PMCBPF_CONFINE_H

#include <stdint.h>

/*
 * Reduces the calling thread, and the threads and processes that it makes from then on, to these
 * sets of capabilities, as far as it has them: `effective` is part of `permitted`, which bounds
 * everything; nothing is inheritable or ambient, and an exec grants nothing.  0 or -errno.
 */
int confine_capabilities(uint64_t permitted, uint64_t effective);

/* No core file by itself: it would have what belongs to all users.  prlimit(1) allows it again. */
void confine_core(void);

#endif
