/* SPDX-License-Identifier: BSD-2-Clause */
/* Detection of hidden context switches. */
#include <bpf/libbpf.h>

#include "engine.h"
#include "pmcbpf.skel.h"

void switches_begin(const struct engine *e)
{
	for (unsigned int cpu = 0; cpu < ABI_MAX_CPUS; cpu++) {
		__atomic_store_n(&e->skel->bss->open_slice[cpu].seen, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&e->skel->bss->open_slice[cpu].outside, 0, __ATOMIC_RELAXED);
	}
}

void switches_watch(const struct engine *e)
{
	__atomic_store_n(&e->skel->bss->switches_watched, 1, __ATOMIC_SEQ_CST);
}

void switches_unwatch(const struct engine *e)
{
	__atomic_store_n(&e->skel->bss->switches_watched, 0, __ATOMIC_SEQ_CST);
}

void switches_end(const struct engine *e)
{
	for (unsigned int cpu = 0; cpu < e->ncpu; cpu++) {
		e->skel->bss->open_slice[cpu].set = 0;
		e->cpus[cpu].members = 0;
	}
}

uint64_t switches_hidden(const struct engine *e)
{
	return __atomic_load_n(&e->skel->bss->switches_hidden, __ATOMIC_ACQUIRE);
}
