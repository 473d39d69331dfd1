// SPDX-License-Identifier: GPL-2.0
/*
 * Looks at the perf events of a process's threads.  A thread inherits the events of the thread that
 * creates it, and user space cannot see whether it has: one that is created while the daemon opens
 * events may have none, or two, or one without its program, and one that is created while they are
 * enabled may have one that stays disabled.
 */
#include "call.bpf.h"
#include "figures.bpf.h"
#include "file.bpf.h"
#include "forks.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_EVENTS 65536	/* of one thread */
#define MAX_COPIES (1 << 22)	/* of one event */

#define EAGAIN 11

struct abi_cover cover = {};

/* Where the walk is, and its counts, in memory: the verifier must not follow their values. */
static struct {
	u64 thread, threads;		/* nodes of lists, and their heads */
	u64 event, events;
	u64 regs;			/* where a thread's stack has its registers */
	u64 copy, copies;
	u32 found, off;
	u32 unprogrammed;		/* copies */
	u32 order;			/* of reads: see cover_before_exit() */
} at;

/* --- events ---------------------------------------------------------------------------------- */

static long walk_event(u32 i, void *unused)
{
	struct perf_event *event;

	if (!at.event || at.event == at.events)
		return 1;
	event = (void *)at.event - bpf_core_field_offset(struct perf_event, event_entry);
	at.event = (u64)BPF_CORE_READ(event, event_entry.next);
	if (BPF_CORE_READ(event, attr.sig_data) != cover.tag ||
	    (cover.cpu != ABI_COVER_ALL && BPF_CORE_READ(event, cpu) != cover.cpu))
		return 0;
	at.found++;
	if ((int)BPF_CORE_READ(event, state) == PERF_EVENT_STATE_OFF)
		at.off++;
	return 0;
}

/* Functions that are neither static nor inlined are verified once, not in each round of a loop. */
__noinline int cover_context(u64 context)
{
	struct perf_event_context *events = (void *)context;

	if (!events)
		return 0;
	at.events = (u64)events + bpf_core_field_offset(struct perf_event_context, event_list);
	at.event = (u64)BPF_CORE_READ(events, event_list.next);
	bpf_loop(MAX_EVENTS, walk_event, NULL, 0);
	return 0;
}

__noinline int cover_events(u64 thread)
{
	struct task_struct *task = (void *)thread;
	struct task_struct___two_contexts *two = (void *)thread;

	at.found = at.off = 0;
	if (bpf_core_field_exists(two->perf_event_ctxp)) {
		cover_context((u64)BPF_CORE_READ(two, perf_event_ctxp[0]));
		cover_context((u64)BPF_CORE_READ(two, perf_event_ctxp[1]));
	} else {
		cover_context((u64)BPF_CORE_READ(task, perf_event_ctxp));
	}
	return 0;
}

/* Adds the findings of cover_events(). */
__noinline int cover_add(u64 thread)
{
	struct task_struct *task = (void *)thread;
	u32 n = cover.nbare, m = cover.ntwice;

	if (at.off)
		cover.off++;
	if (at.found < cover.events) {
		if (n < ABI_MAX_COVERED)
			cover.bare[n] = task_thread(task);
		cover.nbare = n + 1;
	} else if (at.found > cover.events) {
		if (m < ABI_MAX_COVERED)
			cover.twice[m] = task_thread(task);
		cover.ntwice = m + 1;
	}
	return 0;
}

/* --- forks ----------------------------------------------------------------------------------- */

/* The numbers of fork(2), vfork(2), clone(2) and clone3(2). */
static __always_inline bool task_calls_fork(struct task_struct *task)
{
	u32 call = regs_call((void *)BPF_CORE_READ(task, stack) + at.regs);

	if (task_call_compat(task))
		return call == 2 || call == 190 || call == 120 || call == 435;
#ifdef __TARGET_ARCH_arm64
	return call == 220 || call == 435;
#else
	return call == 57 || call == 58 || call == 56 || call == 435;
#endif
}

