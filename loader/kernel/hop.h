/* SPDX-License-Identifier: BSD-2-Clause */
/* Work on a CPU while no other thread runs there: moves the calling thread to that CPU. */
#ifndef PMCBPF_HOP_H
#define PMCBPF_HOP_H

#include <sched.h>
#include <stdint.h>

struct hop {
	int policy;
	struct sched_param param;
	cpu_set_t cpus;
};

/* Gives the thread priority over ordinary threads until hop_end() undoes it.  0 or -errno. */
int hop_begin(struct hop *h);
int hop_to(unsigned int cpu);
void hop_end(const struct hop *h);
/* Increases whenever another thread may have run on the CPU. */
uint64_t hop_switches(void);

#endif
