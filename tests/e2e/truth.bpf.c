// SPDX-License-Identifier: GPL-2.0
/* The product's walk, in the kernel, of the samples that `truth` takes. */
#include "bpf/unwind/walk.bpf.h"

#include "tests/e2e/truth_abi.h"

char LICENSE[] SEC("license") = "GPL";

/* The daemon's. */
struct unwind_chunks_map unwind_chunks SEC(".maps");
struct unwind_files_map unwind_files SEC(".maps");
struct unwind_processes_map unwind_processes SEC(".maps");
struct unwind_notes_map unwind_notes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} truths SEC(".maps");

struct scratch {
	struct walk walk;
	struct truth_record record;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

SEC("perf_event")
int on_sample(void *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 zero = 0, n;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (!s)
		return 0;
	walk_user(&s->walk, s->record.pc, 0, TRUTH_FRAMES, id >> 32);
	n = s->walk.n;
	if (n > TRUTH_FRAMES)
		n = TRUTH_FRAMES;
	s->record.tid = (u32)id;
	s->record.n = n;
	s->record.end = s->walk.end;
	s->record.pointers = s->walk.pointers;
	s->record.sp = regs->sp;
	bpf_ringbuf_output(&truths, &s->record, sizeof(s->record) - (TRUTH_FRAMES + 1 - n) * 8, 0);
	return 1;
}
