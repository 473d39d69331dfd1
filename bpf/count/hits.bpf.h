/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the place of a tracepoint. */
#ifndef PMCBPF_HITS_BPF_H
#define PMCBPF_HITS_BPF_H

#include "bpf/log/sample.bpf.h"

#define FRAMES 8		/* the tracer has fewer */

/* Addresses at the beginning of stacks: 1: of the tracer, else 2. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, u64);
	__type(value, u8);
} frames SEC(".maps");

static __always_inline bool name_begins(const char *name, const char *with, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (name[i] != with[i])
			return false;
	return true;
}

/* A program has such a name and 16 digits more; kernel functions have no "_" there. */
static __always_inline bool name_is_program(const char *name)
{
	return name_begins(name, "bpf_prog_", 9) && name[9 + 16] == '_';
}

/* Programs, and the functions through which the kernel calls one at a tracepoint. */
static __always_inline bool name_is_tracer(const char *name)
{
	return name_is_program(name) || name_begins(name, "bpf_loop", 9) ||
	       name_begins(name, "bpf_trace_run", 13) || name_begins(name, "__bpf_trace_", 12) ||
	       name_begins(name, "__traceiter_", 12) || name_begins(name, "perf_trace_", 11);
}

/* Not static, so that the verifier checks it once. */
__noinline int frame_is_tracer(u64 pc)
{
	u8 *known = bpf_map_lookup_elem(&frames, &pc), is;
	char name[32] = "";

	if (known)
		return *known == 1;
	BPF_SNPRINTF(name, sizeof(name), "%ps", (void *)pc);
	is = name_is_tracer(name) ? 1 : 2;
	bpf_map_update_elem(&frames, &pc, &is, BPF_ANY);
	return is == 1;
}

/*
 * The address behind the tracepoint, and the number of frames before it in the caller's stack.  Not
 * inline: its stack would lie below the walk's.  `own`: the stack begins with this function.
 */
static __noinline u64 site_find(void *ctx, u64 *skip, bool own)
{
	u64 pc[FRAMES] = {};

	bpf_get_stack(ctx, pc, sizeof(pc), 0);
	for (u32 i = own; i < FRAMES && pc[i]; i++) {
		if (frame_is_tracer(pc[i]))
			continue;
		*skip = i - own;
		return pc[i];
	}
	return ABI_PC_KERNEL;
}

#endif
