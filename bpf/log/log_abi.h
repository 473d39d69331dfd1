/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract for what goes into logs: records that the programs put into the ring of the CPU they
 * run on, in the order in which they happen there.  The daemon merges the rings by time.
 */
#ifndef PMCBPF_LOG_ABI_H
#define PMCBPF_LOG_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define ABI_CHAIN_MAX 512		/* addresses of one side of a call chain */

enum abi_rec_kind {
	ABI_REC_SAMPLE = 1,
	ABI_REC_SWITCH,			/* a slice of a logged PMC has ended: its events */
	ABI_REC_EXIT,			/* a process of a logged PMC is gone: all its events */
	ABI_REC_UNMAP,			/* executable memory is about to be unmapped: start, end */
	ABI_REC_KINDS
};

#define ABI_REC_USER 0x1		/* the sampled address is user code's */
#define ABI_REC_CUT  0x2		/* the last address may have callers that are not here … */
#define ABI_REC_CUT_INSIDE 0x4		/* … so may the last of the kernel's, before user code's */

/* All that a PMC which hides the kernel's addresses records of them; PMCLOG_PC_KERNEL. */
#define ABI_PC_KERNEL 0x8000000000000000ull

/* The daemon's PID namespace, if that is not the initial one. */
struct abi_level {
	__u32 depth;			/* below the initial one */
	__u32 inum;
};
/* A process that is not in it nor below: PMCLOG_PID_OUTSIDE. */
#define ABI_PID_OUTSIDE 0xfffffffeu

struct abi_rec {
	__u64 time;			/* CLOCK_MONOTONIC, ns */
	__u16 kind;			/* enum abi_rec_kind */
	__u16 n;			/* words that follow */
	__u16 cpu;
	__u16 flags;			/* ABI_REC_… */
	__u32 pmc;			/* the PMC's number, in the daemon; 0 of an UNMAP */
	__u32 pid;
	__u32 tid;
	__u32 reserved;
};	/* n words follow; SAMPLE: addresses, the sampled one first */

/* What the sampling program has counted of a PMC. */
struct abi_samples {
	__u64 samples;			/* overflows seen */
	__u64 dropped;			/* … for which the ring had no room */
	__u64 paused;			/* … with which the kernel paused the event for a tick */
};

/*
 * A sampling PMC, as the program that all of them share knows it; in memory that the daemon maps.
 * The PMC's events carry `id` in perf_event_attr.sig_data, which the kernel leaves to its user and
 * copies to events that inherit.  The index is id % ABI_SAMPLERS, the rest of the id a generation.
 */
#define ABI_SAMPLERS   4096u		/* a power of two */
#define ABI_SAMPLER_ON 0x80000000u	/* set in each id: 0 is no PMC's */
struct abi_sampler {
	__u32 id;			/* … | ABI_SAMPLER_ON; written last; 0: not in use */
	__u32 depth;			/* addresses of a side; 0: the sampled one alone */
	__u32 both_sides;
	__u32 hides_kernel;		/* of the kernel's side, ABI_PC_KERNEL is recorded */
	struct abi_samples count;	/* never set back: the daemon takes differences */
	__u64 pad[3];			/* a cache line each */
};

_Static_assert(sizeof(struct abi_rec) == 32, "abi");
_Static_assert(sizeof(struct abi_sampler) == 64, "abi");

#endif
