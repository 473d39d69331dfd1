/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types the programs touch, cut by hand.  CO-RE moves every field to where the
 * running kernel has it, so one header serves all kernels and architectures; only names must match.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};
enum {
	BPF_F_MMAPABLE = 1U << 10,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct list_head {
	struct list_head *next, *prev;
};

struct seqcount {
	unsigned int sequence;
};
typedef struct seqcount seqcount_t;
struct seqcount_spinlock {
	seqcount_t seqcount;
};
typedef struct seqcount_spinlock seqcount_spinlock_t;
typedef struct {
	seqcount_spinlock_t seqcount;
} seqlock_t;

struct thread_info {
	u32 cpu;
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 nr_migrations;
};

struct signal_struct {
	atomic_t live;
	struct list_head thread_head;
	seqlock_t stats_lock;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
};

struct task_struct {
	struct thread_info thread_info;
	int on_cpu;
	unsigned int flags;
	int exit_state;
	int pid, tgid;
	u64 start_boottime;
	struct sched_entity se;
	struct signal_struct *signal;
	struct task_struct *group_leader;
	struct list_head thread_node;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* Only ever read through PT_REGS_PARM*_CORE. */
struct pt_regs {
	unsigned long di, si, dx, cx, r8, ip, sp, ax;
};
struct user_pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
};

#pragma clang attribute pop

#endif
