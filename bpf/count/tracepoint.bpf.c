// SPDX-License-Identifier: GPL-2.0
/*
 * Hits of tracepoints: free-running counters for each CPU, from which slices are cut.
 *
 * Most tracepoints get an instance of slot.bpf.c each.  Three kinds are counted here.  All system
 * calls pass two tracepoints, so that a table finds the counter of a call by its number.  And the
 * tracepoint of context switches ends slices itself: its hit belongs to the slice that ends,
 * whether the program of slices has run before this one or will run after it.
 *
 * The kernel skips a program on a CPU where it is running already, as when an interrupt passes the
 * same tracepoint, and counts that in the program's statistics of that CPU.  The sum of both
 * numbers is exact.  Programs of this file are never skipped: switches happen with interrupts
 * disabled, and these programs of system calls are loaded only for kernels that run them with
 * preemption disabled.  Newer kernels (PREEMPTED_SINCE) may preempt such a program, and skip it for
 * the calls of other tasks until its own task runs again.  They count skipped runs without the
 * number of the call, so that each call gets its own instance of slot.bpf.c there.
 */
#include "call.bpf.h"
#include "file.bpf.h"
#include "hit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EINVAL	   22
#define EOPNOTSUPP 95

/* By number: 1 + the tracepoint whose hits are counted. */
__u8 call_enters[ABI_CALLS] = {}, call_exits[ABI_CALLS] = {};
struct abi_tracepoint learned = {};

/* Its element on a CPU shows where the kernel keeps that CPU's data. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} anchor SEC(".maps");
/* Passes a pointer on as a number: the verifier allows no arithmetic with the pointer itself. */
static volatile u64 address;

/* --- system calls ---------------------------------------------------------------------------- */

/* The kernel's events of system calls leave out those of 32-bit programs, whose numbers differ. */
static __always_inline bool call_is_foreign(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

#ifdef __TARGET_ARCH_arm64
	return task->thread_info.flags >> TIF_32BIT & 1;
#else
	return task->thread_info.status & TS_COMPAT;
#endif
}

static __always_inline u32 call_number(struct pt_regs *regs)
{
#ifdef __TARGET_ARCH_arm64
	return (u32)regs->syscallno;
#else
	return (u32)regs->orig_ax;
#endif
}

static __always_inline int call_hit(const __u8 *table, struct pt_regs *regs)
{
	u32 nr = call_number(regs), slot;

	if (nr >= ABI_CALLS)
		return 0;
	slot = table[nr];
	if (slot && !call_is_foreign())
		hit_alone(slot - 1);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call_enter, struct pt_regs *regs, long id)
{
	return call_hit(call_enters, regs);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_exit, struct pt_regs *regs, long ret)
{
	return call_hit(call_exits, regs);
}

/* --- context switches ------------------------------------------------------------------------ */

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_hit, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 cpu = bpf_get_smp_processor_id(), slot = tracepoint_switch;
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (c)
		c->hit_next = next->pid;
	if (slot)
		hit_alone(slot - 1);
	return 0;
}

/* --- the daemon's questions ------------------------------------------------------------------ */

static __always_inline int tracepoint_learn(struct file *f)
{
	struct perf_event *event = f ? BPF_CORE_READ(f, private_data) : NULL;
	struct trace_event_call *call;
	struct syscall_metadata *meta;
	const char *name;

	learned = (struct abi_tracepoint){ .enter = -1, .exit = -1 };
	call = event && bpf_core_field_exists(event->tp_event) ? BPF_CORE_READ(event, tp_event) :
								  NULL;
	if (!call)
		return 0;
	/* An event without a tracepoint has its name instead: no tracepoint has what that gives. */
	name = BPF_CORE_READ(call, tp, name);
	if (bpf_probe_read_kernel_str(learned.name, sizeof(learned.name), name) < 0)
		learned.name[0] = '\0';
	meta = BPF_CORE_READ(call, data);
	if (!meta || !bpf_core_type_exists(struct syscall_metadata))
		return 0;
	if (BPF_CORE_READ(meta, enter_event) == call)
		learned.enter = BPF_CORE_READ(meta, syscall_nr);
	else if (BPF_CORE_READ(meta, exit_event) == call)
		learned.exit = BPF_CORE_READ(meta, syscall_nr);
	return 0;
}

