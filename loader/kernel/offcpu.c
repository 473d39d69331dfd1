/* SPDX-License-Identifier: BSD-2-Clause */
/* See offcpu.h; bpf/count/offcpu.bpf.c measures the waits. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"
#include "offcpu.h"
#include "pmcbpf.skel.h"

#define TABLE (ABI_OFFCPUS * sizeof(struct abi_offcpu))

struct offcpus {
	volatile struct abi_offcpu *table;	/* the programs' */
	bool used[ABI_OFFCPUS];
};

struct offcpus *offcpus_new(const struct engine *e)
{
	struct offcpus *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->table = mmap(NULL, TABLE, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(e->skel->maps.offcpus), 0);
	if (o->table != MAP_FAILED)
		return o;
	free(o);
	return NULL;
}

void offcpus_free(struct offcpus *o)
{
	if (!o)
		return;
	munmap((void *)o->table, TABLE);
	free(o);
}

int offcpu_take(struct offcpus *o, struct reason *why)
{
	for (unsigned int i = 0; i < ABI_OFFCPUS; i++) {
		if (o->used[i])
			continue;
		o->used[i] = true;
		o->table[i].since = ABI_OFFCPU_STOPPED;
		memset((void *)&o->table[i].count, 0, sizeof(o->table[i].count));
		return (int)i;
	}
	return deny(why, -EAGAIN, "%u PMCs sample time off the CPUs, as many as can; release some",
		    ABI_OFFCPUS);
}

void offcpu_give(struct offcpus *o, int place)
{
	o->used[place] = false;
}

volatile struct abi_offcpu *offcpu_at(const struct offcpus *o, int place)
{
	return &o->table[place];
}

void offcpu_forget(const struct pmcbpf *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	bpf_prog_test_run_opts(bpf_program__fd(skel->progs.offcpu_forget), &opts);
}

void offcpu_system(const struct engine *e, unsigned int cpu, unsigned int row, int place, bool on)
{
	volatile struct abi_cpu *c = &e->cpus[cpu];

	if (on)
		c->offcpu_place[row] = (uint32_t)place;
	__atomic_store_n(&c->offcpu, on ? c->offcpu | 1u << row : c->offcpu & ~(1u << row),
			 __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&e->skel->bss->offcpu_systems, on ? 1 : ~0u, __ATOMIC_SEQ_CST);
}

int offcpu_cgroup(const struct engine *e, int place, bool on)
{
	struct abi_offcpu_cgroups *list = &e->skel->bss->offcpu_cgroups;
	unsigned int i;

	for (i = 0; i < ABI_OFFCPU_CGROUPS; i++) {
		bool runs = list->running >> i & 1;

		if (on ? !runs : runs && list->place[i] == (uint32_t)place)
			break;
	}
	if (i == ABI_OFFCPU_CGROUPS)
		return -ENOSPC;
	if (on)
		list->place[i] = (uint32_t)place;
	__atomic_store_n(&list->running, list->running ^ 1u << i, __ATOMIC_SEQ_CST);
	return 0;
}
