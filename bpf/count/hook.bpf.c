// SPDX-License-Identifier: GPL-2.0
/*
 * Per-CPU counters for events that neither perf nor the task structure counts; free-running while
 * attached.
 */
#include "seen.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PF_WRITE_ACCESS	  0x2	/* x86 page fault error code */
#define FAULT_FLAG_WRITE  0x1
#define FAULT_FLAG_TRIED  0x20	/* the same fault again, after a retry */

extern int task_catch_up(void);

static __always_inline int hook_bump(u32 hook)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (c)
		__sync_fetch_and_add(&c->hook[hook], 1);
	return 0;
}

/* A fault belongs to the running task, even if the switch to it was not seen. */
static __always_inline int fault_bump(u32 hook)
{
	if (seen_differs(bpf_get_smp_processor_id(), bpf_get_current_task_btf()))
		task_catch_up();
	return hook_bump(hook);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	return fault_bump(code & PF_WRITE_ACCESS ? ABI_HOOK_FAULT_WRITE : ABI_HOOK_FAULT_READ);
}

static __always_inline u32 fault_kind(unsigned int flags)
{
	return flags & FAULT_FLAG_WRITE ? ABI_HOOK_FAULT_WRITE : ABI_HOOK_FAULT_READ;
}

/* Used if the architecture has no fault tracepoint: handle_mm_fault(vma, address, flags, regs). */
SEC("kprobe/handle_mm_fault")
int BPF_KPROBE(on_fault_probe, void *vma, unsigned long address, unsigned int flags)
{
	return flags & FAULT_FLAG_TRIED ? 0 : fault_bump(fault_kind(flags));
}

/* Before Linux 7 such a program may not read registers, so it begins no slices of registers. */
SEC("kprobe/handle_mm_fault")
int BPF_KPROBE(on_fault_probe_alone, void *vma, unsigned long address, unsigned int flags)
{
	return flags & FAULT_FLAG_TRIED ? 0 : hook_bump(fault_kind(flags));
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention)
{
	return hook_bump(ABI_HOOK_LOCK);
}

/* The switch program may run before or after this one; each detects the order. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_kind, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (c)
		c->kind_next = next->pid;
	return hook_bump(switch_kind(preempt, prev_state));
}
