// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that go and come.  perf detaches a CPU's events for good at one step of taking it down and
 * takes new ones from that step on when it comes up; the kernel says so nowhere but here: device
 * events leave out suspend and resume, come after processes have run there, and do not reach a
 * daemon without network.
 */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define WAKE_NOW 2	/* BPF_RB_FORCE_WAKEUP */

__u64 cpu_changes = 0;

/* What it carries says nothing: the daemon wakes and looks at the CPUs' state. */
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

/* Only here is the direction known: a CPU that goes down has a target below this step. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(on_cpu_step, unsigned int cpu, int target, int step, void *fn)
{
	struct abi_cpu *c = perf_step(cpu, step);

	if (c)
		c->leaving = target < step;
	return 0;
}

/*
 * After the step no event of before counts any more, or new ones can be opened; what was opened
 * while it lasted is taken for an old one.
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
	__sync_fetch_and_add(&cpu_changes, 1);
	bpf_ringbuf_output(&cpu_bell, &bell, sizeof(bell), WAKE_NOW);
	return 0;
}
