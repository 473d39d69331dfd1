/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether every switch is seen. */
#include <bpf/libbpf.h>

#include "bpf/count/count_abi.h"
#include "pmcbpf.skel.h"
#include "switches.h"

void switches_begin(struct pmcbpf *skel)
{
	for (unsigned int cpu = 0; cpu < ABI_MAX_CPUS; cpu++)
		__atomic_store_n(&skel->bss->open_slice[cpu].seen, 0, __ATOMIC_RELAXED);
}

void switches_watch(struct pmcbpf *skel)
{
	__atomic_store_n(&skel->bss->switches_watched, 1, __ATOMIC_SEQ_CST);
}

void switches_unwatch(struct pmcbpf *skel)
{
	__atomic_store_n(&skel->bss->switches_watched, 0, __ATOMIC_SEQ_CST);
}

void switches_end(struct pmcbpf *skel, volatile struct abi_cpu *cpus, unsigned int ncpu)
{
	for (unsigned int cpu = 0; cpu < ncpu; cpu++) {
		skel->bss->open_slice[cpu].set = 0;
		cpus[cpu].members = 0;
	}
}

uint64_t switches_hidden(const struct pmcbpf *skel)
{
	return __atomic_load_n(&skel->bss->switches_hidden, __ATOMIC_ACQUIRE);
}
