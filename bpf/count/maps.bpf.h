/* SPDX-License-Identifier: GPL-2.0 */
/* The maps and globals that the programs share; defined in switch.bpf.c, extern elsewhere. */
#ifndef PMCBPF_MAPS_BPF_H
#define PMCBPF_MAPS_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/log/number.bpf.h"
#include "count_abi.h"
#include "on_cpu.bpf.h"
#include "bpf/log/ring.bpf.h"
#include "targets.bpf.h"

/* max_entries of per-CPU arrays are set to the number of CPUs before load. */
struct cpus_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cpu);
};
/* Sizes instead of types, because clang drops types used only by an extern map's inner map. */
struct counts_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct abi_counts));
};
struct owners_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ABI_MAX_OWNERS);
	__type(key, u32);
	__array(values, struct counts_map);
};

/* events[ABI_EVENT(cpu, source)]: one flat array is the cheapest to read from. */
struct events_map {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
};

/* Notes from the programs to the daemon. */
struct notes_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_NOTES_SIZE);
};
/* sized for the number of CPUs before load */
struct execs_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_EXECS_SIZE);
};
/* Processes with connections, by tgid; the value is not 0 after an exec. */
struct clients_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_MAX_CLIENTS);
	__type(key, u32);
	__type(value, u32);
};

struct shares_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_MAX_SHARES);
	__type(key, struct abi_share);
	__type(value, u64);
};

struct thread_shares_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_MAX_SHARES);
	__type(key, struct abi_share);
	__type(value, struct abi_thread_share);
};

/* A thread's figures when it began to exit; the rest is known at its last switch. */
struct dying {
	u64 ns;
	u32 nvcsw, nivcsw;
	u32 tgid, tid;	/* the daemon's numbers, which can no longer be looked up */
};
struct dying_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct dying);
};

extern struct cpus_map cpus SEC(".maps");
extern struct sets_map sets SEC(".maps");
extern struct targets_map targets SEC(".maps");
extern struct owners_map owners SEC(".maps");
extern struct dying_map dying SEC(".maps");
extern struct events_map events SEC(".maps");
extern struct notes_map notes SEC(".maps");
extern struct execs_map execs SEC(".maps");
extern struct clients_map clients SEC(".maps");
extern struct shares_map shares SEC(".maps");
extern struct thread_shares_map thread_shares SEC(".maps");
extern struct alone_threads_map alone_threads SEC(".maps");

/* A process's set, by the low bits of its tgid: one word, so that a non-target costs one load. */
extern __u32 target_index[ABI_INDEX_SIZE];

extern struct abi_open open_slice[ABI_MAX_CPUS];
extern __u32 switches_watched;	/* not 0: on_switch is attached and must see each switch */
extern __u64 switches_hidden;	/* number of switches that were not seen */
extern __u64 switch_sources;	/* bit s: source s counts switches themselves */
extern const volatile bool reads_msr;	/* the companion module can be called */
extern const volatile bool reads_counters;	/* … and reads hardware counters */
extern struct abi_register registers[ABI_MSR_SOURCES];
extern __u64 lost_sources;	/* bit s: source s could not be read */
extern struct abi_account accounts[ABI_MAX_ACCOUNTS];
extern struct abi_owner owner_state[ABI_MAX_OWNERS];
extern __u64 exits_begun, exits_done;	/* a reader repeats its read if they change */
extern __u64 notes_lost;
extern __u32 watch_execs;	/* the daemon reads `execs` */
extern __u64 execs_put, execs_lost;	/* begun, and of these without room */
extern __u64 lost_records;	/* lost records of no PMC: missing in all logs */
extern __u64 plain_sets[ABI_MAX_SETS / 64]; /* bit s: few members, one owner's, no source
						twice, no threads that matter */
extern __u32 tracepoint_switch;	/* 1 + the tracepoint of switches, if it is counted */
extern __u32 finals;		/* a program sees last switches and removes exited targets */

/*
 * From Linux 6.19 on a tracepoint's programs may be preempted, and the kernel skips a program that
 * is already running on the CPU.  There, fork and exec programs disable preemption, and each is
 * attached twice: the second instance finds everything done, or does the work that the first was
 * not allowed to do.  Earlier kernels have the two functions, too, but some of them refuse a
 * program that calls a function of its own in between.
 */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;
