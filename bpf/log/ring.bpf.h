/* SPDX-License-Identifier: GPL-2.0 */
/* Puts records into the rings, one for each CPU, which the daemon creates when they are needed. */
#ifndef PMCBPF_RING_BPF_H
#define PMCBPF_RING_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "log_abi.h"

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring);
};

extern struct rings_map rings SEC(".maps");

/* The daemon drains rings regularly; it is woken if that would be too late.  False: no room. */
static __always_inline bool ring_output(void *ring, void *rec, u64 size)
{
	u64 wake = BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 2 >
	    bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		wake = BPF_RB_FORCE_WAKEUP;
	return !bpf_ringbuf_output(ring, rec, size, wake);
}

#endif
