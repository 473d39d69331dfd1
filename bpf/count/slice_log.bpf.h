/* SPDX-License-Identifier: GPL-2.0 */
/* Records of logged PMCs: at the end of a slice, of a thread and of a process. */
#ifndef PMCBPF_SLICE_LOG_BPF_H
#define PMCBPF_SLICE_LOG_BPF_H

#include "maps.bpf.h"

/* Writes a record of one value, for a PMC of that owner. */
static __always_inline void record(u32 cpu, u32 kind, const struct abi_member *m, u32 log,
				   u32 tgid, u32 tid, u64 value)
{
	struct {
		struct abi_rec rec;
		u64 value;
	} r = {
		.rec = { .time = bpf_ktime_get_ns(), .kind = kind, .n = 1, .cpu = cpu,
			 .pmc = ABI_LOG_ID(log), .pid = tgid, .tid = tid },
		.value = value,
	};

	if (!ring_put(cpu, &r, sizeof(r)))
		__sync_fetch_and_add(&owner_of(m->owner)->lost_records, 1);
}

/* Adds atomically: threads of a process run on several CPUs at once. */
static __always_inline void share_add(u32 tgid, const struct abi_member *m, u32 log, u64 value)
{
	struct abi_owner *owner = owner_of(m->owner);
	struct abi_share key = { .tgid = tgid, .log = ABI_LOG_ID(log) };
	u64 *share = bpf_map_lookup_elem(&shares, &key);

	if (!share && account_room(owner->account, ABI_CHARGE_SHARES)) {
		if (!bpf_map_update_elem(&shares, &key, &value, BPF_NOEXIST)) {
			account_add(owner->account, ABI_CHARGE_SHARES, 1);
			return;
		}
		share = bpf_map_lookup_elem(&shares, &key);
	}
	if (share)
		__sync_fetch_and_add(share, value);
	else
		__sync_fetch_and_add(&owner->lost_records, 1);
}

/* The same for the thread of the slice, which is in one slice at a time. */
static __always_inline void thread_add(const struct abi_cpu *c, const struct abi_member *m, u32 log,
				       u64 value)
{
	struct abi_owner *owner = owner_of(m->owner);
	struct abi_share key = { .tgid = c->tid, .log = ABI_LOG_ID(log) };
	struct abi_thread_share new = { .count = value, .tgid = c->tgid };
	struct abi_thread_share *t = bpf_map_lookup_elem(&thread_shares, &key);

	if (t) {
		t->count += value;
		__builtin_memcpy(t->comm, c->comm, sizeof(t->comm));
		return;
	}
	__builtin_memcpy(new.comm, c->comm, sizeof(new.comm));
	if (account_room(owner->account, ABI_CHARGE_SHARES) &&
	    !bpf_map_update_elem(&thread_shares, &key, &new, BPF_NOEXIST))
		account_add(owner->account, ABI_CHARGE_SHARES, 1);
	else
		__sync_fetch_and_add(&owner->lost_records, 1);
}

/*
 * Neither inlined nor static, so that the verifier checks them once, separately; weak, because
 * several objects have them.
 */

/* Records one member's part of the slice that has just been closed. */
__weak __noinline int member_log(const struct abi_cpu *c, u32 cpu, const struct abi_member *m,
				 u32 log)
{
	u32 source;
	u64 value;

	if (!c || !m)
		return 0;
	source = m->source & (ABI_ALL_SOURCES - 1);
	value = c->now[source] - c->start[source];
	if (log & ABI_LOG_EXIT)
		share_add(c->tgid, m, log, value);
	if (log & ABI_LOG_THREAD)
		thread_add(c, m, log, value);
	if (log & ABI_LOG_SWITCH)
		record(cpu, ABI_REC_SWITCH, m, log, c->tgid, c->tid, value);
	return 0;
}

/* Records the slice that has just been closed, of a set whose threads matter. */
__weak __noinline int slice_log(u32 set, u32 cpu)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	if (!c || !s)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS; i++)
		if ((s->threads & c->members) >> i & 1)
			member_log(c, cpu, &s->member[i], s->log[i]);
	return 0;
}

static __always_inline void slice_record(struct abi_cpu *c, u32 set, u32 cpu,
					 struct task_struct *task)
{
	__builtin_memcpy(c->comm, task->comm, sizeof(c->comm));
	slice_log(set, cpu);
}

/* Records a process's share of one member, and ends it. */
__weak __noinline int share_log(u32 cpu, const struct abi_member *m, u32 log, u32 tgid)
{
	struct abi_share key = { .tgid = tgid, .log = ABI_LOG_ID(log) };
	u64 *share;

	if (!m)
		return 0;
	share = bpf_map_lookup_elem(&shares, &key);
	record(cpu, ABI_REC_EXIT, m, log, tgid, tgid, share ? *share : 0);
	if (share && !bpf_map_delete_elem(&shares, &key))
		account_add(owner_of(m->owner)->account, ABI_CHARGE_SHARES, -1);
	return 0;
}

/* Records a thread's share, which ends with that. */
__weak __noinline int thread_end(u32 owner, u32 tid, u32 log)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_share key = { .tgid = tid, .log = log };
	struct abi_thread_share *t = bpf_map_lookup_elem(&thread_shares, &key);
	struct {
		struct abi_rec rec;
		u64 value;
		char comm[ABI_COMM];
	} r = {
		.rec = { .time = bpf_ktime_get_ns(), .kind = ABI_REC_THREAD,
			 .n = (sizeof(r) - sizeof(r.rec)) / 8, .cpu = cpu, .pmc = log,
			 .tid = tid },
	};

	if (!t)
		return 0;
	r.rec.pid = t->tgid;
	r.value = t->count;
	__builtin_memcpy(r.comm, t->comm, sizeof(r.comm));
	if (bpf_map_delete_elem(&thread_shares, &key))
		return 0;
	account_add(owner_of(owner)->account, ABI_CHARGE_SHARES, -1);
	if (!ring_put(cpu, &r, sizeof(r)))
		__sync_fetch_and_add(&owner_of(owner)->lost_records, 1);
	return 1;
}

/* Records a thread's shares after its last slice. */
__weak __noinline int thread_log(u32 set, u32 tid)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	for (u32 i = 0; s && i < ABI_MAX_MEMBERS; i++)
		if (s->threads >> i & 1 && s->log[i] & ABI_LOG_THREAD)
			thread_end(s->member[i].owner, tid, ABI_LOG_ID(s->log[i]));
	return 0;
}

/* Records the process's shares, which are complete once the last thread's last slice is closed. */
__weak __noinline int exit_log(u32 set, u32 tgid)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u32 cpu = bpf_get_smp_processor_id();

	if (!s)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS; i++)
		if (s->threads >> i & 1 && s->log[i] & ABI_LOG_EXIT)
			share_log(cpu, &s->member[i], s->log[i], tgid);
	return 0;
}

#endif
