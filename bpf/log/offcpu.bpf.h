/* SPDX-License-Identifier: GPL-2.0 */
/* The maps that the objects with programs of waits share. */
#ifndef PMCBPF_OFFCPU_BPF_H
#define PMCBPF_OFFCPU_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "offcpu_abi.h"

struct offcpus_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_OFFCPUS);
	__type(key, u32);
	__type(value, struct abi_offcpu);
};
struct offcpu_waits_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_offcpu_waits);
};
/* The last waker of a thread, by the address of its task; and room for the record's head. */
struct waker_state {
	struct abi_rec rec;
	struct abi_waker w;
};
struct offcpu_wakers_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_WAKERS);
	__type(key, u64);
	__type(value, struct waker_state);
};

extern struct offcpus_map offcpus SEC(".maps");
extern struct offcpu_waits_map offcpu_waits SEC(".maps");
extern struct offcpu_wakers_map offcpu_wakers SEC(".maps");

static __always_inline struct abi_offcpu *offcpu_at(u32 place)
{
	return bpf_map_lookup_elem(&offcpus, &place);
}

/* The part of a wait that counts for the PMC; 0: none, or it is stopped. */
static __always_inline u64 offcpu_part(const struct abi_offcpu *p, u64 out, u64 in)
{
	u64 from = p->since;

	if (from < out)
		from = out;
	return from < in ? in - from : 0;
}

#endif