/* True if the thread's latest child keeps it in vfork(2). */
static __always_inline bool task_waits_vfork(struct task_struct *task)
{
	u64 head = (u64)task + bpf_core_field_offset(struct task_struct, children);
	u64 last = (u64)BPF_CORE_READ(task, children.prev);
	struct task_struct *child;

	if (!last || last == head)
		return false;
	child = (void *)last - bpf_core_field_offset(struct task_struct, sibling);
	return BPF_CORE_READ(child, vfork_done);
}

__noinline int cover_fork(u64 thread)
{
	struct task_struct *task = (void *)thread;
	u32 tid = BPF_CORE_READ(task, pid), n = cover.nforking, *forks_done;

	if (!task_calls_fork(task) || task_waits_vfork(task))
		return 0;
	forks_done = bpf_map_lookup_elem(&forks, &tid);
	if (n < ABI_MAX_COVERED) {
		cover.forking[n].tid = tid;
		cover.forking[n].forks = forks_done ? *forks_done : 0;
	}
	cover.nforking = n + 1;
	return 0;
}

/* --- threads --------------------------------------------------------------------------------- */

static __always_inline bool task_exits(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_EXITING;
}

/* A thread that exits loses its events; all were there if it has not begun to exit afterwards. */
static __always_inline bool cover_before_exit(struct task_struct *task)
{
	/* No processor reads the flags before the events. */
	__sync_fetch_and_add(&at.order, 1);
	return !task_exits(task);
}

static long walk_cover(u32 i, void *unused)
{
	struct task_struct *task;

	if (!at.thread || at.thread == at.threads)
		return 1;
	task = (void *)at.thread - bpf_core_field_offset(struct task_struct, thread_node);
	at.thread = (u64)BPF_CORE_READ(task, thread_node.next);
	if (task_exits(task))
		return 0;
	cover_fork((u64)task);
	cover_events((u64)task);
	if (cover_before_exit(task))
		cover_add((u64)task);
	return 0;
}

/*
 * Visits one process.  Its threads are not visited one by one: that ends too early if a thread
 * exits meanwhile.  The kernel keeps the list for as long as this runs.
 */
SEC("iter/task")
int cover_process(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	volatile u64 *regs = &at.regs;
	struct signal_struct *sig;

	if (!task)
		return 0;
	sig = BPF_CORE_READ(task, signal);
	if (!sig)
		return 0;
	/* Through memory: the verifier allows no arithmetic with the pointer itself. */
	*regs = bpf_task_pt_regs(task);
	*regs -= (u64)BPF_CORE_READ(task, stack);
	at.threads = (u64)sig + bpf_core_field_offset(struct signal_struct, thread_head);
	at.thread = (u64)BPF_CORE_READ(sig, thread_head.next);
	bpf_loop(MAX_THREADS, walk_cover, NULL, 0);
	return 0;
}

/* --- copies ---------------------------------------------------------------------------------- */

static long walk_copy(u32 i, void *unused)
{
	struct perf_event *copy;
	u64 next;

	if (at.copy == at.copies)
		return 1;
	copy = (void *)at.copy - bpf_core_field_offset(struct perf_event, child_list);
	next = (u64)BPF_CORE_READ(copy, child_list.next);
	if (!next || next == at.copy)
		return 1;
	if (!BPF_CORE_READ(copy, prog))
		at.unprogrammed++;
	at.copy = next;
	return 0;
}

/*
 * Run by the daemon, in its own context: (descriptor of an event).  Returns how many of the event's
 * copies have no program; -EAGAIN: a copy has left the list meanwhile, because its thread ends.
 *
 * The copies are not found through their threads: when one thread follows another on a CPU, the
 * kernel may swap the events of both, so that one copy is seen twice and the other one not at all.
 */
SEC("raw_tp")
int cover_copies(unsigned long long *ctx)
{
	struct file *f = file_of(ctx[0]);
	struct perf_event *event = (void *)BPF_CORE_READ(f, private_data);

	at.copies = (u64)event + bpf_core_field_offset(struct perf_event, child_list);
	at.copy = (u64)BPF_CORE_READ(event, child_list.next);
	at.unprogrammed = 0;
	bpf_loop(MAX_COPIES, walk_copy, NULL, 0);
	return at.copy == at.copies ? (int)at.unprogrammed : -EAGAIN;
}