extern int LINUX_KERNEL_VERSION __kconfig;
#define PREEMPTED_SINCE 0x061300	/* KERNEL_VERSION(6, 19, 0) */

static __always_inline void preempt_off(void)
{
	if (LINUX_KERNEL_VERSION >= PREEMPTED_SINCE && bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void preempt_on(void)
{
	if (LINUX_KERNEL_VERSION >= PREEMPTED_SINCE && bpf_preempt_enable)
		bpf_preempt_enable();
}

static __always_inline u32 index_lookup(u32 tgid)
{
	u32 word = target_index[tgid & (ABI_INDEX_SIZE - 1)];
	struct abi_target *t;

	if (!word)
		return 0;
	if (word == ABI_INDEX_SHARED) {
		t = bpf_map_lookup_elem(&targets, &tgid);
		return t ? ABI_STATE_SET(t->state) : 0;
	}
	if (word >> 16 == (ABI_INDEX(tgid, 0) >> 16))
		return word & 0xffff;
	return 0;
}

static __always_inline void note(u32 kind, u32 tgid, u32 set, u32 dropped)
{
	struct abi_note n = { .kind = kind, .tgid = tgid, .set = set, .dropped = dropped };

	if (bpf_ringbuf_output(&notes, &n, sizeof(n), 0))
		__sync_fetch_and_add(&notes_lost, 1);
}

static __always_inline bool account_room(u32 account, u32 what)
{
	const struct abi_account *a = &accounts[account & (ABI_MAX_ACCOUNTS - 1)];

	return a->used[what] < a->own[what] && accounts[0].used[what] < a->all[what];
}

static __always_inline void account_add(u32 account, u32 what, s32 n)
{
	__sync_fetch_and_add(&accounts[account & (ABI_MAX_ACCOUNTS - 1)].used[what], n);
	__sync_fetch_and_add(&accounts[0].used[what], n);
}

static __always_inline struct abi_owner *owner_of(u32 owner)
{
	return &owner_state[owner & (ABI_MAX_OWNERS - 1)];
}

static __always_inline struct abi_counts *owner_counts(u32 owner, u32 cpu)
{
	void *map = bpf_map_lookup_elem(&owners, &owner);

	return map ? bpf_map_lookup_elem(map, &cpu) : NULL;
}

/* The number of the task's process; for a target also after its exit. */
static __always_inline u32 task_process(struct task_struct *task)
{
	u32 tgid, tid = task->pid;
	struct dying *d;

	if (!nested)
		return task->tgid;
	tgid = task_process_nested(task);
	d = tgid ? NULL : bpf_map_lookup_elem(&dying, &tid);
	return d ? d->tgid : tgid;
}

static __always_inline void target_remove(u32 tgid, u32 set)
{
	u32 mine = ABI_INDEX(tgid, set);

	__sync_val_compare_and_swap(&target_index[tgid & (ABI_INDEX_SIZE - 1)], mine, 0);
	bpf_map_delete_elem(&targets, &tgid);
}

/*
 * Adds to a PMC's count outside of the switch path, where the task may change CPUs.  Not inlined,
 * so that the verifier checks it once and not for each row; weak, because several objects have it.
 */
__weak __noinline int counts_add(u32 owner, u32 pos, u64 value)
{
	struct abi_counts *k = owner_counts(owner, bpf_get_smp_processor_id());

	if (k && pos < ABI_COUNTS)
		__sync_fetch_and_add(&k->count[pos], value);
	return 0;
}

/* Puts a record into this CPU's ring; false: no room. */
static __always_inline bool ring_put(u32 cpu, void *rec, u64 size)
{
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	return ring && ring_output(ring, rec, size);
}

/* The scheduler's own rule: a switch is voluntary if the task was no longer runnable. */
static __always_inline u32 switch_kind(bool preempt, unsigned int prev_state)
{
	return !preempt && prev_state ? ABI_HOOK_VOLUNTARY : ABI_HOOK_INVOLUNTARY;
}

#endif
