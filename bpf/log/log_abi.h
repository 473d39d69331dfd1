/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract for records of logs: programs put them into the ring of their CPU, in the order in
 * which they happen there.  The daemon merges the rings by time.
 */
#ifndef PMCBPF_LOG_ABI_H
#define PMCBPF_LOG_ABI_H

#include "bpf/python/python_abi.h"
#include "bpf/unwind/unwind_abi.h"

#define ABI_CHAIN_MAX 512		/* addresses of one side of a call chain */
#define ABI_COMM      16		/* bytes of a thread's name, with its NUL */

enum abi_rec_kind {
	ABI_REC_SAMPLE = 1,
	ABI_REC_SWITCH,			/* a slice of a logged PMC has ended: its count */
	ABI_REC_EXIT,			/* a process of a logged PMC is gone: its share */
	ABI_REC_THREAD,			/* a thread of a logged PMC is gone, or the PMC stops: its
					   share and its name */
	ABI_REC_OFFCPU,			/* a wait has ended: enum abi_offcpu_word, addresses */
	ABI_REC_UNMAP,			/* executable memory is about to be unmapped: start, end */
	ABI_REC_VALUES,			/* of the SAMPLE behind it: struct abi_values */
	ABI_REC_STACK,			/* of the SAMPLE behind it: struct abi_stack */
	ABI_REC_PYTHON,			/* of the SAMPLE behind it: struct abi_python */
	ABI_REC_CODE,			/* of Python frames behind it: struct abi_code */
	ABI_REC_WAKER,			/* of the OFFCPU behind it: struct abi_waker */
	ABI_REC_KINDS
};

#define ABI_REC_USER 0x1		/* the sampled address is in user code */
#define ABI_REC_CUT  0x2		/* the last address may have callers that are missing … */
#define ABI_REC_CUT_INSIDE 0x4		/* … so may the kernel's last one, before user code's */

/* Stands for every kernel address in records of a PMC that hides them; PMCLOG_PC_KERNEL. */
#define ABI_PC_KERNEL 0x8000000000000000ull

/* The daemon's PID namespace, if it is not the initial one. */
struct abi_level {
	__u32 depth;			/* below the initial one */
	__u32 inum;
};
/* A process outside of that namespace: PMCLOG_PID_OUTSIDE. */
#define ABI_PID_OUTSIDE 0xfffffffeu

/* The daemon's question for the names of kernel addresses, and the answer of `symbols_find`. */
#define ABI_SYMBOLS	32		/* addresses at a time */
#define ABI_SYMBOL_TEXT 320		/* bytes of an answer, with its NUL; a longer one is cut */

struct abi_symbols {
	__u64 address[ABI_SYMBOLS];
	__u32 n;
	__u32 reserved;
	char text[ABI_SYMBOLS][ABI_SYMBOL_TEXT]; /* "name+0x1/0x20 [module]", or a number */
};

struct abi_symbol_place {
	char name[ABI_SYMBOL_TEXT];	/* NUL to its end */
	__u64 address;
};

struct abi_rec {
	__u64 time;			/* CLOCK_MONOTONIC, ns */
	__u16 kind;			/* enum abi_rec_kind */
	__u16 n;			/* words that follow */
	__u16 cpu;
	__u16 flags;			/* ABI_REC_… */
	__u32 pmc;			/* the daemon's number of the PMC; 0 for UNMAP */
	__u32 pid;
	__u32 tid;
	__u8 end;			/* SAMPLE: enum unwind_cut of the user's side; 0: by the
					   kernel's own walk */
	__u8 pointers;			/* … frame pointers led to some callers */
	__u16 reserved;
};	/* n words follow; SAMPLE: addresses, the sampled one first */

/*
 * Values of a sample: bits of enum pmclog_value.  Each has a word; of registers and branches it is
 * not 0 if they are there, of a tracepoint's record it has the bytes that are here and, in its
 * upper half, those of the whole.  The words behind all others are sent with these only: overflows
 * have registers and branches, hits have records.
 */
