// SPDX-License-Identifier: GPL-2.0
/*
 * CPU hotplug.  While a CPU goes down, perf drops its events for good at one step; while a CPU
 * comes up, perf accepts new events from that step on.  Only tracepoints on the steps report this
 * moment: device events leave out suspend and resume, arrive after processes have run there, and do
 * not reach a daemon without network.
 */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define WAKE_NOW 2	/* BPF_RB_FORCE_WAKEUP */

__u64 cpu_changes = 0;

/* The contents are unused: the daemon wakes and reads the CPUs' state. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} cpu_bell SEC(".maps");

static __always_inline struct abi_cpu *perf_step(u32 cpu, int step)
{
	if (step != (int)bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_PERF_ONLINE))
		return NULL;
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* In cgroup.bpf.c: ends the slice of a cgroup, whose counters are about to go, or begins one. */
extern int cgroup_flush(void);

/* Only this tracepoint shows the direction: a CPU that goes down has a target below this step. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(on_cpu_step, unsigned int cpu, int target, int step, void *fn)
{
	struct abi_cpu *c = perf_step(cpu, step);

	if (!c)
		return 0;
	c->leaving = target < step;
	if (c->leaving)
		cgroup_flush();
	return 0;
}

/*
 * After the step, earlier events no longer count, or new ones can be opened.  An event that was
 * opened during the step is treated as an old one.
 */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(on_cpu_stepped, unsigned int cpu, int state, int step, int result)
{
	struct abi_cpu *c = perf_step(cpu, step);
	u32 bell = 0;

	if (!c)
		return 0;
	if (c->leaving)
		c->downs++;
	c->away = c->leaving ? ABI_CPU_AWAY : ABI_CPU_HERE;
	c->changes++;
	/* A measured cgroup that runs here before the daemon has opened new events loses them. */
	if (!c->leaving)
		cgroup_flush();
	__sync_fetch_and_add(&cpu_changes, 1);
	bpf_ringbuf_output(&cpu_bell, &bell, sizeof(bell), WAKE_NOW);
	return 0;
}
