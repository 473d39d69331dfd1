// SPDX-License-Identifier: GPL-2.0
/*
 * Wakers: at each wake-up of a thread whose wait is measured, this program notes the thread, or the
 * interrupt, that wakes it, and the call chain there.  bpf/log/offcpu_sample.bpf.c takes that when
 * it records the wait, in the thread itself, which nothing wakes meanwhile.
 *
 * The kernel wakes threads in interrupts, too: timers expire and devices are done.  The thread that
 * has been interrupted has nothing to do with that.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "hits.bpf.h"
#include "offcpu_wait.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool nested = false;
struct abi_level level = {};
const volatile __u32 max_stack = 127;
const volatile bool wakers_unwind = false;	/* by tables, not by frame pointers */

/* Others' maps. */
struct offcpu_entries_map offcpu_entries SEC(".maps");
struct offcpu_threads_map offcpu_threads SEC(".maps");
struct offcpu_wakers_map offcpu_wakers SEC(".maps");
struct unwind_chunks_map unwind_chunks SEC(".maps");
struct unwind_files_map unwind_files SEC(".maps");
struct unwind_processes_map unwind_processes SEC(".maps");
struct unwind_notes_map unwind_notes SEC(".maps");

/* One per CPU: interrupts, which may come meanwhile, take no chain. */
struct waker_scratch {
	struct walk walk;
	u64 user[WALK_ROOM];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct waker_scratch);
} waker_scratch SEC(".maps");

/*
 * Bits of the kernel's counter of interrupts, tasks' locks and the like.  Linux 7.3 has put another
 * counter into the bits that were interrupts' before; a variable came with it.
 */
#define IN_SOFTIRQ	 0x100u
#define IN_INTERRUPT	 0x1f000000u	/* of hardware, or one that masks these … */
#define IN_INTERRUPT_OLD 0xff0000u	/* … before Linux 7.3 */

extern const unsigned long local_interrupt_disable_state __ksym __weak;

#ifdef __TARGET_ARCH_arm64
struct thread_info___waker {
	u64 preempt_count;		/* and in the upper half a mark */
} __attribute__((preserve_access_index));
#else
/* Of a CPU: a variable before Linux 6.2 and since 6.15, a member of another one in between. */
struct pcpu_hot___waker {
	int preempt_count;
} __attribute__((preserve_access_index));
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot___waker pcpu_hot __ksym __weak;
#endif

static const struct waker_state none = {};

static __always_inline bool waker_is_interrupt(void)
{
	u32 count = 0;

#ifdef __TARGET_ARCH_arm64
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_info___waker *info = (void *)&task->thread_info;

	count = (u32)BPF_CORE_READ(info, preempt_count);
#else
	if (&pcpu_hot)
		count = ((struct pcpu_hot___waker *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	else if (&__preempt_count)
		count = *(int *)bpf_this_cpu_ptr(&__preempt_count);
#endif
	return count & (IN_SOFTIRQ | (&local_interrupt_disable_state ? IN_INTERRUPT :
								      IN_INTERRUPT_OLD));
}

/* The program's side, behind n addresses of the kernel's. */
static __always_inline void waker_take_user(void *ctx, struct abi_waker *w, u32 n, u32 pid)
{
	u32 zero = 0, more;
	struct waker_scratch *s = bpf_map_lookup_elem(&waker_scratch, &zero);
	bool cut = false;

	if (!s)
		return;
	if (wakers_unwind) {
		walk_user(&s->walk, s->user, 0, ABI_WAKER_USER, pid);
		w->end = s->walk.end;
		w->pointers = s->walk.pointers;
		more = s->walk.n;
	} else {
		more = chain(ctx, s->user, ABI_WAKER_USER, BPF_F_USER_STACK, &cut);
		w->flags |= cut ? ABI_REC_CUT : 0;
	}
	barrier_var(n);
	barrier_var(more);
	if (n > ABI_WAKER_KERNEL || more > ABI_WAKER_USER)
		return;
	bpf_probe_read_kernel(w->pc + n, more * 8, s->user);
	w->n = n + more;
}

/* Where the current thread is; its stack in the kernel begins with the function that wakes. */
static __always_inline void waker_take_thread(void *ctx, struct waker_state *state)
{
	struct abi_waker *w = &state->w;
	bool cut = false;
	u64 skip = 0;
	u32 n;

	put_numbers(&state->rec);
	w->pid = state->rec.pid;
	w->tid = state->rec.tid;
	bpf_get_current_comm(w->name, sizeof(w->name));
	site_find(ctx, &skip, true);
	n = chain(ctx, w->pc, ABI_WAKER_KERNEL, skip & 0xff, &cut);
	w->flags |= cut ? ABI_REC_CUT_INSIDE : 0;
	w->n = n;
	waker_take_user(ctx, w, n, w->pid);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	u64 key = (u64)task;
	struct waker_state *state;

	if (!thread_state(task))
		return 0;
	state = bpf_map_lookup_elem(&offcpu_wakers, &key);
	if (!state) {
		bpf_map_update_elem(&offcpu_wakers, &key, &none, BPF_NOEXIST);
		state = bpf_map_lookup_elem(&offcpu_wakers, &key);
	}
	if (!state)
		return 0;
	state->w.n = state->w.flags = state->w.end = state->w.pointers = 0;
	state->w.kind = waker_is_interrupt() ? ABI_WAKER_INTERRUPT : ABI_WAKER_THREAD;
	if (state->w.kind == ABI_WAKER_THREAD)
		waker_take_thread(ctx, state);
	state->w.time = bpf_ktime_get_ns();
	return 0;
}
