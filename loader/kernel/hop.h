/* SPDX-License-Identifier: BSD-2-Clause */
/* For work that is done on a CPU while nobody else runs there: the calling thread goes there. */
#ifndef PMCBPF_HOP_H
#define PMCBPF_HOP_H

#include <sched.h>

struct hop {
	int policy;
	struct sched_param param;
	cpu_set_t cpus;
};

/* Ahead of every ordinary thread until hop_end(), which puts everything back.  0 or -errno. */
int hop_begin(struct hop *h);
int hop_to(unsigned int cpu);
void hop_end(const struct hop *h);

#endif