enum abi_value {
	ABI_VALUE_PERIOD, ABI_VALUE_ADDR, ABI_VALUE_PHYS_ADDR, ABI_VALUE_DATA_PAGE,
	ABI_VALUE_CODE_PAGE, ABI_VALUE_CGROUP, ABI_VALUE_WEIGHT, ABI_VALUE_DATA_SRC, ABI_VALUE_TXN,
	ABI_VALUE_USER_REGS, ABI_VALUE_INTR_REGS, ABI_VALUE_BRANCHES, ABI_VALUE_RAW,
	ABI_VALUES
};
#define ABI_REGS     34u		/* words of struct pt_regs, as programs know it */
#define ABI_BRANCHES 64u
#define ABI_RAW	     4096u		/* bytes of a record; a power of two */
struct abi_values {
	__u64 values;			/* those that are here */
	__u64 word[ABI_VALUES];
	union {
		struct {
			__u64 user_regs[ABI_REGS], intr_regs[ABI_REGS];
			/* struct perf_branch_entry; word: their number */
			__u64 branch[ABI_BRANCHES][3];
		};
		__u64 raw[ABI_RAW / 8];
	};
};

/*
 * A walk that ended where there was no table, so that the daemon can go on with it.  The process's
 * mappings follow, and then its stack.
 */
#define ABI_STACK_REGS	32u
#define ABI_STACK_PAGES 4u		/* of 4096 bytes, and the part of one with regs.sp */
struct abi_stack {
	__u64 reg[ABI_STACK_REGS];	/* of the thread */
	struct unwind_regs regs;	/* of the frame at which it ended */
	__u64 begin;			/* address of the stack's first byte */
	__u32 file;			/* that has no table */
	__u32 room;			/* for so many callers */
	__u32 mappings;			/* struct unwind_mapping */
	__u32 bytes;
};

/*
 * The Python frames of a thread, the innermost first.  Behind them are the stack pointers of the
 * sample's addresses from one of them on: by these a call of the interpreter is found.
 */
#define ABI_PYTHON_FRAMES 128u		/* a power of two */
struct abi_python {
	__u64 program;			/* a number of the process and its program */
	__u32 frames, pointers;		/* struct python_frame; words */
	__u32 first;			/* address with the first pointer */
	__s32 end;			/* enum python_step; GO: there are more frames */
};

/*
 * A code object as it is in memory, for those that name it.  Blocks of memory follow, each with
 * zeroes up to a multiple of 8 bytes.  A block that could not be read has no bytes.
 */
enum abi_code_block { ABI_CODE_NAME, ABI_CODE_FILE, ABI_CODE_LINES, ABI_CODE_BLOCKS };
#define ABI_CODE_TEXT  2048u		/* bytes of a name's block at most … */
#define ABI_CODE_TABLE 12288u		/* … and of a table of lines */
struct abi_code {
	__u64 program, identity;
	__u64 address;
	__u64 word[PYTHON_WORDS];	/* PYTHON_CODE_WORDS are read */
	struct python_process process;	/* its interpreter */
	struct {
		__u64 address;
		__u64 bytes;
	} block[ABI_CODE_BLOCKS];
};

/* The code objects that the program has sent; the daemon removes those that it has forgotten. */
struct abi_code_key {
	__u64 program, identity;
};

/* The sampling program's counts of a PMC. */
struct abi_samples {
	__u64 samples;			/* overflows */
	__u64 dropped;			/* … for which the ring had no room */
	__u64 paused;			/* … with which the kernel paused the event for a tick */
};

/*
 * A sampling PMC as the shared program knows it, in memory that the daemon maps.  The PMC's events
 * carry `id` in perf_event_attr.sig_data, which the kernel leaves to its user and copies to
 * inherited events.  The index is id % ABI_SAMPLERS, the rest of the id a generation.
 */
#define ABI_SAMPLERS   4096u		/* a power of two */
#define ABI_SAMPLER_ON 0x80000000u	/* set in each id: 0 is never an id */
struct abi_sampler {
	__u32 id;			/* including ABI_SAMPLER_ON; written last; 0: not in use */
	__u32 values;			/* of each sample */
	__u16 depth;			/* addresses of a side; 0: only the sampled one */
	__u8 both_sides;
	__u8 hides_kernel;		/* record ABI_PC_KERNEL for the kernel's side */
	__u8 unwind;			/* the user's side by tables, not by frame pointers */
	__u8 signal;			/* to the thread of each sample; 0: none */
	__u8 limited;			/* only `left` further samples */
	__u8 waits;			/* the program blocks the signal, to wait for it */
	__u32 left;
	__u32 unsent;			/* signals that could not be sent */
	struct abi_samples count;	/* never reset: the daemon takes differences */
	__u64 period;			/* of hits that a program counts: every nth is a sample … */
	__u64 hits;			/* … since the period was set; a cache line each */
};

_Static_assert(sizeof(struct abi_rec) == 32, "abi");
_Static_assert(sizeof(struct abi_sampler) == 64, "abi");

#endif
