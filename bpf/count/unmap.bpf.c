// SPDX-License-Identifier: GPL-2.0
/*
 * Executable memory that sampled processes unmap or replace; perf reports new mappings only.
 * Unmaps are reported before they happen, and so before the next mapping at that place: at the
 * kernel's functions, before these lock the mappings.  Where programs may not be attached to
 * functions, the calls' own tracepoints cost other system calls 10 ns; a program on all calls costs
 * three times as much.
 */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define VM_EXEC	   0x4
#define MAP_FIXED  0x10
#define PAGE_MASK  0xfff
#define MAX_AREAS  64

/* Not 0: a PMC samples all processes. */
__u32 unmap_all = 0;
/* Cookie of the current attachment; an earlier one may still exist for a moment. */
__u64 unmap_cookie = 0;

struct areas {
	u64 at, end;			/* the part not yet looked at */
	u64 area_end;			/* end of the area at `at` … */
	bool executable;		/* … and whether it is executable */
};

static long look_at(struct task_struct *task, struct vm_area_struct *vma, struct areas *a)
{
	a->area_end = vma->vm_end;
	a->executable = vma->vm_flags & VM_EXEC;
	return 0;
}

static __always_inline void note_unmapped(u64 start, u64 end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id();
	struct {
		struct abi_rec rec;
		u64 start, end;
	} r = {
		.rec = { .time = bpf_ktime_get_ns(), .kind = ABI_REC_UNMAP, .n = 2, .cpu = cpu,
			 .pid = task_process(task), .tid = task_thread(task) },
		.start = start, .end = end,
	};

	if (!ring_put(cpu, &r, sizeof(r)))
		__sync_fetch_and_add(&lost_records, 1);
}

/* A range that cannot be examined, because memory is changing or absent, is reported whole. */
static long unmap_area(u32 i, struct areas *a)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 at = a->at;

	a->area_end = a->end;
	a->executable = true;
	if (i < MAX_AREAS - 1)
		bpf_find_vma(task, at, look_at, a, 0);
	if (a->area_end > a->end)
		a->area_end = a->end;
	if (a->executable)
		note_unmapped(at, a->area_end);
	a->at = a->area_end;
	return a->at >= a->end;
}

static __always_inline void unmaps(u64 start, u64 len)
{
	struct areas a = { .at = start, .end = start + ((len + PAGE_MASK) & ~(u64)PAGE_MASK) };
	u32 tgid = task_process(bpf_get_current_task_btf());

	if (!tgid || (!unmap_all && !index_lookup(tgid)))
		return;
	/* the call will fail */
	if (start & PAGE_MASK || a.end <= start)
		return;
	bpf_loop(MAX_AREAS, unmap_area, &a, 0);
}

SEC("fentry/__vm_munmap")
int BPF_PROG(on_unmap, unsigned long start, unsigned long len)
{
	unmaps(start, len);
	return 0;
}

/* Also in an exec, where the new program replaces nothing that a sample may be in. */
SEC("fentry/vm_mmap_pgoff")
int BPF_PROG(on_map_over, struct file *file, unsigned long start, unsigned long len,
	     unsigned long prot, unsigned long flags)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (flags & MAP_FIXED && BPF_CORE_READ(task, mm, start_code))
		unmaps(start, len);
	return 0;
}

/* With the result 0 the kernel would hide the call from perf's events. */
SEC("tp/syscalls/sys_enter_munmap")
int on_munmap_call(struct trace_event_raw_sys_enter *ctx)
{
	if (bpf_get_attach_cookie(ctx) == unmap_cookie)
		unmaps(ctx->args[0], ctx->args[1]);
	return 1;
}

SEC("tp/syscalls/sys_enter_mmap")
int on_mmap_call(struct trace_event_raw_sys_enter *ctx)
{
	if (ctx->args[3] & MAP_FIXED && bpf_get_attach_cookie(ctx) == unmap_cookie)
		unmaps(ctx->args[0], ctx->args[1]);
	return 1;
}
