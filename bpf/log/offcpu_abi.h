/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract for sampled time off the CPUs: a *wait* is the time from a switch away from a thread
 * to the next switch to it.  bpf/count/offcpu.bpf.c measures waits and decides which are samples,
 * bpf/log/offcpu_sample.bpf.c records these, the daemon starts and stops PMCs.
 */
#ifndef PMCBPF_OFFCPU_ABI_H
#define PMCBPF_OFFCPU_ABI_H

#include "log_abi.h"

/* Why a thread was off the CPUs; the values equal those of enum pmclog_wait. */
enum abi_wait {
	ABI_WAIT_SLEEP = 1,		/* for an event */
	ABI_WAIT_DISK,			/* for input or output */
	ABI_WAIT_LOCK,			/* in futex(2), or uninterruptibly in the kernel */
	ABI_WAIT_RUN_QUEUE,		/* runnable, after another wait */
	ABI_WAIT_PREEMPTED,		/* runnable all the time */
};

/* What became of the waits of a PMC; never reset: the daemon takes differences. */
struct abi_offcpu_counts {
	__u64 sampled, sampled_ns;
	__u64 below, below_ns;		/* shorter than the threshold */
	__u64 dropped, dropped_ns;	/* more than `rate` on their CPU in that second, or no room
					   for them */
	__u64 unknown;			/* of unknown length: the kernel hid a switch */
};

#define ABI_OFFCPU_THREADS 65536u	/* threads with waits that are measured */

/* A PMC that samples waits. */
#define ABI_OFFCPUS	1024u		/* a power of two */
#define ABI_OFFCPU_STOPPED ~0ull
struct abi_offcpu {
	__u32 sampler;			/* the tag of its samples */
	__u32 rate;			/* samples on a CPU in a second */
	__u64 threshold;		/* ns of a wait that is a sample */
	__u64 since;			/* CLOCK_MONOTONIC: earlier time does not count; STOPPED */
	struct abi_offcpu_counts count;
	__u32 wakers;			/* records the waker of each wait, too */
	__u32 level;			/* of its cgroup: 0 is the root's … */
	__u64 cgroup;			/* … and its number; 0: the PMC is not of a cgroup */
	__u32 pad[8];			/* to a power of two */
};

/* The PMCs that run and sample waits in cgroups: bit i is set if place[i] is one of them. */
#define ABI_OFFCPU_CGROUPS 16
struct abi_offcpu_cgroups {
	__u32 running;
	__u32 place[ABI_OFFCPU_CGROUPS];
};

/*
 * Waits that have ended on this CPU and have yet to be recorded, in the thread itself: only there
 * its stack in user space can be read.
 */
#define ABI_OFFCPU_KERNEL 128u		/* addresses of the kernel's side */
#define ABI_OFFCPU_PLACES 32u		/* PMCs that one wait may be a sample of */
#define ABI_OFFCPU_SLOTS  4u		/* a new thread's wait is recorded after the next switch */
struct abi_offcpu_wait {
	__u64 task;			/* 0: the slot is free */
	__u64 on, out, in;		/* it came to a CPU, left it, came again; CLOCK_MONOTONIC */
	__u64 run;			/* ns of it on a run queue */
	__u32 reason;			/* enum abi_wait */
	__u32 pid, tid;			/* the daemon's numbers */
	__u32 kernel_thread;
	__u32 open;			/* it has not ended: `in` is the PMC's end, `out` not before
					   its beginning */
	__u32 nplaces;			/* 0 in a free slot */
	__u32 nkernel;
	__u16 place[ABI_OFFCPU_PLACES];	/* among the PMCs that sample waits */
	__u64 kernel[ABI_OFFCPU_KERNEL + 1];
};
#define ABI_OFFCPU_OPEN	  ABI_OFFCPU_SLOTS	/* behind them: that of waits that have not ended */
struct abi_offcpu_waits {
	struct abi_offcpu_wait slot[ABI_OFFCPU_SLOTS + 1];
};

/* Of a PMC that stops: the waits that have not ended. */
struct abi_offcpu_stop {
	__u32 place, row;
	__u64 since, until;
};

/* Words of an ABI_REC_OFFCPU before its addresses. */
enum abi_offcpu_word {
	ABI_OFFCPU_NS,			/* all of the wait that counts for the PMC … */
	ABI_OFFCPU_RUN,			/* … and the part on a run queue */
	ABI_OFFCPU_REASON,		/* of the rest: enum abi_wait */
	ABI_OFFCPU_WORDS
};

/* Kinds of wakers; the values equal those of enum pmclog_waker. */
enum abi_waker_kind { ABI_WAKER_THREAD = 1, ABI_WAKER_INTERRUPT };

/* The waker of the OFFCPU behind it: the words of an ABI_REC_WAKER. */
#define ABI_WAKERS	 8192u		/* threads whose wakers are known */
#define ABI_WAKER_KERNEL 64u		/* addresses of the kernel's side */
#define ABI_WAKER_USER	 128u
struct abi_waker {
	__u64 time;			/* of the wake-up; CLOCK_MONOTONIC */
	__u32 pid, tid;			/* the daemon's numbers */
	__u32 kind;			/* enum abi_waker_kind; only a thread has the rest */
	__u16 n;			/* addresses, the kernel's first */
	__u16 flags;			/* ABI_REC_CUT … */
	__u8 end, pointers;		/* struct abi_rec's */
	__u8 pad[6];
	char name[ABI_COMM];
	__u64 pc[ABI_WAKER_KERNEL + ABI_WAKER_USER];
};
#define ABI_WAKER_HEAD (sizeof(struct abi_waker) - 8 * (ABI_WAKER_KERNEL + ABI_WAKER_USER))

_Static_assert(sizeof(struct abi_offcpu) == 128, "abi");
_Static_assert(sizeof(struct abi_waker) % 8 == 0, "abi");

#endif