/* Finds per-CPU data of the kernel on a CPU, from which the hits of a counter are read as well. */
static __always_inline int hits_are_at(u64 data, u32 slot, u32 cpu, struct file *map)
{
	struct bpf_array *array = map ? BPF_CORE_READ(map, private_data) : NULL;
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 key = 0;
	void *here;
	u64 base;

	if (!array || !c)
		return -EINVAL;
	base = (u64)BPF_CORE_READ(array, pptrs[0]);
	here = bpf_map_lookup_percpu_elem(&anchor, &key, cpu);
	if (!data || !base || !here)
		return -EOPNOTSUPP;
	address = (u64)here;
	c->misses[slot] = address - base + data;
	return 0;
}

/* The statistics of a program. */
static __always_inline int tracepoint_misses(struct file *f, u32 slot, u32 cpu, struct file *map)
{
	struct bpf_prog *prog = f ? BPF_CORE_READ(f, private_data) : NULL;
	struct bpf_prog_stats *stats = NULL;

	if (!prog)
		return -EINVAL;
	if (!bpf_core_field_exists(prog->stats) || !bpf_core_field_exists(stats->misses))
		return -EOPNOTSUPP;
	stats = BPF_CORE_READ(prog, stats);
	if (!stats)
		return -EOPNOTSUPP;
	return hits_are_at((u64)stats + bpf_core_field_offset(stats->misses), slot, cpu, map);
}

/* --- kprobes --------------------------------------------------------------------------------- */

/* The kernel counts the hits of a kprobe on each CPU before it looks for programs or events. */
static __always_inline struct trace_kprobe *kprobe_of(struct file *f)
{
	struct perf_event *event = f ? BPF_CORE_READ(f, private_data) : NULL;
	struct trace_probe_event *all = NULL;
	struct trace_probe *first = NULL;
	struct trace_kprobe *tk = NULL;
	u64 at;

	if (!event || !bpf_core_type_exists(struct trace_kprobe))
		return NULL;
	at = (u64)BPF_CORE_READ(event, tp_event);
	if (!at)
		return NULL;
	all = (void *)(at - bpf_core_field_offset(all->call));
	at = (u64)BPF_CORE_READ(all, probes.next) - bpf_core_field_offset(first->list);
	return (void *)(at - bpf_core_field_offset(tk->tp));
}

static __always_inline int kprobe_hits(struct file *f, u32 slot, u32 cpu, struct file *map)
{
	struct trace_kprobe *tk = kprobe_of(f);

	return tk ? hits_are_at((u64)BPF_CORE_READ(tk, nhit), slot, cpu, map) : -EOPNOTSUPP;
}

static __always_inline int kprobe_missed(struct file *f)
{
	struct trace_kprobe *tk = kprobe_of(f);

	if (!tk)
		return -EOPNOTSUPP;
	learned.hits = BPF_CORE_READ(tk, rp.kp.nmissed);
	if (bpf_core_field_exists(tk->rp.nmissed))
		learned.hits += (u32)BPF_CORE_READ(tk, rp.nmissed);
	return 0;
}

static __always_inline int tracepoint_now(u32 slot, u32 cpu)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (!c)
		return -EINVAL;
	learned.hits = hits_of(c, slot);
	return 0;
}

SEC("raw_tp")
int tracepoint_ctl(unsigned long long *ctx)
{
	u32 op = ctx[0], a = ctx[1], slot = ctx[2], cpu = ctx[2] >> 32, c = ctx[3];

	if (slot >= ABI_TRACEPOINTS)
		return -EINVAL;
	barrier_var(slot);	/* or the compiler hides the bounds from the verifier */
	slot &= ABI_TRACEPOINTS - 1;

	switch (op) {
	case ABI_TRACEPOINT_LEARN:
		return tracepoint_learn(file_of(a));
	case ABI_TRACEPOINT_MISSES:
		return tracepoint_misses(file_of(a), slot, cpu, file_of(c));
	case ABI_TRACEPOINT_NOW:
		return tracepoint_now(slot, cpu);
	case ABI_TRACEPOINT_KPROBE:
		return kprobe_hits(file_of(a), slot, cpu, file_of(c));
	case ABI_TRACEPOINT_MISSED:
		return kprobe_missed(file_of(a));
	}
	return -EINVAL;
}
